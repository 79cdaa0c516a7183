"""Counts and logs the fields and the pages that cannot be made because of an error, and the pages
that have prose, but whose items have less than a sentence.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.models.summary import MIN_CHARS, main_slot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction
    from contentspider.site.own.quality import Quality

logger = logging.getLogger(__name__)

MAX_NAMED = 20  # pages whose addresses are kept
MAX_EXAMPLES = 3
# Some pages have prose only in their template: forms, galleries, results of a search. On 96 open
# sites these are at most 17 % of a site's pages. If more than this share of the pages lose their
# prose, the model is probably wrong.
MAX_SHARE = 0.3


@dataclass(slots=True)
class LostProse:
    """The number of *pages* that site models judged, how many of them lost their prose, and the
    addresses of the first of these as *examples*.
    """

    pages: int = 0
    lost: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, model: SiteModel, extraction: Extraction) -> None:
        """Count a page. A listing loses nothing: it may lack a text of its own."""
        self.pages += 1
        page = extraction.page
        is_short = len(extraction.text) < SENTENCE_CHARS and extraction.page_type != "listing"
        if is_short and main_slot(page, model.slot_of)[1] >= MIN_CHARS:
            self.add(0, 1, [page.url])

    def add(self, pages: int, lost: int, examples: list[str]) -> None:
        """Add counts and examples, for example from another process."""
        self.pages, self.lost = self.pages + pages, self.lost + lost
        self.examples += examples[: MAX_EXAMPLES - len(self.examples)]

    @property
    def is_large(self) -> bool:
        """Tell whether so many pages lost their prose that the model is probably wrong."""
        return self.lost > MAX_SHARE * self.pages

    def __str__(self) -> str:
        return (
            f"{self.lost:,} of {counted(self.pages, 'items')} with less than a sentence, though"
            f" the pages have prose, such as {', '.join(self.examples)}"
        )


class Failures:
    """Counts the failures of pages and of their fields, and logs them: each page, and the first
    failure of a field with each type of error. *files* has the files that are left out, each with
    the reason, and *guessed* those whose encoding was guessed, with the encoding. *ignored* counts
    other files of folders by their endings, and *lost* counts pages that lost their prose.
    *quality* has how good the models are that were learned, by their sites.

    *count* is called with the name of a count to add 1 to: ``fields/failed/NAME/ERROR``,
    ``pages/failed/ERROR``, ``items/unfilled`` and (for the first pages) ``items/unfilled/ADDRESS``.
    """

    def __init__(self, count: Callable[[str], object] = lambda name: None) -> None:
        self._count = count
        self.fields: Counter[str] = Counter()
        self.pages: Counter[str] = Counter()
        self.files: dict[Path, str] = {}
        self.guessed: dict[Path, str] = {}
        self.ignored: Counter[str] = Counter()
        self.lost = LostProse()
        self.quality: dict[str, Quality] = {}

    def note_field(self, name: str, page: Page, error: Exception) -> None:
        """Note that a field of a page's item stays empty because of an error."""
        kind = f"{name}/{type(error).__name__}"
        self.fields[kind] += 1
        self._count(f"fields/failed/{kind}")
        if self.fields[kind] == 1:
            logger.warning(
                "%s: the field %s cannot be made (%r), and is empty in its item, as it may be in"
                " others. The next crawl that reads the page makes it again",
                page.url,
                name,
                error,
            )

    def note_page(self, url: str, error: Exception, outcome: str) -> None:
        """Note that a page gave no item because of an error. *outcome* tells what becomes of it."""
        kind = type(error).__name__
        is_new = url not in self.pages
        if is_new and len(self.pages) < MAX_NAMED:
            self._count(f"items/unfilled/{url}")
        self.pages[url] += 1
        self._count(f"pages/failed/{kind}")
        self._count("items/unfilled")
        message = "%s: its item cannot be made (%r): %s. Please report this page"
        logger.error(message, url, error, outcome)
        logger.debug("%s: where the error came up", url, exc_info=error)
