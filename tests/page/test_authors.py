from __future__ import annotations

import time

import pytest

from contentspider.page.about.authors import MAX_AUTHOR_CHARS, MAX_AUTHORS, author_names
from contentspider.page.input.page import Page


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ada Byron", ["Ada Byron"]),
        ("by Ada Byron", ["Ada Byron"]),
        ("Written by: Ada Byron", ["Ada Byron"]),
        ("Автор: Ада Байрон", ["Ада Байрон"]),
        ("Bytes & Pieces", ["Bytes & Pieces"]),
        ("Ada Byron; Bob Frank | Cy Doe", ["Ada Byron", "Bob Frank", "Cy Doe"]),
        ("Ada Byron, Bob Frank, and Cy Doe", ["Ada Byron", "Bob Frank", "Cy Doe"]),
        ("Ada Byron und Bob J. Frank", ["Ada Byron", "Bob J. Frank"]),
        ("Ada Byron, MD, PhD", ["Ada Byron, MD, PhD"]),
        ("Ada Byron, Bob Frank", ["Ada Byron", "Bob Frank"]),
        ("By Ada Byron, Bob J. Frank, Cy van Doe", ["Ada Byron", "Bob J. Frank", "Cy van Doe"]),
        ("Ada Byron, Senior Tea Editor", ["Ada Byron, Senior Tea Editor"]),
        ("Ada Byron, Harbour Times", ["Ada Byron, Harbour Times"]),
        ("Byron, Ada", ["Byron, Ada"]),
        ("Scritto da Ada Byron e Bob Frank", ["Ada Byron", "Bob Frank"]),
        ("A cura di: Ada Byron, Bob Frank", ["Ada Byron", "Bob Frank"]),
        ("Escrito por Ada Byron y Bob Frank", ["Ada Byron", "Bob Frank"]),
        ("Écrit par Ada Byron", ["Ada Byron"]),
        ("Davide Rossi", ["Davide Rossi"]),
        ("Morgan & Morgan", ["Morgan & Morgan"]),
        ("Center for Tea and Leaves", ["Center for Tea and Leaves"]),
        ("Ada Byron, Head of Tea and Leaves", ["Ada Byron, Head of Tea and Leaves"]),
        ("フェリー太郎", ["フェリー太郎"]),
        ("रवि कुमार, सीता देवी", ["रवि कुमार", "सीता देवी"]),
        ("מֹשֶׁה כֹּהֵן, דָּוִד לֵוִי", ["מֹשֶׁה כֹּהֵן", "דָּוִד לֵוִי"]),
        ("https://social.example/ada", []),
        ("@ada", []),
        ("ada@harbour.example", []),
        ("262588213843476", []),
        ("By ", []),
        ("", []),
    ],
)
def test_author_names_are_separated_from_surrounding_text(text: str, names: list[str]) -> None:
    assert list(author_names([text])) == names


def test_names_of_libraries_are_put_in_order() -> None:
    head = '<meta name="citation_author" content="Byron, Ada"><meta name="citation_author"'
    page = Page.from_html(f"<title>Tea</title>{head} content='Bob Frank'><p>Tea.")
    assert page.metadata.author == ("Ada Byron", "Bob Frank")
    page = Page.from_html("<title>Tea</title><meta name=author content='Cy Doe, MD'><p>Tea.")
    assert page.metadata.author == ("Cy Doe, MD",)


def test_two_names_in_library_metadata_are_those_of_two_persons() -> None:
    page = Page.from_html('<title>Tea</title><meta name="dc.creator" content="Ada Byron, Cy Doe">')
    assert page.metadata.author == ("Ada Byron", "Cy Doe")


def test_repeated_author_name_counts_once() -> None:
    assert author_names(["Ada Byron", "by ADA BYRON"]) == ("Ada Byron",)


@pytest.mark.parametrize(
    "text", ["A" * 1_000_000, "a and " * 200_000, ";" * 1_000_000, "A b, " * 200_000 + "and C d"]
)
def test_author_names_are_bounded_in_count_length_and_time(text: str) -> None:
    started = time.process_time()
    found = author_names([text] * 200)
    assert len(found) <= MAX_AUTHORS
    assert all(len(name) <= MAX_AUTHOR_CHARS for name in found)
    assert time.process_time() - started < 1


def test_authors_that_a_page_shows_beside_the_stated_one_are_authors() -> None:
    """Metadata state the account that published the page, which five people wrote."""
    names = ("Ada Byron", "Bob Frank", "Cy Doe", "Dee Poe", "Eve Roe")
    line = ", ".join(f"<a rel=author href=/{name[:3]}>{name}</a>" for name in names)
    html = f"<meta name=author content='Bob Frank'><h1>Tea</h1><p>Written by {line}</p>"
    assert Page.from_html(html).metadata.author == names
    other = html.replace("content='Bob Frank'", "content='Fay Moe'")
    assert Page.from_html(other).metadata.author == ("Fay Moe",), "others may be of other pages"
