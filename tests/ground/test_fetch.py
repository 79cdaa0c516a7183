"""What the server may be made to ask, and what it makes of bad answers."""

from __future__ import annotations

import gzip
import socket
import time
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.ground import fetch as fetching
from contentspider.ground.fetch import FetchError, check_proxy, fetch
from tests.conftest import Site, run, serve
from tests.messages import raises, wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PAGE = "<title>Tea</title><p>Tea is made of leaves and of hot water."


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as made:
        made.add("/", PAGE)
        yield made


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "0", "0.0.0.0"),  # noqa: S104
        *("localhost", "LOCALHOST.", "a.localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]"),
        *("10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "[fe80::1]", "[fc00::1]"),
        *("[::ffff:a9fe:a9fe]", "100.64.0.1", "[2002:7f00:1::]", "127.0.0.1.", "user@127.0.0.1"),
    ],
)
def test_private_network_addresses_are_refused(host: str, site: Site) -> None:
    port = site.url.rpartition(":")[2]
    with pytest.raises(FetchError, match=r"is a [a-z-]+ address|is at "):
        fetch(f"http://{host}:{port}/")
    assert not site.requests


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://e.org/", "gopher://e.org", "", "x"]
)
def test_non_web_addresses_are_refused(address: str) -> None:
    with raises(FetchError, "web-address"):
        fetch(address)


def looked_up(monkeypatch: pytest.MonkeyPatch, *places: str) -> list[str]:
    asked: list[str] = []
    really = socket.getaddrinfo

    def look_up(host: str, port: int, *given: Any, **named: Any) -> list[Any]:
        if host in places:  # what is connected to
            return really(host, port, *given, **named)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, port)) for place in places]

    monkeypatch.setattr(fetching.socket, "getaddrinfo", look_up)
    return asked


def test_hostname_resolving_to_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    asked = looked_up(monkeypatch, "93.184.216.34", "127.0.0.1")
    with pytest.raises(FetchError, match=r"example\.org is at 127\.0\.0\.1, a loopback address"):
        fetch(f"http://example.org:{site.url.rpartition(':')[2]}/")
    assert asked == ["example.org"] and not site.requests


def test_redirect_to_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    """The first address is taken for a public one; what it leads to is checked anew."""
    site.answer = lambda path: (302, f"text/html\r\nLocation: http://127.0.0.1:1{path}", b"")
    real, host = fetching.network_of, site.url.split("/")[2].partition(":")[0]
    seen: list[str] = []

    def network(name: str) -> str:
        seen.append(name)
        return "" if len(seen) <= 2 and name == host else real(name)

    monkeypatch.setattr(fetching, "network_of", network)
    with pytest.raises(FetchError, match=r"127\.0\.0\.1 is a loopback address"):
        fetch(f"{site.url}/away")
    assert site.requests == ["/away"]


def test_fetched_page_has_final_url_and_content_type(site: Site) -> None:
    site.answer = lambda path: (
        (301, "text/html\r\nLocation: /there", b"")
        if path == "/here"
        else (200, "text/html; charset=utf-8", PAGE.encode())
    )
    found = fetch(f"{site.url}/here", is_private_allowed=True)
    assert found == (f"{site.url}/there", PAGE.encode(), "text/html; charset=utf-8")


def test_fetch_tries_next_ip_address_after_failure(
    monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    looked_up(monkeypatch, "127.0.0.3", "127.0.0.1")
    port = site.url.rpartition(":")[2]
    found = fetch(f"http://example.org:{port}/", is_private_allowed=True)
    assert found.body == PAGE.encode()


def test_urls_with_special_characters_are_encoded(site: Site) -> None:
    site.answer = lambda path: (200, "text/html", path.encode())
    found = fetch(f"{site.url}/café noir/%C3%A9?q=茶 x#top", is_private_allowed=True)
    assert found.body == b"/caf%C3%A9%20noir/%C3%A9?q=%E8%8C%B6%20x"


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (404, "text/html", b"none", "the server answered 404"),
        (200, "image/png", b"\x89PNG", wording("ground.not-a-page") + " image/png"),
        (200, "text/html", b"x" * 2_000, "more than 0 MB"),
        (
            200,
            "text/html\r\nContent-Encoding: gzip",
            gzip.compress(b"x" * 9_000, mtime=0),
            "more than 0 MB",
        ),
        (200, "text/html\r\nContent-Encoding: gzip", b"no gzip", "incorrect header"),
        (302, "text/html\r\nLocation: /again", b"", "more than 5 redirects"),
    ],
)
def test_unusable_responses_raise_fetch_error(
    monkeypatch: pytest.MonkeyPatch, site: Site, status: int, kind: str, body: bytes, said: str
) -> None:
    monkeypatch.setattr(fetching, "MAX_BYTES", 1_000)
    site.answer = lambda path: (status, kind, body)
    with pytest.raises(FetchError, match=said):
        fetch(f"{site.url}/", is_private_allowed=True)


def test_unresponsive_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "SECS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(FetchError, match=r"it did not arrive within 0\.5 s"):
            fetch(f"http://127.0.0.1:{port}/", is_private_allowed=True)
    with pytest.raises(FetchError, match="refused"):
        fetch(f"http://127.0.0.1:{port}/", is_private_allowed=True)


def answering(silent: socket.socket, parts: Iterable[bytes], requests: list[bytes]) -> Thread:
    """Answer one request with *parts*, for as long as the client listens."""

    def answer() -> None:
        connection, _ = silent.accept()
        with connection, suppress(OSError):
            requests.append(connection.recv(10_000))
            for part in parts:
                connection.sendall(part)

    thread = Thread(target=answer, daemon=True)
    thread.start()
    return thread


def test_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "SECS", 0.3)

    def trickle() -> Iterator[bytes]:
        yield b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"
        for _ in range(200):  # ten times as long as the client waits
            time.sleep(0.015)
            yield b" "

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = answering(server, trickle(), [])
        with pytest.raises(FetchError, match=r"it did not arrive within 0\.3 s"):
            fetch(f"http://127.0.0.1:{server.getsockname()[1]}/", is_private_allowed=True)
        thread.join()


def test_proxy_gets_its_user_and_password(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://me:a%40b@127.0.0.1:{port}")
        told = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nTea"
        thread = answering(server, [told], requests)
        assert fetch("http://example.org/").body == b"Tea"
        thread.join()
    assert b"\r\nProxy-Authorization: Basic bWU6YUBi\r\n" in requests[0]


def test_fetch_uses_proxy_from_environment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("http://example.org/tea?a=1", PAGE)
    monkeypatch.setenv("http_proxy", site.url)
    assert fetch("http://example.org/tea?a=1").body == PAGE.encode()
    assert site.requests == ["http://example.org/tea?a=1"]
    with pytest.raises(FetchError, match="--allow-private"):
        fetch("http://10.0.0.1/")
    monkeypatch.setenv("https_proxy", site.url)
    with pytest.raises(FetchError):  # it opens no tunnel
        fetch("https://example.org/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    site.add("/own", PAGE)
    assert fetch(f"{site.url}/own", is_private_allowed=True).body == PAGE.encode()


@pytest.mark.parametrize(
    ("name", "proxy"),
    [
        ("https_proxy", "socks5://127.0.0.1:9050"),
        ("https_proxy", "SOCKS5H://127.0.0.1:9050"),
        ("all_proxy", "socks4://127.0.0.1:9050"),
    ],
)
def test_unsupported_proxy_raises_fetch_error(
    name: str, proxy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for each in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, proxy)
    kind = proxy.partition(":")[0]
    with raises(FetchError, "proxy", f" {kind} "):
        check_proxy("https://e.org/")
    with pytest.raises(FetchError):
        fetch("https://e.org/")
    done = run("crawl", "https://e.org/", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "SOCKS" in done.stderr and not list(tmp_path.glob("*.jsonl"))
    monkeypatch.setenv("no_proxy", "e.org")
    check_proxy("https://e.org/")
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:8118")
    check_proxy("https://e.org/")
