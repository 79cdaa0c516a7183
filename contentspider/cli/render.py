"""The command ``contentspider render``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.command import argument, command
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import say

if TYPE_CHECKING:
    import argparse


@command(
    "render",
    argument("FOLDER", "a folder of HTML files, with the style sheets that they name", Path),
    argument("-o --output FILE", "where to write them: FILE.jsonl or FILE.jsonl.gz", Path),
    argument("--pages N", "the most pages to write (default: all)", default=0, least=0),
    argument("--browser PATH", "the Chromium to use (default: the system's)", default=""),
    extra="render",
)
def render(options: argparse.Namespace) -> None:
    """Write how the pages of a folder look in a browser, as one JSON object for each page. Each
    object has the box, computed CSS and selectors of each text, in the form of the data that Zhou
    and Mashuq published. Nothing is requested from the net.
    """
    output: Path | None = options.output
    if output is None or not output.name.endswith((".jsonl", ".jsonl.gz")):
        raise ContentSpiderError("say where to write: -o FILE.jsonl or FILE.jsonl.gz")
    import asyncio  # other commands start without it

    from contentspider.render.records import write_records

    count = asyncio.run(write_records(options.folder, output, options.pages, options.browser))
    if not count:
        raise ContentSpiderError(f"{options.folder} has no HTML files that a browser can show")
    say(f"{counted(count, 'pages')} -> {output}")
