"""Pages that another model has filtered are filtered anew where the history has them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from scrapy.settings import Settings

from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.learning.models import SiteState
from contentspider.crawl.revisits.gone import no_pause
from contentspider.crawl.revisits.knowledge import CrawlKnowledge
from contentspider.crawl.revisits.refilter import Refilter
from contentspider.page.input.page import Page
from contentspider.recrawl.judge import Facts, judge
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.failures import Failures
from contentspider.site.models.identity import page_id
from contentspider.site.vote.objections import Objection
from contentspider.state.book.answers import Answer
from contentspider.state.book.pages import dump_facts, load_facts
from contentspider.state.files.output import JsonLinesWriter
from tests.conftest import read_jsonl
from tests.recrawled import FINISHED, SITE, Crawls, OneCrawl, address
from tests.sites import article, prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.site.models.model import SiteModel
    from tests.conftest import Site

FAST = ("-s", "RETRY_TIMES=0", "-s", "CONTENTSPIDER_OUTAGE_SECS=1")


def options(**values: object) -> CrawlOptions:
    named = {f"CONTENTSPIDER_{name.upper()}": value for name, value in values.items()}
    return CrawlOptions.from_settings(Settings(named))


def test_refiltered_items_keep_their_passages() -> None:
    pages = [Page.from_html(article(number), f"https://e.org/{number}") for number in range(9)]
    state = SiteState("e.org")
    state.use(SiteLearner("e.org").fit(pages))
    without = Refilter(cast("Any", None), {"e.org": state}, options(), Failures())
    assert without.fields(state, pages[1])["passages"] == []
    found = Refilter(cast("Any", None), {"e.org": state}, options(passages=100), Failures())
    assert all(len(each["text"]) <= 100 for each in found.fields(state, pages[1])["passages"])
    assert found.fields(state, pages[1])["passages"]


def test_unread_pages_are_refiltered_by_current_model(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    items = again.crawl()
    again.changes()
    (path,) = (tmp_path / ".scrapy/contentspider").glob("*.sqlite")
    with closing(sqlite3.connect(path)) as history:
        history.execute(
            "UPDATE pages SET model = 'earlier', content_hash = 'other'"
            " WHERE url LIKE '%/3' OR url LIKE '%/4'"
        )
        history.commit()
    again.answers["/3"] = (500, "")
    again.articles["/5"] = again.articles["/5"].replace(prose(5, 1), prose("edited"))
    again.crawl(*FAST, code=4)
    found = {
        record["url"]: (record["change"], record["change_cause"], record["content_hash"])
        for record in again.records()
        if record["change"] != "unchanged"
    }
    assert found.pop("/5")[:2] == ("changed", "page")
    assert found == {
        path: ("refiltered", "model", items[path]["content_hash"]) for path in ("/3", "/4")
    }
    again.answers = {}
    again.crawl()
    assert again.changes() == {}


def test_pages_read_before_new_model_are_stored_as_it_filters_them(
    site: Site, tmp_path: Path
) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl("-s", "CONTENTSPIDER_LEARN_PAGES=5")
    (path,) = (tmp_path / ".scrapy/contentspider").glob("*.sqlite")
    with closing(sqlite3.connect(path)) as history:
        models = dict(history.execute("SELECT model, count(*) FROM pages GROUP BY model"))
        keys = {reading[:8] for (reading,) in history.execute("SELECT reading FROM pages")}
    assert len(keys) == 1 and all(keys), "the next crawl need not read them again"
    (manifest,) = (tmp_path / "models").glob("*/manifest.json")
    assert models == {json.loads(manifest.read_bytes())["version"]: 12}
    again.changes()
    again.crawl()
    assert again.changes() == {}


def test_output_items_are_rewritten_by_last_model(tmp_path: Path) -> None:
    numbers = range(1, 7)
    pages = [Page.from_html(article(number), address(f"/{number}")) for number in numbers]
    untitled = Objection("headings", 20.0, lambda site, prior: site.headings)
    learned = SiteLearner(SITE).fit(pages)
    crawl = OneCrawl(tmp_path / "history.sqlite")
    crawl.state.use(SiteLearner(SITE, objections=(untitled,)).fit(pages))
    output = JsonLinesWriter(tmp_path / "pages.jsonl", None, [])
    for number in numbers:
        if number == 6:
            crawl.state.use(learned)
        fields = crawl.see(f"/{number}", article(number))
        crawl.release(fields)
        output.write(json.dumps(fields).encode())
    asyncio.run(crawl.revisits.end(FINISHED))
    assert crawl.book.items.has_refilled
    output.rewrite(crawl.book.items.lines())
    output.publish()
    output.close()
    crawl.close()
    items = read_jsonl(tmp_path / "pages.jsonl")
    assert [item["content"] for item in items] == [learned.extract(page).text for page in pages]
    assert {item["model_version"] for item in items} == {learned.version}
    assert {item["change"] for item in items} == {"new"}


@pytest.fixture(scope="module")
def models() -> tuple[SiteModel, SiteModel]:
    """Return two models of the articles: one keeps their headings, and the other does not."""
    pages = [Page.from_html(article(number), address(f"/{number}")) for number in range(9)]
    untitled = Objection("headings", 20.0, lambda site, prior: site.headings)
    titled_model = SiteLearner(SITE).fit(pages)
    return titled_model, SiteLearner(SITE, objections=(untitled,)).fit(pages)


def numbered(number: int) -> str:
    return article(1).replace("Page 1", f"Page {number}")


@pytest.mark.parametrize(
    ("is_last_titled", "facts"),
    [
        (True, ("page", True)),
        (False, ("model", False)),
    ],
)
def test_page_is_compared_again_under_final_model(
    is_last_titled: bool,
    facts: tuple[str, bool],
    models: tuple[SiteModel, SiteModel],
    tmp_path: Path,
) -> None:
    titled, untitled = models
    first, last = (untitled, titled) if is_last_titled else (titled, untitled)
    crawls = Crawls(tmp_path / "history.sqlite", count=0)
    crawl = crawls.begin()
    crawl.state.use(titled)
    crawl.see("/1", numbered(7))
    crawl.end()
    crawl = crawls.begin()
    crawl.state.use(first)
    crawl.see("/1", numbered(8))
    crawl.state.use(last)
    kind = "refiltered" if facts[0] == "model" else "changed"
    assert asyncio.run(crawl.revisits.end(FINISHED))[kind] == 1
    page = Page.from_html(numbered(8), address("/1"))
    name = page_id(page.url)
    version = crawl.revisits.known_page(page.url)
    assert version is not None
    assert version.model == last.version
    assert crawl.book.known.content(name) == last.extract(page).text
    assert bool(version.facts and load_facts(version.facts).numbered) == facts[1]
    *_, change = crawl.book.changes.records()
    crawl.close()
    assert (change["change"], change["change_cause"]) == (kind, facts[0])


def test_item_left_out_under_earlier_model_is_filled_under_final_one(
    models: tuple[SiteModel, SiteModel], tmp_path: Path
) -> None:
    titled, untitled = models
    crawls = Crawls(tmp_path / "history.sqlite", count=0)
    crawl = crawls.begin()
    crawl.state.use(titled)
    for path, number in (("/1", 7), ("/2", 3)):
        fields = crawl.see(path, numbered(number))
        crawl.release(fields)
    crawl.end()
    crawl = crawls.begin()
    crawl.state.use(untitled)
    fields, page = crawl.see("/1", numbered(8)), Page.from_html(numbered(8), address("/1"))
    assert (fields["change"], fields["content"]) == ("refiltered", untitled.extract(page).text)
    crawl.leave_out()
    crawl.see("/2", numbered(4))  # its item is lost: the history keeps the previous one
    crawl.state.use(titled)
    asyncio.run(crawl.revisits.end(FINISHED))
    item = crawl.revisits.item(address("/1"))
    assert (item["change"], item["content"][:6]) == ("changed", "Page 8")
    (released,) = crawl.book.items.records()
    assert released == item and crawl.book.items.has_refilled, "the output gets it, too"
    assert crawl.revisits.item(address("/2"))["content"][:6] == "Page 3"
    crawls.close()


def test_refiltered_items_have_their_own_names_and_fields(
    models: tuple[SiteModel, SiteModel], tmp_path: Path
) -> None:
    titled, untitled = models
    crawl = OneCrawl(tmp_path / "history.sqlite")
    crawl.state.use(untitled)
    page = Page.from_html(article(1), address("/1"))
    fields = crawl.see("/1", article(1))
    assert not crawl.book.items.has_refilled
    first = {"body": fields["content"], "content": 7, "price": 3, "change": "new"}
    crawl.release(first, key="1", names={"content": "body"})
    second = {"content": fields["content"], "price": 4}
    crawl.release(second, key="2")
    crawl.state.use(titled)
    asyncio.run(crawl.revisits.end(FINISHED))
    text = titled.extract(page).text
    assert text != fields["content"]
    assert list(crawl.book.items.records()) == [
        {"body": text, "content": 7, "price": 3, "change": "new"},
        {"content": text, "price": 4},
    ]
    assert crawl.revisits.item(address("/1"))["content"] == text
    crawl.resume()
    assert crawl.book.items.has_refilled, "the output may not have been written yet"
    crawl.close()


def test_pages_with_known_counters_are_not_read_again() -> None:
    place = "body/p\tViews: 0"
    facts = [
        Facts("page", 0.1, numbered=(place,)),
        Facts("page", 0.1, numbered=("body/b\tFigure 0",), is_caption=True),
    ]

    def all_found(which: str) -> list[Any]:
        if "visit" in which:
            raise AssertionError("the visits are read")
        return [SimpleNamespace(site=SITE, facts=dump_facts(each), address=1) for each in facts]

    book: Any = SimpleNamespace(
        pages=SimpleNamespace(plain_counts=list, all_found=all_found),
        answers=SimpleNamespace(of=lambda _: Answer()),
    )
    knowledge = CrawlKnowledge({SITE: {place}}, {})
    learned = asyncio.run(knowledge.learn(book, (), cast("Any", None), no_pause))
    assert (learned.counters, learned.slots) == ({}, {})
    assert judge(facts[0], knowledge.of(SITE)).change == "unchanged"
    assert judge(facts[0], knowledge.of("other.org")).change == "changed"
    with pytest.raises(AssertionError, match="are read"):
        asyncio.run(CrawlKnowledge({}, {}).learn(book, (), cast("Any", None), no_pause))
