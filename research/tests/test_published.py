"""The papers' experiments as published, and rendered pages with gold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from researching import run

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.site.judge.featuresets import SiteFeatures
from contentspider.site.judge.slots import SlotTable
from contentspider_research.experiments.experiments import (
    load_sites,
    measure,
    mixed_pages,
    other_sites,
)
from contentspider_research.experiments.published import judge_blocks, judge_pages, label_by_gold
from contentspider_research.experiments.rendered_curve import edit_scores
from contentspider_research.features.sets import NUMBERS
from contentspider_research.metric import edit_score
from contentspider_research.rendered import rendered_page
from contentspider_research.rendered_sites import find_rendered

if TYPE_CHECKING:
    from pathlib import Path

STORY = "Tea is made of leaves and of water that is hot."


def record(number: int, texts: list[tuple[str, str]], gold: str | None = None) -> dict[str, Any]:
    """Return a rendered page whose *texts* are of one tag below ``div#id0.b.a.5x`` each."""
    page: dict[str, Any] = {
        "url": f"http://example.org/{number}",
        "titles": [STORY],
        "descriptions": [],
        "texts": [
            {
                "text": [text],
                "selector": [
                    {"name": "div", "id": "id0", "classes": ["b", "bc", "ad", "5x"]},
                    {"name": tag, "id": "", "classes": []},
                ],
                "computed": {"color": tag},
                "bound": {"width": 80, "height": 20, "left": 0, "top": 40},
            }
            for tag, text in texts
        ],
    }
    return page | ({"gold": gold} if gold is not None else {})


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in records))
    return path


def names(feature_set: str, page: Page) -> list[list[str]]:
    rows = SiteFeatures([feature_set], SlotTable.of_names([])).rows(page.content)
    return [[" ".join(feature) for group in row for feature in group] for row in rows]


def test_published_feature_sets_name_their_features() -> None:
    page = rendered_page(record(1, [("p", "Tea  is hot"), ("h1", "Tea")]))
    numbers = NUMBERS["text-length"]
    assert numbers is not None
    assert numbers(page.content) == [(8,), (3,)]
    # Classes are sorted; one letter, or a digit first, is none; nor are ids.
    assert names("selectors-path", page)[0] == ["selectors body/div.ad.bc/p"]
    assert names("css", page) == [["css color p"], ["css color h1"]]
    html = "<div lang=en><p align=left class=x onclick=go()>Tea <a href=/>is</a> hot"
    page = Page.from_html(html, attributes=True)
    # Those of inline elements in it are the block's, those above it are not.
    found = names("attributes-names", page)[0]
    assert {"own attribute align", "own attribute class", "own attribute onclick"} <= set(found)
    assert "own attribute lang" not in found
    assert names("attributes-names", Page.from_html(html)) == [[]]


def test_edit_score_compares_words_in_order() -> None:
    assert edit_score("tea is hot", "tea is cold") == pytest.approx(2 / 3)
    assert edit_score("tea hot is", "tea is hot") == pytest.approx(1 / 3)
    assert edit_score("tea", "tea is hot today") == 0.25
    assert edit_score("", "") == 1


def test_gold_labels_cluster_with_most_gold_text() -> None:
    # The longest block is of the cluster "div", but both of "p" together have more of the gold.
    texts = [("div", STORY), ("p", STORY[:30]), ("p", STORY[30:] + " It is good."), ("li", "Tea")]
    (labels,) = label_by_gold([rendered_page(record(1, texts))], [STORY + " It is good."])
    assert labels.tolist() == [False, True, True, False]


def test_shuffled_block_folds_leak_other_blocks_of_same_page() -> None:
    # What is content has another tag on the second half of the pages, which only their own say.
    halves = [[("p", STORY), ("td", "Menu")], [("td", STORY), ("p", "Menu")]]
    pages = [rendered_page(record(n, halves[n // 8])) for n in range(16)]
    labels = [np.array([True, False])] * 16
    table = SlotTable.of_names([])
    for features, shuffled, right in ((["tag-path"], False, 0), (["text-length"], False, 32)):
        kept = np.concatenate(judge_blocks(pages, labels, features, table, 2, shuffled))
        assert int((kept == np.concatenate(labels)).sum()) == right
    for page in pages[:8]:  # now looks tell them apart wherever they were seen
        for block, visual in zip(page.content.blocks, page.content.visuals, strict=True):
            visual["color"] = "first " + block.tag
    kept = np.concatenate(judge_blocks(pages, labels, ["css"], table, 4, shuffled=True))
    assert (kept == np.concatenate(labels)).all()
    kept = np.concatenate(judge_blocks(pages, labels, ["css"], table, 2, shuffled=False))
    assert not (kept == np.concatenate(labels)).all()


def test_published_classifier_weighs_short_and_long_blocks_equally() -> None:
    # Three short blocks of the tag against a long one.
    page = rendered_page(record(1, [("p", STORY), ("p", "a"), ("p", "b"), ("p", "c"), ("b", "d")]))
    labels = np.array([True, False, False, False, True])
    kept = judge_pages([page], [labels], ["tag-path"], SlotTable.of_names([]), [0])
    assert kept[0].tolist() == [False, False, False, False, True]
    (kept_none,) = judge_pages([page], [~labels & False], ["tag-path"], SlotTable.of_names([]), [0])
    assert not kept_none.any()


def test_gold_file_beside_rendered_pages_is_used_for_measures(tmp_path: Path) -> None:
    texts = [("p", STORY), ("li", "Menu")]
    path = write(tmp_path / "tea.jsonl", [record(n, texts) for n in range(4)])
    gold = tmp_path / "tea.gold.jsonl"
    # The last page is an error's: its article is not there, and no method can be asked for it.
    write(
        gold,
        [
            {"url": f"http://example.org/{n}", "text": STORY if n < 3 else "Coffee"}
            for n in range(4)
        ],
    )
    (site,) = load_sites(path, "paper", 40)
    assert [page is not None for page in site.gold] == [True, True, True, False]
    result = measure(site, [np.array([True, True])] * 4)
    assert result.gold_by_word == pytest.approx(2 * 11 / (11 + 12))
    assert result.gold_by_edit == pytest.approx(11 / 12)
    gold.write_text('{"url": "u"}\n')
    with pytest.raises(ContentSpiderError, match=r"tea\.gold\.jsonl:1: not gold of a page"):
        load_sites(path, "paper", 40)


def test_learning_curve_by_edit_distance_trains_on_first_pages_only(tmp_path: Path) -> None:
    # The third page is of another template, of which the best cluster has nothing.
    texts = [[("p", STORY), ("li", "Menu")]] * 2 + [[("td", STORY), ("li", "Menu")]]
    path = write(tmp_path / "tea.jsonl", [record(n, found) for n, found in enumerate(texts)])
    gold = [{"url": f"http://example.org/{n}", "text": STORY} for n in range(3)]
    write(tmp_path / "tea.gold.jsonl", gold)
    assert edit_scores(*find_rendered(path), "paper", 3) == [1, 1, None]
    assert edit_scores(*find_rendered(path), "paper-again", 3) == [1, 1, 1]
    run("experiment", "learning-curve", "tea.jsonl", "--labels", "paper", cwd=tmp_path)
    lines = (tmp_path / "learning-curve.md").read_text().splitlines()
    assert lines[2:] == [
        "| 2 | 1.0000 | 1.0000 |",
        "| 3 | 0.6667 | 1.0000 |",
        "| mean | 0.8333 | 1.0000 |",
    ]
    (tmp_path / "tea.gold.jsonl").unlink()
    failed = run("experiment", "learning-curve", "tea.jsonl", cwd=tmp_path, check=False)
    assert "the rendered pages have no gold text" in failed.stderr


def test_plain_corpus_has_no_rendered_pages(example_corpus: Path) -> None:
    assert find_rendered(example_corpus) == []


def test_collection_is_folded_by_blocks_and_labelled_by_gold(tmp_path: Path) -> None:
    texts = [("p", STORY), ("li", "Menu of the day")]
    records = [record(n, texts, STORY) for n in range(8)]
    records.append(record(9, [("p", "Internal Server Error")], "An article about tea"))
    sites = load_sites(write(tmp_path / "mixed.jsonl", records), "paper", 40)
    for approach in (other_sites, mixed_pages):
        (result,) = approach(sites, ["css"], 4)
        assert (result.pages, result.blocks) == (8, 16)
        assert result.agreement.f1 == 1
        assert result.gold_by_edit == 1


@pytest.mark.thorough
def test_experiment_without_published_classifier_raises_error(tmp_path: Path) -> None:
    write(tmp_path / "tea.jsonl", [record(n, [("p", STORY), ("li", "Menu")]) for n in range(4)])
    common = ["tea.jsonl", "--labels", "paper", "--weights", "equal", "-o", "out"]
    assert "1.0000" in run("experiment", "table1", *common, cwd=tmp_path).stdout
    run("experiment", "features", *common, cwd=tmp_path)
    table = (tmp_path / "out" / "features.md").read_text()
    assert "| css | tea | 1.0000" in table
    assert "| attributes-names |" not in table
    failed = run("experiment", "approach2", *common, cwd=tmp_path, check=False)
    assert failed.returncode == 1
    assert "approach2 has no --weights equal" in failed.stderr


def test_kept_text_is_counted_by_blocks_words_and_characters(tmp_path: Path) -> None:
    texts = [("p", "one two"), ("li", "x"), ("td", "a b c"), ("th", "zz yy")]
    path = write(tmp_path / "tea.jsonl", [record(1, texts)])
    (site,) = load_sites(path, "paper", 40)
    site.labels = [np.array([True, True, False, False])]
    result = measure(site, [np.array([True, False, True, False])])
    assert {unit: counts.tolist() for unit, counts in result.matrices.items()} == {
        "blocks": [[1, 1], [1, 1]],
        "words": [[2, 3], [1, 2]],
        "characters": [[4, 3], [1, 6]],
    }
    assert result.gold_matrices is None


def test_confusion_table_contains_counts_and_measures(tmp_path: Path) -> None:
    # The gold has the story and the menu, the best cluster the story.
    texts = [("p", STORY), ("li", "Menu"), ("h6", "Imprint")]
    gold = f"{STORY} Menu"
    write(tmp_path / "tea.jsonl", [record(number, texts, gold) for number in range(2)])
    run("experiment", "confusion", "tea.jsonl", "--labels", "paper", cwd=tmp_path)
    lines = (tmp_path / "confusion.md").read_text().splitlines()
    name = "rendered: truth against gold"
    assert lines[5:] == [
        f"| {name}, blocks | 2 | 0 | 2 | 2 | 1.0000 | 0.5000 | 0.6667 | 0.6667 |",
        f"| {name}, words | 2 | 0 | 2 | 22 | 1.0000 | 0.9167 | 0.9565 | 0.9231 |",
        f"| {name}, characters | 14 | 0 | 8 | 74 | 1.0000 | 0.9024 | 0.9487 | 0.9167 |",
    ]
