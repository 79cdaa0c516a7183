"""Monitors for Spidermon (the extra ``monitors``) that check our stats; see docs/monitoring.md."""

from __future__ import annotations

try:
    from spidermon import MonitorSuite, monitors
    from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor
except ImportError as error:
    raise ImportError(
        "contentspider's monitors need Spidermon: pip install 'contentspider[monitors]'"
    ) from error

from contentspider.crawl.base.alarms import count, problem, unsent
from contentspider.state.outcome import OUTDATED_STAT, hidden_sites


class ContentMonitor(BaseScrapyMonitor):
    """The base of our monitors, which compare figures of the crawl with limits in the settings."""

    @property
    def is_unchanged(self) -> bool:
        """Whether the crawl read pages, and none of them has changed since the last crawl."""
        read = count(self.stats, "items/unchanged") + unsent(self.stats)
        return read > 0 and not self.stats.get("item_scraped_count")

    def check(self, key: str) -> None:
        """Fail if the figure *key* (`ALARMS`) is beyond its limit."""
        text = problem(self.stats, self.crawler.settings, key)
        if text is None:
            self.skipTest("there are no pages to check")
        elif text:
            self.fail(text)


@monitors.name("Extraction")
class ExtractionMonitor(ContentMonitor):
    """Fails if the crawl yields no item, or only items without text, or if a site hides its pages.
    A crawl that outputs only changed pages, and finds every page unchanged, passes.
    """

    @monitors.name("items came out")
    def test_items(self) -> None:
        """Items passed all pipelines, or every page is unchanged; no site hides its pages."""
        hidden = hidden_sites(self.stats)
        self.assertFalse(hidden, msg=f"sites that hide their pages: {', '.join(hidden)}")
        items = self.stats.get("item_scraped_count", 0)
        if not self.is_unchanged:
            self.assertGreater(items, 0, msg="the crawl has no items")

    @monitors.name("text was kept")
    def test_text(self) -> None:
        """Some text of the pages was kept as content."""
        if self.is_unchanged:
            self.skipTest("every page is unchanged")
        self.assertGreater(count(self.stats, "chars/kept"), 0, msg="no text of any page was kept")


@monitors.name("Content ratio")
class ContentRatioMonitor(ContentMonitor):
    """Fails if little text is kept as content: content may be judged to be boilerplate."""

    @monitors.name("enough of the text is content")
    def test_ratio(self) -> None:
        """Enough of the text was kept."""
        self.check("min_kept")


@monitors.name("Empty pages")
class EmptyPagesMonitor(ContentMonitor):
    """Fails if many pages lost all of their text."""

    @monitors.name("few pages lost all of their text")
    def test_empty(self) -> None:
        """Few pages with prose have items with less than a sentence."""
        self.check("max_empty")


@monitors.name("Template drift")
class TemplateDriftMonitor(ContentMonitor):
    """Fails if there are many pages that the models do not know: the template may have changed."""

    @monitors.name("the model knows the pages")
    def test_confidence(self) -> None:
        """Few pages have low confidence or no model."""
        self.check("max_low_confidence")


@monitors.name("Errors")
class ErrorRateMonitor(ContentMonitor):
    """Fails if many pages could not be read or filtered."""

    @monitors.name("the pages could be read")
    def test_errors(self) -> None:
        """Few pages failed."""
        self.check("max_failed")


@monitors.name("Quality")
class QualityMonitor(ContentMonitor):
    """Fails if the items of a site differ too much from its own texts."""

    @monitors.name("the sites' own texts agree with their items")
    def test_quality(self) -> None:
        """No site has a measured F1 below the limit, and none an old model."""
        outdated = [
            name.removeprefix(OUTDATED_STAT)
            for name, value in self.stats.items()
            if OUTDATED_STAT in name and value
        ]
        self.assertEqual(
            outdated, [], "these sites could not be learned again, and have old models"
        )
        self.check("min_quality")


@monitors.name("Doubtful templates")
class DoubtfulTemplatesMonitor(ContentMonitor):
    """Fails if many pages of a site have doubtful templates, whose predicted F1 is low."""

    @monitors.name("few pages are of doubtful templates")
    def test_doubtful(self) -> None:
        """Few pages of the sample of a site have doubtful templates."""
        self.check("max_doubtful")


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
        """Count the failure, which sets the exit code of ``contentspider crawl``."""
        self._crawler.stats.inc_value("contentspider/monitors/failed")
