"""Passages of an item's content: what is in which, where it is cut, and that nothing is lost."""

from __future__ import annotations

import json
import random
import re
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block
from contentspider.page.write.passages import MAX_HEADING_CHARS, Passage, to_passages
from contentspider.site.learn.single_page import extract_page
from contentspider.site.models.record import OptionalFields, page_fields
from tests.conftest import run

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://www.harbour.example/ferry"
SENTENCE = "The ferry is back, e.g. on Mondays. "
LONG = "The harbour is open from morning to evening, and the ferry leaves each hour."


def passages(body: str, max_chars: int = 200) -> list[Passage]:
    page = Page.from_html(f"<body>{body}</body>", URL)
    return to_passages(page.content.blocks, URL, max_chars)


def pieces(body: str, max_chars: int = 200) -> list[tuple[list[str], str]]:
    return [(list(each.heading_path), each.markdown) for each in passages(body, max_chars)]


def test_passages_begin_at_headings_and_have_heading_path() -> None:
    assert pieces(
        f"<p>Before. {LONG}<h1>Ferries</h1><p>Of all. {LONG}<h3>Old</h3><p>None. {LONG}<p>Of them."
        f"<h2>Times</h2><ul><li>Nine<li>Ten. {LONG}</ul><h1>Tickets</h1><p>One. {LONG}"
    ) == [
        ([], f"Before. {LONG}"),
        (["Ferries"], f"Of all. {LONG}"),
        (["Ferries", "Old"], f"None. {LONG}\n\nOf them."),
        (["Ferries", "Times"], f"- Nine\n- Ten. {LONG}"),
        (["Tickets"], f"One. {LONG}"),
    ]


def test_passage_text_begins_with_headings() -> None:
    (passage,) = passages(
        "<h1>Ferries</h1><h2>Times</h2><p>At <a href=/nine>nine</a>.<p>At <code>ten</code>"
    )
    assert passage.markdown == ("At [nine](https://www.harbour.example/nine).\n\nAt `ten`")
    assert passage.text == "Ferries > Times\nAt nine.\nAt ten"


def test_overlong_outer_headings_are_omitted_from_passage_text() -> None:
    (passage,) = passages(f"<h1>{LONG}</h1><h2>{LONG[:40]}</h2><p>Nine.", 200)
    assert passage.heading_path == (LONG, LONG[:40])
    assert passage.text == f"{LONG[:40]}\nNine."


def test_short_sections_below_same_heading_are_merged() -> None:
    assert pieces(
        f"<h1>Ferries</h1><p>All.<h2>Old</h2><p>None.<h2>New</h2><p>One. {LONG}"
        f"<h2>Times</h2><p>Nine. {LONG}<h3>Late</h3><p>Ten.<h2>Prices</h2><p>Five."
    ) == [
        (["Ferries"], f"All.\n\n## Old\n\nNone.\n\n## New\n\nOne. {LONG}"),
        (["Ferries"], f"## Times\n\nNine. {LONG}\n\n### Late\n\nTen.\n\n## Prices\n\nFive."),
    ]


def test_short_section_between_full_neighbours_stays_separate() -> None:
    text = f"{LONG} {LONG}"
    assert pieces(f"<h2>A</h2><p>{text}<h2>B</h2><p>Nine.<h2>C</h2><p>{text}", 170) == [
        (["A"], text),
        (["B"], "Nine."),
        (["C"], text),
    ]


def test_heading_without_content_below_is_text() -> None:
    assert pieces(f"<h1>Ferries</h1><h2>Old</h2><h2>New</h2><p>One. {LONG}<h2>Lost</h2>") == [
        (["Ferries"], f"## Old\n\n## New\n\nOne. {LONG}\n\n## Lost"),
    ]
    assert pieces("<h1>Ferries</h1>") == [([], "# Ferries")]


def test_overlong_heading_is_treated_as_text() -> None:
    text = "F" * (MAX_HEADING_CHARS + 1)
    assert pieces(f"<h1>Ferries</h1><h2>{text}</h2>", 500) == [(["Ferries"], f"## {text}")]


def test_code_is_kept_whole_or_split_between_lines() -> None:
    code = "def cross():\n    row()\n\n    return 1\n"
    assert pieces(f"<p>{LONG}</p><pre>{code}</pre>", 100) == [
        ([], LONG),
        ([], f"```\n{code.strip()}\n```"),
    ]
    lines = [f"    row({number})" for number in range(40)]
    cut = pieces("<pre>" + "\n".join(lines), 150)
    assert len(cut) > 2
    texts = [re.fullmatch(r"```\n(.*)\n```", text, re.DOTALL) for _, text in cut]
    assert "\n".join(text[1] for text in texts if text) == "\n".join(lines)


def test_each_part_of_split_code_names_its_language() -> None:
    lines = "\n".join(f"row({number})" for number in range(40))
    cut = [text for _, text in pieces(f'<pre><code class="language-lua">{lines}', 150)]
    assert len(cut) > 2
    assert all(text.startswith("```lua\nrow(") for text in cut)


def test_code_is_preferably_split_at_empty_lines() -> None:
    code = "\n\n".join(f"def row_{n}():\n    return {n}" for n in range(8))
    cut = [text for _, text in pieces(f"<pre>{code}", 120)]
    assert len(cut) > 1
    assert all(text.startswith("```\ndef row_") for text in cut)


def test_table_is_kept_whole_or_repeats_header_in_each_part() -> None:
    rows = [f"<tr><td>Ferry {number}<td>Nine" for number in range(20)]
    head = "<table><tr><th>Name<th>Time"
    ((_, whole),) = pieces(head + "".join(rows[:3]))
    assert whole.startswith("| Name | Time |\n| --- | --- |\n| Ferry 0 | Nine |\n")
    cut = [text for _, text in pieces(head + "".join(rows), 150)]
    assert len(cut) > 2
    assert all(text.startswith("| Name | Time |\n| --- | --- |\n| Ferry ") for text in cut)
    numbers = re.findall(r"Ferry (\d+)", "".join(cut))
    assert numbers == [str(number) for number in range(20)]


def test_row_spanning_cell_is_repeated_in_each_part_of_table() -> None:
    rows = "<tr><td rowspan=20>Ferry<td>Nine 0" + "".join(
        f"<tr><td>Nine {number}" for number in range(1, 20)
    )
    cut = [text for _, text in pieces(f"<table><tr><th>Name<th>Time{rows}</table>", 150)]
    assert len(cut) > 2
    for text in cut:
        header, rule, *lines = text.split("\n")
        assert (header, rule) == ("| Name | Time |", "| --- | --- |")
        assert all(re.fullmatch(r"\| Ferry \| Nine \d+ \|", line) for line in lines)


def test_parts_of_layout_table_are_not_written_as_tables() -> None:
    texts = "".join(f"<p>{number}. {LONG}" for number in range(8))
    cut = [text for _, text in pieces(f"<table><tr><td>{texts}<td><h2>News</h2><p>{LONG}", 200)]
    assert len(cut) > 3
    assert not any("|" in text for text in cut)


def test_overlong_table_row_becomes_paragraphs() -> None:
    rows = f"<tr><th>Name<th>Time<tr><td>{LONG}<td>{LONG.upper()}<tr><td>Two<td>Nine"
    assert pieces(f"<table>{rows}</table>", 120) == [
        ([], "| Name | Time |\n| --- | --- |"),
        ([], LONG),
        ([], f"{LONG.upper()}\n\n| Two | Nine |\n| --- | --- |"),
    ]


def test_introducing_line_stays_with_following_block() -> None:
    assert pieces(f"<p>{LONG}<p>So it is done:</p><pre>row()\nrow()</pre>", 110) == [
        ([], LONG),
        ([], "So it is done:\n\n```\nrow()\nrow()\n```"),
    ]
    meaning = "<dt>Ferry<dd>A boat that goes to and fro, with people and cars on it."
    terms = [text for _, text in pieces(f"<dl>{meaning}{meaning.replace('Ferry', 'Raft')}", 100)]
    assert len(terms) == 2
    assert ["Ferry" in text for text in terms] == [True, False]


def test_split_list_item_has_one_bullet() -> None:
    cut = [text for _, text in pieces(f"<ul><li><p>{LONG}<p>{LONG[::-1]}<li>End", 100)]
    assert [text[:3] for text in cut] == ["- T", ".ru"]
    assert cut[-1].endswith("- End")


def test_links_stay_whole_in_split_text_and_overlong_links_become_text() -> None:
    links = " ".join(f'<a href="/times">ferry {number}</a>' for number in range(12))
    cut = [text for _, text in pieces(f"<p>{links}", 150)]
    assert len(cut) > 2
    written = r"\[(?:ferry|\d+|ferry \d+)\]\(https://www.harbour.example/times\)"
    assert all(re.fullmatch(f"(?:{written} ?)+", text) for text in cut)
    address = "/" + "x" * 300
    assert pieces(f"<p>At <a href={address}>nine</a>, {LONG}<p>At ten.", 150) == [
        ([], f"At nine, {LONG}\n\nAt ten."),
    ]


@pytest.mark.parametrize("tag", ["blockquote", "ul><li"])
def test_quotes_and_lists_that_take_whole_passage_are_left_out(tag: str) -> None:
    code = "\n".join(f"line {number} of the code" for number in range(30))
    made = passages(f"{f'<{tag}>' * 150}<pre>{code}</pre>")
    assert all(len(passage.markdown) <= 200 for passage in made) and len(made) < 9
    assert "".join(letters(body(passage)) for passage in made) == letters(code)


def test_link_moves_whole_into_next_passage() -> None:
    link = '<a href="/n">When the ferry leaves in winter</a>'
    cut = [text for _, text in pieces(f"<p>{LONG} {link} {LONG}", 120)]
    assert cut[0] == LONG
    assert cut[1].startswith("[When the ferry leaves in winter](https://www.harbour.example/n) ")


def test_image_stays_with_its_surrounding_text() -> None:
    image = '<img src="/boat.jpg" alt="A boat">'
    cut = [text for _, text in pieces(f"<p>{SENTENCE * 6}{image} {SENTENCE * 3}", 150)]
    assert "".join(cut).count("![A boat](https://www.harbour.example/boat.jpg)") == 1
    assert "boat.jpg" in cut[1] + cut[2]


def test_repeated_section_is_one_passage() -> None:
    box = f"<h2>Note</h2><p>{LONG}"
    assert pieces(f"{box}{box}<h2>Other</h2><p>{LONG}") == [(["Note"], LONG), (["Other"], LONG)]
    short = "<h2>Note</h2><p>Nine."
    assert pieces(f"<h1>A</h1>{short}{short}") == [(["A", "Note"], "Nine.")]


@pytest.mark.parametrize(
    ("text", "max_chars", "texts"),
    [
        ("One is.\nTwo is.", 20, ["One is.\nTwo is."]),
        ("One is.\nTwo is. It is.", 20, ["One is.", "Two is. It is."]),
        ("It is. One is.\nTwo is. It is.", 20, ["It is. One is.", "Two is. It is."]),
        (SENTENCE * 4, 80, [(SENTENCE * 2).strip()]),
        ("one two three four five", 12, ["one two", "three four", "five"]),
        ("船は戻る。とても長い文です。終わり。", 14, ["船は戻る。とても長い文です。", "終わり。"]),
        ("船は戻る。とても長い文です。", 10, ["船は戻る。", "とても長い文です。"]),
        ("船" * 25, 10, ["船" * 10, "船" * 5]),
        ("นี้" * 5, 7, ["นี้นี้", "นี้"]),
        ("a\n\n\n  b", 1, ["a", "b"]),
    ],
)
def test_long_text_is_split_at_best_boundaries(text: str, max_chars: int, texts: list[str]) -> None:
    block = Block(text, "body/p", "p", 0)
    assert [passage.text for passage in to_passages([block], URL, max_chars)] == texts


WORDS = [
    *(
        "tea",
        "船は戻る。",
        "e.g.",
        "It is.",
        "กำลัง",
        "Why?",
        "x" * 30,
        "\u0301",
        "&lt;",
        "終",
        "How:",
    ),
    *('<a href="/times?a=b">ferry times</a>', "<code>row()</code>", "<b>all day</b>", "<br>", "~~"),
    *(f'<a href="/{"x" * 120}">far</a>', '<img src="/boat.jpg" alt="boat">', "a*b_c", "#"),
]
TAGS = ["p", "h1", "h2", "h3", "h4", "li", "pre", "td", "blockquote", "div", "dt", "dd"]


def random_page(draw: random.Random) -> str:
    """Return HTML with a number before each word: no two passages are equal by accident."""
    found = []
    numbers = count()
    for _ in range(draw.randrange(1, 40)):
        tag = draw.choice(TAGS)
        joint = draw.choice([" ", "", "\n", "<br><br>"])
        words = (f"{next(numbers)}{draw.choice(WORDS)}" for _ in range(draw.randrange(0, 30)))
        text = joint.join(words)
        shape = draw.randrange(12)
        if shape == 0:
            rows = draw.randrange(1, 12)
            text = f"<tr><th>Name<th>Time{f'<tr><td>{text[:60]}<td>nine' * rows}"
            found.append(f"<table>{text}</table>")
        elif shape == 1:
            found.append(f"<ul><li>{text}<ol><li><p>{text}<p>{text}</ol></ul>")
        else:
            found.append(f"<{tag}>{text}</{tag}>")
    return "".join(found)


def letters(text: str) -> str:
    return "".join(text.split())


def body(passage: Passage) -> str:
    """Return a passage's text without its headings."""
    path = passage.heading_path
    titles = (" > ".join(path[number:]) + "\n" for number in range(len(path)))
    title = next(filter(passage.text.startswith, titles), "")
    return passage.text.removeprefix(title)


@pytest.mark.large
@pytest.mark.parametrize("seed", range(100))
def test_random_pages_lose_no_words_and_passages_stay_within_limit(seed: int) -> None:
    draw = random.Random(seed)
    page = Page.from_html(f"<body>{random_page(draw)}</body>", URL)
    blocks = page.content.blocks
    max_chars = draw.choice([100, 200, 1_000])
    found = to_passages(blocks, URL, max_chars)
    for passage in found:
        assert 0 < len(passage.markdown) <= max_chars
        assert 0 < len(passage.text) <= max_chars
        assert not len(re.findall("^[> ]*```", passage.markdown, re.MULTILINE)) % 2
    assert len({passage.key for passage in found}) == len(found)
    paths = {heading for passage in found for heading in passage.heading_path}
    written = letters("".join(map(body, found)))
    for block in blocks:
        if block.text not in paths:
            # Halves of long words may be equal, and are written once.
            assert all(word in written or "xx" in word for word in block.text.split())


@pytest.mark.parametrize("seed", range(40))
def test_passages_keep_all_text_in_order(seed: int) -> None:
    """Without what is written twice, or once: headings, tables, equal texts."""
    draw = random.Random(seed)
    numbers = count()
    html = "".join(
        f"<{tag}>{' '.join(f'{next(numbers)}{draw.choice(WORDS)}' for _ in range(20))}</{tag}>"
        for tag in draw.choices(["p", "pre", "li", "blockquote"], k=20)
    )
    page = Page.from_html(f"<body>{html}</body>", URL)
    found = to_passages(page.content.blocks, URL, draw.choice([100, 300]))
    assert letters("".join(passage.text for passage in found)) == letters(
        "".join(block.text for block in page.content.blocks)
    )


def test_passage_url_has_anchor_of_its_section() -> None:
    body = (
        f'<p>Before. {LONG}<h1 id="ferries">Ferries</h1><p>Of all. {LONG}'
        f'<h2>Times<a class="headerlink" href="#times%20of">#</a></h2><p>Nine. {LONG} {LONG}'
        f"<h2>Old</h2><p>None. {LONG}"
        '<h2 id="prices">Prices</h2><p>Five.<h2 id="tickets">Tickets</h2><p>One.'
    )
    page = f"{URL}?a=1"
    assert [
        (each["heading_path"][-1:], each["url"]) for each in fields(body, 160, f"{page}#x")
    ] == [
        ([], f"{page}#x"),
        (["Ferries"], f"{page}#ferries"),
        (["Times"], f"{page}#times%20of"),
        (["Times"], f"{page}#times%20of"),
        (["Old"], f"{page}#ferries"),
        (["Ferries"], f"{page}#prices"),
    ]


def fields(body: str, passage_chars: int, url: str = URL) -> list[dict[str, Any]]:
    page = Page.from_html(f"<body>{body}</body>", url)
    found = page_fields(page, "harbour.example", None, "", OptionalFields(passage_chars))
    value = found["passages"]
    assert isinstance(value, list)
    return value


def test_items_have_passages_only_if_requested() -> None:
    body = f"<h1>Ferries</h1><p>Of all. {LONG}<h2>Times</h2><p>Nine. {LONG}"
    assert fields(body, 0) == []
    found = fields(body, 100)
    assert [(each["heading_path"], each["markdown"], each["text"]) for each in found] == [
        (["Ferries"], f"Of all. {LONG}", f"Ferries\nOf all. {LONG}"),
        (["Ferries", "Times"], f"Nine. {LONG}", f"Ferries > Times\nNine. {LONG}"),
    ]
    assert [(each["title"], each["url"]) for each in found] == [("Ferries", URL)] * 2
    json.dumps(found)


def test_passage_id_stays_while_text_and_headings_stay() -> None:
    rest = f"<h2>B</h2><p>Two. {LONG}<h2>C</h2><p>Three. <a href=/three>Go</a>. {LONG}"
    before = fields(f"<h1>A</h1><p>One. {LONG}{rest}", 200)
    ids = [each["id"] for each in before]
    assert len(set(ids)) == 3
    assert len({each.partition("-")[0] for each in ids}) == 1
    after = fields(f"<h1>A</h1><p>New. {LONG}{rest.replace('/three', '/3')}", 200)
    assert [each["id"] for each in after][1:] == ids[1:]
    assert after[0]["id"] != ids[0]
    other_heading = fields(f"<h1>A</h1><p>One. {LONG}{rest.replace('B', 'D')}", 200)
    assert [each["id"] == id_ for each, id_ in zip(other_heading, ids, strict=True)] == [
        True,
        False,
        True,
    ]


def test_extract_command_writes_passages(tmp_path: Path) -> None:
    page = tmp_path / "ferry.html"
    text = " ".join(f"The ferry leaves {number} times a day." for number in range(20))
    page.write_text(f"<title>Ferry</title><p>{text}")
    done = run("extract", str(page), "--passages", "100", cwd=tmp_path)
    (item,) = map(json.loads, done.stdout.splitlines())
    assert all(len(each["text"]) <= 100 for each in item["passages"])
    assert " ".join(each["text"] for each in item["passages"]) == text


@pytest.mark.large
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
def test_hostile_pages_are_split_quickly(body: str) -> None:
    page = Page.from_html(f"<body>{body}</body>", URL)
    started = time.process_time()
    to_passages(page.content.blocks, URL, 1_000)
    assert time.process_time() - started < 3


def test_passages_of_many_footnotes_cost_no_more_than_the_rest_of_the_item() -> None:
    marks = 'word<sup><a href="#fn1">1</a></sup> ' * 2_000
    page = Page.from_html(f"<p>{marks}<ol class=footnotes><li id=fn1>{LONG * 100}</ol>", URL)
    extraction = extract_page(page)

    def seconds(max_chars: int) -> float:
        started = time.process_time()
        page_fields(page, "e.org", extraction, "v", OptionalFields(passages=max_chars))
        return time.process_time() - started

    seconds(0)  # reads what later items share
    assert min(seconds(800) for _ in range(3)) < 6 * min(seconds(0) for _ in range(3))
