"""Crawls that feed a search index, from the command line: what is in it is what the site has."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import create_engine
from contentspider.state.crawls.folder import has_default, index_url
from tests.conftest import Site, run, serve
from tests.messages import wording
from tests.processes import Popen
from tests.sites import article, prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

URL = "sqlite:pages.db"


class Indexed(Recrawls):
    """A site whose crawls feed an index."""

    def verify(self, *options: str, code: int = 0) -> str:
        """Compare index and history, and return what is said."""
        done = run("index", "verify", self.site.url, URL, *options, cwd=self.folder, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def search(self, *words: str) -> list[dict[str, Any]]:
        """Return what a search finds."""
        found = run("search", *words, "--index", URL, "--json", cwd=self.folder)
        return [json.loads(line) for line in found.stdout.splitlines()]


@pytest.fixture
def indexed(site: Site, tmp_path: Path) -> Indexed:
    """Return a site that has been crawled into an index."""
    indexed = Indexed(site, tmp_path)
    indexed.crawl("--index", URL)
    assert "index:  12 documents written, 0 deleted" in indexed.said
    return indexed


def test_index_follows_changes_of_site(indexed: Indexed) -> None:
    assert "12 documents as they should be" in indexed.verify()
    found = indexed.search("page 3")[0]
    assert (found["rank"], found["url"]) == (1, f"{indexed.site.url}/3")
    assert found["snippet"].startswith("Page 3")
    indexed.crawl("--index", URL)
    assert "index:  0 documents written, 0 deleted" in indexed.said

    indexed.articles["/3"] = indexed.articles["/3"].replace(
        prose(3, 1), "Zanzibar " + prose("edited")
    )
    indexed.articles["/new"] = article(99)
    del indexed.articles["/4"]
    indexed.answers["/5"] = (301, "/moved")
    indexed.articles["/moved"] = indexed.articles.pop("/5")
    indexed.unlinked.add("/moved")
    indexed.crawl("--index", URL, "--only", "changed")
    assert "index:  3 documents written, 2 deleted" in indexed.said
    (found,) = indexed.search("zanzibar")
    assert (found["url"], "Zanzibar" in found["snippet"]) == (f"{indexed.site.url}/3", True)
    assert indexed.search("page 5")[0]["url"].endswith("/moved")
    assert f"{indexed.site.url}/4" not in {one["url"] for one in indexed.search("page 4")}
    assert "12 documents as they should be" in indexed.verify()


def test_index_follows_link_texts_of_other_pages(indexed: Indexed) -> None:
    link = "<a href=/3>Timbuktu</a>"
    indexed.articles["/7"] = indexed.articles["/7"].replace("</body>", f"{link}</body>")
    assert link in indexed.articles["/7"]
    items = indexed.crawl("--index", URL)
    assert items["/3"]["change"] == "unchanged"
    assert indexed.search("timbuktu")[0]["url"].endswith(("/3", "/7"))
    with sqlite3.connect(indexed.folder / "pages.db") as index:
        (anchors,) = index.execute("SELECT anchors FROM documents WHERE url LIKE '%/3'").fetchone()
    assert json.loads(anchors) == ["Page /3", "Timbuktu"]
    indexed.crawl("--index", URL)
    assert "index:  0 documents written, 0 deleted" in indexed.said
    assert "12 documents as they should be" in indexed.verify()


def edit(indexed: Indexed, *paths: str, word: str) -> None:
    """Put a word into pages of the site."""
    for path in paths:
        text = article(int(path[1:])).replace(prose(int(path[1:]), 1), f"{word} " + prose(path, 9))
        indexed.articles[path] = text


def test_index_survives_loss_of_state_folder(indexed: Indexed) -> None:
    pages = [f"/{number}" for number in range(1, 6)]
    for word in ("Zanzibar", "Quetzal"):
        edit(indexed, *pages, word=word)
        indexed.crawl("--index", URL)
    shutil.copytree(indexed.folder / ".scrapy", indexed.folder / "backup")
    edit(indexed, *pages, word="Marimba")
    indexed.crawl("--index", URL)
    shutil.rmtree(indexed.folder / ".scrapy")
    edit(indexed, *pages, word="Bassoon")
    del indexed.articles["/6"]
    indexed.crawl("--index", URL)
    assert "pages.db " + wording("index.other-history") in indexed.said
    assert [len(indexed.search(word)) for word in ("quetzal", "marimba", "bassoon")] == [0, 0, 5]
    assert f"{indexed.site.url}/6" not in {one["url"] for one in indexed.search("page 6")}
    assert "11 documents as they should be" in indexed.verify()
    # A backup: older than the index, and with the numbers of what it has.
    shutil.rmtree(indexed.folder / ".scrapy")
    (indexed.folder / "backup").rename(indexed.folder / ".scrapy")
    # Its last crawl may have ended in the same second as the one that the index holds.
    (history,) = indexed.folder.glob(".scrapy/contentspider/*.sqlite")
    with closing(sqlite3.connect(history)) as database, database:
        database.execute("UPDATE crawls SET ended = '2026-01-02T03:04:05+00:00'")
    done = run("index", "sync", indexed.site.url, URL, cwd=indexed.folder, check=False)
    assert (done.returncode, "--mend --force" in done.stderr) == (1, True)
    edit(indexed, "/2", word="Ocarina")
    indexed.crawl("--index", URL)
    assert [len(indexed.search(word)) for word in ("quetzal", "bassoon", "ocarina")] == [0, 4, 1]
    assert "11 documents as they should be" in indexed.verify()
    indexed.crawl("--index", URL)
    assert "another history" not in indexed.said


@pytest.mark.thorough
def test_changed_crawl_option_continues_same_index(indexed: Indexed) -> None:
    edit(indexed, "/2", word="Marimba")
    indexed.crawl("--index", URL, "--exclude", "/3")
    assert "index:  1 document written, 1 deleted" in indexed.said
    assert len(indexed.search("marimba")) == 1
    edit(indexed, "/2", word="Bassoon")
    indexed.crawl("--index", URL, "--max-depth", "5", "--include", "*", "--exclude", "/3")
    assert [len(indexed.search(word)) for word in ("marimba", "bassoon")] == [0, 1]
    assert "11 documents as they should be" in indexed.verify()


def test_renamed_crawl_takes_over_index(indexed: Indexed) -> None:
    edit(indexed, "/2", word="Marimba")
    indexed.crawl("--index", URL, "--name", "mine")
    assert "12 left to other crawls" in indexed.said
    assert "--take-over" in indexed.said
    assert not indexed.search("marimba")
    indexed.crawl("--index", URL, "--name", "mine", "--take-over")
    assert len(indexed.search("marimba")) == 1
    del indexed.articles["/3"]
    indexed.crawl("--index", URL, "--name", "mine")
    assert "index:  0 documents written, 1 deleted" in indexed.said


def test_redirect_to_another_site_leaves_its_documents_alone(indexed: Indexed) -> None:
    with serve("127.0.0.2") as neighbour:
        folder = indexed.folder / "neighbour"
        folder.mkdir()
        other = Indexed(neighbour, folder)
        other.articles = {f"/{number}": article(number) for number in range(50, 54)}
        options = ("--index", f"sqlite:{indexed.folder / 'pages.db'}")
        other.crawl(*options)
        assert "index:  5 documents written, 0 deleted" in other.said
        other.answers["/"] = (301, f"{indexed.site.url}/")
        other.crawl(*options)
        assert "12 left to other crawls" in other.said
        name = indexed.site.url.removeprefix("http://").replace(":", "-")
        assert f"{name}: 12" in other.said
        del other.answers["/"]
        other.crawl(*options, "--force")
    # Somebody deletes some documents: the next update writes them again.
    assert "12 documents as they should be" in indexed.verify()
    with closing(sqlite3.connect(indexed.folder / "pages.db")) as index, index:
        index.execute("DELETE FROM documents WHERE url LIKE ?", (f"{indexed.site.url}/1%",))
    told = run("index", "sync", indexed.site.url, URL, cwd=indexed.folder).stderr
    assert "3 documents written, 0 deleted" in told
    assert "12 documents as they should be" in indexed.verify()


def test_limited_crawl_with_new_state_deletes_no_documents(indexed: Indexed) -> None:
    shutil.rmtree(indexed.folder / ".scrapy")
    indexed.crawl("--index", URL, "--max-pages", "9", code=9)
    assert "3 documents in search indexes may be old" in indexed.said
    assert (
        "9 documents as they should be, 0 missing, 0 stale, 0 damaged, 3 too many"
        in indexed.verify(code=1)
    )
    indexed.crawl("--index", URL)
    assert "12 documents as they should be" in indexed.verify()


def test_changed_metadata_updates_index_of_unchanged_page(indexed: Indexed) -> None:
    page = indexed.articles["/3"]
    indexed.articles["/3"] = page.replace("</head>", "<meta name=author content='Ann Onym'></head>")
    assert indexed.articles["/3"] != page
    items = indexed.crawl("--index", URL)
    assert items["/3"]["change"] == "unchanged"
    assert "index:  1 document written, 0 deleted" in indexed.said


def test_changed_markup_updates_index_of_unchanged_page(indexed: Indexed) -> None:
    title = "<h1>Page 3</h1>"
    assert title in indexed.articles["/3"]
    indexed.articles["/3"] = indexed.articles["/3"].replace(title, "<h2>Page 3</h2>")
    items = indexed.crawl("--index", URL)
    assert (items["/3"]["change"], items["/3"]["headings"]) == ("unchanged", ["## Page 3"])
    assert "index:  1 document written, 0 deleted" in indexed.said
    assert "12 documents as they should be" in indexed.verify()


def test_broken_index_does_not_affect_crawl_output(indexed: Indexed) -> None:
    (indexed.folder / "pages.db").write_bytes(b"no database at all" * 100)
    indexed.articles["/new"] = article(99)
    assert "/new" in indexed.crawl("--index", URL, code=9)
    assert "contentspider index sync" in indexed.said
    assert "Traceback" not in indexed.said
    done = run("search", "words", "--index", URL, cwd=indexed.folder, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "pages.db is damaged" in done.stderr
    (indexed.folder / "pages.db").unlink()
    told = run("index", "sync", indexed.site.url, URL, cwd=indexed.folder)
    assert "13 documents written, 0 deleted" in told.stderr
    assert indexed.search("page 99")[0]["url"].endswith("/new")


def test_deleted_documents_are_mended_and_index_is_rebuilt(indexed: Indexed) -> None:
    with sqlite3.connect(indexed.folder / "pages.db") as connection:
        connection.execute("DELETE FROM documents WHERE number <= 3")
        connection.execute("UPDATE documents SET hash = 'x' WHERE number = 5")
    connection.close()
    told = indexed.verify(code=1)
    assert "8 documents as they should be, 3 missing, 1 stale" in told
    assert told.count('"is": "missing"') == 3
    assert "mended" in indexed.verify("--mend")
    assert "12 documents as they should be, 0 missing" in indexed.verify()
    told = run("index", "rebuild", URL, cwd=indexed.folder).stderr
    assert "12 documents written, 0 deleted" in told
    assert "12 documents as they should be, 0 missing" in indexed.verify()
    assert indexed.search("page 3")


def test_custom_items_are_indexed_by_field_mapping(site: Site, tmp_path: Path) -> None:
    for number in range(6):
        links = "".join(f"<a href=/{other}>Page {other}</a> " for other in range(6))
        site.add(f"/{number}", article(number, links))
    (tmp_path / "own.py").write_text(
        f"""
import scrapy
from contentspider import bind, links

class Own(scrapy.Spider):
    name = "own"
    start_urls = ["{site.url}/0"]
    custom_settings = {{
        "ADDONS": {{"contentspider.Addon": 500}},
        "CONTENTSPIDER_ITEM_FIELDS": {{"dict": {{"content": "body", "title": "head"}}}},
        "CONTENTSPIDER_DURABLE": True,
        "CONTENTSPIDER_INDEX": ["{URL}"],
        "ITEM_PIPELINES": {{"own.Choose": 900}},
    }}

    def parse(self, response):
        yield {{"price": 3, "address": response.url}}
        yield from response.follow_all(css="a")

class Choose:
    def process_item(self, item):
        if item["address"].endswith("/4"):
            raise scrapy.exceptions.DropItem("not wanted")
        item["head"] = item["head"].upper()
        return item
"""
    )
    run("runspider", "own.py", cwd=tmp_path, module="scrapy")
    found = run("search", "page", "--index", URL, "--json", cwd=tmp_path).stdout
    titles = {json.loads(line)["title"] for line in found.splitlines()}
    # As the pipeline left them; what it dropped is in no index.
    assert titles == {f"PAGE {number}" for number in (0, 1, 2, 3, 5)}


@pytest.mark.thorough
def test_crawl_killed_while_indexing_is_completed_by_sync(indexed: Indexed) -> None:
    for number in range(100, 130):
        indexed.articles[f"/{number}"] = article(number)
    # The engine is busy: another writer has the file. The crawl ends, waits for it, and is killed.
    blocker = sqlite3.connect(indexed.folder / "pages.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    command = [sys.executable, "-m", "contentspider", "crawl", indexed.site.url, "--own-site"]
    command += ["-o", "pages.jsonl", "--no-sitemaps", "--index", URL, "--log-level", "INFO"]
    process = Popen(command, cwd=indexed.folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if "locked" in line:
            process.send_signal(signal.SIGKILL)
            break
    process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == -signal.SIGKILL
    blocker.close()
    assert "12 documents as they should be, 30 missing" in indexed.verify(code=1)
    told = run("index", "sync", indexed.site.url, URL, cwd=indexed.folder).stderr
    assert "30 documents written, 0 deleted" in told
    assert "42 documents as they should be, 0 missing" in indexed.verify()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--index", "nowhere:x"), "'nowhere' " + wording("ground.unknown-plugin")),
        (("--index", "sqlite://u:secret@h/x"), "credentials in the environment"),
    ],
)
def test_invalid_index_option_fails_before_crawling(
    site: Site, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    site.add("/", article(1))
    done = run("crawl", site.url, *options, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert "secret" not in done.stderr
    assert not site.requests


def test_index_option_without_url_uses_default_index(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl("--index")
    scheme = "sqlite" if find_spec("tantivy") is None else "tantivy"
    assert "12 documents written, 0 deleted" in again.said
    (made,) = (tmp_path / ".scrapy/contentspider/index").iterdir()
    assert made.name == {"sqlite": "pages.db", "tantivy": "tantivy"}[scheme]
    assert f"{site.url}/3" in run("search", "page", "3", cwd=tmp_path).stdout
    told = run("index", "verify", site.url, "default", cwd=tmp_path)
    assert "12 documents as they should be" in told.stderr
    state = ("--state-dir", str(tmp_path / ".scrapy" / "contentspider"))
    assert f"{site.url}/3" in run("search", "page", "3", *state, cwd=tmp_path.parent).stdout


def test_default_index_is_sqlite_without_tantivy_and_existing_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = str(tmp_path / "a state")
    monkeypatch.setattr("contentspider.state.crawls.folder.is_installed", lambda extra: False)
    url = index_url("default", state)
    assert url == f"sqlite:{state}/index/pages.db"
    assert index_url("tantivy:x", state) == "tantivy:x"
    assert not has_default(state)
    engine = create_engine(url)
    engine.open(is_writer=True)
    engine.close()
    assert has_default(state)
    monkeypatch.setattr("contentspider.state.crawls.folder.is_installed", lambda extra: True)
    assert index_url("default", state) == url
    assert (
        index_url("default", f"{state} of another") == f"tantivy:{state} of another/index/tantivy"
    )


def test_search_without_index_prints_hint(tmp_path: Path) -> None:
    done = run("search", "words", cwd=tmp_path, check=False)
    assert (done.returncode, "contentspider crawl URL --index" in done.stderr) == (1, True)
    done = run("search", "words", "--index", "sqlite:none.db", cwd=tmp_path, check=False)
    assert (done.returncode, "does not exist" in done.stderr) == (1, True)
