#!/usr/bin/env bash
# price-parser reads "0.999 EUR" a litre as 999, and "１，９８０円" as 1.
#
# Versions: price-parser 0.5.1, CPython 3.11.7.
# Guess: a number whose part before the point is 0 has decimals; the fullwidth comma of Japanese and
#   Chinese, and the Arabic separators (U+066C, U+066B), count as separators as the digits count.
# Seen: three digits after a single separator are thousands, also after "0": "0.125" is 125, "0,005" is
#   5; four digits ("0.0125") are decimals. Fullwidth and Arabic digits are read up to the first
#   separator of their own script: 1980 yen are 1, 12.50 dirham are 12.
#   `decimal_separator="."` mends the first, not the second.
# Who meets it: price fields of crawls: fuel, electricity and parts are sold in thousandths, so their
#   prices are a thousand times too high; Japanese and Arabic shops are too cheap. All are valid numbers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet price-parser==0.5.1
"$folder/venv/bin/python" - <<'PYTHON'
from price_parser import Price

TEXTS = {
    "0.999 €/l": "999",
    "$0.125 each": "125",
    "0,005 €": "5",
    "$0.0125": "0.0125",
    "１９８０円": "1980",
    "１，９８０円": "1",
    "1，980元": "1",
    "١٬٩٨٠ ر.س": "1",
    "١٢٫٥٠ د.إ": "12",
}
seen = {text: str(Price.fromstring(text).amount) for text in TEXTS}
told = [str(Price.fromstring(text, decimal_separator=".").amount) for text in ("0.999 €/l", "１，９８０円")]
print(seen, told)
assert seen == TEXTS, seen
assert told == ["0.999", "1"], told
PYTHON
