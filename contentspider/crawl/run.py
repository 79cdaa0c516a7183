"""``contentspider crawl``: a crawl from the command line, with a summary at its end."""

from __future__ import annotations

import gc
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

from contentspider.crawl import project
from contentspider.crawl.export import LINES, check_format, export_items
from contentspider.crawl.ledgers import crawl_ledger
from contentspider.crawl.scope import crawl_name, with_scheme
from contentspider.crawl.settings import CrawlOptions
from contentspider.crawl.sites import SiteKeys
from contentspider.crawl.spider import SiteSpider
from contentspider.errors import ContentSpiderError
from contentspider.storage.database import LedgerBusyError, is_in_use

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler

# With Python's own (700, 10, 10) a page's objects outlive the young generations while the page
# waits for its turn, and full collections take a tenth of the CPU (docs/results.md).
GC_THRESHOLDS = (3_000, 10, 10)
OWN_SITE = {
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
}


def crawl_settings(options: argparse.Namespace) -> Settings:
    """Return the settings of a crawl: those of the project, then of the options, then of ``-s``.

    The first JSON-lines output is written while the crawl goes on, other files at its end; what has
    a scheme (``s3://...``) is a feed of Scrapy's.
    """
    settings = Settings()
    settings.setmodule(project, priority="project")
    outputs = options.output or ["pages.jsonl"]
    settings.setdict(
        {
            "CONTENTSPIDER_MODELS_DIR": options.models,
            "CONTENTSPIDER_RELEARN": options.relearn,
            "CONTENTSPIDER_RESUME": options.resume,
            "CONTENTSPIDER_CRAWL": options.name,
            "CONTENTSPIDER_OUTPUT_FILE": next(
                (output for output in outputs if _is_streamed(output)), ""
            ),
            "FEEDS": {
                output: {"overwrite": not options.resume} for output in outputs if "://" in output
            },
            "LOG_LEVEL": options.log_level,
        },
        priority="cmdline",
    )
    if options.own_site:
        settings.setdict(OWN_SITE, priority="cmdline")
    settings.setdict(dict(options.set), priority="cmdline")
    return settings


def _is_streamed(output: str) -> bool:
    return "://" not in output and Path(output).suffix.lower() in LINES


def _check(addresses: list[str], settings: Settings) -> None:
    """Raise an error that names the first address or setting which cannot work."""
    try:
        CrawlOptions.from_settings(settings)
        keys = SiteKeys(settings.get("CONTENTSPIDER_SITE_BY", "domain"))
    except ValueError as error:
        raise ContentSpiderError(str(error)) from error
    for address in addresses:
        try:
            parts = urlsplit(with_scheme(address))
            usable = (
                parts.scheme in ("http", "https")
                and bool(parts.hostname)
                and bool(keys.key(with_scheme(address)))
            )
        except ValueError:
            usable = False
        if not usable:
            raise ContentSpiderError(
                f"{address!r} is no address of a website; give one like https://example.org"
            )


def crawl(options: argparse.Namespace) -> int:
    """Run the crawl, print a summary, and return the exit code: 1 if no page could be read."""
    settings = crawl_settings(options)
    for output in options.output or ["pages.jsonl"]:
        if "://" in output:
            continue
        check_format(output)
        if not Path(output).resolve().parent.is_dir():
            raise ContentSpiderError(f"-o {output}: its folder does not exist")
    _check(options.urls, settings)
    if not settings.getbool("CONTENTSPIDER_ENABLED", True) or not settings.getbool(
        "CONTENTSPIDER_DURABLE"
    ):
        raise ContentSpiderError(
            "contentspider crawl needs CONTENTSPIDER_ENABLED and CONTENTSPIDER_DURABLE to be True;"
            " scrapy crawl site does without the latter"
        )
    if not settings["CONTENTSPIDER_CRAWL"]:
        settings.set("CONTENTSPIDER_CRAWL", crawl_name(options.urls), priority="cmdline")
    ledger = crawl_ledger(settings["CONTENTSPIDER_CRAWL"])
    if is_in_use(ledger):
        raise LedgerBusyError(
            f"{ledger} is in use by another process: that crawl is running; wait for it, or give"
            " this one another name (--name)"
        )
    gc.set_threshold(*GC_THRESHOLDS)
    process = AsyncCrawlerProcess(settings)
    if options.log_level in (
        "WARNING",
        "ERROR",
    ):  # the log leaves progress out, its reader still wants it
        progress = logging.getLogger("contentspider.crawl.progress")
        progress.addHandler(logging.StreamHandler())
        progress.setLevel(logging.INFO)
        # A host that is not there is said by the spider, in a line, not by robots.txt's traceback.
        logging.getLogger("scrapy.downloadermiddlewares.robotstxt").setLevel(logging.CRITICAL)
    crawler = process.create_crawler(SiteSpider)
    crawler.signals.connect(freeze_loaded, signal=signals.spider_opened)
    process.crawl(
        crawler,
        url=" ".join(options.urls),
        max_pages=options.max_pages,
        max_depth=options.max_depth,
        sitemaps=not options.no_sitemaps,
    )
    process.start()
    code = _summarise(crawler, options)
    streamed = settings["CONTENTSPIDER_OUTPUT_FILE"]
    for output in options.output or []:
        if "://" not in output and output != streamed:
            export_items(ledger, Path(output))
    return code


def freeze_loaded() -> None:
    """Take what is loaded by now (100,000 objects: modules, classes, settings) out of the garbage
    collector's sight.

    Each of the full collections that the crawl's pages set off would look at all of them. What is
    no garbage now hardly will be.
    """
    gc.collect()  # what is garbage now would stay for ever
    gc.freeze()


def _summarise(crawler: Crawler, options: argparse.Namespace) -> int:
    assert crawler.stats
    get = crawler.stats.get_value
    items = get("item_scraped_count", 0)
    kept, dropped = get("contentspider/chars/kept", 0), get("contentspider/chars/dropped", 0)
    failures = getattr(crawler.spider, "failures", {})
    tell = sys.stderr.write
    for address, reason in failures.items():
        tell(f"contentspider: {address} could not be read: {reason}\n")
    if any(name.startswith("feedexport/failed_count") for name in crawler.stats.get_stats()):
        tell("contentspider: the items could not be written; the log above says why\n")
        return 1
    if reason := get("contentspider/ledger/failed"):
        tell(
            f"contentspider: {reason}; the crawl was stopped. Once that is mended, the same command"
            " with --resume goes on: nothing is lost\n"
        )
        return 1
    if not items and get("contentspider/ledger/resumed"):
        tell("nothing was left to do: the crawl had read every page that it found\n")
        return 0
    if not items:
        if not failures:
            tell(
                "contentspider: no page was read; is the address that of an HTML page, and does"
                " robots.txt allow it? --log-level INFO says more\n"
            )
        return 1
    reasons = _counts(crawler, "contentspider/pages/unread/")
    tell(
        f"{get('contentspider/pages/tagged', 0)} pages read, {get('contentspider/pages/failed', 0)}"
        f" failed{f' ({reasons})' if reasons else ''},"
        f" {get('contentspider/pages/skipped/duplicate', 0)} duplicates; {items} items\n{kept:,}"
        f" characters kept, {dropped:,} dropped ({kept / max(kept + dropped, 1):.0%} kept)\nitems: "
        f" {', '.join(options.output or ['pages.jsonl'])}\nmodels: {options.models}/"
        f" ({get('contentspider/sites/learned', 0)} learned,"
        f" {get('contentspider/models/loaded', 0)} loaded)\n"
    )
    if traps := _counts(crawler, "contentspider/links/"):
        tell(f"links taken for traps: {traps} (docs/stats.md says what these are)\n")
    if get("contentspider/sites/learned", 0) > get("contentspider/models/saved", 0):
        tell(
            "not every model was saved: the crawl was cut short (or the folder cannot be written);"
            " the next one learns the site again\n"
        )
    if get("finish_reason") != "finished":
        tell(
            f"the crawl was stopped ({get('finish_reason')}): the same command with --resume goes"
            " on with it\n"
        )
    return 0


def _counts(crawler: Crawler, prefix: str) -> str:
    """Return the stats that begin with *prefix* in a few words, the largest first."""
    assert crawler.stats
    found = {
        name.removeprefix(prefix).replace("_", " "): count
        for name, count in crawler.stats.get_stats().items()
        if name.startswith(prefix)
    }
    return ", ".join(
        f"{count:,} {name}" for name, count in sorted(found.items(), key=lambda pair: -pair[1])
    )
