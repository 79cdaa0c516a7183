"""The quality of a site's labels, by template: the F1 that was measured or predicted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

# A template with an agreement below this, and with this many pages, is doubtful. On open sites 6 of
# 15 doubtful templates have an F1 below 0.9, but only 7 of 236 others.
DOUBTED_AGREEMENT = 0.5
DOUBTED_PAGES = 5


def difference(lost: float) -> str:
    """Describe in words how a site model and its pages, each judged alone, disagree.

    *lost* is the share, from 0 to 1, of the text that the pages alone would keep and the site model
    drops.
    """
    if lost < 0.5:
        return "the site keeps much that each page alone would drop"
    return f"the site drops {lost:.0%} of what each page alone would keep"


class WorstPage(NamedTuple):
    """A page with one of the lowest F1 of its site."""

    url: str
    f1: float


class TemplateQuality(NamedTuple):
    """The F1 of a template: of the *pages* of the sample with most of their text in one *slot*.
    It was measured on *told* pages with a whole own text, or predicted from the agreement if *told*
    is 0.

    The *agreement* is the F1, by characters, between the text that the site model keeps and the
    text that each page would keep if it were judged alone. If it is low, one of the two is wrong.
    *lost* is the share of the latter text that the site model drops; 0 in models of early versions,
    which did not record it.
    """

    slot: str
    pages: int
    f1: float
    agreement: float
    told: int = 0
    lost: float = 0.0

    @property
    def is_doubtful(self) -> bool:
        """Tell whether the site model and its pages disagree, without own texts to decide."""
        is_common = self.pages >= DOUBTED_PAGES
        return is_common and not self.told and self.agreement < DOUBTED_AGREEMENT

    def __str__(self) -> str:
        how = f"measured on {self.told}" if self.told else "predicted"
        text = (
            f"F1 {self.f1:.3f} ({how}; {self.agreement:.0%} as each page alone): {self.pages} pages"
            f" with most text at {self.slot}"
        )
        return f"{text}; {difference(self.lost)}" if self.is_doubtful else text


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a site's labels: *f1* is the mean F1 of its templates, weighted by pages.

    *precision* and *recall* were measured on *pages* whole own texts, by votes that did not use
    them; *worst* are the three pages with the lowest F1. If there were too few own texts, *pages*
    is 0 and *f1* is a prediction. *templates* are the 20 templates with most pages.
    """

    f1: float
    precision: float = 0.0
    recall: float = 0.0
    pages: int = 0
    worst: tuple[WorstPage, ...] = ()
    templates: tuple[TemplateQuality, ...] = ()

    @property
    def doubtful(self) -> list[TemplateQuality]:
        """Return the doubtful templates; templates with most pages come first."""
        return [template for template in self.templates if template.is_doubtful]

    @property
    def is_measured(self) -> bool:
        """Tell whether the F1 was measured, not predicted."""
        return self.pages > 0

    def __str__(self) -> str:
        if not self.is_measured:
            return f"F1 {self.f1:.3f} (predicted)"
        return (
            f"F1 {self.f1:.3f}, precision {self.precision:.3f}, recall {self.recall:.3f}"
            f" (measured on {self.pages} pages whose text the site publishes)"
        )

    def to_record(self) -> dict[str, object]:
        """Return the quality as JSON values, for `parse`."""
        lists = {
            "worst": [list(page) for page in self.worst],
            "templates": [list(template) for template in self.templates],
        }
        return asdict(self) | lists

    @classmethod
    def parse(cls, record: Any) -> Quality:
        """Return the quality of a record; a damaged record raises an error of `DAMAGE`."""
        return cls(
            float(record["f1"]),
            float(record["precision"]),
            float(record["recall"]),
            int(record["pages"]),
            tuple(WorstPage(str(url), float(f1)) for url, f1 in record["worst"]),
            # Early versions wrote records without templates.
            tuple(
                TemplateQuality(
                    str(slot),
                    int(pages),
                    float(f1),
                    float(agreement),
                    int(measured_pages),
                    *map(float, lost),
                )
                for slot, pages, f1, agreement, measured_pages, *lost in record.get("templates", ())
            ),
        )
