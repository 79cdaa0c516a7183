"""Addresses that fail in each crawl: they are known as broken, and are no failures any more."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.sites import SiteKeys
from contentspider.state.book.book import Book
from contentspider.state.book.broken import FAILED_CRAWLS, MAX_WAIT, few
from contentspider.state.outcome import Outcome
from tests.conftest import run
from tests.sites import article
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

OPTIONS = ("-s", "RETRY_TIMES=0", "-s", "CONTENTSPIDER_MISSING_CRAWLS=2")
BROKEN_PAGES = ("/b1", "/b2", "/3")  # /3 is read by the first crawl
INCOMPLETE = Outcome.INCOMPLETE


class BrokenSite(Recrawls):
    """A site on which some pages fail."""

    def __init__(self, site: Site, folder: Path) -> None:
        super().__init__(site, folder)
        self.articles |= {"/b1": article(21), "/b2": article(22)}
        self.answers = dict.fromkeys(("/b1", "/b2"), (500, "broken"))

    def asked(self, code: int, *options: str) -> set[str]:
        """Crawl, and return which of the broken pages were requested."""
        before = len(self.site.requests)
        self.crawl(*OPTIONS, *options, code=code)
        return set(self.site.requests[before:]) & set(BROKEN_PAGES)

    def status(self) -> str:
        return run("status", self.site.url, cwd=self.folder).stdout


def test_pages_that_fail_in_each_crawl_are_known_as_broken(site: Site, tmp_path: Path) -> None:
    broken = BrokenSite(site, tmp_path)
    assert broken.asked(INCOMPLETE) == {"/b1", "/b2", "/3"}
    broken.answers["/3"] = (503, "broken")
    assert "known as broken" not in broken.status()
    assert broken.asked(INCOMPLETE)
    # A resumed run is the same crawl: these are two crawls in all.
    assert broken.asked(INCOMPLETE, "--resume") == {"/b1", "/b2", "/3"}
    assert "known as broken" not in broken.said
    assert broken.asked(INCOMPLETE)
    assert "2 addresses known as broken (2 of them from now on)" in broken.said
    assert broken.asked(INCOMPLETE) == {"/b1", "/b2", "/3"}, "/3 has failed in three crawls"
    assert "3 addresses known as broken (1 of them from now on)" in broken.said
    assert broken.asked(0) == {"/3"}, "the others wait for one crawl"
    assert "3 addresses known as broken, which" in broken.said
    assert "0 failed" in broken.said
    assert f"{site.url}/3 (HTTP 503; in 4 crawls" in broken.status()
    changes = broken.records()
    assert "/3" not in {record["url"] for record in changes if record["change"] == "gone"}
    broken.answers.clear()
    assert broken.crawl(*OPTIONS).keys() & set(BROKEN_PAGES) == {"/b1", "/b2"}
    assert "1 address known as broken, which" in broken.said
    assert broken.crawl(*OPTIONS).keys() >= set(BROKEN_PAGES)
    assert "known as broken" not in broken.said + broken.status()


@pytest.mark.thorough
def test_site_that_is_down_in_large_part_is_not_known_as_broken(site: Site, tmp_path: Path) -> None:
    broken = BrokenSite(site, tmp_path)
    broken.crawl(*OPTIONS, code=INCOMPLETE)
    broken.answers |= {f"/{number}": (500, "down") for number in range(1, 9)}
    for _ in range(FAILED_CRAWLS + 1):
        broken.crawl(*OPTIONS, code=INCOMPLETE)
    assert "known as broken" not in broken.said + broken.status()


def test_few_failures_are_told_from_site_that_is_down() -> None:
    def of(failed: int, read: dict[str, int], *others: str) -> int:
        addresses = [f"http://www.e.org/{number}" for number in range(failed)]
        return len(few((*addresses, *others), read, SiteKeys().key))

    assert of(10, {"www.e.org": 2_000}) == 10
    assert of(5, {"www.e.org": 5}) == 5
    assert of(3, {"www.e.org": 2}) == 0
    assert of(40, {"www.e.org": 60}) == 0
    assert of(1, {"www.e.org": 60}, "http://old.e.org/") == 2, "a dead host of the site"
    assert of(1, {"www.e.org": 60}, "http://f.org/") == 1, "all of another site"


def test_broken_address_is_requested_less_and_less_often() -> None:
    history = Book(None)
    broken, url, asked = history.broken, "http://e.org/b", []
    for number in range(1, 60):
        broken.begin(number)
        if not broken.waits(url):
            asked.append(number)
            assert broken.add(url, "HTTP 500") == (len(asked) == FAILED_CRAWLS)
            assert not broken.add(url, "HTTP 500") or len(asked) == FAILED_CRAWLS, "resumed"
    waits = [after - before for before, after in pairwise(asked)]
    assert waits == [1, 1, 1, 2, 4, 8, MAX_WAIT, MAX_WAIT]
    ((reason, crawls),) = [(each.reason, each.crawls) for each in broken.known()]
    assert (reason, crawls) == ("HTTP 500", len(asked))
