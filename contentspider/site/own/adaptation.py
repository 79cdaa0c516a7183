"""The judge of blocks adapted to one site, by the site's own texts.

The prior was trained on other sites. From the blocks that own texts label a linear correction of
its log odds is learned, by the same features (logistic regression with the log odds as offset).
Without a prior it is the judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from contentspider.page.tree.text import SENTENCE_CHARS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.own.evidence import Evidence
    from contentspider.site.vote.blocks import SiteBlocks


# What a weight of the correction costs: 1 to 20 measure alike (research/NOTES.md).
PENALTY = 5.0
INTERCEPT_PENALTY = 0.05
# Pages with labels after which half of the correction counts: one shows little, ten show most.
TRUSTED_PAGES = 1.0
MAX_STEPS = 50
# The weight of a block without a label on a page with labels.
UNKNOWN_WEIGHT = 0.3


def correction(
    site: SiteBlocks,
    rows: NDArray[np.float32],
    evidence: Evidence,
    judged: Floats | None = None,
    odds: Floats | float = 0.0,
) -> Floats:
    """Return what the labels of *evidence* add to the log *odds* of each block, by its row of
    `standardised` features: 0 unless both content and noise are labelled.

    On pages unlike those with labels, and in slots without a label, it is never negative. Blocks
    without a label on pages with labels are to stay what they are *judged* to be (None: there is no
    judge, and the result is all that is known of every page).
    """
    known = evidence.known
    content = evidence.labels[known] > 0.5
    if content.all() or not content.any():
        return np.zeros(len(rows))
    weights = np.where(known, site.weights, 0)
    labels = evidence.labels
    if judged is not None:
        weights = site.weights * np.where(known, 1, UNKNOWN_WEIGHT)
        labels = np.where(known, evidence.labels, judged)
    chosen = np.flatnonzero(np.isin(site.pages, list(evidence.pages)) & (weights > 0))
    content = labels[chosen] > 0.5
    weights = _balanced(weights[chosen], content)
    offset = np.broadcast_to(odds, len(rows))[chosen]
    found = _fit(rows[chosen].astype(np.float64), content, weights, offset)
    added = rows @ found[:-1].astype(np.float32) + found[-1]
    if judged is None:
        return np.asarray(added)
    slots = site.slot_numbers
    is_known = _of_a_kind(site, evidence)[site.pages] & np.isin(slots, slots[known])
    pages = len(evidence.pages)
    added = np.where(is_known, added, np.maximum(added, 0))
    return np.asarray(added * (pages / (pages + TRUSTED_PAGES)))


def standardised(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each column with a mean of 0 and a spread of 1; one that never differs is 0."""
    spread = features.std(axis=0)
    spread[spread == 0] = 1
    return np.asarray((features - features.mean(axis=0)) / spread, dtype=np.float32)


def _balanced(weights: Floats, content: Bools) -> Floats:
    """Return *weights* of the same sum, half of which is the content's."""
    parts = np.where(content, weights[content].sum(), weights[~content].sum())
    return np.asarray(weights / parts * len(weights) / 2)


def _of_a_kind(site: SiteBlocks, evidence: Evidence) -> Bools:
    """Return for each page whether it has text at a place that is labelled as content."""
    known = evidence.known
    signs = np.where(known, evidence.labels - 0.5, 0) * site.weights
    is_content = np.bincount(site.clusters, signs) > 0
    prose = is_content[site.clusters] & (site.chars >= 2 * SENTENCE_CHARS / 3)
    return np.bincount(site.pages, prose, minlength=len(site.contents)) > 0


def _fit(rows: Floats, content: Bools, weights: Floats, offset: Floats) -> Floats:
    """Return the weights of a logistic regression, and its intercept as the last."""
    signs = np.where(content, 1.0, -1.0)
    penalty = np.append(np.full(rows.shape[1], PENALTY), INTERCEPT_PENALTY)

    def loss(guess: Floats) -> tuple[float, Floats]:
        margins = signs * (rows @ guess[:-1] + guess[-1] + offset)
        slope = -signs * weights / (1 + np.exp(np.minimum(margins, 500)))
        value = (weights * np.logaddexp(0, -margins)).sum() + (penalty * guess**2).sum() / 2
        return value, np.append(rows.T @ slope, slope.sum()) + penalty * guess

    found = minimize(
        loss, np.zeros(len(penalty)), jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS}
    )
    return np.asarray(found.x)
