"""Engines that search our terms: a page whose title is the query comes first, also with the name of
its site behind the title.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query
from tests.engines.documents import engine, named
from tests.engines.test_contract import postgresql, sqlite, tantivy
from tests.servers import skip_without
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from contentspider.index.engine import Engine

__all__ = ["engine"]
GIVE: dict[str, Callable[[Path], Iterator[str]]] = {
    "sqlite": sqlite,
    "tantivy": tantivy,
    "postgresql": postgresql,
}
NOTES = "Gardener 4.2 Tool Notes"


@pytest.fixture(params=GIVE)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet."""
    if request.param != "sqlite":
        skip_without(request.param)
    yield from GIVE[request.param](tmp_path)


def fill(engine: Engine, *titles: str, **fields: str) -> None:
    """Write long pages of these titles, short pages whose sections have the words of `NOTES`, and a
    listing with all titles beside the name of the site.
    """
    pages = [
        named(title, title=title, content=f"{prose(at)} {prose(at + 50)}", language="en", **fields)
        for at, title in enumerate(titles)
    ]
    words = " ".join(titles)
    html = "".join(
        f'<h2 id="s{at}">Tool notes {at}</h2><p>Gardener 4.2 tool notes.</p>' for at in range(3)
    )
    content = "Tool notes. Gardener 4.2 tool notes. Gardener 4.2 tool notes."
    pages += [
        named(f"short{at}", title=f"Tool notes {at}", content=content, content_html=html)
        for at in range(6)
    ]
    pages.append(
        named("all", title="Heath Courier", content=f"Heath Courier: {words}", page_type="listing")
    )
    assert not engine.upsert(pages)
    engine.flush()


def found(engine: Engine, words: str, **options: object) -> list[str]:
    query = Query(words, **options)  # type: ignore[arg-type]
    return [str(hit.record["id"]) for hit in engine.search(query).hits]


def test_page_whose_title_is_the_query_comes_first(engine: Engine) -> None:
    fill(engine, f"{NOTES} for Beds", NOTES, f"About {NOTES}")
    for words in (NOTES, NOTES.lower(), "gardener 4.2: tool notes"):
        assert found(engine, words)[:2] == [NOTES, f"{NOTES} for Beds"], "then how titles begin"
    results = engine.search(Query(NOTES))
    scores = [hit.score for hit in results.hits]
    assert scores == sorted(scores, reverse=True) and results.total == len(scores)
    assert found(engine, NOTES, offset=1, limit=1) == [f"{NOTES} for Beds"]
    assert NOTES not in found(engine, NOTES, filters={"page_type": "listing"})


def test_title_is_found_as_the_tab_of_a_browser_shows_it(engine: Engine) -> None:
    fill(engine, "Council opens a new bridge", "Ferries in autumn", "Bridge - a card game")
    for separator in (" - ", " | ", " – ", " :: "):
        words = f"Council opens a new bridge{separator}Heath Courier"
        assert found(engine, words)[0] == "Council opens a new bridge", words
        assert found(engine, words.replace("Heath", "Unheard"))[0] == "Council opens a new bridge"
    words = "Heath Courier | Ferries in autumn"
    assert "Ferries in autumn" in found(engine, words)[:2], "the name of the site may come first"
    assert found(engine, "Bridge - a card game | Heath Courier")[0] == "Bridge - a card game"


def test_question_that_is_a_title_comes_first(engine: Engine) -> None:
    fill(engine, "How do I prune", "Prune", "What to prune, and how I do it")
    assert found(engine, "How do I prune?")[0] == "How do I prune"
    assert found(engine, "How do I prune - Unheard Courier")[0] == "How do I prune"


def test_title_with_a_separator_comes_before_the_many_that_begin_alike(engine: Engine) -> None:
    fill(engine, *(f"Moor {at}" for at in range(30)), "Moor – What it is, in 1931 and today")
    words = "Moor – What it is, in 1931 and today"
    assert found(engine, words)[0] == words
    assert found(engine, f"{words} - Heath Courier")[0] == words


def test_title_that_is_being_typed_comes_first(engine: Engine) -> None:
    fill(engine, "Tools of the harvest season", "Harvest tools and the sea", "Seasonal tools")
    assert found(engine, "tools of the har", is_typing=True)[0] == "Tools of the harvest season"
    assert found(engine, "Tools of - ", is_typing=True)


def test_word_that_many_titles_begin_with_lifts_none_of_them(engine: Engine) -> None:
    named_so = [f"Kiln {at}" for at in range(30)]
    full = "Kiln firing for beginners with clay of all kinds, step by step"
    pages = [named(title, title=title, content=prose(at)) for at, title in enumerate(named_so)]
    pages.append(named("full", title=full, headings=["Kiln", "The kiln"], content="Kiln. " * 30))
    engine.upsert(pages)
    engine.flush()
    assert found(engine, "kiln", limit=3)[0] == "full", "its words decide, not a short title"
    engine.upsert([named("equal", title="Kiln", content=prose(99))])
    engine.flush()
    assert found(engine, "kiln", limit=3)[:2] == ["equal", "full"]
