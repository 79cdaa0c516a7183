"""Reads a person's corrections from ``overrides.toml`` beside a site's model."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, OverridesError
from contentspider.ground.patterns import compile_pattern
from contentspider.page.input.corrections import Rule, Selector

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import os

OVERRIDES = "overrides.toml"
LISTS = ("keep", "drop")
PLACES = ("title", "date", "author")
PATTERN, RULE = "pattern", "rule"
RULE_LINE = re.compile(r"\s*\[\[\s*rule\s*\]\]")
ERROR_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)")


@dataclass(frozen=True, slots=True, repr=False)
class Overrides:
    """The corrections of a site. `Page.from_html` records which blocks they match.

    >>> from contentspider import Page
    >>> overrides = Overrides.parse('drop = [".ad"]  # everywhere')
    >>> page = Page.from_html("<p>Tea is made of leaves.</p><p class=ad>Buy!", overrides=overrides)
    >>> page.corrections.drop
    {'.ad': [1]}
    """

    tables: tuple[Rule, ...]

    def __repr__(self) -> str:
        return f"<Overrides: {counted(len(self.tables), 'rules')}>"

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Overrides | None:
        """Return the corrections in a model's *folder*; None if the folder lacks an overrides file.

        Raises `OverridesError`, whose message names the file and the line.
        """
        path = Path(folder) / OVERRIDES
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise OverridesError(f"{path} cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise OverridesError(
                f"{path}:{line}: the file is not encoded as UTF-8; save it in that encoding"
            ) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str = OVERRIDES) -> Overrides:
        """Return the corrections in *text*, the content of the file *name*; raises
        `OverridesError` if it is invalid.
        """
        try:
            record = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            message = str(error)
            # The message of an error at the end of the document lacks a line number.
            place = ERROR_LINE.search(message)
            line = int(place[1]) if place else max(1, len(text.splitlines()))
            raise OverridesError(
                f"{name}:{line}: not valid TOML: {ERROR_LINE.sub('', message)}"
            ) from error
        reader = _Reader(text, name)
        rules = record.pop(RULE, [])
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise reader.error("'rule' is not a table; write [[rule]] above each", 0, RULE)
        tables = [reader.rule(record, 0)] if record else []
        tables += [reader.rule(rule, number) for number, rule in enumerate(rules, 1)]
        return cls(tuple(tables))

    def rules(self, address: str) -> list[Rule]:
        """Return the rules that apply to the page at *address*."""
        return [rule for rule in self.tables if rule.holds_for(address)]


class _Reader:
    """Reads the tables of an overrides file as rules, and finds the line of an error."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.splitlines()
        starts = [number for number, line in enumerate(self.lines) if RULE_LINE.match(line)]
        self.bounds = [0, *starts, len(self.lines)]

    def rule(self, table: dict[str, Any], number: int) -> Rule:
        """Return *table* as a rule.

        *number* is 0 for the keys above the first ``[[rule]]`` table; tables are numbered from 1.
        """
        keys = [*LISTS, *PLACES, PATTERN if number else RULE]
        for key in table:
            if key not in keys:
                raise self.error(f"unknown key {key!r}; use {', '.join(keys)}", number, key)
        pattern = table.get(PATTERN, "*")
        if not isinstance(pattern, str):
            raise self.error(f"{PATTERN} is not a string", number, PATTERN)
        try:
            address = compile_pattern(pattern)
        except ContentSpiderError as error:
            raise self.error(str(error), number, PATTERN, pattern) from error
        keep, drop = (self._selectors(table, key, number) for key in LISTS)
        title, date, author = (
            self._selector(table[key], number, key) if key in table else None for key in PLACES
        )
        return Rule("" if pattern == "*" else pattern, address, keep, drop, title, date, author)

    def _selectors(self, table: dict[str, Any], key: str, number: int) -> tuple[Selector, ...]:
        texts = table.get(key, [])
        if not isinstance(texts, list):
            raise self.error(f"{key} is not a list of selectors, such as ['.ad']", number, key)
        return tuple(self._selector(text, number, key) for text in texts)

    def _selector(self, text: object, number: int, key: str) -> Selector:
        # Imported here: only corrections need it.
        from cssselect import SelectorError
        from lxml.cssselect import CSSSelector

        if not isinstance(text, str):
            raise self.error(f"{key} has {text!r}, which is not a string", number, key)
        try:
            return Selector(text, CSSSelector(text, translator="html"))
        except (SelectorError, ValueError, RuntimeError) as error:
            # ValueError: a character that XPath cannot have. RuntimeError: an unexpected end.
            message = f"{text!r} is not a valid CSS selector ({error})"
            raise self.error(message, number, key, text) from error

    def error(self, message: str, number: int, key: str, value: str = "") -> OverridesError:
        """Return an error with *message* and the line of the value, or else of the key."""
        line = self._line(number, key, value)
        return OverridesError(f"{self.name}:{line}: {message}")

    def _line(self, number: int, key: str, value: str) -> int:
        """Return the number of the line with *value*, or else with *key*, in a table of the file;
        the table's first line if neither occurs.
        """
        start, end = 0, len(self.lines)
        if number + 1 < len(self.bounds):
            start, end = self.bounds[number : number + 2]
        spellings = [value, json.dumps(value, ensure_ascii=False)[1:-1]] if value else []
        key_line = re.compile(
            rf"""\s*(?:\[+\s*(?:rule\s*\.\s*)?)?["']?{re.escape(key)}["']?\s*[=.\]]"""
        )
        for index in range(start, end):
            if any(spelling in self.lines[index].partition(" #")[0] for spelling in spellings):
                return index + 1
        for index in range(start, end):
            if key_line.match(self.lines[index]):
                return index + 1
        return start + 1
