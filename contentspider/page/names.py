"""What the tags, ids and classes above a block call it: features of a selector path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.phrases import read_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Words that designers use for the parts of a page, whatever the language of its text. After the
# lists of boilerplate names in Zhou and Mashuq and in the readability family, grouped by what they
# mean.
NAME_WORDS: dict[str, list[str]] = read_data("names.json")
NAME_GROUPS: list[str] = list(NAME_WORDS)
GROUPS_OF: dict[str, list[int]] = {}
for _index, _words in enumerate(NAME_WORDS.values()):
    for _word in _words:
        GROUPS_OF.setdefault(_word, []).append(_index)

HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
LEAF_TAGS = (
    "p li td th h1 h2 h3 h4 h5 h6 div pre blockquote dt dd figcaption caption button section"
    " article main center address form other".split()
)
ANCESTOR_TAGS = (
    "li ul ol table td nav footer header aside article main section form figure blockquote dl pre"
    " details button center dialog label"
).split()

# How near to the block an element is whose names are read: itself, the two above it, and the rest.
NEARNESS = ("own", "near", "far")
PATH_FEATURES = [
    *(f"tag_{tag}" for tag in LEAF_TAGS),
    *(f"inside_{tag}" for tag in ANCESTOR_TAGS),
    *(f"{near}_{name}" for near in NEARNESS for name in NAME_GROUPS),
]

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
STEP_TAG = re.compile(r"[^#.\[]+")
STEP_PARTS = re.compile(r"[#.\[]([^#.\[\]]+)")


def step_tag(step: str) -> str:
    """Return the tag of one step of a selector path."""
    found = STEP_TAG.match(step)
    return found[0] if found else ""


def name_groups(step: str) -> set[int]:
    """Return the indexes in `NAME_GROUPS` of what the ids, classes and roles of *step* say."""
    groups: set[int] = set()
    for name in STEP_PARTS.findall(step):
        lower = name.lower()
        groups.update(GROUPS_OF.get(lower, ()))
        for word in WORD.findall(name):
            groups.update(GROUPS_OF.get(word.lower(), ()))
    return groups


# Paths, and steps, whose features are kept: ids that name a page each would fill the memory.
MAX_KEPT = 20_000


class PathNames:
    """Feature rows of selector paths, computed once a path."""

    def __init__(self) -> None:
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._steps: dict[str, set[int]] = {}

    def _groups(self, step: str) -> set[int]:
        groups = self._steps.get(step)
        if groups is None:
            groups = self._steps[step] = name_groups(step)
        return groups

    def row(self, path: str) -> NDArray[np.float32]:
        """Return the `PATH_FEATURES` of the path: its leaf tag, the tags above, the names by
        nearness.
        """
        row = self._rows.get(path)
        if row is None:
            if len(self._rows) >= MAX_KEPT:
                self._rows.clear()
                self._steps.clear()
            row = self._rows[path] = self._compute(path)
        return row

    def _compute(self, path: str) -> NDArray[np.float32]:
        steps = path.split("/")
        tags = [step_tag(step) for step in steps]
        leaf = np.zeros(len(LEAF_TAGS), dtype=np.float32)
        leaf[LEAF_TAGS.index(tags[-1]) if tags[-1] in LEAF_TAGS else -1] = 1
        above = np.array([tags[:-1].count(tag) for tag in ANCESTOR_TAGS], dtype=np.float32)
        called = np.zeros((len(NEARNESS), len(NAME_GROUPS)), dtype=np.float32)
        for distance, step in enumerate(reversed(steps)):
            near = 0 if distance == 0 else 1 if distance <= 2 else 2
            for group in self._groups(step):
                # Far names carry how far: the innermost says most.
                if not called[near, group]:
                    called[near, group] = 1 if near < 2 else 1 / (distance - 2)
        return np.concatenate([leaf, above, called.ravel()])
