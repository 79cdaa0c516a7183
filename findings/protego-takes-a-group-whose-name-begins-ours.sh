#!/usr/bin/env bash
# Protego, Scrapy's parser of robots.txt, obeys groups of robots with other names.
#
# Versions: Protego 0.7.0 (Scrapy 2.19 uses it by default), CPython 3.11.7.
# Guess: a group is ours if its User-agent line has our whole product token, and a line that RFC
#   9309 does not define changes no group.
# Seen: any name with which a word of our user agent begins is ours: "tea", and even "t", for
#   "teabot/1.0", and "bot" because of the address "(+https://e.example/bot)". Such a group replaces
#   the one for "*", so that all is allowed, or all forbidden, by
#   rules for another robot. A Crawl-delay or an unknown line between two User-agent lines ends the
#   group, so that the first robot has no rules (RFC 9309, 2.2.4: other records must not interfere).
#   "User-agent: teabot/2.0" is not obeyed by teabot 1.0; Google's parser stops at the slash.
# Who meets it: Scrapy projects with a name that begins as another robot's does, and files that
#   have a Crawl-delay for one robot right before a group for all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet protego==0.7.0
"$folder/venv/bin/python" - <<'PYTHON'
from protego import Protego

US = "teabot/1.0 (+https://e.example/bot)"
EVERY = "\n\nUser-agent: *\nDisallow: /private\n"


def allowed(text):
    return Protego.parse(text).can_fetch("https://e.example/private", US)


seen = {
    "* alone": allowed(EVERY),
    "a group for tea": allowed("User-agent: tea\nDisallow: /x" + EVERY),
    "a group for t": allowed("User-agent: t\nDisallow: /x" + EVERY),
    "a word of our address": allowed("User-agent: bot\nDisallow: /x" + EVERY),
    "delay between agents": allowed(
        "User-agent: teabot\nCrawl-delay: 5\nUser-agent: other\nDisallow: /private\n"
    ),
    "our name with a version": allowed("User-agent: teabot/2.0\nDisallow: /private\n"),
}
print(seen)
assert list(seen.values()) == [False, True, True, True, True, True], seen
PYTHON
