"""How many pages of unchanged sites are told as changed, and whether real changes are told.

    python benchmarks/unchanged_sites.py [--sites 20] [--crawls 5] [--verbose]

The pages of a site (`tests/restless.py`) say their ages in words, in the language of the site,
count their views, quote another customer at each visit, and name related pages in another order.
Each site is crawled so many times, a day apart by a clock that is faked. Then a sentence, a price
and the day of an event change on a page each, and it is crawled once more. For each crawl: the
pages that the change log calls changed or refiltered, and the items that do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import Site, serve
from tests.restless import RestlessSite

ODD_CLOCK = Path(__file__).resolve().parent.parent / "tests" / "odd_clock.py"
DAY = 86_400
KIND = "text/html; charset=utf-8"
EDITED = {"/2": "sentence", "/3": "price", "/4": "day"}
TOLD = ("changed", "refiltered")


class Crawls:
    """The crawls of one site in a *folder*."""

    def __init__(self, number: int, site: Site, folder: Path) -> None:
        self.pages = RestlessSite(number)
        self._url, self._folder, self._seq = site.url, folder, 0
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

    def crawl(self, day: int) -> tuple[list[str], list[str]]:
        """Crawl on a day; return the pages that the log, and that items call changed."""
        self.pages.day = day
        (self._folder / "clock").write_text(str(day * DAY))
        self._run("crawl", self._url, "--own-site", "--no-sitemaps", "-o", "pages.jsonl")
        told = self._run("changes", self._url, "--since", str(self._seq)).splitlines()
        records = [json.loads(line) for line in told]
        self._seq = max((record["seq"] for record in records), default=self._seq)
        lines = (self._folder / "pages.jsonl").read_text("utf-8").split("\n")
        items = [json.loads(line) for line in lines if line]
        changed = [[each for each in found if each["change"] in TOLD] for found in (records, items)]
        log, items = (
            sorted(each["url"].removeprefix(self._url) for each in found) for found in changed
        )
        return log, items

    def diff(self, path: str) -> str:
        """Return the last change of a page."""
        return self._run("diff", self._url + path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--crawls", type=int, default=5)
    parser.add_argument("--verbose", action="store_true", help="print the differences")
    options = parser.parse_args()
    print(
        "| site | language | pages of the log (items) by crawl | real changes |\n|---|---|---|---|"
    )
    for number in range(options.sites):
        with serve() as site, tempfile.TemporaryDirectory() as folder:
            crawls = Crawls(number, site, Path(folder))
            counts = []
            for day in range(options.crawls):
                log, items = crawls.crawl(day)
                counts.append(f"{len(log)} ({len(items)})")
                if options.verbose and day:
                    print("".join(f"{path}\n{crawls.diff(path)}" for path in log[:2]))
            crawls.pages.edited = EDITED
            found = crawls.crawl(options.crawls)
            wrong = [", ".join(sorted(EDITED.keys() ^ {*paths})) for paths in found]
            right = f"wrong: {wrong[0]} ({wrong[1]})" if any(wrong) else "right"
            language = crawls.pages.language
            print(f"| {number} | {language} | {', '.join(counts[1:])} | {right} |", flush=True)


if __name__ == "__main__":
    main()
