"""The quality of a site's labels, by template: the F1 that was measured or predicted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from contentspider.ground.counts import counted

# A template with a lower predicted F1, and with this many pages, is doubtful.
DOUBTED_F1 = 0.93
DOUBTED_PAGES = 5
# With 90 % the loss (1 - F1) of a site is at most this many times the predicted loss
# (`contentspider.site.own.signs`).
LOSS_BOUND = 2.06


class WorstPage(NamedTuple):
    """A page with one of the lowest F1 of its site."""

    url: str
    f1: float


class TemplateQuality(NamedTuple):
    """The F1 of a template: of the *pages* of the sample with most of their text in one *slot*.

    It was measured on *told* pages with a whole own text, or predicted if *told* is 0. *advice*
    says what to look at on the pages *examples*, if the prediction is low.
    """

    slot: str
    pages: int
    f1: float
    told: int = 0
    advice: str = ""
    examples: tuple[str, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Tell whether the labels are likely wrong, without own texts to decide."""
        return self.pages >= DOUBTED_PAGES and not self.told and self.f1 < DOUBTED_F1

    def __str__(self) -> str:
        how = f"measured on {self.told}" if self.told else "predicted"
        text = (
            f"F1 {self.f1:.3f} ({how}): {counted(self.pages, 'pages')} with most text at"
            f" {self.slot}"
        )
        return f"{text}; {self.doubt}" if self.is_doubtful else text

    @property
    def doubt(self) -> str:
        """The advice for users, with example pages."""
        return f"{self.advice}, as on {' and '.join(self.examples)}"


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a site's labels: *f1* is the mean F1 of its templates, weighted by pages.

    *precision* and *recall* were measured on *pages* whole own texts, by votes that did not use
    them; *worst* are the three pages with the lowest F1. If there were too few own texts, *pages*
    is 0 and *f1* is a prediction, with a bound *at_least*. *templates* are the 20 templates with
    most pages.
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

    @property
    def at_least(self) -> float:
        """The F1 that a site with this prediction exceeds with 90 %; a measured F1 itself."""
        return self.f1 if self.is_measured else max(0.0, 1 - LOSS_BOUND * (1 - self.f1))

    def __str__(self) -> str:
        if not self.is_measured:
            return f"F1 {self.f1:.3f} (predicted; with 90 % at least {self.at_least:.3f})"
        return (
            f"F1 {self.f1:.3f}, precision {self.precision:.3f}, recall {self.recall:.3f}"
            f" (measured on {counted(self.pages, 'pages')} whose text the site publishes)"
        )

    def to_record(self) -> dict[str, object]:
        """Return the quality as JSON values, for `parse`."""
        lists = {
            "worst": [list(page) for page in self.worst],
            "templates": [
                template._asdict() | {"examples": list(template.examples)}
                for template in self.templates
            ],
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
            # Early versions wrote records without templates, or templates as lists.
            tuple(map(_template, record.get("templates", ()))),
        )


def _template(record: Any) -> TemplateQuality:
    if isinstance(record, list):
        slot, pages, f1, _, told, *_ = record
        return TemplateQuality(str(slot), int(pages), float(f1), int(told))
    return TemplateQuality(
        str(record["slot"]),
        int(record["pages"]),
        float(record["f1"]),
        int(record["told"]),
        str(record["advice"]),
        tuple(map(str, record["examples"])),
    )
