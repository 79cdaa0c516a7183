"""Which known pages are due: those that were not visited for as long as pages that change as often
as they do are left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.times import days_between, now
from contentspider.recrawl.intervals import Bounds, intervals

if TYPE_CHECKING:
    from contentspider.crawl.options import CrawlOptions
    from contentspider.state.history.history import History


def due_pages(history: History, options: CrawlOptions) -> list[str]:
    """Return the addresses of the live pages whose next visit is due, the most overdue first: those
    that wait for the largest multiple of their interval.

    When a page is due is not kept but reckoned anew from its visits, so no date can be outdated: it
    is its last visit and its interval of now.
    """
    at, known = now(), list(history.visits())
    bounds = Bounds(options.min_interval, options.max_interval, options.mean_interval)
    days = np.array([days_between(visited, at) for _, visited, _ in known])
    waited = days / intervals([spell for _, _, spell in known], bounds)
    # A visit in the future is of a clock that was wrong.
    waited[days < 0] = np.inf
    order = np.argsort(-waited, kind="stable")
    return [known[index][0] for index in order if waited[index] >= 1]
