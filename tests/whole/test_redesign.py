"""Sites that are redesigned: a new model is no change of their pages, and a failed one is said."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from contentspider.state.outcome import Outcome
from tests.conftest import serve
from tests.redesigned import new_page, old_page
from tests.sites import prose
from tests.whole.test_faults import Faulty

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COUNT, REDESIGNED = 40, 18
LEARN = "contentspider.crawl.learning.models:learn_in_process"
SAVE = "contentspider.state.stores.models:ModelStore.save"


@pytest.fixture(scope="module")
def old_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    """Return a site in its old design that was crawled once, and shows its new one now: pages
    below `REDESIGNED` are redesigned, and two of them have another text.
    """
    with serve() as site:
        crawls = Faulty(site, tmp_path_factory.mktemp("old"))
        links = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, COUNT))
        site.add("/", old_page(0).replace("</h1>", f"</h1><div id=list>{links}</div>"))
        for number in range(1, COUNT):
            site.add(f"/{number}", old_page(number))
        crawls.crawl()
        for number in range(1, REDESIGNED):
            site.add(f"/{number}", new_page(number))
        site.add("/3", new_page(3, prose("really new")))
        site.add("/11", new_page(11).replace("Where: Lyon", "Where: it has moved to Oslo"))
        yield crawls


@pytest.fixture
def redesigned(old_site: Faulty, tmp_path: Path) -> Faulty:
    shutil.copytree(old_site.folder, tmp_path, dirs_exist_ok=True)
    crawls = Faulty.__new__(Faulty)
    crawls.site, crawls.folder = old_site.site, tmp_path
    return crawls


def test_only_pages_with_another_text_are_changed_after_a_redesign(redesigned: Faulty) -> None:
    before = redesigned.documents()
    redesigned.crawl()
    kinds = redesigned.changes()
    changed = {url for url, kind in kinds.items() if kind == "changed"}
    assert changed == {"/3", "/11"}
    refiltered = {url for url, kind in kinds.items() if kind == "refiltered"}
    assert refiltered <= {f"/{number}" for number in range(1, REDESIGNED)}
    stats = redesigned.stats()
    assert stats["changes/changed"] == 2
    assert stats["changes/refiltered"] == len(refiltered)
    documents = redesigned.documents()
    assert all(documents[url] != before[url] for url in refiltered | changed), "it has the new text"
    assert all(documents[url] == before[url] for url in before.keys() - refiltered - changed)
    log = redesigned.run("changes", redesigned.site.url, "--only", "changed")
    assert sum(line.startswith('{"seq"') for line in log.splitlines()) == 2
    feed = json.loads(redesigned.run("changes", redesigned.site.url, "--format", "feed"))
    kinds_in_feed = Counter(item["_contentspider"]["change"] for item in feed["items"])
    assert kinds_in_feed == {"new": COUNT, "changed": 2}


def test_items_that_a_new_model_has_changed_are_output_with_only_changed(
    redesigned: Faulty,
) -> None:
    """An index that is fed with these items has the new text of all pages."""
    before = redesigned.items()
    redesigned.crawl("--only", "changed")
    kinds = {url: kind for url, kind in redesigned.changes().items() if kind != "unchanged"}
    items = redesigned.items()
    assert {url: item["change"] for url, item in items.items()} == kinds
    assert {"changed", "refiltered"} <= set(kinds.values())
    fed = {url: item["content"] for url, item in (before | items).items()}
    redesigned.crawl()
    assert fed == {url: item["content"] for url, item in redesigned.items().items()}


@pytest.mark.parametrize("fault", [f"{LEARN} KeyError", f"{SAVE} ENOSPC"])
def test_failed_relearning_is_an_incomplete_crawl(fault: str, redesigned: Faulty) -> None:
    said = redesigned.crawl(faults=fault, code=Outcome.INCOMPLETE)
    stats = redesigned.stats()
    (site,) = {item["site"] for item in redesigned.items().values()}
    if SAVE in fault:
        assert stats["models/unsaved"] == 1
    else:
        assert stats[f"sites/outdated/{site}"] == 1
        assert f"{site} F1" not in said, "it is not the F1 of these pages"
    status = redesigned.run("status", redesigned.site.url)
    assert "incomplete" in status
    assert site in status
    kinds = redesigned.changes()
    assert {url for url, kind in kinds.items() if kind == "changed"} == {"/3", "/11"}
    version = redesigned.items()["/5"]["model_version"]
    said = redesigned.crawl("--resume")
    assert "learned: " in said and "nothing was left" not in said
    assert redesigned.stats()["models/saved"] == 1
    if SAVE not in fault:
        assert redesigned.items()["/5"]["model_version"] != version
        assert redesigned.stats()["changes/refiltered"]
