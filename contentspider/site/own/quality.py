"""How good a site's labels are: measured on whole own texts, else predicted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import compress
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contentspider.page.write.output import to_text
from contentspider.site.scores import text_score

if TYPE_CHECKING:
    from contentspider.site.arrays import Floats
    from contentspider.site.own.vote import OwnVote
    from contentspider.site.vote.blocks import SiteBlocks


# Half of the pages are held back; the others must be enough to contradict the vote
# (`contentspider.site.own.vote.SURE_PAGES`).
MIN_PAGES = 6
WORST = 3
# Of so many pages one half is judged: ten show enough, and each half costs a vote of the site.
MANY_PAGES = 20


class WorstPage(NamedTuple):
    """A page with a low F1."""

    url: str
    f1: float


@dataclass(frozen=True, slots=True)
class Quality:
    """Precision, recall and F1 of what is kept of a site's pages, the mean over pages.

    Measured on so many *pages* against whole own texts, with half of these held back, in turn if
    they are few; *worst* are three of them. A prediction has 0 pages, and only an F1.
    """

    f1: float
    precision: float = 0.0
    recall: float = 0.0
    pages: int = 0
    worst: tuple[WorstPage, ...] = ()

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
        return asdict(self) | {"worst": [list(page) for page in self.worst]}

    @classmethod
    def parse(cls, record: Any) -> Quality:
        """Return what `to_record` made a record of; raises ValueError and its like."""
        return cls(
            float(record["f1"]),
            float(record["precision"]),
            float(record["recall"]),
            int(record["pages"]),
            tuple(WorstPage(str(url), float(f1)) for url, f1 in record["worst"]),
        )


def measure(vote: OwnVote) -> Quality | None:
    """Return how well whole own texts predict each other's pages; None if there are too few."""
    evidence, site = vote.evidence, vote.site
    pages = sorted(evidence.whole)
    if len(pages) < MIN_PAGES:
        return None
    starts = np.searchsorted(site.pages, np.arange(len(vote.sample) + 1)).tolist()
    scores = {}
    halves = [pages[::2], pages[1::2]]
    for half in halves if len(pages) < MANY_PAGES else halves[:1]:
        found = vote.probabilities(evidence.without(frozenset(half), site))
        for page in half:
            kept = found[starts[page] : starts[page + 1]] > 0.5
            text = to_text(list(compress(site.contents[page].blocks, kept.tolist())))
            own = evidence.whole[page]
            scores[page] = text_score(text, own.text, own.title)
    columns = zip(*scores.values(), strict=True)
    precision, recall, f1 = (round(mean(column), 4) for column in columns)
    worst = sorted(scores, key=lambda page: (scores[page].f1, page))[:WORST]
    named = tuple(WorstPage(vote.sample[page].url, round(scores[page].f1, 4)) for page in worst)
    return Quality(f1, precision, recall, len(scores), named)


def predict(site: SiteBlocks, probabilities: Floats) -> Quality:
    """Return the F1 that the probabilities of a site's blocks let expect."""
    chars = site.chars
    kept = probabilities > 0.5
    right = float((chars * probabilities)[kept].sum())
    total = float(chars[kept].sum() + (chars * probabilities).sum())
    return Quality(round(2 * right / total if total else 0.0, 4))
