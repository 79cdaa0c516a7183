"""Evaluation on corpora: who is judged by whom, and by what."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from contentspider.evaluation.corpora import CorpusError, find_corpora
from contentspider.evaluation.predict import predict_site
from contentspider.evaluation.training import cross_fit
from contentspider.site.options import LearningOptions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def corpora(example_corpus: Path, tmp_path: Path) -> Path:
    """Three sites, of which two have one owner."""
    for name in ("news-2005-tea", "news-2013-tea", "shop-cups"):
        shutil.copytree(example_corpus, tmp_path / name)
    return tmp_path


def test_no_prior_has_seen_the_owner_of_what_it_judges(corpora: Path) -> None:
    priors = cross_fit(find_corpora(corpora), folds=7)
    assert priors["news-2005-tea"] is priors["news-2013-tea"]
    assert priors["news-2005-tea"].card["trained_on"] == ["shop-cups"]
    assert priors["shop-cups"].card["trained_on"] == ["news-2005-tea", "news-2013-tea"]


def test_only_some_folds_are_trained_if_only_these_are_asked_for(corpora: Path) -> None:
    priors = cross_fit(find_corpora(corpora), only=[1])
    assert {prior.card["fold"] for prior in priors.values()} == {1}
    assert 0 < len(priors) < 3


@pytest.mark.parametrize("folds", [0, 1])
def test_too_little_to_cross_fit_is_said(folds: int, corpora: Path) -> None:
    with pytest.raises(CorpusError, match="two folds and two sites at least"):
        cross_fit(find_corpora(corpora), folds)
    with pytest.raises(CorpusError, match=r"there are 1 folds and\s+1 sites"):
        cross_fit(find_corpora(corpora / "shop-cups"))


def test_pages_of_many_hosts_are_never_learned_as_a_site(
    example_corpus: Path, tmp_path: Path
) -> None:
    shutil.copytree(example_corpus, tmp_path / "single")
    about = json.loads((tmp_path / "single" / "site.json").read_text())
    (tmp_path / "single" / "site.json").write_text(json.dumps({**about, "suite": "pages"}))
    (corpus,) = find_corpora(tmp_path / "single")
    (site,) = find_corpora(example_corpus)
    options = LearningOptions()
    alone = list(predict_site(site, options, None, alone=True))
    assert [row["text"] for row in predict_site(corpus, options, None)] == [
        row["text"] for row in alone
    ]
    assert alone != list(predict_site(site, options, None)), "the test tells nothing otherwise"
