"""What the places of blocks say of a page that is judged alone."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.page.features.extractor import FEATURE_NAMES
from contentspider.page.input.page import Page
from contentspider.site.judge.single_page import decide
from tests.sites import prose


def kept(html: str, *probabilities: float) -> list[bool]:
    page = Page.from_html(html)
    assert len(page.content.blocks) == len(probabilities)
    features = np.ones((len(probabilities), len(FEATURE_NAMES)), dtype=np.float32)
    found, is_guess = decide(page, np.array(probabilities, dtype=np.float32), features)
    assert not is_guess
    return (found > 0.5).tolist()


def paragraphs(count: int, name: str = "") -> str:
    return "".join(f"<p>{prose(name, number)}</p>" for number in range(count))


STORY = f"<article><div>{paragraphs(2)}</div></article>"


@pytest.mark.parametrize(("probability", "is_kept"), [(0.6, False), (0.7, True)])
def test_block_outside_of_confident_text_needs_high_probability(probability, is_kept) -> None:
    box = f"<aside><h2>More of this</h2><p>{prose('box')}</aside>"
    found = kept(STORY + box, 0.95, 0.95, probability, probability)
    assert found == [True, True, is_kept, is_kept]


def test_block_before_or_inside_confident_text_may_be_uncertain() -> None:
    assert all(kept(f"<h1>Tea</h1>{STORY}", 0.55, 0.95, 0.95))
    inside = (
        f"<article>{paragraphs(1, 'a')}<div><p>{prose('b')}</div>{paragraphs(1, 'c')}</article>"
    )
    assert all(kept(inside, 0.95, 0.55, 0.95))


@pytest.mark.parametrize(
    ("text", "sure", "beside"),
    [
        pytest.param(1, 0.95, 1, id="too little text"),
        pytest.param(2, 0.85, 1, id="a text that is not sure"),
        pytest.param(2, 0.95, 9, id="a small part of the page"),
    ],
)
def test_page_without_confident_text_keeps_all_probable_blocks(text, sure, beside) -> None:
    html = f"<article>{paragraphs(text)}</article><div>{paragraphs(beside, 'b')}</div>"
    assert all(kept(html, *[sure] * text, *[0.6] * beside))


@pytest.mark.parametrize(
    ("probability", "neighbour", "is_kept"),
    [(0.4, 0.8, True), (0.2, 0.8, False), (0.4, 0.55, False)],
)
def test_uncertain_paragraph_beside_similar_paragraph_is_kept(
    probability, neighbour, is_kept
) -> None:
    series = paragraphs(2)
    lead = f"<div>{paragraphs(1, 'lead')}</div>"
    assert kept(lead + series, 0.85, probability, neighbour) == [True, is_kept, True]
    assert kept(lead + series, 0.85, neighbour, probability) == [True, True, is_kept]


def test_uncertain_block_of_other_kind_or_little_text_is_dropped() -> None:
    assert kept(f"{paragraphs(2)}<blockquote>{prose('q')}</blockquote>", 0.9, 0.9, 0.4)[2] is False
    assert kept(f"{paragraphs(2)}<p>Read more</p>", 0.9, 0.9, 0.4)[2] is False


def test_comments_below_text_are_dropped() -> None:
    below = f"<ol class=comments><li>{prose('c')}</ol>"
    assert kept(STORY + below, 0.95, 0.95, 0.9) == [True, True, False]


@pytest.mark.parametrize(
    ("title", "probability", "is_kept"),
    [("Tea and time", 0.3, True), ("Tea and time", 0.1, False), ("Coffee", 0.3, False)],
)
def test_heading_equal_to_title_is_kept_above_text(title, probability, is_kept) -> None:
    html = f"<title>{title}</title><h1>Tea and time</h1>{STORY}"
    assert kept(html, probability, 0.95, 0.95) == [is_kept, True, True]


def test_title_heading_is_dropped_beside_other_heading_or_without_text() -> None:
    head = "<title>Tea and time</title><h1>Tea and time</h1>"
    assert kept(f"{head}<h2>Leaves</h2>{STORY}", 0.3, 0.9, 0.95, 0.95)[0] is False
    assert kept(f"{head}<p>Leaves and water</p>", 0.3, 0.9) == [False, True]


def test_page_without_text_has_no_probabilities() -> None:
    assert kept("") == []
