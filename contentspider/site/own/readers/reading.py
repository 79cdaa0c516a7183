"""What the readers of own texts share: bodies as JSON or XML, and markup as text.

Bodies are untrusted: if they are too large, too deep or broken, the result is None or empty.
"""

from __future__ import annotations

import json
import re
from html.entities import html5
from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree

from contentspider.page.about.authors import author_names
from contentspider.page.about.dates import parse_date
from contentspider.page.input.page import Page
from contentspider.page.words.tidy import tidy
from contentspider.site.own.texts import MAX_CHARS, MAX_TITLE_CHARS, OwnText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

# The index of a large documentation has some 10 MB.
MAX_BODY_BYTES = 30_000_000
# Objects and arrays, or tags: each takes some hundred bytes of memory, and three in the body.
MAX_NODES = 1_000_000
# Markup is longer than its text.
MAX_MARKUP_CHARS = 4 * MAX_CHARS
SPACE = b" \t\r\n\xef\xbb\xbf"
MARKUP = re.compile(r"<[a-z!/?]|&#?\w{2,31};", re.IGNORECASE)
# An ampersand that begins no entity of XML; in what is passed over it means nothing.
AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
    rb"|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-fA-F]{1,6});)(?:(\w{2,31};))?",
    re.DOTALL,
)


def is_json(body: bytes) -> bool:
    """Tell whether a body begins like a JSON object or array."""
    return body[:1_000].lstrip(SPACE)[:1] in (b"{", b"[")


def read_json(body: bytes) -> object:
    """Return the value of a JSON body; None if it is broken or too large."""
    if len(body) > MAX_BODY_BYTES or body.count(b"{") + body.count(b"[") > MAX_NODES:
        return None
    try:
        value: object = json.loads(body.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return value


def mend_ampersands(body: bytes) -> bytes:
    """Return XML whose ampersands all begin entities that it has: most of those that do not stand
    in addresses, of which libxml2 would drop the rest; HTML's entities become their characters.

    >>> mend_ampersands(b"<loc>/?a=1&b=2&amp;copy=3</loc><title>Caf&eacute;")
    b'<loc>/?a=1&amp;b=2&amp;copy=3</loc><title>Caf&#233;'
    """
    # UTF-16, in which an ampersand has two bytes; or entities of its own.
    is_other = b"\0" in body[:100] or b"<!ENTITY" in body
    if is_other or not 0 < body.count(b"&") <= MAX_NODES:  # each takes two microseconds
        return body
    return AMPERSAND.sub(_mended, body)


def _mended(match: re.Match[bytes]) -> bytes:
    whole = match[0]
    if whole.startswith(b"<"):
        return whole
    characters = html5.get((match[1] or b"").decode("ascii", "replace"))
    if characters is None:
        return b"&amp;" + whole[1:]
    return "".join(f"&#{ord(char)};" for char in characters).encode()


def read_xml(body: bytes) -> _Element | None:
    """Return the root of XML, even if it is broken; None if nothing can be read. Entities
    are not resolved, no file or address is opened, and it ends where libxml2 suspects a bomb.
    """
    if len(body) > MAX_BODY_BYTES or body.count(b"<") > MAX_NODES:
        return None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    try:
        return etree.fromstring(mend_ampersands(body), parser)
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return None


def inner_text(element: _Element) -> str:
    """Return the text in an element of XML, its entities as they are written."""
    return "".join(map(str, element.itertext()))


def own_text(
    url: str,
    text: str,
    source: str,
    title: str = "",
    authors: Iterable[str] = (),
    published: str = "",
    modified: str = "",
) -> OwnText:
    """Return an own text whose title, authors and dates are as a site writes them."""
    dates = parse_date(published), parse_date(modified)
    return OwnText(url, text, source, title_of(title), author_names(authors), *dates)


def text_of(markup: str) -> str:
    """Return the text of HTML, a paragraph a line; plain text keeps its lines."""
    markup = markup[:MAX_MARKUP_CHARS]
    if not MARKUP.search(markup):
        return join_lines(markup.splitlines())
    return join_lines(block.text for block in Page.from_html(markup).content.blocks)


def join_lines(lines: Iterable[str]) -> str:
    """Return the non-empty lines, tidied, as a text of at most `MAX_CHARS` characters."""
    found: list[str] = []
    left = MAX_CHARS
    for line in lines:
        if left <= 0:
            break
        if clean := tidy(line, left):
            found.append(clean)
            left -= len(clean) + 1  # and the end of the line
    return "\n".join(found)


def title_of(markup: str) -> str:
    """Return a title, in HTML or as it is, on one line of `MAX_TITLE_CHARS` characters at most."""
    return tidy(text_of(markup[: 4 * MAX_TITLE_CHARS]).replace("\n", " "), MAX_TITLE_CHARS)


def string(value: object) -> str:
    """Return a value of JSON if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: object, most: int) -> list[dict[str, object]]:
    """Return the objects among the first *most* values of a JSON array, if it is one."""
    values = islice(value, most) if isinstance(value, list) else ()
    return [entry for entry in values if isinstance(entry, dict)]
