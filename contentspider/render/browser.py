"""The installed Chromium, started without the features that a crawl does not need; or one that
runs elsewhere.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from contentspider.ground.errors import ContentSpiderError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOLDER = "contentspider-browser-"
CDP_URL = "PLAYWRIGHT_CDP_URL"  # the setting of scrapy-playwright with a remote browser
CONNECT_SECS = 10.0
VIEWPORT = {"width": 1600, "height": 4000}  # as in the data of Zhou and Mashuq (2013)
ARGUMENTS = (
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Chromium resolves no names: all requests go through a proxy that checks them (`proxy`).
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
# The types of requests that change a page. Images, fonts, media, beacons and sockets are blocked.
FETCHED = frozenset(("document", "script", "stylesheet", "xhr", "fetch"))
MAX_ELEMENTS = 200_000  # a page with more elements is not rendered
# A page cannot open windows or dialogs.
INIT_SCRIPT = """
window.open = () => null;
window.print = window.alert = () => undefined;
window.confirm = () => false;
window.prompt = () => null;
"""


async def prepare_page(page: Any) -> None:
    """Keep a page of the browser from opening windows, dialogs and web sockets."""
    await page.add_init_script(INIT_SCRIPT)
    await page.route_web_socket("**/*", lambda socket: socket.close())


INSTALL = (
    "rendering needs Chromium: 'apt install chromium', or name it with CONTENTSPIDER_BROWSER"
    " (--browser PATH)"
)


class RenderError(ContentSpiderError):
    """Raised if a page cannot be rendered, or no page can; *kind* is the error's name in stats."""

    code = "render"

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def find_browser(name: str = "") -> str:
    """Return the path of the browser with this *name* or path, by default of the system's Chromium.
    Raises `RenderError` if there is none.
    """
    if name:
        if path := shutil.which(name):
            return path
        raise RenderError("browser", f"{name} is not an executable program: {INSTALL}")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise RenderError("browser", INSTALL)
    return str(Path(path))


def check_browser(name: str = "", remote: str = "") -> None:
    """Raise `RenderError` if the browser, or a folder for its temporary files, is missing, or if
    the one at the URL *remote* does not answer.
    """
    if remote:
        if name:
            raise RenderError(
                "browser", f"{CDP_URL} and CONTENTSPIDER_BROWSER name two browsers: leave one out"
            )
        address_seen_by(remote)
        return
    find_browser(name)
    make_folder()


def address_seen_by(remote: str) -> str:
    """Return this machine's address on connections from and to the browser at the URL *remote*.
    Raises `RenderError` if nothing listens there.
    """
    try:
        parts = urlsplit(remote)
        port = parts.port or (443 if parts.scheme in ("https", "wss") else 80)
        with socket.create_connection((parts.hostname or "", port), CONNECT_SECS) as connection:
            return str(connection.getsockname()[0])
    except (OSError, ValueError) as error:
        raise RenderError(
            "browser", f"no browser answers at {CDP_URL} {remote!r}: {error}; is it started?"
        ) from error


def make_folder() -> Path:
    """Create a folder for the browser's temporary files, and delete the folders of processes that
    were killed. The folder is deleted when this process ends. Raises `RenderError`.
    """
    # The path must be short, as the browser creates a socket in it. `tempfile` remembers its
    # folder, which may have been deleted since.
    places = map(Path, (os.environ.get("TMPDIR", "-"), tempfile.gettempdir(), "/tmp", "."))  # noqa: S108
    base = next(filter(Path.is_dir, places))
    for old_folder in base.glob(f"{FOLDER}*"):
        number = old_folder.name.removeprefix(FOLDER)
        if number.isdigit() and not _is_running(int(number)):
            shutil.rmtree(old_folder, ignore_errors=True)
    folder = base / f"{FOLDER}{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        message = f"the browser cannot write to {base}: {error.strerror}; set TMPDIR"
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
    """Return Playwright's launch options for the browser at a *path*."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    sandbox = ["--no-sandbox"] if is_root else []  # Chromium cannot sandbox root
    arguments = [*ARGUMENTS, *sandbox]
    environment = {**os.environ, "TMPDIR": str(make_folder())}
    return {
        "executable_path": path,
        "args": arguments,
        "chromium_sandbox": not is_root,
        "env": environment,
    }


def context_options(proxy: str, login: tuple[str, str] | None = None) -> dict[str, Any]:
    """Return Playwright's options for a context that sends all requests through a *proxy*, with a
    *login* of a name and a password.
    """
    through = {"server": proxy, "bypass": "<-loopback>"}
    return {
        "viewport": VIEWPORT,
        "accept_downloads": False,
        "service_workers": "block",
        "proxy": through | dict(zip(("username", "password"), login or (), strict=False)),
    }
