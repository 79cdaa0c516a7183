"""How two versions of a page differ."""

from __future__ import annotations

import random
import time

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl import difference
from contentspider.recrawl.difference import change_ratio, diff_lines, text_hash


def test_text_hash_covers_text_of_all_blocks() -> None:
    one, other = (Page.from_html(f"<p>Tea</p><p>{text}</p>") for text in ("Milk", "Cake"))
    assert text_hash(one) == text_hash(Page.from_html("<div>Tea</div><h1>Milk</h1>"))
    assert text_hash(one) != text_hash(other)
    assert len(text_hash(one)) == 32
    page = Page.from_html("<p>Tea</p><p>\ud83d</p>")
    assert text_hash(page) == "892a97e57603a1e976e2d7586dec7b78", "histories have it"


@pytest.mark.parametrize(
    ("old", "new", "ratio"),
    [
        ("tea and milk", "tea and milk", 0.0),
        ("", "", 0.0),
        ("", "tea", 1.0),
        ("tea milk", "tea cake", 0.5),
        ("tea milk cake", "tea milk egg", 0.3333),
        ("tea\nmilk", "tea milk", 0.0),
        ("w " * 9_999, "w " * 9_999 + "v", 0.0001),
    ],
)
def test_change_ratio_is_share_of_differing_words(old: str, new: str, ratio: float) -> None:
    assert change_ratio(old, new) == ratio


def test_long_texts_are_compared_by_pairs_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = "one two\nthree four", "one two\nthree five"
    assert change_ratio(old, new) == 0.25
    monkeypatch.setattr(difference, "MAX_WORDS", 4)
    assert change_ratio(old, new) == 0.25, "the longest texts whose words are aligned"
    monkeypatch.setattr(difference, "MAX_WORDS", 3)
    assert change_ratio(old, new) == 0.3333, "one of three pairs"
    assert change_ratio(old, "four three two one") == 1.0
    assert change_ratio(old, old.replace("\n", " ")) == 0.0


@pytest.mark.parametrize("per_line", [1, 20, 10**9])
def test_time_of_change_ratio_grows_with_the_length_of_texts(per_line: int) -> None:
    draw = random.Random(1)
    words = [f"word{draw.randrange(200)}" for _ in range(120_000)]

    def seconds(count: int) -> float:
        starts = range(0, count, per_line)
        lines = [" ".join(words[start : min(start + per_line, count)]) for start in starts]
        started = time.process_time()
        change_ratio("\n".join(lines), "first " + "\n".join(reversed(lines)))
        return time.process_time() - started

    short = min(seconds(15_000) for _ in range(3))
    assert min(seconds(120_000) for _ in range(2)) < 20 * short


def test_diff_names_both_versions_and_shows_context_line() -> None:
    found = list(diff_lines("a\nb\nc\nd", "a\nb\nc\ne", "then", "now"))
    assert found == ["--- then", "+++ now", "@@ -3,2 +3,2 @@", " c", "-d", "+e"]
