"""Which pages a browser is worth: decided for each template of a site, by a sample."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

SAMPLE = 3  # pages of a template that are rendered before it is decided
LAST = 50  # it is decided anew by the last ones
GAIN = 0.2  # the share of a rendered page's text that is not in its HTML
LITTLE_CHARS = 400  # with less text a page may be all made by scripts
DEPTH = 4  # the steps of paths by which templates are told apart
MAX_TEMPLATES = 1_000
DIGITS = re.compile(r"\d+")
SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)


@dataclass(slots=True)
class Template:
    """What rendering has brought to the pages of a template."""

    gains: deque[float] = field(default_factory=lambda: deque(maxlen=LAST))

    @property
    def is_rendered(self) -> bool | None:
        """Tell whether its pages are rendered; None while that is tried."""
        return median(self.gains) > GAIN if len(self.gains) >= SAMPLE else None


class Templates:
    """The templates of a crawl's sites, each told by where most text of its pages stands."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Template] = OrderedDict()

    def of(self, site: str, page: Page, body: bytes) -> Template | None:
        """Return the template of a page as it was sent; None if no script could add to it."""
        if not SCRIPT.search(body):
            return None
        chars: Counter[str] = Counter()
        for block in page.content.blocks:
            # Without body's, and without numbers: these are a page's own.
            chars[DIGITS.sub("", "/".join(block.path.split("/")[1:DEPTH]))] += len(block.text)
        is_empty = chars.total() < LITTLE_CHARS
        key = (site, "" if is_empty else chars.most_common(1)[0][0])
        found = self._known.setdefault(key, Template())
        self._known.move_to_end(key)
        if len(self._known) > MAX_TEMPLATES:
            self._known.popitem(last=False)
        return found

    def counts(self) -> dict[str, int]:
        """Return how many templates are ``rendered``, ``static``, and still ``tried``."""
        names = {True: "rendered", False: "static", None: "tried"}
        found = dict.fromkeys(names.values(), 0)
        for template in self._known.values():
            found[names[template.is_rendered]] += 1
        return found


def gain(static: Page, rendered: Page) -> float:
    """Return which share of a rendered page's text, in characters, is not in its HTML."""
    known = {block.text for block in static.content.blocks}
    texts = [block.text for block in rendered.content.blocks]
    added = sum(len(text) for text in texts if text not in known)
    return added / max(sum(map(len, texts)), 1)
