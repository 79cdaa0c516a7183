"""Labels the blocks of a site by its own texts.

A whole text labels every block of its page: blocks that it repeats are content, and all others are
boilerplate. An excerpt only labels the blocks that it repeats. Whether a source has whole texts or
excerpts is decided over all pages for which it has a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from posixpath import commonpath
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from contentspider.page.about.stated_texts import MARKED
from contentspider.page.tree.text import SENTENCE_CHARS, tokens
from contentspider.site.own.alignment import CLEAN, Alignment, align
from contentspider.site.vote.blocks import TEMPLATE_SHARE, count_pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.own.texts import OwnText
    from contentspider.site.vote.blocks import SiteBlocks


# A source has whole texts if three conditions hold in the median of its pages. Its text has at
# least WHOLE_SLOTS of the characters in the slots that it repeats. It has at least WHOLE_PROSE of
# the page's prose that is probably content. And the sure content (from a probability of
# SURE_CONTENT on) that follows it in the same element has at most MAX_TAIL of its length: an
# excerpt stops in the middle of the content.
WHOLE_SLOTS = 0.95
WHOLE_PROSE = 0.5
MAX_TAIL = 0.1
SURE_CONTENT = 0.9
# A whole text labels all blocks of a page only if it has this share of the slots that it repeats.
WHOLE_PAGE = 0.7
# A source is ignored if the blocks that it repeats have a lower mean probability than BELIEVED, or
# if more than MAX_TEMPLATE of their text belongs to the template.
BELIEVED = 0.3
MAX_TEMPLATE = 0.1
# Below this probability a block is surely boilerplate, for example a link to the next post.
SURE_NOISE = 0.02
# A text on more than this share of the pages, and on more than this many, belongs to the template,
# even if own texts have it ("This post appeared first on ...").
COMMON_SHARE = 0.1
COMMON_PAGES = 2
NONE: Mapping[str, frozenset[int]] = {}


@dataclass(frozen=True, slots=True)
class Evidence:
    """The labels of a site's blocks by its own texts: 1 (content), 0 (boilerplate) or NaN (none).

    *pages* has the numbers of the pages with any label. *whole* maps the number of each page with a
    whole own text to that text. *local* has labels of other pages, which say nothing about the rest
    of the site.
    """

    labels: Floats
    pages: frozenset[int] = frozenset()
    whole: Mapping[int, OwnText] = field(default_factory=dict)
    local: Floats | None = None

    @property
    def has_label(self) -> Bools:
        """Return which blocks have a label."""
        return ~np.isnan(self.labels)

    def without(self, pages: frozenset[int], site: SiteBlocks) -> Evidence:
        """Return this evidence without the labels of some *pages*."""
        hidden = np.isin(site.pages, list(pages))
        return Evidence(
            np.where(hidden, np.nan, self.labels),
            self.pages - pages,
            {number: own for number, own in self.whole.items() if number not in pages},
            self.local,
        )


class _AlignedText(NamedTuple):
    """An own text, aligned with its *page*; *span* selects the page's blocks in the site's arrays.

    *slots_share*, *prose_share* and *tail_share* are the figures for `WHOLE_SLOTS`, `WHOLE_PROSE`
    and `MAX_TAIL`; *mean_probability* and *template_share* the figures for `BELIEVED` and
    `MAX_TEMPLATE`.
    """

    page: int
    span: slice
    own: OwnText
    alignment: Alignment
    slots_share: float
    prose_share: float
    tail_share: float
    mean_probability: float
    template_share: float

    @property
    def is_whole(self) -> bool:
        """Tell whether the text can label all blocks of its page, if its source has whole texts."""
        return (
            self.slots_share >= WHOLE_PAGE
            and self.prose_share >= WHOLE_PROSE
            and self.alignment.coverage >= CLEAN
        )


def gather_evidence(
    site: SiteBlocks,
    own_texts: Mapping[int, Sequence[OwnText]],
    voted: Floats,
    judged: Floats,
    rarely_announced: Mapping[str, frozenset[int]] = NONE,
) -> Evidence:
    """Return the labels of a site's blocks by the own texts of its pages.

    *own_texts* has the texts of each page by the page's number. *voted* is each block's probability
    of being content by the vote without own texts. *judged* is the prior's probability, which
    depends on the block's page only. A text that many pages repeat is labelled only if *judged*
    takes it for content. *rarely_announced* maps the sources that few pages announce to the numbers
    of these pages: their texts speak for these pages alone.
    """
    pages = count_pages(site.texts, site.sources)[site.texts]
    common = np.asarray(pages > max(COMMON_PAGES, COMMON_SHARE * site.distinct_pages))
    template = np.asarray(pages > max(COMMON_PAGES, TEMPLATE_SHARE * site.distinct_pages))
    by_source: dict[str, list[_AlignedText]] = {}
    starts = np.searchsorted(site.pages, np.arange(len(site.contents) + 1)).tolist()
    for page, texts in own_texts.items():
        span = slice(starts[page], starts[page + 1])
        words = [tokens(block.text) for block in site.contents[page].blocks]
        for own in texts:
            if page not in rarely_announced.get(own.source, (page,)):
                continue
            aligned = _align_page(site, page, span, words, own, common, template, voted, judged)
            if aligned is not None:
                by_source.setdefault(own.source, []).append(aligned)
    local = {source: by_source.pop(source) for source in rarely_announced if source in by_source}
    evidence = _combine(site, by_source)
    if not local:
        return evidence
    labels = _combine(site, local).labels
    return replace(evidence, local=np.where(np.isin(site.pages, [*evidence.pages]), np.nan, labels))


def _align_page(
    site: SiteBlocks,
    page: int,
    span: slice,
    words: Sequence[list[str]],
    own: OwnText,
    common: Bools,
    template: Bools,
    voted: Floats,
    judged: Floats,
) -> _AlignedText | None:
    """Align an own text with its page; None if the page does not have the text.

    *words* has the tokens of each block of the page. The other arrays have one entry for each block
    of the site: *common* and *template* mark texts that many and very many pages have.
    """
    alignment = align(site.contents[page], words, own)
    if alignment is None:
        return None
    weights = site.weights[span] * alignment.repeated
    template_share = float(weights[template[span]].sum() / weights.sum())
    page_voted, shared = voted[span], common[span]
    if own.source.startswith(MARKED):
        doubtful = shared | (page_voted < 0.5)
    else:
        doubtful = (shared | _appended(alignment, page_voted)) & (judged[span] < 0.5)
    alignment = alignment._replace(
        repeated=alignment.repeated & ~doubtful,
        unclear=alignment.unclear | doubtful & alignment.repeated,
    )
    if not alignment.repeated.any():
        return None
    chars, clear = site.chars[span], ~alignment.unclear
    slots = site.slot_numbers[span]
    long = alignment.repeated & (chars >= SENTENCE_CHARS / 2)
    in_slots = np.isin(slots, slots[long if long.any() else alignment.repeated]) & clear
    likely = (page_voted >= 0.5) & (chars >= SENTENCE_CHARS) & clear & ~shared
    # A line of content that the own text lacks is not boilerplate.
    missing = in_slots & ~alignment.repeated & (page_voted >= 0.5)
    alignment = alignment._replace(unclear=alignment.unclear | missing)
    weights = site.weights[span] * alignment.repeated
    sure = clear & ~shared & (page_voted >= SURE_CONTENT)
    return _AlignedText(
        page,
        span,
        own,
        alignment,
        _share(chars, alignment.repeated & in_slots, in_slots),
        _share(chars, alignment.repeated & likely, likely),
        _tail_share(site, page, span, alignment, sure),
        float((weights * page_voted).sum() / weights.sum()),
        template_share,
    )


def _appended(alignment: Alignment, voted: Floats) -> Bools:
    """Return which blocks are surely boilerplate and stand before or after all repeated content.

    Themes add such blocks to own texts.
    """
    content = np.flatnonzero(alignment.repeated & (voted >= 0.5))
    if not len(content):
        return np.zeros(len(voted), dtype=bool)
    numbers = np.arange(len(voted))
    outside = (numbers < content[0]) | (numbers > content[-1])
    return np.asarray(outside & (voted < SURE_NOISE))


def _tail_share(
    site: SiteBlocks, page: int, span: slice, alignment: Alignment, sure: Bools
) -> float:
    """Return how much *sure* content follows the repeated blocks inside the same element. The
    result is the length of that content, divided by the length of the repeated blocks.
    """
    blocks, chars = site.contents[page].blocks, site.chars[span]
    repeated = np.flatnonzero(alignment.repeated).tolist()
    element = commonpath([blocks[number].path.rpartition("/")[0] for number in repeated])
    later = np.flatnonzero(sure[repeated[-1] + 1 :]) + repeated[-1] + 1
    tail = [number for number in later if commonpath([blocks[number].path, element]) == element]
    return float(chars[tail].sum() / chars[alignment.repeated].sum())


def _share(chars: Floats, part: Bools, whole: Bools) -> float:
    total = chars[whole].sum()
    return float(chars[part].sum() / total) if total else 1.0


def _combine(site: SiteBlocks, by_source: Mapping[str, Sequence[_AlignedText]]) -> Evidence:
    """Return the labels by the aligned texts of all sources.

    If several sources have a text of one page, the first whole text labels the page, or else the
    first excerpt.
    """
    labels = np.full(len(site.chars), np.nan)
    pages: set[int] = set()
    whole: dict[int, OwnText] = {}
    for texts in by_source.values():
        if not _is_believed(texts):
            continue
        has_whole_texts = _are_whole(texts)
        for aligned in texts:
            is_whole = has_whole_texts and aligned.is_whole
            if aligned.page in whole or (aligned.page in pages and not is_whole):
                continue
            pages.add(aligned.page)
            if is_whole:
                whole[aligned.page] = aligned.own
            labels[aligned.span] = _labels(aligned.alignment, is_whole)
    return Evidence(labels, frozenset(pages), whole)


def _are_whole(texts: Sequence[_AlignedText]) -> bool:
    """Tell whether a source has whole texts, not excerpts."""
    return (
        median(text.slots_share for text in texts) >= WHOLE_SLOTS
        and median(text.prose_share for text in texts) >= WHOLE_PROSE
        and median(text.tail_share for text in texts) <= MAX_TAIL
    )


def _is_believed(texts: Sequence[_AlignedText]) -> bool:
    """Tell whether the texts of a source are content, not boilerplate."""
    return (
        median(text.mean_probability for text in texts) >= BELIEVED
        and median(text.template_share for text in texts) <= MAX_TEMPLATE
    )


def _labels(alignment: Alignment, is_whole: bool) -> Floats:
    labels = np.full(len(alignment.repeated), 0.0 if is_whole else np.nan)
    labels[alignment.unclear] = np.nan
    labels[alignment.repeated] = 1.0
    if alignment.headline >= 0:
        labels[alignment.headline] = 1.0
    return labels
