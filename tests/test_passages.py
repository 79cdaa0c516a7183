"""Passages of an item's content: which words are in which, and that none is lost."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.page.input.page import Page
from contentspider.page.words.names import HEADINGS
from contentspider.page.write.output import to_text
from contentspider.page.write.passages import MAX_HEADING_CHARS, split_text, to_passages
from contentspider.site.models.record import OptionalFields, page_fields
from tests.conftest import run

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://www.harbour.example/ferry"
SENTENCE = "The ferry is back, e.g. on Mondays. "


def passages(body: str, max_chars: int = 200) -> list[tuple[list[str], str]]:
    page = Page.from_html(f"<body>{body}</body>", URL)
    return [
        (list(found.heading_path), found.text)
        for found in to_passages(page.content.blocks, max_chars)
    ]


def test_passages_begin_at_headings_and_name_those_above() -> None:
    found = passages(
        "<p>Before<h1>Ferries</h1><p>Of all.<h3>Old</h3><p>None.<p>Of them."
        "<h2>Times</h2><ul><li>Nine<li>Ten</ul><h1>Tickets</h1><table><tr><td>One<td>Two</table>"
    )
    assert found == [
        ([], "Before"),
        (["Ferries"], "Of all."),
        (["Ferries", "Old"], "None.\nOf them."),
        (["Ferries", "Times"], "Nine\nTen"),
        (["Tickets"], "One\tTwo"),
    ]


def test_a_heading_that_nothing_stands_below_is_a_passage() -> None:
    found = passages("<h1>Ferries</h1><h2>Old</h2><h2>New</h2><p>One.<h2>Lost</h2>")
    assert found == [
        (["Ferries"], "Old"),
        (["Ferries", "New"], "One."),
        (["Ferries"], "Lost"),
    ]


def test_a_heading_that_is_a_paragraph_is_none() -> None:
    text = "F" * (MAX_HEADING_CHARS + 1)
    assert passages(f"<h1>Ferries</h1><h2>{text}</h2>", 500) == [(["Ferries"], text)]


@pytest.mark.parametrize(
    ("text", "max_chars", "pieces"),
    [
        ("One is.\nTwo is.", 20, ["One is.\nTwo is."]),
        ("One is.\nTwo is. It is.", 20, ["One is.\nTwo is.", "It is."]),
        ("It is. One is.\nTwo is. It is.", 20, ["It is. One is.", "Two is. It is."]),
        (SENTENCE * 4, 80, [(SENTENCE * 2).strip()] * 2),
        ("one two three four five", 12, ["one two", "three four", "five"]),
        ("船は戻る。とても長い文です。終わり。", 14, ["船は戻る。とても長い文です。", "終わり。"]),
        ("船は戻る。とても長い文です。", 10, ["船は戻る。", "とても長い文です。"]),
        ("船" * 25, 10, ["船" * 10, "船" * 10, "船" * 5]),
        ("นี้" * 5, 7, ["นี้นี้", "นี้นี้", "นี้"]),
        ("a\n\n\n  b", 1, ["a", "b"]),
        ("", 10, []),
        (" \n ", 10, []),
    ],
)
def test_long_texts_are_split_where_it_hurts_least(
    text: str, max_chars: int, pieces: list[str]
) -> None:
    assert split_text(text, max_chars) == pieces


def random_page(draw: random.Random) -> str:
    words = [
        "tea",
        "船は戻る。",
        "e.g.",
        "It is.",
        "กำลัง",
        "Why?",
        "x" * 50,
        "\u0301",
        "&lt;",
        "終",
    ]
    tags = ["p", "h1", "h2", "h3", "h4", "li", "pre", "td", "blockquote", "div"]
    pieces = []
    for _ in range(draw.randrange(1, 40)):
        tag = draw.choice(tags)
        joint = draw.choice([" ", "", "\n", "<br><br>"])
        text = joint.join(draw.choice(words) for _ in range(draw.randrange(0, 30)))
        pieces.append(f"<{tag}>{text}</{tag}>")
    return "".join(pieces)


def letters(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("seed", range(60))
def test_no_word_is_lost_and_no_passage_is_too_long(seed: int) -> None:
    draw = random.Random(seed)
    page = Page.from_html(f"<body>{random_page(draw)}</body>", URL)
    blocks = page.content.blocks
    max_chars = draw.choice([1, 2, 7, 40, 200, 1_000])
    found = to_passages(blocks, max_chars)
    assert all(0 < len(passage.text) <= max_chars for passage in found)
    assert all(passage.text == passage.text.strip() for passage in found)
    assert len({passage.key for passage in found}) == len(found)

    # All texts that are no headings, in their order; and every heading, in a path or by itself.
    def is_heading(number: int) -> bool:
        return blocks[number].tag in HEADINGS and len(blocks[number].text) <= MAX_HEADING_CHARS

    texts = [block for number, block in enumerate(blocks) if not is_heading(number)]
    headings = {block.text for number, block in enumerate(blocks) if is_heading(number)}
    in_paths = {heading for passage in found for heading in passage.heading_path}
    assert in_paths <= headings
    said = letters("".join(passage.text for passage in found))
    for heading in headings - in_paths:
        assert letters(heading) in said
    if in_paths == headings and not any(heading in said for heading in map(letters, headings)):
        assert said == letters(to_text(texts))
    if not headings:
        assert said == letters(to_text(blocks))


def fields(body: str, passage_chars: int) -> list[dict[str, Any]]:
    page = Page.from_html(f"<body>{body}</body>", URL)
    found = page_fields(page, "harbour.example", None, "", OptionalFields(passage_chars))
    value = found["passages"]
    assert isinstance(value, list)
    return value


def test_items_have_passages_if_they_are_asked_for() -> None:
    body = "<h1>Ferries</h1><p>Of all.<h2>Times</h2><p>Nine."
    assert fields(body, 0) == []
    found = fields(body, 100)
    assert [(each["heading_path"], each["text"]) for each in found] == [
        (["Ferries"], "Of all."),
        (["Ferries", "Times"], "Nine."),
    ]
    json.dumps(found)


def test_an_id_is_the_passages_own_and_stays_while_it_is_the_same() -> None:
    before = fields("<h1>A</h1><p>One.<h2>B</h2><p>Two.<h2>B</h2><p>Two.", 100)
    after = fields("<h1>A</h1><p>New.<h2>B</h2><p>Two.<h2>B</h2><p>Two.", 100)
    ids = [each["id"] for each in before]
    assert len(set(ids)) == 3
    assert [each["id"] for each in after][1:] == ids[1:]
    assert after[0]["id"] != ids[0]
    assert len({each.partition("-")[0] for each in ids}) == 1


def test_extract_writes_passages(tmp_path: Path) -> None:
    page = tmp_path / "ferry.html"
    page.write_text(f"<title>Ferry</title><p>{SENTENCE * 20}")
    done = run("extract", str(page), "--passages", "100", cwd=tmp_path)
    (item,) = map(json.loads, done.stdout.splitlines())
    assert all(len(each["text"]) <= 100 for each in item["passages"])
    assert " ".join(each["text"] for each in item["passages"]) == (SENTENCE * 20).strip()


@pytest.mark.parametrize(
    "body",
    [
        "<p>" + "x" * 2_000_000,
        "<p>" + "x. " * 500_000,
        "<p>" + "。" * 500_000,
        "<p>a" + "\u0301" * 500_000,
        "<p>" + "." * 1_000_000,
        "<pre>" + "\n" * 500_000 + "x" + "\n" * 500_000,
        "<h1>A</h1><h2>B</h2>" * 10_000,
        "<h1>" + "A" * 200 + "</h1><p>x" * 10_000,
    ],
    ids=range(8),
)
def test_hostile_pages_take_no_long_time(body: str) -> None:
    page = Page.from_html(f"<body>{body}</body>", URL)
    started = time.process_time()
    to_passages(page.content.blocks, 1_000)
    assert time.process_time() - started < 3
