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


def test_page_with_a_heading_or_link_that_is_the_query_comes_first(engine: Engine) -> None:
    """Other pages have all of its words more often, also in their headings."""
    words = "Tide tables of the harbour. Harbour tables: the tide. The tables of a harbour."
    pages = [
        named(f"often{at}", title=f"Notes {at}", content=f"{words} {words}", headings=[heading])
        for at, heading in enumerate(("## Tide tables of the harbour office", "## Tables, harbour"))
    ]
    long_text = f"{prose(1)} {prose(2)} {prose(3)}"
    pages += [
        named("heading", title="Ports", content=long_text, headings=["## Harbour tables"]),
        named("link", title="Sea", content=long_text, anchors=["The harbour tide", "Waves"]),
    ]
    assert not engine.upsert(pages)
    engine.flush()
    assert found(engine, "harbour tables")[0] == "heading"
    assert found(engine, "The harbour tide")[0] == "link"


def test_page_is_found_by_the_name_in_its_address(engine: Engine) -> None:
    """Sites that give each page the same title name it in its address alone."""
    pages = [
        named(f"staff/{name}", title="Staff", content=prose(at), language="en")
        for at, name in enumerate(("12-mina-larsen.html", "13-ole-brandt.html", "index.html"))
    ]
    assert not engine.upsert(pages)
    engine.flush()
    assert found(engine, "Mina Larsen") == ["staff/12-mina-larsen.html"]


def test_page_with_the_words_near_each_other_comes_first(engine: Engine) -> None:
    words = ("lantern", "harbour", "gravel")
    apart = " ".join(f"{word} {prose(at)}" for at, word in enumerate(words))
    near = f"{prose(0)} lantern by the harbour on gravel {prose(1)} {prose(2)}"
    pages = [named(f"apart{at}", title=f"Page {at}", content=apart) for at in range(3)]
    pages.append(named("near", title="Page 9", content=near))
    assert not engine.upsert(pages)
    engine.flush()
    assert found(engine, "lantern harbour gravel")[0] == "near"


def test_title_is_found_between_other_signs_and_names(engine: Engine) -> None:
    """Wikis put the name of the site in brackets, trackers a kind or a number before the title."""
    fill(engine, "Gravel paths", "Quay")
    # On many sites the first pages have the name of the site as their title.
    engine.upsert([named(f"first{at}", title="Courier", content=prose(at)) for at in range(3)])
    engine.flush()
    for words in (
        "Gravel paths [Courier]",
        "Blog: Gravel paths – Courier",
        "#86 (Gravel paths) – Courier",
        "Gravel paths / General / Forum",
    ):
        assert found(engine, words)[0] == "Gravel paths", words
    assert "Quay" in found(engine, "Quay [Courier]"), "without the other words"


def test_title_beside_other_words_of_a_long_query_is_found(engine: Engine) -> None:
    """A query of fewer words needs all of them."""
    long = "where gardener notes treat gravel paths"
    pages = [named(f"all{at}", title=f"Page {at}", content=f"moor. {long}") for at in range(4)]
    pages.append(named("paths", title="Gravel paths", content=prose(5)))
    # A title of many pages distinguishes none of them.
    pages += [named(f"moor{at}", title="Moor", content=prose(at)) for at in range(9)]
    assert not engine.upsert(pages)
    engine.flush()
    assert "paths" in found(engine, long)
    for words in ("gardener gravel paths", f"{long} moor"):
        assert sorted(found(engine, words)) == ["all0", "all1", "all2", "all3"], words


def test_page_with_the_words_in_their_order_comes_first(engine: Engine) -> None:
    fillers = f"{prose(0)}\n{prose(1)}"
    pages = [
        named("turned", title="Page 1", content=f"gravel, lantern and harbour.\n{fillers}"),
        named("apart", title="Page 2", content=f"lantern\nharbour\ngravel\n{fillers}"),
        named("order", title="Page 3", content=f"lantern, harbour and gravel.\n{fillers}"),
        named("accents", title="Page 4", content=f"Läntern, hárbour and grável.\n{fillers}"),
    ]
    assert not engine.upsert(pages)
    engine.flush()
    words = "lantern harbour gravel"
    assert sorted(found(engine, words)[:2]) == ["accents", "order"]
    assert found(engine, words)[2:] == ["turned", "apart"]
    assert [found(engine, words, limit=1, offset=at) for at in range(4)] == [
        [name] for name in found(engine, words)
    ]


def test_page_that_links_to_another_with_the_query_stands_behind_it(engine: Engine) -> None:
    text = "Lantern of the harbour"
    link, content = f'<p><a href="{{}}">{text}</a></p>', f"{text}. {prose(3)}"
    pages = [
        named(name, title=f"Page {name}", content=content, more={"content_html": link.format(href)})
        for name, href in (("inside", "/lamps"), ("outside", "http://o.org/"), ("itself", "#lamp"))
    ]
    pages.append(named("lamps", title="Lamps", content=f"{content} {prose(4)}"))
    assert not engine.upsert(pages)
    engine.flush()
    assert found(engine, text)[-1] == "inside"
