"""The title of a page, chosen among its candidates."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from contentspider.ground.addresses import NO_PARTS, join, split_address
from contentspider.page.about.jsonld import title_key
from contentspider.page.about.metadata import MAX_TITLE_CHARS
from contentspider.page.tree.resolver import SIMPLE_LINK
from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

# What stands between an article's title and its site's name.
SEPARATOR = re.compile(r"\s+(?:[|\-–—·•»«~/>←→]|:{2,}|-{2,3})\s+|\s*[|»]\s*")
# A link to the heading itself, which documentation generators put behind it.
ANCHOR = re.compile(r"(?:\s*¶|\s+#)$")
INDEX = re.compile(r"(?:index|default)\.\w{3,5}$", re.IGNORECASE)
# Headings and links to the front page are looked for in this many blocks.
MAX_BLOCKS = 300
MAX_PARTS = 8
# A name that makes up this share of its host's is the site's; less is in many hosts by chance.
HOST_SHARE = 0.6
MIN_KEY_CHARS = 4
# A heading may say more than the title, but one that is longer only mentions it.
LONGER = 3


def page_title(page: Page) -> str:
    """Return the page's title, without the site's name, in at most `MAX_TITLE_CHARS` characters.

    It is the heading that a title in the head confirms, an ``h1`` first; else the title of the
    page's main entity (JSON-LD, Open Graph); else ``<title>``. Headings that only name the site are
    skipped. People's corrections come before all.
    """
    if page.corrections and page.corrections.title:
        return page.corrections.title
    return tidy(_choose(page), MAX_TITLE_CHARS)


def _choose(page: Page) -> str:
    stated = page.metadata.title
    whole = page.hints.titles[0] if page.hints.titles else stated
    blocks = page.content.blocks[:MAX_BLOCKS]
    first = [(title_key(block.text), block) for block in blocks if block.tag == "h1"]
    first = [(key, block) for key, block in first if key]
    if not whole:
        return _text(first[0][1]) if first else ""
    site = _Site(page, [whole, stated, *(block.text for _, block in first)])
    stated_key = title_key(stated)
    for key, block in first:
        # On most pages the stated title is the heading, and no link.
        if key == stated_key and not (
            site.is_named(key) if block.links else site.is_stated_name(key)
        ):
            return _text(block)
    own = [(key, block) for key, block in first if not site.is_named(key)]
    parts = site.without_name(whole)
    if found := _opening(own, parts):
        return _text(found)
    headings = [(title_key(block.text), block) for block in blocks if block.tag in HEADINGS]
    if found := _inside(own, parts, headings):
        return _text(found)
    if stated_key and not site.is_named(stated_key):
        # A stated title without a part in <title> may be the same on all pages.
        key = title_key(whole)
        is_known = stated_key in key or key in stated_key
        if not is_known and (found := _opening(headings, parts)):
            return _text(found)
        if is_known or site.is_named(key):
            return "".join(site.without_name(stated))
    if found := _opening(headings, parts):
        return _text(found)
    return "".join(parts)


def _text(block: Block) -> str:
    return ANCHOR.sub("", block.text)


def _opening(headings: Iterable[tuple[str, Block]], parts: Sequence[str]) -> Block | None:
    """Return the heading that equals the title's beginning, up to one of its separators."""
    runs = {title_key("".join(parts[:stop])): stop for stop in range(1, len(parts) + 1, 2)}
    known = [(runs[key], block) for key, block in headings if key in runs]
    return max(known, key=lambda found: found[0])[1] if known else None


def _inside(
    own: Sequence[tuple[str, Block]], parts: Sequence[str], headings: Sequence[tuple[str, Block]]
) -> Block | None:
    """Return the ``h1`` that is a part of the title, or that the title shortens."""
    whole, opening = title_key("".join(parts)), title_key(parts[0])
    known = [(key, block) for key, block in own if key in whole]
    if known:
        key, block = max(known, key=lambda found: len(found[0]))
        # "Article - Site" below <h1>Site</h1>: the article's heading is another.
        is_end = len(parts) > 1 and key == title_key(parts[-1])
        return (_opening(headings, parts) if is_end else None) or block
    if len(opening) < MIN_KEY_CHARS:
        return None
    longer = (block for key, block in own if opening in key and len(key) <= LONGER * len(opening))
    return next(longer, None)


class _Site:
    """The names of the page's site: those that it states, its links to the front page, its host."""

    def __init__(self, page: Page, claims: Sequence[str]) -> None:
        address = split_address(page.url)
        host = address.hostname or ""
        self._hosts = [title_key(host), title_key(host.removeprefix("www.").rpartition(".")[0])]
        self._names = {title_key(page.metadata.site_name)} - {""}
        self._page, self._path, self._claims = page, address.path, claims

    def is_stated_name(self, key: str) -> bool:
        """Tell whether a title's key is the site's name, by the page or its host."""
        return key in self._names or (
            len(key) >= MIN_KEY_CHARS
            and any(key in host and len(key) >= HOST_SHARE * len(host) for host in self._hosts)
        )

    def is_named(self, key: str) -> bool:
        """Tell whether a title's key is the site's name or the text of a link to its front page."""
        return self.is_stated_name(key) or key in self._linked

    @cached_property
    def _linked(self) -> set[str]:
        # Where a link leads is only checked of possible names: it takes time.
        parts = [part for text in self._claims for part in (text, *title_parts(text))]
        asked = {part.strip().casefold() for part in parts}
        longest = max(map(len, asked))
        lengths = set(map(len, asked))
        here = INDEX.sub("", self._path).lstrip("/")
        return {
            title_key(text)
            for block in self._page.content.blocks[:MAX_BLOCKS]
            if block.links
            and len(text := block.text) <= longest
            # Other letters' lower case may be longer.
            and (len(text) in lengths or not text.isascii())
            and text.casefold() in asked
            and _links_up(block, self._page.url, here)
        }

    def without_name(self, title: str) -> list[str]:
        """Return a title's parts and separators, without the site's name at its ends."""
        parts = _split(title)
        kept = list(parts)
        for end, both in ((-1, slice(-2, None)), (0, slice(2))):
            while len(kept) > 1 and (not kept[end] or self.is_named(title_key(kept[end]))):
                del kept[both]
        return parts if self.is_named(title_key(kept[0])) else kept


def title_parts(title: str) -> list[str]:
    """Return the parts of a title, such as an article's name and its site's.

    >>> title_parts("Tea | News - Tea Weekly")
    ['Tea', 'News', 'Tea Weekly']
    """
    return _split(title)[::2]


def _split(title: str) -> list[str]:
    """Return the parts of a title and, between them, its separators."""
    parts: list[str] = []
    end = 0
    for match in islice(SEPARATOR.finditer(title), MAX_PARTS):
        parts += [title[end : match.start()], match[0]]
        end = match.end()
    return [*parts, title[end:]]


def _links_up(block: Block, address: str, here: str) -> bool:
    """Tell whether a block is one link to the front page or an index above the path *here*."""
    for start, stop, target in block.spans:
        if not is_link(target):
            continue
        if ((stop - start) * 10 >= len(block.text) * 9 and len(target) > 1) or target == "/":
            whole = target if SIMPLE_LINK.match(target) else join(address, target)
            parts = split_address(whole)
            if parts is NO_PARTS or not whole:
                return False
            up = INDEX.sub("", parts.path).lstrip("/")
            if here != up and here.startswith(up) and (not up or up.endswith("/")):
                return True
    return False
