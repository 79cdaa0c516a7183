"""Labels for the blocks of a site by its own texts, and whether each source has whole texts.

An excerpt shows only what is content; with a whole text every other block of its page is noise.
Which of the two a source has is decided over all pages that it has texts of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from posixpath import commonpath
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from contentspider.page.about.stated_texts import MARKED
from contentspider.page.tree.text import SENTENCE_CHARS, tokens
from contentspider.site.own.alignment import CLEAN, Alignment, align
from contentspider.site.vote.blocks import TEMPLATE_SHARE, count_pages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.own.texts import OwnText
    from contentspider.site.vote.blocks import SiteBlocks


# A source's texts are whole if, in the median of its pages, they have this share of the text in
# their slots, and this share of the page's other prose.
WHOLE_SLOTS = 0.95
WHOLE_PROSE = 0.5
# And what follows them in their element and is surely content has at most this share of their
# text: an excerpt stops amid it.
MAX_TAIL = 0.1
SURE_CONTENT = 0.9
# And on a page that a whole text labels at least this share of its slots.
WHOLE_PAGE = 0.7
# A source is not believed if its texts are mostly blocks that the prior takes for noise, or of the
# template's text to a larger share than this.
BELIEVED = 0.3
MAX_TEMPLATE = 0.1
# Below, the prior is sure that a block is noise: links to the next post and the like.
SURE_NOISE = 0.02
# Text on more than this share of the pages, and than so many, is the template's, though an own text
# has it ("This post appeared first on ...").
COMMON_SHARE = 0.1
COMMON_PAGES = 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """The labels of a site's blocks by its own texts: 1 (content), 0 (noise) or NaN (unknown).

    *pages* are the numbers of the pages with any label, *whole* those with a whole own text, each
    with that text.
    """

    labels: Floats
    pages: frozenset[int] = frozenset()
    whole: Mapping[int, OwnText] = field(default_factory=dict)

    @property
    def known(self) -> Bools:
        """Return which blocks have a label."""
        return ~np.isnan(self.labels)

    def without(self, pages: frozenset[int], site: SiteBlocks) -> Evidence:
        """Return the same without the labels of some *pages*."""
        hidden = np.isin(site.pages, list(pages))
        return Evidence(
            np.where(hidden, np.nan, self.labels),
            self.pages - pages,
            {number: own for number, own in self.whole.items() if number not in pages},
        )


class _Aligned(NamedTuple):
    """One own text beside its page, whose blocks are *here*."""

    page: int
    here: slice
    own: OwnText
    found: Alignment
    slots_share: float
    prose_share: float
    tail_share: float
    belief: float
    template_share: float


def gather_evidence(
    site: SiteBlocks, own_texts: Mapping[int, Sequence[OwnText]], judged: Floats, alone: Floats
) -> Evidence:
    """Return the labels of a site's blocks by the *own_texts* of its pages, by the pages' numbers.

    *judged* is how probably each block is content by what is known without them, *alone* the same
    by its page alone. What many pages repeat has a label only if its page takes it for content.
    """
    pages = count_pages(site.texts, site.sources)[site.texts]
    common = np.asarray(pages > max(COMMON_PAGES, COMMON_SHARE * site.distinct_pages))
    template = np.asarray(pages > max(COMMON_PAGES, TEMPLATE_SHARE * site.distinct_pages))
    by_source: dict[str, list[_Aligned]] = {}
    starts = np.searchsorted(site.pages, np.arange(len(site.contents) + 1)).tolist()
    for page, texts in own_texts.items():
        here = slice(starts[page], starts[page + 1])
        words = [tokens(block.text) for block in site.contents[page].blocks]
        for own in texts:
            aligned = _align_page(site, page, here, words, own, common, template, judged, alone)
            if aligned is not None:
                by_source.setdefault(own.source, []).append(aligned)
    return _sum_up(site, by_source)


def _align_page(
    site: SiteBlocks,
    page: int,
    here: slice,
    words: Sequence[list[str]],
    own: OwnText,
    common: Bools,
    template: Bools,
    judged: Floats,
    alone: Floats,
) -> _Aligned | None:
    found = align(site.contents[page], words, own)
    if found is None:
        return None
    weights = site.weights[here] * found.repeated
    template_share = float(weights[template[here]].sum() / weights.sum())
    shared = common[here]
    is_marked = own.source.startswith(MARKED)
    doubtful = (shared | _appended(found, judged[here])) & (alone[here] < 0.5)
    if is_marked:
        doubtful = shared | (judged[here] < 0.5)
    found = found._replace(
        repeated=found.repeated & ~doubtful, unclear=found.unclear | doubtful & found.repeated
    )
    if not found.repeated.any():
        return None
    chars, clear = site.chars[here], ~found.unclear
    slots = site.slot_numbers[here]
    long = found.repeated & (chars >= SENTENCE_CHARS / 2)
    beside = np.isin(slots, slots[long if long.any() else found.repeated]) & clear
    likely = (judged[here] >= 0.5) & (chars >= SENTENCE_CHARS) & clear & ~shared
    # A line that the own text lost is no noise.
    lost = beside & ~found.repeated & (judged[here] >= 0.5)
    found = found._replace(unclear=found.unclear | lost)
    weights = site.weights[here] * found.repeated
    return _Aligned(
        page,
        here,
        own,
        found,
        _share(chars, found.repeated & beside, beside),
        _share(chars, found.repeated & likely, likely),
        _tail_share(site, page, here, found, clear & ~shared & (judged[here] >= SURE_CONTENT)),
        float((weights * judged[here]).sum() / weights.sum()),
        template_share,
    )


def _appended(found: Alignment, judged: Floats) -> Bools:
    """Return which repeated blocks are sure noise around all content: a theme adds some."""
    believed = np.flatnonzero(found.repeated & (judged >= 0.5))
    if not len(believed):
        return np.zeros(len(judged), dtype=bool)
    places = np.arange(len(judged))
    outside = (places < believed[0]) | (places > believed[-1])
    return np.asarray(outside & (judged < SURE_NOISE))


def _tail_share(site: SiteBlocks, page: int, here: slice, found: Alignment, sure: Bools) -> float:
    """Return how much *sure* content follows the repeated blocks in the element that holds them,
    as a share of their text.
    """
    blocks, chars = site.contents[page].blocks, site.chars[here]
    repeated = np.flatnonzero(found.repeated).tolist()
    element = commonpath([blocks[number].path.rpartition("/")[0] for number in repeated])
    later = np.flatnonzero(sure[repeated[-1] + 1 :]) + repeated[-1] + 1
    tail = [number for number in later if commonpath([blocks[number].path, element]) == element]
    return float(chars[tail].sum() / chars[found.repeated].sum())


def _share(chars: Floats, part: Bools, whole: Bools) -> float:
    total = chars[whole].sum()
    return float(chars[part].sum() / total) if total else 1.0


def _sum_up(site: SiteBlocks, by_source: Mapping[str, Sequence[_Aligned]]) -> Evidence:
    labels = np.full(len(site.chars), np.nan)
    pages: set[int] = set()
    whole: dict[int, OwnText] = {}
    for texts in by_source.values():
        is_whole = (
            median(each.slots_share for each in texts) >= WHOLE_SLOTS
            and median(each.prose_share for each in texts) >= WHOLE_PROSE
            and median(each.tail_share for each in texts) <= MAX_TAIL
        )
        is_believed = (
            median(each.belief for each in texts) >= BELIEVED
            and median(each.template_share for each in texts) <= MAX_TEMPLATE
        )
        for each in texts if is_believed else ():
            is_all = (
                is_whole
                and each.slots_share >= WHOLE_PAGE
                and each.prose_share >= WHOLE_PROSE
                and each.found.coverage >= CLEAN
            )
            # Of several sources the first with a whole text.
            if each.page in whole or (each.page in pages and not is_all):
                continue
            pages.add(each.page)
            if is_all:
                whole[each.page] = each.own
            labels[each.here] = _labels(each.found, is_all)
    return Evidence(labels, frozenset(pages), whole)


def _labels(found: Alignment, is_whole: bool) -> Floats:
    labels = np.full(len(found.repeated), 0.0 if is_whole else np.nan)
    labels[found.unclear] = np.nan
    labels[found.repeated] = 1.0
    if found.headline >= 0:
        labels[found.headline] = 1.0
    return labels
