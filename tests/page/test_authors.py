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
