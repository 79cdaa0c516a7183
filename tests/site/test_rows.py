"""What a classifier sees of a block: its row."""

from __future__ import annotations

import pytest

from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block
from contentspider.site.judge import rows
from contentspider.site.judge.rows import (
    Group,
    SlotFeatures,
    layout_positions,
    shape,
    text_key,
    weigh,
)
from contentspider.site.judge.slots import SlotTable


def features(html: str, names: tuple[str, ...] = (), noise: tuple[str, ...] = ()) -> list[set[str]]:
    """Return the features of each block of a page."""
    noise_texts = frozenset(map(text_key, noise))
    found = SlotFeatures(SlotTable.of_names(names), noise_texts).rows(Page.from_html(html).content)
    return [{" ".join(feature) for group in row for feature in group} for row in found]


@pytest.mark.parametrize(
    ("chars", "length"),
    [
        *[(1, 0), (9, 0), (10, 1), (24, 1), (25, 2), (49, 2), (50, 3), (79, 3), (80, 4), (139, 4)],
        *[(140, 5), (299, 5), (300, 6), (5_000, 6)],
    ],
)
def test_text_length_is_binned(chars, length) -> None:
    assert shape(Block("x" * chars, "p", "p", 0, 0)) == 8 * length


@pytest.mark.parametrize(
    ("linked", "links"), [(0, 0), (1, 0), (2, 1), (29, 1), (30, 2), (89, 2), (90, 3), (100, 3)]
)
def test_link_share_is_binned(linked, links) -> None:
    assert shape(Block("x" * 100, "p", "p", 0, linked)) == 8 * 4 + 2 * links
    assert shape(Block("x" * 99 + ".", "p", "p", 0, linked)) == 8 * 4 + 2 * links + 1


def test_shape_features_are_named_alone_and_with_slot() -> None:
    assert {" ".join(feature) for feature in rows.shape_features(8 * 4 + 2 * 3 + 1, "s")} == {
        "length 4",
        "links 3",
        "ends 1",
        "shape 431",
        "shaped 431 s",
        "linked 3 s",
    }


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p>a</p><p>b</p>", ["", ""]),
        ("<div>a</div><div>b</div>", ["0", "1"]),
        ("<div>a</div><p>b</p><div>c</div>", ["0", "", "1"]),
        ("<div><div><p>a</p></div><div>b</div></div><div>c</div>", ["00", "01", "1"]),
        ("<main><ul><li><div>a</div></li></ul></main>", ["00"]),
        ("<div>x</div>" * 7, ["0", "1", "2", "3", "4", "4", "4"]),
        ("<table><tr><td>a</td><td>b</td></tr></table>", ["00", "01"]),
    ],
)
def test_place_counts_layout_elements_of_same_kind(html, found) -> None:
    assert layout_positions(Page.from_html(html).content) == found


def test_recurring_text_feature_is_limited_to_400_characters() -> None:
    html = f"<p>{'a' * 399}</p><p>{'b' * 400}</p><p>c</p><p>d</p>"
    found = features(html, noise=("a" * 399, "b" * 400, "c"))
    assert ["recurs" in row for row in found] == [True, False, True, False]
    assert ["recurs body/p" in row for row in found] == [True, False, True, False]
    assert not any("recurs" in row for row in features(html))


def test_text_key_is_stable() -> None:
    assert text_key("Read more") == "89370b58ee3919ca"
    assert text_key("\ud800") == text_key("?")
    assert text_key("Tea") != text_key("tea")


def test_neighbouring_blocks_are_named_by_slot() -> None:
    first, second, third = features("<h1>a</h1><p>b</p><h2>c</h2>")
    assert {"after start", "before body/p"} <= first
    assert {"after body/h1", "before body/h2", "after body/h1 body/p"} <= second
    assert {"after body/p", "before end", "before end body/h2"} <= third


def test_names_unused_by_template_give_no_features() -> None:
    html = "<body class='blog p7'><div class='text wide'><p id=p7>a</p></div>"
    (row,) = features(html, names=(".text", ".blog"))
    assert {"body body.blog body/div.text/p", "has div.text", "slot body/div.text/p"} <= row
    assert not [feature for feature in row if "p7" in feature or "wide" in feature]


def test_repeated_path_step_counts_once() -> None:
    page = Page.from_html("<div class=a><div class=a><p>x</p></div></div>").content
    (row,) = SlotFeatures(SlotTable.of_names([".a"]), frozenset()).rows(page)
    found = [" ".join(feature) for group in row for feature in group]
    assert found.count("has div.a") == 1
    assert {"under body/div.a", "under body/div.a/div.a"} <= set(found)
    assert "under body" not in found


def test_row_weight_sums_features_of_its_groups_and_their_ancestors() -> None:
    top = Group((("a",), ("b",)))
    inner = Group((("c",),), above=top)
    other = Group((("d",),), above=top)
    assert list(inner) == [("a",), ("b",), ("c",)]
    assert repr(inner) == "Group(a, b, c)"
    weights = {("a",): 1.0, ("c",): 0.25, ("d",): -2.0}
    assert weigh([[inner], [other], [top, inner], []], weights, 0.5) == [1.75, -0.5, 2.75, 0.5]
    # by other weights they are weighed anew
    assert weigh([[inner], [other]], {("b",): 3.0}, 0.0) == [3.0, 3.0]
    assert weigh([[inner]], weights, 0.0) == [1.25]


def test_page_without_blocks_has_no_rows() -> None:
    assert features("") == []


def test_repeated_paths_reuse_cached_groups() -> None:
    found = SlotFeatures(SlotTable.of_names([]), frozenset())
    page = Page.from_html("<body class=a><div><p>a</p><p>b</p></div>").content
    first, second = found.rows(page), found.rows(page)
    size = found.size
    # two places, and of the one where blocks stand shape, position, body, and what is beside
    assert size == 3 + 3 + 3 + 2 * 2
    assert all(
        a is b
        for row, again in zip(first, second, strict=True)
        for a, b in zip(row, again, strict=True)
    )
    found.rows(Page.from_html("<body class=a><div><p>longer than that").content)
    assert found.size == size + 1  # another shape


@pytest.mark.parametrize(
    ("limit", "value"), [("MAX_PATHS", 2), ("MAX_GROUPS", 12), ("MAX_PATH_CHARS", 40)]
)
def test_feature_caches_are_bounded(limit, value, monkeypatch) -> None:
    monkeypatch.setattr(rows, limit, value)
    found = SlotFeatures(SlotTable.of_names([f"#n{number}" for number in range(9)]), frozenset())
    sizes = []
    for number in range(9):
        found.rows(Page.from_html(f"<p>{number}</p><h2 id=n{number}>a</h2>").content)
        sizes.append(found.size)
    # each page has a slot of its own
    assert 0 < max(sizes) <= 2 * sizes[0]


def test_text_recurrence_is_found_despite_full_cache(monkeypatch) -> None:
    monkeypatch.setattr(rows, "MAX_TEXTS", 3)
    found = SlotFeatures(SlotTable.of_names([]), frozenset([text_key("tea")]))
    for number in range(9):
        (first, second) = found.rows(Page.from_html(f"<p>{number}</p><p>tea</p>").content)
        assert (len(first), len(second)) == (6, 7)
