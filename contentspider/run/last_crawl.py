"""The last crawl of a site, from its book, and when the site is due again."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.books import is_hopeless, read_book
from contentspider.state.outcome import FINISHED, LIMITS

if TYPE_CHECKING:
    from pathlib import Path

# A site is due early by this share of its interval, so that a daily timer that comes a few
# minutes early does not skip a day.
SLACK = 0.05
AT_ONCE = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class LastCrawl:
    """The last crawl of a site: when it *began* (None: never), and whether it is unfinished. A
    crawl that reached a limit of its user is finished.
    """

    began: datetime | None = None
    is_unfinished: bool = False

    def due(self, interval: timedelta | None) -> datetime:
        """Return when the site is due. An unfinished crawl was due when it began. A crawl that
        began in the future is due at once, because the clock was wrong.

        The *interval* (None: due at once) counts from the beginning of the last crawl, so that a
        daily crawl does not start later each day.
        """
        if self.began is None or self.began > datetime.now(timezone.utc):
            return AT_ONCE
        if self.is_unfinished or not interval:
            return self.began
        return self.began + interval * (1 - SLACK)


def last_crawl(path: Path) -> LastCrawl:
    """Return the last crawl in a book; none if it is unreadable, which the next crawl reports."""
    if path.is_file():
        broken = (ContentSpiderError, ValueError, TypeError)
        with suppress(*broken), closing(read_book(path)) as book:
            if runs := book.runs.all():
                is_over = runs[-1].reason in (FINISHED, *LIMITS) or is_hopeless(book)
                return LastCrawl(datetime.fromisoformat(runs[0].started), not is_over)
    return LastCrawl()
