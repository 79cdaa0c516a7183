"""Adapts the prior to one site by the site's own texts.

The prior was trained on other sites. The blocks that own texts label train a linear correction of
its log odds, over the same features: a logistic regression with the log odds as offset. Without a
prior the correction judges the blocks by itself.
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


# The penalty of the correction's weights. Penalties from 1 to 20 give about the same F1
# (research/NOTES.md).
PENALTY = 5.0
INTERCEPT_PENALTY = 0.05
# With this many labelled pages the correction counts half. One page shows little of a site, and
# ten show most.
TRUSTED_PAGES = 1.0
MAX_STEPS = 50
# The weight of a block without a label on a page with labels; a labelled block has 1.
UNLABELLED_WEIGHT = 0.3


def correction(
    site: SiteBlocks,
    rows: NDArray[np.float32],
    evidence: Evidence,
    judged: Floats | None = None,
    odds: Floats | float = 0.0,
) -> Floats:
    """Return a correction for each block: the number to add to its log *odds*.

    *rows* has the `standardised` features of each block. The correction is 0 unless *evidence* has
    labels of both content and boilerplate. It is never negative on pages that do not resemble the
    labelled ones, and in slots without a label.

    *judged* has the probabilities by the vote without own texts. They serve as labels, with a small
    weight, for the unlabelled blocks of labelled pages. If *judged* is None, no prior is used, and
    the result has the log odds of all blocks instead of corrections.
    """
    has_label = evidence.has_label
    content = evidence.labels[has_label] > 0.5
    if content.all() or not content.any():
        return np.zeros(len(rows))
    weights = np.where(has_label, site.weights, 0)
    labels = evidence.labels
    if judged is not None:
        weights = site.weights * np.where(has_label, 1, UNLABELLED_WEIGHT)
        labels = np.where(has_label, evidence.labels, judged)
    chosen = np.flatnonzero(np.isin(site.pages, list(evidence.pages)) & (weights > 0))
    content = labels[chosen] > 0.5
    weights = _balanced(weights[chosen], content)
    offset = np.broadcast_to(odds, len(rows))[chosen]
    coefficients = _fit(rows[chosen].astype(np.float64), content, weights, offset)
    added = rows @ coefficients[:-1].astype(np.float32) + coefficients[-1]
    if judged is None:
        return np.asarray(added)
    slots = site.slot_numbers
    is_covered = _resembles_labelled(site, evidence)[site.pages]
    is_covered &= np.isin(slots, slots[has_label])
    pages = len(evidence.pages)
    added = np.where(is_covered, added, np.maximum(added, 0))
    return np.asarray(added * (pages / (pages + TRUSTED_PAGES)))


def standardised(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each column to a mean of 0 and a standard deviation of 1; constant columns become 0."""
    spread = features.std(axis=0)
    spread[spread == 0] = 1
    return np.asarray((features - features.mean(axis=0)) / spread, dtype=np.float32)


def _balanced(weights: Floats, content: Bools) -> Floats:
    """Scale *weights* so that content and other blocks have equal sums; the mean becomes 1."""
    class_sums = np.where(content, weights[content].sum(), weights[~content].sum())
    return np.asarray(weights / class_sums * len(weights) / 2)


def _resembles_labelled(site: SiteBlocks, evidence: Evidence) -> Bools:
    """Return for each page whether it has text in a cluster that is labelled as content."""
    signs = np.where(evidence.has_label, evidence.labels - 0.5, 0) * site.weights
    is_content = np.bincount(site.clusters, signs) > 0
    prose = is_content[site.clusters] & (site.chars >= 2 * SENTENCE_CHARS / 3)
    return np.bincount(site.pages, prose, minlength=len(site.contents)) > 0


def _fit(rows: Floats, content: Bools, weights: Floats, offset: Floats) -> Floats:
    """Return the weights of a logistic regression, followed by its intercept."""
    signs = np.where(content, 1.0, -1.0)
    penalty = np.append(np.full(rows.shape[1], PENALTY), INTERCEPT_PENALTY)

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        margins = signs * (rows @ coefficients[:-1] + coefficients[-1] + offset)
        slope = -signs * weights / (1 + np.exp(np.minimum(margins, 500)))
        error = (weights * np.logaddexp(0, -margins)).sum()
        value = error + (penalty * coefficients**2).sum() / 2
        return value, np.append(rows.T @ slope, slope.sum()) + penalty * coefficients

    result = minimize(
        loss, np.zeros(len(penalty)), jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS}
    )
    return np.asarray(result.x)
