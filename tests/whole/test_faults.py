"""Crawls in which a page, a field or the machine fails: no item is empty, and no page is lost."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.recrawl.changes import CHANGES
from contentspider.state.outcome import Outcome
from tests import faulty
from tests.conftest import TIMEOUT, Site, read_jsonl, serve
from tests.processes import run_forked
from tests.sites import article, prose, small_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXTRACT = "contentspider.site.models.model:SiteModel.extract"
PAGES = 12


class Faulty:
    """A site of a few pages, and crawls of it in a folder, with faults (see `tests.faulty`)."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        small_site(site, PAGES)

    def change(self) -> None:
        """Give each page another text."""
        for number in range(1, PAGES):
            old = prose(number, 1)
            self.site.add(f"/{number}", article(number).replace(old, prose(number, "new")))

    def run(self, *arguments: str, faults: str = "", code: int = 0) -> str:
        """Run a command, and return what it prints."""
        script = str(faulty.__file__)
        done = run_forked(script, *arguments, cwd=self.folder, seconds=TIMEOUT, FAULTS=faults)
        assert "Traceback" not in done.stderr, done.stderr[-3000:]
        assert done.returncode == code, done.stderr[-3000:]
        return done.stdout + done.stderr

    def crawl(self, *options: str, faults: str = "", code: int = 0) -> str:
        """Crawl the site, and return the log and the summary."""
        name = ("--own-site", "--no-sitemaps", "-o", "p.jsonl", "--index", "sqlite:i.db")
        more = ("--stats", "stats.json")
        return self.run("crawl", self.site.url, *name, *more, *options, faults=faults, code=code)

    def items(self) -> dict[str, Any]:
        """Return the items of the output, by the path of their page."""
        found = read_jsonl(self.folder / "p.jsonl")
        return {str(item["url"]).removeprefix(self.site.url): item for item in found}

    def stats(self) -> dict[str, Any]:
        stats = json.loads((self.folder / "stats.json").read_text())["stats"]
        return {name.removeprefix("contentspider/"): value for name, value in stats.items()}

    def documents(self) -> dict[str, str]:
        """Return the contents in the index, by path."""
        with sqlite3.connect(self.folder / "i.db") as database:
            rows = database.execute("SELECT url, content FROM documents").fetchall()
        database.close()
        return {url.removeprefix(self.site.url): content for url, content in rows}

    def changes(self) -> dict[str, str]:
        """Return the last change of each page, by path."""
        every = self.run("changes", self.site.url, "--only", ",".join(CHANGES))
        lines = map(json.loads, every.splitlines())
        return {line["url"].removeprefix(self.site.url): line["change"] for line in lines}


@pytest.fixture
def crawls(site: Site, tmp_path: Path) -> Faulty:
    return Faulty(site, tmp_path)


@pytest.fixture(scope="module")
def first_crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    with serve() as site:
        crawls = Faulty(site, tmp_path_factory.mktemp("first"))
        crawls.crawl()
        yield crawls


@pytest.fixture
def known(first_crawl: Faulty, tmp_path: Path) -> Faulty:
    """Return a site that was crawled once, and whose pages have changed since then."""
    shutil.copytree(first_crawl.folder, tmp_path, dirs_exist_ok=True)
    known = Faulty(first_crawl.site, tmp_path)
    known.change()
    return known


def test_field_that_fails_costs_no_other_field(known: Faulty) -> None:
    crawls = known
    record = "contentspider.site.models.record"
    names = ("page_headings", "page_language", "page_dates", "page_author", "own_values")
    said = crawls.crawl(faults="\n".join(f"{record}:{name} ENOSPC" for name in names))
    items = crawls.items()
    assert len(items) == PAGES
    assert all(item["content"] and item["content_markdown"] for item in items.values())
    assert items["/1"]["title"] == "Page 1"
    assert not items["/1"]["headings"]
    assert crawls.stats()["fields/failed/headings/OSError"] == PAGES
    assert "headings" in said
    assert said.count("the field headings") == 1
    crawls.crawl()
    assert crawls.items()["/1"]["headings"] == ["# Page 1"], "the page is read again"
    with sqlite3.connect(crawls.folder / "i.db") as database:
        (document,) = database.execute("SELECT * FROM documents WHERE url LIKE '%/1'")
    database.close()
    assert "Page 1" in str(document)


def test_page_that_breaks_keeps_its_old_document(known: Faulty) -> None:
    crawls, before = known, known.documents()
    said = crawls.crawl(faults=f"{EXTRACT} KeyError /3", code=Outcome.INCOMPLETE)
    assert f"{crawls.site.url}/3" in said
    assert crawls.stats()["pages/failed/KeyError"] == crawls.stats()["items/unfilled"] == 1
    assert "/3" not in crawls.items()
    documents = crawls.documents()
    assert documents["/3"] == before["/3"]
    assert documents["/4"] != before["/4"]
    changes = crawls.changes()
    assert (changes["/3"], changes["/4"]) == ("new", "changed")
    assert "KeyError" in crawls.run("status", crawls.site.url)
    crawls.crawl()
    assert crawls.changes()["/3"] == "changed"
    assert crawls.documents()["/3"] != before["/3"]


def test_held_item_that_breaks_is_tried_again(crawls: Faulty) -> None:
    crawls.crawl(faults=f"{EXTRACT} KeyError /3", code=Outcome.INCOMPLETE)
    assert len(crawls.documents()) == PAGES - 1
    crawls.crawl("--resume")
    assert len(crawls.items()) == len(crawls.documents()) == PAGES
    assert all(item["content"] for item in crawls.items().values())


@pytest.mark.parametrize(
    ("error", "code", "fixture"),
    [("ENOSPC", Outcome.ERROR, "crawls"), ("MemoryError", Outcome.OUT_OF_MEMORY, "known")],
)
def test_machine_error_stops_crawl_and_second_one_sets_page_aside(
    error: str, code: int, fixture: str, request: pytest.FixtureRequest
) -> None:
    crawls: Faulty = request.getfixturevalue(fixture)
    fault = f"{EXTRACT} {error} /3"
    crawls.crawl(faults=fault, code=code)
    said = crawls.crawl("--resume", faults=fault, code=Outcome.INCOMPLETE)
    assert f"{crawls.site.url}/3" in said
    assert len(crawls.items()) == PAGES - 1
    crawls.crawl("--resume")
    items = crawls.items()
    assert len(items) == len(crawls.documents()) == PAGES
    assert all(item["content"] for item in items.values())
    assert crawls.changes()["/3"] == ("changed" if fixture == "known" else "new")


def test_page_that_breaks_without_a_visit_costs_no_history(known: Faulty) -> None:
    crawls, before = known, known.documents()
    pages = crawls.site.answer
    crawls.site.answer = lambda path: (503, "text/html", b"") if path == "/5" else pages(path)
    options = ("--relearn", "-s", "RETRY_ENABLED=False")
    crawls.crawl(*options, faults=f"{EXTRACT} KeyError /5", code=Outcome.INCOMPLETE)
    assert crawls.stats()["pages/failed/KeyError"] == 1
    assert crawls.changes()["/4"] == "changed"
    documents = crawls.documents()
    assert documents["/5"] == before["/5"]
    assert documents["/4"] != before["/4"]


LIMITED = """
import resource, runpy, signal, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
runpy.run_module("contentspider", run_name="__main__")
"""


@pytest.mark.parametrize("limit", [60_000, 300_000])
def test_limit_on_file_sizes_leaves_no_empty_item(limit: int, crawls: Faulty) -> None:
    (crawls.folder / "limited.py").write_text(LIMITED)
    command = ("crawl", crawls.site.url, "--own-site", "--no-sitemaps", "-o", "p.jsonl")
    done = run_forked(
        "limited.py", str(limit), *command, cwd=crawls.folder, seconds=TIMEOUT, **os.environ
    )
    if done.returncode == Outcome.COMPLETE:
        assert len(crawls.items()) == PAGES
    else:
        crawls.run(*command, "--resume")
    assert len(crawls.items()) == PAGES
    assert all(item["content"] for item in crawls.items().values())


def test_extract_names_a_page_that_breaks_and_keeps_the_others(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    for number in range(6):
        (tmp_path / "site" / f"{number}.html").write_text(article(number))
    faults = f"{EXTRACT} KeyError 3.html\ncontentspider.site.models.record:page_headings ENOSPC"
    script = str(faulty.__file__)
    command = (script, "extract", "site", "-o", "out.jsonl")
    done = run_forked(*command, cwd=tmp_path, seconds=TIMEOUT, FAULTS=faults)
    assert done.returncode == Outcome.INCOMPLETE, done.stderr[-3000:]
    assert "3.html" in done.stderr
    assert "headings/OSError" in done.stderr
    items = read_jsonl(tmp_path / "out.jsonl")
    assert {item["url"] for item in items} == {f"{n}.html" for n in range(6) if n != 3}
    assert all(item["content"] and not item["headings"] for item in items)
