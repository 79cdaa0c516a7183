"""What a setting is: how its value is read and checked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# The word for a setting's type, by its default's.
KINDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list of names, or names with commas between them",
    dict: "a dict, or a JSON object",
}


class SettingError(ContentSpiderError, ValueError):
    """A setting has a value that cannot work, or does not exist; the message says what would."""


class Setting(NamedTuple):
    """A Scrapy setting: its name, its default, which tells its type, and what it does in one line.

    Numbers are between *minimum* and *maximum*; words are one of *choices*.
    """

    name: str
    default: Any
    meaning: str
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple[str, ...] = ()

    def parse(self, settings: BaseSettings) -> Any:
        """Return the setting's value in the type of its default; raises `SettingError`."""
        value = settings.get(self.name)
        if value is None:
            return self.default
        kind = type(self.default)
        try:
            found = self._read(settings, kind, value)
        except (ValueError, TypeError, OverflowError):
            raise self._error(value) from None
        if kind in (int, float) and not self.minimum <= found <= self.maximum:
            raise self._error(value)
        if self.choices and found not in self.choices:
            raise self._error(value)
        return found

    def _read(self, settings: BaseSettings, kind: type, value: Any) -> Any:
        if kind is bool:
            return settings.getbool(self.name)
        if kind is int:
            if isinstance(value, float) and not value.is_integer():
                raise ValueError
            return settings.getint(self.name)
        if kind is float:
            return settings.getfloat(self.name)
        if kind is list:
            return [str(entry).strip() for entry in settings.getlist(self.name)]
        if kind is dict:
            return settings.getdict(self.name)
        if not isinstance(value, (str, Path)):
            raise TypeError
        return str(value)

    def _error(self, value: object) -> SettingError:
        if self.choices:
            advice = f"use one of {', '.join(map(repr, self.choices))}"
        else:
            advice = f"give {KINDS[type(self.default)]}"
            if self.maximum < math.inf:
                advice += f" from {self.minimum:g} to {self.maximum:g}"
            elif self.minimum > -math.inf:
                advice += f" from {self.minimum:g} on"
            advice += f", such as {self.default!r}"
        return SettingError(f"{self.name}={value!r} cannot be used: {advice}")
