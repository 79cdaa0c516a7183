"""How many pages of unchanged sites are told as changed, and whether real changes are told.

    python -m benchmarks.unchanged_sites [SITE ...] [--crawls 5] [--verbose]

The pages of 20 sites (`tests/restless.py`, by number) say their ages in words, in the language of
the site, count their views, quote another customer at each visit, and name related pages in another
order. Those of thirteen more (`tests/noisy.py`, by name) differ in what content management systems,
shops, forums and builds put beside a text. Each site is crawled so many times, a day apart by a
clock that is faked, and once more. From the second crawl on a sentence, a price or the day of an
event really changes on one page or more. For each crawl but the first: the pages that the change
log calls changed or refiltered falsely, the items that do, and the real changes that were missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tests.conftest import Site, serve
from tests.noisy import KINDS, NoisySite
from tests.restless import RestlessSite

ODD_CLOCK = Path(__file__).resolve().parent.parent / "tests" / "odd_clock.py"
RESTLESS = 20
DAY = 86_400
KIND = "text/html; charset=utf-8"
# By day: the pages that really change.
EDITS = ({}, {"/5": "sentence"}, {"/6": "sentence"}, {"/7": "price"}, {"/8": "day"})
LAST_EDITS = {"/2": "sentence", "/3": "price", "/4": "day"}
TOLD = ("changed", "refiltered")


class Crawls:
    """The crawls of one site in a *folder*, a day apart."""

    def __init__(self, name: str, site: Site, folder: Path) -> None:
        self.pages = RestlessSite(int(name)) if name.isdigit() else NoisySite(name)
        self._url, self._folder = site.url, folder
        self._days: list[str] = []
        site.answer = self._answer

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        html = self.pages.html(path)
        return (404, KIND, b"<p>none</p>") if html is None else (200, KIND, html.encode())

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, str(ODD_CLOCK), *arguments]
        done = subprocess.run(
            command, cwd=self._folder, check=True, capture_output=True, encoding="utf-8"
        )
        return done.stdout

    def crawl(self, edits: dict[str, str]) -> set[str]:
        """Crawl on the next day; return the pages whose items are told as changed."""
        self.pages.day = len(self._days)
        self.pages.edited |= edits
        # The log tells seconds.
        at = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(self.pages.day)
        (self._folder / "clock").write_text(str(self.pages.day * DAY))
        self._days.append(at.isoformat())
        self._run("crawl", self._url, "--own-site", "--no-sitemaps", "-o", "pages.jsonl")
        lines = (self._folder / "pages.jsonl").read_text("utf-8").split("\n")
        return self._told([json.loads(line) for line in lines if line])

    def log(self) -> list[set[str]]:
        """Return the pages that the change log tells as changed, by crawl."""
        records = [json.loads(line) for line in self._run("changes", self._url).splitlines()]
        bounds = zip(self._days, [*self._days[1:], "9"], strict=True)
        return [
            self._told([each for each in records if begin <= each["at"] < end])
            for begin, end in bounds
        ]

    def _told(self, found: list[dict[str, str]]) -> set[str]:
        return {each["url"].removeprefix(self._url) for each in found if each["change"] in TOLD}

    def diff(self, path: str) -> str:
        """Return the last change of a page."""
        return self._run("diff", self._url + path)


def measure(name: str, count: int, is_verbose: bool) -> str:
    """Return the row of a site that is crawled *count* times, and once more."""
    days = [EDITS[day] if day < len(EDITS) else {} for day in range(count)] + [LAST_EDITS]
    with serve() as site, tempfile.TemporaryDirectory() as folder:
        crawls = Crawls(name, site, Path(folder))
        items = []
        for edits in days:
            items.append(crawls.crawl(edits))
            wrong = sorted(items[-1] - edits.keys())
            if is_verbose and len(items) > 1:
                texts = (crawls.diff(path) for path in wrong[:1])
                print(f"\n{name}, crawl {len(items)}: {' '.join(wrong)}", *texts, flush=True)
        log = crawls.log()
        if is_verbose:
            print(*(sorted(found - edits.keys()) for found, edits in zip(log, days, strict=True)))
    cells, missed = [], []
    for day, edits in enumerate(days[1:], 1):
        cells.append(f"{len(log[day] - edits.keys())} ({len(items[day] - edits.keys())})")
        missed += [
            f"{path} in crawl {day + 1}" for path in sorted(edits.keys() - (log[day] & items[day]))
        ]
    return f"| {name} | {crawls.pages.language} | {', '.join(cells)} | {', '.join(missed)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("site", nargs="*", default=[*map(str, range(RESTLESS)), *KINDS])
    parser.add_argument("--crawls", type=int, default=5)
    parser.add_argument("--verbose", action="store_true", help="print the differences")
    options = parser.parse_args()
    print("| site | language | told falsely: pages of the log (items), by crawl | missed |")
    print("|---|---|---|---|")
    for name in options.site:
        print(measure(name, options.crawls, options.verbose), flush=True)


if __name__ == "__main__":
    main()
