#!/usr/bin/env bash
# dateparser reads the ISO week "2026-W10", in March, as a day in October.
#
# Versions: dateparser 1.5.0, CPython 3.11.7.
# Guess: a notation that dateparser does not know, such as weeks of ISO 8601, is None.
# Seen: the "W" is dropped and the rest is read. "2026-W10" (2 to 8 March) is in October, on the day of
#   the month that the clock has; "2026-W10-4" (5 March) is 4 October, also with `STRICT_PARSING`.
#   "2026-W30" (July) is the 30th of the clock's month; weeks above 31 are None. In the same way "v7.1",
#   a version, is 7 January. "Q3 2026" is the day of the clock in August.
# Who meets it: reports, calendars and release pages with numbers of weeks: weeks up to 31 get a day in
#   another month, often one in the future, and no warning is logged.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dateparser==1.5.0
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import datetime

import dateparser

CLOCK = datetime(2026, 11, 20, 12, 0)
TEXTS = ("2026-W10", "2026-W10-4", "2026-W30", "2026-W53", "v7.1", "Q3 2026")


def read(text, strict):
    settings = {"RELATIVE_BASE": CLOCK, "STRICT_PARSING": strict}
    found = dateparser.parse(text, settings=settings)
    return found and found.date().isoformat()


seen = {text: (read(text, False), read(text, True)) for text in TEXTS}
print(seen)
assert seen == {
    "2026-W10": ("2026-10-20", None),
    "2026-W10-4": ("2026-10-04", "2026-10-04"),
    "2026-W30": ("2026-11-30", None),
    "2026-W53": (None, None),
    "v7.1": ("2026-01-07", None),
    "Q3 2026": ("2026-08-20", None),
}, seen
PYTHON
