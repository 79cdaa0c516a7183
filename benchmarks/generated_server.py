"""The generated site on loopback.

    python benchmarks/generated_server.py --pages 100000    # serves it and prints its address

`GeneratedServer` runs it in a process of its own, so that its CPU is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from generated_site import GeneratedSite

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class _Protocol(asyncio.Protocol):
    """Just enough of HTTP: GET requests, kept alive."""

    def __init__(self, site: GeneratedSite) -> None:
        self.site = site
        self.waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self.waiting = (self.waiting + data).split(b"\r\n\r\n")
        for request in requests:
            number = self.site.number(request.split(b" ", 2)[1].decode("latin-1").partition("?")[0])
            body = b"<p>not found</p>" if number is None else self.site.html(number).encode()
            status = b"404 Not Found" if number is None else b"200 OK"
            self.transport.write(
                b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length:"
                b" %d\r\n\r\n%s" % (status, len(body), body)
            )


class GeneratedServer:
    """Serves a `GeneratedSite` from a process of its own, as a context manager; *url* is the start
    page.
    """

    def __init__(self, pages: int) -> None:
        self.pages = pages

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).resolve(), "--pages", str(self.pages)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        self.process.communicate()


async def serve(site: GeneratedSite) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Protocol(site), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=1_000)
    asyncio.run(serve(GeneratedSite(parser.parse_args().pages)))


if __name__ == "__main__":
    main()
