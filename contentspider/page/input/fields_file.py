"""Reads ``fields.toml``: the fields that a user wants of each page, by selectors or by examples.

A preset stands for several fields: the facts of products, events, recipes and places.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict, dataclass
from datetime import date
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.ground.errors import FieldsError
from contentspider.page.about.things import EVENT, PLACE, PRODUCT, RECIPE
from contentspider.page.input.own_values import (
    DATE,
    KINDS,
    META,
    NUMBER,
    SELECTORS,
    TEXT,
    THING,
    OwnValues,
    Rule,
    check_selector,
    read_values,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger(__name__)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from lxml.etree import _Element

    from contentspider.page.about.metadata import Statements


FIELDS_FILE = "fields.toml"
EXAMPLES, TYPE, LEARN, MANY = "examples", "type", "learn", "many"
KEYS = (*SELECTORS, EXAMPLES, TYPE, LEARN, MANY)
PRESET = "preset"
MIN_EXAMPLES, MAX_EXAMPLES = 2, 20
MAX_FIELDS = 100


class PresetField(NamedTuple):
    """A field of a preset: its *name* and the type of its values (*kind*).

    *metas* are the names of meta elements, which are read if no object of the page has the fact.
    *many* and *learns* have the same meaning as in `contentspider.page.input.fields_file.OwnField`.
    """

    name: str
    kind: str = TEXT
    metas: tuple[str, ...] = ()
    many: bool = False
    learns: bool = False

    def selectors(self, preset: str) -> tuple[tuple[str, str], ...]:
        """Return the selectors of the field in the preset with this name."""
        return ((THING, f"{preset}.{self.name}"), *((META, name) for name in self.metas))


# Currency and availability are not learned: pages state "EUR" and "InStock", but show other words.
PRESETS: Mapping[str, tuple[PresetField, ...]] = {
    PRODUCT: (
        PresetField("price", NUMBER, ("product:price:amount", "og:price:amount"), learns=True),
        PresetField("currency", TEXT, ("product:price:currency", "og:price:currency")),
        PresetField("sku", learns=True),
        PresetField("brand", TEXT, ("product:brand",), learns=True),
        PresetField("availability"),
        PresetField("rating", NUMBER, learns=True),
    ),
    EVENT: (
        PresetField("name"),
        PresetField("start", DATE, ("event:start_time",)),
        PresetField("end", DATE, ("event:end_time",)),
        PresetField("place"),
        PresetField("address"),
        PresetField("price", NUMBER),
    ),
    RECIPE: (
        PresetField("ingredients", many=True),
        PresetField("steps", many=True),
        PresetField("yield"),
        PresetField("total_time"),
    ),
    PLACE: (
        PresetField("address"),
        PresetField("telephone", TEXT, ("business:contact_data:phone_number",)),
        PresetField("opening_hours", many=True),
        PresetField("latitude", NUMBER, ("place:location:latitude", "og:latitude")),
        PresetField("longitude", NUMBER, ("place:location:longitude", "og:longitude")),
    ),
}


@dataclass(frozen=True, slots=True)
class FieldExample:
    """The *value* that a field has on the page at the address *url*."""

    url: str
    value: str


@dataclass(frozen=True, slots=True)
class OwnField:
    """A field that a user wants.

    *kind* is the type of its values, one of `KINDS`. A field has either *selectors* or *examples*.
    A selector is one of `SELECTORS` and an expression, and the first selector that finds a value
    counts. If *learns*, pages where a selector finds a value are used to learn where the site
    shows the field, so that it is also read on pages where no selector finds a value. If
    *many*, the value is a list of all values that a selector finds.
    """

    name: str
    kind: str
    selectors: tuple[tuple[str, str], ...] = ()
    examples: tuple[FieldExample, ...] = ()
    learns: bool = False
    many: bool = False


@dataclass(frozen=True)
class FieldsFile:
    """The fields that a user wants. `Page.from_html` reads the fields with selectors.

    >>> from contentspider import Page
    >>> file = FieldsFile.parse('price = {css = ".price", type = "number"}')
    >>> Page.from_html("<p>Tea <b class=price>12,90 EUR</b>", fields_file=file).own.values
    {'price': 12.9}
    """

    fields: tuple[OwnField, ...] = ()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FieldsFile:
        """Return the fields in the file *path*; raises `FieldsError` if it cannot be used."""
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise FieldsError(f"{path} cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise FieldsError(
                f"{path} is not encoded as UTF-8; save it in that encoding"
            ) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str = FIELDS_FILE) -> FieldsFile:
        """Return the fields in *text*, the content of the file *name*; raises `FieldsError`."""
        try:
            tables = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise FieldsError(f"{name}: not valid TOML: {error}") from error
        return cls.of(tables, name)

    @classmethod
    def of(cls, tables: Mapping[str, Any], name: str = FIELDS_FILE) -> FieldsFile:
        """Return the fields in the *tables* of the file *name*; raises `FieldsError`."""
        fields = _preset_fields(name, tables)
        for key, table in tables.items():
            if key != PRESET:
                fields[key] = _field(f"{name}: [{key}]", key, table)
        if not 0 < len(fields) <= MAX_FIELDS:
            raise FieldsError(
                f"{name}: it has {len(fields)} fields; write a table for each, such as [price]"
                f" (at most {MAX_FIELDS})"
            )
        return cls(tuple(fields.values()))

    @cached_property
    def with_selectors(self) -> tuple[OwnField, ...]:
        """The fields that have selectors."""
        return tuple(field for field in self.fields if field.selectors)

    @cached_property
    def with_examples(self) -> tuple[OwnField, ...]:
        """The fields that are learned from examples of the user."""
        return tuple(field for field in self.fields if field.examples)

    @cached_property
    def learning(self) -> tuple[OwnField, ...]:
        """The fields with selectors that are also learned (`OwnField.learns`)."""
        return tuple(field for field in self.fields if field.learns)

    @cached_property
    def _example_urls(self) -> dict[str, str]:
        urls = (example.url for field in self.fields for example in field.examples)
        return {_url_key(url): url for url in urls}

    def example_url(self, url: str) -> str:
        """Return the address of an example as the file writes it, if *url* is the same page; else
        return "".
        """
        return self._example_urls.get(_url_key(url), "") if self._example_urls else ""

    @cached_property
    def selectors_digest(self) -> str:
        """A digest of the selectors, "" without any. It is stored with the pages that were read."""
        return _digest(self.with_selectors)

    @cached_property
    def examples_digest(self) -> str:
        """A digest of the fields that are learned, "" without any. It is stored with the models of
        sites.
        """
        return _digest(self.with_examples + self.learning)

    def read(self, root: _Element, statements: Statements, url: str = "") -> OwnValues | None:
        """Return the values that the selectors find on the page at *url*; None without selectors.

        *root* is the page's tree, *statements* its meta elements and JSON-LD. A selector that fails
        on a page finds no value there; a warning is logged at its first failure.
        """
        if not self.with_selectors:
            return None

        def warn(name: str, error: Exception) -> None:
            if name not in self._failed_names:
                self._failed_names.add(name)
                logger.warning(
                    "the selector of the field %s fails, for the first time on %s, and finds no"
                    " value: %s",
                    name,
                    url,
                    error,
                )

        rules = [
            Rule(each.name, each.kind, each.selectors, each.many) for each in self.with_selectors
        ]
        values = read_values(rules, root, statements, warn)
        return OwnValues(self.selectors_digest, values)

    @cached_property
    def _failed_names(self) -> set[str]:
        """The names of the fields whose selectors have failed on a page."""
        return set()


def _url_key(url: str) -> str:
    """Return an address for comparison: without its scheme, fragment and last slash."""
    return url.partition("#")[0].rpartition("://")[2].rstrip("/")


def _digest(fields: tuple[OwnField, ...]) -> str:
    if not fields:
        return ""
    record = json.dumps([asdict(field) for field in fields])
    return sha256(record.encode("utf-8", "replace")).hexdigest()[:12]


def _preset_fields(name: str, tables: Mapping[str, Any]) -> dict[str, OwnField]:
    """Return the fields of the presets that a file names, by name. If two presets have a field, the
    selectors of the first one are used first.
    """
    presets = tables.get(PRESET, [])
    fields: dict[str, OwnField] = {}
    for preset in presets if isinstance(presets, list) else [presets]:
        if not isinstance(preset, str) or preset not in PRESETS:
            raise FieldsError(
                f"{name}: {PRESET} = {preset!r} is unknown; use {', '.join(PRESETS)}, or a list"
            )
        for each in PRESETS[preset]:
            first = fields.get(each.name)
            fields[each.name] = OwnField(
                each.name,
                each.kind,
                (*(first.selectors if first else ()), *each.selectors(preset)),
                learns=each.learns or (first is not None and first.learns),
                many=each.many,
            )
    return fields


def _field(where: str, name: str, table: Any) -> OwnField:
    """Return the field of a table; *where* begins the messages of errors."""
    if not name.isidentifier():
        raise FieldsError(f"{where}: a name has letters, digits and _, and begins with a letter")
    if not isinstance(table, dict):
        raise FieldsError(f"{where} is not a table; write [{name}] above its keys")
    for key in table:
        if key not in KEYS:
            raise FieldsError(f"{where}: the key {key!r} is unknown; use {', '.join(KEYS)}")
    kind = table.get(TYPE, TEXT)
    if kind not in KINDS:
        raise FieldsError(f"{where}: type = {kind!r} is unknown; use {', '.join(KINDS)}")
    way = _way(where, table)
    learns, many = _flag(where, table, way, LEARN), _flag(where, table, way, MANY)
    if learns and many:
        raise FieldsError(f"{where}: lists are not learned; leave out {LEARN} or {MANY}")
    if way == EXAMPLES:
        return OwnField(name, kind, examples=_examples(where, kind, table[EXAMPLES]))
    selectors = ((way, _selector(where, way, table[way])),)
    return OwnField(name, kind, selectors, learns=learns, many=many)


def _flag(where: str, table: Mapping[str, Any], way: str, key: str) -> bool:
    """Return the value of a key that is true or false, and that may be true beside selectors."""
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise FieldsError(f"{where}: {key} is true or false")
    if value and way == EXAMPLES:
        raise FieldsError(
            f"{where}: {key} = true needs a selector ({', '.join(SELECTORS)}) instead of {EXAMPLES}"
        )
    return value


def _way(where: str, table: Mapping[str, Any]) -> str:
    """Return the only key of a table that says how to find the field."""
    ways = [key for key in (*SELECTORS, EXAMPLES) if key in table]
    if len(ways) != 1:
        raise FieldsError(
            f"{where} has {' and '.join(ways) or 'no selector'}; give one of"
            f" {', '.join(SELECTORS)} and {EXAMPLES}"
        )
    return ways[0]


def _selector(where: str, way: str, selector: Any) -> str:
    """Return the selector in a table; raises `FieldsError` if it is invalid."""
    if not isinstance(selector, str) or not selector.strip():
        raise FieldsError(f"{where}: {way} is not a text")
    try:
        check_selector(way, selector)
    except ValueError as error:
        raise FieldsError(f"{where}: {way} = {selector!r} cannot be used: {error}") from error
    return selector


def _examples(where: str, kind: str, entries: Any) -> tuple[FieldExample, ...]:
    """Return the examples in the list *entries* of a table; raises `FieldsError`."""
    if not isinstance(entries, list) or not MIN_EXAMPLES <= len(entries) <= MAX_EXAMPLES:
        raise FieldsError(
            f"{where}: give {MIN_EXAMPLES} or 3 examples (at most {MAX_EXAMPLES}), such as"
            ' examples = [{url = "https://...", value = "12,90 EUR"}, ...]'
        )
    examples: list[FieldExample] = []
    for number, entry in enumerate(entries, 1):
        example = _example(entry) if isinstance(entry, dict) else None
        if example is None:
            raise FieldsError(f'{where}: example {number} is not {{url = "...", value = "..."}}')
        if typed(example.value, kind) is None:
            raise FieldsError(f"{where}: {example.value!r}, example {number}, is not a {kind}")
        if any(_url_key(example.url) == _url_key(other.url) for other in examples):
            raise FieldsError(f"{where}: two examples are of the page {example.url}")
        examples.append(example)
    return tuple(examples)


def _example(entry: Mapping[str, Any]) -> FieldExample | None:
    """Return the example in an entry of the list; None if the entry is invalid."""
    if entry.keys() != {"url", "value"}:
        return None
    url, value = entry["url"], entry["value"]
    if isinstance(value, date):
        value = value.isoformat()
    is_value = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    if not isinstance(url, str) or not is_value:
        return None
    text = " ".join(str(value).split())
    return FieldExample(url.strip(), text) if text and url.strip() else None
