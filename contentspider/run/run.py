"""``contentspider crawl``: a crawl from the command line, with a summary at its end."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import sys
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals

# Imported first: when it is imported, Scrapy reads the source files of all modules that were
# imported before.
from scrapy.core.downloader import contextfactory  # noqa: F401
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings
from scrapy.utils.log import get_scrapy_root_handler

from contentspider.crawl.base.alarms import problems
from contentspider.crawl.checks import checked_options, set_checked
from contentspider.crawl.spider.spider import SiteSpider
from contentspider.ground.atomic import ensure_folder, write_json
from contentspider.ground.errors import DAMAGE, ContentSpiderError, UsageError
from contentspider.ground.fetch import check_proxy
from contentspider.ground.json_text import json_text
from contentspider.ground.scope import start_problem, with_scheme
from contentspider.ground.sites import SiteKeys
from contentspider.ground.terminal import SafeFormatter, printable, say, worded
from contentspider.ground.useragent import ANONYMOUS, are_public
from contentspider.run import project
from contentspider.run.flags import CRAWL_FLAGS, FLAGS
from contentspider.run.results import (
    LOGS,
    SiteResult,
    last_crawl,
    read_result,
    result_file,
    times,
    write_result,
)
from contentspider.run.schemes import with_schemes
from contentspider.run.summary import summary, with_record
from contentspider.site.models.identity import page_id
from contentspider.state.address_state import AddressState
from contentspider.state.book.database import BookBusyError, is_in_use
from contentspider.state.crawls.books import crawl_book, name_of, read_book
from contentspider.state.crawls.export import export_items
from contentspider.state.crawls.folder import index_url, state_folder
from contentspider.state.files.formats import STDOUT, Output
from contentspider.state.files.warc import check_warc
from contentspider.state.outcome import (
    DOUBTED_STAT,
    OUTPUTS_STAT,
    SHUTDOWN,
    Ending,
    Outcome,
    Remaining,
    decide,
    overrides_to_mend,
    pages_read,
)
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from contentspider.crawl.base.options import CrawlOptions

logger = logging.getLogger(__name__)

# With Python's defaults (700, 10, 10) the objects of a page outlive the young generations while the
# page waits, and full collections take a tenth of the CPU (research/NOTES.md).
GC_THRESHOLDS = (3_000, 10, 10)
OWN_SITE = {
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
}
DEFAULT_OUTPUT = "pages.jsonl"
# Extensions that Scrapy imports, with a web server, even if their settings turn them off.
EXTENSION_SWITCHES = {
    "scrapy.extensions.remote_control.RemoteControl": "REMOTE_CONTROL_ENABLED",
    "scrapy.extensions.telnet.TelnetConsole": "TELNETCONSOLE_ENABLED",
}


class StartError(ContentSpiderError):
    """Raised if a crawl cannot begin because of the *cause*, an error of Scrapy, of a component of
    the project, or of the log.
    """

    code = "start"

    def __init__(self, cause: BaseException) -> None:
        super().__init__(
            f"the crawl could not begin: {type(cause).__name__}: {cause}; check the settings (-s,"
            " and those of the project). --log-level DEBUG shows where it failed"
        )


def crawl_settings(options: argparse.Namespace) -> Settings:
    """Return the settings of a crawl: the project's, then the options, then ``-s``.

    The first JSON-lines output is written during the crawl, other files at its end. Outputs that
    are URLs (``s3://...``) become Scrapy feeds.
    """
    settings = Settings()
    settings.setmodule(project, priority="project")
    settings.setdict(_option_settings(options), priority="cmdline")
    for name, value in dict(options.set).items():
        set_checked(settings, name, value)
    for extension, switch in EXTENSION_SWITCHES.items():
        if not settings.getbool(switch):
            settings["EXTENSIONS_BASE"].pop(extension, None)
    return settings


def _option_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of all options of the command line but ``-s``."""
    feeds = [output for output in options.output if "://" in output]
    files = (str(output.path) for output in local_outputs(options) if output.kind == "jsonl")
    settings: dict[str, Any] = {
        "CONTENTSPIDER_OUTPUT_FILE": next(files, ""),
        "FEEDS": {feed: {"overwrite": not options.resume} for feed in feeds},
        "LOG_LEVEL": options.log_level,
    }
    if options.own_site:
        settings |= OWN_SITE
    for option in CRAWL_FLAGS:
        if option.setting and (value := getattr(options, option.key)) is not None:
            settings[option.setting] = dict(value) if isinstance(option.default, dict) else value
    if options.concurrency:
        settings["CONCURRENT_REQUESTS"] = max(options.concurrency, 16)
        settings["AUTOTHROTTLE_TARGET_CONCURRENCY"] = options.concurrency
    return settings


def local_outputs(options: argparse.Namespace) -> list[Output]:
    """Return the files and folders of ``-o``; raises `ContentSpiderError` if one is invalid."""
    return [
        Output.parse(output, options.format)
        for output in options.output
        if "://" not in output and output != STDOUT
    ]


def start_addresses(options: argparse.Namespace) -> list[str]:
    """Return the addresses of the command line and of the files of ``-i``; raises
    `ContentSpiderError` if there are none, or one is invalid.
    """
    addresses = list(options.url)
    for name in options.input:
        addresses += _read_addresses(name)
    if not addresses:
        advice = "give one like https://example.org, or a file of them with -i"
        if url := next((url for url in options.index or () if not start_problem(url)), ""):
            advice = f"--index took {url}: give it before --index, or say --index=default"
        raise ContentSpiderError(f"there is no address to start from; {advice}", code="no-start")
    for address in addresses:
        if problem := start_problem(address):
            raise UsageError(problem)
    return addresses


def _read_addresses(name: str) -> list[str]:
    """Return the addresses in a file, or of standard input; lines that begin with # are ignored."""
    try:
        with sys.stdin if name == STDOUT else Path(name).open(encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ContentSpiderError(f"-i {name} cannot be read: {reason}") from error
    return [line for line in lines if line and not line.startswith("#")]


def crawl(options: argparse.Namespace) -> int:
    """Run the crawl, print a summary, and return the exit code (`Outcome`)."""
    is_default = options.output == []
    # None: the parent of this process writes the outputs.
    options.output = [DEFAULT_OUTPUT] if is_default else options.output or []
    addresses = start_addresses(options)
    for address in addresses:
        check_proxy(with_scheme(address))
    outputs = local_outputs(options)
    settings = crawl_settings(options)
    chosen = _checked_options(settings)
    scope = options.scope, options.include, options.exclude
    name = chosen.crawl or name_of(addresses, scope, chosen.state_dir)
    settings.set("CONTENTSPIDER_CRAWL", name, priority="cmdline")
    if options.stats:
        ensure_folder(Path(options.stats), "--stats")
    book = crawl_book(name, chosen.state_dir)
    _check_not_running(book)
    started = datetime.now(timezone.utc)
    addresses = with_schemes(addresses)
    if is_default:
        _check_default(Path(DEFAULT_OUTPUT), addresses, book)
    crawler = _run(settings, addresses, options)
    assert crawler.stats
    stats = crawler.stats.get_stats()
    unread = _unread_starts(crawler)
    remaining = _remaining(book)
    if book.is_file():
        # The first JSON-lines output was written during the crawl.
        later = [output for output in outputs if str(output.path) != chosen.output_file]
        crawler.stats.inc_value(OUTPUTS_STAT, _export(book, later, Ending.from_stats(stats)))
    # If no page was read, the outcome says so.
    found = problems(stats, crawler.settings) if pages_read(stats) else []
    failures = sum(problem.is_failure for problem in found)
    crawler.stats.inc_value("contentspider/monitors/failed", failures)
    crawler.stats.inc_value("contentspider/monitors/warned", len(found) - failures)
    outcome, reasons = decide(stats, remaining, book.stem)
    for problem in found:
        say(f"{'failed' if problem.is_failure else 'warning'}: {problem.text}")
    # Printed last, because its last line says what to do.
    models = chosen.models_dir
    for line in summary(stats, outcome, reasons, remaining, unread, options.output, models):
        say(line)
    texts = [problem.text for problem in found]
    accepted = {}
    if stats.get(DOUBTED_STAT):
        accepted = _judgement(*decide({**stats, DOUBTED_STAT: 0}, remaining, book.stem), unread)
    record = {
        **_judgement(outcome, reasons, unread),
        "accepted": accepted,
        "warnings": [printable(worded(text)) for text in (*texts, *overrides_to_mend(stats))],
        "indexes": [index_url(url, chosen.state_dir, True) for url in chosen.index],
        "pages": _page_count(book),
        "stats": dict(sorted(stats.items())),
    }
    if options.stats:
        write_json(Path(options.stats), record)
    _note_result(book, started, outcome, record, getattr(options, "planned", {}))
    return outcome


def _judgement(outcome: Outcome, reasons: list[str], unread: list[str]) -> dict[str, Any]:
    """Return an outcome, its exit code and its reasons as JSON data. *unread*: see `summary`."""
    # That nothing was read needs no reason beside why the start addresses were not.
    told = unread if unread and outcome is Outcome.NOTHING_READ else [*unread, *reasons]
    return {
        "outcome": outcome.name.lower(),
        "exit_code": int(outcome),
        "reasons": [printable(worded(reason)) for reason in told],
    }


def _note_result(
    book: Path,
    started: datetime,
    outcome: Outcome,
    record: Mapping[str, Any],
    planned: Mapping[str, Any],
) -> None:
    """Write the result of the crawl, with what a file of sites says of it (*planned*: ``file``,
    ``entry`` and ``interval``). ``contentspider run`` writes it again, if it still runs.
    """
    logs = book.parent.absolute() / LOGS
    file, interval = result_file(logs, book.stem), planned.get("interval")
    result = SiteResult(
        book.stem,
        outcome.name.lower(),
        int(outcome),
        **times(started),
        log=str(logs / f"{book.stem}.log") if planned else None,
        file=planned.get("file"),
        entry=planned.get("entry"),
    )
    due = timedelta(seconds=interval) if interval else None
    try:
        result = with_record(result, outcome, record).after(
            read_result(file), due, last_crawl(book)
        )
        write_result(file, result)
    except ContentSpiderError as error:
        say(f"contentspider: {error}: contentspider status does not know this crawl")


def _unread_starts(crawler: Crawler) -> list[str]:
    """Return the start addresses that the spider could not read, or that may not become items,
    each with the reason.
    """
    failures = getattr(crawler.spider, "failures", {})
    withheld = getattr(crawler.spider, "withheld", {})
    return [
        *(f"{url} could not be read: {reason}" for url, reason in failures.items()),
        *(f"{url} gives no item: {reason}" for url, reason in withheld.items()),
    ]


def _run(settings: Settings, addresses: list[str], options: argparse.Namespace) -> Crawler:
    """Run the crawl, and return the crawler when the crawl has ended."""
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        process = AsyncCrawlerProcess(settings)
        _show_progress(settings)
        crawler = process.create_crawler(SiteSpider)
    except ValueError as error:  # of the settings of the log
        raise StartError(error) from error
    # Not before the spider opens, because a crawler replaces the handler of the log.
    crawler.signals.connect(_prepare_process, signal=signals.spider_opened)
    write = StdoutLines(crawler).write  # the variable keeps it alive: signals hold weak references
    if STDOUT in options.output:
        crawler.signals.connect(write, signal=signals.item_scraped)
    arguments = {flag.name: getattr(options, flag.key) for flag in FLAGS if flag.in_spider}
    crawling = process.crawl(crawler, url=" ".join(addresses), **arguments)
    is_anonymous = crawler.settings["USER_AGENT"] == ANONYMOUS
    if is_anonymous and not options.own_site and are_public(addresses):
        say(
            "contentspider: the owners of the sites cannot reach you: give the address of a web"
            " page or a mailbox with --contact (or set CONTENTSPIDER_CONTACT)"
        )
    process.start()
    if crawling.done() and not crawling.cancelled() and (failure := crawling.exception()):
        logger.debug("the crawl failed", exc_info=failure)
        raise StartError(failure) from failure
    return crawler


class StdoutLines:
    """Prints items as JSON lines. The crawl stops if the lines cannot be written: with an error,
    unless the reader of the pipe has closed it (``| head``).
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stopping: asyncio.Task[None] | None = None

    def write(self, item: Any) -> None:
        """Print an item, unless an earlier item could not be printed."""
        if self._stopping:
            return
        line = json_text(ItemAdapter(item).asdict())
        try:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        except OSError as error:
            # Python flushes standard output when it exits, which would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self._stopping = asyncio.get_running_loop().create_task(self._crawler.stop_async())
            if not isinstance(error, BrokenPipeError):
                logger.error(
                    f"standard output cannot be written ({error.strerror}): the crawl stops. Its"
                    " items are in the book: write them with 'contentspider replay'"
                )
                assert self._crawler.stats
                self._crawler.stats.inc_value(OUTPUTS_STAT)


def _export(book: Path, outputs: list[Output], ending: Ending) -> int:
    """Write the crawl's items to the *outputs* that they may replace. Return how many of them could
    not be written.
    """
    replaceable = [output for output in outputs if ending.may_replace(output.path.exists())]
    kept = [output.path for output in outputs if output not in replaceable and output.path.exists()]
    failed = sum(not _is_written(book, output) for output in replaceable)
    if kept:
        why = "the crawl misses too many pages" if ending.items else "there are no items"
        if ending.items and ending.reason == SHUTDOWN:
            why = "the crawl was stopped"
        say(f"{why}: left unchanged: {', '.join(map(str, kept))}")
    return failed


def _is_written(book: Path, output: Output) -> bool:
    """Write the crawl's items to an output; tell whether that was possible. After a signal, which
    raises KeyboardInterrupt, an output stays as it was.
    """
    try:
        with _signals_raise():
            export_items(book, [output])
    except KeyboardInterrupt:
        say(f"contentspider: {output.path} was not written, because the crawl was told to end")
        return False
    except ContentSpiderError as error:
        say(f"contentspider: {error}")
        return False
    return True


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Let signals raise KeyboardInterrupt. Elsewhere at the end of a crawl Scrapy's handlers ignore
    them: it takes milliseconds, and without it nobody would know how the crawl ended.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)


def _checked_options(settings: Settings) -> CrawlOptions:
    """Return the options of the settings; raises `ContentSpiderError` for a setting or a folder
    that cannot work.
    """
    chosen = checked_options(settings)
    if not chosen.enabled or not chosen.durable:
        raise ContentSpiderError(
            "contentspider crawl needs CONTENTSPIDER_ENABLED and CONTENTSPIDER_DURABLE to be True;"
            " scrapy crawl site works without the latter"
        )
    if chosen.warc_file:
        check_warc(Path(chosen.warc_file))
    if not (is_url(chosen.models_dir) or chosen.models_frozen):
        _check_folder("--models", Path(chosen.models_dir))
    _check_folder("--state-dir", state_folder(chosen.state_dir))
    return chosen


def _check_not_running(book: Path) -> None:
    if is_in_use(book):
        raise BookBusyError(
            f"{book} is in use by another process, because that crawl is running; wait for it, or"
            " give this crawl another name (--name)"
        )


def _check_default(path: Path, addresses: list[str], book: Path) -> None:
    """Raise `ContentSpiderError` if the default output exists and does not begin with an item of
    this crawl, because the user has not said that it may be replaced.
    """
    try:
        with path.open("rb") as file:
            line = file.readline()
    except OSError:  # the file does not exist, or writing it will report the error
        return
    if not line or _is_item_of(line, addresses, book):
        return
    raise ContentSpiderError(
        f"{path} exists, and does not begin with a page of this crawl: name another file for"
        f" the items with -o, or use -o {path} to replace it",
        code="output-exists",
    )


def _is_item_of(line: bytes, addresses: list[str], book: Path) -> bool:
    """Tell whether an item's line comes from a crawl with these start addresses or this book."""
    try:
        url = str(json.loads(line)["url"])
        keys = SiteKeys()
        if keys.key(url) in {keys.key(with_scheme(address)) for address in addresses}:
            return True
    except DAMAGE:
        return False
    # A site may have moved, so that its pages are not on the site of the start address.
    with suppress(ContentSpiderError):
        if book.exists():
            with closing(read_book(book)) as opened:
                return opened.known.page(page_id(url)) is not None
    return False


def _check_folder(option: str, folder: Path) -> None:
    path = folder.resolve()
    parent = next(parent for parent in (path, *path.parents) if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ContentSpiderError(
            f"{option} {folder}: {parent} cannot be written; give a folder that you may write to"
        )


def _prepare_process(spider: Spider) -> None:
    """Keep control characters and passwords out of the log, and the objects that exist by now out
    of garbage collection: full collections would scan 100,000 of them (modules, classes, settings).
    """
    settings, handler = spider.crawler.settings, get_scrapy_root_handler()
    if handler is not None:
        handler.setFormatter(SafeFormatter(settings["LOG_FORMAT"], settings["LOG_DATEFORMAT"]))
    gc.collect()  # frozen garbage would never be freed
    gc.freeze()


def _show_progress(settings: Settings) -> None:
    """Show progress even if the log's level is higher."""
    if settings["LOG_LEVEL"] in ("WARNING", "ERROR"):
        progress = logging.getLogger("contentspider.crawl.progress")
        progress.addHandler(logging.StreamHandler())
        progress.setLevel(logging.INFO)
        # The spider reports an unreachable host in one line; robots.txt's middleware would log a
        # traceback.
        logging.getLogger("scrapy.downloadermiddlewares.robotstxt").setLevel(logging.CRITICAL)


def _page_count(path: Path) -> int | None:
    """Return how many pages the site has, as the book tells; None if there is no book."""
    if not path.is_file():
        return None
    with closing(read_book(path)) as book:
        return book.known.live_count()


def _remaining(path: Path) -> Remaining:
    """Return the numbers of queued addresses and held items in the book on the disk."""
    if not path.is_file():
        return Remaining()
    with closing(read_book(path)) as book:
        states = book.frontier.states()
        queued = sum(states.get(state, 0) for state in (AddressState.QUEUED, AddressState.TAKEN))
        return Remaining(queued, sum(book.items.held_counts().values()))
