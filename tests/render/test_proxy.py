"""The proxy of the browser: what it passes on, and what it refuses."""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.render import proxy as proxies
from contentspider.render.proxy import CheckingProxy
from tests.conftest import site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.conftest import Site


__all__ = ["site"]


@asynccontextmanager
async def proxy(
    *refused: str, most: int = 10**6, address: str = ""
) -> AsyncIterator[CheckingProxy]:
    made = CheckingProxy(
        lambda host, port: host not in refused,
        lambda host, address: address not in refused,
        most,
        address,
    )
    try:
        yield made
    finally:
        await made.close()


async def said(made: CheckingProxy, *parts: bytes) -> bytes:
    """Return what the proxy answers to *parts*, which are sent one after the other."""
    port = int((await made.start()).rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    for part in parts:
        writer.write(part)
        await writer.drain()
        if part is not parts[-1]:
            answer += await reader.readuntil(b"\r\n\r\n")
    answer += await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read(100))
    writer.close()


def test_proxy_forwards_requests_and_tunnels(site: Site) -> None:
    site.add("/a?b", "<p>Yes")
    place = site.url.removeprefix("http://")
    seen: list[dict[str, str]] = []
    answer = site.answer

    def note(path: str) -> tuple[int, str, bytes]:
        seen.append(dict(site.asked.headers))
        return answer(path)

    site.answer = note

    async def ask() -> None:
        async with proxy() as made:
            head = f"Host: {place}\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\n"
            found = await said(made, f"GET {site.url}/a?b HTTP/1.1\r\n{head}X: y\r\n\r\n".encode())
            assert found.endswith(b"<p>Yes")
            assert seen[0]["X"] == "y" and seen[0]["Connection"] == "close"
            assert "Proxy-Connection" not in seen[0]
            bare = f"GET http://{place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode()
            assert b"404" in (await said(made, bare)).partition(b"\r\n")[0]
            inner = f"GET /a?b HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n".encode()
            found = await said(made, f"CONNECT {place} HTTP/1.1\r\n\r\n".encode(), inner)
            assert found == proxies.CONNECTED, "only TLS needs a tunnel"
            server = await asyncio.start_server(echo, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            tunnel = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode()
            found = await said(made, tunnel, b"\x16hello")
            assert found == proxies.CONNECTED + b"\x16hello"
            server.close()
            assert not made.refused

    asyncio.run(ask())
    assert site.requests == ["/a?b", "/"]


def test_proxy_for_remote_browser_serves_those_who_know_its_login(site: Site) -> None:
    site.add("/", "<p>Yes")

    async def ask() -> None:
        async with proxy(address="127.0.0.1") as made:
            assert made.login
            for login, is_known in ((made.login, True), ((*made.login[:1], "another"), False)):
                told = b64encode(":".join(login).encode()).decode()
                for scheme in ("Basic", "basic", "Digest"):
                    head = f"Proxy-Authorization: {scheme} {told}\r\n\r\n"
                    answer = await said(made, f"GET {site.url}/ HTTP/1.1\r\n{head}".encode())
                    if is_known and scheme != "Digest":
                        assert answer.endswith(b"<p>Yes")
                    else:
                        assert answer == proxies.LOGIN
            place = site.url.removeprefix("http://")
            assert await said(made, f"CONNECT {place} H\r\n\r\n".encode()) == proxies.LOGIN
        async with proxy(address="::1") as made:
            assert (await made.start()).startswith("http://[::1]:")

    asyncio.run(ask())
    assert site.requests == ["/", "/"]


@pytest.mark.parametrize("refused", ["127.0.0.1", "a.test"])
def test_proxy_refuses_forbidden_hosts_and_addresses(
    site: Site, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(site.url.rpartition(":")[2])

    async def look_up(self: Any, host: str, *_: object, **__: object) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    async def ask() -> None:
        async with proxy(refused) as made:
            loop = type(asyncio.get_running_loop())
            await made.start()
            with monkeypatch.context() as patch:
                patch.setattr(loop, "getaddrinfo", look_up)
                for request in (f"GET http://a.test:{port}/ HTTP/1.1", f"CONNECT a.test:{port} H"):
                    assert await said(made, f"{request}\r\n\r\n".encode()) == proxies.REFUSED
            assert made.refused == {"a.test"}

    asyncio.run(ask())
    assert not site.requests


def test_proxy_connects_to_address_that_was_checked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(site.url.rpartition(":")[2])
    site.add("/", "<p>Here")

    async def look_up(self: Any, host: str, *_: object, **__: object) -> list[tuple[Any, ...]]:
        looked.append(host)
        addresses = ["10.0.0.1", "127.0.0.1"] if host == "a.test" else [host]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    looked: list[str] = []

    async def ask() -> None:
        async with proxy("10.0.0.1") as made:
            await made.start()
            monkeypatch.setattr(type(asyncio.get_running_loop()), "getaddrinfo", look_up)
            request = f"GET http://a.test:{port}/ HTTP/1.1\r\nHost: a.test\r\n\r\n".encode()
            assert (await said(made, request)).endswith(b"<p>Here")

    asyncio.run(ask())
    assert looked.count("a.test") == 1


def test_proxy_ends_unreachable_and_malformed_requests(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxies, "HEAD_SECS", 0.1)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    async def ask() -> None:
        async with proxy() as made:
            for request in (f"CONNECT 127.0.0.1:{port} H", "GET http://a.invalid/ HTTP/1.1"):
                assert await said(made, f"{request}\r\n\r\n".encode()) == proxies.FAILED
            for wrong in (
                "GET / HTTP/1.1",
                "GET",
                "GET ftp://a/ HTTP/1.1",
                "GET http://[ HTTP/1.1",
            ):
                assert await said(made, f"{wrong}\r\n\r\n".encode()) == b""
            assert await said(made, b"GET http://a/") == b"", "its head does not end in time"
            assert await said(made, b"x" * 2 * proxies.HEAD_BYTES) == b""

    asyncio.run(ask())


def test_proxy_cuts_endless_response(site: Site) -> None:
    site.add("/", b"x" * 1_000_000, kind="text/plain")

    async def ask() -> None:
        async with proxy(most=100_000) as made:
            found = await said(made, f"GET {site.url}/ HTTP/1.1\r\n\r\n".encode())
            assert 100_000 <= len(found) < 100_000 + 2 * proxies.CHUNK_BYTES

    asyncio.run(ask())
