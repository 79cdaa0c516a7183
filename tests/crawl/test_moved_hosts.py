"""Which hosts a crawl has left, because their site is at another one."""

from __future__ import annotations

from contextlib import closing

import pytest

from contentspider.crawl.revisits.moved_hosts import LeftHosts
from contentspider.state.book.book import Book
from tests.visited import Seen, crawl, see

OLD, NEW = "old.example", "new.example"


def seen(host: str, number: int, content: str) -> Seen:
    """Return the visit of a page whose text no other page of its host has."""
    hashes = {"content_hash": content, "text_hash": f"text {number}"}
    values = {"url": f"http://{host}/{number}", **hashes}
    return Seen(f"{host}-{number}", values=values)


@pytest.mark.parametrize(
    ("contents", "visited", "has_moved"),
    [
        (["a", "b", "c"], seen(NEW, 1, "a"), False),
        (["a", "b"], seen(NEW, 1, "a"), True),
        (["a", "b"], seen(NEW, 9, "a"), True),
        # Such as photos, which have no content, or "Sold out".
        (["a", "a", "a"], seen(NEW, 9, "a"), False),
        (["a", "a"], seen(NEW, 9, "a"), True),
    ],
)
def test_host_has_moved_if_another_one_has_half_of_its_texts(
    contents: list[str], visited: Seen, has_moved: bool
) -> None:
    with closing(Book(None)) as book:
        crawl(book, *(seen(OLD, number, text) for number, text in enumerate(contents, 1)))
        known = list(book.known.live())
        book.begin_crawl()
        book.begin_run()
        see(book, visited)
        left = LeftHosts(book, known)
        assert left.hosts == {OLD}
        assert left.moved == ({OLD: NEW} if has_moved else {})
