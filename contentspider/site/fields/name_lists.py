"""The places of a template where its pages show lists of names: tags, and names of sections."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.breadcrumbs import trim_breadcrumbs
from contentspider.page.tree.resolver import Resolver
from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import SIGNS_OF_NAMES, strip_signs
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.tidy import tidy
from contentspider.site.fields.places import (
    LINKS,
    LINKS_AFTER,
    MAX_CHARS,
    PARTS,
    TEXTS,
    PathEnds,
    Place,
    path_ends,
    word_before,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

    Names = tuple[str, ...]

MAX_NAMES = 50
MAX_NAME_CHARS = 100
MAX_FOLDERS = 3  # folders of an address that can be the folder of all tags
MAX_WORDS = 4  # words before a list that is written as text
# The form of a place whose names are breadcrumbs: they begin with the front page, or end with the
# page itself.
BREADCRUMBS = "breadcrumbs"
SEPARATORS = re.compile(r"\s*[,;|/·•，、；›»>]\s*")
HOST = re.compile(r"\A(?:https?:)?//[^/?#]*|[?#].*", re.IGNORECASE | re.DOTALL)


class Link(NamedTuple):
    """A link in a block: its *text*, its *address*, and the word *before* its list of links."""

    text: str
    address: str
    before: str


@lru_cache(maxsize=4_096)  # the pages of a site have the same names
def clean_name(text: str) -> str:
    """Return a name on one line without the signs around it, such as ``#`` and commas."""
    return tidy(strip_signs(text[: 4 * MAX_NAME_CHARS], *SIGNS_OF_NAMES), MAX_NAME_CHARS)


def clean_names(texts: Iterable[str]) -> Names:
    """Return the different names in *texts*, cleaned by `clean_name`."""
    names: dict[str, str] = {}
    for name in map(clean_name, texts):
        if name and len(names) < MAX_NAMES:
            names.setdefault(name.casefold(), name)
    return tuple(names.values())


def names_key(texts: Iterable[str]) -> Names:
    """Return names for comparison: cleaned and in lower case."""
    return tuple(clean_name(text).casefold() for text in texts)


def list_places(blocks: Sequence[Block]) -> Iterator[tuple[Place, list[tuple[str, str]]]]:
    """Yield the ways to read a list of names in neighbouring *blocks* of one path, as places
    without a path. Each has the names, and the addresses of their links ("" for a name without).
    """
    if any(len(block.text) > MAX_CHARS for block in blocks) or len(blocks) > MAX_NAMES:
        return
    if any(block.tag in HEADINGS for block in blocks):
        return
    if all(len(block.text) <= MAX_NAME_CHARS for block in blocks):
        yield Place("", TEXTS), [(block.text, _only_address(block)) for block in blocks]
    yield from _link_places([link for block in blocks for link in _links(block)])
    for word, parts in _parts(blocks[0].text):
        yield Place("", PARTS, word), [(part, "") for part in parts]


def _link_places(links: Sequence[Link]) -> Iterator[tuple[Place, list[tuple[str, str]]]]:
    """Yield the ways to read a list of names in links."""
    yield Place("", LINKS), [(link.text, link.address) for link in links]
    in_folders: dict[str, list[tuple[str, str]]] = {}
    after_words: dict[str, list[tuple[str, str]]] = {}
    for link in links:
        for folder in _folders(link.address):
            in_folders.setdefault(folder, []).append((link.text, link.address))
        if link.before:
            after_words.setdefault(link.before, []).append((link.text, link.address))
    for folder, steps in in_folders.items():
        yield Place("", LINKS, folder), steps
    for word, steps in after_words.items():
        yield Place("", LINKS_AFTER, word), steps


def _links(block: Block) -> list[Link]:
    """Return the links of a block. Links with only signs between them are one list."""
    links: list[Link] = []
    end = 0
    for start, stop, mark in block.spans:
        if start < end or not is_link(mark):
            continue
        is_next = bool(links) and not re.search(r"\w", block.text[end:start])
        before = links[-1].before if is_next else word_before(block.text, start)
        links.append(Link(block.text[start:stop], mark, before))
        end = stop
    return links


def _only_address(block: Block) -> str:
    """Return the address of the first link in a block, "" without links."""
    return next((mark for _, _, mark in block.spans if is_link(mark)), "")


def _folders(address: str) -> list[str]:
    """Return the outermost folders of an address: ``blog`` and ``blog/tag`` of
    ``/blog/tag/tea``.
    """
    steps = [step for step in HOST.sub("", address).split("/") if step.strip(".")]
    return ["/".join(steps[:count]) for count in range(1, min(len(steps), MAX_FOLDERS + 1))]


def _parts(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the names in a text, for each of the first words that may stand before the names."""
    starts = [0, *(match.end() for match in re.finditer(r"\S+\s+", text))]
    for start in starts[: MAX_WORDS + 1]:
        yield word_before(text, start), SEPARATORS.split(text[start:])


class ListReader:
    """Reads the lists of names in *places* of pages."""

    def __init__(self, places: Sequence[Place], slot_of: Callable[[str], str]) -> None:
        self.places = places
        self._at: dict[str, list[Place]] = {}
        for place in places:
            self._at.setdefault(place.path, []).append(place)
        self._ends = PathEnds(self._at, lambda path: path_ends(slot_of(path)))

    def values(self, page: Page, title: str) -> dict[Place, Names]:
        """Return the names that a page with this *title* shows in each of the places."""
        values: dict[Place, Names] = {}
        for blocks, paths in first_runs(page.content.blocks, self._ends.of):
            ways = dict(list_places(blocks))
            for place in (place for path in paths for place in self._at[path]):
                steps = ways.get(Place("", place.way, place.mark))
                names = names_of(steps, place.form, page, title) if steps else ()
                if names:
                    values[place] = names
        return values


def first_runs(
    blocks: Sequence[Block], ends_of: Callable[[str], Iterable[str]]
) -> Iterator[tuple[Sequence[Block], list[str]]]:
    """Yield the first neighbouring blocks of each path of a place, with all paths of these blocks.
    *ends_of* returns the paths of the places that a block belongs to. Later blocks of a path may
    belong to other articles.
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, block in enumerate(blocks):
        for path in ends_of(block.path):
            first.setdefault(path, number)
            if last.get(path, number) >= number - 1:
                last[path] = number
    paths: dict[tuple[int, int], list[str]] = {}
    for path, start in first.items():
        paths.setdefault((start, last[path]), []).append(path)
    for (start, end), run_paths in paths.items():
        yield blocks[start : end + 1], run_paths


def names_of(steps: Sequence[tuple[str, str]], form: str, page: Page, title: str) -> Names:
    """Return the names of *steps*, which are names with addresses. In the form `BREADCRUMBS` the
    front page and the page itself are left out.
    """
    if form != BREADCRUMBS:
        return clean_names(name for name, _ in steps)
    resolver = Resolver(page.base)
    clean_steps = [
        (clean_name(name), address and resolver.resolve(address)) for name, address in steps
    ]
    return clean_names(trim_breadcrumbs(clean_steps, [title], page.url))
