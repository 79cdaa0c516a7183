"""The card of a prior in ``models/README.md``, written from the prior's file."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.atomic import write_atomically
from contentspider.ground.errors import ContentSpiderError
from contentspider.site.judge.prior import Prior

if TYPE_CHECKING:
    from pathlib import Path

START, END = "<!-- the prior's card: begin -->\n", "<!-- the prior's card: end -->\n"


def card_of(path: Path) -> str:
    """Return the Markdown list that describes the prior in the file at *path*.

    All numbers come from the file. Raises `StateError` if it cannot be used.
    """
    prior = Prior.from_file(path)
    with np.load(path, allow_pickle=False) as arrays:
        features = len(json.loads(arrays["head"].tobytes())["features"])
    trees, card = prior.trees, prior.card
    corpora = card["trained_on"]
    kinds = Counter(name.partition("-")[0] for name in corpora)
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    is_leaf = trees.feature < 0
    # Some corpora have several languages in one entry.
    languages = sorted({code for entry in card["languages"] for code in entry.split(",")})
    return f"""\
- **Digest**: {prior.digest}.
- **Trees**: {len(trees.roots)}, with {is_leaf.sum():,} leaves.
- **Features of a block**: {features}. The trees ask for {len(np.unique(trees.feature[~is_leaf]))}.
- **Training data**: {card["pages"]:,} pages with {card["blocks"]:,} blocks. Seed {card["seed"]}.
- **Corpora**: {len(corpora)}, by the first word of their names: {counts}.
- **Languages**: {", ".join(languages)}.
"""


def write_card(prior: Path, readme: Path) -> None:
    """Write the card of the *prior* into the file *readme*, between two comments (`START`, `END`).

    Raises `ContentSpiderError` if the comments are missing.
    """
    text = readme.read_text(encoding="utf-8")
    before, start, old_card = text.partition(START)
    _, end, after = old_card.partition(END)
    if not start or not end:
        raise ContentSpiderError(
            f"{readme} has no place for the card: it needs the lines {START.strip()!r} and"
            f" {END.strip()!r}"
        )
    write_atomically(readme, f"{before}{START}{card_of(prior)}{END}{after}".encode())
