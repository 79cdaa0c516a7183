"""In which slots two contents of a page differ, and whether in more than ages and numbers."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl.places import UNKNOWN, Differences, differences, slot_key

NEXT_YEAR = f"24 December {datetime.now(timezone.utc).year + 1}"
MAIN, QUOTE = slot_key("body/p"), slot_key("body/h3")


def differing(old: str, new: str, language: str = "en") -> Differences:
    """Return the differences of two pages of which everything is kept."""
    pages = Page.from_html(old), Page.from_html(new)
    before, now = ("\n".join(block.text for block in page.content.blocks) for page in pages)
    return differences((before, now), pages, lambda path: path, language)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>Posted today by Ada", "<p>Posted yesterday by Ada"),
        ("<p>vor 6 Tagen", "<p>vor 1 Woche"),
        ("<p>6 days ago · 17 views", "<p>last week · 1,021 views"),
        ("<p>By Ada, last week", "<p>By Ada, 3 May 2024"),
    ],
)
def test_ages_and_numbers_beside_them_are_told_apart(old: str, new: str) -> None:
    assert differing(old, new, "de") == Differences(has_ages=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>Posted today by Ada", "<p>Posted today by Bob"),
        ("<p>On 3 May 2024", "<p>On 4 June 2024"),
        ("<p>3 May 2024, by Ada", "<p>yesterday, by Ada"),
        ("<p>The ferry sails tomorrow", f"<p>The ferry sails {NEXT_YEAR}"),
        ("<p>today", "<p>today<p>today"),
        ("<p>A<p>B", "<p>B<p>A"),
    ],
)
def test_other_text_and_its_order_differ(old: str, new: str) -> None:
    assert differing(old, new) == Differences(slots=(MAIN,))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>3 days ago · $12", "<p>4 days ago · $15"),
        ("<p>Tea, 4.50 €<p>Milk", "<p>Cake<p>Tea, 3.50 €"),
    ],
)
def test_other_price_with_same_words_is_told(old: str, new: str) -> None:
    assert differing(old, new) == Differences(slots=(MAIN,), has_prices=True)


@pytest.mark.parametrize("new", ["<p>Milk, 4.50 €<p>Tea, 4.50 €", "<p>Cake, 3.50 €<p>Tea, 4.50 €"])
def test_price_of_other_words_is_other_text(new: str) -> None:
    assert differing("<p>Tea, 4.50 €<p>Milk, 4.50 €", new) == Differences(slots=(MAIN,))


def test_each_slot_differs_by_itself() -> None:
    old = "<p>today<h2>Read 7 times</h2><p>A</p><h3>B</h3>"
    new = "<p>yesterday<h2>Read 9 times</h2><p>A</p><h3>C</h3>"
    wanted = Differences(True, ("body/h2\tRead 0 times",), (QUOTE,))
    assert differing(old, new) == wanted


def test_text_in_several_slots_has_place_of_its_turn() -> None:
    old = "<p>A</p><h3>A</h3><p>C</p>"
    assert differing(old, "<p>A</p><h3>B</h3><p>C</p>").slots == (QUOTE,)
    assert differing(old, "<p>B</p><h3>A</h3><p>C</p>").slots == (MAIN,)


def test_text_of_unknown_place_differs() -> None:
    page = Page.from_html("<p>A")
    assert differences(("B", "C"), (page, page), str).slots == (UNKNOWN,)
    assert differing("<p>A</p><h3>B</h3>", "<h3>B</h3><p>A</p>").slots == (UNKNOWN,), "their order"


def test_places_before_are_those_of_now_if_page_was_not_kept() -> None:
    page = Page.from_html("<p>A<p>Read 9 times")
    found = differences(("A\nRead 7 times", "A\nRead 9 times"), (None, page), lambda path: path)
    assert found == Differences(numbered=("body/p\tRead 0 times",))
