"""Texts that alternate from crawl to crawl are told apart from news, lists that grow and facts."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl.alternating import (
    CRAWLS,
    MAX_PAGES,
    MIN_CHANGES,
    AlternatingSlots,
    SlotTexts,
    slot_texts,
)
from contentspider.recrawl.places import slot_key
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Callable

    # Returns a page, by its number and the number of the crawl.
    Draw = Callable[[int, int], str]

DRAW = random.Random(7)
QUOTES = [prose("quote", number) for number in range(40)]
TITLES = [prose("title", number, words=4) for number in range(20)]
QUOTE, ITEM = "body/blockquote/p", "body/ul/li"


def alternating(draw: Draw, crawls: int = 2, pages: int = 14) -> set[str]:
    """Return the slots of a site that alternate after so many crawls."""
    histories: dict[str, dict[str, dict[int, tuple[bytes, ...]]]] = {}
    found = [{}]
    for crawl in range(crawls):
        found = []
        for number in range(pages):
            page = Page.from_html(f"<p>{prose(number)}</p>{draw(number, crawl)}")
            found.append(slot_texts(page, lambda path: path, "en"))
            for key, texts in found[-1].items():
                visits = histories.setdefault(key, {}).setdefault(str(number), {})
                visits[crawl] = texts.keys
    slots = AlternatingSlots(histories)
    for texts in found:
        slots.add(texts)
    return slots.slots()


def items(texts: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{text}' for text in texts)}</ul>"


def quoted(number: int, crawl: int) -> str:
    writer = DRAW.choice(("Ann", "Bob", "Cy"))
    return f"<blockquote><p>{DRAW.choice(QUOTES)}</p><cite>{writer}</cite></blockquote>"


def drawn(number: int, crawl: int) -> str:
    return items(DRAW.sample(TITLES, 5))


def shuffled(number: int, crawl: int) -> str:
    return items(DRAW.sample(TITLES[:5], 5))


def named(number: int, crawl: int) -> str:
    return f"<h3>{DRAW.choice(QUOTES)}</h3><h4>{DRAW.choice(('Ann', 'Bob', 'Cy'))}</h4>"


@pytest.mark.parametrize(
    ("draw", "crawls", "wanted"),
    [
        (quoted, 2, {QUOTE, "body/blockquote"}),
        (drawn, 2, {ITEM}),
        (shuffled, 2, {ITEM}),
        (named, 2, {"body/h3"}),
        (named, 3, {"body/h3", "body/h4"}),
    ],
)
def test_texts_that_come_back_alternate(draw: Draw, crawls: int, wanted: set[str]) -> None:
    assert alternating(draw, crawls) == wanted
    assert alternating(draw, crawls=1) == set(), "one crawl shows nothing"


def news(number: int, crawl: int) -> str:
    return f"<h3>{prose('news', number, crawl)}</h3>"


def grown_list(number: int, crawl: int) -> str:
    """Return a page of a list over all pages that has grown by some entries."""
    return items([prose("post", number * 5 + place - 3 * crawl) for place in range(5)])


def pushed_list(number: int, crawl: int) -> str:
    return items([prose("post", number * 5 + place - 5 * crawl) for place in range(5)])


def status(number: int, crawl: int) -> str:
    return f"<h3>{DRAW.choice(('In stock', 'Sold out', 'On its way'))}</h3>"


def price(number: int, crawl: int) -> str:
    return f"<h3>${DRAW.randrange(10, 40)}</h3>"


def event(number: int, crawl: int) -> str:
    return f"<h3>Saturday, {DRAW.randrange(1, 30)} May, 20:00</h3>"


def edited_text(number: int, crawl: int) -> str:
    """Return a page whose slot has other text, which stays."""
    return f"<p>{DRAW.choice(QUOTES)}</p>"


@pytest.mark.parametrize("draw", [news, grown_list, pushed_list, status, price, event, edited_text])
def test_other_texts_do_not_alternate(draw: Draw) -> None:
    assert alternating(draw) == set()


@pytest.mark.parametrize("draw", [news, grown_list, pushed_list, price, event, edited_text])
def test_new_texts_do_not_alternate_over_many_crawls(draw: Draw) -> None:
    assert alternating(draw, crawls=5) == set()


def test_slot_that_stays_on_most_pages_does_not_alternate() -> None:
    def rarely(number: int, crawl: int) -> str:
        return f"<h3>{DRAW.choice(QUOTES) if number % 3 == 0 else prose(number, 'stays')}</h3>"

    assert alternating(rarely, crawls=5) == set()


def test_few_visits_do_not_show_that_slot_alternates() -> None:
    assert alternating(drawn, crawls=5, pages=MIN_CHANGES // 4) == {ITEM}
    assert alternating(drawn, crawls=2, pages=MIN_CHANGES - 1) == set()


def test_long_lists_of_many_pages_take_little_time() -> None:
    lines = [str(number).encode() for number in range(200)]
    history = {
        str(page): {crawl: tuple(DRAW.sample(lines, 100)) for crawl in range(CRAWLS)}
        for page in range(MAX_PAGES)
    }
    slots = AlternatingSlots({slot_key(ITEM): history})
    slots.add({slot_key(ITEM): SlotTexts(ITEM, history["0"][0], 50.0, are_facts=False)})
    started = time.process_time()
    assert slots.slots() == {ITEM}
    assert time.process_time() - started < 4


def test_many_slots_beside_alternating_ones_take_little_time() -> None:
    quotes = [bytes([number]) for number in range(100)]
    names = [f"{box}/p/{end}" for box in range(400) for end in ("q", "cite")]
    histories = {
        slot_key(name): {
            str(page): {
                crawl: (DRAW.choice(quotes if name.endswith("q") else quotes[:3]),)
                for crawl in range(3)
            }
            for page in range(10)
        }
        for name in names
    }
    slots = AlternatingSlots(histories)
    slots.add({slot_key(name): SlotTexts(name, (), 30.0, are_facts=False) for name in names})
    started = time.process_time()
    assert slots.slots()
    assert time.process_time() - started < 3
