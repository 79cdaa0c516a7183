"""Reports the progress of a run of many sites."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.run.results import NOT_DUE, RUNNING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from contentspider.run.results import SiteResult
    from contentspider.run.sitesfile import PlannedSite

logger = logging.getLogger(__name__)

PROGRESS_SECS = 10.0


class Progress:
    """Logs how far a run of *total* sites is, every `PROGRESS_SECS`. *pages* returns where a site
    is crawled ("": not yet) and how many items it has.
    """

    def __init__(self, total: int, pages: Callable[[PlannedSite], tuple[str, int]]) -> None:
        self._total, self._pages = total, pages
        self._reported_at, self._known = time.monotonic(), 0
        self._thread: threading.Thread | None = None

    def report(
        self, running: Mapping[str, tuple[PlannedSite, Any]], results: Mapping[str, SiteResult]
    ) -> None:
        """Log the progress if it is time, in a thread, because a store may be slow."""
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy or time.monotonic() - self._reported_at < PROGRESS_SECS:
            return
        sites = [site for site, _ in running.values()]
        self._thread = threading.Thread(
            target=self._report, args=(sites, list(results.values())), daemon=True
        )
        self._thread.start()

    def _report(self, sites: list[PlannedSite], results: list[SiteResult]) -> None:
        secs = time.monotonic() - self._reported_at
        self._reported_at += secs
        pages, places = sum(result.items or 0 for result in results), []
        for site in sites:
            try:
                place, count = self._pages(site)
            except ContentSpiderError as error:
                logger.warning("%s: %s", site.name, error)
                continue
            pages += count
            if place:
                places.append(f"{site.name} on {place} ({count:,} pages)")
        good = ("complete", NOT_DUE, RUNNING)
        failed = sum(result.outcome not in good for result in results)
        rate = max(pages - self._known, 0) / secs
        self._known = pages
        logger.info(
            "%d of %d sites done, %d failed, %.1f pages a second%s",
            len(results),
            self._total,
            failed,
            rate,
            f"; running: {', '.join(places)}" if places else "",
        )
