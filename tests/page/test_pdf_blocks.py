"""PDF files are read as headings, paragraphs and lists, with whole words."""

from __future__ import annotations

import re

import pytest

from tests.pdffiles import TOP, Text, column, pdf_file

pytest.importorskip("pypdfium2")
from contentspider.page.input.pdf_blocks import read_pdf

WIDE = [
    "The harbour of the town was built in the year of the great storm, and the",
    "keeper of its lamps writes down each vessel that comes in by day or night.",
]


def blocks(*pages: list[Text], title: str = "A document") -> list[tuple[str, str]]:
    html = read_pdf(pdf_file(pages, title), 60).html
    return re.findall(r"<(h\d|p|li)>(.*?)</\1>", html)


def texts(*pages: list[Text]) -> list[str]:
    return [text for _, text in blocks(*pages)]


REPORT = [
    *column(["Report on the harbour"], y=760, size=20, is_bold=True),
    *column(["1. Introduction"], y=720, size=14, is_bold=True),
    *column(WIDE, y=700),
    *column(["Depths"], y=660, is_bold=True),
    *column(WIDE, y=645),
    *column(["• The lamps are lit at dusk.", "• The bell is rung in fog."], y=600),
]


def test_headings_by_size_and_weight_paragraphs_and_lists_are_blocks() -> None:
    paragraph = ("p", " ".join(WIDE))
    assert blocks(REPORT) == [
        ("h1", "Report on the harbour"),
        ("h2", "1. Introduction"),
        paragraph,
        ("h3", "Depths"),
        paragraph,
        ("li", "The lamps are lit at dusk."),
        ("li", "The bell is rung in fog."),
    ]


def test_numbered_entries_and_aligned_rows_are_lists_and_tables() -> None:
    rows = [("Berth", "Depth"), ("North quay", "7.5 m"), ("Old mole", "4 m"), ("Lock", "12 m")]
    table = [
        Text(x, 680 - 14 * number, text, is_bold=number == 0)
        for number, row in enumerate(rows)
        for x, text in zip((72, 250), row, strict=True)
    ]
    wrapped = Text(250, 680 - 14 * len(rows), "at high water")
    steps = column(["3. Moor the boat.", "4. Ring the bell."], y=600)
    page = [*column(WIDE), *table, wrapped, *steps, *column(WIDE, y=500)]
    html = read_pdf(pdf_file([page]), 60).html
    assert "<table><tr><th>Berth</th><th>Depth</th></tr><tr><td>North quay</td>" in html
    assert "<td>Lock</td><td>12 m at high water</td></tr></table>" in html
    assert "<ol start=3><li>Moor the boat.</li><li>Ring the bell.</li></ol>" in html


def test_lines_with_one_gap_lone_numbers_and_bullets_are_no_tables() -> None:
    formula = [Text(72, 600, "a = b"), Text(400, 600, "(1)")]
    lone = Text(72, 560, "1. A lone number of a line.")
    assert texts([*column(WIDE), *formula, lone])[1:] == ["a = b (1)", lone.text]
    parts = ((72, "•"), (120, WIDE[0]))
    entries = [Text(x, 680 - 14 * row, text) for row in range(3) for x, text in parts]
    assert blocks(entries) == [("li", WIDE[0])] * 3


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("untitled", "Report on the harbour"),
        ("", "Report on the harbour"),
        ("Microsoft Word - harbour.docx", "Report on the harbour"),
        ("harbour_v3.dvi", "Report on the harbour"),
        ("PowerPoint Presentation", "Report on the harbour"),
        ("The harbour in a year", "The harbour in a year"),
    ],
)
def test_title_that_names_a_file_or_program_is_replaced_by_largest_line(
    stated: str, title: str
) -> None:
    assert read_pdf(pdf_file([REPORT], stated), 60).properties.title == title


@pytest.mark.parametrize(
    ("end", "begin", "word"),
    [
        ("and the infor-", "mation about it is kept in the archive of the guild.", "information"),
        (
            "a state-of-the-",
            "art lamp that is kept in the archive of the guild.",
            "state-of-the-art",
        ),
        ("the old Baden-", "Baden that is kept in the archive of the whole guild.", "Baden-Baden"),
        ("a well-", "known lamp that is kept in the archive of the guild.", "well-known"),
        (
            "at https://e.org/a-",
            "b which is kept in the archive of the guild.",
            "https://e.org/a-b",
        ),
        ("in 2020-", "2021 it was kept in the archive of the old guild.", "2020-2021"),
        ("the co-", "operation of the keepers in the archive of the guild.", "cooperation"),
    ],
)
def test_hyphen_at_end_of_line_is_kept_where_the_word_has_one(
    end: str, begin: str, word: str
) -> None:
    line = f"The harbour of the town was built in the year of the storm, {end}"
    known = column(["It is well-known."], y=600)
    found = texts([*column([line, begin]), *known])[0].split()
    assert word in found
    assert not any(part.endswith("-") for part in found)


def test_running_heads_feet_and_page_numbers_are_left_out() -> None:
    pages = [
        [
            *column([f"Report on the harbour, chapter {number}"], y=770),
            *column([f"{line} {'one two three four'.split()[number]}" for line in WIDE], y=700),
            *column([f"{number + 1}"], x=300, y=30),
        ]
        for number in range(4)
    ]
    found = texts(*pages)
    assert len(found) == 4
    assert all(text.startswith(WIDE[0]) for text in found)
    # A line that stands on one page only is text, at any height.
    assert texts(column(["The harbour, at the top."], y=770)) == ["The harbour, at the top."]


def test_columns_are_read_one_after_the_other_and_sentence_goes_on_across_them() -> None:
    left = [f"the lamp of the old quay number {number} is" for number in range(20)]
    right = ["lit at dusk by the keeper, who goes home.", "A bell is rung in fog."]
    found = texts([*column(left), *column(right, x=330)], column(["The second page."]))
    assert found == [" ".join([*left, *right]), "The second page."]


def test_indents_gaps_and_short_last_lines_end_paragraphs() -> None:
    indented = [
        Text(72, TOP, WIDE[0]),
        Text(72, TOP - 14, "keeper writes it down."),
        Text(90, TOP - 28, WIDE[0]),
        Text(72, TOP - 42, WIDE[1]),
        Text(72, TOP - 70, WIDE[1]),
    ]
    assert texts(indented) == [f"{WIDE[0]} keeper writes it down.", " ".join(WIDE), WIDE[1]]


def test_words_of_justified_lines_stay_whole_and_ligatures_and_accents_are_letters() -> None:
    line = "[(They pre) -90 (v) 30 (ent the har) -70 (bour) -620 (of recei) -100 (v) 25 (ed ships)]"
    assert texts([Text(72, TOP, line)]) == ["They prevent the harbour of received ships"]
    assert texts([Text(72, TOP, "the caf´e of Z¨urich")]) == ["the café of Zürich"]


def test_encrypted_file_says_why_it_is_not_read() -> None:
    import pypdfium2

    with pytest.raises(pypdfium2.PdfiumError):
        read_pdf(b"%PDF-1.4 broken", 60)
