"""Explains a site model in a few sentences: inside which elements blocks are content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.counts import counted
from contentspider.ground.errors import NotEnoughTextError
from contentspider.site.models.places import (
    Decisions,
    Keys,
    key_name,
    places_of,
    places_of_summary,
)
from contentspider.site.models.rule_search import learn, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.places import Choice, Ints, Places

# Two more lines and this many sentences fit on a screen.
MAX_SENTENCES = 12
# A sentence must raise the F1 of words by at least this.
MIN_GAIN = 0.0003
EXAMPLE_CHARS = 60
# The first text with this many characters is long enough for an example.
ENOUGH_CHARS = 25
MAX_EXAMPLES = 200  # texts among which an example is searched


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an explanation: blocks in the element *inside*, but not in one of *outside*,
    are content, or are not, as *is_content* tells.

    If *inside* is "", the sentence is about all blocks that no other sentence covers. *blocks* and
    *pages* count the blocks and their pages (0: the model was explained without pages);
    *example* is one of their texts.
    """

    inside: str
    outside: tuple[str, ...]
    is_content: bool
    blocks: int
    pages: int
    example: str

    def __str__(self) -> str:
        where = f"in {self.inside}" if self.inside else "anywhere else"
        unless = f", unless in {' or '.join(self.outside)}" if self.outside else ""
        pages = f" on {counted(self.pages, 'pages')}" if self.pages else ""
        kind = "content" if self.is_content else "boilerplate"
        return f"{where}{unless} -> {kind}, {counted(self.blocks, 'blocks')}{pages}: {self.example}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The *sentences* that explain a model by its decisions on *pages* pages (0: by its manifest).

    *agreement* is the share of words, from 0 to 1, about which the sentences and the model agree.
    """

    sentences: list[Sentence]
    pages: int
    agreement: float


def explain_model(model: SiteModel, pages: Sequence[Page]) -> Explanation:
    """Return an explanation of a model in at most `MAX_SENTENCES` sentences.

    Each sentence is one extraction rule that imitates the model's decisions on *pages*. If no page
    has text, the slots in the model's manifest are used instead. Raises `NotEnoughTextError` if
    the manifest lacks slots, too.
    """
    sample = sampled(pages)
    if sample:
        places = places_of(model, sample)
        texts = [block.text for page in sample for block in page.content.blocks]
    elif model.summary:
        places = places_of_summary(model)
        texts = [slot.example for slot in model.summary]
    else:
        raise NotEnoughTextError(
            f"{model.site or 'the site'}: the model's manifest has no slots; give pages with text"
        )
    keys = Keys(places.places, True)
    words = (places.words * places.counts).astype(float)
    rules = learn(keys, places, MIN_GAIN, MAX_SENTENCES - 1, words)
    state = Decisions(keys, len(places.places), rules)
    sentences = []
    for rule in range(-1, len(rules)):
        blocks = np.flatnonzero(state.rule[places.place] == rule)
        if len(blocks):
            pages_of_blocks = len(np.unique(places.page[blocks])) if sample else 0
            sentence = _sentence(state, rules, rule, places, blocks, pages_of_blocks, texts)
            sentences.append((-int(words[blocks].sum()), sentence))
    # Sentences about content come first, and then those about most words.
    sentences.sort(key=lambda entry: (not entry[1].is_content, entry[0]))
    agrees = state.keeps[places.place] == places.kept
    agreement = float(words[agrees].sum() / max(words.sum(), 1))
    return Explanation([sentence for _, sentence in sentences], len(sample), agreement)


def _sentence(
    state: Decisions,
    rules: Sequence[Choice],
    rule: int,
    places: Places,
    blocks: Ints,
    pages: int,
    texts: Sequence[str],
) -> Sentence:
    """Return the sentence for the *blocks* that a rule decides; rule -1 stands for no rule."""
    inside, keeps = "", False
    outside: tuple[str, ...] = ()
    if rule >= 0:
        key, keeps = rules[rule]
        inside = key_name(state.keys.keys[key])
        outside = _exceptions(state, rules, rule)
    block_count = int(places.counts[blocks].sum())
    example = _example(places, blocks, keeps, texts)
    return Sentence(inside, outside, keeps, block_count, pages, example)


def _exceptions(state: Decisions, rules: Sequence[Choice], rule: int) -> tuple[str, ...]:
    """Return the elements inside of a rule's element about which another rule decides otherwise."""
    key, keeps = rules[rule]
    matching = state.keys.matches(key)[0]
    opposite = matching[state.keeps[matching] != keeps]
    deciding_rules = np.unique(state.rule[opposite]).tolist()
    return tuple(
        key_name(state.keys.keys[rules[other][0]]) for other in deciding_rules if other >= 0
    )


def _example(places: Places, blocks: Ints, keeps: bool, texts: Sequence[str]) -> str:
    """Return the text of one of *blocks*, preferably of one where model and rule agree."""
    typical = blocks[places.kept[blocks] == keeps]
    candidates = typical if len(typical) else blocks
    examples = [texts[block] for block in candidates[:MAX_EXAMPLES].tolist()]
    long_examples = (text for text in examples if len(text) >= ENOUGH_CHARS)
    example = " ".join(next(long_examples, examples[0]).split())
    return example if len(example) <= EXAMPLE_CHARS else example[: EXAMPLE_CHARS - 1] + "…"
