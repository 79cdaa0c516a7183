"""The definition of an option: its type, its checks, and where a user may set it."""

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
HIDDEN = "***"  # is shown instead of a secret value
BOOLEANS = {"1": True, "true": True, "0": False, "false": False}


class SettingError(ContentSpiderError, ValueError):
    """An option is unknown, or its value cannot be used. The message says which values can."""

    code = "setting"


@dataclass(frozen=True, slots=True)
class Option:
    """An option, whose type is the type of its *default*.

    A number must be between *minimum* and *maximum*, a text must be one of *choices*; *convert*
    reads a text. A user may set the option as a Scrapy *setting*, with the *flags* of ``crawl``
    (in a *group* of its help; *const* is the value of a flag without one, *off* the help of a flag
    that turns the option off), in ``sites.toml``
    (*in_sites*), or as an argument of the site spider (*in_spider*). Error messages do not repeat
    the value of an option that *is_secret*.
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
    off: str = ""
    in_sites: bool = False
    in_spider: bool = False
    is_secret: bool = False

    @property
    def key(self) -> str:
        """The name in ``sites.toml`` and among the command's parsed options, made of the flag."""
        return self.flag.removeprefix("--").removeprefix("no-").replace("-", "_")

    @property
    def flag_help(self) -> str:
        """The help text of the flags: *off* if they turn the option off, otherwise *help*."""
        return self.off or self.help

    @property
    def flag(self) -> str:
        """The long flag."""
        return self.flags.split()[-1]

    def read(self, value: Any, strict: bool = False) -> Any:
        """Return a value, converted to the option's type; raises `SettingError`.

        A *strict* option accepts only values that have the type already, as TOML's values have.
        """
        kind = type(self.default)
        if strict:
            value = [value] if kind is list and isinstance(value, str) else value
            if not _has_type(kind, value):
                raise SettingError(self.advice)
        try:
            result = self._convert(kind, value)
        except ContentSpiderError:
            raise
        except (ValueError, TypeError, LookupError, OverflowError):
            raise SettingError(self.advice) from None
        if kind in (int, float) and not self.minimum <= result <= self.maximum:
            raise SettingError(self.advice)
        if self.choices and result not in self.choices:
            raise SettingError(self.advice)
        return result

    def read_setting(self, value: Any) -> Any:
        """Return the value of the Scrapy setting; raises `SettingError` with its name."""
        try:
            return self.default if value is None else self.read(value)
        except SettingError as error:
            shown = HIDDEN if self.is_secret else repr(value)
            raise SettingError(f"{self.setting}={shown} cannot be used: {error}") from None

    @property
    def advice(self) -> str:
        """The part of an error message that says which values can be used."""
        if self.choices:
            return f"use one of {', '.join(map(repr, filter(None, self.choices)))}"
        advice = f"give {KINDS[type(self.default)]}"
        if self.maximum < math.inf:
            advice += f" from {self.minimum:g} to {self.maximum:g}"
        elif self.minimum > -math.inf:
            advice += f" from {self.minimum:g} on"
        return f"{advice}, such as {self.default!r}" if self.default else advice

    def _convert(self, kind: type, value: Any) -> Any:
        """Return a value as a *kind*; raises the errors of the conversion."""
        if kind is bool:
            return BOOLEANS[str(value).lower()]
        if kind is dict:
            return dict(json.loads(value) if isinstance(value, str) else value)
        if kind is list:
            return self._convert_list(value)
        if kind is str:
            if not isinstance(value, (str, Path)):
                raise TypeError
            return self.convert(str(value)) if self.convert else str(value)
        if kind is int and isinstance(value, float) and not value.is_integer():
            raise ValueError
        return kind(value)

    def _convert_list(self, value: Any) -> list[Any]:
        """Return the entries of a list, or of a text with commas between them. An empty text has
        none, and neither has "[]": on a command line both switch off what a file of settings names.
        """
        entries = value
        if isinstance(value, str):
            entries = [] if value.strip() == "[]" else filter(str.strip, value.split(","))
        if self.convert:
            return [self.convert(entry) for entry in entries]
        return [str(entry).strip() for entry in entries]


def _has_type(kind: type, value: Any) -> bool:
    """Tell whether a value of a TOML file has a type. Empty text has none."""
    if kind is list:
        return isinstance(value, list) and all(_has_type(str, entry) for entry in value)
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, str):
        return kind is str and bool(value.strip())
    types = (int, float) if kind is float else kind
    return isinstance(value, types)


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
    if not value.strip():
        raise SettingError("the header has no value; put it in quotes, as in -H 'NAME: VALUE'")
    if re.search(r"[\0\r\n]", value):
        raise SettingError(f"the value of {name!r} must be a single line", code="header-lines")
    return name.strip(), value.strip()
