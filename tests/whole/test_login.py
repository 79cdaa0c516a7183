"""Logins with forms, at two real applications: Django's admin (CSRF tokens, redirects to its form),
and Roundup (its form beside every page), whose sessions end after ten pages.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.state.outcome import Outcome
from tests import login_django, login_roundup
from tests.conftest import ROOT, TIMEOUT, read_jsonl
from tests.messages import wording
from tests.processes import run_forked

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("django")
pytest.importorskip("roundup")
PAGES, ISSUES = 10, 12
VARIABLE = "LOGIN_TEST_PASSWORD"
DJANGO = f'fields = {{username = "crawler", password = {{env = "{VARIABLE}"}}}}'
ROUNDUP = f'fields = {{__login_name = "crawler", __login_password = {{env = "{VARIABLE}"}}}}'


class Application:
    """A real application that runs, in a *folder* of its own."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def requests(self) -> list[str]:
        """Return the requests since the last call."""
        file = self.folder / "requests"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


@contextmanager
def running(script: str, folder: Path, *arguments: object) -> Iterator[Application]:
    command = [sys.executable, "-W", "ignore", ROOT / "tests" / script, folder, *arguments]
    with subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout and process.stderr
            url = process.stdout.readline().strip()
            assert url, process.stderr.read()[-2000:]
            yield Application(folder, url)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def django(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    folder = tmp_path_factory.mktemp("django")
    with running("login_django.py", folder, PAGES, 0) as application:
        yield application


def crawl(
    application: Application,
    folder: Path,
    *options: str,
    form: str = "/admin/login/",
    fields: str = DJANGO,
    start: str = "/admin/",
    more: str = "",
    **environment: str,
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Crawl an application; return what the command prints, and the stats."""
    text = f'[login.own]\nform = "{application.url}{form}"\n{fields}\n{more}'
    (folder / "login.toml").write_text(text)
    command = ["crawl", application.url + start, "--own-site", "--no-sitemaps", "-o", "pages.jsonl"]
    # Django's admin asks robots to keep out, and its lists have endless filters.
    command += ["-s", "CONTENTSPIDER_OBEY_META_ROBOTS=False", "--exclude", "*/history/"]
    command += ["--exclude", "*/?*=*", "--stats", "stats.json", "--login", "login.toml", *options]
    done = run_forked("contentspider", *command, cwd=folder, seconds=TIMEOUT, **environment)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    stats = folder / "stats.json"
    return done, json.loads(stats.read_text())["stats"] if stats.exists() else {}


def pages(folder: Path) -> dict[str, str]:
    """Return the content of the items of a crawl, by their paths."""
    return {
        str(item["url"]).split("/", 3)[3]: str(item["content"])
        for item in read_jsonl(folder / "pages.jsonl")
    }


def all_bytes(folder: Path) -> bytes:
    """Return the bytes of all files in a folder, unpacked."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found.append(gzip.decompress(data) if path.suffix == ".gz" else data)
    return b"\n".join(found)


def test_pages_behind_form_are_read_without_trace_of_secrets(
    django: Application, tmp_path: Path
) -> None:
    password = login_django.PASSWORD
    options = ("--warc", "all.warc.gz", "--log-level", "DEBUG")
    django.requests()
    # With several requests at once, /bye/ can end two sessions before a page is answered. Such a
    # page waits for the end of the run, which --max-pages leaves out.
    limits = ("--max-pages", "10", "-s", "CONCURRENT_REQUESTS=1")
    done, stats = crawl(django, tmp_path, *options, *limits, **{VARIABLE: password})
    assert done.returncode == Outcome.COMPLETE, done.stderr[-2000:]
    first = django.requests()
    # A later run logs in anew.
    again, stats = crawl(django, tmp_path, *options, "--resume", **{VARIABLE: password})
    assert again.returncode == Outcome.COMPLETE, again.stderr[-2000:]
    found, requests = pages(tmp_path), [*first, *django.requests()]
    texts = [f"kitchen{number} smells{number}" for number in range(PAGES)]
    assert all(any(text in content for content in found.values()) for text in texts)
    assert not [path for path in found if "login" in path or "bye" in path]
    assert "Password:" not in (tmp_path / "pages.jsonl").read_text()
    assert stats["contentspider/login/hosts"] == 1
    # One login a run, and up to two for the address that ends the session, whose name does not say
    # so.
    assert first[0] == "GET /admin/login/ -"
    assert sum(line.startswith("POST /admin/login/") for line in requests) in (3, 4)
    assert stats.get("contentspider/pages/skipped/logout", 0) <= 1
    sessions = set((django.folder / "sessions").read_text().split())
    assert len(sessions) >= 3
    written = all_bytes(tmp_path) + (done.stderr + done.stdout + again.stderr).encode()
    for secret in (password, password.encode("unicode_escape").decode(), "gr%C3%BCnes", *sessions):
        assert secret.encode() not in written
    assert b"csrftoken=" not in written.lower()


def test_form_is_never_a_page_though_sessions_end_after_ten_pages(tmp_path: Path) -> None:
    for name in ("served", "crawled"):
        (tmp_path / name).mkdir()
    with running("login_roundup.py", tmp_path / "served", ISSUES, 10) as roundup:
        done, stats = crawl(
            roundup,
            tmp_path / "crawled",
            *("--include", "re:/issue|logout"),
            form="/",
            fields=ROUNDUP,
            start="/issue",
            **{VARIABLE: login_roundup.PASSWORD},
        )
        requests = roundup.requests()
    assert done.returncode == Outcome.COMPLETE, done.stderr[-2000:]
    found = pages(tmp_path / "crawled")
    numbers = range(1, ISSUES + 1)
    assert {f"issue{number}" for number in numbers} <= found.keys()
    assert all(f"leaks{number - 1}" in found[f"issue{number}"] for number in numbers)
    assert "Please login" not in (tmp_path / "crawled" / "pages.jsonl").read_text()
    # A session has ten pages, of which the answer to the form is one; one renewal for all requests.
    renewals = stats["contentspider/login/renewals"]
    assert 2 <= renewals <= len(requests) / 9
    assert stats["contentspider/pages/skipped/logout"] >= 1
    assert not any("logout" in line for line in requests)
    assert login_roundup.PASSWORD.encode() not in all_bytes(tmp_path / "crawled")


def test_wrong_password_is_tried_once_and_nothing_is_read(
    django: Application, tmp_path: Path
) -> None:
    django.requests()
    done, stats = crawl(django, tmp_path, "--log-level", "DEBUG", **{VARIABLE: "wr0ng-Kamel"})
    assert done.returncode == Outcome.NOTHING_READ
    assert wording("crawl.login-failed", f"{django.url}/admin/login/") in done.stderr
    assert "wr0ng-Kamel" not in done.stderr
    requests = django.requests()
    assert sum(line.startswith("POST") for line in requests) == 1
    assert not any(line.startswith("GET /admin/ ") for line in requests)
    assert stats["contentspider/login/failed"] == 1


def test_crawl_without_login_reads_no_page_behind_form(django: Application, tmp_path: Path) -> None:
    django.requests()
    crawl(django, tmp_path, "-s", "CONTENTSPIDER_LOGIN=")
    assert not any("kitchen" in content for content in pages(tmp_path).values())
    assert any(line.startswith("GET /admin/ ") for line in django.requests())


def test_crawl_does_not_begin_without_secret(django: Application, tmp_path: Path) -> None:
    django.requests()
    done, stats = crawl(django, tmp_path)
    assert done.returncode == Outcome.ERROR
    assert VARIABLE in done.stderr
    assert not django.requests() and not stats


@pytest.mark.thorough
def test_pages_stay_known_when_login_of_later_crawl_fails(
    django: Application, tmp_path: Path
) -> None:
    secret = {VARIABLE: login_django.PASSWORD}
    done, stats = crawl(django, tmp_path, **secret)
    assert done.returncode == Outcome.COMPLETE
    count = stats["contentspider/changes/new"]
    assert count >= PAGES
    done, stats = crawl(django, tmp_path, **secret)
    assert done.returncode == Outcome.COMPLETE
    assert stats["contentspider/login/hosts"] == 1
    assert stats["contentspider/changes/unchanged"] == count
    done, stats = crawl(django, tmp_path, **{VARIABLE: "wr0ng-Kamel"})
    assert done.returncode == Outcome.NOTHING_READ
    assert not stats.get("contentspider/changes/gone")
    done, stats = crawl(django, tmp_path, "--resume", **secret)
    assert done.returncode == Outcome.COMPLETE
    assert stats["contentspider/changes/unchanged"] == count
