"""The commands ``contentspider extract``, ``schema`` and ``summarise``."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from contentspider.cli.command import (
    LEARNING,
    PAGE_FORMAT,
    argument,
    command,
    learning_options,
    option,
)
from contentspider.ground.addresses import is_web_address
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.json_text import json_text
from contentspider.ground.terminal import printable, say
from contentspider.state.files.formats import STDOUT, WRITERS, any_output
from contentspider.state.outcome import Outcome
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.ground.fetch import Fetched
    from contentspider.site.models.failures import Failures
    from contentspider.site.models.record import OptionalFields


MAX_SITES = 5  # whose quality is printed


def folder(text: str) -> Path:
    """Return the folder that an option names; a URL is an error."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"{text} is not a folder; 'contentspider models --models {text} export' copies a model"
            " from it"
        )
    return Path(text)


@command(
    "extract",
    argument(
        "SOURCE...",
        "folders of HTML files, files (one folder's files are one site; also documents such as PDF"
        " and DOCX), addresses of pages (https://...), or - for HTML from standard input",
    ),
    option("output", default=None),
    PAGE_FORMAT,
    *LEARNING,
    argument("--models DIR", "use the sites' models in DIR, or the one that DIR is", folder),
    argument("--alone", "judge each page alone: pages of many sites, of which none is learned"),
    argument(
        "--url ADDRESS",
        "the address of the page from standard input, or of the folder of pages",
        default="",
    ),
    argument("--allow-private", "fetch from private networks, too"),
    option("keep_teasers"),
    option("directives", dest="obey_directives"),
    option("fields"),
    option("passages"),
    option("images"),
    option("summary"),
    option("records"),
)
def extract(options: argparse.Namespace) -> int:
    """Extract pages that you have, or single pages of the web. Each folder of HTML files is a site,
    and is learned. A page that is given by its address or on standard input is judged without other
    pages of its site.
    """
    from contentspider.site.models.failures import Failures
    from contentspider.site.models.record import OptionalFields

    if options.alone and options.models:
        raise UsageError("--alone and --models exclude each other: choose one")
    failures = Failures()
    fields = OptionalFields(options.passages, options.images, options.summary, options.records)
    outputs = options.output or [STDOUT]
    written = _write(_items(options, fields, failures), outputs, options.format)
    if not written and not failures.pages:
        raise ContentSpiderError(_nothing_extracted(options.source, failures))
    names = [output for output in outputs if output != STDOUT]
    if names or written > 1:
        say(counted(written, "pages") + (f" -> {', '.join(names)}" if names else ""))
    _tell_quality(failures)
    _tell(failures)
    if failures.files or failures.pages or failures.lost.is_large:
        return Outcome.INCOMPLETE
    return Outcome.COMPLETE


def _write(items: Iterator[dict[str, object]], targets: Sequence[str], kind: str | None) -> int:
    """Write items to outputs (files, folders, standard output), and return their number."""
    outputs = [any_output(target, kind) for target in targets]
    if targets == [STDOUT]:
        return outputs[0].write(lambda: items)
    # The items are stored first: the outputs are written only if there are any, each from the
    # beginning, and CSV needs them twice.
    with TemporaryFile("w+b") as stored:
        written = WRITERS["jsonl"](lambda: items, stored)

        def records() -> Iterator[dict[str, object]]:
            stored.seek(0)
            return map(json.loads, stored)

        for output in outputs if written else ():
            output.write(records)
    return written


def _tell_quality(failures: Failures) -> None:
    """Print how good the learned models probably are, the worst first."""
    worst = sorted(failures.quality.items(), key=lambda pair: pair[1].f1)
    for site, quality in worst[:MAX_SITES]:
        say(f"quality: {printable(site)} {quality}")
        for template in quality.doubtful:
            say(f"         doubtful: {printable(str(template))} (contentspider report shows pages)")
    if len(worst) > MAX_SITES:
        say(f"quality: {len(worst) - MAX_SITES} more sites, which are better")


def _tell(failures: Failures) -> None:
    """Print which files, pages and fields are missing."""
    if failures.files:
        reasons = Counter(failures.files.values()).most_common()
        say(
            f"{counted(len(failures.files), 'files')} left out, which the warnings name: "
            + ", ".join(f"{reason} ({count})" for reason, count in reasons)
        )
    if failures.ignored:
        endings = ", ".join(f"{name} ({n})" for name, n in failures.ignored.most_common(5))
        say(
            f"{counted(failures.ignored.total(), 'files')} ignored, as not HTML by ending and"
            f" beginning: {endings}"
        )
    if failures.guessed:
        names = Counter(failures.guessed.values()).most_common()
        say(
            f"{counted(len(failures.guessed), 'files')} without a stated encoding, read as "
            + ", ".join(f"{name} ({count})" for name, count in names)
        )
    for kind, count in failures.fields.items():
        say(f"{counted(count, 'pages')} with an empty field because of an error: {kind}")
    if failures.pages:
        say(
            f"{counted(len(failures.pages), 'pages')} left out because of errors, which the log"
            " names"
        )
    if failures.lost.lost:
        say(f"{failures.lost}; contentspider report shows what was dropped")


def _nothing_extracted(sources: Sequence[str], failures: Failures) -> str:
    """Return why no item came out of the *sources*."""
    from contentspider.page.input.files import DOCUMENT, NO_TEXT, NOT_HTML

    names = ", ".join(map(printable, sources))
    causes = dict.fromkeys(failures.files.values())
    if known := [cause for cause in causes if cause not in (DOCUMENT, NO_TEXT, NOT_HTML)]:
        return f"nothing was extracted from {names}: {'; '.join(known)}"
    if all(Path(source).is_file() for source in sources):
        return f"no text was found in {names}: it has no text, or is not HTML"
    return f"no HTML files (*.html, *.htm, *.xhtml) and no documents with text under {names}"


def _items(
    options: argparse.Namespace, optional_fields: OptionalFields, failures: Failures
) -> Iterator[dict[str, object]]:
    """Yield the items of all sources: single pages first, then folders and files."""
    from contentspider.extract import extract_paths, page_item

    if not all(source.strip() for source in options.source):
        raise UsageError('a source is empty (""): it may be a variable that is not set')
    learning = learning_options(options)
    paths = [Path(source) for source in options.source if not _is_single(source)]
    if missing := [str(path) for path in paths if not path.exists()]:
        raise ContentSpiderError(f"{', '.join(missing)}: no such file or folder")
    base = "" if STDOUT in options.source else _base(options.url, paths)
    for source in filter(_is_single, options.source):
        page = read_page(source, options.allow_private, options.url)
        yield page_item(page, learning, options.models, optional_fields)
    if paths:
        yield from extract_paths(
            paths, learning, options.models, optional_fields, failures, options.alone, base
        )


def _base(url: str, paths: Sequence[Path]) -> str:
    """Return the address of the folder that --url names, "" without; raises `UsageError`."""
    if url and not is_web_address(url):
        raise UsageError(f"--url {printable(url)} is not the address of a website")
    if url and (len(paths) != 1 or not paths[0].is_dir()):
        raise UsageError("--url is the address of standard input (-), or of one folder of pages")
    return url


def _is_single(source: str) -> bool:
    return source == STDOUT or source.startswith(("http://", "https://"))


def read_page(source: str, allow_private: bool, url: str = "") -> Fetched:
    """Return the page at an address, or the one on standard input, whose address is *url*."""
    from contentspider.ground.addresses import network_of, split_address
    from contentspider.ground.fetch import KINDS, Fetched, fetch
    from contentspider.page.input.documents import TYPES

    if source == STDOUT:
        return Fetched(url, sys.stdin.buffer.read(), "")
    # As in a crawl, the user may name an address in a private network.
    is_private = bool(network_of(split_address(source).hostname or ""))
    return fetch(source, is_private or allow_private, (*KINDS, *TYPES))


@command("schema")
def schema(options: argparse.Namespace) -> None:
    """Print the JSON Schema of items, with the type of each field."""
    from contentspider.site.models.item import item_schema

    print(json.dumps(item_schema(), indent=2))


@command(
    "summarise",
    argument("FOLDER", "a folder of a site's HTML files", Path),
    argument("-o --output FILE", "where to write them (default: standard output)", Path),
    option("models", type=folder),
)
def summarise(options: argparse.Namespace) -> None:
    """Sum up each page of a site in up to five of its sentences. They say what other pages of the
    site do not. Each page is a JSON object with url, title and summary.
    """
    from contentspider.extract import summarise_folder
    from contentspider.ground.atomic import replacing

    lines = (
        json_text(page_summary) + "\n"
        for page_summary in summarise_folder(options.folder, options.models)
    )
    if options.output is None:
        sys.stdout.writelines(lines)
        return
    with replacing(options.output) as file:
        for line in lines:
            file.write(line.encode("utf-8", "replace"))
