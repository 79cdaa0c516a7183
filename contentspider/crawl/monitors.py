"""Monitors for Spidermon (the extra ``monitors``) on contentspider's stats; docs/monitoring.md
tells how to switch them on.
"""

from __future__ import annotations

try:
    from spidermon import MonitorSuite, monitors
    from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor
except ImportError as error:
    raise ImportError(
        "contentspider's monitors need Spidermon: pip install 'contentspider[monitors]'"
    ) from error

from contentspider.crawl.options import DEFAULTS
from contentspider.state.crawls.outcome import F1_STAT, PAGES_STAT


class ShareMonitor(BaseScrapyMonitor):
    """What the monitors have in common: counts of the crawl, shares of them, and the limits of the
    settings.
    """

    def count(self, name: str) -> int:
        """Return one of our stats, 0 if nothing was counted."""
        return int(self.stats.get(f"contentspider/{name}", 0))

    def share(self, part: int, whole: int) -> float:
        """Return *part* of *whole*; of nothing there is no share, and `ExtractionMonitor` says
        so.
        """
        if not whole:
            self.skipTest("there is nothing to judge")
        return part / whole

    def limit(self, setting: str) -> float:
        """Return the value of a setting."""
        return float(self.crawler.settings.getfloat(setting, DEFAULTS[setting]))


@monitors.name("Extraction")
class ExtractionMonitor(ShareMonitor):
    """Fails if no item came out of the crawl, or none with any text."""

    @monitors.name("items came out")
    def test_items(self) -> None:
        """Items passed all pipelines."""
        self.assertGreater(
            self.stats.get("item_scraped_count", 0), 0, msg="no item came out of the crawl"
        )

    @monitors.name("text was kept")
    def test_text(self) -> None:
        """Some of the pages' text was kept."""
        self.assertGreater(self.count("chars/kept"), 0, msg="no character of any page was kept")


@monitors.name("Content ratio")
class ContentRatioMonitor(ShareMonitor):
    """Fails if little of the pages' text is content: what was content may be taken for noise."""

    @monitors.name("enough of the text is content")
    def test_ratio(self) -> None:
        """The kept share of the text is not below CONTENTSPIDER_MONITOR_MIN_KEPT."""
        kept = self.count("chars/kept")
        share, limit = (
            self.share(kept, kept + self.count("chars/dropped")),
            self.limit("CONTENTSPIDER_MONITOR_MIN_KEPT"),
        )
        self.assertGreaterEqual(
            share,
            limit,
            msg=(
                f"{share:.1%} of the text was kept, less than"
                f" CONTENTSPIDER_MONITOR_MIN_KEPT={limit}"
            ),
        )


@monitors.name("Template drift")
class TemplateDriftMonitor(ShareMonitor):
    """Fails if many pages are not as the model knows them: the site has a new template, or could
    not be learned.
    """

    @monitors.name("the model knows the pages")
    def test_confidence(self) -> None:
        """The share of pages of low confidence or without a model is not above
        CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE.
        """
        low, unfiltered = self.count("pages/low_confidence"), self.count("items/unfiltered")
        share, limit = (
            self.share(low + unfiltered, self.count("items/filtered") + unfiltered),
            self.limit("CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE"),
        )
        self.assertLessEqual(
            share,
            limit,
            msg=(
                f"{low} pages were filtered with low confidence and {unfiltered} not at all:"
                f" {share:.1%}, more than CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE={limit}; if the"
                " site has changed, crawl it with CONTENTSPIDER_RELEARN=True"
            ),
        )


@monitors.name("Errors")
class ErrorRateMonitor(ShareMonitor):
    """Fails if many pages could not be read, or broke the filter."""

    @monitors.name("the pages could be read")
    def test_errors(self) -> None:
        """The share of failed pages is not above CONTENTSPIDER_MONITOR_MAX_FAILED."""
        unread = self.count("pages/failed")
        broken = sum(
            count
            for name, count in self.stats.items()
            if name.startswith("contentspider/pages/failed/")
        )
        share, limit = (
            self.share(unread + broken, unread + self.count("pages/tagged")),
            self.limit("CONTENTSPIDER_MONITOR_MAX_FAILED"),
        )
        self.assertLessEqual(
            share,
            limit,
            msg=(
                f"{unread} pages could not be read and {broken} not be filtered: {share:.1%}, more"
                f" than CONTENTSPIDER_MONITOR_MAX_FAILED={limit}"
            ),
        )


@monitors.name("Quality")
class QualityMonitor(ShareMonitor):
    """Fails if a site's items are worse than they should be, by the texts that the site itself
    publishes of its pages.
    """

    @monitors.name("the sites' own texts agree with their items")
    def test_quality(self) -> None:
        """No F1 that was measured on a site is below CONTENTSPIDER_MIN_QUALITY."""
        limit = self.limit("CONTENTSPIDER_MIN_QUALITY")
        measured = {
            name.removeprefix(F1_STAT): float(value)
            for name, value in self.stats.items()
            if name.startswith(F1_STAT) and self.stats.get(PAGES_STAT + name.removeprefix(F1_STAT))
        }
        worst = min(measured, key=lambda site: measured[site], default="")
        self.assertGreaterEqual(
            measured.get(worst, 1.0),
            limit,
            msg=(
                f"{worst}: F1 {measured.get(worst, 1.0):.3f} on the texts that the site publishes,"
                f" less than CONTENTSPIDER_MIN_QUALITY={limit}; contentspider models show names the"
                " worst pages"
            ),
        )


class ContentMonitorSuite(MonitorSuite):
    """All monitors: ``SPIDERMON_SPIDER_CLOSE_MONITORS =
    ["contentspider.crawl.monitors.ContentMonitorSuite"]``.
    """

    monitors = (
        ExtractionMonitor,
        ContentRatioMonitor,
        TemplateDriftMonitor,
        ErrorRateMonitor,
        QualityMonitor,
    )

    def on_monitors_failed(self, result: object) -> None:
        """Count the failure, which decides the exit code of ``contentspider crawl``."""
        self._crawler.stats.inc_value("contentspider/monitors/failed")
