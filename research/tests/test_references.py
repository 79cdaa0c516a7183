"""Public references as corpora."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.errors import ContentSpiderError
from contentspider_research.references import Reference, fetch_reference, gold_of, references

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "Brews tea of leaves and of hot water. " * 8
SITE = Reference("reference-tea", "tea/pot", "", r"^api/", "main", ".menu", ".source")
PAGE = f"<h1>Pot</h1><main>{TEXT}<p class=menu>Up</p><pre class=source>brew()</pre></main>"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@a", *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of two pages and an index."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    folder = tmp_path / "tea" / "pot"
    (folder / "api").mkdir(parents=True)
    (folder / "api" / "pot.html").write_text(PAGE)
    (folder / "api" / "all.html").write_text(f"<main><a href=pot.html>{TEXT}</a></main>")
    (folder / "index.html").write_text(PAGE)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=pages")
    return folder


def test_git_commit_is_laid_out_as_corpus(repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    site = Reference(SITE.id, "tea/pot", commit, *(SITE.pages, SITE.content, SITE.without, ""))
    source = str(tmp_path / "{owner}" / "{name}")
    assert fetch_reference(site, tmp_path / "corpora" / site.id, source) == 1
    (corpus,) = find_corpora(tmp_path / "corpora")
    assert {page.url for page in corpus.pages()} == {"api/pot.html", "api/all.html", "index.html"}
    (gold,) = corpus.gold()
    assert (gold.path, gold.text.split()[:3]) == ("api/pot.html", ["Brews", "tea", "of"])


def test_missing_commit_raises_error(repository: Path, tmp_path: Path) -> None:
    site = Reference(SITE.id, "tea/pot", "0" * 40, *(SITE.pages, SITE.content, SITE.without, ""))
    with pytest.raises(ContentSpiderError, match="git fetch failed"):
        fetch_reference(site, tmp_path / "corpora", str(tmp_path / "{owner}" / "{name}"))


def test_missing_git_raises_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ContentSpiderError, match="git is not installed"):
        fetch_reference(SITE, tmp_path / "corpora")


def test_gold_consists_of_selected_elements() -> None:
    gold = gold_of(PAGE.encode(), SITE)
    assert gold is not None
    assert gold["text"].split() == [*TEXT.split(), "brew()"]
    assert gold["optional_text"].split() == ["Pot", "brew()"]
    assert gold_of(b"<main>Tea.</main>", SITE) is None


def test_every_reference_has_commit() -> None:
    known = references()
    assert len({site.id for site in known}) == len(known) >= 20
    assert all(len(site.commit) == 40 and "/" in site.repository for site in known)
