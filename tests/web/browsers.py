"""Chromium for the tests of what is shown in the browser."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
needs_browser = pytest.mark.skipif(
    find_spec("playwright") is None or not any(map(shutil.which, BROWSERS)),
    reason="Playwright or Chromium is not installed",
)


def browse(look: Callable[[Any], Awaitable[Any]], width: int = 360, height: int = 800) -> Any:
    """Return what *look* finds with a page of a browser."""

    async def run() -> Any:
        from playwright.async_api import async_playwright

        path = next(filter(None, map(shutil.which, BROWSERS)))
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=path, chromium_sandbox=False)
            shown = await browser.new_page(viewport={"width": width, "height": height})
            found = await look(shown)
            await browser.close()
        return found

    return asyncio.run(run())


def axe_core(folder: Path) -> str:
    """Return the script of axe-core, which npm brings."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    subprocess.run(["npm", "pack", "axe-core@4"], cwd=folder, check=True, capture_output=True)
    [packed] = folder.glob("axe-core-*.tgz")
    shutil.unpack_archive(packed, folder)
    return (folder / "package" / "axe.min.js").read_text()
