"""What the ids, classes and roles on a block's path say."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.page.tree.blocks import Block
from contentspider.page.words.names import (
    NAME_GROUPS,
    PATH_FEATURES,
    NameRows,
    name_groups,
    step_tag,
)


def path_row(path: str) -> list[float]:
    row = np.zeros((1, len(PATH_FEATURES)), dtype=np.float32)
    NameRows().fill(row, [Block("x", path, "p", 0)])
    return row[0].tolist()


def test_name_features_weigh_by_distance_to_block() -> None:
    row = path_row("body.footer/div.nav/div.share/div.ad/div/p#comments")
    found = {
        name: value
        for name, value in zip(PATH_FEATURES, row, strict=True)
        if value and not name.startswith(("tag_", "inside_"))
    }
    assert found == pytest.approx(
        {"own_comment": 1, "near_ad": 1, "far_share": 1, "far_nav": 1 / 2, "far_footer": 1 / 3}
    )


def test_tag_features_distinguish_leaf_and_ancestors() -> None:
    row = dict(zip(PATH_FEATURES, path_row("body/ul/li.x/ul#y/li/p"), strict=True))
    assert {name: value for name, value in row.items() if value} == {
        "tag_p": 1,
        "inside_li": 2,
        "inside_ul": 2,
    }
    assert dict(zip(PATH_FEATURES, path_row("body/my-card"), strict=True))["tag_other"] == 1


def test_name_rows_reject_array_of_wrong_width() -> None:
    with pytest.raises(ValueError):
        NameRows().fill(np.zeros((1, 3), dtype=np.float32), [Block("x", "body", "p", 0)])


@pytest.mark.parametrize(
    ("step", "groups"),
    [
        ("div.comments", {"comment"}),
        ("div.commentList", {"comment", "list"}),
        ("div#relatedPosts[navigation]", {"related", "nav"}),
        ("nav", set()),
        ("div.unrelated", set()),
        ("div.TOCList", {"toc", "list"}),
        ("shop-price", {"product"}),
        ("x-comment.ad", {"comment", "ad"}),
        ("div.AD", {"ad"}),
        ("div.sideBarAD2nav", {"side", "ad", "nav"}),
        ("div..ad[]", {"ad"}),
        ("div.col2", {"side"}),
    ],
)
def test_name_groups_are_read_from_ids_classes_and_roles(step, groups) -> None:
    assert {NAME_GROUPS[index] for index in name_groups(step)} == groups


@pytest.mark.parametrize(
    ("step", "tag"), [("p", "p"), ("h1#a.b", "h1"), ("a[b]", "a"), ("", ""), (".x", "")]
)
def test_tag_is_read_from_path_step(step, tag) -> None:
    assert step_tag(step) == tag


def test_cached_paths_are_limited() -> None:
    rows = NameRows(max_kept=3)
    into = np.zeros((1, len(PATH_FEATURES)), dtype=np.float32)
    for number in range(10):
        rows.fill(into, [Block("x", f"body/div.part-{number}/p", "p", 0)])
    assert len(rows) <= 3


def widgets(*steps: str) -> float:
    """Return how much the names of *steps* in a page say that a block stands in a widget."""
    blocks = [Block("x", f"body/{step}/p", "p", 0) for step in steps]
    into = np.zeros((len(blocks), len(PATH_FEATURES)), dtype=np.float32)
    NameRows().fill(into, blocks)
    return float(into[:, PATH_FEATURES.index("near_widget")].mean())


def test_word_in_nearly_all_names_of_a_page_says_nothing() -> None:
    numbered = [f"div.block-{number}" for number in range(20)]
    assert widgets(*numbered) == 0
    assert widgets(*numbered[:9]) == 1, "the page has too few names"
    others = [f"div.part-{number}" for number in range(3)]
    assert widgets(*numbered, *others) == pytest.approx(20 / 23), "the word tells its parts apart"
