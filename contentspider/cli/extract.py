"""``contentspider extract``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from contentspider.cli.command import LEARNING, argument, command, learning_of, option
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import say
from contentspider.state.files.formats import STDOUT, WRITERS, Output
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator


def folder(text: str) -> Path:
    """Return a folder; a store of models is none."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"{text} is not a folder; 'contentspider models --models {text} export' copies a model"
            " from it"
        )
    return Path(text)


@command(
    "extract",
    argument("PATH...", "folders of HTML files, or files (those of one folder are one site)", Path),
    option("output", action="store", default=STDOUT),
    option("format"),
    *LEARNING,
    argument("--models DIR", "use the sites' models in DIR, or the one that DIR is", folder),
    option("keep_teasers"),
    option("passages"),
    option("images"),
    option("summary"),
)
def extract(options: argparse.Namespace) -> None:
    """Extract pages that you have. Each folder of HTML files is a site, and is learned."""
    from contentspider.crawl.options import extras_of
    from contentspider.extract import extract_paths

    if missing := [str(path) for path in options.path if not path.exists()]:
        raise ContentSpiderError(f"{', '.join(missing)}: no such file or folder")
    extras = extras_of(options.passages, options.images, options.summary, "--summary")
    items = extract_paths(options.path, learning_of(options), options.models, extras)
    if options.output == STDOUT:
        written = WRITERS["jsonl"](lambda: items, sys.stdout.buffer)
    else:
        output = Output.parse(options.output, options.format)
        # Kept until it is known that there are any, and for CSV, which is written in two rounds.
        with TemporaryFile("w+b") as kept:
            written = WRITERS["jsonl"](lambda: items, kept)

            def records() -> Iterator[dict[str, object]]:
                kept.seek(0)
                return map(json.loads, kept)

            if written:
                output.write(records)
    if not written:
        raise ContentSpiderError(
            "no HTML files (*.html, *.htm, *.xhtml) with text under"
            f" {', '.join(map(str, options.path))}"
        )
    say(f"{written} pages" + ("" if options.output == STDOUT else f" -> {options.output}"))
