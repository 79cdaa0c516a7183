"""Errors by their codes, and the wordings of messages by their keys in `messages.toml`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.ground.errors import ContentSpiderError

FILE = Path(__file__).with_name("messages.toml")
WORDINGS: dict[str, str] = {
    f"{room}.{name}": text
    for room, texts in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
    for name, text in texts.items()
}


def wording(key: str, *values: object) -> str:
    """Return a part of a message, by ROOM.NAME, with the *values* in place of its ``{}``."""
    return WORDINGS[key].format(*values)


@contextmanager
def raises(
    error: type[ContentSpiderError], code: str, *values: object
) -> Iterator[pytest.ExceptionInfo[ContentSpiderError]]:
    """Expect an error of a type with a *code*, whose message names the *values*."""
    with pytest.raises(error) as raised:
        yield raised
    assert raised.value.code == code, raised.value
    for value in values:
        assert str(value) in str(raised.value)
