"""How two versions of a page differ."""

from __future__ import annotations

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


def test_long_texts_are_compared_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = "one two\nthree four", "one two\nthree five"
    assert change_ratio(old, new) == 0.25
    monkeypatch.setattr(difference, "MAX_WORDS", 4)
    assert change_ratio(old, new) == 0.25, "as many as are still compared by words"
    monkeypatch.setattr(difference, "MAX_WORDS", 3)
    assert change_ratio(old, new) == 0.5


def test_diff_names_both_versions_and_shows_context_line() -> None:
    found = list(diff_lines("a\nb\nc\nd", "a\nb\nc\ne", "then", "now"))
    assert found == ["--- then", "+++ now", "@@ -3,2 +3,2 @@", " c", "-d", "+e"]
