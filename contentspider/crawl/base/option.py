"""What an option is: its type, how its values are read and checked, and where it may stand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contentspider.ground.errors import ContentSpiderError

KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list of texts, or texts with commas between them",
    dict: "a table: a dict, or a JSON object",
}
BOOLEANS = {"1": True, "true": True, "0": False, "false": False}


class SettingError(ContentSpiderError, ValueError):
    """An option has a value that cannot work, or does not exist; the message says what would."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option; its default tells its type. Numbers are between *minimum* and *maximum*, texts one
    of *choices*, made by *convert*. It may be a Scrapy *setting*, *flags* of ``crawl`` in a *group*
    of its help (without a value: *const*), a key of ``sites.toml``, and the site spider's argument.
    """

    name: str
    default: Any
    help: str
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple[str, ...] = ()
    convert: Callable[[str], Any] | None = None
    setting: str = ""
    flags: str = ""
    group: str = ""
    metavar: str = ""
    const: str = ""
    in_sites: bool = False
    in_spider: bool = False

    @property
    def key(self) -> str:
        """Its name in ``sites.toml`` and among the command's parsed options: that of its flag."""
        return self.flag.removeprefix("--").removeprefix("no-").replace("-", "_")

    @property
    def flag(self) -> str:
        """Its long flag."""
        return self.flags.split()[-1]

    def read(self, value: Any, strict: bool = False) -> Any:
        """Return a value in the option's type, which it must have already if *strict*."""
        kind = type(self.default)
        if strict:
            value = [value] if kind is list and isinstance(value, str) else value
            if not _has_type(kind, value):
                raise SettingError(self.advice)
        try:
            found = self._converted(kind, value)
        except ContentSpiderError:
            raise
        except (ValueError, TypeError, LookupError, OverflowError):
            raise SettingError(self.advice) from None
        if (kind in (int, float) and not self.minimum <= found <= self.maximum) or (
            self.choices and found not in self.choices
        ):
            raise SettingError(self.advice)
        return found

    def read_setting(self, value: Any) -> Any:
        """Return the value of its Scrapy setting; the `SettingError` that it raises names it."""
        try:
            return self.default if value is None else self.read(value)
        except SettingError as error:
            raise SettingError(f"{self.setting}={value!r} cannot be used: {error}") from None

    @property
    def advice(self) -> str:
        """What to give."""
        if self.choices:
            return f"use one of {', '.join(map(repr, filter(None, self.choices)))}"
        advice = f"give {KINDS[type(self.default)]}"
        if self.maximum < math.inf:
            advice += f" from {self.minimum:g} to {self.maximum:g}"
        elif self.minimum > -math.inf:
            advice += f" from {self.minimum:g} on"
        return f"{advice}, such as {self.default!r}" if self.default else advice

    def _converted(self, kind: type, value: Any) -> Any:
        if kind is bool:
            return BOOLEANS[str(value).lower()]
        if kind is dict:
            return dict(json.loads(value) if isinstance(value, str) else value)
        if kind is list:
            entries = value.split(",") if isinstance(value, str) else list(value)
            return list(map(self.convert or (lambda entry: str(entry).strip()), entries))
        if kind is int and isinstance(value, float) and not value.is_integer():
            raise ValueError
        if kind is str:
            if not isinstance(value, (str, Path)):
                raise TypeError
            return self.convert(str(value)) if self.convert else str(value)
        return kind(value)


def _has_type(kind: type, value: Any) -> bool:
    """Tell whether a value of a TOML file has a type, and is not empty text."""
    if kind is list:
        return isinstance(value, list) and all(_has_type(str, entry) for entry in value)
    if isinstance(value, bool):
        return kind is bool
    types = (int, float) if kind is float else kind
    return isinstance(value, types) and (not isinstance(value, str) or bool(value.strip()))


def assignment(text: str) -> tuple[str, str]:
    """Return the name and the value of NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise SettingError("give NAME=VALUE")
    return name, value


def header(text: str) -> tuple[str, str]:
    """Return the name and the value of a header, NAME:VALUE."""
    name, separator, value = text.partition(":")
    if not separator or not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name.strip(), re.ASCII):
        raise SettingError("give NAME:VALUE")
    if re.search(r"[\0\r\n]", value):
        raise SettingError(f"the value of {name!r} is more than a line")
    return name.strip(), value.strip()
