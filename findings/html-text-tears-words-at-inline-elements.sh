#!/usr/bin/env bash
# html-text writes "H2O" as "H 2 O" if the 2 is lowered, and the lines of code as one line.
#
# Versions: html-text 0.7.1, lxml 6.1.3, CPython 3.11.7.
# Guess: `extract_text`, which knows blocks, puts white space where a browser shows some: between blocks,
#   not inside a word, and it keeps the lines of `<pre>`.
# Seen: each text node is a word of its own: `H<sub>2</sub>O`, `snake<wbr>_case`, `<b>T</b>he tea` and
#   `日<b>本</b>語` have spaces in them, and `f(x)` in coloured code has. No parameter changes that:
#   `guess_punct_space` takes back the spaces before punctuation only. The lines and the indentation of
#   `<pre>` are one space each.
# Who meets it: texts for search and for models from pages with formulas, initials, emphasis in Japanese
#   and Chinese, long identifiers, and code with colours: the words are in no page, Python is no Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet html-text==0.7.1 lxml==6.1.3
"$folder/venv/bin/python" - <<'PYTHON'
from html_text import extract_text

TEXTS = {
    "<p>H<sub>2</sub>O</p>": "H 2 O",
    "<p><b>T</b>he tea</p>": "T he tea",
    "<p>snake<wbr>_case</p>": "snake _case",
    "<p>日<b>本</b>語</p>": "日 本 語",
    "<pre><i>def</i> <b>f</b>(<i>x</i>):\n    <i>return</i> x</pre>": "def f (x): return x",
}
seen = {html: extract_text(html) for html in TEXTS}
plain = extract_text("<p>H<sub>2</sub>O</p>", guess_punct_space=False, guess_layout=False)
print(seen, plain)
assert seen == TEXTS, seen
assert plain == "H 2 O", plain
PYTHON
