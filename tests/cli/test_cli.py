"""The command line's flags and messages, in crawls of sites on loopback."""

from __future__ import annotations

import csv
import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.state.book.schema import BOOK
from contentspider.state.outcome import Outcome
from tests.conftest import TIMEOUT, Site, read_jsonl, run, serve
from tests.hostile import serve_hostile
from tests.messages import wording
from tests.processes import Popen, run_forked
from tests.sites import article, small_site

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = tuple[int, str, bytes]

QUICK = ["--own-site", "--no-sitemaps"]


def name_of(site: Site) -> str:
    return site.url.removeprefix("http://").replace(":", "-")


def test_crawl_of_unreachable_site_keeps_previous_output_files(site: Site, tmp_path: Path) -> None:
    small_site(site, 3)
    outputs = [part for kind in ("csv", "json", "md") for part in ("-o", f"out.{kind}")]
    command = ["crawl", site.url, *QUICK, *outputs, "--resume", "-s", "RETRY_ENABLED=False"]
    run(*command, cwd=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("out.*")}
    assert len(before) == 3
    site.answer = lambda path: (503, "text/plain", b"down")
    done = run(*command, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.NOTHING_READ
    assert "there are no items: left unchanged: out.csv, out.json, out.md" in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.glob("out.*")} == before
    assert not list(tmp_path.glob(".*partial"))


def test_host_without_scheme_and_https_is_crawled_by_http(site: Site, tmp_path: Path) -> None:
    small_site(site, 2)
    host = site.url.removeprefix("http://").rstrip("/")
    done = run("crawl", host, "--own-site", "--no-sitemaps", cwd=tmp_path)
    assert f"{host} has no HTTPS" in done.stderr
    assert {item["url"] for item in read_jsonl(tmp_path / "pages.jsonl")} >= {f"http://{host}/1"}
    (name,) = json.loads(run("status", "--json", cwd=tmp_path).stdout)
    assert (name["outcome"], name["pages"], name["f1"] > 0) == ("complete", 2, True)


def test_headers_and_cookies_are_sent_only_to_crawled_site(site: Site, tmp_path: Path) -> None:
    asked: list[dict[str, str]] = []
    with serve() as other:
        small_site(site, 2)
        site.add("/1", f"<meta http-equiv=refresh content='0; url={other.url}/'>")
        other.add("/", article(5))
        for server in (site, other):
            handler: Any = server.server.RequestHandlerClass
            answer = handler.do_GET

            def do_get(self: Any, answer: Callable[[Any], None] = answer) -> None:
                asked.append({**self.headers, "path": self.path, "port": self.headers["Host"]})
                answer(self)

            handler.do_GET = do_get
        run(
            "crawl",
            site.url,
            *"--no-sitemaps --delay 0 --concurrency 2 --user-agent Mine/1.0".split(),
            *("-H", "X-Key: secret:1", "-H", "Accept-Language:fr", "-H", "Cookie: a=1; b=2"),
            *("-s", "LOG_FILE=log.txt", "--log-level", "INFO"),
            *("--stats", "stats.json"),
            cwd=tmp_path,
        )
        ours = [request for request in asked if site.url.endswith(request["port"])]
        theirs = [request for request in asked if other.url.endswith(request["port"])]
    assert {request["path"] for request in ours} >= {"/", "/1"}
    for request in ours:
        assert request["X-Key"] == "secret:1"
        assert request["Cookie"] == "a=1; b=2"
        assert request["Accept-Language"] == "fr"
    assert {request["User-Agent"] for request in ours + theirs} == {"Mine/1.0"}
    assert not any("X-Key" in request or "Cookie" in request for request in theirs)
    log = (tmp_path / "log.txt").read_text()
    assert "Spider closed" in log
    assert "secret" not in log
    told = json.loads((tmp_path / "stats.json").read_text())
    assert (told["outcome"], told["exit_code"]) == ("complete", 0)
    assert told["stats"]["finish_reason"] == "finished"


@pytest.mark.parametrize(
    ("options", "contact", "agent"),
    [
        ([], "", r"contentspider/\S+ \(Scrapy\)"),
        (
            ["--contact", "https://example.org/bot"],
            "x@example.org",
            r"\S+ \(\+https://example.org/bot\)",
        ),
        ([], "me@example.org", r"contentspider/\S+ \(\+me@example.org\)"),
        (["-s", "CONTENTSPIDER_CONTACT=me@x.org"], "", r"\S+ \(\+me@x.org\)"),
        (["--user-agent", "mine (me@x.org)"], "", r"mine \(me@x.org\)"),
    ],
)
def test_user_agent_names_contact_and_its_absence_on_loopback_is_no_matter(
    options: list[str], contact: str, agent: str, site: Site, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("CONTENTSPIDER_CONTACT", contact)
    site.add("/", article(1))
    asked: list[str] = []
    handler: Any = site.server.RequestHandlerClass
    answer = handler.do_GET

    def do_get(self: Any) -> None:
        asked.append(self.headers["User-Agent"])
        answer(self)

    handler.do_GET = do_get
    done = run("crawl", site.url, "--no-sitemaps", *options, cwd=tmp_path)
    assert {*asked} == {asked[0]}
    assert re.fullmatch(agent, asked[0])
    assert "--contact" not in done.stderr


def test_anonymous_crawl_of_a_public_host_is_told_to_name_a_contact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONTENTSPIDER_CONTACT", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # which refuses the connection
    options = ("-s", "RETRY_ENABLED=False", "--no-sitemaps")
    done = run("crawl", "http://example.org/", *options, cwd=tmp_path, check=False)
    assert done.stderr.count("--contact") == 1


@pytest.mark.parametrize("contact", ["me", "me@x.org (and more)", "a@b\r\nX: 1", "http://x/ y"])
def test_invalid_contact_is_rejected(contact: str, tmp_path: Path) -> None:
    done = run("crawl", "http://127.0.0.1:9/", "--contact", contact, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.ERROR
    assert wording("ground.contact-unusable") in done.stderr


@pytest.mark.thorough
def test_start_urls_are_read_from_file_and_stdin(site: Site, tmp_path: Path) -> None:
    for number in (1, 2):
        site.add(f"/{number}", article(number))
    only = QUICK
    lines = f"\ufeff# ours\n\n  {site.url}/1  \n{site.url}/2\n"
    (tmp_path / "urls.txt").write_text(lines)
    run("crawl", "-i", "urls.txt", *only, cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 2
    command = [sys.executable, "-m", "contentspider", "crawl", "-i", "-", *only, "-o", "-"]
    done = subprocess.run(
        command,
        input=lines.lstrip("\ufeff"),
        capture_output=True,
        cwd=tmp_path,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 2
    (tmp_path / "none.txt").write_text("# nothing\n")
    done = run("crawl", "-i", "none.txt", cwd=tmp_path, check=False)
    assert (done.returncode, "no address to start from" in done.stderr) == (1, True)


def test_closed_output_pipe_ends_crawl_cleanly(site: Site, tmp_path: Path) -> None:
    small_site(site, 30)
    command = [sys.executable, "-m", "contentspider", "crawl", site.url, *QUICK, "-o", "-"]
    command += ["-s", "CONTENTSPIDER_LEARN_PAGES=3"]
    with Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode in (Outcome.INTERRUPTED, Outcome.COMPLETE)
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_full_standard_output_ends_crawl_with_its_own_code(site: Site, tmp_path: Path) -> None:
    small_site(site, 12)
    command = [sys.executable, "-m", "contentspider", "crawl", site.url, *QUICK, "-o", "-"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
        listing = subprocess.run(
            [sys.executable, "-m", "contentspider", "status", site.url],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == Outcome.OUTPUT_FAILED
    assert "Traceback" not in done.stderr
    assert done.stderr.count(wording("run.stdout-failed") + "No space left on device)") == 1
    assert "1 output could not be written" in done.stderr
    replayed = run("replay", site.url, "-o", "again.jsonl", cwd=tmp_path)
    shown = run("replay", site.url, "-o", "-", cwd=tmp_path)
    assert shown.stdout == (tmp_path / "again.jsonl").read_text() and not shown.stderr
    assert "items -> again.jsonl" in replayed.stderr
    assert listing.returncode == 1
    assert listing.stderr == "contentspider: No space left on device\n"


def test_crawl_of_path_stays_below_path_and_is_found_by_site_url(
    site: Site, tmp_path: Path
) -> None:
    links = "".join(f"<a href={path}>x</a>" for path in ("/docs/1", "/docs/print/1", "/2", "/"))
    for number, path in enumerate(("/docs/", "/docs/1", "/docs/print/1", "/2", "/")):
        site.add(path, article(number, links))
    start = site.url + "/docs/"
    run("crawl", start, *QUICK, "--scope", "path", "--exclude", "*/print/*", cwd=tmp_path)
    urls = {str(item["url"]) for item in read_jsonl(tmp_path / "pages.jsonl")}
    assert urls == {start, start + "1"}
    assert "items: 2 out" in run("status", site.url, cwd=tmp_path).stdout, (
        "the only one of the site"
    )
    run("crawl", site.url + "/2", *QUICK, "--scope", "host", cwd=tmp_path)
    done = run("status", site.url, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.ERROR
    assert done.stderr.count(name_of(site) + "-") == 2, "which of the two is meant?"
    done = run("crawl", site.url, "--scope", "planet", cwd=tmp_path, check=False)
    assert "--scope: 'planet' cannot be used: use one of 'domain'" in done.stderr


def test_pages_are_written_to_folder_and_text_file(site: Site, tmp_path: Path) -> None:
    small_site(site, 3)
    run(
        "crawl", site.url, *QUICK, "-o", "pages/", "-o", "all.txt", "--format", "html", cwd=tmp_path
    )
    files = sorted(path.name for path in (tmp_path / "pages").iterdir())
    assert len(files) == 3
    assert all(name.startswith("127.0.0.1-") and name.endswith(".html") for name in files)
    assert (tmp_path / "all.txt").read_text().count("=" * 80) == 2
    assert not (tmp_path / "pages.jsonl").exists()
    run("replay", site.url, "-o", "again.md", cwd=tmp_path)
    assert (tmp_path / "again.md").read_text().count("\n---\n") == 2
    for crawl in (site.url, site.url + "/", name_of(site)):
        assert "items: 3 out, 0 held" in run("status", crawl, cwd=tmp_path).stdout


@pytest.mark.parametrize("what", ["index", "output", "book"])
def test_invalid_crawl_options_fail_before_last_crawl_is_discarded(
    what: str, site: Site, tmp_path: Path
) -> None:
    small_site(site, 3)
    run("crawl", site.url, *QUICK, "-o", "pages.csv", cwd=tmp_path)
    options = []
    if what == "index":
        options = ["--index", "nowhere:x"]
    elif what == "output":
        (tmp_path / "taken.jsonl").mkdir()
        options = ["-s", "CONTENTSPIDER_OUTPUT_FILE=taken.jsonl"]
    else:
        book = tmp_path / f".scrapy/contentspider/{name_of(site)}.sqlite"
        with closing(sqlite3.connect(book)) as connection:
            connection.execute("PRAGMA user_version = 99")
    done = run("crawl", site.url, *QUICK, "-o", "pages.csv", *options, cwd=tmp_path, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (Outcome.ERROR, False)
    if what == "book":
        assert wording("state.other-version") in done.stderr
        with closing(sqlite3.connect(book)) as connection:
            connection.execute(f"PRAGMA user_version = {BOOK.version}")
    assert "3 items ->" in run("replay", site.url, "-o", "again.csv", cwd=tmp_path).stderr
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "pages.csv").read_text()


def test_replay_of_crawl_without_items_fails_without_writing(site: Site, tmp_path: Path) -> None:
    run("crawl", site.url, *QUICK, cwd=tmp_path, check=False)
    done = run("replay", site.url, "-o", "again.jsonl", cwd=tmp_path, check=False)
    assert done.returncode == Outcome.NOTHING_READ
    assert "the crawl has no items, so nothing was written to again.jsonl" in done.stderr
    assert not (tmp_path / "again.jsonl").exists()


@pytest.mark.parametrize(
    "line",
    [
        '{"url": "https://other.example.org/a"}',
        "my notes",
        pytest.param('["x"]', marks=pytest.mark.thorough),
        pytest.param("[" * 100_000, marks=pytest.mark.thorough),
    ],
)
def test_output_of_other_crawl_is_not_overwritten_without_explicit_option(
    line: str, site: Site, tmp_path: Path
) -> None:
    small_site(site, 3)
    pages = tmp_path / "pages.jsonl"
    pages.write_text(line + "\n")
    done = run("crawl", site.url, *QUICK, cwd=tmp_path, check=False)
    assert (done.returncode, pages.read_text()) == (Outcome.ERROR, line + "\n")
    assert "pages.jsonl " + wording("run.output-exists") in done.stderr
    assert "Traceback" not in done.stderr
    assert not site.requests
    run("crawl", site.url, *QUICK, "-o", "pages.jsonl", cwd=tmp_path)
    assert len(read_jsonl(pages)) == 3
    run("crawl", site.url, *QUICK, cwd=tmp_path)  # its own


def test_moved_site_may_overwrite_its_own_output(site: Site, tmp_path: Path) -> None:
    with serve() as there:
        small_site(there, 3)
        site.answer = lambda path: (301, f"text/html\r\nLocation: {there.url}{path}", b"")
        for _ in range(2):
            run("crawl", site.url, *QUICK, cwd=tmp_path)
        assert str(read_jsonl(tmp_path / "pages.jsonl")[0]["url"]).startswith(there.url)


def test_second_ctrl_c_ends_crawl_with_resume_hint(site: Site, tmp_path: Path) -> None:
    small_site(site, 60)
    answer, seen = site.answer, 0
    command = [sys.executable, "-m", "contentspider", "crawl", site.url, *QUICK]
    with Popen(
        [*command, "--log-level", "INFO"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:

        def interrupting(path: str) -> Answer:
            nonlocal seen
            seen += 1
            if seen == 30:
                process.send_signal(signal.SIGINT)
            return answer(path)

        site.answer = interrupting
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "Received SIGINT" in line and said.count("Received SIGINT") == 1:
                process.send_signal(signal.SIGINT)
    assert process.returncode == Outcome.INTERRUPTED
    assert "items held): run the same command with --resume to continue" in said
    assert "nothing was left to do" not in said
    assert "no page was read" not in said


def test_crawl_state_is_stored_in_state_dir(site: Site, tmp_path: Path) -> None:
    small_site(site, 2)
    run("crawl", site.url, *QUICK, "--state-dir", "state", cwd=tmp_path)
    assert (tmp_path / "state" / f"{name_of(site)}.sqlite").is_file()
    assert not (tmp_path / ".scrapy").exists()
    assert "2 out" in run("status", site.url, "--state-dir", "state", cwd=tmp_path).stdout
    (tmp_path / "file").write_text("x")
    done = run("crawl", site.url, "--state-dir", "file", cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "--state-dir file: " in done.stderr


def test_terminal_control_characters_are_never_printed(site: Site, tmp_path: Path) -> None:
    steering = "\x9b31m\u202e"
    for number in range(4):
        site.add(
            f"/{number}" if number else "/",
            article(number, "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>")
            .replace("<p>", f"<p>{steering} ")
            .replace("Home", f"Home {steering}"),
        )
    done = run("crawl", site.url, *QUICK, "--log-level", "INFO", cwd=tmp_path)
    shown = run("models", "show", name_of(site), cwd=tmp_path)
    assert not {"\x9b", "\u202e"} & {*done.stderr, *shown.stdout}
    assert "\ufffd31m" in shown.stdout


def test_password_in_url_is_never_printed(site: Site, tmp_path: Path) -> None:
    address = site.url.replace("://", "://me:hunter2@") + "/none"
    done = run("crawl", address, *QUICK, "--log-level", "DEBUG", cwd=tmp_path, check=False)
    assert done.returncode == Outcome.NOTHING_READ
    assert "could not be read" in done.stderr
    assert "hunter2" not in done.stderr
    done = run("crawl", "ftp://me:hunter2@host/", cwd=tmp_path, check=False)
    assert "'ftp://***@host/'" in done.stderr


def test_failed_monitor_sets_exit_code(site: Site, tmp_path: Path) -> None:
    pytest.importorskip("spidermon")
    site.add("/", "<html><body><a href=/1><img src=x.png></a></body></html>")
    settings = [
        'EXTENSIONS={"spidermon.contrib.scrapy.extensions.Spidermon": 500}',
        "SPIDERMON_ENABLED=True",
        "SPIDERMON_SPIDER_CLOSE_MONITORS=contentspider.crawl.monitors.ContentMonitorSuite",
        "RETRY_ENABLED=False",
    ]
    options = [part for setting in settings for part in ("-s", setting)]
    command = ["contentspider", "crawl", site.url, *QUICK, *options]
    done = run_forked(*command, cwd=tmp_path, seconds=TIMEOUT)  # Spidermon prints a traceback
    assert done.returncode == Outcome.MONITOR_FAILED, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "COMMAND"),
        (["crawl"], 2, "usage: contentspider crawl"),
        (["crawl", "-i", "empty"], 1, wording("run.no-start") + " give one"),
        (["crawl", "example.org", "-s", "RETRY_TIMES=abc"], 1, "RETRY_TIMES='abc' "),
        (["crawl", "example.org", "-s", "COOKIES_ENABLED=maybe"], 1, "COOKIES_ENABLED='maybe' "),
        (["crawl", "example.org", "-s", "FEEDS=s3://me:s3cret@x"], 1, "FEEDS cannot be used"),
        (
            ["crawl", "http://127.0.0.1:9", "--own-site", "-s", 'EXTENSIONS={"no.such": 1}'],
            1,
            "'no'",
        ),
        (["changes", "--accept-gone"], 2, "--accept-gone needs the crawl"),
        (
            ["changes", "x", "--accept-gone", "--webhook", "http://e.org", "--format", "feed"],
            2,
            "--webhook and --format feed",
        ),
        (["crawl", "--index", "http://e.org"], 1, "--index took http://e.org: give it before"),
        (["crawl", "example.org", "-i", "none.txt"], 1, "-i none.txt cannot be read"),
        (
            ["crawl", "example.org", "-H", "no header"],
            2,
            "cannot be used: give NAME:VALUE",
        ),
        (["crawl", "example.org", "-H", "Authorization:", "s3cret"], 2, "the header has no value"),
        (
            ["crawl", "example.org", "-H", "Authorization s3cret"],
            2,
            "*** cannot be used: give NAME",
        ),
        (
            ["crawl", "example.org", "-s", "CONTENTSPIDER_HEADERS={'X-Key': 's3cret'}"],
            1,
            "CONTENTSPIDER_HEADERS=*** " + wording("crawl.value-unusable") + " give a table",
        ),
        (["crawl", "example.org", "-H", "a:b\nc:d"], 2, wording("crawl.header-lines")),
        (["crawl", "example.org", "--delay", "-1"], 2, "give a number from 0 to 86400"),
        (["crawl", "example.org", "--concurrency", "0"], 2, "give a whole number from 1 on"),
        (["crawl", "example.org", "--models", "file"], 1, "cannot be written"),
        (["crawl", "example.org", "-o", "folder.csv"], 1, "it is a folder"),
        (["crawl", "exa mple.org"], 2, "'exa mple.org'"),
        (["crawl", "example.org", "-s", "CONTENTSPIDER_LEARN_PAGE=9"], 1, "LEARN_PAGES?"),
        (["crawl", "example.org", "-s", "CONTENTSPIDER_LEARN_PAGES=abc"], 1, "LEARN_PAGES='abc'"),
        (["status", "example.org"], 1, wording("state.no-such-crawl")),
        (["extract", "folder.csv", "-o", "x.pages"], 1, "names no format"),
    ],
)
def test_usage_errors_print_single_line(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").touch()
    (tmp_path / "folder.csv").mkdir()
    done = run(*arguments, cwd=tmp_path, check=False)
    assert done.returncode == code
    assert message in done.stderr
    assert "s3cret" not in done.stderr
    assert code == 2 or done.stderr.count("\n") == 1


def test_extract_writes_every_format_with_distinct_folder_names(tmp_path: Path) -> None:
    for folder in ("a", "b/a"):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(3):
            (tmp_path / folder / f"{number}.html").write_text(article(number))
    run("extract", "a", "b/a", "-o", "out.csv", cwd=tmp_path)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["url"] for row in rows) == sorted(
        f"{folder}/{number}.html" for folder in ("a", "b/a") for number in range(3)
    )
    assert len({row["id"] for row in rows}) == 6
    run("extract", "a", "-o", "out.json", cwd=tmp_path)
    items = json.loads((tmp_path / "out.json").read_text())
    assert [item["url"] for item in items] == ["0.html", "1.html", "2.html"]
    run("extract", "a", "-o", "pages/", "--format", "txt", cwd=tmp_path)
    assert len(list((tmp_path / "pages").glob("*.txt"))) == 3
    (tmp_path / "empty").mkdir()
    run("extract", "empty", "-o", "out.json", cwd=tmp_path, check=False)
    assert json.loads((tmp_path / "out.json").read_text()) == items, "and it is left as it was"


def test_include_and_exclude_patterns_limit_fetched_pages(site: Site, tmp_path: Path) -> None:
    paths = ["/", "/news/1", "/news/2", "/news/1?print=1", "/shop/1", "/2024/a", "/x/2024/b"]
    links = "".join(f"<a href='{path}'>x</a>" for path in paths)
    for number, path in enumerate(paths):
        site.add(path, article(number, links))
    patterns = ["--include", "/news/*", "--include", r"re:/\d{4}/", "--exclude", "*print=1*"]
    run("crawl", site.url, *QUICK, *patterns, "--exclude", "/x/*", cwd=tmp_path)
    found = {
        str(item["url"]).removeprefix(site.url) or "/"
        for item in read_jsonl(tmp_path / "pages.jsonl")
    }
    assert found == {"/", "/news/1", "/news/2", "/2024/a"}
    assert {*site.requests} == found | {"/robots.txt", "/llms.txt"}, "others are not even asked for"


def test_request_is_abandoned_after_requested_timeout(tmp_path: Path) -> None:
    with serve_hostile() as hostile:
        hostile.add("/", article(0, "<a href=/1>1</a><a href=/slow>2</a>"))
        hostile.add("/1", article(1))
        hostile.handlers["/slow"] = lambda exchange: exchange.stall()
        options = [
            *QUICK,
            "-s",
            "DOWNLOAD_TIMEOUT=1",
            "-s",
            "RETRY_ENABLED=False",
            "--stats",
            "stats.json",
        ]
        done = run("crawl", hostile.url, *options, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.INCOMPLETE
    told = json.loads((tmp_path / "stats.json").read_text())
    assert told["outcome"] == "incomplete"
    assert told["exit_code"] == Outcome.INCOMPLETE
    assert told["stats"]["contentspider/pages/unread/timeout"] == 1
    assert "1 page could not be read for reasons that may pass" in told["reasons"]
