"""``contentspider search``."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_state_dir, positive
from contentspider.cli.indexes.index import ENGINE_HELP
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable
from contentspider.state.crawls.default_index import DEFAULT, has_default, index_url

if TYPE_CHECKING:
    import argparse

    from contentspider.cli.arguments import Commands, Group

# Which index is searched if none is named.
INDEX_VARIABLE = "CONTENTSPIDER_INDEX"
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def add_to(commands: Commands) -> None:
    """Add the command."""
    search = commands.add_parser(
        "search",
        help="find pages in a search index",
        description="Find pages in a search index: those that have all words, else some of them.",
    )
    search.add_argument("words", nargs="+", metavar="WORDS", help="what to look for")
    add_index(search)
    add_state_dir(search)
    search.add_argument("--site", default="", help="only pages of this site")
    search.add_argument("--language", default="", metavar="TAG", help="only pages in this language")
    search.add_argument(
        "--type", default="", help="only pages of this type (article, listing, ...)"
    )
    search.add_argument(
        "--limit", type=positive, default=10, metavar="N", help="at most N pages (default: 10)"
    )
    search.add_argument(
        "--json", action="store_true", help="print JSON lines: rank, score, id, url, title, snippet"
    )
    search.set_defaults(run=_search)


def add_index(parser: argparse.ArgumentParser | Group) -> None:
    """Add the option that says which index is searched."""
    parser.add_argument(
        "--index",
        default="",
        metavar="ENGINE_URL",
        help=f"{ENGINE_HELP}; default: that of the environment's {INDEX_VARIABLE}, else that of"
        " 'contentspider crawl URL --index'",
    )


def chosen_index(options: argparse.Namespace) -> str:
    """Return the URL of the index that is to be searched; raises `ContentSpiderError` if none is
    named, and there is no default one.
    """
    url = options.index or os.environ.get(INDEX_VARIABLE, "").split(",")[0].strip()
    if not url and has_default(options.state_dir or ""):
        url = DEFAULT
    if not url:
        raise ContentSpiderError(
            f"no index is named: give one with --index, or in the environment's {INDEX_VARIABLE};"
            " 'contentspider crawl URL --index' makes one that is found without a name"
        )
    return index_url(str(url), options.state_dir or "")


def _search(options: argparse.Namespace) -> int:
    from contentspider.index.engine import Query
    from contentspider.index.found import shown_results
    from contentspider.index.operations import opened

    wanted = {"site": options.site, "language": options.language, "page_type": options.type}
    filters = {name: value for name, value in wanted.items() if value}
    query = Query(" ".join(options.words), filters, options.limit)
    with opened(chosen_index(options), is_writer=False) as (engine, _):
        results = engine.search(query)
    for one in shown_results(query, results):
        if options.json:
            print(json.dumps(one.to_dict(), ensure_ascii=False))
            continue
        bold, plain = (BOLD, PLAIN) if sys.stdout.isatty() else ("", "")
        marked = "".join(
            f"{bold}{printable(text)}{plain}" if is_term else printable(text)
            for text, is_term in one.pieces
        )
        print(f"{one.rank:2}. {bold}{printable(one.title)}{plain}\n    {printable(one.url)}")
        print(f"    {marked}\n")
    if not options.json:
        print(f"{results.total:,} pages found" if results.total else "no page was found")
    return 0
