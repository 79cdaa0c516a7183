"""How good a site's labels are, by template: measured on whole own texts, else predicted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

# A template below this agreement is doubtful if it has so many pages. On open sites 6 of 15 such
# templates have an F1 below 0.9, and 7 of 236 others.
DOUBTED_AGREEMENT = 0.5
DOUBTED_PAGES = 5


def difference(lost: float) -> str:
    """Say how what a site keeps of doubtful pages differs from what each of them, judged alone,
    would keep, by the share of the latter that is *lost*, 0 to 1.
    """
    if lost < 0.5:
        return "the site keeps much that each page alone would drop"
    return f"the site drops {lost:.0%} of what each page alone would keep"


class WorstPage(NamedTuple):
    """A page with a low F1."""

    url: str
    f1: float


class TemplateQuality(NamedTuple):
    """The F1 of a template, that is of the *pages* of the sample whose text is mostly at one
    *slot*: measured on so many *told* pages, or predicted from the agreement (told is 0).

    The *agreement* is the F1, by characters, of what the site keeps of these pages and what each
    page, judged alone, would keep. Where it is low, one of the two is wrong. *lost* is the share of
    the latter that the site drops (0 if an earlier version did not tell).
    """

    slot: str
    pages: int
    f1: float
    agreement: float
    told: int = 0
    lost: float = 0.0

    @property
    def is_doubtful(self) -> bool:
        """Tell whether the site and its pages disagree, and no own text says which is right."""
        is_common = self.pages >= DOUBTED_PAGES
        return is_common and not self.told and self.agreement < DOUBTED_AGREEMENT

    def __str__(self) -> str:
        how = f"measured on {self.told}" if self.told else "predicted"
        said = (
            f"F1 {self.f1:.3f} ({how}; {self.agreement:.0%} as each page alone): {self.pages} pages"
            f" with most text at {self.slot}"
        )
        return f"{said}; {difference(self.lost)}" if self.is_doubtful else said


@dataclass(frozen=True, slots=True)
class Quality:
    """F1 of what is kept of a site's pages: the mean of its templates' by their pages.

    *precision* and *recall* are measured on so many *pages* against whole own texts, with half of
    these held back, in turn if they are few; *worst* are three of them. A prediction has 0 pages.
    *templates* are the 20 with most pages.
    """

    f1: float
    precision: float = 0.0
    recall: float = 0.0
    pages: int = 0
    worst: tuple[WorstPage, ...] = ()
    templates: tuple[TemplateQuality, ...] = ()

    @property
    def doubtful(self) -> list[TemplateQuality]:
        """Return the doubtful templates, those with most pages first."""
        return [template for template in self.templates if template.is_doubtful]

    @property
    def is_measured(self) -> bool:
        """Tell whether it is no prediction."""
        return self.pages > 0

    def __str__(self) -> str:
        if not self.is_measured:
            return f"F1 {self.f1:.3f} (predicted)"
        return (
            f"F1 {self.f1:.3f}, precision {self.precision:.3f}, recall {self.recall:.3f}"
            f" (measured on {self.pages} pages of which the site publishes the text)"
        )

    def to_record(self) -> dict[str, object]:
        """Return it as JSON values, for `parse`."""
        lists = {
            "worst": [list(page) for page in self.worst],
            "templates": [list(template) for template in self.templates],
        }
        return asdict(self) | lists

    @classmethod
    def parse(cls, record: Any) -> Quality:
        """Return what `to_record` made a record of; raises ValueError and its like."""
        return cls(
            float(record["f1"]),
            float(record["precision"]),
            float(record["recall"]),
            int(record["pages"]),
            tuple(WorstPage(str(url), float(f1)) for url, f1 in record["worst"]),
            # Earlier versions did not tell templates apart.
            tuple(
                TemplateQuality(
                    str(slot), int(pages), float(f1), float(agreement), int(told), *map(float, lost)
                )
                for slot, pages, f1, agreement, told, *lost in record.get("templates", ())
            ),
        )
