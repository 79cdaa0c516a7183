"""``contentspider render``: the looks of stored pages as a file."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import ExitStack
from gzip import GzipFile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.cli.command import argument, command
from contentspider.ground.atomic import replacing
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

logger = logging.getLogger(__name__)
EACH = 50  # pages between two lines of progress


@command(
    "render",
    argument("FOLDER", "a folder of HTML files, with the style sheets that they name", Path),
    argument("-o --output FILE", "where to write them: FILE.jsonl or FILE.jsonl.gz", Path),
    argument("--pages N", "at most so many (default: all)", default=0, least=0),
    argument("--browser PATH", "the Chromium to use (default: the system's)", default=""),
)
def render(options: argparse.Namespace) -> None:
    """Write what pages look like in a browser, a JSON object a page. It has each text's box,
    computed CSS and selectors, in the form of the data that Zhou and Mashuq published; nothing is
    asked of the net.
    """
    output: Path | None = options.output
    if output is None or not output.name.endswith((".jsonl", ".jsonl.gz")):
        raise ContentSpiderError("say where to write: -o FILE.jsonl or FILE.jsonl.gz")
    count = asyncio.run(_write(options.folder, output, options.pages, options.browser))
    if not count:
        raise ContentSpiderError(f"{options.folder} has no HTML files that a browser can show")
    say(f"{count} pages -> {output}")


async def _write(folder: Path, output: Path, most: int, browser: str) -> int:
    count = 0
    with ExitStack() as stack:
        file: Any = stack.enter_context(replacing(output))
        if output.suffix == ".gz":
            file = stack.enter_context(GzipFile(fileobj=file, mode="wb", mtime=0))
        async for record in _records(folder, most, browser):
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            count += 1
            if count % EACH == 0:
                logger.info("%d pages rendered", count)
    return count


async def _records(folder: Path, most: int, browser: str) -> AsyncIterator[dict[str, Any]]:
    from contentspider.page.input.files import html_files, read_pages
    from contentspider_render.probe import page_record
    from contentspider_render.stored import Look, looks

    files = list(html_files(folder))[: most or None]
    async for look in looks(folder, files, browser, pictures=False):
        if not isinstance(look, Look):
            logger.warning("%s cannot be shown: %s", *look)
            continue
        for page in read_pages(folder, [look.file]):
            hints = page.hints
            yield page_record(look.snapshot, page.url, hints.titles, hints.descriptions)
