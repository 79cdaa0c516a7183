"""What a page costs, as ratios to lxml's parse of the same bytes in the same run.

    python benchmarks/per_page.py [FOLDER]

FOLDER holds HTML files, those of each site in a sub-folder. Without it, the pages of the example
site are measured. Rows: blocks and hints; the decision with a model that was not
learned from the page; the metadata, which are made with an item; blocks, hints and decision
together (own work); from bytes to text; the same of one page alone, without a site's model, and its
judgement by itself; and other extractors on the same pages, those that are installed. All in CPU
time.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lxml import etree
from parsel import Selector

from contentspider.page.input.files import html_files
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_html
from contentspider.site.models.model import ENOUGH_PAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.site.models.model import SiteModel

PAGES_PER_SITE = 12
ROUNDS = 3


def sample(folder: Path) -> list[list[bytes]]:
    """Return up to `PAGES_PER_SITE` pages of each site below *folder*."""
    draw = random.Random(0)
    sites = []
    for site in sorted(path for path in folder.iterdir() if path.is_dir()) or [folder]:
        files = list(html_files(site))
        if files:
            sites.append(
                [path.read_bytes() for path in draw.sample(files, min(PAGES_PER_SITE, len(files)))]
            )
    return sites


def best(work: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> float:
    """Return the least seconds of CPU time that *work* takes in a few rounds, each after
    *prepare*.
    """
    times = []
    for _ in range(ROUNDS):
        prepare()
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _classifying(model: SiteModel) -> SiteModel:
    """Return a model that does not ask the prior, as those of more than a few pages do not: that is
    the row of one page alone.
    """
    return replace(model, pages=max(model.pages, ENOUGH_PAGES))


def others() -> dict[str, Callable[[bytes], object]]:
    """Return other extractors, from bytes to text, by name: those that are installed."""
    found: dict[str, Callable[[bytes], object]] = {}
    with suppress(ImportError):
        import trafilatura

        found["trafilatura"] = lambda body: trafilatura.extract(body, include_comments=False)
    with suppress(ImportError):
        from lxml.html import fromstring
        from readability import Document

        def readability(body: bytes) -> str:
            try:
                return fromstring(
                    Document(body.decode("utf-8", "replace")).summary()
                ).text_content()
            except Exception:  # noqa: BLE001 - it fails on pages without text
                return ""

        logging.getLogger("readability").setLevel(logging.CRITICAL)
        found["readability-lxml"] = readability
    with suppress(ImportError):
        from resiliparse.extract.html2text import extract_plain_text

        found["resiliparse"] = lambda body: extract_plain_text(
            body.decode("utf-8", "replace"), main_content=True
        )
    with suppress(ImportError):
        import turbohtml

        found["turbohtml"] = lambda body: turbohtml.parse(
            body.decode("utf-8", "replace")
        ).main_text()
    with suppress(ImportError):
        from chromerag import ChromeRAG

        found["ChromeRAG"] = lambda body: ChromeRAG().extract(body.decode("utf-8", "replace"))
    if len(found) < 5:
        print("the other extractors' rows need: pip install -e '.[bench]'", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="HTML files, each site's in a sub-folder (default: the example site's pages)",
    )
    folder = parser.parse_args().folder
    if folder and not folder.is_dir():
        parser.error(f"{folder} is no folder")
    if folder:
        sites = sample(folder)
        if not sites:
            parser.error(f"no HTML files in {folder}")
    else:
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
        from example_site import ExampleSite

        with tempfile.TemporaryDirectory() as temporary:
            ExampleSite().write(Path(temporary) / "example")
            sites = sample(Path(temporary))
    bodies = [body for site in sites for body in site]
    roots = [
        [Selector(text=body.decode("utf-8", "replace")).root for body in site] for site in sites
    ]
    pages = [[Page.from_html(body) for body in site] for site in sites]
    models = [_classifying(SiteLearner().fit(site)) for site in pages]
    fresh: list[Page] = []

    def parse() -> None:
        for body in bodies:
            etree.fromstring(body, etree.HTMLParser(huge_tree=True, encoding="utf-8"))

    def read() -> None:
        for site in roots:
            walker = new_walker()  # as a crawl of this site has it before its first page
            for root in site:
                Page.from_root(root, walker=walker)

    def read_afresh() -> None:
        fresh[:] = [Page.from_root(root) for site in roots for root in site]

    def state() -> None:
        for page in fresh:
            _ = page.metadata

    def decide() -> None:
        for model, site in zip(models, pages, strict=True):
            for page in site:
                model.probabilities(page)

    def whole() -> None:
        for model, site in zip(models, sites, strict=True):
            walker = new_walker()  # as `extract` and `archive` share it between a site's pages
            for body in site:
                _ = model.extract(Page.from_html(body, walker=walker)).text

    def judge() -> None:
        for site in pages:
            for page in site:
                prior.judge_page(page)

    def alone() -> None:
        for body in bodies:
            _ = extract_html(body).text

    prior = Prior.shipped()
    base = best(parse)
    rows = {"lxml parse": base, "blocks and hints": best(read), "decision": best(decide)}
    rows["metadata, of an item"] = best(state, read_afresh)
    rows["own work (both)"] = rows["blocks and hints"] + rows["decision"]
    rows["bytes to text"] = best(whole)
    rows["one page alone: judged"] = best(judge)
    rows["one page alone, bytes to text"] = best(alone)
    for name, extract in others().items():
        rows[f"{name}, bytes to text"] = best(
            lambda extract=extract: [extract(body) for body in bodies]
        )  # type: ignore[misc]
    print(
        f"{len(bodies)} pages of {len(sites)} sites,"
        f" {sum(map(len, bodies)) / len(bodies) / 1000:.0f} kB on average"
    )
    for name, seconds in rows.items():
        print(
            f"{name:28} {1000 * seconds / len(bodies):8.2f} ms a page  {seconds / base:6.2f} x"
            " parse"
        )


if __name__ == "__main__":
    main()
