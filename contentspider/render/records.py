"""Renders the pages of a folder and writes their visual records as JSON lines."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from gzip import GzipFile
from typing import TYPE_CHECKING, Any

from contentspider.ground.atomic import replacing
from contentspider.ground.json_text import json_text
from contentspider.page.input.files import html_files, read_pages
from contentspider.render.files import RenderedFile, render_files
from contentspider.render.snapshot import page_record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

logger = logging.getLogger(__name__)
EACH = 50  # pages between two log lines of progress


async def write_records(folder: Path, output: Path, most: int, browser: str) -> int:
    """Render the pages of a *folder* in a *browser* and write a JSON line for each. Return their
    number, at most *most* (0: all). The *output* is compressed if its name ends in ``.gz``.
    """
    count = 0
    with ExitStack() as stack:
        file: Any = stack.enter_context(replacing(output))
        if output.suffix == ".gz":
            file = stack.enter_context(GzipFile(fileobj=file, mode="wb", mtime=0))
        async for record in _records(folder, most, browser):
            file.write(json_text(record).encode("utf-8", "replace") + b"\n")
            count += 1
            if count % EACH == 0:
                logger.info("%d pages rendered", count)
    return count


async def _records(folder: Path, most: int, browser: str) -> AsyncIterator[dict[str, Any]]:
    files = list(html_files(folder))[: most or None]
    async for result in render_files(folder, files, browser, pictures=False):
        if not isinstance(result, RenderedFile):
            logger.warning("%s cannot be rendered: %s", *result)
            continue
        for page in read_pages(folder, [result.file]):
            hints = page.hints
            yield page_record(result.snapshot, page.url, hints.titles, hints.descriptions)
