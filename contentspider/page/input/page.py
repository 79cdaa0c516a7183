"""A page as the rest of contentspider sees it: its address, blocks and hints, without markup."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from contentspider.ground.addresses import is_web_address, join
from contentspider.ground.errors import DAMAGE, StateError
from contentspider.ground.packed import pack_text, unpack
from contentspider.page.about.hints import Hints, read_head
from contentspider.page.about.metadata import Metadata, Statements
from contentspider.page.about.stated import StatedText
from contentspider.page.input.body import as_utf8, parse
from contentspider.page.input.corrections import Corrections, correct
from contentspider.page.input.serialization import from_record, to_record
from contentspider.page.input.surroundings import read_surroundings
from contentspider.page.tree.blocks import MAX_BLOCKS, PageBlocks, read_tree

if TYPE_CHECKING:
    from lxml.etree import _Element

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.tree._walk import Walker

Said = TypeVar("Said", Hints, Metadata)

# Every link of a page is written with its base.
MAX_BASE_CHARS = 500


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """A page: its address (*url*, or a path), blocks (*content*), hints, and *statements* about
    itself.

    *is_document*: it is a PDF file, without its site's template. *corrections* are the matches of
    people's corrections (None: none apply to it), *stated_texts* its own texts in its markup.

    >>> Page.from_html("<title>Tea</title><p>Tea is made of leaves.", "/tea")
    <Page '/tea': 1 blocks>
    """

    url: str
    content: PageBlocks
    hints: Hints
    statements: Statements = field(default_factory=Statements)
    is_document: bool = False
    corrections: Corrections | None = None
    stated_texts: tuple[StatedText, ...] = ()
    _dumped: list[bytes] = field(init=False, default_factory=list, compare=False)

    def __repr__(self) -> str:
        return f"<Page {self.url!r}: {len(self.content.blocks)} blocks>"

    @classmethod
    def from_html(
        cls,
        html: bytes | str,
        url: str = "",
        content_type: str | None = None,
        attributes: bool = False,
        walker: Walker | None = None,
        overrides: Overrides | None = None,
    ) -> Page:
        """Parse *html*; bytes are decoded as browsers do it (BOM, *content_type*, meta, else
        guessed). Of a tag's attributes the first 1,000 are read.

        *attributes* keeps those of the markup, and the surroundings of elements: some feature sets
        need them. Sharing a *walker* (`contentspider.page.tree.blocks.new_walker`) between pages
        of a site is faster. Matches of *overrides* go into `corrections`.
        """
        root = parse(as_utf8(html, content_type))
        return cls.from_root(root, url, attributes, walker=walker, overrides=overrides)

    @classmethod
    def from_root(
        cls,
        root: _Element,
        url: str = "",
        attributes: bool = False,
        max_blocks: int = MAX_BLOCKS,
        walker: Walker | None = None,
        overrides: Overrides | None = None,
    ) -> Page:
        """Read the tree below *root*; at most *max_blocks* blocks are kept."""
        rules = overrides.rules(url) if overrides else []
        kept: list[_Element] | None = [] if rules or attributes else None
        content, elements = read_tree(root, max_blocks, attributes, walker, kept)
        if attributes and kept is not None:
            content.around = read_surroundings(kept)
        hints, statements, texts = read_head(root, elements)
        corrections = correct(root, content, kept, rules) if rules and kept is not None else None
        return cls(url, content, hints, statements, False, corrections, texts)

    @property
    def metadata(self) -> Metadata:
        """Return the page's metadata, computed at the first call."""
        return self.statements.metadata

    @property
    def base(self) -> str:
        """Return the address by which the page's links are resolved."""
        if not 0 < len(self.content.base) <= MAX_BASE_CHARS:
            return self.url
        base = join(self.url, self.content.base)
        is_broken = is_web_address(self.url) and not is_web_address(base)
        return self.url if is_broken else base

    def dump(self) -> bytes:
        """Return the page as compressed JSON, for `load`; made once."""
        if not self._dumped:
            self._dumped.append(self._dump())
        return self._dumped[0]

    def _dump(self) -> bytes:
        record: dict[str, object] = {
            "url": self.url,
            "hints": _fields(self.hints),
            "content": to_record(self.content),
        }
        if said := {name: value for name, value in _fields(self.metadata).items() if value}:
            record["metadata"] = said
        if self.stated_texts:
            record["stated_texts"] = [[each.source, each.text] for each in self.stated_texts]
        if self.corrections:
            record["corrections"] = asdict(self.corrections)
        return pack_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")))

    @classmethod
    def load(cls, data: bytes) -> Page:
        """Return the page that `dump` wrote; a damaged one raises `StateError`."""
        try:
            page = cls.parse(unpack(data))
        except DAMAGE as error:
            raise _damaged(error) from error
        page._dumped.append(data)
        return page

    @classmethod
    def parse(cls, data: bytes) -> Page:
        """Return the page of `dump`'s record, uncompressed; a damaged one raises `StateError`."""
        try:
            record = json.loads(data.decode("utf-8", "surrogatepass"))
            content = from_record(record["content"])
            noted = record.get("corrections")
            return cls(
                "".join(record["url"]),
                content,
                _read(Hints, record["hints"]),
                Statements.of(_read(Metadata, record.get("metadata", {}))),
                corrections=Corrections.load(noted, len(content.blocks)) if noted else None,
                stated_texts=tuple(
                    StatedText(*map(str, each)) for each in record.get("stated_texts", ())
                ),
            )
        except DAMAGE as error:
            raise _damaged(error) from error


def _damaged(error: BaseException) -> StateError:
    return StateError(
        f"a held page cannot be read ({error!r}): it was cut short or written by another version"
    )


def _fields(record: Hints | Metadata) -> dict[str, Any]:
    """Return what `asdict` does for records of texts; it copies them, which takes long."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _read(kind: type[Said], record: dict[str, Any]) -> Said:
    """Return what `_fields` made a record of, without what only other versions know; raises
    TypeError if its texts are none.
    """
    values: dict[str, Any] = {}
    for each in fields(kind):
        default: Any = each.default
        value = record.get(each.name, default)
        value = values[each.name] = tuple(value) if isinstance(value, list) else value
        if type(value) is not type(default) or not all(isinstance(one, str) for one in value):
            raise TypeError(f"{each.name} is no text")
    return kind(**values)
