"""Text of items that the writers of several formats share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

Record = Mapping[str, Any]
# Called once or twice: CSV needs all column names before the first row.
Records = Callable[[], Iterable[Record]]

# The characters that XML 1.0 cannot hold; no reader needs them in the other formats either.
NO_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def encode(text: str) -> bytes:
    """Return a text as UTF-8. Half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace")


def clean(text: str) -> str:
    """Return a text with U+FFFD for the characters that no file may hold."""
    return NO_TEXT.sub("\ufffd", text)


def address(record: Record) -> str:
    """Return the address of an item; empty for a page from standard input, which has none."""
    return str(record.get("url") or "")


def link_target(record: Record) -> str:
    """Return the address of an item as the target of a link in Markdown, "" without an address."""
    return quote(encode(address(record)), safe=";/?:@&=+$,#%[]!~*'()")


def titled_markdown(record: Record) -> str:
    """Return an item's Markdown, below its title unless a line of the item is the title."""
    content = str(record.get("content") or "")
    text = str(record.get("content_markdown") or content)
    title = str(record.get("title") or "").split()
    lines = [*content.split("\n"), *text.split("\n")]
    if not title or any(line.lstrip("# ").split() == title for line in lines):
        return text
    return f"{markdown_heading(title)}\n\n{text}"


def markdown_heading(words: Sequence[str]) -> str:
    """Return a first heading of these *words* in Markdown, on one line and escaped."""
    from contentspider.page.tree.blocks import Block
    from contentspider.page.tree.resolver import Resolver
    from contentspider.page.write.markdown import write_markdown
    from contentspider.page.write.structure import parts

    return write_markdown(parts([Block(" ".join(words), "body/h1", "h1", 0)], Resolver("")))
