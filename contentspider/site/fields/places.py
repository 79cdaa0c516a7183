"""The places of a template where its pages show dates and names, and the ways to read them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.page.about.written_dates import dates_in
from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from typing_extensions import Self

    from contentspider.page.tree.blocks import Block

# Longer blocks are prose. Its dates and names may be about anything.
MAX_CHARS = 300
MAX_VALUE_CHARS = 80
MAX_NUMBER = 3  # only the first dates and links of a block are places
MAX_WORD_CHARS = 20
MAX_PATHS = 20_000  # paths in the cache of `PathEnds`
LAST_STEPS = (1, 2, 3)
DIGITS = re.compile(r"\d+")
# Texts that end a name in a byline.
ENDS = (
    " | ",
    " on ",
    ", ",
    " - ",
    " – ",
    " — ",
    " • ",
    " · ",
    " am ",
    " le ",
    " vom ",
    " at ",
    " (",
)
# The ways to read a value in a block (see `Place`).
VALUE_WAYS = WHOLE, LINK, AFTER, DATE, BESIDE = "whole", "link", "after", "date", "beside"
LIST_WAYS = LINKS, LINKS_AFTER, TEXTS, PARTS = "links", "links after", "texts", "parts"
WAYS = (*VALUE_WAYS, *LIST_WAYS)
# The form of a number that is the last one of its block: "Was 20 EUR, now 15 EUR".
LAST = "last"


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a template, and the way to read a value there.

    *path* has the last steps of the slots of the place's blocks. *way* is one of `WAYS`:

    - `WHOLE`: the value is the text of the block. A number is the first one of the text, or the
      last one with the *form* `LAST`.
    - `BESIDE`: the value is the text of the block, and the block before it has the text *mark*.
    - `LINK`: the value is the text of a link; *mark* is its number in the block.
    - `DATE`: the value is a date; *mark* is its number among the block's dates of the form *form*.
    - `AFTER`: the value stands after the word *mark*. It is a date of the form *form*, a link, or
      the text up to *end*.

    Lists of names (`contentspider.site.fields.name_lists`) stand in neighbouring blocks:

    - `LINKS`: the names are the texts of links, whose addresses begin with the folder *mark*.
    - `LINKS_AFTER`: the names are the texts of the links after the word *mark*.
    - `TEXTS`: the names are the texts of the blocks.
    - `PARTS`: the names are the parts of the text after the word *mark*, between commas.

    With the *form* "breadcrumbs" the front page and the page itself are left out.
    """

    path: str
    way: str
    mark: str = ""
    end: str = ""
    form: str = ""

    @classmethod
    def parse(cls, record: Mapping[str, object]) -> Self:
        """Return the place in a record; raises an error of `DAMAGE` if it is damaged."""
        place = cls(**{name: str(text) for name, text in record.items()})
        if place.way not in WAYS:
            raise ValueError(f"{place.way!r} is not a way to read a value")
        return place

    def __str__(self) -> str:
        where = {
            WHOLE: "last number of " if self.form == LAST else "",
            LINK: f"link {self.mark} of ",
            DATE: f"date {self.mark} ({self.form}) in ",
            AFTER: f"after {self.mark!r} in " if self.mark else "at the beginning of ",
            BESIDE: f"beside {self.mark!r} in ",
            LINKS: f"links to {self.mark}/ in " if self.mark else "links in ",
            LINKS_AFTER: f"links after {self.mark!r} in ",
            TEXTS: "texts of ",
            PARTS: f"names after {self.mark!r} in " if self.mark else "names in ",
        }
        return where[self.way] + self.path + (f", up to {self.end!r}" if self.end else "")


def path_ends(slot: str) -> list[str]:
    """Return the paths of the places that a slot belongs to: the slot itself, and its last one,
    two and three steps if they have an id, a class or an attribute.

    >>> path_ends("body/main#a/div.meta/p")
    ['body/main#a/div.meta/p', 'div.meta/p', 'main#a/div.meta/p']
    """
    steps = slot.split("/")
    ends = ["/".join(steps[-count:]) for count in LAST_STEPS if count < len(steps)]
    return [slot, *(end for end in ends if not end.isalpha() and re.search(r"[.#\[]", end))]


class PathEnds:
    """Finds the places of a block by its path, with a cache.

    *place_paths* are the paths of the places. *ends_of* returns all paths of places that a block's
    path belongs to (`path_ends`).
    """

    def __init__(self, place_paths: Container[str], ends_of: Callable[[str], list[str]]) -> None:
        self._place_paths, self._ends_of = place_paths, ends_of
        self._ends: dict[str, list[str]] = {}

    def of(self, path: str) -> list[str]:
        """Return the paths of the places that a block with this path belongs to."""
        ends = self._ends.get(path)
        if ends is None:
            if len(self._ends) > MAX_PATHS:
                self._ends.clear()
            ends = [end for end in self._ends_of(path) if end in self._place_paths]
            self._ends[path] = ends
        return ends


def title_places(block: Block, _language: str) -> Iterator[tuple[Place, str]]:
    """Yield the way to read a title in a block, if it is a heading, with its text."""
    if block.tag in HEADINGS and len(block.text) <= MAX_CHARS:
        yield Place("", WHOLE), block.text


def date_places(block: Block, language: str) -> Iterator[tuple[Place, str]]:
    """Yield the ways to read a date in a block of a page in a *language*, as places without a path,
    each with the date.
    """
    text = block.text
    if len(text) > MAX_CHARS:
        return
    numbers: dict[str, int] = {}
    for date, form, start in dates_in(text, language=language):
        number = numbers[form] = numbers.get(form, 0) + 1
        if number > MAX_NUMBER:
            return
        yield Place("", DATE, str(number), form=form), date
        yield Place("", AFTER, word_before(text, start), form=form), date


def name_places(block: Block, _language: str) -> Iterator[tuple[Place, str]]:
    """Yield the ways to read names in a block, as places without a path, each with the text."""
    text = block.text
    if len(text) > MAX_CHARS:
        return
    if len(text) <= MAX_VALUE_CHARS:
        yield Place("", WHOLE), text
    links = [(start, end) for start, end, mark in block.spans if is_link(mark)]
    for number, (start, end) in enumerate(links[:MAX_NUMBER], 1):
        yield Place("", LINK, str(number)), text[start:end]
        yield Place("", AFTER, word_before(text, start), form=LINK), text[start:end]
    yield from _names_after_words(text)


def _names_after_words(text: str) -> Iterator[tuple[Place, str]]:
    words = list(re.finditer(r"\S+\s+", text))[: 2 * MAX_NUMBER]
    for word in words:
        mark, following = DIGITS.sub("0", word[0].strip()), text[word.end() :]
        if len(mark) > MAX_WORD_CHARS:
            continue
        for end in ENDS:
            value, separator, _ = following.partition(end)
            if separator and len(value) <= MAX_VALUE_CHARS:
                yield Place("", AFTER, mark, end), value
        if len(following) <= MAX_VALUE_CHARS:
            yield Place("", AFTER, mark), following


def word_before(text: str, start: int) -> str:
    """Return the word before a position, with 0 for each number; "" at the beginning."""
    words = text[max(0, start - 2 * MAX_WORD_CHARS) : start].split()
    return DIGITS.sub("0", words[-1][-MAX_WORD_CHARS:]) if words else ""
