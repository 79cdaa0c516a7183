"""The commands ``crawl``, ``run``, ``status``, ``replay``, ``changes`` and ``diff``."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from contextlib import closing
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from contentspider.cli.command import (
    ANY_CRAWL,
    CRAWL,
    MODELS,
    PAGE_FORMAT,
    STATE_DIR,
    argument,
    command,
    exit_codes,
    listed,
    only_crawl,
    option,
    print_crawls,
)
from contentspider.crawl.base.options import FILES, MOST_USED, PAGES, REQUESTS, RUNS
from contentspider.ground.atomic import write_json
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, StateError, UsageError
from contentspider.ground.extras import require
from contentspider.ground.json_text import json_text
from contentspider.ground.process_memory import no_collection
from contentspider.ground.terminal import printable, say, table
from contentspider.recrawl.changes import CHANGES, UNCHANGED
from contentspider.run.flags import CRAWL_FLAGS
from contentspider.state.files.formats import STDOUT, any_output
from contentspider.state.outcome import MEANINGS, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from contentspider.run.webhook import Webhook
    from contentspider.state.book.book import Book
    from contentspider.state.stores.remote import Objects

RUN_MEANINGS = {
    Outcome.COMPLETE: "complete: every crawl is, or no site was due",
    Outcome.ERROR: "error in the file of sites or in an option: nothing was crawled; or the"
    " summary could not be written, or a message (notify) could not be sent",
    Outcome.INCOMPLETE: "some crawls are not complete (incomplete, nothing read, an error, out of"
    " memory, interrupted; with --due not those of sites that are still down), or crawls ended with"
    " several of the codes 6, 8, 9, 10 and 11: the summary names them, and when they are due",
    Outcome.INTERRUPTED: "interrupted: the run was stopped from outside; the next one resumes",
    Outcome.MONITOR_FAILED: "every crawl is complete, but a monitor failed",
    Outcome.GONE_DOUBTED: "every crawl is complete, but too many known pages would be gone",
    Outcome.INDEX_BEHIND: "every crawl is complete, but a search index is behind its book",
    Outcome.OUTPUT_FAILED: "every other crawl is complete, but an output of a crawl lacks items,"
    " because it could not be written",
    Outcome.CONTENT_HIDDEN: "every other crawl is complete, but a site hides its pages behind"
    " scripts or another page",
}
REPLAY_MEANINGS = {
    Outcome.COMPLETE: "the items were written",
    Outcome.ERROR: "error: there is no such crawl, or the file cannot be written",
    Outcome.NOTHING_READ: "the crawl has no items (yet), so nothing was written",
}
DEFAULT_KINDS = tuple(kind for kind in CHANGES if kind != UNCHANGED)
URLS = argument("[URL...]", "where to start; without a scheme, https:// is tried, then http://")


def _add_crawl_options(parser: argparse.ArgumentParser) -> None:
    for title in (MOST_USED, PAGES, FILES, REQUESTS, RUNS):
        group: Any = parser.add_argument_group(title)
        for flag in CRAWL_FLAGS:
            if flag.group == title:
                # None: the setting has the project's value (`contentspider.run.project`).
                option(flag.key, **({"default": None} if flag.setting else {}))(group)


@command("crawl", URLS, _add_crawl_options, epilog=exit_codes(MEANINGS))
def crawl(options: argparse.Namespace) -> int:
    """Crawl websites to clean items."""
    if not (options.url or options.input or options.index):
        options.parser.print_help(sys.stderr)
        raise UsageError("there is no address to start from; give one like https://example.org")
    with no_collection():  # the modules, and all that they create, stay
        from contentspider.run import run

        gc.freeze()

    return run.crawl(options)


@command(
    "run",
    argument("FILE", "the sites, as TOML (docs/scheduling.md); paths are relative to it", Path),
    argument("--due", "crawl only sites that are due (docs/scheduling.md), the most overdue first"),
    argument(
        "--only SITES",
        "crawl only these sites of the file, with commas; may be repeated",
        listed,
        [],
        action="extend",
    ),
    argument("--jobs N", "crawls at a time (default: 2)", default=2, least=1),
    argument("--force", "accept that known pages are gone, however many (with --only SITE)"),
    argument(
        "--engine NAME",
        "what crawls the sites: local (default), or a Dask cluster, dask://HOST:PORT, which needs"
        " --state (docs/machines.md)",
        default="local",
    ),
    argument(
        "--state URL",
        "store of the sites' states, for machines without a disk that lasts: one machine at a time"
        " crawls a site (docs/machines.md)",
        default="",
    ),
    argument("--summary FILE", "write the outcome of each site, as JSON", Path),
    STATE_DIR,
    epilog=exit_codes(RUN_MEANINGS),
)
def run(options: argparse.Namespace) -> int:
    """Crawl many sites, or with --due the sites that are due. Each crawl runs in a process of its
    own. An unfinished crawl is resumed.
    """
    from contentspider.run.jobs import Jobs
    from contentspider.run.mistakes import Mistakes
    from contentspider.run.report import report_lines
    from contentspider.run.results import run_outcome, summary_of
    from contentspider.run.sitesfile import read_notifier, read_sites

    started = datetime.now(timezone.utc)
    summary = options.summary.absolute() if options.summary else None
    if summary and not os.access(summary.parent, os.W_OK):
        raise ContentSpiderError(
            f"--summary {options.summary}: {summary.parent} is not a folder that you may write to"
        )
    state_dir = str(Path(options.state_dir).absolute()) if options.state_dir else ""
    store = _store(options)
    file = options.file.absolute()
    if file.parent.is_dir():  # otherwise reading the file reports the error
        os.chdir(file.parent)  # a scheduler may start the command in any folder
    mistakes, is_portable = Mistakes(file), options.engine != "local"
    notifier = read_notifier(file, mistakes)
    try:
        sites = read_sites(
            file,
            options.state,
            options.only,
            is_due=options.due,
            is_portable=is_portable,
            mistakes=mistakes,
        )
    except UsageError:  # who types a command reads its error
        raise
    except ContentSpiderError as error:
        notifier.send_error(str(error))
        raise
    jobs = Jobs(options.jobs, options.due, state_dir, options.force, options.engine, options.state)
    results = jobs.run(sites)
    outcome = run_outcome(results, jobs.is_stopped, options.due)
    if not notifier.send(results) and outcome is Outcome.COMPLETE:
        outcome = Outcome.ERROR
    record = summary_of(results, outcome, started)
    if summary:
        write_json(summary, record)
    if store:
        store.write("summary.json", json_text(record, indent=2).encode())
    for line in report_lines(results, outcome):
        say(line)
    return outcome


def _store(options: argparse.Namespace) -> Objects | None:
    """Return the store of ``--state``, if any; raises `ContentSpiderError` if it does not work."""
    if options.state:
        store = _open_store(options.state)
        store.check()
        return store
    if options.engine != "local":
        raise UsageError(
            "--engine needs --state URL: the machines of the cluster share what they know there"
        )
    return None


def _open_store(url: str) -> Objects:
    """Return the store at the URL of ``--state``; raises `ContentSpiderError` if it is none."""
    require("remote", "--state")
    from contentspider.state.stores.remote import is_url, open_objects

    try:
        if not is_url(url):
            raise ContentSpiderError("give a URL, such as s3://bucket/state or file:///folder")
        return open_objects(url)
    except ContentSpiderError as error:
        raise ContentSpiderError(f"--state {url}: {error}") from error


@command(
    "status",
    ANY_CRAWL,
    argument("--json", "print a JSON list of all sites"),
    STATE_DIR,
)
def status(options: argparse.Namespace) -> None:
    """Show how a crawl is doing, or how it ended: its runs, items and addresses. Without a crawl,
    show a table of the last crawls of all sites, first those to look at.
    """
    if options.json and options.crawl:
        raise UsageError("--json is of all sites: leave the crawl out")
    if not options.crawl:
        _show_sites(options)
        return
    from contentspider.run.overview import site_status
    from contentspider.run.results import known_sites
    from contentspider.state.crawls.books import crawl_book
    from contentspider.state.crawls.export import find_crawl

    book = crawl_book(options.crawl, options.state_dir)
    if book not in known_sites(options.state_dir):
        book = find_crawl(options.crawl, options.state_dir)
    print(printable(site_status(book)))


def _show_sites(options: argparse.Namespace) -> None:
    from contentspider.run.overview import overview, overview_lines
    from contentspider.run.results import known_sites

    sites = overview(known_sites(options.state_dir))
    if options.json:
        print(json_text([asdict(site) for site in sites], indent=2))
    elif sites:
        print("\n".join(overview_lines(sites)))
        for site in sites:
            if not (site.is_fine or site.is_removed):
                for text in (*site.reasons, *site.warnings, *filter(None, [site.index_error])):
                    say(f"{site.site}: {text}")
        say(f"more about one of them: contentspider status {sites[0].site}")
    else:
        print_crawls("status", options.state_dir)


@command(
    "remove",
    argument("SITE", "the site's name, whose table is no longer in the file of sites"),
    argument("--state URL", "also from the store of 'contentspider run --state'", default=""),
    STATE_DIR,
    MODELS,
)
def remove(options: argparse.Namespace) -> None:
    """Delete a site's data after its table was deleted from the file of sites: its documents in
    search indexes, its book, its logs, and models that no other crawl uses. Its outputs stay.
    """
    from contentspider.run.removal import is_here, remove_site, remove_stored
    from contentspider.state.stores.models import open_models

    if options.state:
        for what in remove_stored(options.site, _open_store(options.state)):
            say(f"deleted: {what}")
        if not is_here(options.site, options.state_dir):
            return
    store = open_models(options.models, options.state_dir)
    for what in remove_site(options.site, options.state_dir, store):
        say(f"deleted: {what}")


@command(
    "pull",
    argument("SITE", "the site's name in the file of sites"),
    argument("--state URL", "the store of 'contentspider run --state'", required=True),
    STATE_DIR,
)
def pull(options: argparse.Namespace) -> None:
    """Copy the state of a site from a store to this machine, where status, replay, report and
    changes read it.
    """
    from contentspider.state.book.database import BookBusyError, is_in_use
    from contentspider.state.crawls.books import crawl_book
    from contentspider.state.stores.site_state import SiteState

    store = _open_store(options.state)
    book = crawl_book(options.site, options.state_dir)
    if is_in_use(book):
        raise BookBusyError(f"{book} is in use: a crawl on this machine writes it")
    state = SiteState.of_folder(store, options.site, options.state_dir)
    if not state.pull():
        raise ContentSpiderError(
            f"{options.state} has no state of {options.site!r}", code="no-such-crawl"
        )
    say(f"{options.site} -> {book}")


@command(
    "replay",
    CRAWL,
    option("output", action="store", required=True),
    PAGE_FORMAT,
    STATE_DIR,
    epilog=exit_codes(REPLAY_MEANINGS),
)
def replay(options: argparse.Namespace) -> int:
    """Write a crawl's items again, from its book."""
    from contentspider.state.crawls.export import export_items, find_crawl

    output = any_output(options.output, options.format)
    if written := export_items(find_crawl(options.crawl, options.state_dir), [output]):
        if options.output != STDOUT:
            say(f"{counted(written, 'items')} -> {options.output}")
        return Outcome.COMPLETE
    say(f"the crawl has no items, so nothing was written to {options.output}")
    return Outcome.NOTHING_READ


def _parse_since(text: str) -> tuple[int, str]:
    """Return the change number, or the time in UTC, after which records are printed."""
    from contentspider.state.book.changes import parse_since

    try:
        return parse_since(text)
    except ContentSpiderError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parse_changes(text: str) -> list[str]:
    kinds = listed(text)
    if unknown := set(kinds) - set(CHANGES):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: use {', '.join(CHANGES)}")
    return kinds


@command(
    "changes",
    ANY_CRAWL,
    argument(
        "--since SEQ|DATE",
        "only after this number (seq), day (2026-11-22, yesterday, today; in UTC) or time; without"
        " a crawl a day or time, for all of them",
        _parse_since,
    ),
    argument(
        "--only KINDS",
        f"only these changes, with commas: {', '.join(CHANGES)} (default: all but unchanged; in a"
        " feed and for a webhook all but refiltered and unchanged); may be repeated",
        _parse_changes,
        [],
        action="extend",
    ),
    argument(
        "--format KIND",
        "table (default on a terminal): a line of text a change; jsonl (default elsewhere): a JSON"
        " line a change; feed: a JSON Feed of the newest changes",
        ("table", "jsonl", "feed"),
    ),
    argument(
        "--webhook URL",
        "post each change to this address, instead of printing it, and continue there next time;"
        " without a crawl the changes of all of them (CONTENTSPIDER_WEBHOOK_SECRET in the"
        " environment signs the requests)",
    ),
    argument(
        "--accept-gone", "first record the pages as gone that were held back as too many", False
    ),
    STATE_DIR,
)
def changes(options: argparse.Namespace) -> None:
    """Print what changed on a site, from crawl to crawl, or with --since alone on all sites. Each
    line is a page that a crawl found new, changed, moved or gone.
    """
    if options.webhook and options.format not in (None, "jsonl"):
        raise UsageError(f"--webhook and --format {options.format} exclude each other: choose one")
    crawl = options.crawl or _only_crawl(options)
    if not crawl:
        _all_changes(options)
        return
    from contentspider.run.results import accept_losses
    from contentspider.state.crawls.books import read_book
    from contentspider.state.crawls.export import find_crawl

    path = find_crawl(crawl, options.state_dir)
    if options.accept_gone:
        say(
            f"{counted(accept_losses(path), 'pages')} now recorded as gone. Outputs and indexes"
            f" have them until the next crawl, or now: contentspider replay {path.stem} -o FILE,"
            f" contentspider index sync {path.stem} INDEX"
        )
    with closing(read_book(path)) as book:
        _report_changes(path, book, options)


def _only_crawl(options: argparse.Namespace) -> str:
    """Return the name of the only crawl, "" if the options are for all crawls. Raises `UsageError`
    if an option needs a crawl and there are several.
    """
    of_one = (
        ("--accept-gone", options.accept_gone),
        ("--format feed", options.format == "feed"),
        ("--since SEQ", options.since and options.since[0]),
    )
    needing = [name for name, is_given in of_one if is_given]
    if not needing and (options.since or options.webhook):
        return ""
    crawl = only_crawl(options.state_dir)
    if needing and not crawl:
        raise UsageError(f"{needing[0]} needs the crawl: contentspider changes CRAWL")
    return crawl


def _all_changes(options: argparse.Namespace) -> None:
    """Print the changes of all crawls since a time, or without a time the crawls."""
    if not (options.since or options.webhook):
        print_crawls("changes", options.state_dir)
        return
    from contentspider.run.webhook import ReceiverError
    from contentspider.state.crawls.books import read_book
    from contentspider.state.crawls.export import books

    printed, unread = ChangePrinter(options), []
    webhook = _webhook(options) if options.webhook else None
    for path in books(options.state_dir):
        try:
            if webhook:
                _deliver(path, webhook, options)
                continue
            with closing(read_book(path)) as book:
                printed.add(book, {"crawl": path.stem})
        except ReceiverError as error:
            unread.append(f"{path.stem}: {error}, and the crawls after it")
            break
        except ContentSpiderError as error:
            unread.append(str(error))
    if not webhook:
        printed.end()
    if unread:
        raise ContentSpiderError("; ".join(unread))


class ChangePrinter:
    """Prints change records that the options ask for: JSON lines at once, or a table at the end."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._kinds = options.only or DEFAULT_KINDS
        since: tuple[int, str] = options.since or (0, "")
        self._since, self._after = since
        kind = options.format or ("table" if sys.stdout.isatty() else "jsonl")
        self._is_table = kind == "table"
        self._rows: list[list[str]] = []
        self._head: Iterable[str] = ()

    def add(self, book: Book, more: Mapping[str, str] = MappingProxyType({})) -> None:
        """Take the records of a book; *more* are further fields of each."""
        from contentspider.state.crawls.feed import change_rows

        records = book.changes.records(self._since, self._after, self._kinds)
        if self._is_table:
            self._rows += [[*more.values(), *row] for row in change_rows(book, records)]
            self._head = more.keys()
            return
        for record in records:
            print(json_text({**more, **record}))

    def end(self) -> None:
        """Print the table, if one is asked for."""
        from contentspider.state.crawls.feed import ROW_HEAD

        if self._rows:
            print("\n".join(table([*self._head, *ROW_HEAD], self._rows)))
            say("contentspider diff URL shows the text before and now")
        elif self._is_table:
            say("nothing has changed")


def _report_changes(path: Path, book: Book, options: argparse.Namespace) -> None:
    """Print the changes in a book, or post them to the webhook."""
    from contentspider.state.crawls.feed import REPORTED_KINDS, json_feed

    if options.webhook:
        _deliver(path, _webhook(options), options)
        return
    if options.format == "feed":
        since, after = options.since or (0, "")
        records = book.changes.records(since, after, options.only or REPORTED_KINDS)
        print(json_text(json_feed(path.stem, book.known, records), indent=2))
        return
    printed = ChangePrinter(options)
    printed.add(book)
    printed.end()


def _webhook(options: argparse.Namespace) -> Webhook:
    """Return the webhook that the options name."""
    from contentspider.run.webhook import SECRET_VARIABLE, Webhook

    return Webhook(options.webhook, os.environ.get(SECRET_VARIABLE, ""))


def _deliver(book: Path, webhook: Webhook, options: argparse.Namespace) -> None:
    """Post the changes in a book to a webhook."""
    from contentspider.run.webhook import deliver
    from contentspider.state.crawls.feed import REPORTED_KINDS

    count = deliver(book, webhook, options.since, options.only or REPORTED_KINDS)
    say(f"{book.stem}: {counted(count, 'changes')} delivered to {webhook.name}")


@command(
    "diff",
    argument("URL", "the page's address"),
    argument("--crawl CRAWL", "which crawl, as in 'changes' (default: any that has the page)"),
    STATE_DIR,
)
def diff(options: argparse.Namespace) -> None:
    """Show the last change of a page's main content."""
    from contentspider.recrawl.difference import diff_lines
    from contentspider.state.crawls.books import read_book
    from contentspider.state.crawls.export import find_page

    path, name = find_page(options.url, options.crawl or "", options.state_dir)
    with closing(read_book(path)) as book:
        page = book.known.page(name)
        assert page is not None
        new, old = book.known.content(name), book.known.content(name, before=True)
    if (new, old).count(None) > (page.content, page.previous).count(None):
        raise StateError(
            f"{page.url}: a text of this page cannot be read, so its last change cannot be shown; a"
            " later change of the page can be",
            code="damaged",
        )
    dates = f"first seen {page.first_seen}, last seen {page.last_seen}"
    dates += f", last fetched {page.last_fetched}, changed {page.changed_at}"
    lines = [f"{page.url}: {page.state}, {dates}"]
    if old is None:
        lines.append("its main content has not changed since it was first seen")
    else:
        lines += diff_lines(old, new or "", "before", "now")
    for line in lines:
        print(printable(line))
