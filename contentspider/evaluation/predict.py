"""Predictions on corpora: sites are learned without their gold, and its pages extracted."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from contentspider.site.vote.labels import VOTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.judge.prior import Prior
    from contentspider.site.learn.options import LearningOptions

logger = logging.getLogger(__name__)


def predict_site(
    corpus: Corpus,
    options: LearningOptions,
    prior: Prior | None,
    *,
    hosts: Mapping[str, Prior] | None = None,
    alone: bool = False,
    held_out: int | None = None,
    with_own_texts: bool = True,
) -> Iterator[dict[str, str]]:
    """Yield ``{"site", "path", "text"}`` for each gold page of a site.

    *hosts* has the priors of single pages by their host (None, or none there: *prior*). With
    *alone* every page is judged by itself; so are the pages of a collection, which are no site.
    With *held_out* no page is extracted by a model that has seen it: the site is learned twice,
    from two samples of that many pages (0, or more than there are: half of them) without a page in
    common. *with_own_texts*: the texts in the site's feeds are used.
    """
    pages = {page.url: page for page in corpus.pages(options.needs_attributes)}
    learner = SiteLearner(corpus.name, options, prior)
    own_texts = corpus.own_texts() if with_own_texts else []
    alone = alone or corpus.is_collection
    groups = [] if alone else _groups(list(pages), held_out)
    models = [
        learner.fit((page for path, page in pages.items() if path in group), own_texts)
        for group in groups
    ]
    for path, gold in zip(corpus.gold_paths(), corpus.gold(), strict=True):
        page = pages.get(gold.path)
        if page is None:
            logger.warning("%s: the gold names %s, which is not among the pages", corpus.name, path)
            continue
        if not page.content.blocks:
            text = ""
        elif alone and options.labels == VOTES:
            text = extract_page(page, corpus.name, (hosts or {}).get(gold.host, prior)).text
        elif alone:
            text = SiteLearner(corpus.name, options).fit([page]).extract(page).text
        else:
            text = models[-1 if page.url in groups[0] else 0].extract(page).text
        yield {"site": corpus.name, "path": path, "text": text}


def _groups(paths: list[str], held_out: int | None) -> list[set[str]]:
    """Return the pages that each model of a site is learned from: all, or two samples."""
    if held_out is None:
        return [set(paths)]
    paths.sort()
    random.Random(0).shuffle(paths)
    half = len(paths) // 2
    size = held_out if 0 < held_out <= half else half
    return [set(paths[:size]), set(paths[size : 2 * size])]
