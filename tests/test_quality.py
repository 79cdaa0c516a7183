"""The quality gate: no site's F1 falls below its floor in tests/floors.json by more than epsilon.

A floor is lowered only with a line in the changelog. The open corpora are judged by priors that
have not seen them: one fold of seven here, all of them with ``pytest --all-folds`` (``make
quality``), which checks the means, too.
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
    from pathlib import Path

    from contentspider.evaluation.corpora import Corpus

FLOORS = json.loads((ROOT / "tests" / "floors.json").read_text())
SAMPLED_FOLDS = (0,)


@pytest.mark.parametrize("seed", [7, 8])
def test_the_example_site(seed: int, tmp_path: Path) -> None:
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


@pytest.mark.corpora
def test_the_open_corpora_with_priors_that_have_not_seen_them(
    shared: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    subprocess.run(
        [sys.executable, str(shared / "unpack.py"), str(tmp_path / "open")],
        check=True,
        capture_output=True,
    )
    corpora = find_corpora(tmp_path / "open")
    is_whole = request.config.getoption("--all-folds")
    priors = cross_fit(corpora, only=() if is_whole else SAMPLED_FOLDS)
    judged = [corpus for corpus in corpora if corpus.name in priors]
    found = {corpus.name: f1(corpus, priors[corpus.name]) for corpus in judged}
    assert len(found) == len(corpora) if is_whole else len(found) >= 7
    floors, epsilon = FLOORS["corpora"], FLOORS["epsilon"]
    fallen = {
        name: (round(score, 4), floors[name])
        for name, score in found.items()
        if score < floors[name] - epsilon
    }
    assert not fallen, "F1 of these sites, and their floors"
    if is_whole:
        for suite, floor in FLOORS["suites"].items():
            members = [found[c.name] for c in corpora if c.about.get("suite", "sites") == suite]
            assert mean(members) >= floor - epsilon, suite
