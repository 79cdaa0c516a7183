"""How all sites are: their last crawls, as ``contentspider status`` shows them."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.ground.terminal import table
from contentspider.ground.times import clock
from contentspider.ground.toml import read_toml
from contentspider.index.marks import changes_behind, sqlite_mark
from contentspider.run.indexes import indexes_of, project_indexes
from contentspider.run.report import (
    SHOWN_CHANGES,
    count_words,
    due_words,
    is_past,
    quality_words,
)
from contentspider.run.results import (
    LOGS,
    RUNNING,
    last_crawl,
    outcome_words,
    read_result,
    result_file,
)
from contentspider.state.book.database import is_in_use
from contentspider.state.crawls.books import KILLED, crawl_status
from contentspider.state.crawls.entries import Entries
from contentspider.state.outcome import FINISHED, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from contentspider.index.reader import IndexReader
    from contentspider.run.results import LastCrawl, SiteResult
    from contentspider.state.book.book import Run

HEAD = (
    *("site", "last crawl", "outcome", "pages", *SHOWN_CHANGES),
    *("quality", "doubts", "size", "index lag", "next due"),
)
NO_ANSWER = "no answer"
COMPLETE, UNKNOWN = "complete", "unknown"
INTERRUPTED = Outcome.INTERRUPTED.name.lower()
FINE = (COMPLETE, RUNNING)


@dataclass(frozen=True, slots=True)
class SiteOverview:
    """A *site*, and the last crawl of it, which began at *last_crawl*. *pages* counts the pages of
    the site, and *changes* the changes of each kind that the crawl found.

    *outcome* is ``running``, ``unknown`` (the book has no run, or cannot be read), an outcome of
    `SiteResult`, or for other crawls than those of the command line, which have no `SiteResult`,
    the reason in the book.

    *index_lag* counts the changed pages that the index of the site does not have yet (of several
    indexes: that which lacks most). It is None if the site has no index, or if the number is
    unknown, which *index_error* explains. *doubtful* counts doubtful templates, and *bytes* those
    of the book. `SiteResult` explains the others.
    """

    site: str
    last_crawl: str | None
    outcome: str
    pages: int | None
    changes: dict[str, int]
    f1: float | None = None
    f1_pages: int = 0
    relearned: int = 0
    doubtful: int | None = None
    index_lag: int | None = None
    index_error: str = ""
    down_since: str | None = None
    due: str | None = None
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    bytes: int | None = None
    is_removed: bool = False

    def order(self) -> tuple[bool, bool, bool, str]:
        """Return a key for sorting: sites that need attention come first, removed sites last."""
        return self.is_removed, self.is_fine, self.outcome in FINE, self.site

    @property
    def is_fine(self) -> bool:
        """Whether nobody has to look at the site."""
        return self.outcome in FINE and not (self.doubts or self.index_lag or self.index_error)

    @property
    def doubts(self) -> int | None:
        """The number of doubtful templates and warnings, None if it is unknown."""
        return None if self.doubtful is None else self.doubtful + len(self.warnings)


def names_in(file: str) -> Collection[str] | None:
    """Return the names of the sites in a file of sites; None if it cannot be read."""
    with suppress(ContentSpiderError):
        names = read_toml(Path(file), ContentSpiderError).get("site", {})
        return names if isinstance(names, dict) else None
    return None


def overview(paths: Iterable[Path]) -> list[SiteOverview]:
    """Return how the sites of some books are; first those to look at, the worst before."""
    names = cache(names_in)  # many sites have one file
    with closing(IndexLags()) as lags:
        sites = [_site(book, lags, names) for book in paths]
    return sorted(sites, key=methodcaller("order"))


def overview_lines(sites: Sequence[SiteOverview]) -> list[str]:
    """Return a table of the sites, and below it a line with the names of removed sites."""
    shown = [site for site in sites if not site.is_removed]
    lines = table(HEAD, ([cell for _, cell in overview_cells(site)] for site in shown))
    if removed := [site.site for site in sites if site.is_removed]:
        lines.append(
            f"no longer in their file of sites: {', '.join(removed)} (contentspider remove"
            f" {removed[0]} deletes what is left)"
        )
    return lines


def overview_cells(site: SiteOverview) -> Iterator[tuple[str, str]]:
    """Return the names of the table's columns, with what they say of a site."""
    return zip(HEAD, _row(site), strict=True)


def site_status(book: Path) -> str:
    """Return lines that describe the last crawl of one site."""
    result = read_result(result_file(book.parent / LOGS, book.stem))
    if result is None or (result.file is None and book.exists()):
        return crawl_status(book)
    lines = [f"{result.site}: no crawl of it has begun"]
    if book.exists():
        lines = [crawl_status(book, f"contentspider run {result.file} --only {result.site}")]
    if result.is_failed:
        lines.append("; ".join([f"last run: {outcome_words(result)}", *result.reasons]))
    if due := due_words(_due(result, last_crawl(book), is_in_use(book))):
        lines.append(f"crawled again by run --due: {due}")
    return "\n".join(lines)


def _site(
    book: Path, lags: IndexLags, names: Callable[[str], Collection[str] | None]
) -> SiteOverview:
    result = read_result(result_file(book.parent / LOGS, book.stem))
    seen = _seen(book, lags, result)
    found = names(result.file) if result and result.file else None
    if found is not None and seen.site not in found:
        return replace(seen, is_removed=True, due=None)
    return seen


def _seen(book: Path, lags: IndexLags, result: SiteResult | None) -> SiteOverview:
    if result and not book.exists():
        unseen = SiteOverview(book.stem, result.started, UNKNOWN, None, {}, due=result.due)
        return unseen if result.outcome == RUNNING else _with_result(unseen, result)
    try:
        with closing(Entries(book)) as entries:
            run, known = entries.last_run(), entries.told() or {}
            lag, error = lags.of(entries, result)
    except (ContentSpiderError, *DAMAGE):
        return SiteOverview(book.stem, None, UNKNOWN, None, {}, bytes=_size(book))
    pages, changes = known.get("pages"), known.get("changes", {})
    seen = SiteOverview(book.stem, None, UNKNOWN, pages, changes, bytes=_size(book))
    if run is None:
        return seen
    last, is_running = last_crawl(book), is_in_use(book)
    outcome = _outcome(run, is_running, known.get("outcome") or run.reason)
    seen = replace(seen, last_crawl=run.started, outcome=outcome)
    seen = replace(seen, index_lag=lag, index_error=error)
    if last.is_killed and not is_running:
        is_planned = result is not None and result.file is not None
        resumed = "; the next contentspider run resumes it" * is_planned
        seen = replace(seen, reasons=(f"its last run {KILLED}{resumed}",))
    if result is None:
        return seen
    seen = replace(seen, due=_due(result, last, is_running))
    is_of_run = bool(result.ended) and run.started <= str(result.ended)
    if not is_of_run or outcome == RUNNING:  # a later crawl has begun
        return seen
    return _with_result(seen, result)


def _size(book: Path) -> int:
    """Return the bytes of a book on the disk."""
    size = 0
    for suffix in ("", "-wal"):
        with suppress(FileNotFoundError):  # a crawl that ends removes the second
            size += book.with_name(book.name + suffix).stat().st_size
    return size


def _with_result(seen: SiteOverview, result: SiteResult) -> SiteOverview:
    """Add the *result* of the last crawl to the facts from the site's book (*seen*)."""
    return replace(
        seen,
        outcome=result.outcome,
        due=result.due,
        changes=result.changes or seen.changes,
        f1=result.f1,
        f1_pages=result.f1_pages,
        relearned=result.relearned,
        doubtful=len(result.doubtful),
        down_since=result.down_since,
        warnings=result.warnings,
        reasons=result.reasons,
    )


class IndexLags:
    """Asks search indexes how far they are behind. One that does not answer is asked once."""

    def __init__(self) -> None:
        self._readers: dict[str, IndexReader] = {}
        self._errors: dict[str, str] = {}
        self._of_project = cache(project_indexes)  # one project has many crawls

    def of(self, entries: Entries, result: SiteResult | None) -> tuple[int | None, str]:
        """Return how many changed pages of a book its indexes do not have yet, and why that is
        unknown (None). *result* is of the last crawl.
        """
        try:
            state_dir = str(entries.path.parent)
            urls = indexes_of(entries.path.stem, result, state_dir, self._of_project)
        except ContentSpiderError as error:
            return None, str(error)
        lags = [self._lag(entries, url) for url in urls if url not in self._errors]
        known = [lag for lag in lags if lag is not None]
        errors = [self._errors[url] for url in urls if url in self._errors]
        return max(known, default=None), "; ".join(errors)

    def _lag(self, entries: Entries, url: str) -> int | None:
        crawl = entries.path.stem
        mark = sqlite_mark(url, crawl)
        if mark is None:
            mark = self._asked_mark(url, crawl)
        return None if mark is None else changes_behind(entries, mark)

    def _asked_mark(self, url: str, crawl: str) -> str | None:
        """Ask the engine of an index for its mark of a crawl; None if it cannot say."""
        from contentspider.index.errors import EngineError
        from contentspider.index.reader import IndexReader  # loads the search

        reader = self._readers.setdefault(url, IndexReader(url))
        try:
            mark: str = reader.call(methodcaller("mark", crawl))
        except EngineError as error:
            self._errors[url] = str(error)
            return None
        return mark

    def close(self) -> None:
        """Close the indexes."""
        for reader in self._readers.values():
            reader.close()


def _outcome(run: Run, is_running: bool, reason: str | None) -> str:
    """Return how a run ended, as its book tells: for a *reason*, if it was not killed."""
    if run.ended is None:
        return RUNNING if is_running else INTERRUPTED
    return COMPLETE if reason == FINISHED else reason or INTERRUPTED


def _due(result: SiteResult, last: LastCrawl, is_running: bool) -> str | None:
    """Return when a site is due after its *last* crawl. *result* is of that crawl, or of the one
    before if the last run was killed: then the site is due since it began.
    """
    is_overdue = result.file and last.is_killed and last.began and not is_running
    return last.began.isoformat() if is_overdue and last.began else result.due


def _row(site: SiteOverview) -> list[str]:
    return [
        site.site,
        _moment(site.last_crawl),
        _outcome_words(site),
        count_words(site.pages),
        *(count_words(site.changes.get(kind, 0)) for kind in SHOWN_CHANGES),
        quality_words(site.f1, site.f1_pages),
        count_words(site.doubts),
        "" if site.bytes is None else f"{site.bytes / 1e6:,.1f} MB",
        NO_ANSWER if site.index_error else count_words(site.index_lag),
        "now" if site.due and is_past(site.due) else _moment(site.due),
    ]


def _outcome_words(site: SiteOverview) -> str:
    if site.down_since:
        return f"down since {site.down_since[:10]}"
    words = site.outcome.replace("_", " ")
    return f"{words}, learned again" if site.relearned else words


def _moment(time: str | None) -> str:
    return clock(time) if time else ""
