"""Finds sites whose pages state a language, and are in another one."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from itertools import compress
from typing import TYPE_CHECKING

from contentspider.page.words.language import (
    are_close,
    detect_language,
    looks_english,
    script_language,
)
from contentspider.site.models.record import text_sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Bools

logger = logging.getLogger(__name__)

# Fewer pages may be exceptions.
MIN_PAGES = 3
# More pages teach no more.
MAX_PAGES = 50


def wrong_languages(pages: Sequence[Page], kept: Iterable[Bools]) -> frozenset[str]:
    """Return the languages that most *pages* which state them are not in.

    Many themes state one language for texts in any. *kept* tells for the blocks of each page
    whether they are content. The extra ``language`` reads pages only if most of them may be in
    another language, since loading it takes a second: pages that state English, and lack its
    frequent words, and pages that state another language in a script of several languages.
    """
    samples: defaultdict[str, list[str]] = defaultdict(list)
    for page, is_kept in zip(pages, kept, strict=True):
        stated = page.hints.language.partition("-")[0]
        if stated and len(samples[stated]) < MAX_PAGES:
            sample = text_sample(list(compress(page.content.blocks, is_kept.tolist())))
            samples[stated] += filter(None, [sample])
    return frozenset(stated for stated, texts in samples.items() if _is_wrong(stated, texts))


def _is_wrong(stated: str, samples: Sequence[str]) -> bool:
    """Tell whether most texts are in one other language than the *stated* one."""
    strange = [sample for sample in samples if _may_be_another(stated, sample)]
    if len(strange) < MIN_PAGES or 2 * len(strange) <= len(samples):
        return False
    try:
        languages = Counter(map(detect_language, strange))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a library may raise anything, and costs no model
        logger.warning(
            "the language of pages that state %r cannot be checked (%r): it counts as right",
            stated,
            error,
        )
        return False
    del languages[""]
    foreign = sum(count for tag, count in languages.items() if not are_close(tag, stated))
    return 2 * foreign > len(samples)


def _may_be_another(stated: str, sample: str) -> bool:
    if stated == "en":
        return not looks_english(sample)
    return not script_language(sample)  # a script of one language needs no other pages
