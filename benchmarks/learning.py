"""How long a site takes to learn: CPU seconds of `SiteLearner.fit`, without the reading of the
pages.

    python benchmarks/learning.py [--corpora FOLDER] [--pages 400 1000 10000]

The sizes are pages of the generated site, streamed: each is made and read when `fit` asks for it.
FOLDER holds unpacked corpora; theirs come after, the largest first, of 400 pages at most. Ratios
are to the first size.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from generated_site import GeneratedSite

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.input.files import html_files
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 400


class Timed:
    """Passes pages on and knows the CPU seconds that it took to get them."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self.pages = pages
        self.seconds = 0.0
        self.count = self.blocks = 0

    def __iter__(self) -> Iterator[Page]:
        older = None
        started = time.process_time()
        for page in self.pages:
            self.seconds += time.process_time() - started
            self.count += 1
            self.blocks += len(page.content.blocks)
            yield page
            started = time.process_time()
            # The one before is disposed of here, in the time of the reading: the learner has it no
            # longer.
            older = page
        del older
        self.seconds += time.process_time() - started


def learn(name: str, pages: Iterable[Page], first: float = 0.0) -> float:
    """Learn a site, print its row, and return the seconds."""
    timed = Timed(pages)
    started = time.process_time()
    model = SiteLearner(name).fit(timed)
    seconds = time.process_time() - started - timed.seconds
    ratio = f"{seconds / first:.2f}" if first else ""
    print(
        f"| {name} | {timed.count:,} | {model.pages} | {timed.blocks / timed.count:.0f} |"
        f" {timed.seconds:.2f} | {seconds:.2f} | {ratio} |",
        flush=True,
    )
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpora", type=Path, help="folder of unpacked corpora")
    parser.add_argument(
        "--pages",
        type=int,
        nargs="*",
        default=[400, 1_000, 10_000],
        help="sizes of the generated site",
    )
    options = parser.parse_args()
    warm = GeneratedSite(20)
    SiteLearner().fit(
        Page.from_html(warm.html(number)) for number in range(20)
    )  # loads the libraries and the prior
    print(
        "| site | pages | learned from | blocks a page | reading s | learning s | ratio"
        " |\n|---|---|---|---|---|---|---|"
    )
    first = 0.0
    for pages in options.pages:
        site = GeneratedSite(pages)
        seconds = learn(
            "generated", (Page.from_html(site.html(number)) for number in range(pages)), first
        )
        first = first or seconds
    if options.corpora:
        sizes = [
            (sum(1 for _ in html_files(corpus.folder / "html")), corpus)
            for corpus in find_corpora(options.corpora)
        ]
        for _, corpus in sorted(sizes, key=lambda entry: -entry[0]):
            learn(corpus.name, islice(corpus.pages(), MOST))


if __name__ == "__main__":
    main()
