"""What a run tells people, sent to real servers on loopback, and the limits in a file of sites."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from dataclasses import replace
from email import message_from_string
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from contentspider.cli import main
from contentspider.run.mistakes import Mistakes, SitesFileError
from contentspider.run.notify import Notifier
from contentspider.run.results import SiteResult
from contentspider.run.sitesfile import read_notifier, read_sites
from tests.conftest import LoopbackServer
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socketserver import TCPServer

    from tests.conftest import Site

pytest.importorskip("apprise", reason="the extra notify is not installed here")
# Apprise imports it before Python 3.13.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
TOKEN = "a" * 26


def notifier(*urls: object) -> Notifier:
    """Return what sends to destinations that can be used."""
    mistakes = Mistakes(Path("sites.toml"))
    made = Notifier(list(urls), mistakes)
    mistakes.check()
    return made


class Hook(BaseHTTPRequestHandler):
    """Takes all requests, but those that begin with /refused."""

    taken: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.taken.append((self.path, body))
        self.send_response(403 if self.path.startswith("/refused") else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


class Mailbox(StreamRequestHandler):
    """A server of mail that takes every letter."""

    letters: ClassVar[list[str]] = []

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            command = line[:4].upper()
            if command == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                letter = []
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    letter.append(text)
                Mailbox.letters.append(b"".join(letter).decode())
            self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 fine\r\n")
            if command == b"QUIT":
                return


@contextmanager
def serving(server: TCPServer) -> Iterator[int]:
    with server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


RESULTS = [
    SiteResult("tea.example", "complete"),
    SiteResult("down.example", "nothing_read", reasons=("no answer",)),
    SiteResult("old.example", "nothing_read", down_since="2026-01-01", failures=2),
    SiteResult("thin.example", "complete", warnings=("pages without text: 40.0%",)),
]

REDESIGNED = [SiteResult("new.example", "complete", relearned=1)]


def test_message_comes_by_mail_chat_and_push(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Hook.taken.clear()
    with (
        serving(LoopbackServer(("127.0.0.1", 0), Hook)) as port,
        serving(ThreadingTCPServer(("127.0.0.1", 0), Mailbox)) as mail,
    ):
        monkeypatch.setenv("CHAT", f"mmost://127.0.0.1:{port}/{TOKEN}")
        letterbox = f"mailto://127.0.0.1:{mail}?from=us@example.org&to=me@example.org"
        push = f"ntfy://127.0.0.1:{port}/crawls"
        assert notifier(push, {"env": "CHAT"}, letterbox).send(RESULTS)
        assert not notifier(push, f"json://127.0.0.1:{port}/refused?x=secret").send(RESULTS)
    (first, body), (hook, chat), *_ = Hook.taken
    told = json.loads(body)
    assert (first, told["topic"]) == ("/", "crawls")
    assert "2 of 4 sites" in told["title"]
    assert "down.example: nothing read; no answer" in told["message"]
    assert "thin.example: complete; pages without text: 40.0%" in told["message"]
    assert "old.example" not in told["message"] and "tea.example" not in told["message"]
    assert hook == f"/hooks/{TOKEN}"
    assert "down.example" in json.loads(chat)["text"], "the form of Slack"
    (letter,) = Mailbox.letters
    assert "To: me@example.org" in letter and "2 of 4 sites" in letter
    errors = [record for record in caplog.records if record.name == "contentspider.run.notify"]
    assert len(errors) == 1 and errors[0].levelno == logging.ERROR
    assert "secret" not in errors[0].message


def test_message_of_many_sites_is_split_as_the_service_needs_it() -> None:
    Hook.taken.clear()
    results = [SiteResult(f"s{number}.example", "nothing_read") for number in range(300)]
    with serving(LoopbackServer(("127.0.0.1", 0), Hook)) as port:
        assert notifier(f"mmost://127.0.0.1:{port}/{TOKEN}").send(results)
    texts = [json.loads(body)["text"] for _, body in Hook.taken]
    assert len(texts) > 1 and max(map(len, texts)) <= 4_000, "the limit of Mattermost"
    assert all(f"{result.site}: nothing read" in "".join(texts) for result in results)


def test_nothing_is_sent_of_sites_that_are_fine() -> None:
    service = notifier("json://127.0.0.1:1/")  # where nobody listens
    assert service.send(RESULTS[:1])
    assert service.send(RESULTS[2:3]), "it was told when it went down"


def test_run_whose_message_is_refused_says_so_in_exit_code_and_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    thin = SiteResult("a", "complete", 0, warnings=("pages without text: 40.0%",))
    monkeypatch.setattr("contentspider.run.jobs.Jobs.run", lambda *_: [thin])
    with serving(LoopbackServer(("127.0.0.1", 0), Hook)) as port:
        path = tmp_path / "sites.toml"
        notify = f'notify = ["json://127.0.0.1:{port}/refused"]\n'
        path.write_text(f'{notify}[site.a]\nurls = ["http://127.0.0.1:1/"]\n')
        arguments = ["run", str(path), "--state-dir", str(tmp_path / "state")]
        assert main([*arguments, "--summary", str(tmp_path / "s.json")]) == 1
    assert json.loads((tmp_path / "s.json").read_bytes())["exit_code"] == 1
    assert "Exit code 1" in capsys.readouterr().err


def test_plain_text_of_mail_has_a_line_a_site_with_its_log() -> None:
    Mailbox.letters.clear()
    results = [replace(result, log=f"/logs/{result.site}.log") for result in RESULTS]
    with serving(ThreadingTCPServer(("127.0.0.1", 0), Mailbox)) as mail:
        letterbox = f"mailto://127.0.0.1:{mail}?from=us@example.org&to=me@example.org"
        assert notifier(letterbox).send(results)
    (letter,) = Mailbox.letters
    parts = message_from_string(letter).walk()
    (plain,) = [part for part in parts if part.get_content_type() == "text/plain"]
    lines = str(plain.get_payload(decode=True), "utf-8").splitlines()
    assert [line.partition(":")[0] for line in lines if line] == ["down.example", "thin.example"]
    assert all(f"/logs/{line.partition(':')[0]}.log" in line for line in lines if line)


@pytest.mark.parametrize(
    ("results", "kind"), [(RESULTS, "failure"), (RESULTS[3:], "warning"), (REDESIGNED, "info")]
)
def test_message_has_the_type_of_its_worst_site(results: list[SiteResult], kind: str) -> None:
    Hook.taken.clear()
    with serving(LoopbackServer(("127.0.0.1", 0), Hook)) as port:
        assert notifier(f"json://127.0.0.1:{port}/hook").send(results)
    ((_, body),) = Hook.taken
    told = json.loads(body)
    assert told["type"] == kind
    assert ("new.example: complete, learned again" in told["message"]) == (kind == "info")


def test_error_in_the_file_of_sites_and_a_missing_destination_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Hook.taken.clear()
    monkeypatch.delenv("CHAT", raising=False)
    crawled: list[Any] = []
    monkeypatch.setattr(
        "contentspider.run.jobs.Jobs.run", lambda _, sites: crawled.append(sites) or []
    )
    path = tmp_path / "sites.toml"
    with serving(LoopbackServer(("127.0.0.1", 0), Hook)) as port:
        here = f'"json://127.0.0.1:{port}/hook"'
        path.write_text(f"notify = [{here}]\n[site.a]\nurls = ['ftp://x']\n")
        assert main(["run", str(path)]) == 1
        path.write_text(f'notify = [{here}, {{ env = "CHAT" }}]\n[site.a]\nurls = ["e.org"]\n')
        assert main(["run", str(path)]) == 1
        assert main(["run", str(path), "--only", "b"]) == 2, "a mistake of who types is not sent"
    ((_, body),) = Hook.taken
    assert str(path) in json.loads(body)["message"] and json.loads(body)["type"] == "failure"
    assert len(crawled) == 1, "a message that cannot be sent stops no crawl"


@pytest.mark.parametrize("text", ['"ntfy://x"', '["nothing"]', "[1]", '[{ e = "A" }]'])
def test_destination_that_cannot_be_used_is_an_error_before_any_crawl(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sites.toml"
    path.write_text(f'notify = {text}\n[site.a]\nurls = ["http://127.0.0.1:1/"]')
    mistakes = Mistakes(path)
    read_notifier(path, mistakes)
    with pytest.raises(SitesFileError, match="notify"):
        mistakes.check()
    assert read_sites(path)
    assert main(["run", str(path)]) == 1
    assert str(path) in capsys.readouterr().err


def test_each_destination_that_cannot_be_used_is_named_and_the_others_hear_of_all_mistakes(
    tmp_path: Path,
) -> None:
    Hook.taken.clear()
    path = tmp_path / "sites.toml"
    with serving(LoopbackServer(("127.0.0.1", 0), Hook)) as port:
        places = f'"mialto://me:secret@e.org", "json://127.0.0.1:{port}/hook", 3'
        path.write_text(f"notify = [{places}]\n[site.a]\nurls = ['ftp://x']\n")
        assert main(["run", str(path)]) == 1
    ((_, body),) = Hook.taken
    message = json.loads(body)["message"]
    assert "destination 1 (mialto://...)" in message and "destination 3" in message
    assert "destination 2" not in message and "secret" not in message
    assert "site 'a', key 'urls'" in message


def test_limits_of_sites_are_settings_and_other_values_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "sites.toml"
    head = "[defaults.monitors]\nmax_failed = 0.5\nmin_kept = 0\n[site.a]\nurls = ['e.org']\n"
    path.write_text(head + "[site.a.monitors]\nmin_kept = 0.2\n")
    (site,) = read_sites(path)
    assert dict(site.options["set"]) == {
        "CONTENTSPIDER_MONITOR_MAX_FAILED": 0.5,
        "CONTENTSPIDER_MONITOR_MIN_KEPT": 0.2,
    }
    for wrong in ("max_none = 1", "min_kept = 2", "min_kept = true", 'min_kept = "0.1"'):
        path.write_text(f"{head}[site.a.monitors]\n{wrong}\n")
        with pytest.raises(SitesFileError, match=wrong.partition(" ")[0]):
            read_sites(path)


@pytest.mark.parametrize("is_set", [False, True])
def test_run_warns_by_itself_and_fails_by_limits_of_the_file(
    is_set: bool, site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_site(site, 6)
    for path in ("/3", "/4"):
        site.add(path, "refused", status=403)
    path = tmp_path / "sites.toml"
    limit = "monitors = { max_failed = 0.2 }\n" if is_set else ""
    text = f'{limit}urls = ["{site.url}"]\nown_site = true\n'
    Hook.taken.clear()
    with serving(LoopbackServer(("127.0.0.1", 0), Hook)) as port:
        path.write_text(f'notify = ["ntfy://127.0.0.1:{port}/x"]\n[site.tea]\n{text}')
        arguments = ("run", str(path), "--summary", str(tmp_path / "s.json"))
        assert main([*arguments, "--state-dir", str(tmp_path / "state")]) == (6 if is_set else 0)
    result: dict[str, Any] = json.loads((tmp_path / "s.json").read_bytes())["sites"][0]
    assert result["outcome"] == ("monitor_failed" if is_set else "complete")
    (warning,) = result["warnings"]
    assert "33.3%" in warning and "monitors.max_failed in sites.toml" in warning
    assert "to look at: tea" in capsys.readouterr().err
    assert warning in json.loads(Hook.taken[0][1])["message"]
    assert main(["status", "--json", "--state-dir", str(tmp_path / "state")]) == 0
    assert json.loads(capsys.readouterr().out)[0]["warnings"] == [warning]
