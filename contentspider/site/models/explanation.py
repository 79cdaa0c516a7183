"""A model as a few sentences: inside which tags, ids and classes a block is content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.errors import NotEnoughTextError
from contentspider.site.models.places import (
    Keys,
    State,
    key_name,
    places_of,
    places_of_summary,
)
from contentspider.site.models.rule_search import learn, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.places import Ints, Places

# With two lines above them a screen has room for so many.
MAX_SENTENCES = 12
# What a sentence must add to the F1 of words.
MIN_GAIN = 0.0003
EXAMPLE_CHARS = 60
# An example of so many characters shows what stands there.
ENOUGH_CHARS = 25


@dataclass(frozen=True, slots=True)
class Sentence:
    """Blocks inside of *inside* (empty: all that no other sentence is of), but not of *outside*,
    are content, or are not: *blocks* on *pages* pages (0: no pages were at hand), with an example.
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
        pages = f" on {self.pages:,} pages" if self.pages else ""
        kind = "content" if self.is_content else "noise"
        return f"{where}{unless} -> {kind}, {self.blocks:,} blocks{pages}: {self.example}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """*sentences* on so many *pages* (0: the manifest), and how far they agree with the model."""

    sentences: list[Sentence]
    pages: int
    agreement: float


def explain_model(model: SiteModel, pages: Sequence[Page]) -> Explanation:
    """Return a model as at most `MAX_SENTENCES` sentences, by what it decides on *pages*, or, if
    none has text, by its manifest. They are its extraction rules, one sentence each.

    Raises `NotEnoughTextError` if neither says anything.
    """
    given = sampled(pages)
    if given:
        places = places_of(model, given)
        texts = [block.text for page in given for block in page.content.blocks]
    elif model.summary:
        places = places_of_summary(model)
        texts = [slot.example for slot in model.summary]
    else:
        raise NotEnoughTextError(f"{model.site or 'the site'}: the model says nothing of its slots")
    keys = Keys(places.places, True)
    words = (places.words * places.counts).astype(float)
    chosen = learn(keys, places, MIN_GAIN, MAX_SENTENCES - 1, words)
    state = State(keys, len(places.places), chosen)
    found = []
    for rule in range(-1, len(chosen)):
        blocks = np.flatnonzero(state.rule[places.place] == rule)
        if len(blocks):
            key, keeps = chosen[rule] if rule >= 0 else (-1, False)
            sentence = Sentence(
                key_name(keys.keys[key]) if key >= 0 else "",
                _exceptions(keys, chosen, state, rule) if key >= 0 else (),
                keeps,
                int(places.counts[blocks].sum()),
                len(np.unique(places.page[blocks])) if given else 0,
                _example(places, blocks, keeps, texts),
            )
            found.append((not keeps, -int(words[blocks].sum()), sentence))
    found.sort(key=lambda entry: entry[:2])
    agreed = state.keeps[places.place] == places.kept
    agreement = float(words[agreed].sum() / max(words.sum(), 1))
    return Explanation([sentence for *_, sentence in found], len(given), agreement)


def _exceptions(
    keys: Keys, chosen: Sequence[tuple[int, bool]], state: State, rule: int
) -> tuple[str, ...]:
    """Return the names of what is decided otherwise inside of what a rule names."""
    key, keeps = chosen[rule]
    where = keys.matches(key)[0]
    others = np.unique(state.rule[where[state.keeps[where] != keeps]]).tolist()
    return tuple(key_name(keys.keys[chosen[other][0]]) for other in others if other >= 0)


def _example(places: Places, blocks: Ints, keeps: bool, texts: Sequence[str]) -> str:
    typical = blocks[places.kept[blocks] == keeps]
    found = [texts[block] for block in (typical if len(typical) else blocks)[:200].tolist()]
    example = " ".join(next((t for t in found if len(t) >= ENOUGH_CHARS), found[0]).split())
    return example if len(example) <= EXAMPLE_CHARS else example[: EXAMPLE_CHARS - 1] + "…"
