"""What ``contentspider run`` says at its end: a table of the sites, and a sentence about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.terminal import table
from contentspider.run.results import NOT_DUE, NOT_STARTED, RUNNING, outcome_words
from contentspider.state.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.run.results import SiteResult

HEAD = ("site", "outcome", "pages", "new", "changed", "gone", "quality", "duration")
SHOWN_CHANGES = ("new", "changed", "gone")
NEXT_STEPS = {
    Outcome.COMPLETE: "",
    Outcome.ERROR: "; see the logs",
    Outcome.INCOMPLETE: "; the reasons are above and in their logs, and the next run goes on",
    Outcome.INTERRUPTED: "; the same command resumes",
    Outcome.MONITOR_FAILED: "; the log of the site names the monitor",
    Outcome.GONE_DOUBTED: "; if the pages really are gone: contentspider changes SITE"
    " --accept-gone",
    Outcome.INDEX_BEHIND: "; contentspider index verify says more",
    Outcome.OUTPUT_FAILED: "; make room, then: contentspider replay SITE -o FILE",
    Outcome.CONTENT_HIDDEN: '; their logs say what may help, such as render = "auto"',
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
    fine = (NOT_DUE, RUNNING, NOT_STARTED, Outcome.COMPLETE.name.lower())
    return [
        result
        for result in results
        if (result.outcome not in fine or result.warnings) and not result.is_still_down
    ]


def _sentence(results: Sequence[SiteResult], outcome: Outcome) -> str:
    """Return a sentence with the exit code, its meaning, and advice."""
    uncrawled = (NOT_DUE, RUNNING, NOT_STARTED)
    crawled = [result for result in results if result.outcome not in uncrawled]
    parts = [f"{len(crawled):,} sites crawled" if crawled else "no site was crawled"]
    if waiting := sum(result.outcome == NOT_DUE for result in results):
        parts.append(f"{waiting:,} not due")
    if down := [result.site for result in results if result.is_still_down]:
        parts.append(f"still down: {', '.join(down)}")
    if bad := [result.site for result in to_look_at(results)]:
        parts.append(f"to look at: {', '.join(bad)}")
    return f"exit code {outcome.value}: {', '.join(parts)}{NEXT_STEPS[outcome]}"
