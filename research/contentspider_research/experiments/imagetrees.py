"""The classifier of pictures of a thesis (Yunis, 2016, section 4.5): a binary tree over features of
each ``img`` and the elements around it. It is learned from other owners' pictures, and evaluated by
groups of size.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from contentspider.ground.errors import ContentSpiderError
from contentspider.site.images import LARGE_AREA, picture_key
from contentspider_research.corpora import group_of
from contentspider_research.dataset.dataset import NONE, read_records
from contentspider_research.dataset.sources import find_sources
from contentspider_research.experiments.cart import LEAF_CASES, SPLIT_CASES
from contentspider_research.experiments.experiments import owner_folds
from contentspider_research.features.thesis_names import CALLED
from contentspider_research.metric import measures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus
    from contentspider_research.dataset.records import Record

# rpart's, which the thesis used: a split must take off this share of the root's impurity.
COMPLEXITY = 0.01
LARGE, SMALL, UNKNOWN, ALL = "large", "small", "unknown size", "all"
# Tags above a picture; the thesis has the ancestors of each.
ABOVE = "a article aside div figure footer header li main nav p section table td ul".split()
TRUTHS = [
    *("is_thumbnail", "is_desc_a", "is_sib_a", "is_sib_input", "is_sib_img", "is_sib_p"),
    *(f"is_desc_{name}" for name in CALLED),
    *(f"is_{name}" for name in CALLED),
]
FEATURES = [
    *("rect_size", "has_size", "alt_words", "num_siblings", "distance_to_root"),
    *TRUTHS,
    *(f"is_desc_tag_{tag}" for tag in ABOVE),
]
PUBLISHED = [
    "| published, small | 900 | 5 | 97 | 25 | 0.833 | 0.205 | 0.328 |",
    "| published, large | 122 | 6 | 10 | 29 | 0.828 | 0.743 | 0.783 |",
]


class JudgedSite:
    """The pictures of a site that people have judged: *rows* of `FEATURES`, whether each picture
    *is_main*, and the group of its size. *group* is the same for all sites of one owner.
    """

    def __init__(self, group: str, records: Sequence[Record], is_main: Sequence[bool]) -> None:
        self.group = group
        self.rows = np.array([picture_features(record) for record in records])
        self.is_main = np.array(is_main, dtype=bool)
        self.sizes = [size_group(record) for record in records]


def size_group(record: Record) -> str:
    """Return the group of a picture: above 40,000 square pixels, up to that, or unknown."""
    size = record["rect_size"]
    if size is None:
        return UNKNOWN
    return LARGE if float(size) > LARGE_AREA else SMALL


def picture_features(record: Record) -> list[float]:
    """Return the `FEATURES` of a picture, a row of the data set."""
    size = record["rect_size"]
    above = set(str(record["ancestors_names"] or "").split(","))
    return [
        float(size or 0),
        float(size is not None),
        float(len(str(record["image_alt"] or "").split())),
        *(float(record[name] or 0) for name in ("num_siblings", "distance_to_root", *TRUTHS)),
        *(float(tag in above) for tag in ABOVE),
    ]


def image_table(corpora: Sequence[Corpus], gold_file: Path, folds: int) -> list[str]:
    """Return the table of how well trees find the main pictures of pages, by groups of size.

    Each line of *gold_file* is a page with its pictures: ``site``, ``path``, and lists ``main`` and
    ``other``, whose entries begin with a `picture_key`. Raises `ContentSpiderError` if the gold has
    no pictures of two owners.
    """
    gold = _read_gold(gold_file)
    sites = [_judged(corpus, gold[corpus.name]) for corpus in corpora if corpus.name in gold]
    sites = [site for site in sites if len(site.rows)]
    if len({site.group for site in sites}) < 2:
        raise ContentSpiderError(
            f"{gold_file} has pictures of fewer than two of these sites' owners: a tree is learned"
            " from the pictures of others"
        )
    lines = [
        "| pictures | noise, dropped | noise, kept | main, dropped | main, kept | P | R | F1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, matrix in _matrices(sites, folds).items():
        counts = " | ".join(f"{count:,.0f}" for count in matrix.ravel())
        scores = " | ".join(f"{score:.3f}" for score in measures(matrix)[:3])
        lines.append(f"| {name} | {counts} | {scores} |")
    return lines + PUBLISHED


def _read_gold(file: Path) -> dict[str, dict[str, dict[str, bool]]]:
    """Return by site, page and `picture_key` whether a picture is a main picture."""
    gold: dict[str, dict[str, dict[str, bool]]] = defaultdict(dict)
    for line in file.read_text(encoding="utf-8").splitlines():
        page = json.loads(line)
        gold[page["site"]][page["path"]] = {
            entry[0]: kind == "main" for kind in ("other", "main") for entry in page[kind]
        }
    return gold


def _matrices(sites: Sequence[JudgedSite], folds: int) -> dict[str, NDArray[np.float64]]:
    """Return for each group of size how often pictures are main (row) and kept (column)."""
    sums = {name: np.zeros((2, 2)) for name in (SMALL, LARGE, UNKNOWN, ALL)}
    for tested_sites, training_sites in owner_folds(sites, folds):
        tree = grow(
            np.concatenate([site.rows for site in training_sites]),
            np.concatenate([site.is_main for site in training_sites]),
        )
        for site in tested_sites:
            predicted = tree.predict(site.rows).astype(int)
            labels = site.is_main.astype(int)
            for size, is_main, is_kept in zip(site.sizes, labels, predicted, strict=True):
                for name in (size, ALL):
                    sums[name][is_main, is_kept] += 1
    return sums


def grow(rows: NDArray[np.float64], is_main: NDArray[np.bool_]) -> DecisionTreeClassifier:
    """Return the tree of pictures; its complexity is counted in the root's entropy, as by rpart."""
    share = is_main.mean()
    entropy = -sum(part * np.log2(part) for part in (share, 1 - share) if part)
    return DecisionTreeClassifier(
        criterion="entropy",
        min_samples_split=SPLIT_CASES,
        min_samples_leaf=LEAF_CASES,
        ccp_alpha=COMPLEXITY * entropy,
        random_state=0,
    ).fit(rows, is_main)


def _judged(corpus: Corpus, gold: dict[str, dict[str, bool]]) -> JudgedSite:
    """Return the pictures of a site that the *gold* of its pages has; takes them out of it."""
    (source,) = find_sources(corpus.folder)
    source.files = [corpus.folder / "html" / path for path in gold]
    records, is_main = [], []
    for record in read_records([source], NONE, images=True):
        if record["tag_name"] != "img" or record["image_url"] is None:
            continue
        # A page that shows a picture twice is judged by the first place.
        label = gold[str(record["url"])].pop(picture_key(str(record["image_url"])), None)
        if label is not None:
            records.append(record)
            is_main.append(label)
    return JudgedSite(group_of(corpus), records, is_main)
