"""Slots of a template: selector paths with only the names that the template uses.

Names that few pages use are left out, and so are classes with the topics of a post.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.ground.pickles import pickled
from contentspider.page.words.names import step_tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from contentspider.ground.pickles import Pickled

NAME = re.compile(r"[#.\[][^#.\[]+")
# A name on a smaller share of the pages belongs to a page, a post or a category, not to the
# template.
MIN_NAME_SHARE = 0.05
# The classes that WordPress (`post_class`) gives a post: its type, and its categories and tags.
POST = re.compile(r"\.(?:hentry|type-)")
TERM = re.compile(r"\.(?:product_)?(?:category|cat|tag)-")
MAX_STEPS = 50_000
# A text that recurs on more than this share of the pages, and on at least this many other pages,
# belongs to the template.
SURE_SHARE = 0.7
TEMPLATE_PAGES = 4


@lru_cache(maxsize=20_000)
def tag_path(path: str) -> str:
    """Return the tag path of a selector path: the path without ids, classes and roles."""
    return "/".join(map(step_tag, path.split("/")))


def step_names(step: str) -> list[str]:
    """Return the names in one step of a selector path: ``#id``, ``.class``, ``[role]``."""
    return NAME.findall(step)


class SlotTable:
    """Maps selector paths to a site's slots.

    *name_pages* has the number of pages that use each name, *pages* the number of all pages.
    """

    def __init__(self, name_pages: Mapping[str, int], pages: int) -> None:
        self.kept = frozenset(
            name
            for name, count in name_pages.items()
            if count >= max(2, MIN_NAME_SHARE * pages) or pages == 1
        )
        self._steps: dict[str, str] = {}

    @classmethod
    def of_names(cls, names: Iterable[str]) -> SlotTable:
        """Return a table that keeps exactly these names."""
        return cls(dict.fromkeys(names, 2), 2)

    def __reduce__(self) -> Pickled:
        return pickled(SlotTable.of_names, sorted(self.kept))

    def step(self, step: str) -> str:
        """Return a step with only the names that the site's template uses."""
        slot = self._steps.get(step)
        if slot is None:
            if len(self._steps) >= MAX_STEPS:
                self._steps.clear()
            names = sorted(name for name in step_names(step) if name in self.kept)
            if POST.search(step):
                names = [name for name in names if not TERM.match(name)]
            slot = self._steps[step] = step_tag(step) + "".join(names)
        return slot

    def body(self, path: str) -> str:
        """Return the first step of a path, ``body``, with only the names that the template uses."""
        return self.step(path.split("/", 1)[0])

    def slot(self, path: str) -> str:
        """Return the path with only the names that the site's template uses.

        The names of ``body`` are left out; `body` returns them.
        """
        cache = self._steps
        body, *steps = path.split("/")
        return "/".join([step_tag(body), *[cache.get(step) or self.step(step) for step in steps]])


def count_names(pages: Iterable[Iterable[str]]) -> dict[str, int]:
    """Count on how many pages each name occurs; each page is given as the paths of its blocks."""
    counts: Counter[str] = Counter()
    for paths in pages:
        steps = {step for path in paths for step in path.split("/")}
        counts.update({name for step in steps for name in step_names(step)})
    return counts
