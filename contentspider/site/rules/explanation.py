"""A model as a few sentences: which tags, ids and classes around a block say that it is content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.ground.errors import NotEnoughTextError
from contentspider.site.rules.places import Keys, places_of, places_of_summary
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.rules.places import Key, Numbers, Places

# With two lines above them a screen has room for so many.
MAX_SENTENCES = 12
# As many pages as rules are learned from.
MAX_PAGES = 80
# Names around a smaller share of a site's words explain nothing.
MIN_SHARE = 0.0005
EXAMPLE_CHARS = 60
# An example of so many characters shows what stands there.
ENOUGH_CHARS = 25


@dataclass(frozen=True, slots=True)
class Sentence:
    """Blocks that are inside of all of *inside* and of none of *outside* are content, or are not;
    so many *blocks* there are on so many *pages* (0: no pages were at hand), with an example.
    """

    inside: tuple[str, ...]
    outside: tuple[str, ...]
    is_content: bool
    blocks: int
    pages: int
    example: str

    def __str__(self) -> str:
        where = f"in {' and in '.join(self.inside)}" if self.inside else "anywhere"
        unless = f", unless in {' or '.join(self.outside)}" if self.outside else ""
        pages = f" on {self.pages:,} pages" if self.pages else ""
        return (
            f"{where}{unless} -> {'content' if self.is_content else 'noise'}, {self.blocks:,}"
            f" blocks{pages}: {self.example}"
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """The *sentences*, those of content first, on how many *pages* they stand (0: on the model's
    manifest), and on what share of the words they say what the model decides.
    """

    sentences: list[Sentence]
    pages: int
    agreement: float


def explain_model(model: SiteModel, pages: Sequence[Page]) -> Explanation:
    """Return a model as at most `MAX_SENTENCES` sentences, by what it decides on *pages* (of more
    than `MAX_PAGES` so many), or, if there are none, by its manifest.

    Raises `NotEnoughTextError` if neither says anything.
    """
    given = sorted(
        (page for page in pages if page.content.blocks), key=lambda page: sample_order(page.url)
    )[:MAX_PAGES]
    if given:
        places = places_of(model, given)
        texts = [block.text for page in given for block in page.content.blocks]
    elif model.summary:
        places = places_of_summary(model)
        texts = [slot.example for slot in model.summary]
    else:
        raise NotEnoughTextError(f"{model.site or 'the site'}: the model says nothing of its slots")
    leaves = _leaves(places)
    order = sorted(
        range(len(leaves)),
        key=lambda leaf: (not leaves[leaf].is_content, -leaves[leaf].words(places)),
    )
    sentences = [leaves[leaf].sentence(places, texts, bool(given)) for leaf in order]
    words = places.words * places.counts
    said = np.zeros(len(words), dtype=bool)
    for leaf in leaves:
        said |= leaf.has[places.place] & leaf.is_content
    agreement = float(words[said == places.kept].sum() / max(words.sum(), 1))
    return Explanation(sentences, len(given), agreement)


@dataclass(slots=True)
class _Leaf:
    """Places (*has*) that are *inside* and *outside* of elements, and what they are."""

    inside: list[str]
    outside: list[str]
    has: NDArray[np.bool_]
    is_content: bool

    def words(self, places: Places) -> int:
        return int((places.words * places.counts)[self.has[places.place]].sum())

    def sentence(self, places: Places, texts: Sequence[str], has_pages: bool) -> Sentence:
        blocks = np.flatnonzero(self.has[places.place])
        usual = blocks[places.kept[blocks] == self.is_content]
        example = ""
        for block in (usual if len(usual) else blocks)[:200].tolist():
            if len(example) < ENOUGH_CHARS <= len(texts[block]) or not example:
                example = texts[block]
        example = " ".join(example.split())
        if len(example) > EXAMPLE_CHARS:
            example = example[: EXAMPLE_CHARS - 1] + "…"
        return Sentence(
            tuple(dict.fromkeys(self.inside)),
            tuple(dict.fromkeys(self.outside)),
            self.is_content,
            int(places.counts[blocks].sum()),
            len(np.unique(places.page[blocks])) if has_pages else 0,
            example,
        )


def _leaves(places: Places) -> list[_Leaf]:
    """Return the leaves of an entropy tree over the names around the places."""
    # Imported here: it takes a second.
    from sklearn.tree import DecisionTreeClassifier

    count = len(places.places)
    words = (places.words * places.counts).astype(float)
    content: Numbers = np.bincount(places.place, words * places.kept, minlength=count)
    noise: Numbers = np.bincount(places.place, words * ~places.kept, minlength=count)
    keys = Keys(places.places, True)
    around = np.add.reduceat((content + noise)[keys.place], keys.starts[:-1])
    columns: dict[bytes, int] = {}
    wide = np.flatnonzero(around >= MIN_SHARE * max(words.sum(), 1))
    for key in wide[np.lexsort((~keys.named[wide], keys.particular[wide]))].tolist():
        # Of what stands around the same places the plainest, and a name rather than a tag.
        columns.setdefault(np.sort(keys.matches(key)[0]).tobytes(), key)
    chosen = list(columns.values())
    table = np.zeros((count, len(chosen)), dtype=np.float32)
    for column, key in enumerate(chosen):
        table[keys.matches(key)[0], column] = 1
    tree = DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=MAX_SENTENCES, random_state=0
    ).fit(
        np.vstack([table, table]),
        np.repeat([1, 0], count),
        sample_weight=np.concatenate([content, noise]) + 1e-9,
    )
    names = [key_name(keys.keys[key]) for key in chosen]
    return _read(tree.tree_, table, names, content - noise)


def _read(
    tree: Any, table: NDArray[np.float32], names: list[str], sure: NDArray[np.number[Any]]
) -> list[_Leaf]:
    """Return the leaves of a tree; two that say the same and come of one question are one."""
    present = table > 0.5

    def read(node: int, has: NDArray[np.bool_], asked: list[tuple[int, bool]]) -> list[_Leaf]:
        found = []
        if tree.children_left[node] >= 0:
            column = int(tree.feature[node])
            is_in = present[:, column]
            without = read(tree.children_left[node], has & ~is_in, [*asked, (column, False)])
            within = read(tree.children_right[node], has & is_in, [*asked, (column, True)])
            found = without + within
        if len({leaf.is_content for leaf in found}) > 1 or len(found) > 2:
            return found
        needed = _needed(asked, present, has)
        inside = [names[column] for column, is_in in needed if is_in]
        outside = [names[column] for column, is_in in needed if not is_in]
        return [_Leaf(inside, outside, has, bool(sure[has].sum() > 0))]

    return read(0, np.ones(len(table), dtype=bool), [])


def _needed(
    asked: list[tuple[int, bool]], present: NDArray[np.bool_], has: NDArray[np.bool_]
) -> list[tuple[int, bool]]:
    """Return the conditions without those that follow from the others."""
    for condition in list(asked):
        rest = [other for other in asked if other != condition]
        same = np.ones_like(has)
        for column, is_in in rest:
            same &= present[:, column] == is_in
        if (same == has).all():
            asked = rest
    return asked


def key_name(key: Key) -> str:
    """Return what a key is called: ``main > div.a``, ``td:2``."""
    element, parent, place = key
    above = f"{parent} > " if parent else ""
    return f"{above}{element}{f':{place}' if place else ''}"
