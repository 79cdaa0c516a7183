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
    is_watched,
    slot_texts,
)
from contentspider.recrawl.places import slot_key
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    # Returns a page, by its number and the number of the crawl.
    Draw = Callable[[int, int], str]

DRAW = random.Random(7)
QUOTES = [prose("quote", number) for number in range(40)]
TITLES = [prose("title", number, words=4) for number in range(20)]
NAMES = [prose("name", number, words=2) for number in range(10)]
QUOTE, ITEM = "body/blockquote/p", "body/ul/li"


def alternating(
    draw: Draw,
    crawls: int = 2,
    pages: int = 14,
    on_front: Collection[str] = (),
    known: Collection[str] = (),
) -> set[str]:
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
    for visits in (visits for history in histories.values() for visits in history.values()):
        visits |= {crawl: visits.get(crawl, ()) for crawl in range(crawls)}
    slots = AlternatingSlots(histories, known, on_front)
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
    """Return a page with a quote, and the name of the person who said it."""
    quote = DRAW.choice(QUOTES)
    return f"<h3>{quote}</h3><h4>{('Ann', 'Bob', 'Cy')[QUOTES.index(quote) % 3]}</h4>"


def named_in_any_order(number: int, crawl: int) -> str:
    return f"<h3>By {', '.join(DRAW.sample(NAMES[number % 5 : number % 5 + 4], 4))}</h3>"


def advertised(number: int, crawl: int) -> str:
    names = "".join(f"Advert<p>{DRAW.choice(QUOTES)}</p>{DRAW.choice('ABCDE')}" for _ in "12")
    return f"<div class=ad>{names}</div>"


def online(number: int, crawl: int) -> str:
    return f"<h3>Online: {DRAW.choice(NAMES)} and {DRAW.randrange(20)} guests</h3>"


def popular(number: int, crawl: int) -> str:
    return items([f"{title} ({DRAW.randrange(900)} reads)" for title in DRAW.sample(TITLES, 5)])


def bought(number: int, crawl: int) -> str:
    return items([f"{title[:-1]} ${len(title)}.50" for title in DRAW.sample(TITLES, 5)])


@pytest.mark.parametrize(
    ("draw", "crawls", "wanted"),
    [
        (bought, 2, {ITEM}),
        (quoted, 2, {QUOTE, "body/blockquote"}),
        (drawn, 2, {ITEM}),
        (shuffled, 2, {ITEM}),
        (named, 3, {"body/h3", "body/h4"}),
        (named_in_any_order, 2, {"body/h3"}),
        (advertised, 2, {"body/div.ad", "body/div.ad/p"}),
        (online, 2, {"body/h3"}),
        (popular, 2, {ITEM}),
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


def status_beside_quote(number: int, crawl: int) -> str:
    """Return a page with a quote that alternates, and the status of a thing."""
    return f"{status(number, crawl)}<blockquote>{DRAW.choice(QUOTES)}</blockquote>"


def flipping(number: int, crawl: int) -> str:
    return f"<h3>{('Open', 'Closed')[(number + crawl) % 2]}</h3>"


def all_flipping(number: int, crawl: int) -> str:
    return f"<h3>{('Open', 'Closed')[crawl % 2]}</h3>"


def sentences(number: int, crawl: int) -> str:
    return f"<p>{QUOTES[(number + crawl) % 3]}</p>"


def box_of_states(number: int, crawl: int) -> str:
    states = ("In stock", "Ships today"), ("Sold out", "Ships in June")
    return items([*DRAW.choice(states), "Free returns"])


def price(number: int, crawl: int) -> str:
    return f"<h3>${DRAW.randrange(10, 40)}</h3>"


def events(number: int, crawl: int) -> str:
    days = DRAW.sample(range(1, 30), 4)
    return items([f"{TITLES[day % 20][:-1]}, {day} May, 20:00, for $9.50" for day in days])


def event(number: int, crawl: int) -> str:
    return f"<h3>Saturday, {DRAW.randrange(1, 30)} May, 20:00</h3>"


def edited_text(number: int, crawl: int) -> str:
    """Return a page whose slot has other text, which stays."""
    return f"<p>{DRAW.choice(QUOTES)}</p>"


FACTS = [price, event, events, status, flipping, all_flipping, sentences, box_of_states]
LISTS = [news, grown_list, pushed_list, edited_text]


@pytest.mark.parametrize("crawls", [2, 3, 5])
@pytest.mark.parametrize("draw", [*LISTS, *FACTS])
def test_other_texts_do_not_alternate(draw: Draw, crawls: int) -> None:
    assert alternating(draw, crawls) == set()


def test_status_beside_text_that_alternates_does_not_alternate() -> None:
    assert alternating(status_beside_quote, crawls=5) == {"body/blockquote"}


def banner(number: int, crawl: int) -> str:
    return f"<h3>{DRAW.choice(('Join us', 'Become a member', 'Read without adverts'))}</h3>"


def weather(number: int, crawl: int) -> str:
    return f"<h3>{('Cloudy', 'Sunny', 'Rain')[crawl * 2 % 3]}</h3>"


def newest(number: int, crawl: int) -> str:
    return f"<h3>Our newest member is {prose('member', crawl, words=2)} of May 2026</h3>"


def test_long_text_of_few_values_alternates_if_it_is_drawn() -> None:
    def drawn_banner(number: int, crawl: int) -> str:
        return f"<p>{prose(number)}</p><h3>{DRAW.choice(QUOTES[:2])}</h3>"

    assert alternating(drawn_banner, crawls=4) == {"body/h3"}


SORRY = "Sold out: we are sorry, and will tell you at once when it is made again next year."
READY = "In stock: we send it today, if you order before noon, from our own store in Leeds."


def drawn_of_two(number: int, crawl: int) -> str:
    return f"<h3>{random.Random(f'{number} {crawl}').choice(QUOTES[:2])}</h3>"


def drawn_or_none(number: int, crawl: int) -> str:
    draw = random.Random(f"{number} {crawl}")
    return draw.choice([f"<h3>{text}</h3>" for text in QUOTES[:2]] + [""])


def one_or_none(number: int, crawl: int) -> str:
    return f"<h3>{QUOTES[0]}</h3>" if random.Random(f"{number} {crawl}").random() < 0.5 else ""


@pytest.mark.parametrize("crawls", [2, 3, 5])
@pytest.mark.parametrize("draw", [drawn_of_two, drawn_or_none, one_or_none])
def test_banner_of_few_long_texts_or_none_alternates_from_second_crawl(
    draw: Draw, crawls: int
) -> None:
    assert alternating(draw, crawls, pages=24) == {"body/h3"}
    assert alternating(draw, 1, pages=24) == set()


def sold_out_in_one_night(number: int, crawl: int) -> str:
    return f"<h3>{SORRY if number % 3 and crawl else READY}</h3>"


def sold_out_one_after_the_other(number: int, crawl: int) -> str:
    return f"<h3>{SORRY if number < 4 * crawl else READY}</h3>"


def on_sale_for_one_day(number: int, crawl: int) -> str:
    """Return a page of which half say so on each second day, as if there was nothing to say."""
    return f"<h3>{SORRY}</h3>" if number % 2 and crawl % 2 else ""


def open_on_each_second_day(number: int, crawl: int) -> str:
    return f"<h3>{(READY, SORRY)[crawl % 2]}</h3>"


def opposite_on_each_second_day(number: int, crawl: int) -> str:
    return f"<h3>{(READY, SORRY)[(number + crawl) % 2]}</h3>"


def some_change_both_ways(number: int, crawl: int) -> str:
    """Return a page of which each tenth becomes the opposite in a crawl."""
    flips = sum((number * 7 + at) % 10 == 0 for at in range(1, crawl + 1))
    return f"<h3>{(READY, SORRY)[(number + flips) % 2]}</h3>"


def same_price(number: int, crawl: int) -> str:
    """Return a page of a list of prices, some of which are the same."""
    euros = random.Random(f"{number} {crawl}").choice((9, 12))
    return f"<h3>A pot of our own tea with milk and two of the biscuits costs {euros}.50 €</h3>"


TRUE_CHANGES = [
    sold_out_in_one_night,
    sold_out_one_after_the_other,
    on_sale_for_one_day,
    open_on_each_second_day,
    opposite_on_each_second_day,
    some_change_both_ways,
    same_price,
]


@pytest.mark.parametrize("crawls", [2, 3, 5])
@pytest.mark.parametrize("draw", TRUE_CHANGES)
def test_true_changes_of_many_pages_at_once_do_not_alternate(draw: Draw, crawls: int) -> None:
    assert alternating(draw, crawls, pages=24) == set()
    assert alternating(draw, crawls, pages=24, known=[slot_key("body/h3")]) == set()


def test_known_slot_may_stay_more_often_than_by_chance() -> None:
    def seven_change(number: int, crawl: int) -> str:
        return f"<h3>{QUOTES[(number + (crawl and number < 7)) % 2]}</h3>"

    def three_change(number: int, crawl: int) -> str:
        return f"<h3>{QUOTES[(number + (crawl and number < 3)) % 2]}</h3>"

    assert alternating(seven_change, pages=24) == set()
    known = [slot_key("body/h3")]
    assert alternating(seven_change, pages=24, known=known) == {"body/h3"}
    assert alternating(three_change, pages=24, known=known) == set()


def test_slot_is_watched_for_five_crawls_after_it_differed_on_many_pages() -> None:
    history = {str(page): {1: (b"a",), 2: (b"a" if page % 4 else b"b",)} for page in range(12)}
    assert is_watched(history, 0)
    assert not is_watched(history, 1)
    for crawls in history.values():
        crawls[3] = crawls[2]
    assert is_watched(history, 0) and not is_watched(history, 1)
    few = {str(page): {1: (b"a",), 2: (b"a" if page else b"b",)} for page in range(12)}
    assert not is_watched(few, 0)


@pytest.mark.parametrize("draw", [banner, weather, newest])
def test_text_of_few_values_alternates_if_front_page_has_it(draw: Draw) -> None:
    assert alternating(draw, crawls=4, on_front=[slot_key("body/h3")]) == {"body/h3"}
    assert alternating(draw, crawls=4) == set()


@pytest.mark.parametrize("draw", [flipping, price, event])
def test_facts_of_each_page_do_not_alternate_if_front_page_has_one(draw: Draw) -> None:
    assert alternating(draw, crawls=5, on_front=[slot_key("body/h3")]) == set()


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


def test_long_lists_of_equal_lines_take_little_time() -> None:
    lines = [str(number).encode() for number in range(40)]
    history = {
        str(page): {
            crawl: (*lines[:1] * 2_000, lines[page % 20 + crawl]) for crawl in range(CRAWLS)
        }
        for page in range(60)
    }
    slots = AlternatingSlots({slot_key(ITEM): history})
    slots.add({slot_key(ITEM): SlotTexts(ITEM, history["0"][0], 50.0, are_facts=False)})
    started = time.process_time()
    assert not slots.slots()
    assert time.process_time() - started < 3


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


def test_many_slots_of_few_values_take_linear_time() -> None:
    def history(values: int) -> dict[str, dict[int, tuple[bytes, ...]]]:
        return {
            str(page): {crawl: (b"%04d00" % DRAW.randrange(values),) for crawl in range(CRAWLS)}
            for page in range(20)
        }

    many = [f"body/div/{number}/q" for number in range(250)]
    few = [f"body/aside/{number}/p" for number in range(250)]
    histories = {slot_key(name): history(500 if name in many else 3) for name in many + few}
    slots = AlternatingSlots(histories)
    slots.add({slot_key(name): SlotTexts(name, (), 30.0, are_facts=False) for name in many + few})
    started = time.process_time()
    assert len(slots.slots().intersection(many)) > 200
    assert time.process_time() - started < 6


def test_status_does_not_go_with_one_of_many_quotes_by_chance() -> None:
    """A status is told in nearly all of 50 sites that have 30 quotes on each of their pages."""
    quotes, told = [f"body/div/{number}/q" for number in range(30)], 0
    for _ in range(50):
        histories = {
            slot_key(name): {
                str(page): {crawl: (b"%04d00" % DRAW.randrange(values),) for crawl in range(CRAWLS)}
                for page in range(12)
            }
            for name, values in [*dict.fromkeys(quotes, 300).items(), ("body/p", 2)]
        }
        slots = AlternatingSlots(histories)
        names = [*quotes, "body/p"]
        slots.add({slot_key(name): SlotTexts(name, (), 30.0, are_facts=False) for name in names})
        told += "body/p" not in slots.slots()
    assert told >= 48
