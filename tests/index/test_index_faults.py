"""Engines that are killed while they are filled, and processes that fill them: nothing is left to
mend at the end.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT, TIMEOUT
from tests.embedders import NAME
from tests.indexes import Crawls
from tests.servers import SERVERS, skip_without

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Server

# Half of them kill the engine, if it is a process of its own.
KILLS = 10
PAGES = 400
WITH_VECTORS = "sqlite, with vectors"
# Seconds after which a process that brings changes in is in the midst of it, or about to end.
MOMENTS = (0.15, 0.9)


def sync(crawls: Crawls, url: str) -> subprocess.Popen[str]:
    """Begin to bring an index up to date."""
    return subprocess.Popen(
        [sys.executable, "-m", "contentspider", "index", "sync", str(crawls.path), url],
        cwd=crawls.path.parent,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> str:
    """Return what a process says until it ends by itself."""
    said = process.communicate(timeout=TIMEOUT)[1]
    assert process.returncode == 0, said
    assert "Traceback" not in said
    return said


def run_with_kills(crawls: Crawls, url: str, server: Server | None) -> int:
    """Change the history again and again, and kill engine or process each time; return how many
    kills met a process at work.
    """
    rng = random.Random(4)
    met = 0
    for kill in range(KILLS):
        changed = {number: f"title {number} of {kill}" for number in range(kill, PAGES, 3)}
        others = sorted(crawls.titles.keys() - changed.keys())
        *gone, old = rng.sample(others, 4) if kill else [-1]
        moved = {2 * PAGES + kill: old} if kill else {}
        new = dict.fromkeys([PAGES + kill, *moved], "new")
        crawls.crawl(changed | new, gone, moved)
        process = sync(crawls, url)
        try:
            process.wait(rng.uniform(*MOMENTS))
        except subprocess.TimeoutExpired:
            met += 1
        if server is not None and kill % 2:
            server.kill()
            server.start()
            told(process)  # it has waited
        else:
            process.kill()
            assert "Traceback" not in process.communicate()[1]
    return met


# Servers are killed while whole crawls feed them, too (tests/index/test_index_crawls_killed.py).
@pytest.mark.parametrize(
    "scheme",
    [
        "sqlite",
        *(
            pytest.param(name, marks=pytest.mark.thorough)
            for name in (WITH_VECTORS, "tantivy", *SERVERS)
        ),
    ],
)
def test_index_is_consistent_after_killed_sync_processes_and_engines(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawls = Crawls(tmp_path / "state")
    crawls.path.parent.mkdir()
    if scheme == WITH_VECTORS:
        scheme = "sqlite"
        monkeypatch.setenv("CONTENTSPIDER_EMBEDDER", NAME)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    skip_without("sqlite3" if scheme == "sqlite" else scheme)
    if scheme not in SERVERS:
        url = f"{scheme}:{tmp_path / 'pages.index'}"
        met = run_with_kills(crawls, url, None)
        verify(crawls, url)
    else:
        _, make = SERVERS[scheme]
        with make() as server:
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            url = f"{server.url}/pages"
            met = run_with_kills(crawls, url, server)
            verify(crawls, url)
    assert met >= 2, "kills came too late to show anything"


def verify(crawls: Crawls, url: str) -> None:
    """Fail unless the index has what the history has, once the last changes are in."""
    told(sync(crawls, url))
    done = subprocess.run(
        [sys.executable, "-m", "contentspider", "index", "verify", str(crawls.path), url],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(crawls.titles)} documents as they should be" in done.stderr
    assert "0 missing, 0 stale, 0 damaged, 0 too many" in done.stderr
