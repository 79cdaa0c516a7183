#!/usr/bin/env bash
# snowballstemmer gives other stems, or none, if PyStemmer is installed beside it, in any version.
#
# Versions: snowballstemmer 3.1.1, PyStemmer 2.2.0.3.
# Guess: `snowballstemmer.stemmer(name)` of one version gives one stem for a word on every machine.
# Seen: if the module `Stemmer` can be imported, `stemmer` and `algorithms` are those of PyStemmer,
#   whose version nobody compares. With 2.2, "czech" and "polish", which are new in 3.1, raise
#   KeyError, and the stems of some words differ ("evening" is "even").
# Who meets it: an index that one machine fills and another one searches. Other packages of the
#   same environment install PyStemmer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
cat > "$folder/stems.py" <<'PYTHON'
import snowballstemmer

try:
    snowballstemmer.stemmer("czech")
    czech = True
except KeyError:
    czech = False
print(snowballstemmer.stemmer("english").stemWord("evening"), czech)
PYTHON
"$folder/venv/bin/pip" install --quiet snowballstemmer==3.1.1
alone=$("$folder/venv/bin/python" "$folder/stems.py")
"$folder/venv/bin/pip" install --quiet PyStemmer==2.2.0.3
beside=$("$folder/venv/bin/python" "$folder/stems.py")
echo "alone: $alone; beside PyStemmer 2.2.0.3: $beside"
[ "$alone" = "evening True" ] && [ "$beside" = "even False" ]
