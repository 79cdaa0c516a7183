"""The engines of a run: threads of this machine, and a real Dask cluster on loopback."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.crawl.progress import CrawlProgress
from contentspider.ground.engines import ForgottenError, LocalEngine
from contentspider.run import jobs, progress
from contentspider.run.jobs import MOST_FORGOTTEN, Jobs
from contentspider.run.progress import RunProgress
from contentspider.run.results import SiteResult
from contentspider.run.sitesfile import PlannedSite
from tests.conftest import TIMEOUT, read_jsonl, run, serve
from tests.processes import Popen
from tests.run.test_site_job import hold, until
from tests.sites import small_site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site


class Forgetful(LocalEngine):
    """An engine that forgets some jobs, as a scheduler does that is restarted."""

    def __init__(self, times: int) -> None:
        super().__init__(1)
        self.times = times

    def result(self, job: Any) -> Any:
        result = super().result(job)
        if self.times:
            self.times -= 1
            raise ForgottenError("it forgets")
        return result


@pytest.mark.parametrize(
    ("times", "outcome"), [(2, "complete"), (MOST_FORGOTTEN + 1, "error")], ids=str
)
def test_forgotten_jobs_are_submitted_again(
    times: int, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted = []

    def crawl(site: PlannedSite, **_: object) -> SiteResult:
        submitted.append(site.name)
        return SiteResult(site.name, "complete", 0)

    monkeypatch.setattr(jobs, "open_engine", lambda *_: Forgetful(times))
    monkeypatch.setattr(jobs, "crawl_site", crawl)
    site = PlannedSite("tea", {"url": ["http://tea.example/"]})
    (result,) = Jobs(1).run([site])
    assert (result.outcome, len(submitted)) == (outcome, min(times, MOST_FORGOTTEN) + 1)


def test_run_logs_phases_of_sites_and_line_about_all(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(progress, "live_line", lambda: None)
    caplog.set_level(logging.INFO)
    tea, milk = (PlannedSite(name, {}) for name in ("tea", "milk"))
    reading, learning = CrawlProgress("reading", 200, 150), CrawlProgress("learning", 300)
    now: dict[str, tuple[str, CrawlProgress | None]] = {"tea": ("host:7", reading)}
    told = RunProgress(5, lambda site: now.get(site.name, ("", None)), 1.0)
    results = {
        "a": SiteResult("a", "complete", items=20),
        "b": SiteResult("b", "error"),
        "c": SiteResult("c", "not_due"),
    }

    def look() -> list[str]:
        caplog.clear()
        clock.now += 2
        with told:
            told.report({"tea": (tea, None), "milk": (milk, None)}, results)
        return caplog.messages

    (line,) = look()
    assert line.startswith("tea on host:7: reading: 200 pages (150 not modified)")
    assert look() == [], "the phase is the same"
    now["tea"] = "here", learning
    assert look() == [f"tea: {learning}"]
    clock.now += 60
    (line,) = look()
    assert line.startswith("3 of 5 sites done, 1 failed; running: tea: learning: 300 pages")


def test_run_on_terminal_shows_moving_line_for_each_site(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    live = SimpleNamespace(
        width=14,
        start=lambda: None,
        stop=lambda: None,
        update=shown.append,
    )
    monkeypatch.setattr(progress, "live_line", lambda: live)
    sites = {name: (PlannedSite(name, {}), None) for name in ("tea", "milk")}
    with RunProgress(2, lambda site: ("here", None), 0.0) as told:
        told.report(sites, {})
    assert shown == ["tea: begins\nmilk: begins\n0 of 2 sites d", ""]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "dask://127.0.0.1:1"], "--engine needs --state"),
        (["--engine", "spark", "--state", "file:///tmp/none"], "use local, or dask://"),
        (["--state", "s3://key:secret@bucket"], "--state s3://"),
        (["--state", "folder"], "--state folder"),
    ],
)
def test_engine_and_state_that_cannot_work_are_refused(
    options: list[str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "sites.toml").write_text("[site.tea]\nurls = ['http://127.0.0.1:9/']\n")
    done = run("run", "sites.toml", *options, cwd=tmp_path, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("output", "output = ['{site}.jsonl']"),
        ("index", "index = ['sqlite:pages.db']"),
        ("index", "index = ['default']"),
        ("fields", "fields = 'fields.toml'"),
        ("CONTENTSPIDER_WARC_FILE", "settings = {CONTENTSPIDER_WARC_FILE = 'a.warc.gz'}"),
        ("models", "models = 's3://bucket/models'"),
        ("CONTENTSPIDER_INDEX", "settings = {CONTENTSPIDER_INDEX = ['sqlite:x.db']}"),
    ],
)
def test_files_of_one_machine_are_refused_for_a_cluster(
    key: str, line: str, tmp_path: Path
) -> None:
    (tmp_path / "fields.toml").write_text("[fields.price]\nselector = '.price'\n")
    (tmp_path / "sites.toml").write_text(f"[site.tea]\nurls = ['http://127.0.0.1:9/']\n{line}\n")
    state = (tmp_path / "store").as_uri()
    command = ["run", "sites.toml", "--engine", "dask://127.0.0.1:1", "--state", state]
    done = run(*command, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert f"site 'tea', key '{key}'" in done.stderr


def outcomes(summary: Path) -> dict[str, str]:
    sites = json.loads(summary.read_text())["sites"]
    return {each["site"]: each["outcome"] for each in sites}


@pytest.mark.thorough
def test_dask_cluster_crawls_sites_grows_and_ends_in_order(tmp_path: Path, site: Site) -> None:
    distributed = pytest.importorskip("distributed")
    given = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    store = tmp_path / "store"
    with (
        serve() as other,
        distributed.LocalCluster(**given, local_directory=str(tmp_path / "dask")) as cluster,
    ):
        small_site(site, 30)
        small_site(other, 5)
        (tmp_path / "sites.toml").write_text(
            "[defaults]\nown_site = true\nsitemaps = false\ninterval = '1d'\n"
            f"[site.held]\nurls = ['{site.url}']\n[site.waits]\nurls = ['{site.url}/3']\n"
            f"[site.later]\nurls = ['{other.url}']\n"
        )
        engine = cluster.scheduler_address.replace("tcp://", "dask://")
        command = ["run", "sites.toml", "--due", "--engine", engine, "--state", store.as_uri()]
        command += ["--summary", "s.json"]
        go_on = hold(site, 10)
        process = Popen(
            [sys.executable, "-m", "contentspider", *command],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            until(lambda: len(site.requests) >= 10)
            assert not other.requests, "the only worker is busy"
            cluster.scale(2)
            until(lambda: (store / "outputs" / "later.jsonl").exists())
            process.send_signal(signal.SIGINT)
            go_on()
            _, errors = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 5, errors
        assert "Traceback" not in errors
        told = outcomes(tmp_path / "s.json")
        assert told == {"held": "interrupted", "waits": "not_started", "later": "complete"}
        assert "later: complete (" in errors
        run(*command, cwd=tmp_path)
    told = outcomes(store / "summary.json")
    assert told == {"held": "complete", "waits": "complete", "later": "not_due"}
    urls = [item["url"] for item in read_jsonl(store / "outputs" / "held.jsonl")]
    assert len(urls) == len(set(urls)) == 30
    assert not (tmp_path / ".scrapy").exists()
