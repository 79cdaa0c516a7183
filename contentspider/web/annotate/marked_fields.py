"""Adds values that a person marks on pages to the file of own fields, as examples."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import tomlkit
from tomlkit.exceptions import TOMLKitError

from contentspider.ground.counts import counted
from contentspider.ground.errors import FieldsError
from contentspider.page.input.fields_file import (
    EXAMPLES,
    MIN_EXAMPLES,
    TYPE,
    FieldExample,
    FieldsFile,
    OwnField,
)
from contentspider.page.input.own_values import KINDS, typed
from contentspider.site.fields.own_fields import OwnKnowledge, OwnReader
from contentspider.site.fields.own_learning import learn_own_fields
from contentspider.site.fields.own_places import value_at, value_key
from contentspider.site.fields.places import path_ends
from contentspider.web.annotate.files import read_bytes, replace_file
from contentspider.web.annotate.labels import MAX_UNDO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from contentspider.page.input.page import Page
    from contentspider.web.annotate.files import FileChange

Value = TypeVar("Value")


class ShownValue(NamedTuple):
    """The *value* of a field on a page, and the number of the *block* that shows it."""

    name: str
    value: str | float
    block: int


class _Marking(NamedTuple):
    """The state of the field *name* before a person marked a value of it, and the change of the
    file; None for no field, no knowledge and no change.
    """

    name: str
    field: OwnField | None
    learned: OwnKnowledge | None
    change: FileChange | None


class MarkedFields:
    """The fields with examples in the file at *path*, and the places that they teach on *pages*.

    *addresses* maps the address of a page here to its address on the web, as examples name it.
    *slot_of* maps paths of blocks to slots. Raises `FieldsError` if the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        pages: Sequence[Page],
        addresses: Mapping[str, str],
        site: str,
        slot_of: Callable[[str], str],
    ) -> None:
        self._path, self._pages, self._addresses = path, pages, addresses
        self._site = site
        self._ends_of: Callable[[str], list[str]] = lambda name: path_ends(slot_of(name))
        self._slot_of = slot_of
        self._file = FieldsFile.load(path) if path.is_file() else FieldsFile()
        fields = self._file.with_examples
        self._fields = {field.name: field for field in fields}
        self._learned = self._learn(fields)
        self._markings: deque[_Marking] = deque(maxlen=MAX_UNDO)

    @property
    def names(self) -> dict[str, str]:
        """The types of the fields by name."""
        return {field.name: field.kind for field in self._fields.values()}

    def add(self, page: Page, name: str, kind: str, value: str) -> str:
        """Add an example: a page shows a *value* of the field *name* with the type *kind*. Return a
        message for the person.

        The file gets a new field with its second example, since one example teaches nothing.
        Raises `FieldsError` if the example or the file cannot be used.
        """
        value, url = " ".join(value.split()), self._url_of(page)
        if not name.isidentifier():
            raise FieldsError(f"{name!r} is no name: use letters, digits and _, a letter first")
        if kind not in KINDS or typed(value, kind) is None:
            raise FieldsError(f"{value!r} is no {kind}: mark another value, or choose another type")
        field = self._fields.get(name, OwnField(name, kind))
        if field.kind != kind:
            raise FieldsError(f"{name} is a field of the type {field.kind}: choose this type")
        before = tuple(example for example in field.examples if example.url != url)
        field = replace(field, examples=(*before, FieldExample(url, value)))
        change = self._write(field) if len(field.examples) >= MIN_EXAMPLES else None
        marking = _Marking(name, self._fields.get(name), self._learned.get(name), change)
        self._markings.append(marking)
        self._fields[name] = field
        if len(field.examples) < MIN_EXAMPLES:
            return f"{name}: one example. Mark the value on another page, too, to write the field"
        self._learned |= self._learn([field])
        count = sum(name in self._values(each) for each in self._pages)
        message = f"{name}: {counted(len(field.examples), 'examples')} in {self._path}"
        message += f"; a value on {count} of {counted(len(self._pages), 'pages')}"
        return "; ".join([message, *self._learned[name].doubts])

    def undo(self) -> str:
        """Take back the last example of `add`, also from the file, and return a message for the
        person. If the file has changed since, the example stays.
        """
        if not self._markings:
            return ""
        marking = self._markings.pop()
        name = marking.name
        if marking.change and not marking.change.undo():
            return f"{name}: {self._path} has changed since, and keeps the example: edit the file"
        _put(self._fields, name, marking.field)
        _put(self._learned, name, marking.learned)
        return f"{name}: the last example is taken back"

    def _url_of(self, page: Page) -> str:
        """Return the address of a page on the web, as the file writes it if it has an example."""
        url = self._addresses.get(page.url, page.url)
        return self._file.example_url(url) or url

    def _learn(self, fields: Sequence[OwnField]) -> dict[str, OwnKnowledge]:
        """Return the knowledge that the examples of fields teach, by the field's name."""
        pages = {self._url_of(page): page for page in self._pages}
        return learn_own_fields(fields, pages, self._pages, self._site, self._slot_of)

    def _write(self, field: OwnField) -> FileChange:
        """Write the examples of a field to the file; all other lines of the file stay."""
        before = read_bytes(self._path)
        try:
            tables = tomlkit.parse((before or b"").decode("utf-8-sig"))
            table: Any = tables.setdefault(field.name, tomlkit.table())
            if table and EXAMPLES not in table:
                raise FieldsError(
                    f"{self._path}: [{field.name}] is a field by a selector: choose another name"
                )
            table[TYPE] = field.kind
            table[EXAMPLES] = _array(field.examples)
        except (TOMLKitError, UnicodeError, AttributeError, TypeError) as error:
            raise FieldsError(f"{self._path}: correct the file first ({error})") from error
        text = tomlkit.dumps(tables)
        FieldsFile.parse(text, str(self._path))
        return replace_file(self._path, before, text)

    def shown(self, page: Page) -> list[ShownValue]:
        """Return the values of the fields on a page, with the blocks that show them."""
        values = self._values(page)
        numbers = {name: self._block_of(page, name, value) for name, value in values.items()}
        return [
            ShownValue(name, value, number)
            for name, value in values.items()
            if (number := numbers[name]) is not None
        ]

    def _values(self, page: Page) -> dict[str, Any]:
        return dict(OwnReader(self._learned, self._ends_of).values(page))

    def _block_of(self, page: Page, name: str, value: Any) -> int | None:
        """Return the number of the first block that shows the value of a field."""
        learned, before = self._learned[name], ""
        for number, block in enumerate(page.content.blocks):
            ends = set(self._ends_of(block.path))
            for place in learned.places:
                if place.path in ends:
                    text = value_at(place, block, before, learned.kind)
                    if text is not None and value_key(text) == value_key(value):
                        return number
            before = block.text
        return None


def _put(values: dict[str, Value], name: str, value: Value | None) -> None:
    """Set the value of a name, or without a value remove the name."""
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value


def _array(examples: Sequence[FieldExample]) -> Any:
    """Return examples as an array of TOML, one a line."""
    array = tomlkit.array().multiline(True)
    for example in examples:
        table = tomlkit.inline_table()
        table.update({"url": example.url, "value": example.value})
        array.append(table)
    return array
