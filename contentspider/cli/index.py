"""The commands ``contentspider index`` and ``search``."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from contentspider.cli.command import CRAWL, STATE_DIR, argument, command, group
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.json_text import json_text
from contentspider.ground.terminal import printable, say
from contentspider.state.crawls.folder import DEFAULT, has_default, index_url

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from contentspider.index.engine import Query
    from contentspider.index.result_rows import ResultRow

# The environment variable with the indexes to search if none is named.
INDEX_VARIABLE = "CONTENTSPIDER_INDEX"
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
ENGINE_HELP = "an index's URL: tantivy:FOLDER, sqlite:FILE, default, or others (docs/indexing.md)"
ENGINE = argument("ENGINE_URL", ENGINE_HELP)
FORCE = argument("--force", "delete documents, however many are gone")
TAKE_OVER = argument("--take-over", "write pages, too, whose documents belong to another crawl")
INDEX = argument(
    "--index ENGINE_URL",
    f"{ENGINE_HELP}; default: {INDEX_VARIABLE} in the environment, else the index that the crawls"
    " of this folder update",
    default="",
)

SYNONYMS = argument(
    "--synonyms FILE",
    "also find synonyms, which are in this text file (docs/indexing.md#synonyms)",
    default="",
)


@command("sync", CRAWL, ENGINE, FORCE, TAKE_OVER, STATE_DIR)
def sync(options: argparse.Namespace) -> None:
    """Add the changed pages to an index, and delete the gone ones. A new index gets all pages.
    Nothing is crawled.
    """
    from contentspider.index import operations
    from contentspider.index.errors import redacted_url
    from contentspider.state.crawls.export import find_crawl

    book = find_crawl(options.crawl, options.state_dir)
    url = index_url(options.engine_url, options.state_dir)
    report = operations.sync(book, url, options.force, options.take_over, _print_progress)
    say(f"{redacted_url(url)}: {report}")


@command(
    "verify",
    CRAWL,
    argument("--mend", "put right what differs"),
    ENGINE,
    FORCE,
    TAKE_OVER,
    STATE_DIR,
)
def verify(options: argparse.Namespace) -> int:
    """Compare an index with the book, document by document and field by field. Differences are
    printed as JSON lines. The exit code is 0 if there are none, or all were mended.
    """
    from contentspider.index import operations
    from contentspider.state.crawls.export import find_crawl

    book = find_crawl(options.crawl, options.state_dir)
    url = index_url(options.engine_url, options.state_dir)
    arguments = (options.force, options.mend, options.take_over)
    result = operations.verify(book, url, *arguments)
    for name in ("missing", "stale", "damaged", "extra", "refused"):
        for document_id in getattr(result, name):
            print(json.dumps({"id": document_id, "is": name}))
    for document_id, crawl in result.foreign.items():
        print(json.dumps({"id": document_id, "is": "foreign", "crawl": crawl}))
    say(
        f"{counted(result.same, 'documents')} as they should be, {len(result.missing):,} missing,"
        f" {len(result.stale):,} stale, {len(result.damaged):,} damaged,"
        f" {len(result.extra):,} too many, {len(result.refused):,} refused by the engine,"
        f" {len(result.foreign):,} of other crawls"
        f"{': mended' if options.mend and result else ''}"
    )
    return 0 if options.mend or not result else 1


@command("rebuild", ENGINE, FORCE, STATE_DIR)
def rebuild(options: argparse.Namespace) -> None:
    """Build a new index from all sites, and replace the old one. The old index is searched until
    the new one is complete.
    """
    from contentspider.index import operations
    from contentspider.state.crawls.export import books

    paths = books(options.state_dir)
    url = index_url(options.engine_url, options.state_dir)
    reports = operations.rebuild(paths, url, options.force, _print_progress)
    for crawl, report in reports.items():
        say(f"{crawl}: {report}")


index = group(
    "index", "Bring search indexes up to date with the last crawls.", (sync, verify, rebuild)
)


def _print_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {counted(total, 'changes')}", end=end, file=sys.stderr, flush=True)


def named_indexes(urls: Sequence[str], state_dir: str) -> list[str]:
    """Return the URLs of the indexes to search, from the first of these sources that has any:
    *urls* (empty texts do not count), the variable CONTENTSPIDER_INDEX of the environment, the
    indexes that the crawls of this folder update, and the default index if it exists.
    """
    index_urls = _chosen_indexes(urls)
    if not index_urls:
        from contentspider.run.indexes import crawled_indexes

        index_urls = crawled_indexes(state_dir)
    if not index_urls and has_default(state_dir):
        index_urls = [DEFAULT]
    return [index_url(url, state_dir) for url in index_urls]


def _chosen_indexes(urls: Sequence[str]) -> list[str]:
    if index_urls := list(filter(None, urls)):
        return index_urls
    names = os.environ.get(INDEX_VARIABLE, "").split(",")
    return list(filter(None, map(str.strip, names)))


def one_index(url: str, state_dir: str) -> str:
    """Return the URL of the index to search, "" if there is none. Raises `UsageError` if none was
    chosen, and the crawls update several.
    """
    found = named_indexes([url], state_dir)
    if len(found) > 1 and not _chosen_indexes([url]):
        from contentspider.index.errors import redacted_url

        raise UsageError(
            "the crawls here update several indexes; choose one with --index:"
            f" {', '.join(map(redacted_url, found))}"
        )
    return found[0] if found else ""


def required_indexes(urls: Sequence[str], state_dir: str) -> list[str]:
    """Return what `named_indexes` returns; raises `ContentSpiderError` if that is empty."""
    if not (index_urls := named_indexes(urls, state_dir)):
        raise _no_index()
    return index_urls


def _no_index() -> ContentSpiderError:
    return ContentSpiderError(
        f"no index is named: give one with --index, or in the environment's {INDEX_VARIABLE}. In a"
        " folder whose crawls update an index, it needs no name: 'contentspider crawl URL --index',"
        " the key 'index' in sites.toml, or CONTENTSPIDER_INDEX in the settings of a Scrapy project"
    )


@command(
    "search",
    argument("[WORDS...]", "what to look for; without words, all pages that the filters let pass"),
    INDEX,
    STATE_DIR,
    argument("--site SITE", "only pages of this site"),
    argument("--language TAG", "only pages in this language"),
    argument("--type TYPE", "only pages of this type (article, listing, ...)"),
    argument(
        "--filter FILTER",
        "only pages with such a value in a field of --fields, or in published_at or modified_at:"
        " 'price<20', 'published_at>=2026-01-31', 'brand=Acme|Bolt' (one of them); all of several"
        " filters must be true",
        action="append",
        default=[],
    ),
    argument(
        "--sort FIELD",
        "order pages by published_at, modified_at, or a number or a date among the fields of"
        " --fields, the smallest first, or with FIELD:desc the largest",
        default="",
    ),
    argument("--limit N", "at most N pages (default: 10)", default=10, least=1),
    SYNONYMS,
    argument(
        "--json",
        "print JSON lines: rank, score, id, url, title, snippet, sections, also_at, fields,"
        " published_at, modified_at",
    ),
)
def search(options: argparse.Namespace) -> None:
    """Find pages in a search index that have all words, or else some of them."""
    from contentspider.index.operations import open_index
    from contentspider.index.result_rows import result_rows

    query = _query(options)
    if not (url := one_index(options.index, options.state_dir)):
        raise _no_index()
    with open_index(url, is_writer=False) as (engine, _):
        results = engine.search(query)
    if results.corrected:
        say(f"no page has all words of the query; searched for {printable(results.corrected)!r}")
    if results.note:
        say(results.note)
    rows = result_rows(query, results)
    if options.json:
        for row in rows:
            print(json_text(row.to_dict()))
        return
    for row in rows:
        _print_result(row)
    print(f"{counted(results.total, 'pages')} found" if results.total else "no page was found")


def _query(options: argparse.Namespace) -> Query:
    """Return the query of the command ``search``; raises `UsageError` without words or filters."""
    chosen = {"site": options.site, "language": options.language, "page_type": options.type}
    filters = {name: value for name, value in chosen.items() if value}
    if not (options.words or filters or options.filter or options.sort):
        raise UsageError(
            "give words to look for, or a filter: contentspider search 'opening hours'"
        )
    from contentspider.index.engine import Query
    from contentspider.index.filters import Order, parse_filters
    from contentspider.index.synonyms import read_synonyms

    return Query(
        " ".join(options.words),
        filters,
        options.limit,
        synonyms=read_synonyms(options.synonyms),
        comparisons=parse_filters(options.filter),
        order=Order.parse(options.sort),
    )


def _print_result(row: ResultRow) -> None:
    """Print a result of a search for people; terms are bold on a terminal."""
    bold, plain = (BOLD, PLAIN) if sys.stdout.isatty() else ("", "")
    snippet = "".join(
        f"{bold}{printable(text)}{plain}" if is_term else printable(text)
        for text, is_term in row.pieces
    )
    print(f"{row.rank:2}. {bold}{printable(row.title)}{plain}\n    {printable(row.url)}")
    print(f"    {snippet}")
    for section in row.sections:
        print(f"    § {printable(section.heading)}: {printable(section.url)}")
    if row.own_fields:
        from contentspider.index.own_fields import fields_line

        print(f"    {printable(fields_line(row.own_fields))}")
    for address in row.also_at:
        print(f"    also at {printable(address)}")
    print()
