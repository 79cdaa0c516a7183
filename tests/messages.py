"""The wordings of messages in tests: they are in one file, `messages.toml`, by room and key."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).with_name("messages.toml")
WORDINGS: dict[str, str] = {
    f"{room}.{name}": text
    for room, texts in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
    for name, text in texts.items()
}


def wording(key: str, *values: object) -> str:
    """Return a part of a message, by ROOM.NAME, with the *values* in place of its ``{}``."""
    return WORDINGS[key].format(*values)
