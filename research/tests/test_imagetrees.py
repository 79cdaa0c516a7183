"""Trees of pictures: what is known of each, and the figures by groups of size."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.site.images import picture_key
from contentspider_research.cli import main
from contentspider_research.dataset.records import COLUMNS
from contentspider_research.experiments.imagetrees import (
    FEATURES,
    LARGE,
    SMALL,
    UNKNOWN,
    grow,
    picture_features,
    size_group,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("size", "group"), [(None, UNKNOWN), (1, SMALL), (40_000, SMALL), (40_001, LARGE)]
)
def test_pictures_are_grouped_at_forty_thousand_square_pixels(size, group) -> None:
    assert size_group({**dict.fromkeys(COLUMNS), "rect_size": size}) == group


def test_features_are_those_of_the_row() -> None:
    record = {
        **dict.fromkeys(COLUMNS),
        "rect_size": 900.0,
        "image_alt": "A cup",
        "ancestors_names": "main,figure,a",
        "num_siblings": 2,
        "distance_to_root": 4,
        "is_thumbnail": 1,
        "is_desc_nav": 0,
    }
    found = dict(zip(FEATURES, picture_features(record), strict=True))
    assert {name: value for name, value in found.items() if value} == {
        "rect_size": 900,
        "has_size": 1,
        "alt_words": 2,
        "num_siblings": 2,
        "distance_to_root": 4,
        "is_thumbnail": 1,
        "is_desc_tag_main": 1,
        "is_desc_tag_figure": 1,
        "is_desc_tag_a": 1,
    }


@pytest.mark.parametrize(("main_of_hundred", "leaves"), [(55, 1), (60, 2)])
def test_tree_splits_only_where_a_hundredth_of_the_root_is_gained(main_of_hundred, leaves) -> None:
    # Of 55 and 45 of a hundred the entropy is 0.9928 bits, of 60 and 40 it is 0.9710; the root's
    # is 1 bit.
    rows = np.repeat([[0.0], [1.0]], 100, axis=0)
    labels = np.concatenate(
        [np.arange(100) < main_of_hundred, np.arange(100) < 100 - main_of_hundred]
    )
    assert grow(rows, labels).get_n_leaves() == leaves
    assert grow(rows, np.ones(200, dtype=bool)).get_n_leaves() == 1


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Two sites of eleven pages, each with a large picture in its text and a thumbnail below it; on
    the last page of the first site the large picture is not judged to be main.
    """
    gold = []
    for site in ("one", "two"):
        folder = tmp_path / "corpora" / site
        (folder / "html").mkdir(parents=True)
        (folder / "site.json").write_text(json.dumps({"id": site, "suite": "sites"}))
        rows = []
        for number in range(11):
            path = f"{number}.html"
            (folder / "html" / path).write_text(
                f"<main><p>Tea {number} is of leaves <img src=/a{number}.jpg width=300 height=200>"
                f"</p></main><footer><p>Ad <a href=/x><img src=/b{number}.jpg width=50 height=50>"
                "</a></p></footer>"
            )
            rows.append(json.dumps({"path": path, "text": f"Tea {number} is of leaves"}))
            large, small = ([picture_key(f"/{letter}{number}.jpg"), 0, 0] for letter in "ab")
            is_odd = site == "one" and number == 10
            judged = {"main": [] if is_odd else [large], "other": [small] + [large] * is_odd}
            gold.append(json.dumps({"site": site, "path": path, **judged}))
        (folder / "gold.jsonl").write_text("\n".join(rows))
    (tmp_path / "gold.jsonl").write_text("\n".join(gold))
    return tmp_path / "corpora"


def test_table_has_counts_by_size(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = str(corpora.parent / "gold.jsonl")
    assert main(["judge-images", str(corpora), "--gold", gold]) == 0
    # Large: 21 right and one kept wrongly, so P = 21/22, R = 1, F1 = 42/43.
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:6] == [
        "| small | 22 | 0 | 0 | 0 | 1.000 | 1.000 | 1.000 |",
        "| large | 0 | 1 | 0 | 21 | 0.955 | 1.000 | 0.977 |",
        "| unknown size | 0 | 0 | 0 | 0 | 1.000 | 1.000 | 1.000 |",
        "| all | 22 | 1 | 0 | 21 | 0.955 | 1.000 | 0.977 |",
    ]


def test_trees_need_pictures_of_two_owners(corpora: Path) -> None:
    gold = str(corpora.parent / "gold.jsonl")
    assert main(["judge-images", str(corpora / "one"), "--gold", gold]) == 1
