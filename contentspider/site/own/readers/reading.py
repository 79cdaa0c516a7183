"""Functions that the readers of own texts share: they parse JSON and XML, and convert HTML to text.

Bodies are untrusted. For a body that is too large, too deeply nested or broken the result is None
or empty.
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
from contentspider.page.input.page import page_of_markup
from contentspider.page.words.tidy import tidy
from contentspider.site.own.texts import MAX_CHARS, MAX_TITLE_CHARS, OwnText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

# The index of a large documentation has some 10 MB.
MAX_BODY_BYTES = 30_000_000
# The limit of objects and arrays in JSON, and of tags in XML. Each takes some hundred bytes of
# memory, although it may take only three bytes in the body.
MAX_NODES = 1_000_000
# Markup may be this much longer than its text.
MAX_MARKUP_CHARS = 4 * MAX_CHARS
SPACE = b" \t\r\n\xef\xbb\xbf"
MARKUP = re.compile(r"<[a-z!/?]|&#?\w{2,31};", re.IGNORECASE)
# An ampersand that does not begin an entity of XML. CDATA sections and comments match as a whole,
# so that their ampersands are skipped.
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
    """Return XML with its ampersands mended: each of them begins an entity of XML.

    Feeds often have addresses with plain ampersands, which libxml2 would cut. These ampersands are
    escaped. Entities of HTML are replaced by their characters.

    >>> mend_ampersands(b"<loc>/?a=1&b=2&amp;copy=3</loc><title>Caf&eacute;")
    b'<loc>/?a=1&amp;b=2&amp;copy=3</loc><title>Caf&#233;'
    """
    # In UTF-16 an ampersand has two bytes; other documents declare entities of their own.
    is_unsupported = b"\0" in body[:100] or b"<!ENTITY" in body
    # Each ampersand takes two microseconds.
    if is_unsupported or not 0 < body.count(b"&") <= MAX_NODES:
        return body
    return AMPERSAND.sub(_escape_ampersand, body)


def _escape_ampersand(match: re.Match[bytes]) -> bytes:
    whole = match[0]
    if whole.startswith(b"<"):  # a CDATA section or a comment
        return whole
    characters = html5.get((match[1] or b"").decode("ascii", "replace"))
    if characters is None:
        return b"&amp;" + whole[1:]
    return "".join(f"&#{ord(char)};" for char in characters).encode()


def read_xml(body: bytes) -> _Element | None:
    """Return the root element of XML, even if the XML is broken; None if nothing can be read.

    Entities are not resolved, and no file or address is opened. If libxml2 suspects an attack by
    huge or deeply nested content, the tree ends there.
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
    """Return the text in an element of XML; its entities stay as they are written."""
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
    """Return an own text, with *title*, *authors* and dates converted from a site's notation."""
    dates = parse_date(published), parse_date(modified)
    return OwnText(url, text, source, title_of(title), author_names(authors), *dates)


def text_of(markup: str) -> str:
    """Return the text of HTML, with one paragraph per line. Plain text keeps its lines."""
    markup = markup[:MAX_MARKUP_CHARS]
    if not MARKUP.search(markup):
        return join_lines(markup.splitlines())
    return join_lines(block.text for block in page_of_markup(markup).content.blocks)


def join_lines(lines: Iterable[str]) -> str:
    """Return the tidied non-empty lines as one text of at most `MAX_CHARS` characters."""
    tidy_lines: list[str] = []
    free_chars = MAX_CHARS
    for line in lines:
        if free_chars <= 0:
            break
        if tidy_line := tidy(line, free_chars):
            tidy_lines.append(tidy_line)
            free_chars -= len(tidy_line) + 1  # a line ends with a line feed
    return "\n".join(tidy_lines)


def title_of(markup: str) -> str:
    """Return a title in HTML or plain text as one line of at most `MAX_TITLE_CHARS` characters."""
    return tidy(text_of(markup[: 4 * MAX_TITLE_CHARS]).replace("\n", " "), MAX_TITLE_CHARS)


def string(value: object) -> str:
    """Return a JSON value if it is a string, and "" otherwise."""
    return value if isinstance(value, str) else ""


def objects(value: object, max_values: int) -> list[dict[str, object]]:
    """Return the objects among the first *max_values* values of a JSON array.

    The result is empty if *value* is not an array.
    """
    values = islice(value, max_values) if isinstance(value, list) else ()
    return [entry for entry in values if isinstance(entry, dict)]
