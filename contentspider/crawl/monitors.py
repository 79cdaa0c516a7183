"""Monitors for Spidermon (the extra ``monitors``) that check our stats; see docs/monitoring.md."""

from __future__ import annotations

try:
    from spidermon import MonitorSuite, monitors
    from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor
except ImportError as error:
    raise ImportError(
        "contentspider's monitors need Spidermon: pip install 'contentspider[monitors]'"
    ) from error

from contentspider.crawl.base.outcomes import NOT_THERE
from contentspider.state.outcome import (
    F1_STAT,
    LEARNED_STAT,
    OUTDATED_STAT,
    PAGES_STAT,
    DoubtfulTemplate,
    doubtful_templates,
    hidden_sites,
)


class ContentMonitor(BaseScrapyMonitor):
    """The base of our monitors, which compare counts of the crawl with limits in the settings."""

    def count(self, name: str) -> int:
        """Return one of our stats; 0 if it was not counted."""
        return int(self.stats.get(f"contentspider/{name}", 0))

    @property
    def unsent(self) -> int:
        """The number of pages that were not read again, because they have not changed."""
        return self.count("pages/not_modified") + self.count("pages/same_body")

    @property
    def is_unchanged(self) -> bool:
        """Whether the crawl read pages, and none of them has changed since the last crawl."""
        read = self.count("items/unchanged") + self.unsent
        return read > 0 and not self.stats.get("item_scraped_count")

    def check_share(self, part: int, whole: int, setting: str, message: str) -> None:
        """Fail if the share of *part* in *whole* is above the limit in a *setting*; or below it, if
        the setting is a minimum.
        """
        if not whole:
            self.skipTest("there are no pages to check")
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
        self.assertGreater(self.count("chars/kept"), 0, msg="no text of any page was kept")


@monitors.name("Content ratio")
class ContentRatioMonitor(ContentMonitor):
    """Fails if little text is kept as content: content may be judged to be boilerplate."""

    @monitors.name("enough of the text is content")
    def test_ratio(self) -> None:
        """Enough of the text was kept."""
        kept_chars, setting = self.count("chars/kept"), "CONTENTSPIDER_MONITOR_MIN_KEPT"
        whole = kept_chars + self.count("chars/dropped")
        self.check_share(kept_chars, whole, setting, "the share of the text that was kept")


@monitors.name("Empty pages")
class EmptyPagesMonitor(ContentMonitor):
    """Fails if many pages lost all of their text."""

    @monitors.name("few pages lost all of their text")
    def test_empty(self) -> None:
        """Few pages with prose have items with less than a sentence."""
        self.check_share(
            self.count("pages/empty/dropped"),
            self.count("items/filtered"),
            "CONTENTSPIDER_MONITOR_MAX_EMPTY",
            "pages whose whole text was judged to be boilerplate (the summary names the slots)",
        )


@monitors.name("Template drift")
class TemplateDriftMonitor(ContentMonitor):
    """Fails if there are many pages that the models do not know: the template may have changed."""

    @monitors.name("the model knows the pages")
    def test_confidence(self) -> None:
        """Few pages have low confidence or no model."""
        low, unfiltered = self.count("pages/low_confidence"), self.count("items/unfiltered")
        self.check_share(
            low + unfiltered,
            self.count("items/filtered") + unfiltered,
            "CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE",
            f"{low} pages were filtered with low confidence, and {unfiltered} pages were not"
            " filtered (if the site has changed, crawl it with CONTENTSPIDER_RELEARN=True)",
        )


@monitors.name("Errors")
class ErrorRateMonitor(ContentMonitor):
    """Fails if many pages could not be read or filtered. Dead links of the site are not failures;
    pages that the server did not send, because they are unmodified, were read.
    """

    @monitors.name("the pages could be read")
    def test_errors(self) -> None:
        """Few pages failed."""
        unread = self.count("pages/failed")
        read = self.count("pages/tagged") + self.unsent
        if read:  # if no page was read, the start address itself does not exist, which is a failure
            unread -= sum(self.count(f"pages/unread/status_{status}") for status in NOT_THERE)
        broken = [name for name in self.stats if name.startswith("contentspider/pages/failed/")]
        failed = sum(self.stats[name] for name in broken)
        self.check_share(
            unread + failed,
            unread + read,
            "CONTENTSPIDER_MONITOR_MAX_FAILED",
            f"{unread} pages could not be read, and {failed} pages could not be filtered",
        )


@monitors.name("Quality")
class QualityMonitor(ContentMonitor):
    """Fails if the items of a site differ too much from its own texts."""

    @monitors.name("the sites' own texts agree with their items")
    def test_quality(self) -> None:
        """No site has a measured F1 below the limit."""
        names = [name for name in self.stats if name.startswith(PAGES_STAT) and self.stats[name]]
        sites = [name.removeprefix(PAGES_STAT) for name in names]
        f1, worst = min(((self.stats[F1_STAT + site], site) for site in sites), default=(1.0, ""))
        outdated = [
            name.removeprefix(OUTDATED_STAT) for name in self.stats if OUTDATED_STAT in name
        ]
        outdated = [site for site in outdated if self.stats[OUTDATED_STAT + site]]
        self.assertEqual(
            outdated, [], "these sites could not be learned again, and have old models"
        )
        limit = self.crawler.settings.getfloat("CONTENTSPIDER_MIN_QUALITY")
        message = (
            f"{worst}: F1 {f1:.3f} on the site's own texts, less than"
            f" CONTENTSPIDER_MIN_QUALITY={limit}; 'contentspider models show' names the worst pages"
        )
        self.assertGreaterEqual(f1, limit, message)


@monitors.name("Doubtful templates")
class DoubtfulTemplatesMonitor(ContentMonitor):
    """Fails if many pages of a site have doubtful templates, whose predicted F1 is low."""

    @monitors.name("few pages are of doubtful templates")
    def test_doubtful(self) -> None:
        """Few pages of the sample of a site have doubtful templates."""
        by_site: dict[str, list[DoubtfulTemplate]] = {}
        for template in doubtful_templates(self.stats):
            by_site.setdefault(template.site, []).append(template)
        if not by_site:
            return
        counts = {
            site: sum(template.pages for template in templates)
            for site, templates in by_site.items()
        }
        worst = max(counts, key=lambda site: counts[site] / self.stats[LEARNED_STAT + site])
        self.check_share(
            counts[worst],
            self.stats[LEARNED_STAT + worst],
            "CONTENTSPIDER_MONITOR_MAX_DOUBTFUL",
            f"pages of {worst} with doubtful templates ({'; '.join(map(str, by_site[worst]))};"
            " 'contentspider report' shows them)",
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
        """Count the failure, which sets the exit code of ``contentspider crawl``."""
        self._crawler.stats.inc_value("contentspider/monitors/failed")
