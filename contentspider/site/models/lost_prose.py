"""Counts pages that have prose, but whose items have less than a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.models.summary import MIN_CHARS, main_slot

if TYPE_CHECKING:
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction

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
            f"{self.lost:,} of {self.pages:,} items have less than a sentence, though their pages"
            f" have prose, such as {', '.join(self.examples)}"
        )
