"""Decides for each template of a site, by a sample of its pages, whether to render its pages."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from contentspider.page.about.shell import LITTLE_CHARS

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

SAMPLE = 3  # pages of a template that are rendered before the decision
LAST = 50  # pages that the decision is based on later
GAIN = 0.2  # the share of a rendered page's text that must be missing in its HTML
DEPTH = 4  # steps of a tag path that identify a template
MAX_TEMPLATES = 1_000
DIGITS = re.compile(r"\d+")
SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)


@dataclass(slots=True)
class Template:
    """The gains by rendering of a template's last pages: the shares of text that scripts added."""

    gains: deque[float] = field(default_factory=lambda: deque(maxlen=LAST))

    @property
    def is_rendered(self) -> bool | None:
        """Whether the template's pages are rendered; None while the sample is too small."""
        return median(self.gains) > GAIN if len(self.gains) >= SAMPLE else None


class Templates:
    """The templates of a crawl's sites. A template is identified by the tag path (`DEPTH` steps)
    with most text.
    """

    def __init__(self) -> None:
        self._templates: OrderedDict[tuple[str, str], Template] = OrderedDict()

    def of(self, site: str, page: Page, body: bytes) -> Template | None:
        """Return the template of a page, by its HTML *body*; None for a page without scripts."""
        if not SCRIPT.search(body):
            return None
        chars: Counter[str] = Counter()
        for block in page.content.blocks:
            # The classes of the body and all numbers are left out, since they differ between pages
            # of a template.
            chars[DIGITS.sub("", "/".join(block.path.split("/")[1:DEPTH]))] += len(block.text)
        is_empty = chars.total() < LITTLE_CHARS
        key = (site, "" if is_empty else chars.most_common(1)[0][0])
        template = self._templates.setdefault(key, Template())
        self._templates.move_to_end(key)
        if len(self._templates) > MAX_TEMPLATES:
            self._templates.popitem(last=False)
        return template

    def counts(self) -> dict[str, int]:
        """Return how many templates are ``rendered``, ``static``, or still ``tried``."""
        names = {True: "rendered", False: "static", None: "tried"}
        counts = dict.fromkeys(names.values(), 0)
        for template in self._templates.values():
            counts[names[template.is_rendered]] += 1
        return counts


def gain(static: Page, rendered: Page) -> float:
    """Return the share of a rendered page's text (0 to 1, by characters) that its HTML lacks."""
    static_texts = {block.text for block in static.content.blocks}
    texts = [block.text for block in rendered.content.blocks]
    added = sum(len(text) for text in texts if text not in static_texts)
    return added / max(sum(map(len, texts)), 1)
