"""What the tags, ids and classes above a block call it: features of a selector path."""

from __future__ import annotations

from contentspider.page.words import _names
from contentspider.page.words._names import step_tag
from contentspider.page.words.phrases import read_data

__all__ = ["HEADINGS", "NAME_GROUPS", "PATH_FEATURES", "name_groups", "name_rows", "step_tag"]

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

# Paths, and steps, whose features are kept: ids that name a page each would fill the memory.
MAX_KEPT = 20_000


def name_groups(step: str) -> set[int]:
    """Return the indexes in `NAME_GROUPS` of what the ids, classes and roles of *step* say."""
    return _names.name_groups(step, GROUPS_OF)


def name_rows() -> _names.NameRows:
    """Return what fills in the `PATH_FEATURES` of blocks: the leaf tag of their paths, the tags
    above, the names by nearness.
    """
    return _names.NameRows(LEAF_TAGS, ANCESTOR_TAGS, len(NAME_GROUPS), GROUPS_OF, MAX_KEPT)
