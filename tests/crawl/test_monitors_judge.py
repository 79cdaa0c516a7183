"""What each monitor says of the stats of a crawl; another test runs them in real crawls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import SkipTest

import pytest
from scrapy.settings import Settings

from contentspider.crawl.base.options import DEFAULTS
from contentspider.state.outcome import (
    DOUBT_STAT,
    DOUBTFUL_STAT,
    F1_STAT,
    LEARNED_STAT,
    PAGES_STAT,
)

pytest.importorskip("spidermon", reason="the monitors are an extra that is not installed here")
monitors: Any = pytest.importorskip("contentspider.crawl.monitors")


def said(kind: str, test: str, **stats: float) -> str:
    """Return what a monitor says of stats, "" if nothing is wrong, None if there is nothing."""
    named = {f"contentspider/{name.replace('__', '/')}": value for name, value in stats.items()}
    crawler = SimpleNamespace(settings=Settings(DEFAULTS))
    monitor = getattr(monitors, kind)(test)
    monitor.init_data(SimpleNamespace(stats=named | {"x": 1}, crawler=crawler))
    try:
        getattr(monitor, test)()
    except AssertionError as error:
        return str(error)
    except SkipTest as error:
        return f"skipped: {error}"
    return ""


def ratio(kept: int, dropped: int) -> str:
    return said("ContentRatioMonitor", "test_ratio", chars__kept=kept, chars__dropped=dropped)


def drift(**stats: float) -> str:
    return said("TemplateDriftMonitor", "test_confidence", **stats)


def test_kept_share_at_limit_passes_monitor() -> None:
    assert ratio(10, 90) == ""
    assert ratio(9, 91) == (
        "the share of the text that was kept: 9.0%, less than the limit 0.1"
        " (monitors.min_kept in sites.toml, or CONTENTSPIDER_MONITOR_MIN_KEPT)"
    )
    assert ratio(0, 0) == "skipped: there are no pages to check"


def test_low_confidence_share_at_limit_passes_monitor() -> None:
    assert drift(pages__low_confidence=2, items__filtered=8) == ""
    message = drift(pages__low_confidence=1, items__filtered=3, items__unfiltered=1)
    assert "CONTENTSPIDER_RELEARN=True" in message
    assert "50.0%, more than the limit 0.25 (monitors.max_low_confidence in" in message
    assert drift() == "skipped: there are no pages to check"


def test_monitor_reports_high_share_of_emptied_pages() -> None:
    stats = {"pages__empty__no_text": 5, "pages__empty__listing": 5, "items__filtered": 20}
    assert said("EmptyPagesMonitor", "test_empty", pages__empty__dropped=2, **stats) == ""
    told = said("EmptyPagesMonitor", "test_empty", pages__empty__dropped=3, **stats)
    assert told and "15.0%, more than the limit 0.1 (monitors.max_empty in" in told


def test_monitor_counts_unread_and_unfiltered_pages_as_errors() -> None:
    stats = {"pages__failed": 2, "pages__failed/KeyError": 1, "pages__tagged": 8}
    message = said("ErrorRateMonitor", "test_errors", **stats)
    assert "30.0%, more than the limit 0.1 (monitors.max_failed in" in message
    assert said("ErrorRateMonitor", "test_errors", pages__failed=1, pages__tagged=9) == ""


def test_monitors_report_missing_text_and_low_quality() -> None:
    assert said("ExtractionMonitor", "test_text", chars__kept=1) == ""
    assert said("ExtractionMonitor", "test_text")
    found = {}
    for site, f1, pages in (("a.org", 0.9, 5), ("b.org", 0.5, 2), ("c.org", 0.1, 0)):
        found[F1_STAT.removeprefix("contentspider/") + site] = f1
        found[PAGES_STAT.removeprefix("contentspider/") + site] = pages
    message = said("QualityMonitor", "test_quality", **found)
    assert message.startswith("b.org: F1 0.500")
    assert "limit 0.85 (monitors.min_quality in" in message
    assert said("QualityMonitor", "test_quality") == ""


def test_monitor_reports_doubtful_templates_per_site() -> None:
    def doubt(*counts: int) -> str:
        found: dict[str, object] = {LEARNED_STAT + "a.org": 100, LEARNED_STAT + "b.org": 20}
        for site, slot, pages in zip(("a.org", "a.org", "b.org"), "xyz", counts, strict=True):
            found[f"{DOUBTFUL_STAT}{site}/body/{slot}"] = pages
            found[f"{DOUBT_STAT}{site}/body/{slot}"] = "prose is dropped"
        stats = {name.removeprefix("contentspider/"): value for name, value in found.items()}
        return said("DoubtfulTemplatesMonitor", "test_doubtful", **stats)

    assert doubt(5, 5, 2) == ""
    assert doubt(0, 0, 0) == ""
    told = doubt(6, 5, 2)
    assert "pages of a.org" in told and "11.0%, more than" in told
    assert "6 pages of a.org with most text at body/x; prose is dropped" in told
    assert "body/y" in told and "b.org" not in told
    assert "pages of b.org" in doubt(12, 0, 3), "the larger share"
    assert said("DoubtfulTemplatesMonitor", "test_doubtful") == ""


def test_failed_monitors_are_counted() -> None:
    counted: list[str] = []
    suite = monitors.ContentMonitorSuite()
    suite._crawler = SimpleNamespace(stats=SimpleNamespace(inc_value=counted.append))
    suite.on_monitors_failed(None)
    assert counted == ["contentspider/monitors/failed"]
