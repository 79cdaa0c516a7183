"""Pages that another model has filtered are filtered anew where the history has them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from scrapy.settings import Settings

from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.learning.models import SiteState
from contentspider.crawl.revisits.refilter import Refilter
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.vote.objections import Objection
from contentspider.state.files.output import JsonLinesWriter
from contentspider.state.ledger.items import ItemBinding
from contentspider.state.ledger.visits import Answer, StoredVisit, Visit
from tests.conftest import read_jsonl
from tests.recrawled import FINISHED, SITE, OneCrawl, address
from tests.sites import article, prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

FAST = ("-s", "RETRY_TIMES=0", "-s", "CONTENTSPIDER_OUTAGE_SECS=1")


def options(**values: object) -> CrawlOptions:
    named = {f"CONTENTSPIDER_{name.upper()}": value for name, value in values.items()}
    return CrawlOptions.from_settings(Settings(named))


def test_refiltered_items_keep_their_passages() -> None:
    pages = [Page.from_html(article(number), f"https://e.org/{number}") for number in range(9)]
    state = SiteState("e.org")
    state.use(SiteLearner("e.org").fit(pages))
    without = Refilter(cast("Any", None), {"e.org": state}, options())
    assert without.fields(state, pages[1])["passages"] == []
    found = Refilter(cast("Any", None), {"e.org": state}, options(passages=100))
    assert all(len(each["text"]) <= 100 for each in found.fields(state, pages[1])["passages"])
    assert found.fields(state, pages[1])["passages"]


def test_unread_pages_are_refiltered_by_current_model(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    items = again.crawl()
    again.changes()
    (path,) = (tmp_path / ".scrapy/contentspider/history").glob("*.sqlite")
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
        path: ("changed", "model", items[path]["content_hash"]) for path in ("/3", "/4")
    }
    again.answers = {}
    again.crawl()
    assert again.changes() == {}


def test_pages_read_before_new_model_are_stored_as_it_filters_them(
    site: Site, tmp_path: Path
) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl("-s", "CONTENTSPIDER_LEARN_PAGES=5")
    (path,) = (tmp_path / ".scrapy/contentspider/history").glob("*.sqlite")
    with closing(sqlite3.connect(path)) as history:
        models = dict(history.execute("SELECT model, count(*) FROM pages GROUP BY model"))
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
    for number, page in zip(numbers, pages, strict=True):
        if number == 6:
            crawl.state.use(learned)
        fields = crawl.see(f"/{number}", article(number))
        line = json.dumps(fields).encode()
        hand = ItemBinding(page, key=str(number), page_id=str(fields["id"]))
        assert crawl.ledger.items.record(hand, line)
        output.write(line)
    asyncio.run(crawl.revisits.end(FINISHED))
    assert crawl.revisits.has_refilled
    output.rewrite(crawl.ledger.items.lines())
    output.publish()
    output.close()
    crawl.close()
    items = read_jsonl(tmp_path / "pages.jsonl")
    assert [item["content"] for item in items] == [learned.extract(page).text for page in pages]
    assert {item["model_version"] for item in items} == {learned.version}
    assert {item["change"] for item in items} == {"new"}


def test_numeric_differences_are_forgotten_when_page_is_refiltered() -> None:
    pages = [Page.from_html(article(number), f"https://e.org/{number}") for number in range(9)]
    state = SiteState("e.org")
    state.use(SiteLearner("e.org").fit(pages))
    history = SimpleNamespace(content=lambda _: "Posts: 4", stored=lambda _: pages[2])
    refilter = Refilter(cast("Any", history), {"e.org": state}, options())
    visit = Visit(
        *("1", pages[1].url, "e.org", "", "changed", 0.1, "page", "as it was cut", "", "earlier"),
        *("", "", "before", "", "", ("body/p\tPosts: 0",)),
    )
    found = refilter.visit(StoredVisit(1, visit, Answer(), None, pages[1].dump())).visit
    assert (found.change, found.model) == ("changed", state.version)
    assert (found.numbered, found.is_recut) == ((), False)


def test_numeric_differences_are_recomputed_when_page_is_refiltered() -> None:
    pages = [Page.from_html(article(number), f"https://e.org/{number}") for number in range(9)]
    state = SiteState("e.org")
    state.use(SiteLearner("e.org").fit(pages))
    before, now = (
        Page.from_html(article(1).replace("Page 1", f"Page {number}"), pages[1].url)
        for number in (7, 8)
    )
    history = SimpleNamespace(content=lambda _: "Page 7", stored=lambda _: before)
    refilter = Refilter(cast("Any", history), {"e.org": state}, options())
    visit = Visit(
        *("1", now.url, "e.org", "", "changed", 0.1, "page", "as it was cut", "", "earlier"),
        *("", "", "before", "", "", ("body/p\tPage 0",)),
    )
    found = refilter.visit(StoredVisit(1, visit, Answer(), None, now.dump())).visit
    (place,) = found.numbered
    assert place.endswith("\tPage 0") and found.is_recut
