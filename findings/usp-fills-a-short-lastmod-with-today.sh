#!/usr/bin/env bash
# ultimate-sitemap-parser completes a lastmod of a month or a year with today's date.
#
# Versions: ultimate-sitemap-parser 1.8.1, python-dateutil 2.9.0.post0, CPython 3.11.7 (and 3.10.13).
# Guess: "2024-01" and "2024", which are whole W3C datetimes, are the first day of the month and of
#   the year, or None.
# Seen: the day of "2024-01", and the month and the day of "2024", are those of the clock.
#   `datetime.fromisoformat` knows no such dates; the general parser of dateutil, which is asked next,
#   takes today for what is missing. Python 3.10, for which the same release asks dateutil's
#   `isoparse`, gives the first day.
# Who meets it: whoever compares lastmod with the last visit. The page of an archive seems changed on
#   each day, and a page of this month can have a date in the future. No warning is logged.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ultimate-sitemap-parser==1.8.1 python-dateutil==2.9.0.post0
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import date

from dateutil.parser import isoparse
from usp.tree import sitemap_from_str

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def read(lastmod):
    url = f"<url><loc>https://e.example/a</loc><lastmod>{lastmod}</lastmod></url>"
    text = f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{NAMESPACE}">{url}</urlset>'
    (page,) = sitemap_from_str(text).all_pages()
    return page.last_modified.date()


def expected(today):
    return [date(2024, 1, 2), date(2024, 1, today.day), date(2024, today.month, today.day)]


before = date.today()
seen = {lastmod: read(lastmod) for lastmod in ("2024-01-02", "2024-01", "2024")}
after = date.today()
print({lastmod: str(day) for lastmod, day in seen.items()}, "isoparse:", isoparse("2024-01").date())
assert list(seen.values()) in (expected(before), expected(after)), seen
assert isoparse("2024-01").date() == date(2024, 1, 1)
PYTHON
