"""The progress of ``contentspider run``: a line a site on a terminal, lines with times in a log."""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from contentspider.crawl.progress import CrawlProgress, listeners, live_line
from contentspider.ground.counts import counted
from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.ground.terminal import printable
from contentspider.run.results import NOT_DUE, RUNNING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

    from contentspider.run.results import SiteResult
    from contentspider.run.sitesfile import PlannedSite

logger = logging.getLogger(__name__)

LOG_SECS = 60.0  # between the lines about all sites


def tell_progress(path: Path) -> None:
    """From now on, write the progress of this process' crawl to *path*, for `read_progress`."""

    def write(progress: CrawlProgress) -> None:
        part = path.with_suffix(".part")
        with suppress(OSError):  # the disk is full: the crawl itself reports it
            part.write_text(json.dumps(asdict(progress)))
            part.replace(path)

    listeners.append(write)


def read_progress(path: Path) -> CrawlProgress | None:
    """Return the progress of the crawl that writes it to *path*; None if there is none yet."""
    with suppress(OSError, *DAMAGE):
        return CrawlProgress(**json.loads(path.read_bytes()))
    return None


class RunProgress:
    """Shows how far a run of *total* sites is, at most every *poll_secs*. On a terminal each
    running site has a line. A log gets a line when the phase of a site changes, and a line
    about all sites every minute.

    *look* returns where a site is crawled ("": not yet), and how far its crawl is, if it is known.
    """

    def __init__(
        self,
        total: int,
        look: Callable[[PlannedSite], tuple[str, CrawlProgress | None]],
        poll_secs: float,
    ) -> None:
        self._total, self._look, self._poll_secs = total, look, poll_secs
        self._polled_at = self._logged_at = time.monotonic()
        self._phases: dict[str, str] = {}  # of each running site, as it was logged
        self._thread: threading.Thread | None = None
        self._live = live_line()

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread:
            self._thread.join()
        if self._live:
            self._live.update("")
            self._live.stop()

    def report(
        self, running: Mapping[str, tuple[PlannedSite, Any]], results: Mapping[str, SiteResult]
    ) -> None:
        """Show the progress if it is time, in a thread, because a store may be slow."""
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy or time.monotonic() - self._polled_at < self._poll_secs:
            return
        self._polled_at = time.monotonic()
        sites = [site for site, _ in running.values()]
        self._thread = threading.Thread(
            target=self._report, args=(sites, list(results.values())), daemon=True
        )
        self._thread.start()

    def _report(self, sites: Sequence[PlannedSite], results: Sequence[SiteResult]) -> None:
        lines = []
        for site in sites:
            try:
                place, progress = self._look(site)
            except ContentSpiderError as error:
                logger.warning("%s: %s", site.name, error)
                continue
            if not place:
                continue
            where = site.name if place == "here" else f"{site.name} on {place}"
            lines.append(f"{where}: {progress or 'begins'}")
            if progress and progress.phase != self._phases.get(site.name) and not self._live:
                self._phases[site.name] = progress.phase
                logger.info("%s", lines[-1])
        good = ("complete", NOT_DUE, RUNNING)
        failed = sum(result.outcome not in good for result in results)
        done = f"{len(results)} of {counted(self._total, 'sites')} done, {failed} failed"
        if self._live:
            width = self._live.width
            self._live.update("\n".join(printable(line)[:width] for line in [*lines, done]))
        elif time.monotonic() - self._logged_at >= LOG_SECS:
            self._logged_at = time.monotonic()
            logger.info("%s%s", done, f"; running: {'; '.join(lines)}" if lines else "")
