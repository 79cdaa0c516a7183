"""When a site is due, by the ledger of its last crawl, and whether that crawl is resumed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.ledgers import is_hopeless
from contentspider.state.crawls.outcome import FINISHED, LIMITS
from contentspider.state.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

# A timer that comes a little early (a daily one by minutes) does not miss a whole turn.
SLACK = 0.05
AT_ONCE = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class LastCrawl:
    """The last crawl of a site: when it *began* (None: there was none), and whether it was left
    unfinished. One that came to a limit that its user has set is finished.
    """

    began: datetime | None = None
    is_unfinished: bool = False

    def due(self, interval: timedelta | None) -> datetime:
        """Return when the site is to be crawled: an unfinished crawl was due when it began, and one
        of which that is in the future at once: the clock was wrong.

        The *interval* (None: at once) is counted from the beginning of the last crawl, so that a
        daily one does not come later each day by the time that it takes.
        """
        if self.began is None or self.began > datetime.now(timezone.utc):
            return AT_ONCE
        if self.is_unfinished or not interval:
            return self.began
        return self.began + interval * (1 - SLACK)


def last_crawl(path: Path) -> LastCrawl:
    """Return the crawl with the ledger at *path*; if that cannot be read, as if there was none: the
    next crawl says what is wrong with it.
    """
    if not path.is_file():
        return LastCrawl()
    try:
        with closing(Ledger(path, read_only=True)) as ledger:
            runs = ledger.runs.all()
            if not runs:
                return LastCrawl()
            is_over = runs[-1].reason in (FINISHED, *LIMITS) or is_hopeless(ledger)
            return LastCrawl(datetime.fromisoformat(runs[0].started), not is_over)
    except (ContentSpiderError, ValueError, TypeError):
        return LastCrawl()
