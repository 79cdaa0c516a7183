"""The quality gate: no site's F1 falls below its floor in tests/floors.json by more than epsilon.

A floor is lowered only with a line in the changelog. Single sites are judged by the priors in
tests/folds, which have not seen them (``make folds``). A prior that is trained anew draws other
trees, and moves single sites by up to 0.1 and the mean of a suite by 0.002: so it is judged by the
means of suites (``pytest --all-folds``, ``make quality``). The shipped prior has seen all open
sites: what it reaches on some of them guards the code, not the prior.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import mean
from typing import TYPE_CHECKING

import pytest

from contentspider.evaluation.corpora import find_corpora
from contentspider.evaluation.predict import predict_site
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.options import LearningOptions
from contentspider.site.scores import text_score
from contentspider_research.training import cross_fit
from tests.conftest import ROOT, token_f1

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from contentspider.evaluation.corpora import Corpus

FOLDS = ROOT / "tests" / "folds"
FLOORS = json.loads((ROOT / "tests" / "floors.json").read_text())


@pytest.mark.parametrize("seed", [7, 8])
def test_f1_of_example_site_stays_above_floor(seed: int, tmp_path: Path) -> None:
    from example_site import ExampleSite

    (corpus,) = find_corpora(ExampleSite(seed).write(tmp_path / "example"))
    gold = {page.path: page.text for page in corpus.gold()}
    scores = [
        token_f1(row["text"], gold[row["path"].lstrip("/")])
        for row in predict_site(corpus, LearningOptions(), Prior.shipped())
    ]
    assert mean(scores) >= FLOORS["example"]


def f1(corpus: Corpus, prior: Prior) -> float:
    """Return a site's F1: the mean over its gold pages, as shared/score.py has it."""
    gold = {page.path: page for page in corpus.gold()}
    found = {
        row["path"].lstrip("/"): row["text"]
        for row in predict_site(corpus, LearningOptions(), prior)
    }
    return mean(
        text_score(found.get(path, ""), page.text, page.optional).f1 for path, page in gold.items()
    )


def unpacked(shared: Path, folder: Path, *options: str) -> list[Corpus]:
    command = [sys.executable, str(shared / "unpack.py"), str(folder), *options]
    subprocess.run(command, check=True, capture_output=True)
    return find_corpora(folder)


def check(found: dict[str, float], floors: dict[str, float]) -> None:
    """Check that no F1 is below its floor."""
    assert found.keys() == floors.keys()
    fallen = {
        name: (round(score, 4), floors[name])
        for name, score in found.items()
        if score < floors[name] - FLOORS["epsilon"]
    }
    assert not fallen, "F1 of these sites, and their floors"


@pytest.mark.corpora
def test_f1_of_sample_sites_with_shipped_prior_stays_above_floor(
    shared: Path, tmp_path: Path
) -> None:
    prior = Prior.shipped()
    corpora = unpacked(shared, tmp_path / "own", "--own")
    assert {corpus.name for corpus in corpora} == FLOORS["own"].keys()
    found = {corpus.name: f1(corpus, prior) for corpus in corpora[::4]}
    check(found, {name: FLOORS["own"][name] for name in found})


def priors_by_site(sites: Iterable[str]) -> dict[str, Prior]:
    """Return for each site a prior of tests/folds that was trained without it."""
    priors = [Prior.from_file(path) for path in sorted(FOLDS.glob("fold*.npz"))]
    trained_on = [frozenset(map(str, prior.card["trained_on"])) for prior in priors]
    return {
        site: next(
            prior for prior, seen in zip(priors, trained_on, strict=True) if site not in seen
        )
        for site in sites
    }


@pytest.mark.folds
@pytest.mark.corpora
def test_f1_of_sites_with_held_out_priors_stays_above_floor(shared: Path, tmp_path: Path) -> None:
    corpora = [*unpacked(shared, tmp_path / "open"), *unpacked(shared, tmp_path / "own", "--own")]
    priors = priors_by_site(corpus.name for corpus in corpora)
    scores = {corpus.name: f1(corpus, priors[corpus.name]) for corpus in corpora}
    check(scores, FLOORS["corpora"] | FLOORS["own"])


@pytest.mark.folds
@pytest.mark.corpora
def test_f1_of_suites_with_retrained_priors_stays_above_floor(shared: Path, tmp_path: Path) -> None:
    corpora = [*unpacked(shared, tmp_path / "open"), *unpacked(shared, tmp_path / "own", "--own")]
    pages = unpacked(shared, tmp_path / "pages", "--pages")
    priors = cross_fit([*corpora, *pages], folds=4)
    scores = {corpus.name: f1(corpus, priors[corpus.name]) for corpus in corpora}
    means = {
        suite: mean(scores[corpus.name] for corpus in corpora if corpus.suite == suite)
        for suite in FLOORS["suites"]
    }
    check(means, FLOORS["suites"])
