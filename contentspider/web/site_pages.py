"""The pages about the crawled sites: how all of them are, and the report, the changes and the log
of each.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import Query
from contentspider.recrawl.changes import CHANGES, UNCHANGED
from contentspider.run.overview import FINE, SiteOverview, overview, overview_cells
from contentspider.run.results import LOGS
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.entries import last_crawl
from contentspider.state.crawls.feed import ROW_HEAD, change_rows
from contentspider.web.guards import is_for_programs
from contentspider.web.report import write_crawl_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from contentspider.index.reader import IndexReader

MAX_LOG_BYTES = 200_000
MAX_ROWS = 500
PLOTTED_CRAWLS = 40
WIDTH, HEIGHT = 96, 24
# The report has its styles in it, and nothing else that it loads.
REPORT_POLICY = "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'"
NO_CRAWL = "There is no crawl of this name."


class SitePages:
    """The handlers of these pages. *books* are of the crawls, *models* is the folder of models.
    *index* counts the pages of sites; None: there is none.
    """

    def __init__(
        self,
        index: IndexReader | None,
        books: Sequence[Path],
        models: Path,
        html: Callable[..., Response],
    ) -> None:
        self._index, self._models, self._html = index, models, html
        self._books = {path.stem: path for path in books}

    def routes(self) -> list[Route]:
        """Return the routes of these pages."""
        return [
            Route("/sites", self.sites),
            Route("/api/sites", self.sites),
            Route("/sites/{crawl}/report", self.report),
            Route("/sites/{crawl}/changes", self.changes),
            Route("/sites/{crawl}/log", self.log),
        ]

    async def sites(self, request: Request) -> Response:
        """Return how all sites are, and the numbers of pages in the index."""
        counts: Mapping[str, int] = {}
        if self._index is not None:
            search = self._index.call
            results = await run_in_threadpool(search, lambda each: each.search(Query("", limit=1)))
            counts = results.facets["site"]
        sites = await run_in_threadpool(lambda: overview([*self._books.values()]))
        if is_for_programs(request):
            crawls = [last_crawl(path) for path in self._books.values()]
            told = [crawl for crawl in crawls if crawl is not None]
            status = [asdict(site) for site in sites]
            return JSONResponse({"sites": counts, "crawls": told, "status": status})
        rows = await run_in_threadpool(lambda: [self._row(site) for site in sites])
        summary = _counts(rows)
        return self._html("sites.html", sites=counts, rows=rows, counts=summary)

    def _row(self, site: SiteOverview) -> dict[str, Any]:
        """Return the values of a site's row in the table of sites."""
        book = self._books[site.site]
        texts = [*site.reasons, *site.warnings, *filter(None, [site.index_error])]
        return {
            "site": site,
            "kind": "" if site.is_fine else "doubtful" if site.outcome in FINE else "bad",
            "texts": [] if site.is_fine else texts,
            "cells": dict(overview_cells(site)),
            "plot": plot(_history(book), site.pages or 0),
            "has_log": self._log_of(book).is_file(),
        }

    async def report(self, request: Request) -> Response:
        """Return the report of a crawl."""
        text = await run_in_threadpool(self._report, self._book(request))
        return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})

    def _report(self, book: Path) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "report.html"
            write_crawl_report(book, self._models, "", output)
            return output.read_bytes()

    async def changes(self, request: Request) -> Response:
        """Return the newest changes of a crawl, as `contentspider changes` shows them."""
        book = self._book(request)
        rows = await run_in_threadpool(_changes, book)
        return self._html("changes.html", crawl=book.stem, head=ROW_HEAD, rows=rows)

    async def log(self, request: Request) -> Response:
        """Return the end of the log of a crawl of ``contentspider run``."""
        path = self._log_of(self._book(request))
        with suppress(OSError), path.open("rb") as file:
            file.seek(max(path.stat().st_size - MAX_LOG_BYTES, 0))
            return PlainTextResponse(file.read().decode("utf-8", "replace"))
        raise HTTPException(404, "This crawl has no log: only those of contentspider run have.")

    def _book(self, request: Request) -> Path:
        book = self._books.get(str(request.path_params["crawl"]))
        if book is None:
            raise HTTPException(404, NO_CRAWL)
        return book

    @staticmethod
    def _log_of(book: Path) -> Path:
        return book.parent / LOGS / f"{book.stem}.log"


def _counts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return how many sites have each outcome that needs a look, and how many are fine."""
    bad = [row for row in rows if row["kind"] == "bad"]
    counts = Counter(
        "down" if row["site"].down_since else str(row["cells"]["outcome"]) for row in bad
    )
    for kind, words in (("doubtful", "with doubts"), ("", "fine")):
        counts[words] = sum(row["kind"] == kind for row in rows)
    return [(words, count) for words, count in counts.items() if count]


def _changes(path: Path) -> list[list[str]]:
    kinds = [kind for kind in CHANGES if kind != UNCHANGED]
    with closing(read_book(path)) as book:
        records = list(book.changes.records(kinds=kinds))[-MAX_ROWS:]
        return change_rows(book, reversed(records))


def _history(path: Path) -> list[tuple[str, dict[str, int]]]:
    """Return the changes of the last crawls in a book; none if it cannot be read."""
    with suppress(ContentSpiderError), closing(read_book(path)) as book:
        return book.changes.by_crawl()[-PLOTTED_CRAWLS:]
    return []


def plot(history: Sequence[tuple[str, Mapping[str, int]]], pages: int) -> dict[str, Any]:
    """Return the values that draw a site's crawls as SVG: a line for the number of pages, and a bar
    for each crawl's changes. *history* has the end of each crawl and its numbers of changes by
    kind, the oldest first. The site has *pages* pages after the last crawl; the numbers before are
    computed back from it. "words" says the same as text.

    >>> plot([("2026-01-01", {"new": 4}), ("2026-01-02", {"gone": 1, "changed": 1})], 3)["words"]
    'pages: 4, 3; changes: 4, 2'
    """
    changes = [sum(counts.values()) for _, counts in history]
    sizes = [pages]
    for _, counts in reversed(history[1:]):
        sizes.insert(0, max(sizes[0] - counts.get("new", 0) + counts.get("gone", 0), 0))
    step = WIDTH / max(len(history), 1)
    most_pages, highest = max(*sizes, 1), HEIGHT / 2 / max(*changes, 1, 1)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "line": " ".join(
            f"{(number + 0.5) * step:.1f},{(HEIGHT - 2) * (1 - size / most_pages) + 1:.1f}"
            for number, size in enumerate(sizes)
        ),
        "bars": [
            (
                f"{number * step:.1f}",
                f"{step * 0.8:.1f}",
                f"{highest * count:.1f}",
            )
            for number, count in enumerate(changes)
        ],
        "words": f"pages: {', '.join(map(str, sizes))}; changes: {', '.join(map(str, changes))}",
    }
