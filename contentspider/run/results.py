"""The results of the sites of a run, its outcome, and its summary."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from contentspider.state.outcome import DoubtfulTemplate, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The outcomes of sites that were not crawled; other outcomes are in `Outcome`.
NOT_DUE, RUNNING, NOT_STARTED = "not_due", "running", "not_started"
# Outcomes of a crawl that is complete but needs attention. A run has one of them if it is the only
# problem of its crawls.
OUTCOMES_OF_RUNS = (
    Outcome.MONITOR_FAILED,
    Outcome.GONE_DOUBTED,
    Outcome.INDEX_BEHIND,
    Outcome.OUTPUT_FAILED,
    Outcome.CONTENT_HIDDEN,
)


@dataclass(frozen=True, slots=True)
class SiteResult:
    """The result of a site. *outcome* is the outcome of its crawl, or `NOT_DUE`, `RUNNING` (in
    another process) or `NOT_STARTED`.

    *exit_code* is the process' (negative: the signal that ended it). *items* counts the items of
    this run. *f1* is their quality, measured on *f1_pages* pages with an own text (0: predicted).
    *doubtful* are templates whose items may be wrong. Times are ISO 8601 in UTC; *log* is a path,
    or a URL in the store of the site's state.
    """

    site: str
    outcome: str
    exit_code: int | None = None
    started: str | None = None
    ended: str | None = None
    seconds: float | None = None
    items: int | None = None
    f1: float | None = None
    f1_pages: int = 0
    doubtful: tuple[DoubtfulTemplate, ...] = ()
    reasons: tuple[str, ...] = ()
    log: str | None = None

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> SiteResult:
        """Return the result that `dataclasses.asdict` and JSON made a *record* of."""
        doubtful = tuple(DoubtfulTemplate(**template) for template in record["doubtful"])
        return cls(**{**record, "doubtful": doubtful, "reasons": tuple(record["reasons"])})

    @classmethod
    def failed(cls, site: str, reason: str) -> SiteResult:
        """Return the result of a site that was not crawled because of an error."""
        return cls(site, Outcome.ERROR.name.lower(), reasons=(reason,))


def times(started: datetime) -> dict[str, Any]:
    """Return the times when a crawl *started* and ended (now), and the seconds between."""
    ended = datetime.now(timezone.utc)
    return {
        "started": started.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": round((ended - started).total_seconds(), 3),
    }


def run_outcome(results: Sequence[SiteResult], is_stopped: bool) -> Outcome:
    """Return the outcome of a run: complete if all its crawls are complete."""
    if is_stopped:
        return Outcome.INTERRUPTED
    bad = {result.outcome for result in results} - {NOT_DUE, RUNNING, "complete"}
    for outcome in OUTCOMES_OF_RUNS:
        if bad == {outcome.name.lower()}:
            return outcome
    return Outcome.INCOMPLETE if bad else Outcome.COMPLETE


def summary_of(
    results: Sequence[SiteResult], outcome: Outcome, started: datetime
) -> dict[str, Any]:
    """Return the outcomes of a run and its sites as JSON data."""
    summary = {"outcome": outcome.name.lower(), "exit_code": int(outcome), **times(started)}
    return summary | {"sites": [asdict(result) for result in results]}
