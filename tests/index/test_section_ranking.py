"""SQLite and tantivy search the sections of a page, too: a page is as relevant as its best one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query
from contentspider.index.schema import MAX_SECTIONS
from contentspider.testing.engines import document, ids
from tests.sites import prose

if TYPE_CHECKING:
    from contentspider.index.engine import Engine
    from contentspider.index.schema import Document


@pytest.fixture
def engine(embedded_engine: Engine) -> Engine:
    """Give an empty index."""
    return embedded_engine


def manual(number: int, sections: dict[str, str], **fields: str) -> Document:
    """Return a long page with these sections, by their headings."""
    html = "".join(
        f'<h2 id="s{place}">{heading}</h2><p>{text}</p>'
        for place, (heading, text) in enumerate(sections.items())
    )
    content = "\n".join(f"{heading}\n{text}" for heading, text in sections.items())
    headings = list(sections)
    fields = {"title": f"Manual {number}", **fields}
    return document(number, content=content, content_html=html, headings=headings, **fields)


def fill(engine: Engine, *documents: Document) -> None:
    assert not engine.upsert(documents)
    engine.flush()


def test_page_with_all_words_in_one_section_comes_first(engine: Engine) -> None:
    other_sections = {f"Part {number}": prose(number) for number in range(20)}
    fill(
        engine,
        manual(1, {"Ferry": "The harbour.", **other_sections, "Ticket": "A refund is easy."}),
        manual(2, {**other_sections, "Ferry": "The refund of a ticket takes a day."}),
        manual(3, {"Ferry": "Ticket.", **other_sections, "Harbour": "No refund."}),
    )
    assert ids(engine, "ferry ticket refund")[0] == 2
    assert sorted(ids(engine, "ferry ticket refund")) == [1, 2, 3], "the other pages come behind"
    results = engine.search(Query("ferry ticket refund", limit=2))
    scores = [hit.score for hit in results.hits]
    assert (results.total, len(scores), scores) == (3, 2, sorted(scores, reverse=True))


def test_page_counts_once_however_many_sections_match(engine: Engine) -> None:
    sections = {f"Ferry {number}": f"The ferry of line {number}." for number in range(30)}
    fill(engine, *(manual(number, sections, language="en") for number in range(1, 8)))
    results = engine.search(Query("ferry", limit=3, offset=3))
    assert results.total == 7 and results.facets["language"] == {"en": 7}
    numbers = [
        int(hit.record["id"], 16)
        for offset in (0, 3, 6)
        for hit in engine.search(Query("ferry", limit=3, offset=offset)).hits
    ]
    assert sorted(numbers) == [1, 2, 3, 4, 5, 6, 7], "each page is on one page of the results"
    assert len(list(engine.documents())) == 7
    assert not engine.search(Query("ferry", {"language": "de"})).total


def test_changed_page_leaves_no_old_sections(engine: Engine) -> None:
    fill(engine, manual(1, {"Ferry": "To Oslo.", "Bus": "To Bergen.", "Train": "To Turku."}))
    changed = manual(1, {"Ferry": "To Bodø.", "Plane": "To Paris."})
    fill(engine, document(1, version=2, content="x"), document(2, content="Oslo ship"))
    assert not engine.search(Query("bergen")).total
    fill(engine, changed)
    assert ids(engine, "oslo") == [2]
    engine.delete([f"{1:032x}"])
    engine.flush()
    for words in ("ferry", "plane", "paris", "bus"):
        assert not engine.search(Query(words)).total, words


def test_very_many_sections_end_with_the_next_page(engine: Engine) -> None:
    sections = {f"Line {number}": f"word{number}" for number in range(MAX_SECTIONS + 50)}
    fill(engine, manual(1, sections), manual(2, sections))
    for number in (0, MAX_SECTIONS - 2, MAX_SECTIONS + 40):
        assert sorted(ids(engine, f"word{number}")) == [1, 2]
    engine.delete([f"{1:032x}"])
    engine.flush()
    assert [ids(engine, f"word{number}") for number in (0, 500, MAX_SECTIONS + 40)] == [[2]] * 3


def test_page_whose_section_alone_has_a_word_hides_no_other_page(engine: Engine) -> None:
    # The address of a film is in the formatted content only.
    film = (
        '<h2 id="film">Ferry</h2><p>A film: ferry.example/harbour</p><h2>Ticket</h2><p>Ferry.</p>'
    )
    fill(
        engine,
        document(1, title="Film", content="Ferry\nA film\nTicket\nFerry.", content_html=film),
        document(2, title="Port", content=f"The harbour and the ferry. {prose(1)} {prose(2)}"),
    )
    results = engine.search(Query("ferry harbour"))
    assert (results.total, ids(engine, "ferry harbour")) == (1, [2])
    assert ids(engine, "film harbour ferry") != [], "pages with some of the words"
