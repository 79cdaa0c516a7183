"""Signs that the labels of a template are wrong, and the F1 that they predict.

The labels come from a judge of single pages (`contentspider.site.judge.prior`) and a vote of all
pages. Where both share an error they agree, so that agreement alone says nothing. These signs look
at the labels themselves.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from contentspider.site.vote.blocks import count_pages, repeat_shares

if TYPE_CHECKING:
    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.vote.blocks import SiteBlocks

# A block whose probability lies between these is undecided.
UNDECIDED = 0.2, 0.8
# A text on more than this share of its spot's other pages is repeated.
REPEATED = 0.1
# A template with hardly any kept text has at most this many undecided characters for each.
MAX_UNDECIDED = 3.0
LEAST, MOST = 0.002, 0.6  # of the predicted loss


class Sign(NamedTuple):
    """A sign: its *weight* in the logarithm of the loss, its usual value (*usually*), whether its
    *logarithm* counts, and the *advice* for users.
    """

    weight: float
    usually: float
    logarithm: bool
    advice: str

    def loss(self, value: float) -> float:
        """Return the sign's term in the logarithm of the loss."""
        return self.weight * (log(value + 0.01) if self.logarithm else value)


# Fitted on 1,072 runs of 134 open sites (samples of ten pages, numbered class names, judges with
# random errors by slot): the loss is 1 - F1 (docs/own-texts.md, "Quality by template").
CONSTANT = -1.664
SIGNS = {
    "undecided": Sign(0.551, 0.08, True, "many texts are as likely content as not"),
    "left_out": Sign(0.237, 0.01, True, "prose of single pages is dropped"),
    "repeated": Sign(1.786, 0.01, False, "texts that many pages repeat are kept"),
    "added": Sign(0.515, 0.01, False, "texts that each page alone would drop are kept"),
}


class Signs(NamedTuple):
    """The signs of a template.

    - *undecided*: characters of undecided blocks for each kept character.
    - *left_out*: the share of the prose that a single page has, which is dropped.
    - *repeated*: the share of the kept text that more than `REPEATED` of the pages repeat.
    - *added*: the share of the kept text that its page alone would drop.
    """

    undecided: float
    left_out: float
    repeated: float
    added: float

    @property
    def f1(self) -> float:
        """The F1 that the signs predict."""
        signs = zip(SIGNS.values(), self, strict=True)
        return 1 - min(max(exp(CONSTANT + sum(s.loss(value) for s, value in signs)), LEAST), MOST)

    @property
    def advice(self) -> str:
        """What to look at: the sign that exceeds its usual value most."""
        signs = zip(SIGNS.values(), self, strict=True)
        return max((s.loss(value) - s.loss(s.usually), s.advice) for s, value in signs)[1]


def read_signs(site: SiteBlocks, blocks: Bools, probabilities: Floats, kept_alone: Bools) -> Signs:
    """Return the signs of the template that has these *blocks*.

    *kept_alone* tells which blocks their page keeps if it is judged alone.
    """
    low, high = UNDECIDED
    is_kept = blocks & (probabilities > 0.5)
    prose = blocks & site.is_prose & (count_pages(site.texts, site.sources)[site.texts] < 2)

    def chars(chosen: Bools) -> float:
        return float(site.chars[chosen].sum())

    kept = max(chars(is_kept), 1.0)
    undecided = chars(blocks & (probabilities > low) & (probabilities < high))
    return Signs(
        undecided=min(undecided / kept, MAX_UNDECIDED),
        left_out=chars(prose & ~is_kept) / max(chars(prose), 1.0),
        repeated=chars(is_kept & (repeat_shares(site) > REPEATED)) / kept,
        added=chars(is_kept & ~kept_alone) / kept,
    )
