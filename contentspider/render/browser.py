"""The browser: the Chromium of the system, without anything that a crawl does not need."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from contentspider.ground.errors import ContentSpiderError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOLDER = "contentspider-browser-"
VIEWPORT = {"width": 1600, "height": 4000}  # that of the published data (Zhou and Mashuq)
ARGUMENTS = (
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # It looks up no name itself: all goes through the proxy that checks it (`proxy`).
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
# What makes a page what it is; pictures, fonts, films, beacons and sockets are not fetched.
FETCHED = frozenset(("document", "script", "stylesheet", "xhr", "fetch"))
MAX_ELEMENTS = 200_000  # of a page that is looked at
# A page opens no windows, and asks nobody.
INIT_SCRIPT = """
window.open = () => null;
window.print = window.alert = () => undefined;
window.confirm = () => false;
window.prompt = () => null;
"""
INSTALL = (
    "rendering needs Chromium: 'apt install chromium', or name it with CONTENTSPIDER_BROWSER"
    " (--browser PATH)"
)


class RenderError(ContentSpiderError):
    """A page, or no page, can be rendered; *kind* is the word for the stats."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def find_browser(named: str = "") -> str:
    """Return the path of the browser that is *named*, or of the system's Chromium; raises
    `RenderError`.
    """
    if named:
        if found := shutil.which(named):
            return found
        raise RenderError("browser", f"{named} is no program that can be run: {INSTALL}")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise RenderError("browser", INSTALL)
    return str(Path(found))


def check_browser(named: str = "") -> None:
    """Raise `RenderError` if there is no browser, or no folder for the files that it writes."""
    find_browser(named)
    make_folder()


def make_folder() -> Path:
    """Return a new folder for the browser's files, which is deleted when this process ends; those
    of killed processes are deleted now. Raises `RenderError`.
    """
    # Short: the browser makes a socket in it.
    # What `tempfile` found once may be gone.
    places = map(Path, (os.environ.get("TMPDIR", "-"), tempfile.gettempdir(), "/tmp", "."))  # noqa: S108
    base = next(filter(Path.is_dir, places))
    for left in base.glob(f"{FOLDER}*"):
        number = left.name.removeprefix(FOLDER)
        if number.isdigit() and not _is_running(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    folder = base / f"{FOLDER}{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        message = f"the browser's files cannot be kept in {base}: {error.strerror} (TMPDIR)"
        raise RenderError("browser", message) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def launch_options(path: str) -> dict[str, Any]:
    """Return how Playwright launches the browser at a *path*."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    sandbox = ["--no-sandbox"] if is_root else []  # Chromium has none for root
    arguments = [*ARGUMENTS, *sandbox]
    environment = {**os.environ, "TMPDIR": str(make_folder())}
    return {
        "executable_path": path,
        "args": arguments,
        "chromium_sandbox": not is_root,
        "env": environment,
    }


def context_options(proxy: str) -> dict[str, Any]:
    """Return how a context of the browser is made, whose requests go through a *proxy*."""
    return {
        "viewport": VIEWPORT,
        "accept_downloads": False,
        "service_workers": "block",
        "proxy": {"server": proxy, "bypass": "<-loopback>"},
    }
