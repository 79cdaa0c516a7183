"""Training the prior on corpora with gold text."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from contentspider.evaluation.corpora import CorpusError
from contentspider.page.features.extractor import FEATURE_NAMES, FeatureExtractor
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.page.tree.text import tokens
from contentspider.page.words.names import HEADINGS
from contentspider.site.judge.prior import Prior, Trees
from contentspider.site.own.alignment import MAX_CELLS, matched_tokens
from contentspider_research.corpora import REFERENCES, group_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus, GoldPage
    from contentspider.page.tree.blocks import Block

logger = logging.getLogger(__name__)

# Pages of a site beyond this number show the same templates again.
PAGES_PER_SITE = 40
# Rows of a table, or links of a directory, are alike: so many of a page's blocks say what all do.
BLOCKS_PER_PAGE = 150
# A run of so many tokens that each of two texts has once is the same place in both.
ANCHOR = 12
# One forest leans on this, another on that: the mean of several, smaller ones is nearer to the gold
# of pages that none has seen. Their seeds are the prior's and these more.
SEEDS = (0, 101, 102)
TREES, LEARNING_RATE = 60, 0.2
# What the pages of a site weigh together, and a single page: forty of one template say less.
SITE_WEIGHT, PAGE_WEIGHT = 1_000, 50
# Sites of one kind together would outweigh the others.
REFERENCE_WEIGHT = 300
# Share of the blocks that are trained on as if no element had an id or a class.
NAMELESS_SHARE = 0.3
NAME_COLUMNS = [
    index for index, name in enumerate(FEATURE_NAMES) if name.startswith(("own_", "near_", "far_"))
]


def _settle_repeats(
    blocks: Sequence[Block], texts: list[list[str]], matched: NDArray[np.float64]
) -> None:
    """Give a text that the page has more often than the gold to the place that people must have
    meant.

    A title stands in the bread crumbs, in a list of headlines and above the article; an alignment
    takes the first. Meant is the one that is a heading, is not a link, and stands among other text
    of the gold.
    """
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        if text:
            groups.setdefault(" ".join(text), []).append(number)
    sizes = np.maximum([len(text) for text in texts], 1)
    sure = np.zeros(len(blocks))
    for members in groups.values():
        if len(members) == 1:
            sure[members[0]] = sizes[members[0]] * (
                2 * (matched[members[0]] >= 0.5 * sizes[members[0]]) - 1
            )
    sums = np.concatenate([[0.0], np.cumsum(sure)])

    def suits(number: int) -> float:
        low, high = max(number - 6, 0), min(number + 7, len(blocks))
        company = (sums[high] - sums[low]) / max(np.abs(sure[low:high]).sum(), 1)
        block = blocks[number]
        return (
            float(company)
            + (1.0 if block.tag == "h1" else 0.5 if block.tag in HEADINGS else 0)
            - 0.7 * block.link_chars / len(block.text)
        )

    for members in groups.values():
        taken = sum(matched[number] >= 0.5 * len(texts[number]) for number in members)
        if taken in (0, len(members)):
            continue
        best = sorted(members, key=suits, reverse=True)[:taken]
        for number in members:
            matched[number] = len(texts[number]) if number in best else 0


def matched_in_parts(blocks: Sequence[list[str]], gold: list[str]) -> NDArray[np.float64]:
    """Return what `matched_tokens` does; texts whose table would fill the memory are parted at a
    run of tokens that each has just once.
    """
    flat = [token for block in blocks for token in block]
    anchor = _anchor(flat, gold) if len(flat) * len(gold) > MAX_CELLS else None
    if anchor is None:
        return matched_tokens(blocks, gold)
    here, there = anchor
    starts = np.cumsum([0, *map(len, blocks)]).tolist()
    cuts = [(block, max(here - at, 0)) for at, block in zip(starts, blocks, strict=False)]
    before = matched_in_parts([block[:cut] for block, cut in cuts], gold[:there])
    return before + matched_in_parts([block[cut:] for block, cut in cuts], gold[there:])


def _anchor(first: list[str], second: list[str]) -> tuple[int, int] | None:
    """Return where a run of tokens begins that both have once, in the middle, or None."""
    places: list[dict[tuple[str, ...], int]] = []
    for text in (first, second):
        found: dict[tuple[str, ...], int] = {}
        for index in range(len(text) - ANCHOR + 1):
            run = tuple(text[index : index + ANCHOR])
            found[run] = -1 if run in found else index
        places.append(found)
    both = [
        (here, there)
        for run, here in places[0].items()
        if here > 0 and (there := places[1].get(run, -1)) > 0
    ]
    return min(both, key=lambda pair: abs(pair[0] - len(first) // 2)) if both else None


def label_blocks(page: Page, gold: GoldPage) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return for each block whether the gold has it, and its weight: the root of its tokens.

    Blocks of which people disagree weigh nothing.
    """
    blocks = page.content.blocks
    texts = [tokens(block.text) for block in blocks]
    sizes = np.maximum([len(text) for text in texts], 1)
    matched = matched_in_parts(texts, tokens(gold.text))
    _settle_repeats(blocks, texts, matched)
    labels = matched / sizes >= 0.5
    optional = matched_in_parts(texts, tokens(gold.optional)) / sizes
    weights = np.sqrt(sizes)
    weights[(optional >= 0.7) & (matched / sizes < 0.7)] = 0
    weights[[not text for text in texts]] = 0.01
    return labels, weights


@dataclass(frozen=True, slots=True)
class PageRows:
    """The blocks of one page to train on: their features, labels and weights, and whose they are.

    *group* is the owner of its site, or the page's host: what a prior that judges it may not have
    seen. *is_single* says that it is one of a collection of single pages, *is_reference* that its
    site is a reference of code.
    """

    group: str
    is_single: bool
    is_reference: bool
    features: NDArray[np.float32]
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64]


def training_rows(corpus: Corpus, seed: int) -> list[PageRows]:
    """Return the rows of a sample of the gold pages of a site, or of all single pages of a
    collection.

    Each page of a corpus weighs the same: a site's together `SITE_WEIGHT`, a reference's
    `REFERENCE_WEIGHT`, as much of it content as boilerplate; a single page `PAGE_WEIGHT`.
    """
    gold = {page.path: page for page in corpus.gold()}
    chosen = sorted(gold)
    if not corpus.is_collection and len(chosen) > PAGES_PER_SITE:
        chosen = sorted(random.Random(seed).sample(chosen, PAGES_PER_SITE))
    generator = np.random.default_rng(seed)
    extractor, walker = FeatureExtractor(), new_walker()
    is_reference = corpus.suite == REFERENCES
    found = []
    for path in chosen:
        html = (corpus.folder / "html" / path).read_bytes()
        page = Page.from_html(html, path, walker=walker)
        if not page.content.blocks:
            continue
        labels, weights = label_blocks(page, gold[path])
        features = extractor.features(page.content, page.hints)
        count = len(labels)
        if count > BLOCKS_PER_PAGE:
            some = np.sort(generator.choice(count, BLOCKS_PER_PAGE, replace=False))
            labels, weights, features = labels[some], weights[some], features[some]
        total = weights.sum()
        if total > 0:
            group = gold[path].host if corpus.is_collection else group_of(corpus)
            kind = corpus.is_collection, is_reference
            found.append(PageRows(group, *kind, features, labels, weights / total))
    site_weight = REFERENCE_WEIGHT if is_reference else SITE_WEIGHT
    page_weight = PAGE_WEIGHT if corpus.is_collection else site_weight / max(len(found), 1)
    rows = [replace(page, weights=page.weights * page_weight) for page in found]
    return _balanced(rows) if is_reference else rows


def _balanced(rows: list[PageRows]) -> list[PageRows]:
    """Return *rows* with as much weight of content as of boilerplate, and the same sum.

    Three quarters of a reference are content, of other sites half: as they are, they would teach
    that any label rather is.
    """
    content = sum(float(page.weights[page.labels].sum()) for page in rows)
    total = sum(float(page.weights.sum()) for page in rows)
    if not 0 < content < total:
        return rows
    factors = np.array([total / (total - content), total / content]) / 2
    return [replace(page, weights=page.weights * factors[page.labels.astype(int)]) for page in rows]


def fit_prior(pages: Sequence[PageRows], card: dict[str, object], seed: int = 0) -> Prior:
    """Fit a prior on the rows of pages of sites and of single pages: its trees are those of
    several forests, each of another seed, whose log odds are averaged.
    """
    forests = [_fit(pages, seed + other) for other in SEEDS]
    about = {"blocks": sum(len(page.labels) for page in pages), "seed": seed}
    return Prior(Trees.mean(forests), card | about)


def _fit(pages: Sequence[PageRows], seed: int) -> Trees:
    """Fit a forest on the rows of pages."""
    features = np.concatenate([page.features for page in pages])
    labels = np.concatenate([page.labels for page in pages])
    weights = np.concatenate([page.weights for page in pages])
    # Sites with hashed or foreign names must be judged too: without this the trees lean on names
    # alone.
    nameless = np.random.default_rng(seed).random(len(labels)) < NAMELESS_SHARE
    features[:, NAME_COLUMNS] *= ~nameless[:, np.newaxis]
    classifier = HistGradientBoostingClassifier(
        max_iter=TREES,
        learning_rate=LEARNING_RATE,
        max_leaf_nodes=31,
        min_samples_leaf=60,
        l2_regularization=5.0,
        max_features=0.3,
        early_stopping=False,
        random_state=seed,
    )
    counts = weights > 0
    classifier.fit(
        features[counts], labels[counts], sample_weight=weights[counts] / weights[counts].mean()
    )
    return trees_of(classifier)


def trees_of(classifier: HistGradientBoostingClassifier) -> Trees:
    """Copy the trees of a fitted binary classifier on numeric features without missing values."""
    tables = [predictors[0].nodes for predictors in classifier._predictors]
    offsets = np.cumsum([0] + [len(table) for table in tables])
    nodes = np.concatenate(tables)
    shift = np.repeat(offsets[:-1], [len(table) for table in tables])
    leaf = nodes["is_leaf"].astype(bool)
    own = np.arange(len(nodes))
    return Trees(
        roots=offsets[:-1].astype(np.int32),
        feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int16),
        threshold=np.where(leaf, 0, nodes["num_threshold"]).astype(np.float32),
        left=np.where(leaf, own, nodes["left"] + shift).astype(np.int32),
        right=np.where(leaf, own, nodes["right"] + shift).astype(np.int32),
        value=np.where(leaf, nodes["value"], 0).astype(np.float32),
        baseline=float(classifier._baseline_prediction.ravel()[0]),
    )


def train_prior(corpora: Sequence[Corpus], seed: int = 0) -> Prior:
    """Return the prior learned from the gold text of *corpora*, sites and collections of single
    pages; the same one for the same seed.
    """
    rows = []
    for corpus in corpora:
        rows += training_rows(corpus, seed)
        logger.info("%s: read, %d pages so far", corpus.name, len(rows))
    card: dict[str, object] = {
        "trained_on": [corpus.name for corpus in corpora],
        "languages": sorted({str(corpus.about.get("language", "?")) for corpus in corpora}),
        "types": sorted({str(corpus.about.get("type", "?")) for corpus in corpora}),
        "pages": len(rows),
    }
    return fit_prior(rows, card, seed)


def cross_fit(corpora: Sequence[Corpus], folds: int = 7, seed: int = 0) -> dict[str, Prior]:
    """Return priors that have not seen what they judge: for each site by its name, and for the
    single pages of collections by their host.

    A site is not seen in another year, either. Raises `CorpusError` if there is nothing left to
    train on.
    """
    names = {corpus.name: group_of(corpus) for corpus in corpora if not corpus.is_collection}
    for corpus in corpora:
        if corpus.is_collection:
            names |= {page.host: page.host for page in corpus.gold()}
    groups = sorted(set(names.values()))
    folds = min(folds, len(groups))
    if folds < 2:
        raise CorpusError(
            f"cross-fitting needs two folds and two sites at least; there are {folds} folds and"
            f" {len(groups)} sites (a site in several years counts once)"
        )
    random.Random(seed).shuffle(groups)
    fold_of = {group: index % folds for index, group in enumerate(groups)}
    rows = [page for corpus in corpora for page in training_rows(corpus, seed)]
    priors: dict[str, Prior] = {}
    for fold in range(folds):
        kept = [page for page in rows if fold_of[page.group] != fold]
        seen = sorted(name for name, group in names.items() if fold_of[group] != fold)
        prior = fit_prior(kept, {"trained_on": seen, "fold": fold}, seed)
        logger.info("fold %d of %d: prior trained on %d pages", fold + 1, folds, len(kept))
        priors |= {name: prior for name, group in names.items() if fold_of[group] == fold}
    return priors
