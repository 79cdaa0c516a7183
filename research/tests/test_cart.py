"""A tree for each type of element: which elements count, what is known of them, what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.evaluation.corpora import GoldPage
from contentspider.page.input.page import Page
from contentspider_research.experiments.cart import cart_tables, count, grow, judge
from contentspider_research.experiments.elementtypes import COLUMN, COLUMNS, Elements, read_elements
from contentspider_research.experiments.experiments import ExperimentSite

if TYPE_CHECKING:
    from pathlib import Path

PROSE = "Tea is made of leaves that somebody picked by hand."


def read(html: str, gold: str = "") -> dict[str, Elements]:
    return read_elements(Page.from_html(html, attributes=True), GoldPage("page", gold, ""))


def test_div_counts_only_its_own_words() -> None:
    found = read(
        "<div>One two three.</div><div><p>Four five.</p></div><div><div>Six.</div></div>"
        "<div><section><article><main>Too deep.</main></article></section></div>"
        "<table><tr><th>Seven</th><td><p>Eight.</p></td></tr></table><h3>Nine</h3><p></p>"
    )
    assert {kind: elements.words.tolist() for kind, elements in found.items()} == {
        "div": [3, 1],
        "p": [2, 1],
        "td": [1],
        "h": [1],
    }


def test_each_word_counts_once() -> None:
    found = read(f"<ul><li>Read: <p>{PROSE}</p></li></ul>", PROSE)
    assert found["li"].words.tolist() == [1]
    assert found["p"].words.tolist() == [10]
    assert found["li"].labels.tolist() == found["p"].labels.tolist() == [True]
    assert found["li"].features[0, COLUMN["inner_text_length"]] == 11


@pytest.mark.parametrize(
    ("html", "kind", "vetoed"),
    [
        (f"<p>{PROSE}</p>", "p", False),
        (f"<nav><p>{PROSE}</p></nav>", "p", True),
        (f"<div id=topnav><h2>{PROSE}</h2></div>", "h", True),
        (f"<div class=ad-box><p>{PROSE}</p></div>", "p", True),
        (f"<div class=ad-box><ul><li>{PROSE}</li></ul></div>", "li", True),
        (f"<nav><ul><li>{PROSE}</li></ul></nav>", "li", False),
        (f"<nav><table><tr><td>{PROSE}</table></nav>", "td", True),
        (f"<a href=/><p>{PROSE}</p></a>", "p", True),
        (f"<p><a href=/>{PROSE}</a></p>", "p", True),
        (f"<p><a href=/>Tea</a> {PROSE}</p>", "p", False),
        (f"<p class=nav>{PROSE}</p>", "p", False),  # an ancestor must say it
    ],
)
def test_noise_rules_veto_elements(html: str, kind: str, vetoed: bool) -> None:
    elements = read(html, PROSE)[kind]
    assert elements.vetoed.tolist() == [vetoed]
    assert judge(None, elements).tolist() == [not vetoed]


def test_element_features_describe_surrounding_elements() -> None:
    html = "<div class=comments><p>Share <b>it</b> now.</p><p>Tea.</p><img src=x></div>"
    row = read(html)["p"].features[0]
    named = {name for name, value in zip(COLUMNS, row, strict=True) if value}
    assert named == {
        *("inner_text_length", "child_text_length", "has_children", "is_uppermost_or_bottommost"),
        *("is_desc_comment", "is_desc_tag_div", "is_sib_p", "is_sib_img", "has_child_b"),
        "contains_share",
    }
    assert (row[COLUMN["inner_text_length"]], row[COLUMN["child_text_length"]]) == (3, 2)


def test_confusion_is_counted_by_element_word_and_character() -> None:
    elements = Elements(
        np.zeros((3, len(COLUMNS)), dtype=np.float32),
        np.array([3, 5, 7]),
        np.array([30, 50, 70]),
        np.array([True, True, False]),
        np.zeros(3, dtype=bool),
    )
    found = count(elements, np.array([True, False, True]))
    assert found.tolist() == [[[0, 1], [1, 1]], [[0, 7], [5, 3]], [[0, 70], [50, 30]]]


def test_element_type_that_is_always_content_is_kept() -> None:
    elements = read(f"<pre>{PROSE}</pre>", PROSE)["pre"]
    assert judge(grow(elements, np.zeros(1, dtype=int)), elements).tolist() == [True]


def test_cart_experiment_writes_tables_and_drawings(tmp_path: Path) -> None:
    html = f"<nav><p>Home page of tea</p></nav><div>Menu</div><h1>Tea</h1>{f'<p>{PROSE}</p>' * 3}"
    gold = GoldPage("page", "\n".join(["Tea", *[PROSE] * 3]), "")
    page = Page.from_html(html, "page", attributes=True)
    sites = [
        ExperimentSite(name, name, "sites", [page] * 10, [gold] * 10, [], None)
        for name in ("one", "two", "three")
    ]
    lines = cart_tables(sites, 7, tmp_path / "out.svg")
    assert "| p | sites | elements | 30 | 0 | 0 | 90 | 1.0000 | 1.0000 | 1.0000 | 1.0000 |" in lines
    assert (
        "| all | sites | words | 150 | 0 | 0 | 930 | 1.0000 | 1.0000 | 1.0000 | 1.0000 |" in lines
    )
    assert "Rules made noise of 30 elements, of which 30 are noise to the gold." in lines
    assert "| one | 1.0000 | 0 | 0 |" in lines
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"out-tree-{kind}.svg" for kind in ("p", "div", "h")),
        *("out.svg", "out-splits.svg"),
    }
    assert "F1 by word of other owners" in (tmp_path / "out-tree-p.svg").read_text()
