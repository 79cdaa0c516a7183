"""The outcomes of addresses: the words and HTTP statuses that a crawl records."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from contentspider.state.outcome import OUR_FAILURE

if TYPE_CHECKING:
    from scrapy import Request

# How many addresses are retried at the end of a run, once each.
MAX_ASKED_AGAIN = 10_000
# States of addresses that were answered with success. The empty one: nothing is recorded yet.
READ_STATES = ("", "fetched", "held", "released", "unchanged")
# Why an address is skipped: its answer lacks a body, or is a copy of another page.
EMPTY = "empty"
DUPLICATE = "duplicate"
# The flag of a response whose page the book gave, because the server answered 304, or sent the
# same body as before. The second flag tells the two apart.
NOT_MODIFIED = "not modified"
SAME_BODY = "same body"
# The flag of a response with the HTML that a browser made.
RENDERED = "rendered"
NOT_MODIFIED_STATUS = 304
OK_STATUS = 200
# "Not Found" and "Gone".
NOT_THERE = (404, 410)
# Redirects that say that a page has moved for good.
PERMANENT: tuple[int | str, ...] = (301, 308, "meta refresh")
# The reason for refusing a redirect that leads out of the crawl begins with this text.
OFFSITE = "it redirects to"


class Retry(Enum):
    """When an address is retried: at the end of the run if the server may answer then, or if the
    address was answered and *waits* for another page; in the next run if the failure is ours.
    """

    NEVER = 0
    NEXT_RUN = 1
    AT_END = 2
    WAITS = 3


def status_reason(status: int | str) -> str:
    """Return the reason that is recorded for an HTTP *status*, or for a redirect by a page."""
    return f"HTTP {status}" if isinstance(status, int) else status


def is_of_server(reason: str) -> bool:
    """Tell whether an address failed because of its server, which does not call it gone."""
    return not reason.startswith(OUR_FAILURE) and reason not in map(status_reason, NOT_THERE)


def redirect_reason(request: Request) -> str | None:
    """Return the reason of the last redirect that led to a request; None if there was none."""
    reasons = request.meta.get("redirect_reasons")
    return status_reason(reasons[-1]) if reasons else None
