"""What ``contentspider run`` says at its end: a table of the sites, and a sentence about it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted
from contentspider.ground.terminal import table
from contentspider.ground.times import clock
from contentspider.run.results import NOT_DUE, UNCRAWLED, outcome_words
from contentspider.state.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.run.results import SiteResult

COMPLETE, GONE_DOUBTED = Outcome.COMPLETE.name.lower(), Outcome.GONE_DOUBTED.name.lower()
SHOWN_CHANGES = ("new", "changed", "moved", "gone")
HEAD = ("site", "outcome", "pages", *SHOWN_CHANGES, "quality", "duration")
NEXT_STEPS = {
    Outcome.COMPLETE: "",
    Outcome.ERROR: ": see above",
    Outcome.INCOMPLETE: ": the reasons are above",
    Outcome.INTERRUPTED: ": the same command resumes",
    Outcome.MONITOR_FAILED: ": the warnings above name the limits",
    Outcome.GONE_DOUBTED: "",  # see `_again`
    Outcome.INDEX_BEHIND: ": the reasons are above",
    Outcome.OUTPUT_FAILED: ": make room, then: contentspider replay SITE -o FILE",
    Outcome.CONTENT_HIDDEN: ': their logs say what may help, such as login or render = "auto"',
}


def report_lines(results: Sequence[SiteResult], outcome: Outcome) -> list[str]:
    """Return the table of the sites that were to be crawled, and the closing sentence."""
    shown = [result for result in results if result.outcome != NOT_DUE]
    lines = ["", *table(HEAD, map(_row, shown)), ""] if shown else []
    return [*lines, _sentence(results, outcome)]


def quality_words(f1: float | None, f1_pages: int) -> str:
    """Return the quality of a site in words, with a mark if it is only predicted."""
    if f1 is None:
        return ""
    return f"{f1:.3f}" if f1_pages else f"~{f1:.3f}"


def count_words(count: int | None) -> str:
    """Return a number for a table; "" if it is unknown."""
    return "" if count is None else f"{count:,}"


def _row(result: SiteResult) -> list[str]:
    return [
        result.site,
        outcome_words(result),
        count_words(result.pages),
        *(count_words(result.changes.get(kind)) for kind in SHOWN_CHANGES),
        quality_words(result.f1, result.f1_pages),
        "" if result.seconds is None else f"{result.seconds:.0f} s",
    ]


def to_look_at(results: Sequence[SiteResult]) -> list[SiteResult]:
    """Return the sites that a person should look at: whose crawl is not complete, or has warnings.
    Sites that are still down have been told.
    """
    return [
        result
        for result in results
        if (result.is_failed or result.warnings) and not result.is_still_down
    ]


def _why(result: SiteResult) -> str:
    return "warnings" if result.outcome == COMPLETE else result.outcome.replace("_", " ")


def _sentence(results: Sequence[SiteResult], outcome: Outcome) -> str:
    """Return a sentence with the exit code, its meaning, and advice."""
    crawled = [result.outcome for result in results if result.outcome not in UNCRAWLED]
    complete = crawled.count(COMPLETE)
    done = f"{complete:,} of {counted(len(crawled), 'crawls')} complete"
    parts = [done if crawled else "no site was crawled"]
    if waiting := sum(result.outcome == NOT_DUE for result in results):
        parts.append(f"{waiting:,} not due")
    if down := [result.site for result in results if result.is_still_down]:
        parts.append(f"still down: {', '.join(down)}")
    if failed := list(filter(None, map(_last_failure, results))):
        parts.append(f"not complete at the last crawl: {', '.join(failed)}")
    if bad := [f"{result.site} ({_why(result)})" for result in to_look_at(results)]:
        parts.append(f"to look at: {', '.join(bad)}")
    again = _again(results) if outcome is not Outcome.INTERRUPTED else ""
    return f"{'; '.join(parts)}. Exit code {outcome.value}{NEXT_STEPS[outcome]}{again}"


def _last_failure(result: SiteResult) -> str:
    """Return the name of a site that is not due, and why its last crawl was not complete; "" if it
    was, or if the site is down.
    """
    if result.last_failure is None or result.is_still_down:
        return ""
    return f"{result.site} ({result.last_failure.replace('_', ' ')})"


def _again(results: Sequence[SiteResult]) -> str:
    """Return when the sites whose crawls failed are tried again, and what to do now."""
    failed = [result for result in to_look_at(results) if result.is_failed]
    if not failed:
        return ""
    times = [f"{result.site} {time}" for result in failed if (time := due_words(result.due))]
    told = f". Crawled again with --due: {', '.join(times)}" if times else ""
    # A crawl of the same pages doubts the same.
    doubted = [result.site for result in failed if result.outcome == GONE_DOUBTED]
    for site in doubted:
        told += f". If the pages of {site} are gone: contentspider changes {site} --accept-gone"
    if names := ",".join(result.site for result in failed if result.site not in doubted):
        told += f". Now: contentspider run {failed[0].file or 'FILE'} --only {names}"
    return told


def due_words(due: str | None) -> str:
    """Return when a site is due, for people; "" if that is unknown."""
    if not due:
        return ""
    return "in the next run" if is_past(due) else clock(due)


def is_past(time: str) -> bool:
    """Tell whether a time has passed."""
    return datetime.fromisoformat(time) <= datetime.now(timezone.utc)
