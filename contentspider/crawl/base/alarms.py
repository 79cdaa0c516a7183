"""Compares figures of a crawl, such as the share of pages that failed, with limits in the settings.

A crawl warns of each figure that is beyond its limit. If the user has set the limit, the crawl
fails (exit code 6). The monitors for Spidermon use these figures and limits, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.crawl.base.outcomes import NOT_THERE
from contentspider.ground.counts import counted
from contentspider.state.outcome import (
    F1_STAT,
    LEARNED_STAT,
    PAGES_STAT,
    DoubtfulTemplate,
    doubtful_templates,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.settings import BaseSettings

    Stats = Mapping[str, Any]

# Scrapy's priority of a setting that nobody has set.
DEFAULT_PRIORITY = 0


class Figure(NamedTuple):
    """A *share* from 0 to 1 that is compared with a limit, and its description in *words*."""

    share: float
    words: str


class Problem(NamedTuple):
    """A limit that a crawl has passed, in words. *is_failure* tells that its user has set it."""

    text: str
    is_failure: bool


def problem(stats: Stats, settings: BaseSettings, key: str) -> str | None:
    """Return why the figure *key* of `ALARMS` is beyond its limit, "" if it is not; None if the
    crawl has nothing to compare.
    """
    measure, setting = ALARMS[key]
    figure, limit = measure(stats), settings.getfloat(setting)
    if figure is None:
        return None
    is_least = key.startswith("min_")
    if figure.share >= limit if is_least else figure.share <= limit:
        return ""
    return (
        f"{figure.words}: {figure.share:.1%}, {'less' if is_least else 'more'} than the limit"
        f" {limit:g} (monitors.{key} in sites.toml, or {setting})"
    )


def problems(stats: Stats, settings: BaseSettings) -> list[Problem]:
    """Return all limits that a crawl has passed."""
    found = []
    for key, (_, setting) in ALARMS.items():
        if text := problem(stats, settings, key):
            is_set = (settings.getpriority(setting) or DEFAULT_PRIORITY) > DEFAULT_PRIORITY
            found.append(Problem(text, is_set))
    return found


def count(stats: Stats, name: str) -> int:
    """Return one of our stats; 0 if it was not counted."""
    return int(stats.get(f"contentspider/{name}", 0))


def unsent(stats: Stats) -> int:
    """Return the number of pages that were not read again, because they have not changed."""
    return count(stats, "pages/not_modified") + count(stats, "pages/same_body")


def _figure(part: int, whole: int, words: str) -> Figure | None:
    return Figure(part / whole, words) if whole else None


def _kept(stats: Stats) -> Figure | None:
    kept = count(stats, "chars/kept")
    whole = kept + count(stats, "chars/dropped")
    return _figure(kept, whole, "the share of the text that was kept")


def _empty(stats: Stats) -> Figure | None:
    return _figure(
        count(stats, "pages/empty/dropped"),
        count(stats, "items/filtered"),
        "pages whose whole text was judged to be boilerplate (the summary names the slots)",
    )


def _low_confidence(stats: Stats) -> Figure | None:
    low, unfiltered = count(stats, "pages/low_confidence"), count(stats, "items/unfiltered")
    return _figure(
        low + unfiltered,
        count(stats, "items/filtered") + unfiltered,
        f"{counted(low, 'pages')} filtered with low confidence, and {unfiltered} not filtered (if"
        " the site has changed, crawl it with --relearn, or CONTENTSPIDER_RELEARN=True)",
    )


def _failed(stats: Stats) -> Figure | None:
    """Return the share of pages that could not be read or filtered. Dead links are left out. A page
    that the server did not send again, because it has not changed, counts as read.
    """
    unread = count(stats, "pages/failed")
    read = count(stats, "pages/tagged") + unsent(stats)
    if read:  # if no page was read, the start address itself does not exist, which is a failure
        unread -= sum(count(stats, f"pages/unread/status_{status}") for status in NOT_THERE)
    failed = sum(
        value for name, value in stats.items() if name.startswith("contentspider/pages/failed/")
    )
    return _figure(
        unread + failed,
        unread + read,
        f"{counted(unread, 'pages')} could not be read, and {counted(failed, 'pages')} could not"
        " be filtered",
    )


def _quality(stats: Stats) -> Figure:
    names = [name for name in stats if name.startswith(PAGES_STAT) and stats[name]]
    sites = [name.removeprefix(PAGES_STAT) for name in names]
    f1, worst = min(((stats[F1_STAT + site], site) for site in sites), default=(1.0, ""))
    return Figure(
        f1,
        f"{worst}: F1 {f1:.3f} on the site's own texts ('contentspider models show' names the"
        " worst pages)",
    )


def _doubtful(stats: Stats) -> Figure:
    by_site: dict[str, list[DoubtfulTemplate]] = {}
    for template in doubtful_templates(stats):
        by_site.setdefault(template.site, []).append(template)
    shares = {
        site: sum(template.pages for template in templates) / stats[LEARNED_STAT + site]
        for site, templates in by_site.items()
    }
    if not shares:
        return Figure(0.0, "")
    worst = max(shares, key=lambda site: shares[site])
    return Figure(
        shares[worst],
        f"pages of {worst} with doubtful templates ({'; '.join(map(str, by_site[worst]))};"
        " 'contentspider report' shows them)",
    )


# By the name of a limit in a file of sites: the function that measures the figure, and the setting
# that has the limit.
ALARMS: Mapping[str, tuple[Callable[[Stats], Figure | None], str]] = {
    "min_kept": (_kept, "CONTENTSPIDER_MONITOR_MIN_KEPT"),
    "max_empty": (_empty, "CONTENTSPIDER_MONITOR_MAX_EMPTY"),
    "max_low_confidence": (_low_confidence, "CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE"),
    "max_failed": (_failed, "CONTENTSPIDER_MONITOR_MAX_FAILED"),
    "min_quality": (_quality, "CONTENTSPIDER_MIN_QUALITY"),
    "max_doubtful": (_doubtful, "CONTENTSPIDER_MONITOR_MAX_DOUBTFUL"),
}
