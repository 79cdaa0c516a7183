"""Changes for other programs: delivery to a webhook on loopback, and the feed."""

from __future__ import annotations

import base64
import json
import shutil
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from contentspider.cli import main
from contentspider.run import webhook
from contentspider.run.webhook import SECRET_VARIABLE
from contentspider.state.book.book import Book
from tests.indexes import Crawls
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = b"a key that receiver and sender share"
SECRET = "whsec_" + base64.b64encode(KEY).decode()


class Receiver:
    """A server that keeps its requests. It answers with the next of *statuses*, then with 204."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.url = ""

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """Return the messages in the order of their first requests, each once."""
        bodies = {headers["webhook-id"]: body for headers, body in self.requests}
        return [json.loads(body) for body in bodies.values()]

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.requests]


@contextmanager
def serving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.requests.append((headers, body))
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/changes?of=mill"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serving() as receiver:
        yield receiver


@pytest.fixture
def crawls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crawls:
    """Return a history of four changes, in the state folder that is the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    monkeypatch.setattr(webhook, "WAITS_SECS", (0, 0, 0))
    crawls = Crawls(tmp_path)
    crawls.crawl({1: "Mill", 2: "Weir"})
    crawls.crawl({1: "Water mill"}, gone=[2])
    return crawls


def deliver(url: str, *options: str) -> int:
    return main(["changes", "e.org", "--webhook", url, "--state-dir", ".", *options])


def numbers(receiver: Receiver) -> list[int]:
    return [message["data"]["seq"] for message in receiver.accepted]


def test_webhook_and_feed_exclude_each_other(crawls: Crawls, receiver: Receiver) -> None:
    assert deliver(receiver.url, "--format", "feed") == 2
    assert not receiver.requests


def test_changes_are_posted_in_order_signed_and_once(crawls: Crawls, receiver: Receiver) -> None:
    library = pytest.importorskip("standardwebhooks", reason="it is one of the tools to develop")
    assert deliver(receiver.url) == 0
    with closing(Book(crawls.path, read_only=True)) as book:
        records = list(book.changes.records())
    assert [message["data"] for message in receiver.accepted] == records
    assert [message["type"] for message in receiver.accepted] == [
        *("page.new", "page.new", "page.changed", "page.gone")
    ]
    assert receiver.accepted[0]["timestamp"] == records[0]["at"]
    for headers, body in receiver.requests:
        # As receivers do, by the specification's own library.
        library.Webhook(SECRET).verify(body, headers)
        assert headers["content-type"] == "application/json"
        assert "." not in headers["webhook-id"]
    assert len(set(receiver.ids)) == 4
    assert deliver(receiver.url) == 0
    assert len(receiver.requests) == 4, "nothing is new"
    crawls.crawl({3: "Sluice"})
    assert deliver(receiver.url) == 0
    assert numbers(receiver) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("status", [503, 500, 429])
def test_failed_request_is_repeated_with_the_same_id(
    crawls: Crawls, receiver: Receiver, status: int
) -> None:
    receiver.statuses = [204, status, status]
    assert deliver(receiver.url) == 0
    first, *repeated, third, fourth = receiver.ids
    assert len(repeated) == 3 and len(set(repeated)) == 1
    assert len({first, repeated[0], third, fourth}) == 4
    assert numbers(receiver) == [1, 2, 3, 4]


def test_delivery_ends_after_some_attempts_and_continues_there(
    crawls: Crawls, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.statuses = [204, 204, *[503] * 4]
    assert deliver(receiver.url) == 1
    message = capsys.readouterr().err
    assert "503" in message and "continues with change 3" in message
    assert "mill" not in message, "the address may be a secret"
    failed_id = receiver.ids[-1]
    receiver.requests.clear()
    assert deliver(receiver.url) == 0
    assert numbers(receiver) == [3, 4]
    assert receiver.ids[0] == failed_id


def test_unreachable_receiver_is_an_error(
    crawls: Crawls, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deliver(f"http://127.0.0.1:{free_port()}/") == 1
    assert "continues with change 1" in capsys.readouterr().err


@pytest.mark.parametrize("status", [301, 307, 400, 401, 410])
def test_redirects_and_refusals_are_neither_followed_nor_repeated(
    crawls: Crawls, receiver: Receiver, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.statuses = [status]
    assert deliver(receiver.url) == 1
    assert len(receiver.requests) == 1
    assert str(status) in capsys.readouterr().err


def test_each_webhook_has_its_own_position(crawls: Crawls, receiver: Receiver) -> None:
    assert deliver(receiver.url, "--only", "gone") == 0
    assert numbers(receiver) == [4]
    with serving() as other:
        assert deliver(other.url, "--since", "3") == 0
        assert numbers(other) == [4]
        assert deliver(other.url, "--since", "2") == 0
        assert numbers(other) == [4, 3]
        assert other.ids == [other.ids[0], other.ids[1], other.ids[0]]


def test_replaced_history_is_an_error_until_since_is_given(
    crawls: Crawls, receiver: Receiver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deliver(receiver.url) == 0
    crawls.path.unlink()
    (tmp_path / "new").mkdir()
    other = Crawls(tmp_path / "new")
    other.crawl({7: "Lock"})
    shutil.copy(other.path, crawls.path)
    assert deliver(receiver.url) == 1
    assert "--since" in capsys.readouterr().err
    assert deliver(receiver.url, "--since", "0") == 0
    assert receiver.accepted[-1]["data"]["url"] == "http://e.org/7"
    positions = crawls.path.with_suffix(".webhooks.json")
    for damaged in ("{", "[3]", "3", json.dumps(dict.fromkeys(json.loads(positions.read_text())))):
        positions.write_text(damaged)
        capsys.readouterr()
        code = deliver(receiver.url)
        assert code == 0 if "null" in damaged else "--since" in capsys.readouterr().err


def test_two_deliveries_of_one_crawl_exclude_each_other(
    crawls: Crawls, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    with FileLock(crawls.path.with_suffix(".webhooks.lock")):
        assert deliver(receiver.url) == 1
    assert "another process" in capsys.readouterr().err
    assert not receiver.requests


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64", "ünïcode"])
def test_missing_or_weak_secret_is_an_error_of_usage(
    crawls: Crawls, receiver: Receiver, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, secret)
    assert deliver(receiver.url) == 2
    assert not receiver.requests


@pytest.mark.parametrize(
    "url",
    [
        *("example.org/hook", "ftp://e.org/", "http://", "http://e.org:99999/", "http://[e.org/"),
        *("http://me:secret@e.org/", "http://e.org/a b", "http://e.org:0/"),
    ],
)
def test_unusable_address_is_an_error_of_usage(
    crawls: Crawls, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deliver(url) == 2
    assert "secret" not in capsys.readouterr().err


def test_feed_has_the_newest_changes_first(
    crawls: Crawls, capsys: pytest.CaptureFixture[str]
) -> None:
    crawls.crawl({5: "Sluice \x9b gate", 6: "Dam"}, moved={6: 1})
    assert main(["changes", "e.org", "--format", "feed", "--state-dir", "."]) == 0
    output = capsys.readouterr().out
    assert "\x9b" not in output
    feed = json.loads(output)
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert [item["title"] for item in feed["items"]] == [
        *("Moved: Dam", "New: Sluice \x9b gate", "Gone: Weir", "Changed: Water mill"),
        *("New: Weir", "New: Water mill"),
    ]
    assert feed["items"][0]["url"] == "http://e.org/6"
    assert "http://e.org/1" in feed["items"][0]["content_text"]
    assert len({item["id"] for item in feed["items"]}) == 6
    for options, count in (
        (["e.org"], 6),
        (["e.org", "--only", "gone"], 1),
        (["--since", "yesterday"], 6),
        (["--since", "2999-01-01"], 0),
        (["--since", "4"], 2),  # a number is of the only crawl
    ):
        assert main(["changes", *options, "--state-dir", "."]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(lines) == count, options
    table = ["--format", "table", "--since", "yesterday", "--state-dir", "."]
    assert main(["changes", *table]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["crawl", "when", "change", "share", "title", "what", "page"]
    (moved,) = (row for row in rows if " moved " in row)
    assert "Dam" in moved
    assert moved.endswith("http://e.org/6")
    options = ["--format", "feed", "--only", "gone", "--since", "2000-01-01"]
    assert main(["changes", "e.org", *options, "--state-dir", "."]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert "HTTP 404" in item["content_text"]


def test_changes_of_all_crawls_are_delivered_without_naming_them(
    crawls: Crawls, receiver: Receiver
) -> None:
    other = Crawls(crawls.path.parent)
    other.path = crawls.path.with_name("other.example.sqlite")
    other.crawl({1: "Tower"})
    arguments = ["changes", "--webhook", receiver.url, "--state-dir", "."]
    assert main([*arguments, "--since", "2000-01-01"]) == 0
    assert main(arguments) == 0, "and continues from there"
    assert sorted(numbers(receiver)) == [1, 1, 2, 3, 4]


@pytest.mark.parametrize(("status", "requests"), [(401, 1), (503, 4), (400, 2)])
def test_receiver_that_takes_nothing_is_not_asked_again_for_each_crawl(
    status: int,
    requests: int,
    crawls: Crawls,
    receiver: Receiver,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = Crawls(crawls.path.parent)
    other.path = crawls.path.with_name("other.example.sqlite")
    other.crawl({1: "Tower"})
    receiver.statuses = [status] * 8
    assert main(["changes", "--webhook", receiver.url, "--state-dir", "."]) == 1
    assert len(receiver.requests) == requests, "a change that is refused says nothing of others"
    assert crawls.path.stem in capsys.readouterr().err or status == 400


def test_missing_secret_is_told_once_for_all_crawls(
    crawls: Crawls,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = Crawls(crawls.path.parent)
    other.path = crawls.path.with_name("other.example.sqlite")
    other.crawl({1: "Tower"})
    monkeypatch.delenv(SECRET_VARIABLE)
    assert main(["changes", "--webhook", receiver.url, "--state-dir", "."]) == 2
    assert capsys.readouterr().err.count(SECRET_VARIABLE) == 1
    assert receiver.requests == []
