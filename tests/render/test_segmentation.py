"""Visual units: those of ten pages are the ones that a person draws on them."""

from __future__ import annotations

import asyncio
import random
import shutil
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.render.browser import NAMES, VIEWPORT, find_browser, launch_options
from contentspider.render.elements import Box, Element, Style, box_around, read_elements
from contentspider.render.segmentation import Unit, visual_units
from contentspider.render.snapshot import ARGUMENTS, COMMAND, Snapshot
from tests.render.drawn_pages import DRAWN, Drawn

if TYPE_CHECKING:
    from tests.render.drawn_pages import Tree

needs_browser = pytest.mark.skipif(
    find_spec("playwright") is None or not any(map(shutil.which, NAMES)),
    reason="Playwright or Chromium is not installed",
)
WITHIN = 5.0  # pixels
BOXES = """selector => [...document.querySelectorAll(selector)].map(element => {
    const box = element.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
})"""
Boxes = dict[str, Box]


async def _seen(pages: list[tuple[str, list[str]]]) -> list[tuple[Unit, Boxes]]:
    """Return the units of pages of HTML, and the boxes of the selectors given with them."""
    from playwright.async_api import async_playwright

    found = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options(find_browser()))
        page = await browser.new_page(viewport=VIEWPORT)  # type: ignore[arg-type]
        for html, selectors in pages:
            await page.set_content(html)
            session = await page.context.new_cdp_session(page)
            body = read_elements(Snapshot(await session.send(COMMAND, ARGUMENTS)))
            assert body is not None
            boxes = {}
            for selector in selectors:
                around: Any = await page.evaluate(BOXES, selector)
                boxes[selector] = box_around(Box(*box) for box in around)
            found.append((visual_units(body), boxes))
        await browser.close()
    return found


def _selectors(tree: Tree) -> list[str]:
    found = []
    for part in tree:
        found += [part] if isinstance(part, str) else [part[0], *_selectors(part[1])]
    return found


@pytest.fixture(scope="module")
def seen() -> dict[str, tuple[Unit, Boxes]]:
    asked = [(drawn.html, _selectors(drawn.tree)) for drawn in DRAWN]
    names = [drawn.name for drawn in DRAWN]
    return dict(zip(names, asyncio.run(_seen(asked)), strict=True))


def _is_same(box: Box, other: Box) -> bool:
    return all(abs(one - two) <= WITHIN for one, two in zip(box, other, strict=True))


def _parts(unit: Unit, tree: Tree, boxes: Boxes) -> list[str]:
    """Return which drawn parts are no units in a unit; a part without others is not divided."""
    missing = []
    for part in tree:
        name, inner = (part, []) if isinstance(part, str) else part
        found = [one for one in unit.walk() if _is_same(one.box, boxes[name])]
        if not found or (not inner and found[-1].children):
            missing.append(name)
        missing += _parts(found[0], inner, boxes) if found else []
    return missing


def _leaves(tree: Tree) -> list[str]:
    return [
        name for part in tree for name in ([part] if isinstance(part, str) else _leaves(part[1]))
    ]


@needs_browser
@pytest.mark.parametrize("drawn", DRAWN, ids=lambda drawn: drawn.name)
def test_visual_units_match_hand_drawn_units(
    drawn: Drawn, seen: dict[str, tuple[Unit, Boxes]]
) -> None:
    unit, boxes = seen[drawn.name]

    assert _parts(unit, drawn.tree, boxes) == []
    assert len(list(unit.leaves())) == len(_leaves(drawn.tree))


@needs_browser
def test_hidden_elements_are_not_units_and_deep_elements_are() -> None:
    deep = "<div>" * 450 + "Deep text" + "</div>" * 450
    html = f"""<style>hr {{ margin: 40px 0 }}</style><p>Seen</p><hr>{deep}
    <div style='opacity: 0'><p>Clear</p></div><p style='visibility: hidden'>Hidden</p>"""
    [(unit, boxes)] = asyncio.run(_seen([(html, ["body > p:first-of-type"])]))

    first, second = unit.leaves()

    assert _is_same(first.box, boxes["body > p:first-of-type"])
    assert second.elements[0].chars == len("Deep text")


def _element(tag: str, box: tuple[float, ...], *children: Element, **given: Any) -> Element:
    style = given.pop("style", Style(16, 400))
    made = Element(tag, "", Box(*box), "white", False, False, False, style, **given)
    made.children = list(children)
    return made


def test_layout_table_is_divided_into_units_and_data_table_is_not() -> None:
    def table(*inner: Element) -> Element:
        cells = [
            _element("td", (0, 0, 100, 300), inner[0]),
            _element("td", (200, 0, 400, 300), inner[1]),
        ]
        rows = [_element("tr", (0, 0, 400, 300), *cells), _element("tr", (0, 300, 400, 600))]
        return _element("body", (0, 0, 400, 600), _element("table", (0, 0, 400, 600), *rows))

    text = [_element("", (0, 0, 90, 20), chars=9), _element("", (200, 0, 390, 20), chars=9)]
    block = [_element("div", tuple(one.box), one) for one in text]

    assert len(list(visual_units(table(*block)).leaves())) == 3
    assert len(list(visual_units(table(*text)).leaves())) == 1


def test_sections_are_divided_before_their_headings() -> None:
    def heading(top: float) -> Element:
        return _element("h2", (0, top, 500, top + 30), chars=9, style=Style(24, 700))

    def prose(top: float) -> Element:
        return _element("p", (0, top, 500, top + 100), chars=500)

    parts = (heading(0), prose(40), heading(180), prose(220))
    unit = visual_units(_element("body", (0, 0, 500, 320), *parts))

    assert [len(child.elements) for child in unit.children] == [2, 2]
    assert unit.doc < unit.children[0].doc


def test_header_sidebar_main_and_footer_are_separate_visual_units() -> None:
    def part(*box: float) -> Element:
        left, top, right, bottom = box
        middle = (top + bottom) / 2
        halves = ((left, top, right, middle), (left, middle, right, bottom))
        texts = [_element("", half, chars=40) for half in halves]
        inner = [_element("div", half, text) for half, text in zip(halves, texts, strict=True)]
        return _element("div", box, *inner)

    head, side = part(0, 0, 1000, 100), part(0, 100, 200, 900)
    main, foot = part(200, 100, 1000, 900), part(0, 900, 1000, 1000)
    unit = visual_units(_element("body", (0, 0, 1000, 1000), head, side, main, foot))
    boxes = [child.box for each in unit.walk() for child in each.children]
    assert {head.box, side.box, main.box, foot.box} <= set(boxes)


def _texts_in(box: tuple[float, ...], number: int) -> Element:
    """Return an element with paragraphs below each other."""
    left, top, right, bottom = box
    height = (bottom - top) / number
    paragraphs = []
    for at in range(number):
        inner = (left, top + at * height, right, top + (at + 1) * height)
        paragraphs.append(_element("p", inner, _element("", inner, chars=90), chars=90))
    return _element("div", box, *paragraphs, chars=90 * number)


@pytest.mark.parametrize("paragraphs", [1, 2, 7])
def test_adjoining_parts_with_paragraphs_only_are_separate_visual_units(paragraphs: int) -> None:
    """The parts have no gaps, lines, colors or fonts between them, only columns of two widths."""
    boxes = [(0, 0, 900, 90), (0, 90, 250, 900), (250, 90, 900, 500), (0, 900, 900, 980)]
    head, side, main, foot = (_texts_in(box, paragraphs) for box in boxes)
    middle = _element("div", (0, 90, 900, 900), side, main)
    unit = visual_units(_element("body", (0, 0, 900, 980), head, middle, foot))
    assert {tuple(leaf.box) for leaf in unit.leaves()} == set(boxes)


def test_columns_of_one_width_stay_one_visual_unit() -> None:
    boxes = [(at * 300, 0, at * 300 + 300, 500) for at in range(3)]
    unit = visual_units(_element("body", (0, 0, 900, 500), *(_texts_in(box, 2) for box in boxes)))
    assert len(list(unit.leaves())) == 1


def test_line_that_overlaps_block_above_is_separate_visual_unit() -> None:
    """Such as ``border-top: 1px solid; height: 0; margin-top: -2px``."""
    above = _element("div", (0, 0, 500, 100), _element("", (0, 0, 500, 100), chars=400))
    line = _element("div", (0, 98, 500, 99))
    below = _element("div", (0, 160, 500, 260), _element("", (0, 160, 500, 260), chars=400))
    unit = visual_units(_element("body", (0, 0, 500, 260), above, line, below), pdoc=10)
    assert [leaf.elements for leaf in unit.leaves()] == [[above], [line], [below]]


def test_spiral_layout_is_divided_without_recursion_error() -> None:
    """A spiral: each cut on one axis leaves one block, and a cut on the other axis."""
    left, top, right, bottom = 0.0, 0.0, 100_000.0, 100_000.0
    parts = []
    for number in range(2_000):
        if number % 2:
            parts.append(_element("div", (left, top, left + 15, bottom), chars=1))
            left += 35
        else:
            parts.append(_element("div", (left, top, right, top + 15), chars=1))
            top += 35
    unit = visual_units(_element("body", (0, 0, right, bottom), *parts), pdoc=10)
    assert {id(part) for leaf in unit.leaves() for part in leaf.elements} == set(map(id, parts))


def _random_element(draw: random.Random, box: Box, depth: int) -> Element:
    """Return an element with random elements within its box, some of which overlap it or each other
    or have no size.
    """
    children = []
    place = [box.left, box.top]
    axis = draw.randrange(2)
    for _ in range(draw.randint(2, 6) if depth and draw.random() < 0.8 else 0):
        sizes = [draw.choice([0, 1, 2, 10, 80, 300]) for _ in range(2)]
        inner = Box(place[0], place[1], place[0] + sizes[0], place[1] + sizes[1])
        children.append(_random_element(draw, inner, depth - 1))
        place[axis] += sizes[axis] + draw.choice([-40, -2, -1, 0, 0, 1, 9, 25, 70])
    tag = draw.choice(["div", "div", "p", "hr", "ul", "li", "table", "tr", "td", ""])
    style = Style(draw.choice([12, 16, 32]), draw.choice([400, 700]))
    classes = draw.choice(["", "a", "b"])
    background = draw.choice(["white", "white", "grey"])
    chars = 0 if children else 9
    is_bordered, is_seen = draw.random() < 0.2, draw.random() < 0.2
    return Element(
        tag, classes, box, background, is_bordered, is_seen, False, style, chars, children
    )


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 100))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_layouts_are_divided_without_loss(seed: int) -> None:
    """Each block is in one unit, and units are at least as coherent as the unit around them."""
    for number in range(100):
        draw = random.Random(f"{seed} {number}")
        body = _random_element(draw, Box(0, 0, 1_000, 2_000), 5)
        body.tag = "body"
        unit = visual_units(body, draw.randint(1, 10))
        leaves = [
            id(inner) for leaf in unit.leaves() for top in leaf.elements for inner in top.walk()
        ]
        assert len(leaves) == len(set(leaves)), number
        lines = {id(line) for line in body.walk() if line.tag == "hr"}
        texts = {id(inner) for inner in body.walk() if inner.chars} - lines
        assert texts <= set(leaves) | _below_lines(body), number
        for each in unit.walk():
            assert all(child.doc >= each.doc for child in each.children), number


def _below_lines(body: Element) -> set[int]:
    """Return the elements within lines, which are no blocks."""
    return {id(inner) for line in body.walk() if line.tag == "hr" for inner in line.walk()}
