"""The hybrid paper's experiment: its units, what they are labelled, and start tags that decide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.evaluation.corpora import GoldPage
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider_research.experiments.experiments import ExperimentSite, owner_folds
from contentspider_research.experiments.hybrid import (
    BY_TAG,
    UNITS,
    UnitPage,
    hybrid_tables,
    judge_units,
)
from contentspider_research.experiments.judging import with_gold
from contentspider_research.metric import measures

if TYPE_CHECKING:
    from pathlib import Path

PROSE = "Tea is made of leaves that somebody picked by hand."
HTML = (
    "<div class=menu><a href=/>Home page</a> <a href=/tea>All teas</a></div>"
    f"<div class=text><p>{PROSE}</p><p>Drink it hot.</p><div class=note>More to come</div></div>"
    "<div class=text><p>Also read</p></div>"
)
GOLD = GoldPage("page", f"{PROSE}\nDrink it hot.", "")


def site(name: str, group: str, gold: GoldPage | None = GOLD) -> ExperimentSite:
    page = Page.from_html(HTML, "page")
    labels = [np.zeros(len(page.content.blocks), dtype=bool)]
    return ExperimentSite(name, group, "sites", [page], [gold], labels, None)


class Long:
    """Keeps what has five words or more."""

    def fit(self, numbers: np.ndarray, labels: np.ndarray) -> None:
        assert len(numbers) == len(labels)

    def predict(self, numbers: np.ndarray) -> np.ndarray:
        return np.asarray(numbers[:, 0] >= 5)


def test_units_are_cells_without_nested_cells() -> None:
    page = UnitPage.of(Page.from_html(HTML, "page"), GOLD, UNITS["div, td"])
    assert page.start_tags == ["div.menu", "div.text", "div.note", "div.text"]
    assert page.words.tolist() == [4, 13, 3, 2]
    assert page.labels.tolist() == [False, True, False, False]
    words, density, links, linked, words_a_link, ratio = page.numbers[0]
    assert (words, links, linked, words_a_link, ratio) == (4, 2, 4, 2, 1)
    assert density == pytest.approx(4 / 22)
    kept = page.blocks(np.array([False, True, False, False]))
    assert kept.tolist() == [False, True, True, False, False]


def test_unit_is_content_if_half_of_its_words_are() -> None:
    html = "<div><p>one two three</p><p>four five six</p></div>"
    for text, label in (("one two three", True), ("two", False)):
        page = UnitPage.of(
            Page.from_html(html, "page"), GoldPage("page", text, ""), UNITS["layout"]
        )
        assert page.labels.tolist() == [label]


def test_units_with_same_start_tag_decide_together() -> None:
    sites = [site("one", "one"), site("two", "two")]
    pages = {each.name: [UnitPage.of(each.pages[0], GOLD, UNITS["div, td"])] for each in sites}
    found = judge_units(sites, pages, Long, 7)
    assert [page.units.tolist() for page in found[""]] == [[[3, 0], [0, 1]]] * 2
    assert found[""][0].f1 == 1
    # "Also read" has the start tag of the text.
    assert [page.units.tolist() for page in found[BY_TAG]] == [[[2, 1], [0, 1]]] * 2
    assert found[BY_TAG][0].words.tolist() == [[7, 2], [0, 13]]


def test_classifier_is_never_trained_on_sites_of_owner_it_judges() -> None:
    sites = [site("a-2005", "a"), site("a-2013", "a"), site("b", "b"), site("c", "c")]
    folds = list(owner_folds(sites, 7))
    assert sorted(each.name for judged, _ in folds for each in judged) == sorted(
        each.name for each in sites
    )
    for judged, others in folds:
        assert others
        assert not {each.group for each in judged} & {each.group for each in others}


def test_experiment_needs_gold_of_two_owners() -> None:
    sites = [site("one", "one"), site("two", "two"), site("three", "three", None)]
    assert with_gold(sites) == sites[:2]
    with pytest.raises(ContentSpiderError, match="two owners or more"):
        with_gold([site("a", "a"), site("b", "a"), sites[2]])


def test_hybrid_tables_are_grouped_by_suite_and_page_words(tmp_path: Path) -> None:
    lines = hybrid_tables([site("one", "one"), site("two", "two")], 7, tmp_path / "words.svg")
    rows = [line for line in lines if line.startswith("| div, td |")]
    assert len(rows) == 8
    assert all(re.search(r"( \| [01]\.\d{4}){9} \|$", row) for row in rows)
    assert sum(line.startswith("| 22-22 |") for line in lines) == 4  # all pages are as long
    assert (tmp_path / "words.svg").is_file()


def test_measures_are_computed_from_counts() -> None:
    assert measures(np.array([[6, 1], [1, 2]])) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 0.8))
    assert measures(np.zeros((2, 2))) == (1, 1, 1, 1)
