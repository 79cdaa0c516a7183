"""In which slots two contents of a page differ, and whether in more than ages and numbers."""

from __future__ import annotations

from datetime import datetime, timezone
from time import process_time

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl.counters import place_of
from contentspider.recrawl.places import UNKNOWN, Differences, differences, slot_key

NEXT_YEAR = f"24 December {datetime.now(timezone.utc).year + 1}"
MAIN, QUOTE = slot_key("body/p"), slot_key("body/h3")


VISITS = "2026-11-29T22:30:00+00:00", "2026-11-30T01:10:00+00:00"


def differing(
    old: str, new: str, language: str = "en", visits: tuple[str, str] = ("", "")
) -> Differences:
    """Return the differences of two pages of which everything is kept."""
    pages = Page.from_html(old), Page.from_html(new)
    before, now = ("\n".join(block.text for block in page.content.blocks) for page in pages)
    return differences((before, now), pages, lambda path: path, language, visits)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>Posted today by Ada", "<p>Posted yesterday by Ada"),
        ("<p>vor 6 Tagen", "<p>vor 1 Woche"),
        ("<p>29 days ago", "<p>30+ days ago"),
        ("<p>Guten Morgen, Ada!", "<p>Guten Abend, Ada!"),
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Server time: Sunday, 29 November 2026 22:30",
            "Server time: Monday, 30 November 2026 01:10",
        ),
        ("Updated 2026-11-29, 22:30:01", "Updated 2026-11-30, 01:10:09"),
        ("Stand: 29.11.2026, 23.30 Uhr", "Stand: 30.11.2026, 2.10 Uhr"),
        ("Updated 29/11/2026", "Updated 30/11/2026"),
        ("Built on 31 October 2026", "Built on 2 November 2026"),
        ("Stand: Sonntag, 29. November 2026", "Stand: Montag, 30. November 2026"),
        ("Feito segunda-feira, 23 de novembro de 2026", "Feito domingo, 29 de novembro de 2026"),
    ],
)
def test_date_in_the_past_is_number(old: str, new: str) -> None:
    found = differing(f"<p>{old}", f"<p>{new}", visits=VISITS)
    assert found == Differences(numbered=(place_of("body/p", new),))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Doors open 3 May 2031", "Doors open 4 May 2031"),
        ("Doors open 2031-05-03", "Doors open 2031-05-04"),
        ("Doors open 03.05.2031", "Doors open 04.05.2031"),
        ("Today, 29 November 2026: Ada", "Today, 30 November 2026: Bob"),
        ("Opened 1 November 2026", "Closed 5 November 2026"),
    ],
)
def test_other_date_to_come_is_told(old: str, new: str) -> None:
    found = differing(f"<p>{old}", f"<p>{new}", visits=VISITS)
    assert found == Differences(slots=(MAIN,))


def test_line_of_many_dates_is_compared_fast() -> None:
    line = " ".join(f"On 3 March {1950 + day % 70} one thing." for day in range(2000))
    begun = process_time()
    assert differing(f"<p>{line}", f"<p>{line.replace('thing', 'kind')}", visits=VISITS).slots
    assert process_time() - begun < 3


# Two visits, a day apart: a Monday and a Tuesday.
DAYS = "2026-11-30T10:00:00+00:00", "2026-12-01T10:00:00+00:00"


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("Get it by Thursday, 3 December", "Get it by Friday, 4 December", "en"),
        ("Get it by Thu, Dec 31", "Get it by Fri, Jan 1", "en"),
        ("Get it by Friday, 4 December", "Get it by Monday, 7 December", "en"),  # working days
        ("Lieferung bis Do., 3. Dez.", "Lieferung bis Fr., 4. Dez.", "de"),
        ("Livraison jeudi 3 décembre", "Livraison vendredi 4 décembre", "fr"),
    ],
)
def test_days_that_stay_as_far_from_the_visit_are_numbers(
    old: str, new: str, language: str
) -> None:
    assert differing(f"<p>{old}", f"<p>{new}", language, DAYS).slots == ()
    # Without the times of the visits, the words tell.
    assert differing(f"<p>{old}", f"<p>{new}", language).slots == (MAIN,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Concert on Thursday, 3 December", "Concert on Saturday, 5 December"),
        ("Concert on Thursday, 3 December", "Concert on Thursday, 10 December"),
        ("Concert on 3 December", "Concert on 4 March"),
        ("3 December to 5 December", "4 December"),
    ],
)
def test_events_that_are_postponed_are_told(old: str, new: str) -> None:
    assert differing(f"<p>{old}", f"<p>{new}", "en", DAYS).slots == (MAIN,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("4.5 (1,201 ratings)", "4.6 (1,204 ratings)"),
        ("4,5 von 5 · 31", "4,6 von 5 · 32"),
        ("1 USD = 0,8224 EUR", "1 USD = 0,9259 EUR"),
        ("Tea, 12.50 € · 30 sold", "Tea, 12.50 € · 31 sold"),
    ],
)
def test_ratings_and_numbers_beside_prices_are_numbers(old: str, new: str) -> None:
    assert differing(f"<p>{old}", f"<p>{new}").slots == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tea, 12.50 € · 30 sold", "Tea, 13.50 € · 30 sold"),
        ("Tea, 12 kr (30 sold)", "Tea, 13 kr (30 sold)"),
        ("$ Tea 12", "$ Tea 13"),
        ("1 tea = 0.82 EUR", "1 tea = 0.92 EUR"),
    ],
)
def test_prices_beside_numbers_are_told(old: str, new: str) -> None:
    assert differing(f"<p>{old}", f"<p>{new}").slots == (MAIN,)
