"""Finds sites whose pages state English, and are in another language."""

from __future__ import annotations

import logging
from itertools import compress
from typing import TYPE_CHECKING

from contentspider.page.words.language import detect_language, looks_english
from contentspider.site.models.record import text_sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Bools

logger = logging.getLogger(__name__)

# Fewer pages may be exceptions.
MIN_PAGES = 3


def is_english_wrong(pages: Sequence[Page], kept: Iterable[Bools]) -> bool:
    """Tell whether most *pages* that state English are in another language.

    Many themes state English for texts in any language. *kept* tells for the blocks of each page
    whether they are content. Pages are read by the extra ``language`` only if most of them lack the
    frequent words of English, since loading it takes a second.
    """
    samples = [
        text_sample(list(compress(page.content.blocks, is_kept.tolist())))
        for page, is_kept in zip(pages, kept, strict=True)
        if page.hints.language.startswith("en")
    ]
    samples = list(filter(None, samples))
    strange = [sample for sample in samples if not looks_english(sample)]
    if len(strange) < MIN_PAGES or 2 * len(strange) <= len(samples):
        return False
    try:
        languages = [detect_language(sample) for sample in strange]
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a library may raise anything, and costs no model
        logger.warning(
            "the language of pages that state English cannot be checked (%r): it counts as right",
            error,
        )
        return False
    foreign = sum(language not in ("", "en") for language in languages)
    return 2 * foreign > len(samples)
