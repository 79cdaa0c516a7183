#!/usr/bin/env bash
# courlan's normalize_url gives addresses of other pages, and keeps two of one page apart.
#
# Versions: courlan 1.4.0, CPython 3.11.7.
# Guess: without `strict`, the result is equivalent to the address (RFC 3986, 6.2.2).
# Seen: reserved characters of the path are escaped: "/a;v=1" is "/a%3Bv=1", "/@anna" is "/%40anna",
#   which RFC 3986, 2.2, does not take for the same. A parameter without a value is removed. Values
#   that are no UTF-8 become U+FFFD: "?q=%E4" and "?q=%F6" are one address, for which the server has
#   no page. "/a//b" is "/a/b". "%7E" and "~", which are the same, stay as they are.
# Who meets it: crawlers that fetch the links of `extract_links`, which normalizes them (trafilatura's
#   spider does so), at servers with matrix parameters in the path, "?print", or Latin-1 queries.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet courlan==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
from courlan import extract_links, normalize_url

EXPECTED = {
    "/a;v=1": "/a%3Bv=1",
    "/@anna": "/%40anna",
    "/a?print": "/a",
    "/a?q=%E4": "/a?q=%EF%BF%BD",
    "/a?q=%F6": "/a?q=%EF%BF%BD",
    "/a//b": "/a/b",
    "/%7Eanna": "/%7Eanna",
    "/~anna": "/~anna",
}
SITE = "https://e.example"
seen = {path: normalize_url(SITE + path).removeprefix(SITE) for path in EXPECTED}
links = extract_links('<a href="/leaf;v=1/page">x</a>', url="https://example.org/", external_bool=False)
print(seen, links)
assert seen == EXPECTED, seen
assert links == {"https://example.org/leaf%3Bv=1/page"}, links
PYTHON
