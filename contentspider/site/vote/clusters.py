"""Clusters of slots: slots that are the same place, though names in their paths differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.cluster import DBSCAN
from sklearn.preprocessing import normalize

from contentspider.page.words.names import step_tag
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.site.arrays import Floats, Ints

# Slots up to this cosine distance are one: an odd and an even row, but not a paragraph and a list
# item (measured, see docs/how-it-works.md).
CLUSTER_DISTANCE = 0.06
# DBSCAN's neighbourhoods are computed pairwise; slots beyond this number stand alone.
MAX_CLUSTERED = 4_000


def cluster_slots(slots: Sequence[str], weights: Floats) -> Ints:
    """Return the cluster number of each slot: DBSCAN over their steps, by cosine distance.

    A slot's vector has one entry a tag and name of each of its steps, by the step's distance from
    the end: slots that differ only far up are nearer than those that differ at the end. As in the
    paper every slot has a cluster (``min_samples=1``); only the heaviest are clustered with others.
    """
    order = np.argsort(-np.asarray(weights, dtype=float), kind="stable")
    clustered = order[:MAX_CLUSTERED]
    columns: dict[tuple[int, str], int] = {}
    rows, cols, data = [], [], []
    for row, index in enumerate(clustered):
        steps = slots[index].split("/")
        for distance, step in enumerate(reversed(steps)):
            strength = 1.0 / (1 + distance) ** 0.5
            tag = step_tag(step)
            for name in {tag, *step_names(step)}:
                rows.append(row)
                cols.append(columns.setdefault((distance, name), len(columns)))
                data.append(strength * (1.5 if name == tag else 1.0))
    matrix = normalize(
        csr_matrix((data, (rows, cols)), shape=(len(clustered), max(len(columns), 1)))
    )
    found = DBSCAN(eps=float(np.sqrt(2 * CLUSTER_DISTANCE)), min_samples=1).fit_predict(matrix)
    clusters = np.empty(len(slots), dtype=np.int64)
    clusters[clustered] = found
    rest = order[MAX_CLUSTERED:]
    clusters[rest] = np.arange(len(rest)) + (found.max() + 1 if len(found) else 0)
    return clusters
