"""Commands that search find the index of the folder's crawls."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import main
from contentspider.cli.index import named_indexes, one_index
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.run.indexes import indexes_of, project_indexes
from contentspider.run.results import SiteResult, logs_folder, result_file, write_result

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "SCRAPY_SETTINGS_MODULE"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CONTENTSPIDER_INDEX", raising=False)
    monkeypatch.delenv(MODULE, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def crawled(site: str, *indexes: str) -> None:
    write_result(result_file(logs_folder(""), site), SiteResult(site, "complete", indexes=indexes))


def test_index_of_the_last_crawls_is_searched_and_one_of_several_is_chosen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert one_index("", "") == ""
    assert main(["search", "tea"]) == 1
    assert "--index" in capsys.readouterr().err
    tea, milk = f"sqlite:{folder}/tea.db", "opensearch://me:secret@127.0.0.1:9/milk"
    crawled("green", tea)
    crawled("black", tea)
    assert one_index("", "") == tea
    crawled("cow", milk)
    with pytest.raises(UsageError) as error:
        one_index("", "")
    assert tea in str(error.value) and "/milk" in str(error.value)
    assert "secret" not in str(error.value)
    assert main(["search", "tea"]) == 2
    assert sorted(named_indexes([], "")) == sorted([tea, milk]), "agents search all of them"
    assert one_index("sqlite:other.db", "") == "sqlite:other.db"
    monkeypatch.setenv("CONTENTSPIDER_INDEX", "sqlite:a.db, sqlite:b.db")
    assert one_index("", "") == "sqlite:a.db", "the first one that a person named"


def test_settings_of_a_scrapy_project_name_its_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = tea_settings\n")
    settings = folder / "tea_settings.py"
    settings.write_text("CONTENTSPIDER_INDEX = ['sqlite:pages.db']\n")
    assert one_index("", "") == f"sqlite:{folder}/pages.db"
    assert one_index("sqlite:other.db", "") == "sqlite:other.db"
    spider = "import scrapy\nclass Spider(scrapy.Spider):\n    name = 'green'\n"
    (folder / "tea_spiders.py").write_text(
        f"{spider}    custom_settings = {{'CONTENTSPIDER_INDEX': ['sqlite:green.db']}}\n"
    )
    both = [f"sqlite:{folder}/pages.db", f"sqlite:{folder}/green.db"]
    monkeypatch.delitem(sys.modules, "tea_settings")
    text = settings.read_text() + "SPIDER_MODULES = ['tea_spiders']\n"
    settings.write_text(text)
    assert named_indexes([], "") == both
    of_project = project_indexes("")
    assert [of_project["green"], of_project[""]] == [both[1:], both[:1]]
    off = {"": both[:1], "green": []}
    assert indexes_of("green", None, "", lambda _: off) == [], "its spider switches it off"
    monkeypatch.delitem(sys.modules, "tea_settings")
    assert MODULE not in os.environ, "other crawls of this process have other settings"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    settings.write_text("CONTENTSPIDER_INDEX = [no_such_name, 'a longer text than before']\n")
    with pytest.raises(ContentSpiderError, match="no_such_name"):
        one_index("", "")
    assert one_index("sqlite:other.db", "") == "sqlite:other.db", "nothing is looked up"
