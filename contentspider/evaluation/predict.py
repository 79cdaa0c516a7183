"""Predicts the content of the gold pages of corpora; sites are learned without their gold."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, TypeAlias

from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from contentspider.site.vote.labels import VOTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from contentspider.evaluation.corpora import Corpus, GoldPage
    from contentspider.page.input.page import Page
    from contentspider.site.judge.prior import Prior
    from contentspider.site.learn.options import LearningOptions
    from contentspider.site.own.texts import OwnText

logger = logging.getLogger(__name__)

# A function that returns the predicted content of a page that has blocks.
Predictor: TypeAlias = "Callable[[Page, GoldPage], str]"


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
    """Yield ``{"site", "path", "text"}`` for each gold page of a corpus.

    *prior* is the prior to use (None: the one that ships). *hosts* has other priors for the single
    pages of some hosts. With *alone* every page is judged by itself; the pages of a collection
    always are, since they do not form a site. *with_own_texts* uses the texts in the site's feeds.

    With *held_out* no page is extracted by a model that was learned from it: the site is learned
    twice, from two samples without a common page. *held_out* is the number of pages in each (0, or
    more than half of the pages: half of them).
    """
    pages = {page.url: page for page in corpus.pages(options.needs_attributes)}
    if alone or corpus.is_collection:
        predict = _single_page_predictor(corpus.name, options, prior, hosts or {})
    else:
        own_texts = corpus.own_texts() if with_own_texts else []
        learner = SiteLearner(corpus.name, options, prior)
        predict = _site_predictor(learner, pages, own_texts, held_out)
    for path, gold in zip(corpus.gold_paths(), corpus.gold(), strict=True):
        page = pages.get(gold.path)
        if page is None:
            logger.warning("%s: the page %s of the gold is missing from html/", corpus.name, path)
            continue
        text = predict(page, gold) if page.content.blocks else ""
        yield {"site": corpus.name, "path": path, "text": text}


def _single_page_predictor(
    site: str, options: LearningOptions, prior: Prior | None, hosts: Mapping[str, Prior]
) -> Predictor:
    """Return a function that judges each page by itself, by the prior for its host."""

    def predict(page: Page, gold: GoldPage) -> str:
        if options.labels == VOTES:
            return extract_page(page, site, hosts.get(gold.host, prior)).text
        return SiteLearner(site, options).fit([page]).extract(page).text

    return predict


def _site_predictor(
    learner: SiteLearner,
    pages: Mapping[str, Page],
    own_texts: list[OwnText],
    held_out: int | None,
) -> Predictor:
    """Return a function that extracts pages by a model of their site (see `predict_site`)."""
    samples = _samples(list(pages), held_out)
    models = [
        learner.fit((page for path, page in pages.items() if path in sample), own_texts)
        for sample in samples
    ]

    def predict(page: Page, gold: GoldPage) -> str:
        model = models[-1] if page.url in samples[0] else models[0]
        return model.extract(page).text

    return predict


def _samples(paths: list[str], held_out: int | None) -> list[set[str]]:
    """Return the paths that each model of a site is learned from: all, or two samples."""
    if held_out is None:
        return [set(paths)]
    paths.sort()
    random.Random(0).shuffle(paths)
    half = len(paths) // 2
    size = held_out if 0 < held_out <= half else half
    return [set(paths[:size]), set(paths[size : 2 * size])]
