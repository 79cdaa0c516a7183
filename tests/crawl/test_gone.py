"""Which known pages are gone or moved when a crawl ends, and which are not."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.base.outcomes import OFFSITE
from contentspider.crawl.learning.site_items import site_page
from contentspider.crawl.revisits.gone import GonePages
from contentspider.page.input.page import Page
from contentspider.state.book.answers import Answer
from contentspider.state.book.broken import FAILED_CRAWLS
from contentspider.state.book.losses import Losses
from contentspider.state.crawls import books
from contentspider.state.outcome import KNOWN_BROKEN, Ending
from tests.recrawled import SITE, Crawls, OneCrawl, address, records
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    """Yield the crawls of a site of 20 articles."""
    made = Crawls(tmp_path / "history.sqlite", count=20)
    yield made
    made.close()


def seen_but(crawl: OneCrawl, *lost: int) -> OneCrawl:
    """Visit the site's pages but some."""
    for number in range(1, 21):
        if number not in lost:
            crawl.see(f"/{number}", article(number))
    return crawl


def accept_gone(crawls: Crawls) -> int:
    crawls.close()
    return books.accept_gone(crawls.history)


def found(crawls: Crawls) -> list[tuple[str, str, str]]:
    return records(crawls.history)[20:]


@pytest.mark.parametrize(
    ("state", "reason", "is_gone"),
    [
        ("failed", "HTTP 404", True),
        ("failed", "HTTP 410", True),
        ("failed", "HTTP 500", False),
        ("failed", "timeout", False),
        ("skipped", "noindex", True),
        ("skipped", "robots", False),
        ("skipped", "HTTP 404", False),
        ("skipped", f"{OFFSITE}: other.org", False),
        ("redirected", "HTTP 301", False),
    ],
)
def test_page_is_gone_if_server_reports_it(
    state: str, reason: str, is_gone: bool, crawls: Crawls
) -> None:
    crawl = seen_but(crawls.begin(), 7)
    crawl.address("/7", state, reason)
    counts = crawl.end()
    assert (counts["gone"], counts["kept"]) == ((1, 0) if is_gone else (0, 1))
    assert found(crawls) == ([("/7", "gone", reason)] if is_gone else [])


@pytest.mark.parametrize(
    ("values", "ending", "is_gone"),
    [
        ({"site_item": True}, Ending("finished", 1), True),
        ({"site_item": True}, Ending("shutdown", 1), False),
        ({"site_item": True, "due": True}, Ending("finished", 1), False),
        ({}, Ending("finished", 1), True),
        ({"due": True}, Ending("finished", 1), False),
    ],
)
def test_item_of_a_site_is_gone_if_a_whole_crawl_does_not_yield_it(
    values: dict[str, object], ending: Ending, is_gone: bool, crawls: Crawls
) -> None:
    crawl = seen_but(crawls.begin(site_item=True))
    shared = site_page(SITE, [Page.from_html(article(1), address(f"/{n}")) for n in range(5)])
    assert shared is not None
    path = shared.url.removeprefix(address(""))
    crawl.see(path, shared)
    crawl.end()
    crawl = seen_but(crawls.begin())
    crawl.options = replace(crawl.options, **values)
    crawl.resume()
    crawl.end(ending)
    gone = [record[0] for record in records(crawls.history) if record[1] == "gone"]
    assert gone == ([path] if is_gone else [])


def test_page_to_be_retried_is_not_gone(crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), 7)
    crawl.address("/7", "retry", "HTTP 404")
    assert crawl.end()["kept"] == 1


@pytest.mark.parametrize("how", ["HTTP 301", "HTTP 308", "HTTP 302"])
def test_page_permanently_redirected_off_site_is_gone(how: str, crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), 7)
    crawl.address("/7", "redirected", how, target="http://other.org/")
    frontier = crawl.book.frontier
    row = frontier.enqueue(b"other", "http://other.org/", 0, "{}")
    frontier.queue.take()
    frontier.finish(row, "skipped", f"{OFFSITE}: other.org")
    assert crawl.end()["gone"] == (how != "HTTP 302")


def test_permanent_redirects_move_pages_to_their_targets(crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), 5, 6, 7, 8, 9)
    for number, how in ((5, "HTTP 301"), (6, "HTTP 302"), (7, "HTTP 301")):
        crawl.address(f"/{number}", "redirected", how, target=address(f"/to/{number}"))
    crawl.address("/to/7", "redirected", "HTTP 308", target=address("/end"))
    crawl.address("/8", "redirected", "HTTP 301", target=address("/8"))
    for path in ("/to/5", "/to/6", "/end"):
        crawl.see(path, article(int(path[-1]) if path != "/end" else 7))
    counts = crawl.end()
    assert (counts["moved"], counts["new"], counts["kept"]) == (2, 1, 3)
    moved = [record for record in found(crawls) if record[1] == "moved"]
    assert moved == [("/to/5", "moved", "HTTP 301"), ("/end", "moved", "HTTP 301")]


def test_page_redirecting_to_known_page_is_moved(crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), 7)
    crawl.address("/7", "redirected", "HTTP 301", target=address("/3"))
    assert crawl.end() == {"unchanged": 19, "moved": 1}
    assert found(crawls) == [("/3", "moved", "HTTP 301")]


@pytest.mark.parametrize(
    ("redirected", "force", "moved"), [(6, False, 6), (7, False, 0), (19, False, 0), (19, True, 19)]
)
def test_redirect_of_many_pages_to_one_known_page_is_doubted(
    redirected: int, force: bool, moved: int, crawls: Crawls
) -> None:
    numbers = range(2, redirected + 2)
    crawl = seen_but(crawls.begin(force=force), *numbers)
    for number in numbers:
        crawl.address(f"/{number}", "redirected", "HTTP 301", target=address("/1"))
    counts = crawl.end()
    assert (counts["moved"], counts["doubted"]) == (moved, redirected - moved)
    assert len(found(crawls)) == moved
    if not moved:
        assert accept_gone(crawls) == redirected
        reasons = {reason for _, change, reason in found(crawls) if change == "gone"}
        assert reasons == {f"HTTP 301 to {address('/1')}"}


@pytest.mark.parametrize(("text", "moved"), [(1, 7), (99, 0)])
def test_redirects_of_many_pages_to_a_known_page_with_their_text_are_no_loss(
    text: int, moved: int, crawls: Crawls
) -> None:
    numbers = range(2, 9)
    crawl = seen_but(crawls.begin(), *numbers)
    for number in numbers:
        crawl.see(f"/{number}", article(text))
    crawl.end()
    crawl = seen_but(crawls.begin(), *numbers)
    for number in numbers:
        crawl.address(f"/{number}", "redirected", "HTTP 301", target=address("/1"))
    counts = crawl.end()
    assert (counts["moved"], counts["doubted"]) == (moved, 7 - moved)


@pytest.mark.parametrize(("relaunched", "gone"), [(20, 20), (15, 20), (13, 13)])
def test_pages_whose_text_is_at_a_new_address_are_not_doubted(
    relaunched: int, gone: int, crawls: Crawls
) -> None:
    crawl = crawls.begin()
    for number in range(1, 21):
        crawl.address(f"/{number}", "failed", "HTTP 404")
    for number in range(1, relaunched + 1):
        crawl.see(f"/story/{number}", article(number))
    counts = crawl.end()
    assert (counts["gone"], counts["doubted"]) == (gone, 20 - gone)
    assert counts["new"] == relaunched


def test_new_page_replaces_one_of_the_pages_with_its_text(tmp_path: Path) -> None:
    crawls = Crawls(tmp_path / "same.sqlite", count=0)
    crawl = crawls.begin()
    for number in range(1, 21):
        crawl.see(f"/{number}", article(1))
    crawl.end()
    crawl = crawls.begin()
    for number in range(1, 21):
        crawl.address(f"/{number}", "failed", "HTTP 404")
    crawl.see("/story", article(1))
    assert crawl.end()["doubted"] == 19
    crawls.close()


def test_redirect_of_all_pages_to_a_new_page_moves_one_of_them(crawls: Crawls) -> None:
    crawl = crawls.begin()
    for number in range(1, 21):
        crawl.address(f"/{number}", "redirected", "HTTP 308", target=address("/closed"))
    crawl.see("/closed", article(99))
    counts = crawl.end()
    assert (counts["moved"], counts["doubted"]) == (1, 19)


@pytest.mark.parametrize(("text", "is_same"), [(7, True), (8, False)])
def test_moved_page_is_compared_with_its_earlier_version_whichever_was_read_first(
    text: int, is_same: bool, crawls: Crawls
) -> None:
    crawl = seen_but(crawls.begin(), 7)
    crawl.see("/new", article(text))
    crawl.address("/7", "redirected", "HTTP 301", target=address("/new"))
    assert crawl.end()["moved"] == 1
    known = crawls.known()
    (record,) = known.changes.records(kinds=("moved",))
    known.close()
    assert record["previous_url"] == address("/7")
    assert record["change_cause"] == ("" if is_same else "page")
    assert (record["change_ratio"] == 0) == is_same
    assert record["change_ratio"] < 1, "the texts of both pages share words"


def test_resumed_crawl_compares_moved_page_by_a_model_that_it_loads(crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), 7)
    crawl.see("/new", article(8))
    crawl.address("/7", "redirected", "HTTP 301", target=address("/new"))
    crawl.resume()
    crawl.revisits.state_of = {SITE: crawl.state}.__getitem__
    assert crawl.end()["moved"] == 1
    known = crawls.known()
    (record,) = known.changes.records(kinds=("moved",))
    known.close()
    assert record["change_cause"] == "page"
    assert 0 < record["change_ratio"] < 1, "the texts of both pages share words"


def test_page_naming_other_canonical_is_moved(crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), 7)
    row = crawl.address("/7", "skipped", "duplicate")
    crawl.book.claims.claim([], row, canonical=address("/3"))
    assert crawl.end() == {"unchanged": 19, "moved": 1}
    assert found(crawls) == [("/3", "moved", "canonical")]


def test_page_read_under_new_url_is_moved_once(crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), 7)
    crawl.address("/7", "redirected", "HTTP 301", target=address("/new"))
    crawl.see("/new", article(7), Answer(moved_from=((address("/7"), "HTTP 301"),)))
    assert crawl.end() == {"unchanged": 19, "moved": 1}


def test_orphan_page_is_gone_after_several_crawls(crawls: Crawls) -> None:
    for gone in (0, 0, 1):
        crawl = seen_but(crawls.begin(missing_crawls=2), 7)
        if not gone:
            crawl.see("/7", article(7), Answer(is_orphan=True))
        assert crawl.end()["gone"] == gone
    assert found(crawls) == [("/7", "gone", "no page linked to it in 3 crawls")]


@pytest.mark.parametrize(
    ("state", "reason", "is_gone"),
    [
        ("redirected", "HTTP 302", True),
        ("skipped", "soft_404", True),
        ("skipped", "login", True),
        ("skipped", "not_html", True),
        ("failed", "HTTP 403", True),
        ("failed", "HTTP 429", False),
        ("failed", "HTTP 500", False),
        ("failed", "timeout", False),
        ("skipped", "robots", False),
    ],
)
def test_replaced_page_is_gone_after_crawls_without_links_to_it(
    state: str, reason: str, is_gone: bool, crawls: Crawls
) -> None:
    def crawl(is_orphan: bool) -> int:
        crawl = seen_but(crawls.begin(), 7)
        if not is_orphan or address("/7") in crawl.revisits.pages_to_visit():
            row = crawl.address("/7", state, reason, target=address("/error"))
            crawl.book.answers.put(row, Answer(is_orphan=is_orphan))
        return crawl.end()["gone"]

    # Crawls count in a row: a link in between begins anew.
    assert [crawl(is_orphan) for is_orphan in (True, True, False, True, True)] == [0] * 5
    if is_gone:
        assert (crawl(is_orphan=True), crawl(is_orphan=True)) == (1, 0)
        assert found(crawls) == [("/7", "gone", "no page linked to it in 3 crawls")]
    else:
        assert (crawl(is_orphan=True), found(crawls)) == (0, [])


def test_page_to_be_retried_does_not_count_as_missing(crawls: Crawls) -> None:
    for _ in range(4):
        crawl = seen_but(crawls.begin(), 7)
        row = crawl.address("/7", "retry", "HTTP 403")
        crawl.book.answers.put(row, Answer(is_orphan=True))
        assert crawl.end()["gone"] == 0


def excluded(*numbers: int) -> Callable[[str, bool], str]:
    """Return what excludes the pages of these numbers."""
    addresses = {address(f"/{number}") for number in numbers}
    return lambda url, is_over: "excluded by /x*" if url in addresses else ""


@pytest.mark.parametrize("ending", ["finished", "max_pages"])
@pytest.mark.parametrize("due", [False, True])
def test_excluded_pages_are_gone_however_crawl_ends(ending: str, due: bool, crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(due=due), 7, 8)
    assert asyncio.run(crawl.revisits.end(Ending(ending, 18), excluded(7)))["gone"] == 1
    crawl.close()
    assert found(crawls) == [("/7", "gone", "excluded by /x*")]
    seen_but(crawls.begin()).end()
    assert found(crawls)[1:] == [("/7", "new", "")], "it is back when it is not excluded any more"


def test_exclusion_of_many_pages_needs_confirmation(crawls: Crawls) -> None:
    numbers = range(1, 10)
    crawl = seen_but(crawls.begin(), *numbers)
    counts = asyncio.run(crawl.revisits.end(Ending("finished", 11), excluded(*numbers)))
    crawl.close()
    assert (counts["gone"], counts["doubted"], counts["excluded"]) == (0, 9, 9)
    assert accept_gone(crawls) == 9
    assert found(crawls)[0] == ("/1", "gone", "excluded by /x*")


@pytest.mark.parametrize(
    ("limit", "ending"),
    [
        (0, Ending("finished", 19)),
        (5, Ending("finished", 19)),
        (1, Ending("closespider_pagecount", 19)),
        (1, Ending("finished", 19, queued=1)),
        (1, Ending("finished", 19, held=1)),
        (1, Ending("finished", 19, unread=2)),
    ],
)
def test_orphan_page_is_not_gone_after_incomplete_crawl(
    limit: int, ending: Ending, crawls: Crawls
) -> None:
    assert seen_but(crawls.begin(missing_crawls=limit), 7).end(ending)["gone"] == 0


@pytest.mark.parametrize(("unread", "gone"), [(1, 1), (2, 0)])
def test_complete_crawl_tolerates_few_unread_pages(unread: int, gone: int, crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(missing_crawls=1), 7)
    assert crawl.end(Ending("finished", 19, unread=unread))["gone"] == gone


@pytest.mark.parametrize(
    ("outcome", "gone"),
    [
        (("skipped", KNOWN_BROKEN), 0),
        (("failed", f"{KNOWN_BROKEN} (HTTP 500)"), 0),
        (("fetched", None), 1),
        (None, 1),
    ],
)
def test_crawl_has_not_seen_links_of_addresses_known_as_broken(
    outcome: tuple[str, str | None] | None, gone: int, crawls: Crawls
) -> None:
    broken = ("/broken", "/bad")
    crawl = seen_but(crawls.begin(missing_crawls=1), 7)
    present = crawl.book.runs.crawl
    for earlier in range(FAILED_CRAWLS, 0, -1):
        crawl.book.broken.begin(present - earlier)
        for path in broken:
            crawl.book.broken.add(address(path), "HTTP 500")
    crawl.book.broken.begin(present)
    assert len(crawl.book.broken.known()) == len(broken)
    if outcome is not None:
        for path in broken:
            crawl.address(path, *outcome)
    assert crawl.end(Ending("finished", 19))["gone"] == gone


@pytest.mark.parametrize(
    ("lost", "force", "gone"), [(6, False, 6), (7, False, 0), (7, True, 7), (5, False, 5)]
)
def test_loss_of_most_pages_is_logged_and_marks_no_page_as_gone(
    lost: int, force: bool, gone: int, crawls: Crawls, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    numbers = range(1, lost + 1)
    crawl = seen_but(crawls.begin(force=force), *numbers)
    for number in numbers:
        crawl.address(f"/{number}", "failed", "HTTP 404")
    counts = crawl.end()
    assert (counts["gone"], counts["doubted"]) == (gone, lost - gone)
    assert len(caplog.messages) == (1 if gone == 0 else 0)
    for message in caplog.messages:
        facts = ("7 of the 20", "0.3", "--accept-gone", "--force", f"{address('/1')} (HTTP 404)")
        assert all(fact in message for fact in facts)


def test_doubtful_losses_are_accepted_after_confirmation(crawls: Crawls) -> None:
    crawl = seen_but(crawls.begin(), *range(1, 10))
    for number in range(1, 10):
        crawl.address(f"/{number}", "failed", "HTTP 404")
    assert crawl.end()["doubted"] == 9
    seen_but(crawls.begin(), *range(2, 10)).end()
    assert found(crawls) == []
    assert accept_gone(crawls) == 8, "one is back"
    expected = sorted((f"/{number}", "gone", "HTTP 404") for number in range(2, 10))
    assert found(crawls) == expected
    assert accept_gone(crawls) == 0
    seen_but(crawls.begin()).end()
    assert found(crawls)[8:] == [(path, "new", "") for path, *_ in expected], "all are back"


def test_small_number_of_pages_may_be_gone_whatever_their_share(tmp_path: Path) -> None:
    crawls = Crawls(tmp_path / "small.sqlite", count=5)
    crawl = crawls.begin()
    for number in range(1, 6):
        crawl.address(f"/{number}", "failed", "HTTP 404")
    assert crawl.end()["gone"] == 5
    crawls.close()


@pytest.mark.parametrize(
    ("ending", "due", "is_complete"),
    [
        (Ending("finished", 20), False, True),
        (Ending("finished", 20), True, False),
        (Ending("outage", 20), False, False),
        (Ending("finished", 20, queued=1), False, False),
        (Ending("finished", 20, held=1), False, False),
        (Ending("finished", 20, unread=1), False, True),
        (Ending("finished", 20, unread=2), False, False),
    ],
)
def test_crawl_is_complete_only_if_it_visited_all_pages(
    ending: Ending, due: bool, is_complete: bool, crawls: Crawls
) -> None:
    crawl = seen_but(crawls.begin(due=due))
    gone = GonePages(crawl.book, crawl.options, ending)
    assert gone.is_complete == is_complete
    counts = asyncio.run(gone.write(Losses(crawl.book), set()))
    assert counts == {"gone": 0, "moved": 0, "kept": 0, "doubted": 0}


def test_crawl_of_due_pages_ignores_pages_not_due(crawls: Crawls) -> None:
    crawl = crawls.begin(due=True)
    crawl.address("/7", "failed", "HTTP 404")
    assert not list(crawl.book.pages.all_found())
    assert crawl.end() == {"gone": 1}


def test_crawl_ended_early_reports_no_unvisited_pages(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.address("/7", "failed", "HTTP 404")
    assert crawl.end(Ending("max_pages", 0)) == {}
    crawl = crawls.begin()
    crawl.address("/7", "failed", "HTTP 404")
    assert crawl.end(Ending("finished", 0, queued=1))["gone"] == 1
