#!/usr/bin/env bash
# Resiliparse's main content has no bulleted list of a page with few wrappers.
#
# Versions: Resiliparse 2.0.1, CPython 3.11.7.
# Guess: body > main > article > (p, ul, p), without any class, is the simplest page to extract.
# Seen: `extract_plain_text(html, main_content=True)` drops each `<ul>` with fewer than three elements
#   between it and the body, whatever they are, however long its items, and in the middle of an
#   article. One more `<div>` around all, and the list is there. `<ol>`, `<dl>` and `<table>` are kept
#   at any depth. Without `main_content` the list is kept.
# Who meets it: whoever extracts hand-written pages, documents that a converter made of Markdown, or
#   sites of today's short semantic markup. The same article in a deep theme has its lists.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet resiliparse==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
from resiliparse.extract.html2text import extract_plain_text

TEXT = "<p>The kettle is filled with cold water and stands on the stove until it begins to sing."
SENTENCE = "Sencha is a green tea whose leaves are steamed soon after the harvest, so that they stay green."
LISTS = {
    "ul": f"<ul><li>{SENTENCE}</li><li>{SENTENCE}</li></ul>",
    "ol": f"<ol><li>{SENTENCE}</li><li>{SENTENCE}</li></ol>",
    "dl": f"<dl><dt>Tea</dt><dd>{SENTENCE}</dd></dl>",
    "table": f"<table><tr><td>{SENTENCE}</td></tr></table>",
}


def kept(wrappers, inner, main_content=True):
    article = TEXT * 5 + inner + TEXT * 5
    opened = "".join(f"<{name}>" for name in wrappers)
    closed = "".join(f"</{name}>" for name in reversed(wrappers))
    html = f"<!doctype html><title>Tea</title><body>{opened}{article}{closed}</body>"
    return "Sencha" in extract_plain_text(html, main_content=main_content)


PAGES = [[], ["main"], ["main", "article"], ["div", "main", "article"], ["main", "article", "section"]]
seen = {name: [kept(page, inner) for page in PAGES] for name, inner in LISTS.items()}
print(seen)
assert seen["ul"] == [False, False, False, True, True], seen
assert all(all(seen[name]) for name in ("ol", "dl", "table")), seen
assert kept(["main", "article"], LISTS["ul"], main_content=False)
PYTHON
