"""What reranking puts first, and that it and the search for titles take little time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index.engine import Hit
from contentspider.index.reranking import reranked
from contentspider.index.titles import possible_titles

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = "aab bba " * 120_000


def page(**record: Any) -> Hit:
    return Hit({"url": "http://e.org/a", "language": "en", **record}, 5.0)


@pytest.fixture
def in_time() -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < 3


@pytest.mark.usefixtures("in_time")
def test_long_queries_are_looked_for_in_time() -> None:
    (hit,) = reranked([page(content=WORDS)], "aab bba " * 3_000)
    assert hit.score > 5


@pytest.mark.usefixtures("in_time")
def test_links_without_an_end_are_searched_in_time() -> None:
    html = '<a href="/b">' * 40_000
    hits = reranked([page(content=WORDS, more={"content_html": html})], "aab bba")
    assert hits[0].score > 5


@pytest.mark.usefixtures("in_time")
def test_spaces_in_a_query_are_no_matter() -> None:
    assert possible_titles("tea" + " " * 20_000 + "cup - Example") == possible_titles(
        "tea cup - Example"
    )


def test_pages_with_the_words_in_order_come_before_pages_with_the_words_near_each_other() -> None:
    texts = {
        "apart": "A blue boat.\n\nThe cup is there.",
        "near": "A cup beside the blue boat.",
        "in order": "Tea in a blue cup.",
    }
    hits = reranked([page(id=name, content=text) for name, text in texts.items()], "blue cup")
    assert [hit.record["id"] for hit in hits] == ["in order", "near", "apart"]


def test_page_that_links_to_the_page_about_a_query_comes_after_others() -> None:
    link = {"content_html": '<p>See <a href="/cups">blue cup</a>.</p>'}
    hits = reranked(
        [page(id="links", content="See blue cup.", more=link), page(id="has", content="Tea: cup.")],
        "blue cup",
    )
    assert [hit.record["id"] for hit in hits] == ["has", "links"]
