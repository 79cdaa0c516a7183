"""What own texts tell of all blocks of a site, and whether each source tells whole texts.

An excerpt tells only what is content; a whole text tells of every other block of its page that it
is none. Which of the two a source gives is decided by evidence, over all pages that it tells of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contentspider.page.about.stated import MARKED
from contentspider.page.text import SENTENCE_CHARS
from contentspider.site.own.alignment import Alignment, align
from contentspider.site.vote.blocks import TEMPLATE_SHARE, count_pages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from contentspider.site.own.texts import OwnText
    from contentspider.site.vote.blocks import SiteBlocks

    Floats = NDArray[np.floating[Any]]
    Bools = NDArray[np.bool_]

# Of a source's pages so much of the slots that it tells of is told in the median, and so much of
# what else may be content: its texts are whole.
WHOLE_SLOTS = 0.95
WHOLE_PROSE = 0.5
# And at least so much on a page that a whole text tells of.
WHOLE_PAGE = 0.7
# A source that tells mostly of blocks that nobody else takes for content is wrong, or hostile.
BELIEVED = 0.3
# Nor is one whose texts are the template's to a larger share than this: pages, not texts.
MAX_TEMPLATE = 0.1
# Text that more of the pages have than this share, and than so many, is the template's, though an
# own text has it ("This post appeared first on ...").
COMMON_SHARE = 0.1
COMMON_PAGES = 2


class SourceReport(NamedTuple):
    """What became of a source: how many pages it tells of, and whether its texts are *whole*; those
    of one that is not *believed* count for nothing.
    """

    source: str
    pages: int
    whole: bool
    believed: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a site's own texts tell of its blocks.

    *told* has an entry a block: 1 (content), 0 (none) or NaN (unknown). *pages* are the numbers of
    the pages of which anything is told, *whole* those of which everything is, each with its own
    text. *sources* says what became of each source.
    """

    told: Floats
    pages: frozenset[int] = frozenset()
    whole: Mapping[int, OwnText] = field(default_factory=dict)
    sources: Sequence[SourceReport] = ()

    @property
    def known(self) -> Bools:
        """Return of which blocks something is told."""
        return ~np.isnan(self.told)

    def without(self, pages: frozenset[int], site: SiteBlocks) -> Evidence:
        """Return the same without what is told of some *pages*."""
        hidden = np.isin(site.pages, list(pages))
        return Evidence(
            np.where(hidden, np.nan, self.told),
            self.pages - pages,
            {number: own for number, own in self.whole.items() if number not in pages},
            self.sources,
        )


class _Told(NamedTuple):
    """What one own text tells of its page, whose blocks begin at *start*."""

    page: int
    start: int
    own: OwnText
    found: Alignment
    slots_share: float
    prose_share: float
    belief: float
    template_share: float


def gather_evidence(
    site: SiteBlocks, own_texts: Mapping[int, Sequence[OwnText]], judged: Floats
) -> Evidence:
    """Return what the *own_texts* of pages, by the pages' numbers, tell of the blocks of a site.

    *judged* is for each block how probably it is content by what is known without them; where they
    contradict it throughout, they are not believed.
    """
    pages = count_pages(site.texts, site.originals)[site.texts]
    common = np.asarray(pages > max(COMMON_PAGES, COMMON_SHARE * site.distinct_pages))
    template = np.asarray(pages > max(COMMON_PAGES, TEMPLATE_SHARE * site.distinct_pages))
    by_source: dict[str, list[_Told]] = {}
    starts = np.searchsorted(site.pages, np.arange(len(site.contents) + 1)).tolist()
    for page, texts in own_texts.items():
        for own in texts:
            start, end = starts[page], starts[page + 1]
            if (told := _tell(site, page, start, end, own, common, template, judged)) is not None:
                by_source.setdefault(own.source, []).append(told)
    return _sum_up(site, by_source)


def _tell(
    site: SiteBlocks,
    page: int,
    start: int,
    end: int,
    own: OwnText,
    common: Bools,
    template: Bools,
    judged: Floats,
) -> _Told | None:
    found = align(site.contents[page], own)
    if found is None:
        return None
    here = slice(start, end)
    weights = site.weights[here] * found.told
    template_share = float(weights[template[here]].sum() / weights.sum())
    doubtful = shared = common[here]
    if own.source.startswith(MARKED):
        doubtful = shared | (judged[here] < 0.5)
    found = found._replace(
        told=found.told & ~doubtful, unclear=found.unclear | doubtful & found.told
    )
    if not found.told.any():
        return None
    chars, clear = site.chars[here], ~found.unclear
    slots = np.array(site.slots[start:end])
    long = found.told & (chars >= SENTENCE_CHARS / 2)
    beside = np.isin(slots, slots[long if long.any() else found.told]) & clear
    likely = (judged[here] >= 0.5) & (chars >= SENTENCE_CHARS) & clear & ~shared
    weights = site.weights[here] * found.told
    return _Told(
        page,
        start,
        own,
        found,
        _share(chars, found.told & beside, beside),
        _share(chars, found.told & likely, likely),
        float((weights * judged[here]).sum() / weights.sum()),
        template_share,
    )


def _share(chars: Floats, part: Bools, whole: Bools) -> float:
    total = chars[whole].sum()
    return float(chars[part].sum() / total) if total else 1.0


def _sum_up(site: SiteBlocks, by_source: Mapping[str, Sequence[_Told]]) -> Evidence:
    labels = np.full(len(site.chars), np.nan)
    pages: set[int] = set()
    whole: dict[int, OwnText] = {}
    reports = []
    for source, texts in by_source.items():
        is_whole = (
            median(told.slots_share for told in texts) >= WHOLE_SLOTS
            and median(told.prose_share for told in texts) >= WHOLE_PROSE
        )
        is_believed = (
            median(told.belief for told in texts) >= BELIEVED
            and median(told.template_share for told in texts) <= MAX_TEMPLATE
        )
        reports.append(SourceReport(source, len(texts), is_whole, is_believed))
        for told in texts if is_believed else ():
            is_all = (
                is_whole and told.slots_share >= WHOLE_PAGE and (told.prose_share >= WHOLE_PROSE)
            )
            # Of several sources the first that tells all.
            if told.page in whole or (told.page in pages and not is_all):
                continue
            pages.add(told.page)
            if is_all:
                whole[told.page] = told.own
            end = told.start + len(told.found.told)
            labels[told.start : end] = _labels(told.found, is_all)
    return Evidence(labels, frozenset(pages), whole, tuple(reports))


def _labels(found: Alignment, is_whole: bool) -> Floats:
    labels = np.full(len(found.told), 0.0 if is_whole else np.nan)
    labels[found.unclear] = np.nan
    labels[found.told] = 1.0
    if found.headline >= 0:
        labels[found.headline] = 1.0
    return labels
