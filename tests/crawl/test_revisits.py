"""What a crawl makes of pages that an earlier one knew, page by page."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.ground.times import now
from contentspider.page.input.page import Page
from contentspider.site.models.identity import page_id
from contentspider.state.book.answers import Answer
from contentspider.state.book.book import Book
from contentspider.state.book.pages import PUBLISHED
from contentspider.state.outcome import Ending
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
    assert crawl.hand.text is None, "the book has it"
    assert crawl.see("/3", article(3))["change"] == "new"
    changed = crawl.see("/2", edited(2))
    crawl.release(changed)
    assert changed["change"] == "changed"
    assert 0 < changed["change_ratio"] < 0.9
    assert changed["first_seen"] < changed["changed_at"] == changed["crawled_at"]
    assert crawl.end() == {"new": 1, "changed": 1, "unchanged": 1}
    known = fresh.known()
    assert known.known.content(page_id(address("/2"))) == changed["content"]
    assert known.known.content(page_id(address("/2")), before=True) != changed["content"]
    known.close()


def is_stored_again(crawl: OneCrawl, path: str) -> bool:
    """Tell whether a crawl has stored the blocks of a page that it has visited."""
    found, known = (
        version(page_id(address(path)))
        for version in (crawl.book.pages.found, crawl.book.pages.known)
    )
    assert found is not None
    return known is None or found.page != known.page


def test_page_of_visit_is_stored_unless_book_has_it(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.see("/1", article(1))
    crawl.see("/2", edited(2))
    crawl.see("/5", article(1), named="/5")
    stored = [is_stored_again(crawl, path) for path in ("/1", "/2", "/5")]
    assert stored == [False, True, True]


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
        seen = crawl.see("/1", page, is_unsent=is_unsent)
        assert is_stored_again(crawl, "/1") is not is_unsent
        assert seen["change"] == "unchanged"
    crawl.end()
    known = fresh.known()
    assert known.known.stored(page_id(address("/1"))) == page
    known.close()


def test_version_of_page_is_read_once_until_a_crawl_is_published(
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


def test_resumed_crawl_keeps_its_number_and_publishes_visits_once(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.see("/1", edited(1))
    number = crawl.book.runs.crawl
    assert asyncio.run(crawl.revisits.end(Ending("finished", 1)))["changed"] == 1
    crawl.resume()
    assert crawl.book.runs.crawl == number
    crawl.see("/2", edited(2))
    assert crawl.end()["changed"] == 1, "the visit of /1 is published already"


class StoppedError(Exception):
    """A signal came while the end of the crawl was written."""


def changed_crawl(history: Path) -> OneCrawl:
    """Return a crawl of eight known pages: one is edited, one moved, one gone, and two are new."""
    crawl = OneCrawl(history)
    crawl.address("/4", "failed", "HTTP 404")
    crawl.see("/moved", article(3), Answer(moved_from=((address("/3"), "HTTP 301"),)))
    crawl.see("/2", edited(2))
    for number in (1, 5, 6, 7, 8, 9, 10):
        crawl.see(f"/{number}", article(number))
    return crawl


def whole(path: Path) -> list[Any]:
    """Return all that readers see of a book, but for the times at which that was written."""
    with closing(Book(path, read_only=True)) as book:
        pages = [
            (page.id, page.state, page.missing, page.text_hash, book.known.content(page.id))
            for page in book.pages.select(f"{PUBLISHED} ORDER BY id")
        ]
        names = ("url", "change", "change_ratio", "reason", "previous_id")
        changes = [tuple(record[name] for name in names) for record in book.changes.records()]
        return [*pages, *changes]


def test_end_of_a_crawl_that_was_stopped_begins_anew(tmp_path: Path) -> None:
    Crawls(tmp_path / "before.sqlite", count=8).close()

    def copy(name: str) -> Path:
        return Path(shutil.copy(tmp_path / "before.sqlite", tmp_path / name))

    path = copy("expected.sqlite")
    counts = changed_crawl(path).end()
    assert counts == {"new": 2, "changed": 1, "moved": 1, "gone": 1, "unchanged": 5}
    expected = whole(path)
    pauses = stopped = 0

    async def pause(step: str) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == stop:
            raise StoppedError

    for stop in range(3, 80, 7):
        pauses, path = 0, copy(f"{stop}.sqlite")
        before = whole(path)
        crawl = changed_crawl(path)
        with suppress(StoppedError):
            asyncio.run(crawl.revisits.end(FINISHED, pause=pause))
            crawl.close()
            break
        stopped += 1
        crawl.resume()
        assert whole(path) == before, "readers see nothing of it"
        assert crawl.end() == counts
        assert whole(path) == expected, stop
    assert stopped > 3


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
    crawl.release(moved)
    version = crawl.book.pages.found(moved["id"])
    assert version is not None
    assert crawl.book.changes.of_visit(version.record)[0] == page_id(address("/1"))
    assert crawl.book.pages.text(version.content) == moved["content"]
    assert version.page is not None
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
    assert not list(crawl.book.changes.moves())


def test_known_page_does_not_count_as_moved(crawls: Crawls) -> None:
    crawl = crawls.begin()
    answer = Answer(moved_from=((address("/2"), "HTTP 301"),))
    assert crawl.see("/1", article(1), answer)["change"] == "unchanged"
    assert not list(crawl.book.changes.moves())


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
    assert crawl.book.runs.fact("distrusted") == [SITE]
    crawl.resume()
    assert crawl.revisits.page_with_validators(address("/1"), SITE) is None, "the book has it"
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
    second = fresh.begin(book_mb=0)
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
    known = crawl.revisits._known
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
    copy, original = page_id(address("/print")), page_id(address("/2"))
    known.copies.add(copy, original, address("/print"), known.pages.published, known.runs.crawl)
    known.commit()
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
    known.database.do("UPDATE pages SET last_seen = ?", (now(),))
    known.database.do(
        "UPDATE pages SET last_seen = '2020-01-01T00:00:00+00:00' WHERE url LIKE '%/3'"
    )
    known.commit()
    known.close()
    assert list(crawls.begin(due=True).revisits.pages_to_visit()) == [address("/3")]


ERROR = "<title>Oops</title><p>There is nothing at {}, sorry: look elsewhere for it.</p>"


def replacement_kind(
    crawl: OneCrawl, path: str, html: str, has_password: bool = False, content: str = ""
) -> str:
    page = Page.from_html(html, address(path))
    return crawl.revisits.replaced.kind(page, address(path), has_password, lambda: content)


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
    crawl.revisits.replaced.learn_error_page(probe)
    assert replacement_kind(crawl, "/1", error) == "soft_404"
    assert replacement_kind(crawl, "/6", ERROR.format("/6")) == "soft_404"
    assert replacement_kind(crawl, "/a/6", ERROR.format("/a/6")) == "soft_404", "by the host's root"
    assert replacement_kind(crawl, "/6", article(6)) == ""
    assert replacement_kind(crawl, "/1", "<p>Another page altogether.</p>", content="x") == ""
    crawl.resume()
    assert replacement_kind(crawl, "/1", error) == "soft_404", "the book has it"


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
    crawl.revisits.replaced.learn_error_page(
        Page.from_html("<p>No such page.</p>", address("/random"))
    )
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
    crawl.revisits.replaced.learn_error_page(Page.from_html(probe, address("/random")))
    shown = text.format("18.2b")
    assert replacement_kind(crawl, "/1", f"<p>{shown}</p>", content=shown) == kind


def counted(number: int, views: int) -> str:
    return article(number).replace("</h1>", f"</h1><p class=views>Read {views} times</p>")


def test_counter_updates_are_not_page_changes(fresh: Crawls) -> None:
    for times, expected in ((1, "new"), (2, "changed"), (3, "unchanged")):
        crawl = fresh.begin()
        found = {crawl.see(f"/{n}", counted(n, n * times))["change"] for n in range(1, 12)}
        assert found == {expected}
        counts = {"new": 11} if times == 1 else {"unchanged": 11, "ignored": 11}
        assert crawl.end() == counts
    crawl = fresh.begin()
    crawl.see("/1", counted(1, 77).replace(prose(1, 1), prose("edited")))
    assert crawl.end()["changed"] == 1


def test_number_changed_on_page_checked_after_304_does_not_distrust_server(fresh: Crawls) -> None:
    crawl = fresh.begin()
    crawl.see("/1", counted(1, 1))
    crawl.end()
    crawl = fresh.begin()
    assert crawl.see("/1", counted(1, 2), Answer(is_check=True))["change"] == "changed"
    assert crawl.book.runs.fact("distrusted") is None


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
    causes = "SELECT DISTINCT change_cause FROM changes WHERE change = 'refiltered'"
    assert list(crawl.book.database.rows(causes)) == [("model",)]
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
    known.database.do(
        "UPDATE pages SET content_hash = 'other', model = 'earlier' WHERE url LIKE '%/2'"
    )
    known.database.do("UPDATE pages SET model = 'earlier' WHERE url LIKE '%/3'")
    known.commit()
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
    page = known.known.page(page_id(address("/1")))
    assert page is not None
    assert (page.model, page.content_hash) == ("the next", before["content_hash"])
    known.close()
