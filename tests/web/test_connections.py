"""The connections of a server: requests that never arrive end, others are answered meanwhile, and a
proxy in front of it is heard.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.cli import main
from tests.processes import Popen
from tests.sites import article

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("resource")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
BODY = b"POST /api/extract HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9900000\r\n\r\n<p>"
WHOLE = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SECS = 20  # for a busy machine
FILES = 200
# The command line, after some constants and limits have got other values.
SCRIPT = """
import resource, sys
from contentspider.cli import main
from contentspider.web import server
files, server.HEAD_SECS, server.BODY_SECS = map(float, sys.argv[1:4])
resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
sys.exit(main(sys.argv[4:]))
"""


@contextmanager
def serving(
    folder: Path, *options: str, head_secs: float = 60, body_secs: float = 60
) -> Iterator[int]:
    """Run ``contentspider serve`` with `FILES` file descriptors, and give its port."""
    script = folder / "limited.py"
    script.write_text(SCRIPT)
    limits = [str(FILES), str(head_secs), str(body_secs)]
    process = Popen(
        [sys.executable, str(script), *limits, "serve", "--port", "0", *options],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        address = re.search(r"127\.0\.0\.1:(\d+)/", process.stderr.readline())
        assert address
        yield int(address[1])
    finally:
        process.terminate()
        said = process.communicate(timeout=SECS)[1]
    assert "Traceback" not in said, said[-2000:]


def connect(port: int, sent: bytes, client: str = "127.0.0.1") -> socket.socket:
    """Return a connection from an address on loopback, after some bytes were sent."""
    made = socket.create_connection(("127.0.0.1", port), SECS, source_address=(client, 0))
    made.sendall(sent)
    return made


def status(connection: socket.socket) -> int:
    """Return the status that a connection answers, or 0 if it is closed without an answer."""
    try:
        answer = connection.recv(4096)
    except ConnectionError:
        return 0
    return int(answer.split()[1]) if answer else 0


def test_half_sent_requests_leave_places_for_others(tmp_path: Path) -> None:
    with serving(tmp_path) as port, ExitStack() as stack:

        def opened(sent: bytes, client: str = "127.0.0.1") -> socket.socket:
            return stack.enter_context(closing(connect(port, sent, client)))

        other = opened(WHOLE[:30], "127.0.0.2")
        flood = [opened(HALF) for _ in range(2 * FILES)]
        assert status(opened(WHOLE)) == 200
        assert status(flood[0]) == 0, "what has waited longest has ended"
        # Another address has kept its place.
        other.sendall(WHOLE[30:])
        assert status(other) == 200


def test_requests_that_take_too_long_to_arrive_end(tmp_path: Path) -> None:
    with serving(tmp_path, head_secs=0.3, body_secs=0.3) as port:
        for sent in (b"", HALF, BODY):
            with closing(connect(port, sent)) as connection:
                assert status(connection) == 0
        # After an answer, too; and what arrives in time is answered.
        with closing(connect(port, WHOLE)) as connection:
            assert status(connection) == 200
            connection.sendall(HALF)
            with suppress(ConnectionError):
                while connection.recv(4096):  # what is left of the answer, and then the end
                    pass


def test_only_the_body_of_a_job_that_may_start_is_read(tmp_path: Path) -> None:
    with serving(tmp_path) as port, closing(connect(port, BODY)) as first:
        with closing(connect(port, BODY)) as second:
            answer = second.recv(4096)
        head = answer.lower()
        assert (int(answer.split()[1]), b"\r\nretry-after: " in head) == (429, True)
        # The place is free again after the first client has gone.
        first.close()
        html = b"<p>The ferry leaves at noon, and comes back at night.</p>"
        request = BODY.split(b"9900000")[0] + b"%d\r\n\r\n" % len(html) + html
        codes = set()
        while 200 not in codes:
            with closing(connect(port, request)) as third:
                codes.add(status(third))
            assert codes <= {200, 429}


def test_cookie_is_for_https_only_behind_a_proxy_with_https(tmp_path: Path) -> None:
    cookies = []
    with serving(tmp_path, "--token", "secret") as port:
        for header in (b"", b"X-Forwarded-Proto: https\r\n"):
            request = b"GET /?token=secret HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header + b"\r\n"
            with closing(connect(port, request)) as connection:
                (cookie,) = re.findall(rb"(?i)set-cookie: (.*)\r\n", connection.recv(4096))
                cookies.append(b"secure" in cookie.lower())
    assert cookies == [False, True]


@pytest.mark.parametrize("command", ["serve", "annotate"])
def test_address_is_said_when_requests_are_answered(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved").mkdir()
    for number in range(3):
        (tmp_path / f"saved/{number}.html").write_text(article(number))
    said_before: list[str] = []
    startup = uvicorn.Server.startup

    async def start_and_end(self: Any, *arguments: Any, **options: Any) -> None:
        said_before.append(capsys.readouterr().err)
        await startup(self, *arguments, **options)
        self.should_exit = True

    monkeypatch.setattr(uvicorn.Server, "startup", start_and_end)
    assert main([command, *(["saved"] if command == "annotate" else []), "--port", "0"]) == 0
    assert len(said_before) == 1 and "http://127.0.0.1:" not in said_before[0]
    assert "http://127.0.0.1:" in capsys.readouterr().err
