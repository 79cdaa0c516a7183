#!/usr/bin/env bash
# croniter and APScheduler run a job of 02:30 twice in the night in which clocks go back.
#
# Versions: croniter 7.0.0, APScheduler 3.11.3, cronsim 2.8, tzdata 2026.6, CPython 3.11.7.
# Guess: libraries that read cron's lines do as the manual of Debian's cron says: a job at a fixed time
#   runs once, though the clock shows 02:30 twice.
# Seen: for "30 2 * * *" in Europe/Berlin, croniter and APScheduler give 00:30 and 01:30 UTC on
#   25 October 2026, an hour apart; cronsim gives 00:30 only. In the night in which 02:30 is missing,
#   croniter and cronsim give 03:00 local time, APScheduler 03:30. "0 0 */2 * MON" is every other day
#   and every Monday for croniter; for cronsim and APScheduler it is each Monday on an odd day.
# Who meets it: schedulers of crawls, digests and backups in local time: once a year a digest is sent
#   twice, or a crawl starts beside the one that still runs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet croniter==7.0.0 APScheduler==3.11.3 cronsim==2.8 tzdata==2026.6
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim

BERLIN = ZoneInfo("Europe/Berlin")


def by_croniter(line, start):
    times = croniter(line, start)
    return lambda: times.get_next(datetime)


def by_cronsim(line, start):
    times = CronSim(line, start)
    return lambda: next(times)


def by_apscheduler(line, start):
    trigger, last = CronTrigger.from_crontab(line, timezone=BERLIN), [None, start]

    def following():
        last[:] = [trigger.get_next_fire_time(*last)] * 2
        return last[0]

    return following


def utc(reader, line, start, count):
    following = reader(line, start.replace(tzinfo=BERLIN))
    return [format(following().astimezone(timezone.utc), "%d %H:%M") for _ in range(count)]


READERS = {"croniter": by_croniter, "APScheduler": by_apscheduler, "cronsim": by_cronsim}


def by_all(line, start, count=2):
    return {name: utc(reader, line, start, count) for name, reader in READERS.items()}


autumn = by_all("30 2 * * *", datetime(2026, 10, 24, 12))
spring = by_all("30 2 * * *", datetime(2026, 3, 28, 12), 1)
mondays = by_all("0 0 */2 * MON", datetime(2026, 9, 1, 12))
print(autumn, spring, mondays, sep="\n")
twice, once = ["25 00:30", "25 01:30"], ["25 00:30", "26 01:30"]
assert autumn == {"croniter": twice, "APScheduler": twice, "cronsim": once}, autumn
assert spring == {"croniter": ["29 01:00"], "APScheduler": ["29 01:30"], "cronsim": ["29 01:00"]}, spring
odd = ["06 22:00", "20 22:00"]
assert mondays == {"croniter": ["02 22:00", "04 22:00"], "APScheduler": odd, "cronsim": odd}, mondays
PYTHON
