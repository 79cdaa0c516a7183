"""Extracts one page for a visitor twice: from the page alone, and with more pages of its site."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.ground.fetch import KINDS, Fetched, fetch
from contentspider.page.input.documents import TYPES as DOCUMENT_TYPES
from contentspider.page.write.summary import document_counts, summarise
from contentspider.rules.extraction import learn_rules
from contentspider.rules.files import WRITERS, write_rules
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.record import OptionalFields, page_fields
from contentspider.state.crawls.export import crawled_pages, find_crawl
from contentspider.state.stores.knowledge import Knowledge
from contentspider.web.preview import preview_html

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction

MORE_PAGES = (0, 10, 40)
CRAWL_SECS = 300.0
PROGRESS = re.compile(r"^(\d[\d,]*) pages,")
# The item's fields in the page's table, in this order.
FIELDS = (
    *"title description language published_at modified_at author section keywords".split(),
    *"page_type confidence model_version canonical image".split(),
)
CRAWL, STATE = "trial", "state"
# Longer lines in the crawl's log are an error.
MAX_LINE_BYTES = 1_000_000


@dataclass(frozen=True)
class Result:
    """The extraction of a page: its item, its blocks, and the HTML of its *preview* ("" if the page
    is a document).

    *links* counts the links in the content. *quality* describes the quality of the site's model.
    *rules* has the model as rules, by format.
    """

    item: dict[str, Any]
    blocks: list[dict[str, Any]]
    preview: str
    summary: str
    quality: str = ""
    rules: dict[str, str] = field(default_factory=dict)
    links: int = 0

    @property
    def lines(self) -> list[str]:
        """Return the lines of the content that have text."""
        return [line for line in str(self.item["content"]).split("\n") if line.strip()]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Return the rows of the table of fields: name and value, without empty values."""
        rows = [(name, self.item[name]) for name in FIELDS]
        rows += [
            ("words", len(str(self.item["content"]).split())),
            ("blocks", len(self.blocks)),
            ("kept blocks", sum(block["kept"] for block in self.blocks)),
            ("links", self.links),
            ("images", len(self.item["images"])),
        ]
        return [(name, _as_text(value)) for name, value in rows if value not in ("", [], None)]


@dataclass(frozen=True)
class Trial:
    """The extractions of the page at *url*.

    *alone* uses only the page. *site* uses a model that was learned from *more_pages* other pages
    of its site, or is None. *problem* tells why the site could not be learned.
    """

    url: str
    alone: Result
    site: Result | None = None
    more_pages: int = 0
    problem: str = ""

    @property
    def only_alone(self) -> set[str]:
        """Return the lines of the content that only the page alone keeps."""
        return set(self.alone.lines) - set(self.site.lines) if self.site else set()

    @property
    def only_site(self) -> set[str]:
        """Return the lines of the content that only the site's model keeps."""
        return set(self.site.lines) - set(self.alone.lines) if self.site else set()


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Site:
    """A learned site: its *model*, the number of its *pages*, and the model as *rules* by format.

    *counts* has the number of pages with each term.
    """

    model: SiteModel
    pages: int
    counts: Counter[str]
    rules: dict[str, str]


def extract_fetched(fetched: Fetched, site: Site | None = None) -> Result:
    """Extract a page with the model of its *site*, or by the page alone.

    Raises `ContentSpiderError` for a page without text.
    """
    model = site.model if site is not None else None
    known = Knowledge(model)
    page = known.read_fetched(fetched, fetched.url)
    extraction = known.extract(page, "")
    preview = ""
    if not page.is_document:
        preview = preview_html(fetched.body, fetched.content_type, extraction)
    options = OptionalFields(images=True)
    return Result(
        item=page_fields(page, extraction.site, extraction, extraction.model_version, options),
        blocks=_block_rows(extraction, model),
        preview=preview,
        summary=_summary(extraction, site),
        quality=str(model.quality) if model is not None and model.quality else "",
        rules=site.rules if site is not None else {},
        links=sum(block.links for block in extraction.blocks),
    )


def _summary(extraction: Extraction, site: Site | None) -> str:
    """Return a summary of a page. With a site, words that are rare on the site weigh more."""
    hints = extraction.page.hints
    texts = (*hints.titles[:1], *hints.descriptions[:1])
    if site is None:
        return summarise(extraction.blocks, texts)
    return summarise(extraction.blocks, texts, site.pages, site.counts)


def _block_rows(extraction: Extraction, model: SiteModel | None) -> list[dict[str, Any]]:
    slot_of: Callable[[str], str] = model.slot_of if model is not None else str
    blocks = extraction.page.content.blocks
    decisions = zip(blocks, extraction.probabilities, extraction.kept, strict=True)
    return [
        {
            "text": block.text,
            "place": slot_of(block.path),
            "probability": round(float(probability), 3),
            "kept": bool(is_kept),
        }
        for block, probability, is_kept in decisions
    ]


async def try_page(
    address: str, more_pages: int, is_private_allowed: bool, report: Callable[[str], None]
) -> Trial:
    """Extract the page at an address alone, and with up to *more_pages* other pages of its site.

    The other pages are crawled one at a time. *report* is called with messages about the progress.
    Raises `ContentSpiderError`.
    """
    report("fetching the page")
    fetched = await asyncio.to_thread(fetch, address, is_private_allowed, (*KINDS, *DOCUMENT_TYPES))
    alone = await asyncio.to_thread(extract_fetched, fetched)
    if not more_pages:
        return Trial(fetched.url, alone)
    with TemporaryDirectory(prefix="contentspider-web-") as name:
        folder = Path(name)
        await _crawl(fetched.url, more_pages, is_private_allowed, folder, report)
        report("learning the site")
        try:
            learned = await asyncio.to_thread(_learn, folder, fetched.url, more_pages)
            site = await asyncio.to_thread(extract_fetched, fetched, learned)
        except ContentSpiderError as error:
            problem = f"the site could not be learned: {error}"
            return Trial(fetched.url, alone, problem=problem)
        return Trial(fetched.url, alone, site, learned.pages - 1)


def _learn(folder: Path, address: str, more_pages: int) -> Site:
    """Learn a site from the crawl in *folder*: from the page at *address* and up to *more_pages*.

    Raises `ContentSpiderError` if the crawl read only that page.
    """
    site, pages = crawled_pages(find_crawl(CRAWL, str(folder / STATE)), "")
    pages = sorted(pages, key=lambda page: page.url != address)[: more_pages + 1]
    if not any(page.url != address for page in pages):
        raise ContentSpiderError("the crawl found no other page")
    model = SiteLearner(site).fit(pages)
    counts = document_counts(model.extract(page).text for page in pages)
    return Site(model, len(pages), counts, _rules(model, pages))


def _rules(model: SiteModel, pages: Sequence[Page]) -> dict[str, str]:
    """Return the model as rules, by format; empty if the model keeps no text."""
    try:
        rules = learn_rules(model, pages)
    except NotEnoughTextError:
        return {}
    return {form: write_rules(rules, form)[0] for form in WRITERS}


async def _crawl(
    address: str,
    more_pages: int,
    is_private_allowed: bool,
    folder: Path,
    report: Callable[[str], None],
) -> None:
    """Crawl the page at an address and up to *more_pages* of its site, in a process in *folder*."""
    command = [sys.executable, "-m", "contentspider", "crawl", address, "-o", "pages.jsonl"]
    command += ["--max-pages", str(more_pages + 1), "--name", CRAWL, "--state-dir", STATE]
    # Any visitor can send the crawl to any server, so it is polite: one request at a time.
    command += ["-s", "CONCURRENT_REQUESTS=1", "-s", "CONTENTSPIDER_PROGRESS_SECS=1"]
    command += ["--log-level", "ERROR"]
    if not is_private_allowed:
        command.append("--no-private")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        env=environment,
        limit=MAX_LINE_BYTES,
    )

    async def follow() -> None:
        async for line in cast("asyncio.StreamReader", process.stderr):
            if progress := PROGRESS.match(line.decode("utf-8", "replace").strip()):
                report(f"{progress[1]} of up to {counted(more_pages + 1, 'pages')} read")

    try:
        await asyncio.wait_for(follow(), CRAWL_SECS)
    except (TimeoutError, asyncio.TimeoutError):
        report(f"the crawl was stopped after {CRAWL_SECS:g} s")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
