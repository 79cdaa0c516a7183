"""When a site is due, by the ledger of its last crawl, and whether that crawl is gone on with."""

from __future__ import annotations

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
class Standing:
    """How the last crawl of a site stands: when it *began* (None: there was none), and whether it
    was left *unfinished*. One that came to a limit that its user has set is finished.
    """

    began: datetime | None = None
    is_unfinished: bool = False

    def due(self, interval: timedelta) -> datetime:
        """Return when the site is to be crawled: an unfinished crawl was due when it began.

        The interval is counted from the beginning of the last crawl, so that a daily one does not
        come later each day by the time that it takes.
        """
        if self.began is None:
            return AT_ONCE
        return self.began if self.is_unfinished else self.began + interval * (1 - SLACK)


def standing(path: Path) -> Standing:
    """Return how the crawl with the ledger at *path* stands; a crawl whose ledger cannot be read
    stands as if there was none: the next one says what is wrong with it.
    """
    if not path.is_file():
        return Standing()
    try:
        ledger = Ledger(path, read_only=True)
    except ContentSpiderError:
        return Standing()
    try:
        runs = ledger.runs.all()
        if not runs:
            return Standing()
        is_over = runs[-1].reason in (FINISHED, *LIMITS) or is_hopeless(ledger)
        return Standing(datetime.fromisoformat(runs[0].started), not is_over)
    except ContentSpiderError:
        return Standing()
    finally:
        ledger.close()
