"""What a crawl makes of pages that an earlier one knew, page by page."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.crawl.revisits import revisits as module
from contentspider.ground.times import now
from contentspider.page.input.page import Page
from contentspider.recrawl.judge import judge
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.record import page_id
from contentspider.state.history.draft import DraftCheck
from contentspider.state.history.history import History
from contentspider.state.history.writer import HistoryWriter
from contentspider.state.ledger.visits import Answer
from contentspider.state.outcome import Ending
from tests.conftest import TIMEOUT
from tests.recrawled import FINISHED, SITE, Crawls, OneCrawl, address, records
from tests.sites import article, prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.models.model import SiteModel


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    """Yield the crawls of a site of four articles."""
    made = Crawls(tmp_path / "history.sqlite")
    yield made
    made.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Crawls]:
    """Yield the crawls of a site before the first one."""
    made = Crawls(tmp_path / "history.sqlite", count=0)
    yield made
    made.close()


@pytest.fixture(scope="module")
def model() -> SiteModel:
    pages = [Page.from_html(article(number), address(f"/{number}")) for number in range(9)]
    return SiteLearner(SITE).fit(pages)


@pytest.mark.parametrize(
    ("picture", "caption", "later", "change"),
    [
        ("<img src=/tea.jpg alt=Tea>", "1001 views", "1008 views", "unchanged"),
        ("<img src=/tea.jpg alt=Tea>", "1001 views", "A cup of tea", "changed"),
        ("<img src=/tea.jpg alt=Tea>", "For 41 kr", "For 45 kr", "changed"),
        ("", "Release 12", "Release 13", "changed"),
        ("<img src=/tea.jpg alt=Tea>", prose(1) + " 12", prose(1) + " 13", "changed"),
    ],
)
def test_number_below_picture_without_text_is_counter(
    fresh: Crawls, picture: str, caption: str, later: str, change: str
) -> None:
    page = "<article><h1>Photo</h1>{}<p>{}</p></article>"
    crawl = fresh.begin()
    crawl.see("/photo", page.format(picture, caption))
    crawl.end()
    crawl = fresh.begin()
    assert crawl.see("/photo", page.format(picture, later))["change"] == change


def edited(number: int) -> str:
    return article(number).replace(prose(number, 1), prose("edited", number))


def test_page_is_new_then_unchanged_then_changed(fresh: Crawls) -> None:
    crawl = fresh.begin()
    assert crawl.revisits.is_first
    first = crawl.see("/1", article(1))
    assert (first["change"], first["change_ratio"]) == ("new", 1.0)
    assert first["first_seen"] == first["changed_at"] == first["crawled_at"]
    crawl.see("/2", article(2))
    assert crawl.end() == {"new": 2}
    crawl = fresh.begin()
    assert not crawl.revisits.is_first
    again = crawl.see("/1", article(1))
    assert (again["change"], again["change_ratio"]) == ("unchanged", 0.0)
    assert (again["first_seen"], again["changed_at"]) == (first["first_seen"], first["changed_at"])
    assert crawl.ledger.visits.content(again["id"]) is None, "the history has it"
    assert crawl.see("/3", article(3))["change"] == "new"
    changed = crawl.see("/2", edited(2))
    assert changed["change"] == "changed"
    assert 0 < changed["change_ratio"] < 0.9
    assert changed["first_seen"] < changed["changed_at"] == changed["crawled_at"]
    assert crawl.end() == {"new": 1, "changed": 1, "unchanged": 1}
    known = fresh.known()
    assert known.content(page_id(address("/2"))) == changed["content"]
    assert known.content(page_id(address("/2")), before=True) != changed["content"]
    known.close()


def test_page_of_visit_is_stored_unless_history_has_it(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.see("/1", article(1))
    crawl.see("/2", edited(2))
    crawl.see("/5", article(1), named="/5")
    pages = {seen.visit.url: seen.page for seen in crawl.ledger.visits.after(0)}
    assert pages[address("/1")] is None
    assert pages[address("/2")] is not None
    assert pages[address("/5")] is not None


def test_page_that_was_not_sent_is_not_stored_again_although_its_owner_marked_text(
    fresh: Crawls,
) -> None:
    marked = article(1).replace("</article>", f"<p data-nosnippet>{prose('mark')}</p></article>")
    first = fresh.begin()
    first.see("/1", marked)
    first.end()
    crawl = fresh.begin()
    page = crawl.revisits.stored_page(page_id(address("/1")))
    assert page is not None
    assert page.content.has_left_out
    for is_unsent in (False, True):
        crawl.see("/1", page, is_unsent=is_unsent)
        (seen,) = crawl.ledger.visits.after(0)
        assert (seen.page is None) is is_unsent
        assert seen.visit.facts.difference == ""
    crawl.end()
    known = fresh.known()
    assert known.stored(page_id(address("/1"))) == page
    known.close()


def test_record_of_page_is_read_from_the_history_once_until_a_crawl_is_written(
    crawls: Crawls,
) -> None:
    crawl = crawls.begin()
    revisits, before = crawl.revisits, crawl.revisits.known_page(address("/1"))
    assert revisits.known_page(address("/1")) is before
    crawl.see("/1", edited(1))
    asyncio.run(revisits.end(FINISHED))
    after = revisits.known_page(address("/1"))
    assert before is not None
    assert after is not None
    assert after.content_hash != before.content_hash
    crawl.close()


def test_resumed_crawl_keeps_its_id_and_stores_visits_once(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.see("/1", edited(1))
    name = crawl.ledger.runs.fact("crawl")
    assert name
    assert asyncio.run(crawl.revisits.end(Ending("finished", 1)))["changed"] == 1
    crawl.resume()
    assert crawl.ledger.runs.fact("crawl") == name
    crawl.see("/2", edited(2))
    assert crawl.end()["changed"] == 1, "the visit of /1 is in the history already"


class StoppedError(Exception):
    """A signal came while the history was written."""


def test_signal_ends_the_search_for_pages_that_another_model_filtered(
    crawls: Crawls, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = crawls.begin()
    for number in range(1, 5):
        crawl.see(f"/{number}", article(number))
    compared: list[str] = []
    plain = crawl.revisits._refilter.is_outdated

    def is_outdated(site: str, model: str) -> bool:
        compared.append(site)
        return plain(site, model)

    monkeypatch.setattr(crawl.revisits._refilter, "is_outdated", is_outdated)

    async def stop(written: int, pages: int) -> None:
        if len(compared) == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        asyncio.run(crawl.revisits.end(FINISHED, pause=stop))
    assert len(compared) == 2
    crawl.close()


def test_signal_ends_the_check_of_the_draft_of_an_earlier_run(
    crawls: Crawls, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = crawls.begin()
    crawl.see("/1", edited(1))
    is_begun, is_interrupted = Event(), Event()

    def slow_run(check: DraftCheck) -> None:
        is_begun.set()
        assert is_interrupted.wait(TIMEOUT)

    monkeypatch.setattr(DraftCheck, "run", slow_run)
    monkeypatch.setattr(DraftCheck, "interrupt", lambda check: is_interrupted.set())

    async def stop(written: int, pages: int) -> None:
        if is_begun.is_set():
            raise StoppedError

    with pytest.raises(StoppedError):
        asyncio.run(crawl.revisits.end(FINISHED, pause=stop))
    assert is_interrupted.is_set()
    crawl.close()


def changed_crawl(history: Path) -> OneCrawl:
    """Return a crawl of eight known pages: one is edited, one moved, one gone, and two are new."""
    crawl = OneCrawl(history)
    crawl.address("/4", "failed", "HTTP 404")
    crawl.see("/moved", article(3), Answer(moved_from=((address("/3"), "HTTP 301"),)))
    crawl.see("/2", edited(2))
    for number in (1, 5, 6, 7, 8, 9, 10):
        crawl.see(f"/{number}", article(number))
    return crawl


def whole(history: Path) -> list[Any]:
    """Return all that a history says, but for the times at which that was written."""
    with closing(History(history, read_only=True)) as known:
        pages = known._database.rows(
            "SELECT id, state, missing, seq, content FROM pages ORDER BY 1"
        )
        changes = known._database.rows(
            "SELECT seq, crawl, url, change, change_ratio, reason, previous_id FROM changes"
        )
        return [*pages, *changes]


def test_history_continues_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", 2)
    Crawls(tmp_path / "before.sqlite", count=8).close()

    def copy(name: str) -> Path:
        return Path(shutil.copy(tmp_path / "before.sqlite", tmp_path / name))

    path = copy("expected.sqlite")
    counts = changed_crawl(path).end()
    assert counts == {"new": 2, "changed": 1, "moved": 1, "gone": 1, "unchanged": 5}
    expected = whole(path)
    pauses = 0

    async def pause(written: int, pages: int) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == stop:
            raise StoppedError

    writes: list[int] = []
    written_again = []
    add_visit = HistoryWriter.add_visit
    monkeypatch.setattr(
        HistoryWriter, "add_visit", lambda *values: writes.append(1) or add_visit(*values)
    )
    for stop in range(3, 80, 7):
        pauses, path = 0, copy(f"{stop}.sqlite")
        before = whole(path)
        crawl = changed_crawl(path)
        with suppress(StoppedError):
            asyncio.run(crawl.revisits.end(FINISHED, pause=pause))
            break
        writes.clear()
        crawl.resume()
        assert whole(path) == before, "readers see nothing of it"
        assert crawl.end() == counts
        assert whole(path) == expected, stop
        written_again.append(len(writes))
    assert written_again[0] == 9, "nothing was kept"
    assert written_again[-1] == 1, "of nine visits, eight were kept"


@pytest.mark.parametrize("is_redirect", [True, False])
def test_moved_page_keeps_its_first_seen_date(is_redirect: bool, crawls: Crawls) -> None:
    crawl = crawls.begin()
    answer = Answer(moved_from=((address("/1"), "HTTP 301"),))
    if is_redirect:
        moved = crawl.see("/new", article(1), answer)
    else:
        moved = crawl.see("/1", article(1), named="/new")
    assert moved["change"] == "moved"
    assert moved["change_ratio"] == 0.0
    assert moved["first_seen"] < moved["crawled_at"]
    assert moved["changed_at"] < moved["crawled_at"]
    (seen,) = crawl.ledger.visits.after(0)
    assert seen.visit.previous_id == page_id(address("/1"))
    assert seen.content == moved["content"]
    assert seen.page is not None
    for number in (2, 3, 4):
        crawl.see(f"/{number}", article(number))
    crawl.end()
    how = "HTTP 301" if is_redirect else "canonical"
    assert records(crawls.history)[4:] == [("/new", "moved", how)]


def test_page_does_not_count_as_moved_from_page_still_present(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.see("/1", article(1))
    answer = Answer(moved_from=((address("/1"), "HTTP 301"), (address("/unknown"), "HTTP 301")))
    assert crawl.see("/new", article(1), answer)["change"] == "new"
    assert {seen.visit.reason for seen in crawl.ledger.visits.after(0)} == {""}


def test_known_page_does_not_count_as_moved(crawls: Crawls) -> None:
    crawl = crawls.begin()
    answer = Answer(moved_from=((address("/2"), "HTTP 301"),))
    assert crawl.see("/1", article(1), answer)["change"] == "unchanged"
    (seen,) = crawl.ledger.visits.after(0)
    assert (seen.visit.reason, seen.visit.previous_id) == ("", "")


def test_returning_page_is_new_and_keeps_first_seen_date(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.address("/1", "failed", "HTTP 404")
    for number in (2, 3, 4):
        crawl.see(f"/{number}", article(number))
    assert crawl.end() == {"unchanged": 3, "gone": 1}
    crawl = crawls.begin()
    assert not crawl.revisits.is_known(address("/1"))
    back = crawl.see("/1", article(1))
    assert back["change"] == "new"
    assert back["first_seen"] < back["changed_at"] == back["crawled_at"]


def test_server_with_false_not_modified_responses_gets_no_conditional_requests(
    crawls: Crawls, caplog: pytest.LogCaptureFixture, model: SiteModel
) -> None:
    crawl = crawls.begin()
    crawl.state.use(model)
    for number in range(1, 5):
        crawl.see(f"/{number}", article(number), Answer('"tag"'))
    crawl.end()
    crawl = crawls.begin()
    crawl.state.use(model)
    assert crawl.revisits.page_with_validators(address("/1"), SITE)
    crawl.see("/1", edited(1))
    crawl.see("/2", article(2), Answer(is_check=True))
    assert crawl.revisits.page_with_validators(address("/1"), SITE), "nothing was denied"
    assert "not changed, but it has" not in caplog.text
    crawl.see("/3", edited(3), Answer(is_check=True))
    assert "not changed, but it has" in caplog.text
    assert crawl.revisits.page_with_validators(address("/1"), SITE) is None
    assert crawl.ledger.runs.fact("distrusted") == [SITE]
    crawl.resume()
    assert crawl.revisits.page_with_validators(address("/1"), SITE) is None, "the ledger has it"
    caplog.clear()
    crawl.see("/4", edited(4), Answer(is_check=True))
    assert not caplog.text, "it is said once"
    crawl.end()
    crawl = crawls.begin()
    assert crawl.revisits.page_with_validators(address("/1"), SITE) is None


def test_conditional_requests_need_validators_and_stored_page(
    fresh: Crawls, model: SiteModel
) -> None:
    first = fresh.begin()
    first.see("/5", article(5), Answer('"tag"'))
    first.state.use(model)
    first.see("/1", article(1), Answer('"tag"'))
    first.see("/2", article(2), Answer("", "Monday"))
    first.see("/3", article(3), Answer())
    first.end()
    second = fresh.begin(history_mb=0)
    second.state.use(model)
    second.see("/4", article(4), Answer('"tag"'))
    conditional = second.revisits.page_with_validators
    known = conditional(address("/1"), SITE)
    assert known is not None
    assert (known.etag, known.last_modified) == ('"tag"', "")
    assert conditional(address("/2"), SITE)
    assert conditional(address("/3"), SITE) is None
    assert conditional(address("/5"), SITE) is None, "it was not filtered"
    assert conditional(address("/6"), SITE) is None
    second.end()
    third = fresh.begin()
    assert third.revisits.page_with_validators(address("/4"), SITE) is None, "all of it is not kept"


def test_manually_corrected_page_is_fetched_completely(crawls: Crawls) -> None:
    crawl = crawls.begin()
    page = crawl.revisits.stored_page(page_id(address("/1")))
    assert page is not None
    assert crawl.revisits.stored_page(page_id(address("/6"))) is None
    known = crawl.revisits._history
    corrected = replace(page, corrections="some")  # type: ignore[arg-type]
    known.stored = lambda _: corrected  # type: ignore[method-assign]
    assert crawl.revisits.stored_page(page_id(address("/1"))) is None


def test_history_tells_known_urls_and_their_links(crawls: Crawls) -> None:
    crawl = crawls.begin()
    assert crawl.revisits.is_known(address("/1"))
    assert not crawl.revisits.is_known(address("/6"))
    assert crawl.revisits.previous_links(address("/1")) == {address("/9"): ()}
    assert crawl.revisits.previous_links(address("/6")) == {}
    assert not crawl.revisits.is_deferred(address("/1")), "all pages are asked for"


def test_links_to_known_pages_and_copies_may_wait_until_due(crawls: Crawls) -> None:
    crawl = crawls.begin()
    for number in (2, 3, 4):
        crawl.see(f"/{number}", article(number))
    crawl.see("/new", article(1), Answer(moved_from=((address("/1"), "HTTP 301"),)))
    crawl.end()
    known = crawls.known()
    takeover = known.begin_writing("more", is_complete=False)
    takeover.add_copy(page_id(address("/print")), page_id(address("/2")), address("/print"))
    takeover.commit()
    known.close()
    crawl = crawls.begin(due=True)
    assert [
        crawl.revisits.is_deferred(address(path)) for path in ("/1", "/2", "/new", "/print", "/6")
    ] == [True, True, True, True, False]


@pytest.mark.parametrize(("limit", "asked"), [(3, ["/2", "/3", "/4"]), (1, []), (0, ["/2"])])
def test_missing_known_pages_are_requested_for_limited_number_of_crawls(
    limit: int, asked: list[str], crawls: Crawls
) -> None:
    crawl = crawls.begin(missing_crawls=limit)
    crawl.see("/1", article(1))
    found = list(crawl.revisits.pages_to_visit())
    assert found[: len(asked)] == [address(path) for path in asked]
    assert (not found) == (not asked)


def test_due_crawl_requests_due_known_pages(crawls: Crawls) -> None:
    known = crawls.known()
    known._database.do("UPDATE pages SET last_seen = ?", (now(),))
    known._database.do(
        "UPDATE pages SET last_seen = '2020-01-01T00:00:00+00:00' WHERE url LIKE '%/3'"
    )
    known._database.commit()
    known.close()
    assert list(crawls.begin(due=True).revisits.pages_to_visit()) == [address("/3")]


ERROR = "<title>Oops</title><p>There is nothing at {}, sorry: look elsewhere for it.</p>"


def replacement_kind(
    crawl: OneCrawl, path: str, html: str, has_password: bool = False, content: str = ""
) -> str:
    page = Page.from_html(html, address(path))
    return crawl.revisits.replacement_kind(page, address(path), has_password, lambda: content)


def test_soft_404_replacing_known_page_is_detected(crawls: Crawls) -> None:
    crawl = crawls.begin()
    error = ERROR.format("/1")
    assert replacement_kind(crawl, "/1", article(1)) == ""
    assert replacement_kind(crawl, "/1", edited(1)) == "", "something of it is left"
    assert replacement_kind(crawl, "/1", error) == "unsure"
    assert replacement_kind(crawl, "/6", ERROR.format("/6")) == "", "it was never a page"
    assert replacement_kind(crawl, "/1", error, has_password=True, content="Log in") == "login"
    assert (
        replacement_kind(crawl, "/1", error, has_password=True, content="word " * 200) == "unsure"
    )
    probe = Page.from_html(ERROR.format("/random"), address("/random"))
    crawl.revisits.learn_error_page(probe)
    assert replacement_kind(crawl, "/1", error) == "soft_404"
    assert replacement_kind(crawl, "/6", ERROR.format("/6")) == "soft_404"
    assert replacement_kind(crawl, "/a/6", ERROR.format("/a/6")) == "soft_404", "by the host's root"
    assert replacement_kind(crawl, "/6", article(6)) == ""
    assert replacement_kind(crawl, "/1", "<p>Another page altogether.</p>", content="x") == ""
    crawl.resume()
    assert replacement_kind(crawl, "/1", error) == "soft_404", "the ledger has it"


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ("", "blank"),
        ("<div id=app></div><script>start()</script>", "blank"),
        ("<img src=/boat.jpg>", "blank"),
        ("<p data-nosnippet>The owner excludes all of this page.</p>", ""),
        ("<p>Boat</p>", ""),
    ],
)
def test_blank_page_replaces_known_page_unless_its_owner_excludes_the_text(
    html: str, kind: str, crawls: Crawls
) -> None:
    crawl = crawls.begin()
    crawl.revisits.learn_error_page(Page.from_html("<p>No such page.</p>", address("/random")))
    assert replacement_kind(crawl, "/1", html, content="Boat") == kind
    assert replacement_kind(crawl, "/6", html) == "", "a new page may be pictures only"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Access to this page is denied. Reference #{}", "soft_404"),
        ("Error at {}:07: the database does not answer", "soft_404"),
        ("{}", ""),
        ("Boat {} has a new owner, who sails it to Oslo", ""),
    ],
)
def test_error_page_with_another_number_in_each_answer_is_detected(
    text: str, kind: str, crawls: Crawls
) -> None:
    crawl = crawls.begin()
    denied = (
        "Access to this page is denied. Reference #18.af",
        "Error at 12:07: the database does not answer",
    )
    probe = "".join(f"<p>{line}</p>" for line in (*denied, "77", "Boat"))
    crawl.revisits.learn_error_page(Page.from_html(probe, address("/random")))
    shown = text.format("18.2b")
    assert replacement_kind(crawl, "/1", f"<p>{shown}</p>", content=shown) == kind


def counted(number: int, views: int) -> str:
    return article(number).replace("</h1>", f"</h1><p class=views>Read {views} times</p>")


def test_counter_updates_are_not_page_changes(fresh: Crawls) -> None:
    for times, expected in ((1, "new"), (2, "changed"), (3, "unchanged")):
        crawl = fresh.begin()
        found = {crawl.see(f"/{n}", counted(n, n * times))["change"] for n in range(1, 12)}
        assert found == {expected}
        assert crawl.end() == ({"new": 11} if times == 1 else {"unchanged": 11})
    crawl = fresh.begin()
    crawl.see("/1", counted(1, 77).replace(prose(1, 1), prose("edited")))
    assert crawl.end()["changed"] == 1


def test_number_changed_on_page_checked_after_304_does_not_distrust_server(fresh: Crawls) -> None:
    crawl = fresh.begin()
    crawl.see("/1", counted(1, 1))
    crawl.end()
    crawl = fresh.begin()
    assert crawl.see("/1", counted(1, 2), Answer(is_check=True))["change"] == "changed"
    assert crawl.ledger.runs.fact("distrusted") is None


def test_page_extracted_differently_by_new_model_changes_by_model(
    crawls: Crawls, model: SiteModel
) -> None:
    crawl = crawls.begin()
    crawl.state.use(model)
    fields = crawl.see("/1", article(1))
    advert = article(2).replace("</footer>", "</footer><div><p>Buy our tea.</p></div>")
    other = crawl.see("/2", advert)
    assert fields["change"] == other["change"] == "refiltered"
    assert fields["changed_at"] < fields["crawled_at"], "not by the page"
    assert {judge(seen.visit.facts).cause for seen in crawl.ledger.visits.after(0)} == {"model"}
    changed = crawl.see("/3", edited(3))
    assert changed["changed_at"] == changed["crawled_at"]
    assert crawl.end() == {"changed": 1, "refiltered": 2, "kept": 1}


def test_unvisited_pages_are_refiltered_by_new_model(fresh: Crawls, model: SiteModel) -> None:
    crawl = fresh.begin()
    crawl.state.use(model)
    for number in (1, 2, 3):
        crawl.see(f"/{number}", article(number))
    crawl.end()
    known = fresh.known()
    known._database.do(
        "UPDATE pages SET content_hash = 'other', model = 'earlier' WHERE url LIKE '%/2'"
    )
    known._database.do("UPDATE pages SET model = 'earlier' WHERE url LIKE '%/3'")
    known._database.commit()
    known.close()
    for is_stored, changed in ((False, 0), (True, 1)):
        crawl = fresh.begin()
        crawl.state.use(model)
        crawl.state.is_stored = is_stored
        crawl.see("/1", article(1))
        assert crawl.end()["refiltered"] == changed


def test_pages_read_before_model_are_stored_as_model_filters_them(
    fresh: Crawls, model: SiteModel
) -> None:
    crawl = fresh.begin()
    crawl.state.use(model)
    before = crawl.see("/1", article(1))
    crawl.state.version = "the next"
    crawl.see("/2", article(2))
    crawl.end()
    known = fresh.known()
    page = known.page(page_id(address("/1")))
    assert page is not None
    assert (page.model, page.content_hash) == ("the next", before["content_hash"])
    known.close()
