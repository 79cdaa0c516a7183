#!/usr/bin/env bash
# goose3 cuts code, abbreviations, quotations and other marked words out of the sentence around them.
#
# Versions: goose3 3.1.22, CPython 3.11.7.
# Guess: an extractor of articles may lose a table or a list; a paragraph that it keeps has all words.
# Seen: of 24 elements for words, only `<a>`, `<b>`, `<i>`, `<strong>`, `<em>`, `<small>`, `<span>` and
#   `<sup>` keep theirs. The words in `<code>`, `<kbd>`, `<abbr>`, `<q>`, `<cite>`, `<mark>`, `<ins>`,
#   `<sub>`, `<dfn>` and others are gone, and one space stands for them: "Run brew now" is "Run now".
#   Between long paragraphs of the same article, a short one, and headings, `<pre>`, tables and lists of
#   short items are gone, too.
# Who meets it: corpora and indexes of articles about programs, sciences and books: the sentence reads on,
#   without its subject, and nothing tells that a word is missing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet goose3==3.1.22
"$folder/venv/bin/python" - <<'PYTHON'
from goose3 import Goose

TEXT = "<p>The kettle is filled with cold water and stands on the stove until it begins to sing.</p>"
SENTENCE = (
    "<p>This sentence has the word {} in its middle, and as it is as long as a sentence can be, it"
    " says all that the reader has to know.</p>"
)
KEPT = "a b em i small span strong sup".split()
LOST = "abbr bdi bdo cite code data del dfn ins kbd mark q samp sub u var".split()


def has(inner):
    article = f"<article>{TEXT * 6}{inner}{TEXT * 6}</article>"
    html = f"<html><head><title>Tea</title></head><body>{article}</body></html>"
    text = Goose({"enable_image_fetching": False}).extract(raw_html=html).cleaned_text
    return "Sencha" in text


words = {name: has(SENTENCE.format(f"<{name}>Sencha</{name}>")) for name in KEPT + LOST}
blocks = [has(f"<{name}>Sencha</{name}>") for name in ("p", "h2", "pre")]
print(words, blocks)
assert [name for name in words if words[name]] == KEPT, words
assert blocks == [False, False, False], blocks
PYTHON
