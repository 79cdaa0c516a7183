"""The recipes of docs/machines.md: the job of a site in engines that users have.

Celery needs a Redis (``apt-get install redis-server``). Ray and Prefect take 400 MB (``pip install
ray prefect``): ``nox -s engines`` installs and runs them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT, TIMEOUT, read_jsonl, serve
from tests.run.test_site_job import hold, until
from tests.seaweed import free_ports
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Site

COUNT = 12


def recipe(engine: str, state: str) -> str:
    """Return the code in an engine's section, with a store that exists."""
    text = (ROOT / "docs" / "machines.md").read_text()
    found = re.search(rf"^### {engine}\n.*?^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found, f"docs/machines.md has no recipe for {engine}"
    return found[1].replace("s3://bucket/state", state)


def write_sites(folder: Path, *urls: str) -> str:
    """Write a file of sites; return the URL of a store."""
    tables = [f"[site.s{number}]\nurls = ['{url}']\n" for number, url in enumerate(urls)]
    text = "[defaults]\nown_site = true\nsitemaps = false\ninterval = '1d'\n" + "".join(tables)
    (folder / "sites.toml").write_text(text)
    return (folder / "store").as_uri()


def urls_of(folder: Path, site: str) -> list[str]:
    return [str(item["url"]) for item in read_jsonl(folder / "store" / "outputs" / f"{site}.jsonl")]


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("there is no Redis: apt-get install redis-server")
    (port,) = free_ports(1)
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen([program, *options], stdout=log, stderr=log)
    try:
        until(lambda: "Ready to accept" in (folder / "redis.log").read_text())
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(TIMEOUT)


@pytest.mark.thorough
def test_celery_recipe_in_docs_runs(tmp_path: Path, site: Site) -> None:
    pytest.importorskip("celery")
    pytest.importorskip("redis")
    small_site(site, COUNT)
    state = write_sites(tmp_path, site.url)
    environment = os.environ | {"C_FORCE_ROOT": "1"}
    options: dict[str, Any] = {"cwd": tmp_path, "env": environment}
    with redis_server(tmp_path) as broker:
        code = recipe("Celery", state).replace("redis://queue.example", broker)
        (tmp_path / "crawls.py").write_text(code)
        # Twice, as a broker may deliver one task.
        send = "from crawls import crawl; crawl.delay('s0'); crawl.delay('s0')"
        subprocess.run([sys.executable, "-c", send], check=True, **options)
        go_on = hold(site, 8)
        command = [sys.executable, "-m", "celery", "-A", "crawls", "worker", "--concurrency", "2"]
        log = tmp_path / "log"
        with log.open("wb") as file:
            worker = subprocess.Popen([*command, "-l", "info"], stdout=file, stderr=file, **options)
        try:
            until(lambda: "'running'" in log.read_text())
            go_on()
            until(lambda: log.read_text().count(" succeeded in ") == 2)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(TIMEOUT)
    urls = urls_of(tmp_path, "s0")
    assert len(urls) == len(set(urls)) == COUNT


@pytest.mark.thorough
@pytest.mark.parametrize(("engine", "end"), [("Ray", ""), ("Prefect", "print(*crawls())")])
def test_other_recipes_in_docs_run(tmp_path: Path, site: Site, engine: str, end: str) -> None:
    pytest.importorskip(engine.lower())
    with serve() as other:
        for each in (site, other):
            small_site(each, COUNT)
        state = write_sites(tmp_path, site.url, other.url)
        done = subprocess.run(
            [sys.executable, "-c", f"{recipe(engine, state)}\n{end}"],
            cwd=tmp_path,
            env=os.environ
            | {"HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0", "DO_NOT_TRACK": "1"}
            | {
                "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
                "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(TIMEOUT // 2),
            },
            capture_output=True,
            check=False,
            text=True,
            timeout=TIMEOUT,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("complete") == 2
    for name in ("s0", "s1"):
        assert len(set(urls_of(tmp_path, name))) == COUNT
