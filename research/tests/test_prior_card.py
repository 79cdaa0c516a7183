"""The card of the shipped prior: what models/README.md says is what the prior's file says."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import numpy as np

from contentspider_research.cli import main
from contentspider_research.prior_card import card_of

REPOSITORY = Path(__file__).parents[2]
PRIOR = REPOSITORY / "contentspider/site/judge/prior.npz"


def test_card_in_readme_is_that_of_the_shipped_prior() -> None:
    assert card_of(PRIOR) in (REPOSITORY / "models/README.md").read_text(encoding="utf-8")


def test_card_has_the_numbers_of_the_file() -> None:
    with np.load(PRIOR, allow_pickle=False) as arrays:
        head = json.loads(arrays["head"].tobytes())
        trees, values = len(arrays["roots"]), arrays["value"]
        nodes = arrays["feature"]
    lines = card_of(PRIOR).splitlines()
    digest, forest, features, training, corpora, languages = lines
    numbers = [
        [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\b", line)]
        for line in (forest, features, training, corpora)
    ]
    card = head["card"]
    assert sha256(values.tobytes()).hexdigest()[:12] in digest
    # A binary tree has one leaf more than it has splits.
    assert numbers[0] == [trees, (len(nodes) + trees) // 2]
    assert numbers[1] == [len(head["features"]), len(np.unique(nodes[nodes != -1]))]
    assert numbers[2] == [card["pages"], card["blocks"], card["seed"]]
    assert numbers[3][0] == sum(numbers[3][1:]) == len(card["trained_on"])
    assert all(entry.split(",")[-1] in languages for entry in card["languages"])


def test_card_of_another_prior_is_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    text = (REPOSITORY / "models/README.md").read_text(encoding="utf-8")
    readme.write_text(text.replace("- **Digest**: ", "- **Digest**: 0"), encoding="utf-8")
    assert main(["prior-card", str(PRIOR), "-o", str(readme)]) == 0
    assert readme.read_text(encoding="utf-8") == text


def test_readme_without_a_place_for_the_card_is_an_error(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Models\n")
    assert main(["prior-card", str(PRIOR), "-o", str(readme)]) == 1
    assert readme.read_text() == "# Models\n"
