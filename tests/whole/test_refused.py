"""Sites whose models do not learn what their labels say, in crawls and in archives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.state.book.broken import FAILED_CRAWLS
from contentspider.state.outcome import Outcome
from tests.archive.test_archive import SITES, archive, items, stored, write_shards
from tests.conftest import run
from tests.sites import prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Site

# While a file is there, every process that learns gets a classifier that takes all for boilerplate.
REFUSES = """
import os
from contentspider.site.judge.svm import LinearSVM
fit = LinearSVM.fit
LinearSVM.fit = lambda *given, **named: (
    LinearSVM({{}}, -1.0) if os.path.exists({!r}) else fit(*given, **named)
)
"""


@pytest.fixture
def refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have all models refused while the file is there that this gives. The process that forks may
    have been started with it, and serves other tests, too.
    """
    made, path = tmp_path / "refuses", tmp_path / "path"
    made.touch()
    path.mkdir()
    (path / "sitecustomize.py").write_text(REFUSES.format(str(made)))
    monkeypatch.setenv("PYTHONPATH", str(path))
    yield made
    made.unlink(missing_ok=True)


def test_crawl_whose_model_is_refused_is_incomplete_and_the_prior_judges(
    site: Site, tmp_path: Path, refuses: Path
) -> None:
    assert refuses.exists()
    items = Recrawls(site, tmp_path).crawl("--stats", "stats.json", code=Outcome.INCOMPLETE)
    assert prose(1, 1) in str(items["/1"]["content"])
    stats = json.loads((tmp_path / "stats.json").read_text())["stats"]
    assert stats["contentspider/models/refused"] == 1
    assert not list(tmp_path.rglob("manifest.json"))


@pytest.mark.thorough
def test_model_that_each_crawl_refuses_is_told_and_then_known(
    site: Site, tmp_path: Path, refuses: Path
) -> None:
    crawls = Recrawls(site, tmp_path)

    def status() -> str:
        return run("status", site.url, cwd=tmp_path).stdout

    for number in range(1, FAILED_CRAWLS + 1):
        crawls.crawl(code=Outcome.INCOMPLETE)
        assert ("refused" in status()) == (number == FAILED_CRAWLS)
    crawls.crawl()
    for said in (crawls.said, status()):
        assert "refused" in said and str(FAILED_CRAWLS + 1) in said
    refuses.unlink()
    crawls.crawl()
    assert "refused" not in crawls.said + status()
    refuses.touch()
    crawls.crawl("--relearn", code=Outcome.INCOMPLETE)  # it is told when it happens again


def test_archive_whose_models_are_refused_is_incomplete_and_the_prior_judges(
    tmp_path: Path, refuses: Path
) -> None:
    assert refuses.exists()
    source = write_shards(tmp_path / "shards", 1)
    done = archive(source, tmp_path / "out", "--processes", "1", check=False)
    assert done.returncode == Outcome.INCOMPLETE
    assert all(f"the model of {site} " in done.stderr for site in SITES), done.stderr
    found = [json.loads(line) for line in items(tmp_path / "out")]
    assert len(found) == len(stored())
    assert all(item["content"] for item in found)
    assert not list((tmp_path / "out-models").rglob("manifest.json"))
