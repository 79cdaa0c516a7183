"""The quality gate: F1 must not fall below tests/floors.json. A floor is lowered only with a line
in the changelog.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider.evaluation.corpora import find_corpora
from contentspider.evaluation.predict import predict_site
from contentspider.site.prior import Prior
from tests.conftest import ROOT, run, token_f1

if TYPE_CHECKING:
    from pathlib import Path

FLOORS = json.loads((ROOT / "tests" / "floors.json").read_text())


@pytest.mark.parametrize("seed", [7, 8])
def test_the_example_site(seed: int, tmp_path: Path) -> None:
    from example_site import ExampleSite

    (corpus,) = find_corpora(ExampleSite(seed).write(tmp_path / "example"))
    gold = {page.path: page.text for page in corpus.gold()}
    scores = [
        token_f1(row["text"], gold[row["path"].lstrip("/")])
        for row in predict_site(corpus, "votes", Prior.shipped())
    ]
    assert sum(scores) / len(scores) >= FLOORS["example"]["sites"]


@pytest.mark.corpora
def test_the_open_corpora_with_priors_that_have_not_seen_them(shared: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(shared / "unpack.py"), str(tmp_path / "open")],
        check=True,
        capture_output=True,
    )
    run("evaluate", "open", "-o", "predictions.jsonl", "--cross-fit", cwd=tmp_path)
    score = [
        sys.executable,
        str(shared / "score.py"),
        str(tmp_path / "predictions.jsonl"),
        "--json",
    ]
    result = json.loads(subprocess.run(score, check=True, capture_output=True, text=True).stdout)
    floors = FLOORS["corpora"]
    assert result["suites"]["sites"]["f1"] >= floors["sites"]
    assert result["suites"]["news"]["f1"] >= floors["news"]
    assert min(f1 for _, _, f1 in result["sites"].values()) >= floors["worst_site"]
