"""What a crawl of an unchanged site costs, as a ratio to bare Scrapy's CPU time.

    python benchmarks/recrawl_cost.py CORPUS [--rounds 3] [--keep FOLDER]

CORPUS is a site whose pages are linked. `contentspider crawl` crawls it, and then crawls it again
from the same state in each round. After each crawl a bare Scrapy spider sends the same requests,
with the same ETags, and looks at no answer. The site is served from a process of its own: first
with ETags and answers 304, then without, so that it sends the same bytes again.

All figures are the CPU seconds of a whole process with its children, from its start to its end;
the least of the rounds. "After the last answer" is the part of the first crawl that comes after
all answers: learning, the items that waited for it, the known pages.
"""

from __future__ import annotations

import argparse
import compileall
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from corpus_server import CorpusSite
from pydispatch import dispatcher
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess

import contentspider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BARE_SETTINGS = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "COOKIES_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
}


@dataclass(frozen=True)
class Cost:
    """The CPU seconds of a process: in *total*, until its spider was *opened*, in its *children*,
    and *after_answers*: after its last answer, without its children.
    """

    total: float
    opened: float
    children: float
    after_answers: float
    requests: int

    @property
    def after_all(self) -> float:
        """The CPU seconds after the last answer, with those of the child that learns the site."""
        return self.after_answers + self.children


class BareSpider(scrapy.Spider):
    """Sends *requests*, pairs of an address and an ETag, and looks at no answer."""

    name = "bare"

    def __init__(self, requests: list[tuple[str, str]]) -> None:
        super().__init__()
        self.requests = requests

    async def start(self) -> AsyncIterator[scrapy.Request]:
        meta = {"handle_httpstatus_all": True}
        for url, etag in self.requests:
            headers = {"If-None-Match": etag} if etag else {}
            yield scrapy.Request(url, headers=headers, meta=dict(meta), dont_filter=True)

    def parse(self, response: scrapy.http.Response) -> None:
        """Do nothing."""


def cpu_seconds(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def work(job: dict[str, Any]) -> None:
    """Run one crawl in this process, and write its cost to the file that the job names."""
    opened, answered = [], [0.0]

    def note_opened() -> None:
        opened.append(cpu_seconds())

    def note_answer() -> None:
        answered[0] = cpu_seconds()

    # From the crawler of any spider: the command line makes its own.
    dispatcher.connect(note_opened, signals.spider_opened)
    dispatcher.connect(note_answer, signals.response_received)
    if job["requests"]:
        process = AsyncCrawlerProcess(BARE_SETTINGS)
        process.crawl(BareSpider, requests=job["requests"])
        process.start()
    else:
        from contentspider.cli import main as run_contentspider

        code = run_contentspider(job["arguments"])
        if code not in (0, 4):  # 4: the corpora lack pages that others link to
            sys.exit(f"the crawl failed: {code}")
    children, total = cpu_seconds(resource.RUSAGE_CHILDREN), cpu_seconds()
    cost = [total + children, opened[0], children, total - answered[0], len(job["requests"])]
    Path(job["cost"]).write_text(json.dumps(cost))


def run(folder: Path, log: str, **job: Any) -> Cost:
    """Run one crawl in a process of its own, in *folder*."""
    job = {"requests": [], "arguments": [], "cost": str(folder / "cost.json")} | job
    with (folder / log).open("w") as file:
        subprocess.run(
            [sys.executable, __file__, "--work"],
            input=json.dumps(job),
            cwd=folder,
            stderr=file,
            text=True,
            check=True,
        )
    return Cost(*json.loads((folder / "cost.json").read_text()))


def measure(corpus: Path, has_validators: bool, rounds: int, folder: Path) -> dict[str, Cost]:
    """Return the costs of the first crawl, of the least costly second one, and of bare Scrapy."""
    costs: dict[str, list[Cost]] = {"again": [], "bare": []}
    with CorpusSite(corpus, has_validators) as site:
        state, first_state = folder / "state", folder / "first-state"
        arguments = ["crawl", *site.urls, "--own-site", "-o", "pages.jsonl"]
        arguments += ["--state-dir", str(state), "--models", str(folder / "models")]
        first = run(folder, "first.log", arguments=arguments)
        site.requests()
        shutil.copytree(state, first_state)
        for _ in range(rounds):
            shutil.rmtree(state)
            shutil.copytree(first_state, state)
            costs["again"].append(run(folder, "again.log", arguments=arguments))
            costs["bare"].append(run(folder, "bare.log", requests=site.requests()))
            site.requests()
    least = {name: min(rows, key=lambda cost: cost.total) for name, rows in costs.items()}
    return {"first": first, **least}


def report(title: str, costs: dict[str, Cost]) -> None:
    first, again, bare = costs["first"], costs["again"], costs["bare"]
    print(f"\n## {title}: {bare.requests} requests of the second crawl\n")
    print("| CPU seconds | total | until the spider opens | children | after the last answer |")
    print("|---|---|---|---|---|")
    for name, cost in costs.items():
        print(
            f"| {name} | {cost.total:.2f} | {cost.opened:.2f} | {cost.children:.2f} |"
            f" {cost.after_answers:.2f} |"
        )
    crawl_ratio = (again.total - again.opened) / (bare.total - bare.opened)
    print(
        f"\nsecond crawl: {again.total / bare.total:.2f} x bare Scrapy's CPU"
        f" ({crawl_ratio:.2f} x without imports), {again.total / first.total:.2f} x the first's"
        f" (bare: {bare.total / first.total:.2f}); after the last answer of the first crawl:"
        f" {first.after_all / first.total:.0%} of its CPU,"
        f" {first.after_answers / first.total:.0%} without the learner"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, nargs="?", metavar="CORPUS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep state and logs here")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(json.load(sys.stdin))
        return
    if not options.corpus:
        parser.error("give the folder of a corpus")
    compileall.compile_dir(Path(contentspider.__file__).parent, quiet=2)  # as an installed package
    titles = {True: "answers 304", False: "the same bytes"}
    for has_validators, title in titles.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep / title.replace(" ", "-") if options.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            report(title, measure(options.corpus.resolve(), has_validators, options.rounds, folder))


if __name__ == "__main__":
    main()
