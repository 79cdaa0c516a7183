"""``contentspider run``: many sites, each in a process of its own, over real HTTP."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from contentspider.ground.errors import ContentSpiderError
from contentspider.run.run import _checked_options
from contentspider.state.book.book import Book
from contentspider.state.book.database import lock_of
from contentspider.state.crawls.books import KILLED
from contentspider.state.outcome import Outcome
from tests.conftest import TIMEOUT, Site, read_jsonl, run, serve
from tests.messages import wording
from tests.processes import Popen
from tests.sites import NOTICE_SLOT, article, doubtful_site, small_site

if TYPE_CHECKING:
    from collections.abc import Callable

STATE = ".scrapy/contentspider"
DEFAULTS = """
[defaults]
interval = "1d"
own_site = true
sitemaps = false
[defaults.settings]
ROBOTSTXT_OBEY = false
RETRY_ENABLED = false
CONTENTSPIDER_OUTAGE_SECS = 0
"""
REFUSED = "http://127.0.0.1:9/"


def sites_file(folder: Path, **urls: str) -> Path:
    path = folder / "sites.toml"
    path.write_text(
        DEFAULTS + "".join(f"[site.{name}]\nurls = ['{url}']\n" for name, url in urls.items())
    )
    return path


def told(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return what a summary says, and what it says of each site."""
    summary = json.loads(path.read_text())
    return summary, {site["site"]: site for site in summary["sites"]}


def test_entries_of_one_site_that_share_an_index_lose_no_pages(tmp_path: Path, site: Site) -> None:
    lists, each = 3, 6
    site.add("/", article(0, "".join(f"<a href=/list/{n}>List {n}</a> " for n in range(lists))))
    for n in range(lists):
        own = range(n * each, (n + 1) * each)
        links = "".join(f"<a href=/page/{number}>Page {number}</a> " for number in own)
        site.add(f"/list/{n}", article(100 + n, links))
        for number in own:
            site.add(f"/page/{number}", article(number))
    file = sites_file(tmp_path, even=f"{site.url}/", odd=f"{site.url}/")
    for name, digits in (("even", "02468"), ("odd", "13579")):
        include = f"include = ['re:://[^/]+/$', '/list/*', 're:/page/\\d*[{digits}]$']"
        entry = f"[site.{name}]\n"
        file.write_text(
            file.read_text().replace(entry, f"{entry}{include}\nindex = 'sqlite:all.db'\n")
        )
    run("run", "sites.toml", cwd=tmp_path)
    found = [
        str(item["url"])
        for name in ("even", "odd")
        for item in read_jsonl(file.with_name(f"{name}.jsonl"))
    ]
    pages = {f"{site.url}/page/{number}" for number in range(lists * each)}
    assert sorted(url for url in found if "/page/" in url) == sorted(pages), "each page once"
    with closing(sqlite3.connect(tmp_path / "all.db")) as index:
        told = {url for (url,) in index.execute("SELECT url FROM documents")}
    assert told == {*pages, f"{site.url}/", *(f"{site.url}/list/{n}" for n in range(lists))}


def test_failing_site_does_not_affect_others_and_finished_sites_are_not_due(
    tmp_path: Path, site: Site
) -> None:
    small_site(site, 4)
    site.add("/secret", "<p>x</p>")
    (tmp_path / "files").mkdir()
    (tmp_path / "elsewhere").mkdir()
    file = sites_file(tmp_path / "files", down=REFUSED, good=site.url)
    arguments = ["run", "../files/sites.toml", "--summary", "summary.json"]
    done = run(*arguments, "--jobs", "1", cwd=tmp_path / "elsewhere", check=False)
    assert done.returncode == 4, done.stderr
    summary, sites = told(tmp_path / "elsewhere" / "summary.json")
    assert (summary["outcome"], summary["exit_code"]) == ("incomplete", 4)
    good, down = sites["good"], sites["down"]
    assert (good["outcome"], good["exit_code"], good["items"]) == ("complete", 0, 4)
    assert good["reasons"] == []
    log = (file.parent / STATE / "logs" / "down.log").read_text()
    assert "--" not in log, "nobody types the options of the crawl"
    (unchanged,) = re.findall(r"down\.jsonl is left.*", log)
    assert " 0 addresses" not in unchanged and " 0 known" not in unchanged
    assert 0 < good["seconds"] <= summary["seconds"]
    assert summary["started"] <= down["started"] <= down["ended"] <= good["started"]
    assert good["ended"] <= summary["ended"]
    assert (down["outcome"], down["exit_code"], down["items"]) == ("nothing_read", 3, 0)
    assert (good["pages"], good["changes"]["new"], good["due"] > good["ended"]) == (4, 4, True)
    assert (down["pages"], down["failures"], down["down_since"]) == (0, 1, down["started"])
    assert down["warnings"] == [], "its outcome says it already"
    assert f"{REFUSED} could not be read: the server refuses connections" in down["reasons"]
    assert len(read_jsonl(file.parent / "good.jsonl")) == 4
    for name, begins in (("good", "INFO: good: begins"), ("down", "INFO: down: begins")):
        assert begins in done.stderr
        assert str(sites[name]["log"]) == str(file.parent / STATE / "logs" / f"{name}.log")
    time = r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "
    assert re.search(time + r"INFO: good: complete \(\d+ s\): 4 pages, 4 new$", done.stderr)
    *_, head, first, second, _, sentence = done.stderr.splitlines()
    assert head.split() == "site outcome pages new changed moved gone quality duration".split()
    assert first.split()[:7] == ["down", "nothing", "read", "0", "0", "0", "0"]
    assert second.split()[:6] == ["good", "complete", "4", "4", "0", "0"]
    assert "1 of 2 crawls complete" in sentence and "Exit code 4" in sentence
    assert "to look at: down (nothing read)" in sentence
    assert "WARNING: down: nothing read (" in done.stderr
    assert "4 items" in (file.parent / STATE / "logs" / "good.log").read_text()

    both = json.loads(run("status", "--json", cwd=file.parent).stdout)
    assert [(told["site"], told["outcome"]) for told in both] == [
        ("down", "nothing_read"),
        ("good", "complete"),
    ], "those to look at come first"
    assert (both[1]["pages"], both[1]["changes"]["new"], both[1]["doubtful"]) == (4, 4, 0)
    assert (both[1]["f1"], both[1]["due"]) == (good["f1"], good["due"])
    assert both[0]["down_since"] == down["started"]
    head, first, second = run("status", cwd=file.parent).stdout.splitlines()
    assert head.split()[:3] == ["site", "last", "crawl"]
    assert f"down since {down['started'][:10]}" in first
    assert second.startswith("good")

    site.requests.clear()
    run(*arguments, "--due", cwd=tmp_path / "elsewhere")
    _, sites = told(tmp_path / "elsewhere" / "summary.json")
    outcomes = sites["good"]["outcome"], sites["down"]["outcome"]
    assert (outcomes, site.requests) == (("not_due", "not_due"), [])
    assert sites["down"]["down_since"] == down["started"]
    result = file.parent / STATE / "logs" / "down.result.json"
    day_before = datetime.fromisoformat(str(down["started"])) - timedelta(days=1)
    result.write_text(result.read_text().replace(str(down["started"]), day_before.isoformat()))
    done = run(*arguments, "--due", cwd=tmp_path / "elsewhere")
    assert "down: resumes" in done.stderr
    assert f"down: still down since {day_before.date()}" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("Exit code 0"), "the code is told once"
    _, sites = told(tmp_path / "elsewhere" / "summary.json")
    assert (sites["down"]["outcome"], sites["down"]["failures"]) == ("nothing_read", 2)
    assert not any("pages" in str(reason) for reason in sites["down"]["reasons"]), "it has one"
    assert sites["down"]["due"] > (datetime.now(timezone.utc) + timedelta(days=1.8)).isoformat()
    assert (file.parent / STATE / "logs" / "down.previous.log").exists()

    done = run(*arguments, "--only", "good", cwd=tmp_path / "elsewhere")
    _, sites = told(tmp_path / "elsewhere" / "summary.json")
    assert {name: found["outcome"] for name, found in sites.items()} == {"good": "complete"}
    assert "good: begins" in done.stderr, "without --due whether it is due or not"
    # Beside them an address is asked for where nothing is, for the look of error pages.
    assert sorted(path for path in site.requests if path in site.pages) == ["/", "/1", "/2", "/3"]
    assert ": finished" in run("status", "good", cwd=file.parent).stdout


def test_run_reports_doubtful_templates(tmp_path: Path, site: Site) -> None:
    doubtful_site(site)
    key = site.url.removeprefix("http://").replace(":", "-")
    with serve() as other:
        small_site(other, 4)
        sites_file(tmp_path, doubtful=site.url, good=other.url)
        done = run("run", "sites.toml", "--summary", "s.json", cwd=tmp_path)
    _, sites = told(tmp_path / "s.json")
    assert sites["good"]["doubtful"] == []
    (template,) = sites["doubtful"]["doubtful"]
    assert site.url in str(template.pop("doubt"))
    assert template == {"site": key, "slot": NOTICE_SLOT, "pages": 6}
    said = f"6 pages of {key} with most text at {NOTICE_SLOT}; "
    assert f"WARNING: doubtful: doubtful: {said}" in done.stderr
    assert said in (tmp_path / STATE / "logs" / "doubtful.log").read_text()


def at_request(site: Site, number: int, act: Callable[[], None]) -> None:
    """Let the site act before it answers its request of that number."""
    answer = site.answer

    def acting(path: str) -> tuple[int, str, bytes]:
        if len(site.requests) == number:
            act()
        return answer(path)

    site.answer = acting


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)]
)
def test_signal_stops_all_crawls_cleanly_and_next_run_resumes(
    tmp_path: Path, number: signal.Signals
) -> None:
    with serve() as first, serve() as second:
        for site in (first, second):
            small_site(site, 30)
        file = sites_file(tmp_path, first=first.url, second=second.url, third=first.url + "/3")
        command = [sys.executable, "-m", "contentspider", "run", str(file), "--summary", "s.json"]
        with Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
            # The whole group, as a terminal's Ctrl-C does.
            at_request(first, 5, lambda: os.killpg(process.pid, number))
            _, stderr = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 5, stderr
        assert f"{number.name}: stopping 2 crawls" in stderr
        assert "Traceback" not in stderr
        summary, sites = told(tmp_path / "s.json")
        assert summary["outcome"] == "interrupted"
        assert sites["first"]["outcome"] == "interrupted"
        assert sites["third"]["outcome"] == "not_started"
        book = Book(tmp_path / STATE / "first.sqlite", read_only=True)
        assert [entry.reason for entry in book.runs.all()] == ["shutdown"], "in order"
        book.close()
        arguments = ("--due", "--only", "first,second", "--summary", "s.json")
        done = run("run", str(file), *arguments, cwd=tmp_path)
        assert "first: resumes" in done.stderr
        _, sites = told(tmp_path / "s.json")
        assert sites["first"]["read"] < sites["first"]["pages"] == 30, "of the whole site"
        assert [told["pages"] for told in status(tmp_path)] == [30, 30]
        for name in ("first", "second"):
            urls = [item["url"] for item in read_jsonl(tmp_path / f"{name}.jsonl")]
            assert len(urls) == len(set(urls)) == 30, name


def test_killed_site_crawl_is_resumed_without_touching_others(
    tmp_path: Path,
) -> None:
    with serve() as first, serve() as second:
        for site in (first, second):
            small_site(site, 6)
        file = sites_file(tmp_path, first=first.url, second=second.url)

        def kill() -> None:
            book = Book(tmp_path / STATE / "first.sqlite", read_only=True)
            os.kill(book.runs.all()[-1].pid, signal.SIGKILL)
            book.close()

        at_request(first, 3, kill)
        done = run("run", str(file), "--summary", "s.json", cwd=tmp_path, check=False)
        assert done.returncode == 4
        _, sites = told(tmp_path / "s.json")
        assert (sites["first"]["outcome"], sites["first"]["exit_code"]) == ("interrupted", -9)
        assert sites["first"]["reasons"] == ["it was ended by SIGKILL"]
        assert sites["first"]["items"] is None
        assert sites["second"]["outcome"] == "complete"
        shown = {told["site"]: told["outcome"] for told in status(tmp_path)}
        assert shown == {"first": "interrupted", "second": "complete"}, "one word"
        done = run("run", str(file), "--due", "--summary", "s.json", cwd=tmp_path)
        assert "first: resumes" in done.stderr
        assert "second" not in done.stderr
        urls = [item["url"] for item in read_jsonl(tmp_path / "first.jsonl")]
        assert len(urls) == len(set(urls)) == 6


def status(folder: Path) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(run("status", "--json", cwd=folder).stdout)
    return told


@pytest.mark.parametrize("is_child_killed", [True, False])
def test_killed_run_is_told_by_status_and_by_the_next_run(
    is_child_killed: bool, tmp_path: Path, site: Site
) -> None:
    small_site(site, 6)
    file = sites_file(tmp_path, tea=site.url)
    command = [sys.executable, "-m", "contentspider", "run", str(file)]
    crawls: list[int] = []
    with Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:

        def kill() -> None:
            with closing(Book(tmp_path / STATE / "tea.sqlite", read_only=True)) as book:
                pid = book.runs.all()[-1].pid
            crawls.append(os.pidfd_open(pid))
            process.kill()
            if is_child_killed:
                os.kill(pid, signal.SIGKILL)

        at_request(site, 3, kill)
        process.wait(TIMEOUT)
    assert select.select(crawls, [], [], TIMEOUT)[0], "the crawl has ended, too"
    os.close(*crawls)
    (told,) = status(tmp_path)
    one = run("status", "tea", cwd=tmp_path).stdout
    done = run("run", str(file), "--due", cwd=tmp_path)
    if not is_child_killed:  # it has gone on, and has noted what the run would have
        assert (told["outcome"], told["reasons"]) == ("complete", [])
        assert told["due"] > datetime.now(timezone.utc).isoformat()
        assert "0 crawls" not in done.stderr and "1 not due" in done.stderr
        return
    assert (told["outcome"], len(told["reasons"])) == ("interrupted", 1)
    assert told["due"] < datetime.now(timezone.utc).isoformat(), "it is due now"
    assert f"contentspider run {file} --only tea" in one and "--resume" not in one
    (warning,) = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert KILLED in warning and "tea: resumes" in done.stderr
    (told,) = status(tmp_path)
    assert (told["outcome"], told["pages"], told["reasons"]) == ("complete", 6, [])


def test_site_already_being_crawled_is_skipped(tmp_path: Path, site: Site) -> None:
    file = sites_file(tmp_path, busy=site.url)
    state = tmp_path / "state"
    state.mkdir()
    with lock_of(state / "busy.sqlite"):
        done = run(
            *("run", "sites.toml", "--due", "--state-dir", "state", "--summary", "s.json"),
            cwd=file.parent,
        )
    assert "busy" + wording("run.skipped") in done.stderr
    _, sites = told(tmp_path / "s.json")
    assert sites["busy"]["outcome"] == "running"
    assert site.requests == []


def test_reason_for_failed_start_is_in_summary(tmp_path: Path) -> None:
    file = sites_file(tmp_path, odd="http://127.0.0.1:9/")
    file.write_text(file.read_text() + "settings.CONTENTSPIDER_DURABLE = false\n")
    done = run("run", "sites.toml", "--summary", "s.json", cwd=tmp_path, check=False)
    assert done.returncode == 4
    _, sites = told(tmp_path / "s.json")
    assert (sites["odd"]["outcome"], sites["odd"]["exit_code"]) == ("error", 1)
    (reason,) = sites["odd"]["reasons"]
    assert "needs CONTENTSPIDER_ENABLED and CONTENTSPIDER_DURABLE" in str(reason)
    assert not str(reason).startswith("contentspider:"), "the site's name stands before it"
    one = run("status", "odd", cwd=tmp_path).stdout
    assert str(reason) in one, "also of a site without a book, which the table names"


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no /proc here")
def test_settings_reach_site_crawl_and_passwords_stay_out_of_command_line(
    tmp_path: Path, site: Site
) -> None:
    small_site(site, 2)
    file = sites_file(tmp_path, private=site.url.replace("//", "//me:secret@"))
    file.write_text(file.read_text() + "settings.CONTENTSPIDER_HEADERS = {X-Key = 'secret'}\n")
    seen = []

    def look() -> None:
        book = Book(tmp_path / STATE / "private.sqlite", read_only=True)
        pid = book.runs.all()[-1].pid
        book.close()
        seen.append(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))

    at_request(site, 1, look)
    command = [sys.executable, "-m", "contentspider", "run", "sites.toml"]
    said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stderr
    assert seen[0][1:] == ["-m", "contentspider.crawl_process", "private", ""]
    log = (tmp_path / STATE / "logs" / "private.log").read_text()
    assert "secret" not in said + log


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("", [], "it has no site"),
        (
            "[site.a]\nurls = 'example.org'",
            ["--due"],
            "site 'a': " + wording("cli.interval-missing"),
        ),
        (
            "[site.a]\nurls = 'example.org'",
            ["--summary", "no/s.json"],
            wording("cli.not-a-folder"),
        ),
    ],
)
def test_run_mistakes_print_single_line(
    text: str, arguments: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "sites.toml").write_text(text)
    done = run("run", "sites.toml", *arguments, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_missing_sites_file_is_reported(tmp_path: Path) -> None:
    done = run("run", "none/sites.toml", cwd=tmp_path, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "none/sites.toml cannot be read: No such file or directory" in done.stderr


SIGNAL_AT_THE_END = """
import os, signal, sys
from contentspider.cli import main
from contentspider.run import run
summary = run.summary
def signalled(*given):
    os.kill(os.getpid(), signal.SIGTERM)
    return summary(*given)
run.summary = signalled
sys.exit(main(sys.argv[1:]))
"""


def test_signal_after_the_end_of_a_crawl_does_not_hide_how_it_ended(
    tmp_path: Path, site: Site
) -> None:
    small_site(site, 4)
    arguments = ("crawl", site.url, "--own-site", "--stats", "stats.json")
    command = (sys.executable, "-c", SIGNAL_AT_THE_END, *arguments)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == Outcome.COMPLETE, done.stderr
    assert json.loads((tmp_path / "stats.json").read_text())["pages"] == 4


def test_only_a_folder_that_models_are_written_to_must_be_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, how: path != models and access(path, how))
    chosen = {"CONTENTSPIDER_DURABLE": True, "CONTENTSPIDER_MODELS_DIR": str(models)}
    chosen["CONTENTSPIDER_STATE_DIR"] = str(tmp_path / "state")
    with pytest.raises(ContentSpiderError):
        _checked_options(Settings(chosen))
    assert _checked_options(Settings(chosen | {"CONTENTSPIDER_MODELS_FROZEN": True})).models_frozen
