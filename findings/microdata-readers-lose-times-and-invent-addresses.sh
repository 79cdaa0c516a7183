#!/usr/bin/env bash
# extruct and microdata read no date of `<time itemprop>2026-03-05</time>`, and a picture is the page.
#
# Versions: extruct 0.18.0, microdata 0.8.0, mf2py 2.0.2, CPython 3.11.7.
# Guess: as HTML says, the value of a `<time>` without datetime is its text, and the value of an `<img>`
#   without src, or of an `<a>` without href, is empty.
# Seen: extruct and microdata give "" for the time. extruct's reader of RDFa, and mf2py, give the text
#   of the same element. extruct joins a missing src or href with the page's address, so that the
#   picture of a page that loads its pictures later (`data-src`) is the page itself.
# Who meets it: crawls that take dates and pictures of articles, events and recipes from microdata: an
#   article has no date though it states one, and what is stored as its picture is HTML.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet extruct==0.18.0 microdata==0.8.0 mf2py==2.0.2
"$folder/venv/bin/python" - <<'PYTHON'
import extruct
import mf2py
import microdata

ADDRESS = "https://e.example/tea"
PAGE = """<div itemscope itemtype="https://schema.org/Article" vocab="https://schema.org/"
 typeof="Article" class="h-entry">
<time itemprop="datePublished" property="datePublished" class="dt-published">2026-03-05</time>
<img itemprop="image" data-src="/tea.png"><a itemprop="url">Tea</a></div>"""

read = extruct.extract(PAGE, base_url=ADDRESS, syntaxes=["microdata", "rdfa"])
[by_extruct] = read["microdata"]
[by_mf2py] = mf2py.parse(doc=PAGE)["items"]
[by_microdata] = microdata.get_items(PAGE)
seen = {
    "extruct": by_extruct["properties"],
    "microdata": by_microdata.datePublished,
    "mf2py": by_mf2py["properties"]["published"],
    "extruct, RDFa": "2026-03-05" in str(read["rdfa"]),
}
print(seen)
assert seen == {
    "extruct": {"datePublished": "", "image": ADDRESS, "url": ADDRESS},
    "microdata": "",
    "mf2py": ["2026-03-05"],
    "extruct, RDFa": True,
}, seen
PYTHON
