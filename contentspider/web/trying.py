"""What contentspider understands of one page: by itself, and with more pages of its site."""

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

from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.ground.fetch import Fetched, fetch
from contentspider.page.input.page import Page
from contentspider.page.tree.tags import is_link
from contentspider.page.write.summary import document_counts, summarise
from contentspider.rules.extraction import learn_rules
from contentspider.rules.files import WRITERS, write_rules
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from contentspider.site.models.record import OptionalFields, page_fields
from contentspider.state.crawls.export import crawled_pages, find_crawl
from contentspider.web.painted import paint

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction

MORE_PAGES = (0, 10, 40)
CRAWL_SECS = 300.0
PROGRESS = re.compile(r"^(\d[\d,]*) pages,")
# The fields of a page that the table shows, in its order.
FIELDS = (
    *"title description language published_at modified_at author section keywords".split(),
    *"page_type confidence model_version canonical image".split(),
)
CRAWL, STATE = "tried", "state"
MAX_LINE = 1_000_000  # of what a crawl says


@dataclass(frozen=True)
class Result:
    """A page as it was understood: its item, its blocks, and its HTML, painted; how many *links* it
    has in its content; and what its site's model comes to in *rules*, by format.
    """

    item: dict[str, Any]
    blocks: list[dict[str, Any]]
    painted: str
    summary: str
    quality: str = ""
    rules: dict[str, str] = field(default_factory=dict)
    links: int = 0

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Return the rows of the table of the page's fields."""
        shown = [(name, self.item[name]) for name in FIELDS]
        counts = {"words": len(str(self.item["content"]).split()), "blocks": len(self.blocks)}
        counts["kept blocks"] = sum(block["kept"] for block in self.blocks)
        counts |= {"links": self.links, "images": len(self.item["images"])}
        rows = [*shown, *counts.items()]
        return [(name, _shown(value)) for name, value in rows if value not in ("", [], None)]


@dataclass(frozen=True)
class Tried:
    """What was found of a page *url*: *alone*, and, if it was learned from *more* pages, with its
    *site*.
    """

    url: str
    alone: Result
    site: Result | None = None
    more: int = 0
    problem: str = ""


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Site:
    """What was learned of a site: its *model*, on how many of its *pages* each term is, and the
    model as *rules*, by format.
    """

    model: SiteModel
    pages: int
    counts: Counter[str]
    rules: dict[str, str]


def understand(fetched: Fetched, site: Site | None = None) -> Result:
    """Return a page as it is understood by what was learned of its *site*, or by itself. Raises
    `ContentSpiderError` if it has no text.
    """
    model = site.model if site is not None else None
    page = Page.from_html(fetched.body, fetched.url, fetched.content_type)
    if not page.content.blocks:
        raise ContentSpiderError(
            f"{fetched.url} has no text in its HTML: scripts may make it"
            " (contentspider crawl --render auto)"
        )
    found = model.extract(page) if model is not None else extract_page(page, prior=Prior.shipped())
    item = page_fields(page, found.site, found, found.model_version, OptionalFields(images=True))
    quality = str(model.quality) if model is not None and model.quality else ""
    painted = paint(fetched.body, fetched.content_type, found)
    known = (site.pages, site.counts) if site is not None else (0, None)
    hints = (*page.hints.titles[:1], *page.hints.descriptions[:1])
    summary = summarise(found.blocks, hints, *known)
    rules = site.rules if site is not None else {}
    marks = (mark for block in found.blocks for _, _, mark in block.spans)
    links = sum(map(is_link, marks))
    return Result(item, _blocks(found, model), painted, summary, quality, rules, links)


def _blocks(found: Extraction, model: SiteModel | None) -> list[dict[str, Any]]:
    slot_of: Callable[[str], str] = model.slot_of if model is not None else str
    content = found.page.content
    return [
        {
            "text": block.text,
            "place": slot_of(block.path),
            "probability": round(float(probability), 3),
            "kept": bool(kept),
        }
        for block, probability, kept in zip(
            content.blocks, found.probabilities, found.kept, strict=True
        )
    ]


async def try_page(
    address: str, more: int, is_private_allowed: bool, say: Callable[[str], None]
) -> Tried:
    """Return what is understood of a page by itself, and with *more* pages of its site, which are
    crawled politely. Raises `ContentSpiderError`.
    """
    say("fetching the page")
    fetched = await asyncio.to_thread(fetch, address, is_private_allowed)
    alone = await asyncio.to_thread(understand, fetched)
    if not more:
        return Tried(fetched.url, alone)
    with TemporaryDirectory(prefix="contentspider-web-") as name:
        folder = Path(name)
        await _crawl(fetched.url, more, is_private_allowed, folder, say)
        say("learning the site")
        try:
            learned = await asyncio.to_thread(_learn, folder, fetched.url, more)
        except ContentSpiderError as error:
            problem = f"the site could not be learned: {error}"
            return Tried(fetched.url, alone, problem=problem)
        site = await asyncio.to_thread(understand, fetched, learned)
        return Tried(fetched.url, alone, site, learned.pages - 1)


def _learn(folder: Path, address: str, more: int) -> Site:
    """Return what is learned of the page at an address and of up to some *more* that the crawl in a
    folder read; raises `ContentSpiderError`.
    """
    site, pages = crawled_pages(find_crawl(CRAWL, str(folder / STATE)), "")
    pages = sorted(pages, key=lambda page: page.url != address)[: more + 1]
    if not any(page.url != address for page in pages):
        raise ContentSpiderError("it has no other page that may be read")
    model = SiteLearner(site).fit(pages)
    counts = document_counts(model.extract(page).text for page in pages)
    return Site(model, len(pages), counts, _rules(model, pages))


def _rules(model: SiteModel, pages: Sequence[Page]) -> dict[str, str]:
    """Return the model as rules, in each format; none if it keeps nothing."""
    try:
        rules = learn_rules(model, pages)
    except NotEnoughTextError:
        return {}
    return {form: write_rules(rules, form)[0] for form in WRITERS}


async def _crawl(
    address: str, more: int, is_private_allowed: bool, folder: Path, say: Callable[[str], None]
) -> None:
    """Crawl the site of an address, up to some more pages."""
    command = [sys.executable, "-m", "contentspider", "crawl", address, "-o", "pages.jsonl"]
    command += ["--max-pages", str(more + 1), "--name", CRAWL, "--state-dir", STATE]
    # One request at a time: anybody may try pages of anybody's server.
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
        limit=MAX_LINE,
    )

    async def follow() -> None:
        async for line in cast("asyncio.StreamReader", process.stderr):
            if found := PROGRESS.match(line.decode("utf-8", "replace").strip()):
                say(f"{found[1]} pages read")

    try:
        await asyncio.wait_for(follow(), CRAWL_SECS)
    except (TimeoutError, asyncio.TimeoutError):
        say(f"stopped after {CRAWL_SECS:g} s")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
