"""Slots of a template: selector paths without names that few pages use, or that tell what a post is
about.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from contentspider.page.words.names import step_tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAME = re.compile(r"[#.\[][^#.\[]+")
# A name on a smaller share of the pages belongs to a page, a post or a category, not the template.
MIN_NAME_SHARE = 0.05
# WordPress' classes of a post (`post_class`): its type, and the terms that it is filed under.
POST = re.compile(r"\.(?:hentry|type-)")
TERM = re.compile(r"\.(?:product_)?(?:category|cat|tag)-")
MAX_STEPS = 50_000
# What is the template's by recurrence alone is on this share of the pages, and on so many others.
SURE_SHARE = 0.7
TEMPLATE_PAGES = 4


def step_names(step: str) -> list[str]:
    """Return the names in a step of a selector path: ``#id``, ``.class``, ``[role]``."""
    return NAME.findall(step)


class SlotTable:
    """Maps selector paths to a site's slots; *name_pages* counts the pages of each name."""

    def __init__(self, name_pages: Mapping[str, int], pages: int) -> None:
        self.kept = frozenset(
            name
            for name, count in name_pages.items()
            if count >= max(2, MIN_NAME_SHARE * pages) or pages == 1
        )
        self._steps: dict[str, str] = {}

    @classmethod
    def of_names(cls, kept: Iterable[str]) -> SlotTable:
        """Return a table that keeps just these names."""
        return cls(dict.fromkeys(kept, 2), 2)

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
        """Return the path's first step with only the names that the site's template uses."""
        return self.step(path.split("/", 1)[0])

    def slot(self, path: str) -> str:
        """Return the path with only the names that the site's template uses, without body's."""
        known = self._steps
        body, *steps = path.split("/")
        return "/".join([step_tag(body), *[known.get(step) or self.step(step) for step in steps]])


def count_names(pages: Iterable[Iterable[str]]) -> dict[str, int]:
    """Return on how many pages each name of a step is used; a page is given by its paths."""
    counts: Counter[str] = Counter()
    for paths in pages:
        steps = {step for path in paths for step in path.split("/")}
        counts.update({name for step in steps for name in step_names(step)})
    return counts
