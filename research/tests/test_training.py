"""Evaluation on corpora: who is judged by whom, and by what."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.evaluation.corpora import CorpusError, find_corpora
from contentspider.evaluation.predict import predict_site
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.own.alignment import matched_tokens
from contentspider_research import training
from contentspider_research.cli import main
from contentspider_research.training import (
    PAGE_WEIGHT,
    REFERENCE_WEIGHT,
    SITE_WEIGHT,
    cross_fit,
    train_prior,
    training_rows,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "TREES", 5)
    monkeypatch.setattr(training, "SEEDS", (0, 1))
    monkeypatch.setattr(training, "PAGES_PER_SITE", 10)


@pytest.fixture
def corpora(example_corpus: Path, tmp_path: Path) -> Path:
    """Three sites, of which two have one owner."""
    for name in ("news-2005-tea", "news-2013-tea", "shop-cups"):
        shutil.copytree(example_corpus, tmp_path / name)
    return tmp_path


@pytest.mark.thorough
def test_priors_are_never_trained_on_sites_of_owner_they_judge(corpora: Path) -> None:
    priors = cross_fit(find_corpora(corpora), folds=7)
    assert priors["news-2005-tea"] is priors["news-2013-tea"]
    assert priors["news-2005-tea"].card["trained_on"] == ["shop-cups"]
    assert priors["shop-cups"].card["trained_on"] == ["news-2005-tea", "news-2013-tea"]


@pytest.mark.thorough
def test_train_folds_writes_one_prior_per_part_of_sites(
    corpora: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("priors") / "folds"
    assert main(["train-folds", str(corpora), "-o", str(folder), "--folds", "2"]) == 0
    trained_on = [Prior.from_file(path).card["trained_on"] for path in sorted(folder.iterdir())]
    assert sorted(trained_on) == [["news-2005-tea", "news-2013-tea"], ["shop-cups"]]


def single_pages(
    example_corpus: Path, folder: Path, name: str = "single", most: int | None = None
) -> Path:
    """A collection of *most* pages, of three hosts."""
    shutil.copytree(example_corpus, folder / name)
    about = json.loads((folder / name / "site.json").read_text())
    (folder / name / "site.json").write_text(json.dumps({**about, "suite": "pages"}))
    file = folder / name / "gold.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()[:most]]
    hosts = [{**row, "host": f"host{number % 3}.org"} for number, row in enumerate(rows)]
    file.write_text("\n".join(map(json.dumps, hosts)))
    return folder / name


@pytest.mark.folds
def test_priors_are_never_trained_on_host_of_single_page_they_judge(
    corpora: Path, example_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pages = single_pages(example_corpus, tmp_path_factory.mktemp("pages"), most=15)
    priors = cross_fit(find_corpora(corpora, pages), folds=3)
    hosts = {"host0.org", "host1.org", "host2.org"}
    assert set(priors) == {*hosts, "news-2005-tea", "news-2013-tea", "shop-cups"}
    for name, prior in priors.items():
        assert name not in prior.card["trained_on"]
        assert hosts & set(prior.card["trained_on"])
    everything = train_prior(find_corpora(corpora, pages))
    assert len(everything.trees.roots) == 2 * 5, "two forests"
    assert everything.digest != train_prior(find_corpora(corpora)).digest
    assert everything.card["trained_on"] == [
        "news-2005-tea",
        "news-2013-tea",
        "shop-cups",
        "single",
    ]


def test_single_pages_are_judged_by_prior_of_their_host(
    example_corpus: Path, tmp_path: Path
) -> None:
    (corpus,) = find_corpora(single_pages(example_corpus, tmp_path))
    shipped = Prior.shipped()
    trees = shipped.trees
    opposite = replace(
        shipped,
        trees=replace(trees, value=-trees.value, baseline=-trees.baseline),
    )
    by_shipped, by_host = (
        {row["path"].lstrip("/"): row["text"] for row in rows}
        for rows in (
            predict_site(corpus, LearningOptions(), shipped),
            predict_site(corpus, LearningOptions(), shipped, hosts={"host1.org": opposite}),
        )
    )
    for page in corpus.gold():
        is_same = by_shipped[page.path] == by_host[page.path]
        assert is_same == (page.host != "host1.org"), page


@pytest.mark.thorough
def test_references_weigh_content_and_boilerplate_equally(
    corpora: Path, example_corpus: Path
) -> None:
    without = train_prior(find_corpora(corpora))
    folder = corpora / "pot"
    shutil.copytree(example_corpus, folder)
    about = json.loads((folder / "site.json").read_text())
    (folder / "site.json").write_text(json.dumps({**about, "suite": "references"}))
    assert train_prior(find_corpora(corpora)).digest != without.digest
    (reference,) = find_corpora(folder)
    rows = training_rows(reference, 0)
    content = sum(page.weights[page.labels].sum() for page in rows)
    boilerplate = sum(page.weights[~page.labels].sum() for page in rows)
    assert content == pytest.approx(REFERENCE_WEIGHT / 2)
    assert boilerplate == pytest.approx(REFERENCE_WEIGHT / 2)


def test_each_page_of_corpus_has_same_weight(example_corpus: Path, tmp_path: Path) -> None:
    (corpus,) = find_corpora(single_pages(example_corpus, tmp_path))
    (site,) = find_corpora(example_corpus)
    singles = training_rows(corpus, 0)
    assert {round(float(page.weights.sum()), 3) for page in singles} == {PAGE_WEIGHT}
    assert {page.group for page in singles} == {"host0.org", "host1.org", "host2.org"}
    assert sum(page.weights.sum() for page in training_rows(site, 0)) == pytest.approx(SITE_WEIGHT)


def test_training_blocks_per_page_are_sampled(
    example_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "BLOCKS_PER_PAGE", 5)
    (site,) = find_corpora(example_corpus)
    pages = training_rows(site, 0)
    assert max(len(page.labels) for page in pages) == 5
    again = training_rows(site, 0)
    np.testing.assert_array_equal(pages[0].features, again[0].features)


@pytest.mark.parametrize("folds", [0, 1])
def test_cross_fit_needs_two_folds_and_two_sites(folds: int, corpora: Path) -> None:
    with pytest.raises(CorpusError, match="two folds and two sites at least"):
        cross_fit(find_corpora(corpora), folds)
    with pytest.raises(CorpusError, match=r"there are 1 folds and\s+1 sites"):
        cross_fit(find_corpora(corpora / "shop-cups"))


def test_pages_of_many_hosts_are_never_learned_as_site(
    example_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_learning(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(SiteLearner, "fit", no_learning)
    (corpus,) = find_corpora(single_pages(example_corpus, tmp_path))
    (site,) = find_corpora(example_corpus)
    options = LearningOptions()
    alone = list(predict_site(site, options, None, alone=True))
    assert [row["text"] for row in predict_site(corpus, options, None)] == [
        row["text"] for row in alone
    ]
    with pytest.raises(LookupError):
        list(predict_site(site, options, None))


def test_large_texts_are_aligned_in_parts(monkeypatch) -> None:
    blocks = [[f"w{number}"] * 2 + [f"x{number}"] for number in range(60)]
    gold = [token for block in blocks[5:20] + blocks[30:55] for token in block]
    whole = training.matched_in_parts(blocks, gold)
    monkeypatch.setattr(training, "MAX_CELLS", 500)
    assert training.matched_in_parts(blocks, gold).tolist() == whole.tolist()
    # nothing in common to part at: aligned at once
    repeated = [["a", "b"]] * 40
    assert training.matched_in_parts(repeated, ["a", "b"] * 30).sum() == 60


def test_texts_are_split_at_unique_common_runs(monkeypatch) -> None:
    blocks = [[f"{part}{number}" for number in range(30)] for part in "abcd"]
    gold = [*blocks[0][:20], *blocks[1], "other", *blocks[3]]
    assert training.matched_in_parts(blocks, gold).tolist() == [20, 30, 0, 30]
    monkeypatch.setattr(training, "MAX_CELLS", 300)
    parted: list[int] = []

    def spy(some, wanted):
        parted.append(sum(map(len, some)) * len(wanted))
        return matched_tokens(some, wanted)

    monkeypatch.setattr(training, "matched_tokens", spy)
    assert training.matched_in_parts(blocks, gold).tolist() == [20, 30, 0, 30]
    assert len(parted) > 2
    # without any run that both have once, there is no place to part them
    parted.clear()
    assert training.matched_in_parts([["a"] * 40], ["a"] * 30).tolist() == [30]
    assert parted == [1200]
