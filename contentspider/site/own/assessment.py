"""Assesses the labels of a site: measures their F1 on whole own texts, or else predicts it."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.write.output import to_text
from contentspider.site.own.quality import Quality, TemplateQuality, WorstPage
from contentspider.site.own.signs import read_signs
from contentspider.site.scores import Score, text_score
from contentspider.site.vote.blocks import main_slots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.site.arrays import Floats
    from contentspider.site.own.vote import OwnVote

# The own texts of half of the pages are held back. The other half must have enough pages to
# contradict the vote (`contentspider.site.own.vote.SURE_PAGES`).
MIN_PAGES = 6
WORST_PAGES = 3
# From this many pages on only one half is scored: ten pages are enough, and each half costs another
# vote of the site.
MANY_PAGES = 20
# The F1 of a template is measured if this many of its pages were scored, and predicted otherwise.
MEASURED_PAGES = 3
MAX_TEMPLATES = 20
EXAMPLES = 2  # pages of a doubtful template


def assess(vote: OwnVote, probabilities: Floats) -> Quality:
    """Return the quality of a site's labels, which are each block's probability.

    The F1 of a template is measured if at least `MEASURED_PAGES` of its pages have a whole own
    text, and predicted otherwise.
    """
    scores = _held_back_scores(vote)
    templates = _templates(vote, probabilities, scores)
    return replace(_measured(vote, scores) or Quality(0.0), **_summary(templates))


def predict(vote: OwnVote, probabilities: Floats) -> Quality:
    """Return the predicted quality of a site's labels, without any own texts."""
    return Quality(**_summary(_templates(vote, probabilities, {})))


def measure(vote: OwnVote) -> Quality | None:
    """Return the quality as measured on whole own texts, None if there are too few of them."""
    return _measured(vote, _held_back_scores(vote))


def _held_back_scores(vote: OwnVote) -> dict[int, Score]:
    """Return the scores of pages with a whole own text, by the pages' numbers.

    A page is scored against its own text, after a vote that does not use this text.
    """
    evidence, site = vote.evidence, vote.site
    pages = sorted(evidence.whole)
    if len(pages) < MIN_PAGES:
        return {}
    starts = np.searchsorted(site.pages, np.arange(len(vote.sample) + 1)).tolist()
    scores = {}
    halves = [pages[::2], pages[1::2]]
    for half in halves if len(pages) < MANY_PAGES else halves[:1]:
        probabilities = vote.probabilities(evidence.without(frozenset(half), site))
        for page in half:
            is_kept = probabilities[starts[page] : starts[page + 1]] > 0.5
            text = to_text(list(compress(site.contents[page].blocks, is_kept.tolist())))
            own = evidence.whole[page]
            scores[page] = text_score(text, own.text, own.title)
    return scores


def _measured(vote: OwnVote, scores: Mapping[int, Score]) -> Quality | None:
    if not scores:
        return None
    columns = zip(*scores.values(), strict=True)
    precision, recall, f1 = (round(mean(column), 4) for column in columns)
    worst = sorted(scores, key=lambda page: (scores[page].f1, page))[:WORST_PAGES]
    worst_pages = tuple(
        WorstPage(vote.sample[page].url, round(scores[page].f1, 4)) for page in worst
    )
    return Quality(f1, precision, recall, len(scores), worst_pages)


def _templates(
    vote: OwnVote, probabilities: Floats, scores: Mapping[int, Score]
) -> list[TemplateQuality]:
    """Return the templates of a site's pages; templates with most pages come first."""
    site, slots = vote.site, main_slots(vote.site)
    pages, slot_of_page = np.unique(site.pages), slots[site.pages]
    names = dict(zip(site.slot_numbers.tolist(), site.slots, strict=True))
    templates = []
    for slot in np.unique(slots[pages]).tolist():
        numbers = np.flatnonzero(slots == slot).tolist()
        measured = [score.f1 for page, score in scores.items() if slots[page] == slot]
        template = TemplateQuality(names[slot], len(numbers), 0.0)
        if len(measured) >= MEASURED_PAGES:
            template = template._replace(f1=round(mean(measured), 4), told=len(measured))
        else:
            signs = read_signs(site, slot_of_page == slot, probabilities, vote.judged > 0.5)
            template = template._replace(f1=round(signs.f1, 4))
            if template.is_doubtful:
                examples = tuple(vote.sample[number].url for number in numbers[:EXAMPLES])
                template = template._replace(advice=signs.advice, examples=examples)
        templates.append(template)
    return sorted(templates, key=lambda template: (-template.pages, template.slot))


def _summary(templates: list[TemplateQuality]) -> dict[str, Any]:
    """Return the fields of a `Quality` that follow from its templates."""
    pages = sum(template.pages for template in templates)
    f1 = sum(template.f1 * template.pages for template in templates) / pages
    return {"f1": round(f1, 4), "templates": tuple(templates[:MAX_TEMPLATES])}
