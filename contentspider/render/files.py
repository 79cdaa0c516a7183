"""Renders HTML files of a folder in the browser, with the files beside them and no network."""

from __future__ import annotations

import asyncio
import mimetypes
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from contentspider.render.browser import (
    MAX_ELEMENTS,
    RenderError,
    context_options,
    find_browser,
    launch_options,
    prepare_page,
)
from contentspider.render.snapshot import ARGUMENTS, COMMAND, Snapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

HOST = "stored.invalid"  # the host in the addresses of pages; requests for it are intercepted
NOWHERE = "http://127.0.0.1:9"  # a proxy that does not exist: other requests fail
SECS = 20.0
MAX_HEIGHT = 16_000  # pixels of a screenshot; below, Chromium repeats the image
QUALITY = 70


class RenderedFile(NamedTuple):
    """A rendered HTML file: its screenshot (JPEG; empty if none was requested) and its boxes."""

    file: Path
    picture: bytes
    snapshot: Snapshot


def render_files(
    folder: Path, files: Iterable[Path], browser: str = "", pictures: bool = True
) -> AsyncIterator[RenderedFile | tuple[Path, str]]:
    """Render HTML *files* of a *folder*. Yield for each the result, or the file and the reason for
    which it cannot be rendered.
    """
    return _render_files(folder.resolve(), files, find_browser(browser), pictures)


async def _render_files(
    root: Path, files: Iterable[Path], browser: str, pictures: bool
) -> AsyncIterator[RenderedFile | tuple[Path, str]]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        process = await playwright.chromium.launch(**launch_options(browser))
        try:
            for file in files:
                try:
                    path = file.resolve().relative_to(root).as_posix()
                    picture, snapshot = await asyncio.wait_for(
                        _render_file(process, root, path, pictures), SECS
                    )
                    yield RenderedFile(file, picture, snapshot)
                except (TimeoutError, asyncio.TimeoutError):  # the same class from Python 3.11
                    yield file, f"the browser takes more than {SECS:g} s"
                except Exception as error:  # noqa: BLE001 - one broken page must not end the loop
                    yield file, str(error).splitlines()[0] if str(error) else type(error).__name__
                if not process.is_connected():
                    process = await playwright.chromium.launch(**launch_options(browser))
        finally:
            with suppress(Exception):
                await process.close()


async def _render_file(
    browser: Any, root: Path, path: str, pictures: bool
) -> tuple[bytes, Snapshot]:
    context = await browser.new_context(**context_options(NOWHERE))
    try:
        await context.route("**/*", lambda route: _answer(route, root))
        page = await context.new_page()
        await prepare_page(page)
        await page.goto(f"http://{HOST}/{quote(path)}", wait_until="load", timeout=SECS * 1_000)
        count = await page.evaluate("() => document.getElementsByTagName('*').length")
        if count > MAX_ELEMENTS:
            raise RenderError("huge", f"it has {count:,} elements")
        session = await context.new_cdp_session(page)
        snapshot = Snapshot(await session.send(COMMAND, ARGUMENTS))
        size = {"x": 0, "y": 0, "width": 1600, "height": min(snapshot.bottom, MAX_HEIGHT)}
        picture = b""
        if pictures:
            options: dict[str, Any] = {"type": "jpeg", "quality": QUALITY, "animations": "disabled"}
            picture = await page.screenshot(full_page=True, clip=size, **options)
        return picture, snapshot
    finally:
        with suppress(Exception):
            await context.close()


async def _answer(route: Any, root: Path) -> None:
    """Answer a request of the browser with a file of the folder, or abort it."""
    parts = urlsplit(route.request.url)
    file = (root / unquote(parts.path).lstrip("/")).resolve()
    is_own = parts.hostname == HOST and file.is_relative_to(root)
    if is_own and file.is_dir():
        file /= "index.html"
    if not is_own or not file.is_file():
        await route.abort()
        return
    kind, encoding = mimetypes.guess_type(file.name)
    is_page = route.request.resource_type == "document"
    kind = "text/html" if is_page else kind or "application/octet-stream"
    headers = {"Content-Encoding": encoding} if encoding else {}
    await route.fulfill(body=file.read_bytes(), content_type=kind, headers=headers)
