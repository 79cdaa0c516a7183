"""How the pages of a folder look in a browser, as a file of JSON lines."""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from gzip import GzipFile
from typing import TYPE_CHECKING, Any

from contentspider.ground.atomic import replacing
from contentspider.page.input.files import html_files, read_pages
from contentspider.render.probe import page_record
from contentspider.render.stored import Look, looks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

logger = logging.getLogger(__name__)
EACH = 50  # pages between two lines of progress


async def write_records(folder: Path, output: Path, most: int, browser: str) -> int:
    """Write how the pages of a *folder* look in a *browser*, as a JSON line each, and return their
    number: at most *most* (0: all). The *output* is compressed if its name ends in ``.gz``.
    """
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
    files = list(html_files(folder))[: most or None]
    async for look in looks(folder, files, browser, pictures=False):
        if not isinstance(look, Look):
            logger.warning("%s cannot be shown: %s", *look)
            continue
        for page in read_pages(folder, [look.file]):
            hints = page.hints
            yield page_record(look.snapshot, page.url, hints.titles, hints.descriptions)
