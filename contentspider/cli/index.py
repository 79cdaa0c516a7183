"""``contentspider index``, ``search`` and ``serve``."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import TYPE_CHECKING

from contentspider.cli.arguments import CRAWL_HELP, add_state_dir, not_negative, positive
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable
from contentspider.index.engine import shown
from contentspider.state.crawls.folder import DEFAULT, has_default, index_url

if TYPE_CHECKING:
    import argparse

    from contentspider.cli.arguments import Commands

# Which index is searched if none is named.
INDEX_VARIABLE = "CONTENTSPIDER_INDEX"
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ENGINE_HELP = "an index's URL: tantivy:FOLDER, sqlite:FILE, default, or others (docs/indexing.md)"


def add_to(commands: Commands) -> None:
    """Add the commands."""
    _add_index(commands)
    _add_search(commands)
    _add_serve(commands)


def _add_index(commands: Commands) -> None:
    index = commands.add_parser(
        "index",
        help="bring search indexes up to date with what was crawled",
        description="Bring search indexes up to date with what was crawled.",
    )
    actions = index.add_subparsers(metavar="ACTION", dest="action", required=True)
    for name, run, text, more in (
        (
            *("sync", _sync, "bring in what changed, and take out what is gone"),
            "An index that is new gets all pages; nothing is crawled.",
        ),
        (
            *("verify", _verify, "compare an index with the history, document by document"),
            "What differs is printed as JSON lines. Exit code 0: nothing does, or all was mended.",
        ),
        (
            *("rebuild", _rebuild, "make an index anew, and put it in the place of the old one"),
            "All sites are in it; the old one is searched until the new one takes its place.",
        ),
    ):
        description = f"{text.capitalize()}. {more}"
        action = actions.add_parser(name, help=text, description=description)
        if name != "rebuild":
            action.add_argument("crawl", metavar="SITE", help=CRAWL_HELP)
        if name == "verify":
            action.add_argument("--mend", action="store_true", help="put right what differs")
        action.add_argument("engine", metavar="ENGINE_URL", help=ENGINE_HELP)
        action.add_argument(
            "--force", action="store_true", help="delete documents, however many are gone"
        )
        add_state_dir(action)
        action.set_defaults(run=run)


def _add_search(commands: Commands) -> None:
    search = commands.add_parser(
        "search",
        help="find pages in a search index",
        description="Find pages in a search index: those that have all words, else some of them.",
    )
    search.add_argument("words", nargs="+", metavar="WORDS", help="what to look for")
    _add_index_option(search)
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


def _add_serve(commands: Commands) -> None:
    serve = commands.add_parser(
        "serve",
        help="search an index in the browser",
        description=(
            "Serve a page that searches an index, with JSON beside it (/api/search?q=WORDS,"
            " /api/page/ID, /api/sites). Nobody is asked who they are: beyond this machine, put a"
            " server before it that does."
        ),
    )
    _add_index_option(serve)
    serve.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)"
    )
    serve.add_argument(
        "--port", type=not_negative, default=8080, help="the port (default: 8080; 0: any)"
    )
    serve.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="a name that it is reached by, beyond --host and localhost",
    )
    add_state_dir(serve)
    serve.set_defaults(run=_serve)


def _tell(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {total:,} changes", end=end, file=sys.stderr, flush=True)


def _sync(options: argparse.Namespace) -> int:
    from contentspider.index.operations import sync
    from contentspider.state.crawls.export import find_history

    history = find_history(options.crawl, options.state_dir)
    url = index_url(options.engine, options.state_dir)
    report = sync(history, url, options.force, _tell)
    print(printable(f"{shown(url)}: {report}"), file=sys.stderr)
    return 0


def _verify(options: argparse.Namespace) -> int:
    from contentspider.index.operations import verify
    from contentspider.state.crawls.export import find_history

    history = find_history(options.crawl, options.state_dir)
    url = index_url(options.engine, options.state_dir)
    found = verify(history, url, options.force, options.mend)
    for name in ("missing", "stale", "extra", "refused"):
        for document_id in getattr(found, name):
            print(json.dumps({"id": document_id, "is": name}))
    print(
        f"{found.same:,} documents are as they should be, {len(found.missing):,} missing,"
        f" {len(found.stale):,} stale, {len(found.extra):,} too much, {len(found.refused):,}"
        f" refused by the engine{': mended' if options.mend and found else ''}",
        file=sys.stderr,
    )
    return 0 if options.mend or not found else 1


def _rebuild(options: argparse.Namespace) -> int:
    from contentspider.index.operations import rebuild
    from contentspider.state.crawls.export import histories

    paths = histories(options.state_dir)
    url = index_url(options.engine, options.state_dir)
    reports = rebuild(paths, url, options.force, _tell)
    for path, report in zip(paths, reports, strict=True):
        print(printable(f"{path.stem}: {report}"), file=sys.stderr)
    return 0


def _add_index_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says which index is searched."""
    parser.add_argument(
        "--index",
        default="",
        metavar="ENGINE_URL",
        help=f"{ENGINE_HELP}; default: that of the environment's {INDEX_VARIABLE}, else that of"
        " 'contentspider crawl URL --index'",
    )


def _chosen_index(options: argparse.Namespace) -> str:
    """Return the URL of the index that is to be searched; raises `ContentSpiderError` if none is
    named, and there is no default one.
    """
    url = options.index or os.environ.get(INDEX_VARIABLE, "").split(",")[0].strip()
    if not url and has_default(options.state_dir):
        url = DEFAULT
    if not url:
        raise ContentSpiderError(
            f"no index is named: give one with --index, or in the environment's {INDEX_VARIABLE};"
            " 'contentspider crawl URL --index' makes one that is found without a name"
        )
    return index_url(str(url), options.state_dir)


def _search(options: argparse.Namespace) -> int:
    from contentspider.index.engine import Query
    from contentspider.index.found import shown_results
    from contentspider.index.operations import opened

    wanted = {"site": options.site, "language": options.language, "page_type": options.type}
    filters = {name: value for name, value in wanted.items() if value}
    query = Query(" ".join(options.words), filters, options.limit)
    with opened(_chosen_index(options), is_writer=False) as (engine, _):
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


def _serve(options: argparse.Namespace) -> int:
    from contentspider.index.operations import opened
    from contentspider.state.crawls.export import histories
    from contentspider.web.app import make_app, run

    url = _chosen_index(options)
    with opened(url, is_writer=False):
        pass  # what is wrong with it is said now
    app = make_app(url, histories(options.state_dir), [options.host, *LOOPBACK[:2], *options.name])
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        listener = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise ContentSpiderError(
            f"{options.host}:{options.port} cannot be listened at ({error.strerror or error}): give"
            " another --port or --host"
        ) from error
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(printable(f"http://{shown}:{port}/ (Ctrl-C ends it)"), file=sys.stderr, flush=True)
    if options.host not in LOOPBACK:
        print(
            f"{printable(options.host)} is reached from other machines, and nobody is asked who"
            " they are",
            file=sys.stderr,
        )
    run(app, listener)
    return 0
