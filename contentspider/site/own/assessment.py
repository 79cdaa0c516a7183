"""Assessing a site's labels: measured on whole own texts by template, else predicted."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.write.output import to_text
from contentspider.site.own.quality import Quality, TemplateQuality, WorstPage
from contentspider.site.scores import Score, score_of, text_score
from contentspider.site.vote.blocks import main_slots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.site.arrays import Floats
    from contentspider.site.own.vote import OwnVote
    from contentspider.site.vote.blocks import SiteBlocks

# Half of the pages are held back; the others must be enough to contradict the vote
# (`contentspider.site.own.vote.SURE_PAGES`).
MIN_PAGES = 6
WORST = 3
# Of so many pages one half is judged: ten show enough, and each half costs a vote of the site.
MANY_PAGES = 20
# Told pages of a template on which its F1 is measured; of fewer it is predicted.
MEASURED_PAGES = 3
# The F1 of templates by their agreement: the means over 390 templates of 121 open sites, by priors
# that had not seen them (research/NOTES.md). Sites differ by 0.02 from what this predicts.
AGREEMENTS = (0.25, 0.65, 0.88, 1.0)
PREDICTED_F1 = (0.87, 0.94, 0.972, 0.99)
MAX_TEMPLATES = 20


def assess(vote: OwnVote, probabilities: Floats) -> Quality:
    """Return how good the labels of a site are, given as each block's probability. A template is
    measured by the own texts of at least three of its pages, else predicted.
    """
    scores = _held_back_scores(vote)
    templates = _templates(vote.site, probabilities, vote.judged, scores)
    return replace(_measured(vote, scores) or Quality(0.0), **_summary(templates))


def predict(site: SiteBlocks, probabilities: Floats, judged: Floats) -> Quality:
    """Return what the agreement of a site's labels with the probabilities of blocks *judged* by
    their pages alone lets expect.
    """
    return Quality(**_summary(_templates(site, probabilities, judged, {})))


def measure(vote: OwnVote) -> Quality | None:
    """Return how well whole own texts predict each other's pages; None if there are too few."""
    return _measured(vote, _held_back_scores(vote))


def _held_back_scores(vote: OwnVote) -> dict[int, Score]:
    """Return the scores of pages with a whole own text that was held back, by their numbers."""
    evidence, site = vote.evidence, vote.site
    pages = sorted(evidence.whole)
    if len(pages) < MIN_PAGES:
        return {}
    starts = np.searchsorted(site.pages, np.arange(len(vote.sample) + 1)).tolist()
    scores = {}
    halves = [pages[::2], pages[1::2]]
    for half in halves if len(pages) < MANY_PAGES else halves[:1]:
        found = vote.probabilities(evidence.without(frozenset(half), site))
        for page in half:
            kept = found[starts[page] : starts[page + 1]] > 0.5
            text = to_text(list(compress(site.contents[page].blocks, kept.tolist())))
            own = evidence.whole[page]
            scores[page] = text_score(text, own.text, own.title)
    return scores


def _measured(vote: OwnVote, scores: Mapping[int, Score]) -> Quality | None:
    if not scores:
        return None
    columns = zip(*scores.values(), strict=True)
    precision, recall, f1 = (round(mean(column), 4) for column in columns)
    worst = sorted(scores, key=lambda page: (scores[page].f1, page))[:WORST]
    named = tuple(WorstPage(vote.sample[page].url, round(scores[page].f1, 4)) for page in worst)
    return Quality(f1, precision, recall, len(scores), named)


def _templates(
    site: SiteBlocks, probabilities: Floats, judged: Floats, scores: Mapping[int, Score]
) -> list[TemplateQuality]:
    """Return the templates of a site's pages, those with most pages first."""
    slots = main_slots(site)
    pages, slot_of_page = np.unique(site.pages), slots[site.pages]
    kept, alone = probabilities > 0.5, judged > 0.5
    names = dict(zip(site.slot_numbers.tolist(), site.slots, strict=True))
    templates = []
    for slot in np.unique(slots[pages]).tolist():
        here = slot_of_page == slot
        chars = [float(site.chars[here & part].sum()) for part in (kept & alone, kept, alone)]
        alike = score_of(*chars)
        measured = [score.f1 for page, score in scores.items() if slots[page] == slot]
        is_measured = len(measured) >= MEASURED_PAGES
        f1 = mean(measured) if is_measured else np.interp(alike.f1, AGREEMENTS, PREDICTED_F1)
        count, told = int((slots[pages] == slot).sum()), len(measured) if is_measured else 0
        figures = (round(float(f1), 4), round(alike.f1, 4), told, round(1 - alike.recall, 4))
        templates.append(TemplateQuality(names[slot], count, *figures))
    return sorted(templates, key=lambda template: (-template.pages, template.slot))


def _summary(templates: list[TemplateQuality]) -> dict[str, Any]:
    """Return the fields of a `Quality` that its templates give."""
    pages = sum(template.pages for template in templates)
    f1 = sum(template.f1 * template.pages for template in templates) / pages
    return {"f1": round(f1, 4), "templates": tuple(templates[:MAX_TEMPLATES])}
