"""A page after parsing: its address, blocks, hints and metadata, without the markup."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from lxml import etree

from contentspider.ground.addresses import is_web_address, join, without_password
from contentspider.ground.compression import pack, unpack
from contentspider.ground.counts import counted
from contentspider.ground.errors import DAMAGE, StateError
from contentspider.ground.pickles import pickled
from contentspider.page.about.hints import Hints, read_head
from contentspider.page.about.hydration import hydration_text
from contentspider.page.about.metadata import Metadata, Statements
from contentspider.page.about.stated_texts import StatedText
from contentspider.page.input.body import (
    as_utf8,
    check_html,
    is_too_deep,
    is_too_large,
    parse,
    read_utf8,
    unpacked,
)
from contentspider.page.input.corrections import Corrections, correct
from contentspider.page.input.own_values import OwnValues
from contentspider.page.input.serialization import from_record, to_record
from contentspider.page.tree.blocks import (
    MAX_BLOCKS,
    PageBlocks,
    Surroundings,
    read_tree,
    shows_little,
)
from contentspider.page.tree.tags import KINDS
from contentspider.page.tree.text import clean_text, runs
from contentspider.page.words.names import ANCESTOR_TAGS, LEAF_TAGS
from contentspider.page.write.notebook import blocks_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

    from contentspider.ground.pickles import Pickled
    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.overrides import Overrides
    from contentspider.page.tree._walk import Walker

TextRecord = TypeVar("TextRecord", Hints, Metadata)

# A page's base is repeated in each of its links, so a long base would make the output huge.
MAX_BASE_CHARS = 500
# A page can have as many different tags as elements, and sets of all tags would fill the memory.
# Only these tags are recorded.
TAGS = frozenset([*KINDS, *ANCESTOR_TAGS, *LEAF_TAGS])


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """A page: its address (*url*, or a file's path), blocks (*content*) and hints.

    *statements* are the parts of its markup that `metadata` is computed from. *is_document* tells
    that it is a document (PDF, DOCX), which does not have the site's template. *corrections* are a
    person's corrections of its blocks (None: no rule applies to the page). *stated_texts* are the
    own texts in its markup. *own* has the values that the selectors of a user's own fields found
    (None: none were sought). *guessed_encoding* is the encoding in which the page was read if it is
    not UTF-8 and declares none ("": none was guessed); it is not stored.

    >>> Page.from_html("<title>Tea</title><p>Tea is made of leaves.", "/tea")
    <Page '/tea': 1 block>
    """

    url: str
    content: PageBlocks
    hints: Hints
    statements: Statements = field(default_factory=Statements)
    is_document: bool = False
    corrections: Corrections | None = None
    stated_texts: tuple[StatedText, ...] = ()
    own: OwnValues | None = None
    guessed_encoding: str = field(default="", compare=False)
    _dumped: list[bytes] = field(init=False, default_factory=list, compare=False)
    # The record that the page was parsed from, so that `dump` need not write it again.
    _parsed: list[bytes] = field(init=False, default_factory=list, compare=False)

    def __repr__(self) -> str:
        return f"<Page {self.url!r}: {counted(len(self.content.blocks), 'blocks')}>"

    def __hash__(self) -> int:
        return hash(self.url)

    def _repr_html_(self) -> str:
        """Return the text of the page's blocks for notebooks."""
        return blocks_html(repr(self), self.content.blocks)

    @classmethod
    def checked(cls, page: Page) -> Page:
        """Return a page; raises TypeError for anything else, such as its HTML."""
        if hasattr(page, "hints"):  # also what stands for a page, such as one of a book
            return page
        raise TypeError(
            f"this takes objects of Page, not {type(page).__name__}: make them with"
            " Page.from_html(html, url)"
        )

    @classmethod
    def from_html(
        cls,
        html: bytes | bytearray | memoryview | str,
        url: str = "",
        content_type: str | None = None,
        attributes: bool = False,
        walker: Walker | None = None,
        overrides: Overrides | None = None,
        fields_file: FieldsFile | None = None,
    ) -> Page:
        """Parse *html* as the page at *url*.

        Bytes are unpacked (gzip, Zstandard, Brotli, deflate), and decoded as in browsers: by byte
        order mark, *content_type* or meta element, or else by a guess (`guessed_encoding`). Only
        the first 1,000 attributes of a tag are read.

        *attributes* keeps the attributes and the surroundings of elements, which some feature sets
        need. Sharing a *walker* (`contentspider.page.tree.blocks.new_walker`) between the pages of
        a site is faster. The blocks that *overrides* match are recorded in `corrections`, and the
        values that the selectors of *fields_file* find in `own`.

        Raises TypeError for arguments of other types, `NotHTMLError` (a ValueError) for other
        formats, such as a PDF file, JSON, or the path of a file in place of its bytes, and
        `PackedError` for a packed body that is damaged or too large.
        """
        if not isinstance(html, str | bytes | bytearray | memoryview):
            raise TypeError(
                f"the HTML of a page is text or bytes, not {type(html).__name__}; of a file it is"
                " Path(file).read_bytes()"
            )
        if not isinstance(url, str):
            raise TypeError(f"the address of a page is text, not {type(url).__name__}")
        _check_corrections(overrides, fields_file)
        if not isinstance(html, str):
            html = unpacked(bytes(html))
        check_html(html)
        body, guess = read_utf8(html, content_type)
        page = cls.from_root(
            parse(body),
            url,
            attributes,
            walker=walker,
            overrides=overrides,
            fields_file=fields_file,
        )
        page.content.truncated |= is_too_large(body)
        return replace(page, guessed_encoding=guess) if guess else page

    @classmethod
    def from_root(
        cls,
        root: _Element,
        url: str = "",
        attributes: bool = False,
        max_blocks: int = MAX_BLOCKS,
        walker: Walker | None = None,
        overrides: Overrides | None = None,
        fields_file: FieldsFile | None = None,
    ) -> Page:
        """Return the page with the tree below *root*, with its first *max_blocks* blocks."""
        rules = overrides.rules(url) if overrides else []
        containers: list[_Element] | None = [] if rules or attributes else None
        content, hint_elements = read_tree(root, max_blocks, attributes, walker, containers)
        content.truncated |= is_too_deep(root)
        if attributes and containers is not None:
            content.around = read_surroundings(containers)
        hints, statements, texts = read_head(root, hint_elements)
        if shows_little(content):
            hidden = hydration_text(root)
            texts = (*texts, hidden) if hidden else texts
        corrections = None
        if rules and containers is not None:
            corrections = correct(root, content, containers, rules)
        own = fields_file.read(root, statements, url) if fields_file else None
        return cls(url, content, hints, statements, False, corrections, texts, own)

    @property
    def metadata(self) -> Metadata:
        """Return the page's metadata, which are computed at the first access."""
        return self.statements.metadata

    @property
    def base(self) -> str:
        """Return the address that the page's links are relative to."""
        if not 0 < len(self.content.base) <= MAX_BASE_CHARS:
            return self.url
        base = join(self.url, self.content.base)
        is_broken = is_web_address(self.url) and not is_web_address(base)
        return self.url if is_broken else base

    def dump(self) -> bytes:
        """Return the page as compressed JSON, for `load`. The result is cached."""
        if not self._dumped:
            self._dumped.append(pack(self.to_json()))
        return self._dumped[0]

    def to_json(self) -> bytes:
        """Return the page as JSON, for `parse`."""
        return self._parsed[0] if self._parsed else self._record()

    def __reduce__(self) -> Pickled:
        return pickled(Page.load, self.dump())

    def _record(self) -> bytes:
        record: dict[str, object] = {
            "url": self.url,
            "hints": _fields(self.hints)
            | {
                "canonical": without_password(self.hints.canonical),
                "feeds": [without_password(feed) for feed in self.hints.feeds],
            },
            "content": to_record(self.content),
        }
        if metadata := {name: value for name, value in _fields(self.metadata).items() if value}:
            if "image" in metadata:
                metadata["image"] = without_password(metadata["image"])
            record["metadata"] = metadata
        if self.stated_texts:
            record["stated_texts"] = [[text.source, text.text] for text in self.stated_texts]
        if self.is_document:
            record["is_document"] = True
        if self.corrections:
            record["corrections"] = asdict(self.corrections)
        if self.own:
            record["own"] = asdict(self.own)
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")

    @classmethod
    def load(cls, data: bytes) -> Page:
        """Return the page that `dump` wrote; raises `StateError` if *data* is damaged."""
        try:
            page = cls.parse(unpack(data))
        except DAMAGE as error:
            raise _damaged(error) from error
        page._dumped.append(data)
        page._parsed.clear()
        return page

    @classmethod
    def parse(cls, data: bytes) -> Page:
        """Return the page in uncompressed JSON of `dump`; raises `StateError` if it is damaged."""
        try:
            record = json.loads(data.decode("utf-8", "surrogatepass"))
            content = from_record(record["content"])
            corrections = None
            if record.get("corrections"):
                corrections = Corrections.load(record["corrections"], len(content.blocks))
            page = cls(
                "".join(record["url"]),
                content,
                _read(Hints, record["hints"]),
                Statements.of(_read(Metadata, record.get("metadata", {}))),
                is_document=record.get("is_document") is True,
                corrections=corrections,
                stated_texts=tuple(
                    StatedText(*map(str, values)) for values in record.get("stated_texts", ())
                ),
                own=OwnValues.load(record["own"]) if record.get("own") else None,
            )
        except DAMAGE as error:
            raise _damaged(error) from error
        page._parsed.append(data)
        return page


def _check_corrections(overrides: object, fields_file: object) -> None:
    """Raise TypeError unless these are what `Page.from_html` takes."""
    if overrides is not None and not hasattr(overrides, "rules"):
        raise TypeError(
            f"overrides is an object of Overrides, not {type(overrides).__name__}: make it with"
            " Overrides.parse(text) or Overrides.load(folder)"
        )
    if fields_file is not None and not hasattr(fields_file, "read"):
        raise TypeError(
            f"fields_file is an object of FieldsFile, not {type(fields_file).__name__}: make it"
            " with FieldsFile.load"
        )


def page_of_markup(markup: str, url: str = "") -> Page:
    """Return the page of markup that a site wrote, whatever it is: no person gave it by mistake."""
    return Page.from_root(parse(as_utf8(markup)), url)


def _damaged(error: BaseException) -> StateError:
    return StateError(
        f"a stored page cannot be read ({error!r}): it was cut short or written by another version"
    )


def _fields(record: Hints | Metadata) -> dict[str, Any]:
    """Return a record's values by field name, as `asdict` does, but without slow copies."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _read(kind: type[TextRecord], record: dict[str, Any]) -> TextRecord:
    """Return the hints or metadata in a record that `_fields` wrote. Fields of other versions are
    ignored. Raises TypeError if a value is not a text or a list of texts.
    """
    values: dict[str, Any] = {}
    for each in fields(kind):
        default: Any = each.default
        value = record.get(each.name, default)
        if isinstance(value, list):
            value = tuple(value)
        if type(value) is not type(default) or not all(isinstance(text, str) for text in value):
            raise TypeError(f"{each.name} is not a text")
        values[each.name] = value
    return kind(**values)


def own_text(element: _Element) -> str:
    """Return the text of an element without its children's text, with white space folded."""
    return clean_text(" ".join([element.text or "", *(child.tail or "" for child in element)]))


def is_link(element: _Element) -> bool:
    """Tell whether an element contains nothing but one ``a`` element and white space."""
    children = list(element)
    return len(children) == 1 and children[0].tag == "a" and not own_text(element)


def read_surroundings(elements: Sequence[_Element]) -> list[Surroundings]:
    """Return the surroundings of each of a tree's *elements*, in document order.

    Takes time proportional to the size of the tree.
    """
    surroundings: list[Surroundings] = []
    ancestor_tags: dict[_Element, frozenset[str]] = {}
    counts: dict[_Element | None, Counter[str]] = {None: Counter()}
    for element, links in zip(elements, _links_in(elements), strict=True):
        parent = element.getparent()
        if parent is not None and parent not in counts:
            counts[parent] = _count_tags(parent)
        siblings = counts[parent].items()
        surroundings.append(
            Surroundings(
                sorted(_tags_above(element, ancestor_tags)),
                sorted(tag for tag, count in siblings if tag != element.tag or count > 1),
                sorted(_count_tags(element)),
                len(runs(own_text(element))),
                is_link(element),
                links,
            )
        )
    return surroundings


def _count_tags(element: _Element) -> Counter[str]:
    """Return how many children of an element have each of `TAGS`."""
    return Counter(child.tag for child in element if child.tag in TAGS)


def _tags_above(element: _Element, cache: dict[_Element, frozenset[str]]) -> frozenset[str]:
    """Return the tags of an element's ancestors up to the body. *cache* has earlier results."""
    uncached = []
    ancestor: _Element | None = element
    while ancestor is not None and ancestor not in cache:
        uncached.append(ancestor)
        ancestor = ancestor.getparent()
    for each in reversed(uncached):
        parent = each.getparent()
        if parent is None or parent.tag in ("html", None):
            cache[each] = frozenset()
        else:
            cache[each] = cache[parent] | ({parent.tag} & (TAGS | {"body"}))
    return cache[element]


def _links_in(elements: Sequence[_Element]) -> list[list[str]]:
    """Return for each of the *elements* its links (`Surroundings.links`)."""
    links: list[list[str]] = [[] for _ in elements]
    # The innermost of the *elements* around each element, and the tags between the two.
    places: dict[_Element | None, tuple[int, frozenset[str]]] = {
        element: (number, frozenset()) for number, element in enumerate(elements)
    }
    for root in elements[:1]:
        for element in root.iter(etree.Element):
            if element not in places:
                number, tags = places[element.getparent()]
                places[element] = number, tags | ({element.tag} & TAGS)
            if element.tag == "a" and element.get("href") is not None:
                number, tags = places[element]
                links[number].append(" ".join(sorted(tags - {"a"})))
    return links
