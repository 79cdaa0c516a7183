"""How all sites are: their last crawls, as ``contentspider status`` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from contentspider.ground.terminal import table
from contentspider.run.report import SHOWN_CHANGES, count_words, quality_words
from contentspider.run.results import LOGS, RUNNING, read_result, result_file
from contentspider.state.book.database import is_in_use
from contentspider.state.crawls.books import last_run
from contentspider.state.crawls.entries import last_crawl
from contentspider.state.outcome import FINISHED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from contentspider.state.book.book import Run

HEAD = ("site", "last crawl", "outcome", "pages", *SHOWN_CHANGES, "quality", "doubts", "next due")
COMPLETE, UNKNOWN, KILLED = "complete", "unknown", "killed"
FINE = (COMPLETE, RUNNING)


@dataclass(frozen=True, slots=True)
class SiteOverview:
    """The last crawl of a *site*: when it began (*last_crawl*), its *outcome* (as in the summary of
    a run; else the reason in its book, ``running``, ``killed``, or ``unknown``: the book has no
    run, or cannot be read), the *pages* that the site has, and the *changes* of each kind that the
    crawl found.

    Only crawls of ``contentspider run`` tell the rest: see `SiteResult`. *doubtful* counts its
    doubtful templates.
    """

    site: str
    last_crawl: str | None
    outcome: str
    pages: int | None
    changes: dict[str, int]
    f1: float | None = None
    f1_pages: int = 0
    doubtful: int | None = None
    down_since: str | None = None
    due: str | None = None
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether nobody has to look at the site."""
        return self.outcome in FINE and not self.doubts

    @property
    def doubts(self) -> int | None:
        """The number of doubtful templates and warnings, None if it is unknown."""
        return None if self.doubtful is None else self.doubtful + len(self.warnings)


def overview(books: Iterable[Path]) -> list[SiteOverview]:
    """Return how the sites of some books are; first those to look at."""
    sites = list(map(_site, books))
    return sorted(sites, key=lambda site: (site.is_fine, site.site))


def overview_lines(sites: Sequence[SiteOverview]) -> list[str]:
    """Return a table of sites."""
    return table(HEAD, ([cell for _, cell in overview_cells(site)] for site in sites))


def overview_cells(site: SiteOverview) -> Iterator[tuple[str, str]]:
    """Return the names of the table's columns, with what they say of a site."""
    return zip(HEAD, _row(site), strict=True)


def _site(book: Path) -> SiteOverview:
    run, _ = last_run(book)
    known = last_crawl(book) or {}
    pages, changes = known.get("pages"), known.get("changes", {})
    if run is None:
        return SiteOverview(book.stem, None, UNKNOWN, pages, changes)
    outcome = _outcome(run, book, known.get("outcome") or run.reason)
    result = read_result(result_file(book.parent / LOGS, book.stem))
    if result is None:
        return SiteOverview(book.stem, run.started, outcome, pages, changes)
    is_of_run = bool(result.ended) and run.started <= str(result.ended)
    if not is_of_run or outcome == RUNNING:  # a later crawl has begun
        return SiteOverview(book.stem, run.started, outcome, pages, changes, due=result.due)
    return SiteOverview(
        book.stem,
        run.started,
        result.outcome,
        pages,
        result.changes or changes,
        result.f1,
        result.f1_pages,
        len(result.doubtful),
        result.down_since,
        result.due,
        result.warnings,
        result.reasons,
    )


def _outcome(run: Run, book: Path, reason: str | None) -> str:
    """Return how a run ended, as its book tells: for a *reason*, if it was not killed."""
    if run.ended is None:
        return RUNNING if is_in_use(book) else KILLED
    return COMPLETE if reason == FINISHED else reason or KILLED


def _row(site: SiteOverview) -> list[str]:
    return [
        site.site,
        _moment(site.last_crawl),
        f"down since {site.down_since[:10]}" if site.down_since else site.outcome.replace("_", " "),
        count_words(site.pages),
        *(count_words(site.changes.get(kind, 0)) for kind in SHOWN_CHANGES),
        quality_words(site.f1, site.f1_pages),
        count_words(site.doubts),
        "now" if site.due and _is_past(site.due) else _moment(site.due),
    ]


def _moment(time: str | None) -> str:
    return time[:16].replace("T", " ") if time else ""


def _is_past(time: str) -> bool:
    return datetime.fromisoformat(time) <= datetime.now(timezone.utc)
