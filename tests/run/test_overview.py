"""``contentspider status``: how all sites are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contentspider.index.marks import sqlite_mark
from contentspider.run.results import SiteResult, outcome_words
from contentspider.run.summary import with_record
from contentspider.state.crawls.folder import index_url
from contentspider.state.outcome import Outcome
from tests.conftest import Site, run
from tests.sites import article, small_site

# What took most of the time of ``status``, which needs none of it.
SLOW_TO_LOAD = {
    *("asyncio", "numpy", "scrapy", "lxml.etree", "urllib.request", "statistics", "rapidfuzz"),
    *("contentspider.index.engine", "contentspider.index.schema", "cssselect", "ctypes"),
}


def test_status_has_quality_and_index_lag_after_a_crawl(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    crawl = ("crawl", site.url, "--own-site", "--name", "tea", "--index", "sqlite:pages.db")
    index, old = tmp_path / "pages.db", tmp_path / "old.db"
    run(*crawl, cwd=tmp_path)
    index.rename(old)
    site.add("/3", article(33))
    run(*crawl, cwd=tmp_path)
    table = ("--since", "2000-01-01", "--only", "changed", "--format", "table")
    head, row = run("changes", *table, cwd=tmp_path).stdout.splitlines()
    assert head.split()[:3] == ["crawl", "when", "change"]
    assert row.startswith("tea ") and " → " in row and row.endswith("/3"), "words before and now"

    def status(folder: Path) -> Any:
        state = ("--state-dir", str(tmp_path / ".scrapy/contentspider"))
        table = run("status", *state, cwd=folder).stdout.splitlines()
        (told,) = json.loads(run("status", "--json", *state, cwd=folder).stdout)
        return told, table[1].split()

    told, row = status(tmp_path)
    assert (told["outcome"], told["index_lag"], told["index_error"]) == ("complete", 0, "")
    assert 0 < told["f1"] <= 1 and f"~{told['f1']:.3f}" in row
    assert run("models", cwd=tmp_path).stdout.endswith(" (tea)\n"), "a site and its crawl"
    old.rename(index)  # a backup is restored
    (tmp_path / "elsewhere").mkdir()
    told, row = status(tmp_path / "elsewhere")
    assert (told["index_lag"], row[-2]) == (1, "1")
    command = (sys.executable, "-X", "importtime", "-m", "contentspider", "status")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "contentspider.run.overview" in loaded, "and nothing that is slow to load"
    assert not loaded & SLOW_TO_LOAD
    index.unlink()
    told, row = status(tmp_path)
    assert told["index_lag"] is None and "pages.db" in told["index_error"]
    assert " ".join(row[-3:-1]) == "no answer"


def test_index_at_path_that_cannot_be_read_has_no_mark(tmp_path: Path) -> None:
    assert sqlite_mark(f"sqlite:{tmp_path}/{'x' * 300}.db", "tea") is None


@pytest.mark.parametrize(
    ("url", "path"),
    [("sqlite:pages.db", "pages.db"), ("sqlite://pages.db", "pages.db"), ("tantivy:a/b", "a/b")],
)
def test_path_of_index_does_not_depend_on_current_folder(url: str, path: str) -> None:
    assert index_url(url, absolute=True) == f"{url.partition(':')[0]}:{Path.cwd() / path}"
    assert index_url("own:pages", absolute=True) == "own:pages", "an engine of another package"


def test_outcome_tells_that_a_redesigned_site_was_learned_again() -> None:
    record: dict[str, Any] = {
        "reasons": [],
        "warnings": [],
        "indexes": [],
        "accepted": {},
        "pages": 1,
    }
    for count, words in ((0, "complete"), (1, "complete, learned again")):
        stats = {"contentspider/sites/drifted": 1, "contentspider/sites/relearned": count}
        result = with_record(
            SiteResult("tea", "complete"), Outcome.COMPLETE, record | {"stats": stats}
        )
        assert (result.relearned, outcome_words(result)) == (count, words)
