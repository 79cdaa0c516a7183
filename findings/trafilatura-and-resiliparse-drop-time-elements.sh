#!/usr/bin/env bash
# trafilatura and Resiliparse cut each <time> out of the sentence in which it stands.
#
# Versions: trafilatura 2.3.1, Resiliparse 2.0.1, CPython 3.11.7.
# Guess: an extractor may drop the date line over an article; a sentence keeps all of its words.
# Seen: `<time>` with its text is gone at every place, also with `favor_recall`, and as Markdown or
#   XML: "opens at 09:00 and closes at six" is "opens at and closes at". `<data>`, HTML's element for
#   other values, stays. trafilatura has "time" in its list of elements to remove; Resiliparse drops
#   it only with `main_content=True`.
# Who meets it: pages that mark up dates as HTML wishes it: opening hours, programmes, biographies,
#   changelogs. The cleaner the markup, the fewer facts reach the index, or a model's training text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet trafilatura==2.3.1 lxml_html_clean==0.4.6 resiliparse==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
from resiliparse.extract.html2text import extract_plain_text
from trafilatura import extract

TEXT = "<p>The kettle is filled with cold water and stands on the stove until it begins to sing.</p>"
SENTENCE = (
    "The tea house opens at <time>09:00</time> and closes at <time datetime='18:00'>six</time>,"
    " and a cup costs <data value='5'>five pounds</data> there."
)
CUT = "The tea house opens at and closes at, and a cup costs five pounds there."
WHOLE = "The tea house opens at 09:00 and closes at six, and a cup costs five pounds there."
HTML = (
    "<!doctype html><html><head><title>Tea</title></head><body><main><article>"
    f"{TEXT * 4}<p>{SENTENCE}</p>{TEXT * 4}</article></main></body></html>"
)
texts = {
    "trafilatura": extract(HTML),
    "trafilatura, recall, Markdown": extract(HTML, favor_recall=True, output_format="markdown"),
    "trafilatura, XML": extract(HTML, output_format="xml"),
    "Resiliparse": extract_plain_text(HTML, main_content=True),
    "Resiliparse, whole page": extract_plain_text(HTML),
}
seen = {
    name: [" ".join(line.split()).replace(" ,", ",") for line in text.split("\n") if "tea house" in line]
    for name, text in texts.items()
}
print(seen)
whole = seen.pop("Resiliparse, whole page")
assert whole == [WHOLE], whole
assert all(CUT in line for (line,) in seen.values()), seen
PYTHON
