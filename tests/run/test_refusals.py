"""Sites that are up, and refuse: what each run says of them, and when it tries again."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import TYPE_CHECKING, Any

from tests.conftest import LoopbackServer, Site, run
from tests.run.test_run import DEFAULTS, STATE, told
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

FORM = "<form method=post action=/login><input name=user><input type=password name=pass></form>"
LOGIN = """
[login.members]
form = "{url}/login"
fields = {{user = "me", pass = {{env = "MEMBERS_PASSWORD"}}}}
"""


class Members(BaseHTTPRequestHandler):
    """Shows every visitor its form to log in."""

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        body = f"<title>Log in</title><h1>Members</h1>{FORM}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Busy(Members):
    """Answers 429 to every request."""

    def do_GET(self) -> None:
        self.send_response(429)
        self.send_header("Retry-After", "7200")
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with LoopbackServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def write_sites(folder: Path, **entries: str) -> Path:
    path = folder / "sites.toml"
    path.write_text(
        DEFAULTS + "".join(f"[site.{name}]\n{text}\n" for name, text in entries.items())
    )
    return path


def night(folder: Path, *arguments: str) -> tuple[int, str, dict[str, dict[str, Any]]]:
    """Run the sites; return the exit code, what was said, and what the summary tells of each."""
    command = ("run", "sites.toml", "--summary", "s.json", *arguments)
    done = run(*command, cwd=folder, check=False)
    return done.returncode, done.stderr, told(folder / "s.json")[1]


def test_site_that_refuses_is_an_error_each_night_and_never_down(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMBERS_PASSWORD", "wrong")
    site.add("/closed", "<p>closed</p>", status=403)
    with serving(Members) as members, serving(Busy) as busy:
        (tmp_path / "login.toml").write_text(LOGIN.format(url=members))
        write_sites(
            tmp_path,
            members=f"urls = '{members}/'\nlogin = 'login.toml'",
            closed=f"urls = '{site.url}/closed'",
            none=f"urls = '{site.url}/none'",
            busy=f"urls = '{busy}/'",
        )
        for number in range(2):
            code, said, sites = night(tmp_path)
            assert code == 4
            outcomes = {name: told["outcome"] for name, told in sites.items()}
            assert outcomes == dict.fromkeys(("members", "closed", "none", "busy"), "nothing_read")
            for name, told in sites.items():
                assert (told["down_since"], told["failures"]) == (None, 0), name
                assert told["due"] > told["ended"], "an interval later"
            assert "to look at: members" in said, f"night {number}"
        reasons = {name: " ".join(told["reasons"]) for name, told in sites.items()}
        assert "login" in reasons["members"] and "403" in reasons["closed"]
        assert "404" in reasons["none"]
        assert "429" in reasons["busy"] and "7200 s" in reasons["busy"]
        table = run("status", cwd=tmp_path).stdout
        assert "down" not in table and table.count("nothing read") == 4
        assert "429" in run("status", "busy", cwd=tmp_path).stdout
        last = (tmp_path / STATE / "logs" / "busy.log").read_text().splitlines()[-1]
        assert "429" in last and "--resume" not in last, "an option that run does not have"


def test_only_the_crawl_that_needs_a_missing_secret_fails_until_it_is_set(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_site(site, 3)
    monkeypatch.delenv("MEMBERS_PASSWORD", raising=False)
    with serving(Members) as members:
        (tmp_path / "login.toml").write_text(LOGIN.format(url=members))
        write_sites(
            tmp_path,
            members=f"urls = '{members}/'\nlogin = 'login.toml'",
            tea=f"urls = '{site.url}'",
            broken="urls = 'ftp://x'",
        )
        code, said, sites = night(tmp_path, "--only", "members,tea", "--due")
        assert (code, sites["tea"]["outcome"]) == (4, "complete")
        assert (sites["members"]["outcome"], sites["members"]["exit_code"]) == ("error", 1)
        assert "MEMBERS_PASSWORD" in sites["members"]["reasons"][0]
        assert "to look at: members (error)" in said

        code, said, sites = night(tmp_path, "--only", "members,tea", "--due")
        assert (code, sites["members"]["outcome"]) == (0, "not_due")
        monkeypatch.setenv("MEMBERS_PASSWORD", "wrong")
        _, said, sites = night(tmp_path, "--only", "members,tea", "--due")
        assert (sites["members"]["outcome"], sites["tea"]["outcome"]) == ("nothing_read", "not_due")
        monkeypatch.setenv("MEMBERS_PASSWORD", "corrected")
        _, said, sites = night(tmp_path, "--only", "members", "--due")
        assert sites["members"]["outcome"] == "nothing_read", "it is tried at once"


def test_failed_site_is_due_when_its_entry_changes_and_the_end_says_how_to_crawl_it(
    tmp_path: Path, site: Site
) -> None:
    small_site(site, 3)
    entries = {"tea": f"urls = '{site.url}'", "none": f"urls = '{site.url}/none'"}
    path = write_sites(tmp_path, **entries)
    code, said, sites = night(tmp_path, "--due")
    last = said.splitlines()[-1]
    assert code == 4 and last.endswith(f"contentspider run {path} --only none")
    assert sites["none"]["due"][:10] in last or "none 20" in last
    code, said, sites = night(tmp_path, "--due")
    assert {told["outcome"] for told in sites.values()} == {"not_due"}
    assert (sites["none"]["last_failure"], sites["tea"]["last_failure"]) == ("nothing_read", None)
    assert "none (nothing read)" in said.splitlines()[-1]
    entries["none"] = f"urls = '{site.url}/1'"
    entries["tea"] += "\nmax_depth = 3"
    write_sites(tmp_path, **entries)
    code, said, sites = night(tmp_path, "--due")
    assert (code, sites["none"]["outcome"], sites["tea"]["outcome"]) == (0, "complete", "not_due")
