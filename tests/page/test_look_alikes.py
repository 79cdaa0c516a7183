"""Ordinary pages whose markup looks like that of documentation, code, boxes or tabs."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider import extract_html
from contentspider.page.input.page import Page
from contentspider.site.companions import with_labels, with_titles
from tests.written import markdown, markup, text

PROSE = "The ferry leaves the quay at ten and comes back in the evening. "


@pytest.mark.parametrize(
    "body",
    [
        "<p>Photo of the boat <span class=src>by Ada Lund</span> in June.</p>",
        "<p>The prices are from <a class=src href=/x>the tariff</a> and are valid.</p>",
        (
            "<div><button aria-expanded=false>How do I list files?</button>"
            "<div hidden><pre>ls</pre></div></div>"
        ),
        (
            "<div><div class=copy-icon><a href=/boat.py><code>boat.py</code></a></div>"
            "<pre>sail()</pre></div>"
        ),
    ],
    ids=["credit", "link", "question", "file name"],
)
def test_words_beside_code_and_pictures_stay(body: str) -> None:
    words = ("by Ada Lund", "the tariff", "How do I list files?", "boat.py")
    assert any(word in text(body) for word in words)


@pytest.mark.parametrize(
    "body",
    [
        "<div class=sig><p>Ada Lund</p><p>Captain</p></div>",
        '<div class="attr row"><p>Ada Lund</p><p>Captain</p></div>',
    ],
)
def test_signatures_of_people_are_no_code(body: str) -> None:
    assert markdown(body) == "Ada Lund\n\nCaptain"


@pytest.mark.parametrize("class_", ["data", "attribute", "class"])
def test_lists_of_values_are_no_api(class_: str) -> None:
    body = f"<dl class={class_}><dt>Length</dt><dd>30 m</dd></dl>"
    assert markdown(body) == "Length\n: 30 m"


@pytest.mark.parametrize("around", ["article", "main"])
def test_whole_text_is_no_box(around: str) -> None:
    body = f"<{around}><div class=note><h2>A day at sea</h2><p>{PROSE}</p></div></{around}>"
    assert markdown(body) == f"## A day at sea\n\n{PROSE.strip()}"


def test_headers_of_tabs_with_long_text_stay() -> None:
    body = (
        f"<div role=tablist><div role=tab id=a><h3>First class</h3><p>{PROSE * 3}</p></div>"
        "<div role=tabpanel aria-labelledby=a><p>Seats of leather.</p></div></div>"
    )
    assert PROSE.strip() in text(body)


def test_entries_of_word_without_marker_have_no_number() -> None:
    entry = '<p style="mso-list:l0 level1 lfo1">{}</p>'
    body = entry.format("2024 was a good year.") + entry.format("I sailed.")
    assert markdown(body) == "- 2024 was a good year.\n- I sailed."


def test_links_on_lines_of_their_own_stay_apart() -> None:
    tags = "<p><a href=/a>旅行</a>\n<a href=/b>日本</a></p>"
    assert text(tags) == "旅行 日本"
    assert text("<p>船は<a href=/a>港</a>\nにある。</p>") == "船は港にある。"


def test_close_sign_of_a_box_is_no_content() -> None:
    box = (
        '<div class="alert alert-warning">The harbour is closed today.'
        "<button type=button class=close><span>×</span></button></div>"
    )
    found = extract_html(f"<main><h1>Harbour</h1><p>{PROSE * 4}</p>{box}<p>{PROSE * 4}</p></main>")
    assert "The harbour is closed" in found.text
    assert "×" not in found.text


def test_many_signs_of_emphasis_take_linear_time() -> None:
    assert markdown(f"<p>{'_a *b ' * 50_000}</p>") == ("_a \\*b " * 50_000).strip()


def test_lists_in_lists_stand_below_the_entry_before() -> None:
    body = "<ul><li>Boats</li><ul><li>Ferry</li><li>Raft</li></ul><li>Trains</li></ul>"
    assert markdown(body) == "- Boats\n    - Ferry\n    - Raft\n- Trains"
    assert "<p>Boats</p>\n<ul>" in markup(body)


def test_label_of_unfolded_text_is_no_title() -> None:
    body = (
        "<details class=toggle open><summary class=hideme><span>Expand description</span></summary>"
        f"<p>{PROSE}</p></details>"
    )
    assert markdown(body) == PROSE.strip()


@pytest.mark.parametrize(
    ("control", "text"),
    [
        ("<button>Why is it dense?<span class=icon>+</span></button>", "Why is it dense?"),
        ("<h3><button>Why is it dense? <i>▼</i></button></h3>", "### Why is it dense?"),
        ("<div aria-expanded=false>Why is it dense?<b>−</b></div>", "Why is it dense?"),
        ("<p>Vitamins A, C and <b>+</b></p>", "Vitamins A, C and **+**"),
        ("<button>Vitamin <i>+</i> mineral</button>", "Vitamin *+* mineral"),
    ],
)
def test_sign_at_the_end_of_a_control_is_not_its_text(control: str, text: str) -> None:
    assert markdown(f"{control}<div><p>{PROSE}</p></div>").startswith(f"{text}\n")


@pytest.mark.parametrize(("classes", "is_kept"), [("ttc", False), ("ttc-box", True)])
def test_tooltip_of_a_name_in_code_is_left_out(classes: str, is_kept: bool) -> None:
    tooltip = f'<div class="{classes}" id="a1"><div class="ttname">Boat::sail</div></div>'
    body = f'<div class="fragment"><div class="line">sail();</div>{tooltip}</div><p>{PROSE}</p>'
    assert ("Boat::sail" in markdown(body)) == is_kept


@pytest.mark.parametrize(
    ("facts", "kept"), [(("30 m",), 2), (("Posts: 138", "Joined: 4 Jul 2012"), 1)]
)
def test_facts_about_an_author_are_no_definition(facts: tuple[str, ...], kept: int) -> None:
    body = "<dl><dt>Ada</dt>" + "".join(f"<dd>{fact}</dd>" for fact in facts) + "</dl>"
    blocks = Page.from_html(body).content.blocks
    is_kept = np.array([block.text == "Ada" for block in blocks])
    assert with_titles(blocks, is_kept).sum() == kept


@pytest.mark.parametrize(
    ("label", "is_kept"),
    [
        ("<p>Example 1:</p>", True),
        ("<h2>Code</h2>", True),
        ("<p>Advertisement</p>", False),
        ("<p><a href=/b>Read more:</a></p>", False),
        ("<div><p>Related:</p></div>", False),
    ],
)
def test_labels_and_headings_within_content_are_content(label: str, is_kept: bool) -> None:
    body = f"<article><p>Rye is a grain.</p>{label}<ul><li>Oat is one</ul></article>"
    content = Page.from_html(body).content
    kept = np.array([" is " in block.text for block in content.blocks])
    assert with_labels(content, kept).tolist() == [True, is_kept, True]


def test_labels_before_or_after_content_stay_out() -> None:
    body = "<p>Tags:</p><div><p>Rye is a grain.</p></div><p>Share:</p><p>By mail</p>"
    content = Page.from_html(body).content
    kept = np.array([block.text.endswith(".") for block in content.blocks])
    assert with_labels(content, kept).tolist() == kept.tolist()
