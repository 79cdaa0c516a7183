"""Real web servers, from Debian's packages, answer that a known page has not changed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import run
from tests.servers import Server, free_port, running
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULES = Path("/usr/lib/apache2/modules")


def apache(folder: Path, port: int, coding: str) -> list[str]:
    """Apache, whose ETag of a compressed body is not the one that it compares with."""
    coder = {"deflate": "DEFLATE", "brotli": "BROTLI_COMPRESS"}[coding]
    modules = ("mpm_event", "authz_core", "mime", "filter", coding)
    lines = [
        *(f"ServerRoot {folder}", f"PidFile {folder}/pid", f"Listen 127.0.0.1:{port}"),
        *("ServerName localhost", f"ErrorLog {folder}/errors", "Mutex pthread"),
        *(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules),
        *("User nobody", "Group nogroup", "TypesConfig /dev/null", "AddType text/html .html"),
        *(f"DocumentRoot {folder}/pages", f"AddOutputFilterByType {coder} text/html"),
    ]
    (folder / "config").write_text("\n".join(lines))
    return ["apache2", "-DFOREGROUND", "-f", f"{folder}/config"]


def nginx(folder: Path, port: int) -> list[str]:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "config").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}} http {{"
        f" access_log off; types {{ text/html html; }} {temporary} gzip on;"
        f" server {{ listen 127.0.0.1:{port}; root {folder}/pages; }} }}"
    )
    return ["nginx", "-c", f"{folder}/config", "-p", str(folder)]


def lighttpd(folder: Path, port: int) -> list[str]:
    (folder / "config").write_text(
        f'server.modules = ("mod_deflate")\nserver.document-root = "{folder}/pages"\n'
        f'server.bind = "127.0.0.1"\nserver.port = {port}\nserver.errorlog = "{folder}/errors"\n'
        'mimetype.assign = (".html" => "text/html")\ndeflate.mimetypes = ("text/html")\n'
        'deflate.allowed-encodings = ("brotli", "gzip")\n'
    )
    return ["lighttpd", "-D", "-f", f"{folder}/config"]


def caddy(folder: Path, port: int) -> list[str]:
    (folder / "config").write_text(
        f"{{\nadmin off\nauto_https off\n}}\nhttp://127.0.0.1:{port} {{\nbind 127.0.0.1\n"
        f"root * {folder}/pages\nencode zstd gzip\nfile_server\n}}\n"
    )
    return ["caddy", "run", "--config", f"{folder}/config", "--adapter", "caddyfile"]


def h2o(folder: Path, port: int) -> list[str]:
    (folder / "config").write_text(
        f"listen:\n  host: 127.0.0.1\n  port: {port}\nhosts:\n  default:\n    paths:\n      /:\n"
        f"        file.dir: {folder}/pages\ncompress: ON\npid-file: {folder}/pid\n"
        f"error-log: {folder}/errors\n" + ("user: root\n" if os.getuid() == 0 else "")
    )
    return ["h2o", "-c", f"{folder}/config"]


SERVERS: dict[str, Callable[[Path, int], list[str]]] = {
    "Apache, gzip": lambda folder, port: apache(folder, port, "deflate"),
    "Apache, Brotli": lambda folder, port: apache(folder, port, "brotli"),
    "nginx": nginx,
    "lighttpd": lighttpd,
    "Caddy": caddy,
    "H2O": h2o,
}


@pytest.fixture
def servers() -> Iterator[dict[str, str]]:
    """Yield the start pages of the servers that are installed, by name. Each leads to a page."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/bin"])
    addresses: dict[str, str] = {}
    with ExitStack() as stack:
        for number, (name, configure) in enumerate(SERVERS.items()):
            # Not pytest's folder: that is closed to other users, and Apache is another user.
            folder, port = Path(tempfile.mkdtemp(prefix="contentspider-server-")), free_port()
            folder.chmod(0o755)
            (folder / "pages").mkdir()
            (folder / "pages" / "index.html").write_text(article(0, "<a href=page.html>1</a>"))
            (folder / "pages" / "page.html").write_text(article(number + 1))
            command = configure(folder, port)
            program = shutil.which(command[0], path=path)
            if program is None:
                shutil.rmtree(folder)
                continue

            def is_ready(port: int = port) -> bool:
                with socket.socket() as made:
                    return made.connect_ex(("127.0.0.1", port)) == 0

            options = {"cwd": folder, "env": {**os.environ, "HOME": str(folder)}}
            # Killed, Apache and nginx would leave their workers behind.
            server = Server("", {}, [program, *command[1:]], options, is_ready, signal.SIGTERM)
            stack.enter_context(running(server))
            addresses[name] = f"http://127.0.0.1:{port}/index.html"
        yield addresses


def test_real_servers_send_known_pages_only_once(servers: dict[str, str], tmp_path: Path) -> None:
    if not servers:
        pytest.skip("no web server is installed: apt-get install apache2-bin nginx lighttpd caddy")
    options = ["--own-site", "-o", "pages.jsonl", "--stats", "stats.json"]
    for _ in range(2):
        run("crawl", *servers.values(), *options, cwd=tmp_path)
    stats = json.loads((tmp_path / "stats.json").read_text())["stats"]
    unsent = stats["downloader/response_status_count/304"]
    assert unsent == len(servers), f"one page each of {', '.join(servers)}"
