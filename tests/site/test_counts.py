"""What is counted over a page's blocks."""

import pytest

from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block, PageBlocks
from contentspider.site.models.counts import count_prose, kept_chars, sureness

CONTENT = Page.from_html(
    "<p>Tea is made of leaves.<ul><li><a href=/>Home</a><li><a href=/tea>Tea</a> and more"
).content


def test_kept_characters_exclude_link_text() -> None:
    assert kept_chars(CONTENT, [0.9, 0.9, 0.51]) == 22 + 0 + 9
    assert kept_chars(CONTENT, [0.5, 0.9, 0.5]) == 0


def test_prose_is_counted_separately_at_known_and_unknown_places() -> None:
    first, second, _ = CONTENT.blocks
    assert count_prose(CONTENT, {first.path: True, second.path: False}) == (31, 9)


def test_confidence_is_length_weighted_probability_halved_at_unseen_paths() -> None:
    weights = [22**0.5, 4**0.5, 12**0.5]
    right = [0.9, 0.8, 0.6]
    expected = sum(w * p for w, p in zip(weights, right, strict=True)) / sum(weights)
    probabilities = [0.9, 0.2, 0.4]
    paths = [block.path for block in CONTENT.blocks]
    seen = dict.fromkeys(paths, True)
    assert sureness(CONTENT, probabilities, seen) == pytest.approx(expected, abs=1e-4)
    # What is said of places that have not been seen counts half.
    assert sureness(CONTENT, probabilities) == pytest.approx(expected / 2, abs=1e-4)
    half = weights[0] * 0.9 + (weights[1] * 0.8 + weights[2] * 0.6) / 2
    seen = {path: path == paths[0] for path in paths}
    assert sureness(CONTENT, probabilities, seen) == pytest.approx(half / sum(weights), abs=1e-4)


def test_page_without_blocks_has_confidence_0() -> None:
    empty = Page.from_html("").content
    assert sureness(empty, []) == 0.0
    assert kept_chars(empty, []) == 0


@pytest.mark.parametrize("more", [0, 1, 2, 30])
def test_block_with_more_link_than_text_characters_counts_negative(more: int) -> None:
    first = CONTENT.blocks[0]
    block = Block(first.text, first.path, "p", 0, len(first.text) + more)
    page = PageBlocks(parents=[-1], tags=["p"], paths=[block.path], positions=[0])
    page.blocks.append(block)
    assert kept_chars(page, [0.9]) == -more
