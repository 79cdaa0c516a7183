"""Monitors for Spidermon (the extra ``monitors``) on our stats; see docs/monitoring.md."""

from __future__ import annotations

try:
    from spidermon import MonitorSuite, monitors
    from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor
except ImportError as error:
    raise ImportError(
        "contentspider's monitors need Spidermon: pip install 'contentspider[monitors]'"
    ) from error

from contentspider.state.outcome import (
    F1_STAT,
    LEARNED_STAT,
    PAGES_STAT,
    DoubtfulTemplate,
    doubtful_templates,
)


class ContentMonitor(BaseScrapyMonitor):
    """What the monitors have in common: counts of the crawl, and limits of the settings."""

    def count(self, name: str) -> int:
        """Return one of our stats, 0 if nothing was counted."""
        return int(self.stats.get(f"contentspider/{name}", 0))

    def check_share(self, part: int, whole: int, setting: str, message: str) -> None:
        """Fail if *part* of *whole* is more than a *setting* allows, or less than its minimum."""
        if not whole:
            self.skipTest("there is nothing to judge")
        share, limit = part / whole, self.crawler.settings.getfloat(setting)
        if "_MIN_" in setting:
            self.assertGreaterEqual(
                share, limit, f"{message}: {share:.1%}, less than {setting}={limit}"
            )
        else:
            self.assertLessEqual(
                share, limit, f"{message}: {share:.1%}, more than {setting}={limit}"
            )


@monitors.name("Extraction")
class ExtractionMonitor(ContentMonitor):
    """Fails if no item came out of the crawl, or none with any text."""

    @monitors.name("items came out")
    def test_items(self) -> None:
        """Items passed all pipelines."""
        items = self.stats.get("item_scraped_count", 0)
        self.assertGreater(items, 0, msg="no item came out of the crawl")

    @monitors.name("text was kept")
    def test_text(self) -> None:
        """Some of the pages' text was kept."""
        self.assertGreater(self.count("chars/kept"), 0, msg="no character of any page was kept")


@monitors.name("Content ratio")
class ContentRatioMonitor(ContentMonitor):
    """Fails if little of the pages' text is content: what was content may be taken for noise."""

    @monitors.name("enough of the text is content")
    def test_ratio(self) -> None:
        """Enough of the text was kept."""
        kept, setting = self.count("chars/kept"), "CONTENTSPIDER_MONITOR_MIN_KEPT"
        whole = kept + self.count("chars/dropped")
        self.check_share(kept, whole, setting, "the share of the text that was kept")


@monitors.name("Empty pages")
class EmptyPagesMonitor(ContentMonitor):
    """Fails if all text of many pages was taken for boilerplate."""

    @monitors.name("few pages lost all of their text")
    def test_empty(self) -> None:
        """Few pages that have prose came out with less than a sentence."""
        self.check_share(
            self.count("pages/empty/dropped"),
            self.count("items/filtered"),
            "CONTENTSPIDER_MONITOR_MAX_EMPTY",
            "pages whose text was all taken for boilerplate (the summary names the slots)",
        )


@monitors.name("Template drift")
class TemplateDriftMonitor(ContentMonitor):
    """Fails if many pages are not as the model knows them: the template may be new."""

    @monitors.name("the model knows the pages")
    def test_confidence(self) -> None:
        """Few pages are of low confidence or without a model."""
        low, unfiltered = self.count("pages/low_confidence"), self.count("items/unfiltered")
        self.check_share(
            low + unfiltered,
            self.count("items/filtered") + unfiltered,
            "CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE",
            f"{low} pages were filtered with low confidence and {unfiltered} not at all (if the"
            " site has changed, crawl it with CONTENTSPIDER_RELEARN=True)",
        )


@monitors.name("Errors")
class ErrorRateMonitor(ContentMonitor):
    """Fails if many pages could not be read, or broke the filter."""

    @monitors.name("the pages could be read")
    def test_errors(self) -> None:
        """Few pages failed."""
        unread = self.count("pages/failed")
        broken = [name for name in self.stats if name.startswith("contentspider/pages/failed/")]
        failed = sum(self.stats[name] for name in broken)
        self.check_share(
            unread + failed,
            unread + self.count("pages/tagged"),
            "CONTENTSPIDER_MONITOR_MAX_FAILED",
            f"{unread} pages could not be read and {failed} not be filtered",
        )


@monitors.name("Quality")
class QualityMonitor(ContentMonitor):
    """Fails if a site's items are worse than they should be, by what it publishes itself."""

    @monitors.name("the sites' own texts agree with their items")
    def test_quality(self) -> None:
        """No F1 that was measured on a site is too low."""
        counted = [name for name in self.stats if name.startswith(PAGES_STAT) and self.stats[name]]
        sites = [name.removeprefix(PAGES_STAT) for name in counted]
        f1, worst = min(((self.stats[F1_STAT + site], site) for site in sites), default=(1.0, ""))
        limit = self.crawler.settings.getfloat("CONTENTSPIDER_MIN_QUALITY")
        message = (
            f"{worst}: F1 {f1:.3f} on the texts that the site publishes, less than"
            f" CONTENTSPIDER_MIN_QUALITY={limit}; contentspider models show names the worst pages"
        )
        self.assertGreaterEqual(f1, limit, message)


@monitors.name("Doubtful templates")
class DoubtfulTemplatesMonitor(ContentMonitor):
    """Fails if a site may have got many pages wrong: it keeps other text of them than each of them
    alone would.
    """

    @monitors.name("few pages are of doubtful templates")
    def test_doubtful(self) -> None:
        """Few of the pages that a site was learned from are of doubtful templates."""
        by_site: dict[str, list[DoubtfulTemplate]] = {}
        for template in doubtful_templates(self.stats):
            by_site.setdefault(template.site, []).append(template)
        if not by_site:
            return
        counts = {site: sum(one.pages for one in found) for site, found in by_site.items()}
        worst = max(counts, key=lambda site: counts[site] / self.stats[LEARNED_STAT + site])
        self.check_share(
            counts[worst],
            self.stats[LEARNED_STAT + worst],
            "CONTENTSPIDER_MONITOR_MAX_DOUBTFUL",
            f"pages of {worst} of doubtful templates ({'; '.join(map(str, by_site[worst]))};"
            " contentspider report shows them)",
        )


class ContentMonitorSuite(MonitorSuite):
    """All monitors."""

    monitors = (
        ExtractionMonitor,
        ContentRatioMonitor,
        EmptyPagesMonitor,
        TemplateDriftMonitor,
        ErrorRateMonitor,
        QualityMonitor,
        DoubtfulTemplatesMonitor,
    )

    def on_monitors_failed(self, result: object) -> None:
        """Count the failure, which decides the exit code of ``contentspider crawl``."""
        self._crawler.stats.inc_value("contentspider/monitors/failed")
