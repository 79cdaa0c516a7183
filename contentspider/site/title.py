"""The title of a page, chosen among its headings and the titles that the page states."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.addresses import NO_PARTS, join, split_address
from contentspider.page.about.jsonld import title_key
from contentspider.page.about.metadata import MAX_TITLE_CHARS
from contentspider.page.tree.resolver import SIMPLE_LINK
from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

# A separator between an article's title and its site's name.
SEPARATOR = re.compile(r"\s+(?:[|\-–—·•»«~/>←→]|:{2,}|-{2,3})\s+|\s*[|»]\s*")
# In a title with « and », these are quotation marks.
QUOTED_SEPARATOR = re.compile(r"\s+(?:[|\-–—·•~/>←→]|:{2,}|-{2,3})\s+|\s*[|]\s*")
# A link from a heading to itself, which documentation generators put after the heading's text.
ANCHOR = re.compile(r"(?:\s*¶|\s+#)$")
INDEX = re.compile(r"(?:index|default)\.\w{3,5}$", re.IGNORECASE)
# Headings and links to the front page are searched in this many blocks.
MAX_BLOCKS = 300
MAX_PARTS = 8  # separators of a title after the first MAX_PARTS are ignored
# A name that makes up this share of the host's name is the site's. Shorter names are part of many
# host names by chance.
HOST_SHARE = 0.6
MIN_KEY_CHARS = 4
# Titles and headings name the site if this share of its pages, and this many of them, have them.
COMMON_SHARE = 0.9
MIN_COMMON_PAGES = 8
# A heading may be longer than the title that it contains, but at most this many times.
MAX_LENGTH_RATIO = 3


def page_title(page: Page, common: Collection[str] = ()) -> str:
    """Return the page's title, without the site's name, in at most `MAX_TITLE_CHARS` characters.

    A title that a person's overrides give comes first. Otherwise it is a heading that a title in
    the head confirms, preferably an ``h1``; or else the title of the page's main entity (JSON-LD,
    Open Graph); or else ``<title>``. Headings that only name the site are skipped.

    *common* has the keys of titles and headings that nearly all pages of the site have; they name
    the site. A page with such a title has its ``h1`` as its title, unless it is the front page.
    """
    if page.corrections and page.corrections.title:
        return page.corrections.title
    is_front_page = not INDEX.sub("", split_address(page.url).path).strip("/")
    return tidy(_choose(page, () if is_front_page else common), MAX_TITLE_CHARS)


def common_titles(pages: Sequence[Page]) -> tuple[str, ...]:
    """Return the keys of the titles in the head, of their first and last parts, and of the ``h1``,
    that nearly all pages have.
    """
    counts: Counter[str] = Counter()
    for page in pages:
        texts = [page.metadata.title, *page.hints.titles[:1]]
        parts = title_parts(texts[-1])
        texts += [parts[0], parts[-1]]
        keys = {heading.key for heading in _headings(page.content.blocks[:MAX_BLOCKS], ("h1",))}
        counts.update((keys | set(map(title_key, texts))) - {""})
    least = max(MIN_COMMON_PAGES, COMMON_SHARE * len(pages))
    return tuple(sorted(key for key, count in counts.items() if count >= least))


def page_heading(text: str) -> str:
    """Return the text of a heading as a title: without a link to itself, and not too long."""
    return tidy(ANCHOR.sub("", text), MAX_TITLE_CHARS)


class _Heading(NamedTuple):
    """A heading: its block, and the *key* of its text for comparisons with titles."""

    key: str
    block: Block

    @property
    def text(self) -> str:
        """Return the text of the heading without a link to itself."""
        return ANCHOR.sub("", self.block.text)


def _headings(blocks: Iterable[Block], tags: Container[str]) -> list[_Heading]:
    return [_Heading(title_key(block.text), block) for block in blocks if block.tag in tags]


def _choose(page: Page, common: Collection[str]) -> str:
    stated = page.metadata.title
    head_title = page.hints.titles[0] if page.hints.titles else stated
    blocks = page.content.blocks[:MAX_BLOCKS]
    top_headings = [heading for heading in _headings(blocks, ("h1",)) if heading.key]
    if not head_title:
        return top_headings[0].text if top_headings else ""
    titles = [head_title, stated, *(heading.block.text for heading in top_headings)]
    site = _SiteNames(page, titles, common)
    heading = _stated_heading(top_headings, title_key(stated), site)
    if heading is None:
        own_headings = [heading for heading in top_headings if not site.is_name(heading.key)]
        if title_key(head_title) in common:
            heading = _first_title(own_headings, page.url)
        heading = heading or _confirmed_heading(own_headings, site.without_name(head_title), blocks)
    if heading is not None:
        return heading.text
    return _choose_without_top_heading(site, stated, head_title, _headings(blocks, HEADINGS))


def _confirmed_heading(
    own_headings: Sequence[_Heading], parts: Sequence[str], blocks: Iterable[Block]
) -> _Heading | None:
    """Return the ``h1`` that the title in the head, which has these *parts*, confirms."""
    opening = _opening(own_headings, parts)
    return opening or _inside(own_headings, parts, _headings(blocks, HEADINGS))


def _first_title(headings: Iterable[_Heading], address: str) -> _Heading | None:
    """Return the first heading that is not a link to another page, as entries of lists are."""
    for heading in headings:
        targets = [target for _, _, target in heading.block.spans if is_link(target)]
        if all(join(address, target).partition("#")[0] in ("", address) for target in targets):
            return heading
    return None


def _stated_heading(
    top_headings: Iterable[_Heading], stated_key: str, site: _SiteNames
) -> _Heading | None:
    """Return the ``h1`` that equals the stated title, unless it is the site's name.

    On most pages this heading is the title, and not a link.
    """
    for heading in top_headings:
        if heading.key == stated_key:
            # Links to the front page are only searched if the heading is a link: that takes time.
            is_site_name = site.is_name if heading.block.links else site.is_stated_name
            if not is_site_name(heading.key):
                return heading
    return None


def _choose_without_top_heading(
    site: _SiteNames, stated: str, head_title: str, headings: Sequence[_Heading]
) -> str:
    """Return the title of a page where no ``h1`` agrees with the title in the head."""
    stated_key, parts = title_key(stated), site.without_name(head_title)
    opening = _opening(headings, parts)
    if stated_key and not site.is_name(stated_key):
        key = title_key(head_title)
        agrees = stated_key in key or key in stated_key
        # A stated title that does not agree with <title> may be the same on all pages.
        if opening and not agrees:
            return opening.text
        if agrees or site.is_name(key):
            return "".join(site.without_name(stated))
    return opening.text if opening else "".join(parts)


def _opening(headings: Iterable[_Heading], parts: Sequence[str]) -> _Heading | None:
    """Return the heading that equals the title's beginning, up to one of its separators.

    *parts* are the title's parts and separators. The heading with the most parts is returned.
    """
    part_counts = {title_key("".join(parts[:stop])): stop for stop in range(1, len(parts) + 1, 2)}
    openings = [heading for heading in headings if heading.key in part_counts]
    return max(openings, key=lambda heading: part_counts[heading.key], default=None)


def _inside(
    own_headings: Sequence[_Heading], parts: Sequence[str], headings: Sequence[_Heading]
) -> _Heading | None:
    """Return the ``h1`` that is a part of the title, or that contains the title's first part.

    *own_headings* are the ``h1`` that are not the site's name, *headings* all headings.
    """
    whole, opening = title_key("".join(parts)), title_key(parts[0])
    # A heading that begins with a colon lacks its first words: they are in another element.
    own_headings = [heading for heading in own_headings if heading.text[0] not in ":;,"]
    contained = [heading for heading in own_headings if heading.key in whole]
    if contained:
        longest = max(contained, key=lambda heading: len(heading.key))
        # "Article - Site" with <h1>Site</h1>: the article has another heading.
        is_last_part = len(parts) > 1 and longest.key == title_key(parts[-1])
        article_heading = _opening(headings, parts) if is_last_part else None
        return article_heading or longest
    if len(opening) < MIN_KEY_CHARS:
        return None
    max_chars = MAX_LENGTH_RATIO * len(opening)
    for heading in own_headings:
        if opening in heading.key and len(heading.key) <= max_chars:
            return heading
    return None


class _SiteNames:
    """The names of the page's site: the stated name, link texts to the front page, and the host.

    *titles* are the page's titles and ``h1``. Links with other texts are not examined. *common* has
    the keys of names that the site's pages have in common.
    """

    def __init__(self, page: Page, titles: Sequence[str], common: Collection[str]) -> None:
        address = split_address(page.url)
        host = address.hostname or ""
        self._hosts = [title_key(host), title_key(host.removeprefix("www.").rpartition(".")[0])]
        self._names = {title_key(page.metadata.site_name), *common} - {""}
        self._page, self._path, self._titles = page, address.path, titles

    def is_stated_name(self, key: str) -> bool:
        """Tell whether a title's key is the site's name according to the page or its host."""
        if key in self._names:
            return True
        return len(key) >= MIN_KEY_CHARS and any(
            key in host and len(key) >= HOST_SHARE * len(host) for host in self._hosts
        )

    def is_name(self, key: str) -> bool:
        """Tell whether a title's key is the site's name or the text of a link to its front page."""
        return self.is_stated_name(key) or key in self._link_names

    @cached_property
    def _link_names(self) -> set[str]:
        """Return the keys of the titles, or parts of titles, that link to the front page."""
        # Resolving a link takes time, so the texts are compared first.
        parts = [part for title in self._titles for part in (title, *title_parts(title))]
        candidates = {part.strip().casefold() for part in parts}
        lengths = set(map(len, candidates))
        longest = max(lengths)
        path = INDEX.sub("", self._path).lstrip("/")
        names = set()
        for block in self._page.content.blocks[:MAX_BLOCKS]:
            text = block.text
            if not block.links or len(text) > longest:
                continue
            # Lower-casing does not change the length of ASCII text; this check is fast.
            if text.isascii() and len(text) not in lengths:
                continue
            if text.casefold() in candidates and _links_up(block, self._page.url, path):
                names.add(title_key(text))
        return names

    def without_name(self, title: str) -> list[str]:
        """Return a title's parts and separators, without the site's name at its ends."""
        parts = _split(title)
        shortened = list(parts)
        for end, part_and_separator in ((-1, slice(-2, None)), (0, slice(2))):
            while len(shortened) > 1 and (
                not shortened[end] or self.is_name(title_key(shortened[end]))
            ):
                del shortened[part_and_separator]
        return parts if self.is_name(title_key(shortened[0])) else shortened


def title_parts(title: str) -> list[str]:
    """Return the parts of a title, for example the article's title and the site's name.

    >>> title_parts("Tea | News - Tea Weekly")
    ['Tea', 'News', 'Tea Weekly']
    """
    return _split(title)[::2]


def _split(title: str) -> list[str]:
    """Return the parts of a title, with the separators between them."""
    parts: list[str] = []
    end = 0
    separator = QUOTED_SEPARATOR if "«" in title and "»" in title else SEPARATOR
    for match in islice(separator.finditer(title), MAX_PARTS):
        parts += [title[end : match.start()], match[0]]
        end = match.end()
    return [*parts, title[end:]]


def _links_up(block: Block, address: str, path: str) -> bool:
    """Tell whether a block is a link to the front page or to an index above the page's *path*."""
    for start, stop, target in block.spans:
        is_whole_block = (stop - start) * 10 >= len(block.text) * 9 and len(target) > 1
        if not is_link(target) or not (is_whole_block or target == "/"):
            continue
        linked = target if SIMPLE_LINK.match(target) else join(address, target)
        parts = split_address(linked)
        if parts is NO_PARTS or not linked:
            return False
        if _is_index_above(INDEX.sub("", parts.path).lstrip("/"), path):
            return True
    return False


def _is_index_above(linked_path: str, path: str) -> bool:
    """Tell whether *linked_path* is the front page ("") or a folder that contains *path*."""
    if linked_path == path or not path.startswith(linked_path):
        return False
    return not linked_path or linked_path.endswith("/")
