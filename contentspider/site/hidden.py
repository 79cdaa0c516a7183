"""Recognises sites that hide their pages: many addresses give the same page, and it says nothing of
its own. Either scripts build the pages (*shells*), or another page stands before all of them: a
consent, a form to log in, a check for robots, a notice of maintenance (a *wall*).

Addresses are compared by what their pages show, in no language and by no name. Most sites have some
addresses with the same page. So a site is taken to hide its pages only if nearly nothing else was
read, and few pages with the same text, or pages with their own pictures, say nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE
from contentspider.page.about.shell import LITTLE_CHARS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.page.about.shell import Signs
    from contentspider.page.input.page import Page

SHELL, WALL = "shell", "wall"
MAX_CHARS = 5_000  # longer pages stand before no others
FORM_CHARS = 2_000  # a page with a form and no more text may stand before others
MAX_GROUPS = 200
MAX_NAMED = 20  # addresses of a group that are remembered, to count none of them twice
FEW, SEVERAL = 3, 5  # addresses with the same page that are needed, with more or less evidence
MAX_OTHERS = 5  # pages that can be read beside a wall: terms, an imprint, a form to register
TIMES_OTHERS = 3
MAX_BESIDE_FORM = 2  # the same, if only two addresses show that there is a wall
# The number of an answer, or a time, differs from answer to answer.
STAMP_CHARS = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """A page that an *address* gave. *is_start*: it is a start address. *is_probe*: it is an
    address that nobody has, made up for a test. *has_links*: the page leads to others of its site.

    *is_redirected*: the address led to another page, for now. *is_returned*: the address of that
    page says where to return to.
    """

    address: str
    page: Page
    signs: Signs
    is_start: bool = False
    is_probe: bool = False
    has_links: bool = False
    is_redirected: bool = False
    is_returned: bool = False

    @property
    def is_suspect(self) -> bool:
        """Whether one page says so little that another address should be tried."""
        chars = chars_of(self.page)
        if chars > MAX_CHARS:
            return False
        if self.is_returned or self.signs.has_password:
            return True
        if chars < LITTLE_CHARS:
            return self.signs.is_for_scripts or not (self.has_links or self.signs.media)
        return self.signs.has_form and chars < FORM_CHARS


@dataclass(slots=True)
class Group:
    """The addresses that gave the same text: their *count*, the first ones, how many were
    *redirected* or say where to *return* to, and what all of their pages have in common.
    """

    chars: int
    named: list[str] = field(default_factory=list)
    count: int = 0
    redirected: int = 0
    returned: int = 0
    media: list[str] = field(default_factory=list)
    is_suspect: bool = False
    is_probed: bool = False
    has_start: bool = False
    has_script: bool = True
    is_for_scripts: bool = True
    has_form: bool = True
    has_password: bool = True

    def add(self, answer: Answer) -> bool:
        """Add an answer; False if its address was counted before."""
        if answer.address in self.named:
            return False
        if len(self.named) < MAX_NAMED:
            self.named.append(answer.address)
        self.count += 1
        self.redirected += answer.is_redirected
        self.returned += answer.is_returned
        self.is_suspect |= answer.is_suspect
        self.is_probed |= answer.is_probe
        self.has_start |= answer.is_start
        signs = answer.signs
        if signs.media not in self.media and len(self.media) < FEW:
            self.media.append(signs.media)
        self.has_script &= signs.has_script
        self.is_for_scripts &= signs.is_for_scripts
        self.has_form &= signs.has_form
        self.has_password &= signs.has_password
        return True

    def kind(self, others: int) -> str:
        """Return `SHELL`, `WALL`, or "" for pages of a site where *others* were read, too."""
        if len(self.media) > 1:
            return ""  # pictures with the same caption, or none
        if self._are_shells(others):
            return SHELL
        return WALL if self._is_wall(others) else ""

    def _are_shells(self, others: int) -> bool:
        if self.chars >= LITTLE_CHARS or not self.has_script:
            return False
        if not self.has_start:
            is_most = self.count >= max(SEVERAL, TIMES_OTHERS * others)
            return self.is_for_scripts and is_most
        if self.is_for_scripts and self.is_probed and not others:
            return self.count > 1
        return self.count >= (FEW if self.is_for_scripts else SEVERAL) and self.count > others

    def _is_wall(self, others: int) -> bool:
        if others > MAX_OTHERS:
            return False
        if self.has_start and self.is_probed and self.count > 1 and self._stands_before(others):
            return True
        if self.count < TIMES_OTHERS * others:
            return False
        if self.returned >= FEW:
            return True
        return self.has_start and (self.redirected >= FEW or self.count >= SEVERAL)

    def _stands_before(self, others: int) -> bool:
        """Tell whether a page that an address gives which nobody has is a wall, by itself."""
        if self.returned or self.has_password:
            return True
        is_form = self.has_form and self.redirected > 1
        return self.is_suspect and others <= (MAX_BESIDE_FORM if is_form else 0)


class SiteAnswers:
    """The pages of a site that were read, by their texts."""

    def __init__(self) -> None:
        self.count = 0
        self._groups: dict[str, Group] = {}
        self._last: tuple[Page | None, str] = (None, "")

    def note(self, answer: Answer) -> None:
        """Count a page that was read."""
        key = self._key(answer.page)
        group = self._groups.get(key)
        if group is None and key and len(self._groups) < MAX_GROUPS:
            group = self._groups[key] = Group(chars_of(answer.page))
        self.count += group.add(answer) if group is not None else 1

    def note_other(self) -> None:
        """Count a page that has a text of its own for sure: a document, or one as it was before."""
        self.count += 1

    def kind_of(self, page: Page) -> str:
        """Return `SHELL` or `WALL` if a page stands for others that are hidden, otherwise ""."""
        group = self._groups.get(self._key(page))
        return self._kind(group) if group is not None else ""

    def is_suspect(self, page: Page) -> bool:
        """Tell whether a page may turn out to stand for others that are hidden."""
        group = self._groups.get(self._key(page))
        return group is not None and (group.is_suspect or group.count > 1)

    def hidden(self) -> tuple[str, Group] | None:
        """Return how the site hides its pages, and the page that it gives; None if it does not."""
        largest = max(self._groups.values(), key=lambda group: group.count, default=None)
        kind = self._kind(largest) if largest is not None else ""
        return (kind, largest) if largest is not None and kind else None

    def _kind(self, group: Group) -> str:
        return group.kind(self.count - group.count)

    def _key(self, page: Page) -> str:
        """Return a key of a page's text, "" for a long one."""
        if self._last[0] is not page:
            self._last = page, text_key(page) if chars_of(page) <= MAX_CHARS else ""
        return self._last[1]

    def dump(self) -> dict[str, Any]:
        """Return the answers as JSON values, for `load`."""
        groups = {key: asdict(group) for key, group in self._groups.items()}
        return {"count": self.count, "groups": groups}

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> SiteAnswers:
        """Return the answers that `dump` returned; none if the record is damaged."""
        answers = cls()
        try:
            groups = {str(key): Group(**group) for key, group in record["groups"].items()}
            answers.count, answers._groups = int(record["count"]), groups
        except DAMAGE:
            return cls()
        return answers


def chars_of(page: Page) -> int:
    """Return the number of characters of a page's whole text."""
    return sum(len(block.text) for block in page.content.blocks)


def text_key(page: Page) -> str:
    """Return a key of a page's text, without numbers of the answer, times and its own address."""
    path = "/" + (page.url.partition("://")[2].partition("/")[2] or "\n")  # no word has that
    words = " ".join(block.text for block in page.content.blocks).split()
    text = " ".join(word for word in words if not (_is_stamp(word) or word.endswith(path)))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _is_stamp(word: str) -> bool:
    """Tell whether a word is the number of an answer, or a time."""
    if not any(map(str.isdigit, word)):
        return False
    return ":" in word or (len(word) >= STAMP_CHARS and any(map(str.isalpha, word)))
