"""Bodies of pages: decoding and parsing them safely and fast."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lxml import etree
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    to_unicode,
)

from contentspider.page.input._body import cut_attributes

if TYPE_CHECKING:
    from lxml.etree import _Element

# What browsers know (https://encoding.spec.whatwg.org), as Python names it. Python has more codecs:
# some are no encodings of text, and punycode takes time as the square of the length.
ENCODINGS = frozenset(
    "utf-8 cp866 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10"
    " iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic cp874 cp1250"
    " cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 gb18030 big5hkscs euc_jp iso2022_jp"
    " cp932 cp949 utf-16 utf-16-be utf-16-le".split()
)
# Those in which a byte of ASCII may be something else: only their text can be searched for markup.
NOT_ASCII = frozenset(["iso2022_jp", "utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le"])

PROBE = "contentspider-cut"

# A tag takes up to 1 kB in a tree, with what we keep of it. Five times as many as on the largest of
# 5,000 large pages.
MAX_TAGS = 250_000
# A byte of text takes up to 24 bytes until it is in the history.
MAX_BYTES = 12_000_000

# What a page without any markup is parsed from: an empty document has no tree at all.
EMPTY_HTML = b"<html></html>"
# What `str.strip` takes off, as far as it is ASCII; what may stand alone on a page without text.
SPACE = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
UNSEEN = "\x00\ufeff"

# What text hardly holds: control characters but white space and the shifts of old Asian encodings.
# NUL is UTF-16's.
CONTROLS = bytes(set(range(1, 32)) - set(b"\t\n\f\r\x0e\x0f\x1b"))


# PDF, ZIP and what is packed with it, gzip, and pictures: some look like text otherwise.
SIGNATURES = (
    *(b"%PDF-", b"PK\x03\x04", b"\x1f\x8b\x08"),
    *(b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff"),
)
# What a server calls so is no page, even if it is markup (SVG).
MEDIA_TYPES = ("image/", "audio/", "video/", "font/")


def is_media(content_type: str) -> bool:
    """Tell whether a ``Content-Type`` is that of a picture, a film or the like."""
    return content_type.strip().lower().startswith(MEDIA_TYPES)


def is_binary(body: bytes) -> bool:
    """Tell whether a body is not HTML, whatever its content type.

    >>> [is_binary(body) for body in (b"%PDF-1.4", bytes(range(256)), "<p>é".encode("cp1252"))]
    [True, True, False]
    >>> is_binary("<p>日本".encode("iso2022_jp"))
    False
    """
    head = body[:1000]
    if head.startswith(SIGNATURES):
        return True
    # UTF-16 writes such bytes for Asian scripts; it begins with a mark, or its markup is full of
    # NULs.
    is_utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"<\0" in head or b"\0<" in head
    return not is_utf16 and len(head.translate(None, CONTROLS)) * 20 < len(head) * 19


def named_encoding(body: bytes, content_type: str | None) -> str | None:
    """Return the first Python codec that a page names, of any kind; None if it names none."""
    return (
        read_bom(body)[0]
        or http_content_type_encoding(content_type)
        or html_body_declared_encoding(body)
    )


def declared_encoding(body: bytes, content_type: str | None) -> str | None:
    """Return the encoding that a page's byte order mark, its *content_type* or its markup names, as
    Python names it; None if none does, or only one that browsers do not know.
    """
    if name := read_bom(body)[0]:
        return name
    name = http_content_type_encoding(content_type)
    if name in ENCODINGS:
        return "utf-16-le" if name == "utf-16" else name
    name = html_body_declared_encoding(body)
    # Markup that says in ASCII that it is UTF-16 is not.
    return name if name in ENCODINGS and not name.startswith("utf-16") else None


def page_encoding(body: bytes, content_type: str | None) -> str:
    """Return the declared encoding, else UTF-8 if it decodes, else the web's old default."""
    return declared_encoding(body, content_type) or _guess_encoding(body)


def _guess_encoding(body: bytes) -> str:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(body) - 4:  # not merely cut in the middle of a character
            return "cp1252"
    return "utf-8"


def decode(body: bytes, content_type: str | None) -> str:
    """Return a page's text, without its byte order mark."""
    return to_unicode(*_unmarked(body, content_type))


def _unmarked(body: bytes, content_type: str | None) -> tuple[bytes, str]:
    """Return *body* without its byte order mark, and the encoding to read it in."""
    encoding, mark = read_bom(body)
    if encoding and mark:
        return body[len(mark) :], encoding
    return body, page_encoding(body, content_type)


def as_utf8(html: bytes | str, content_type: str | None = None) -> bytes:
    """Return a page's text in UTF-8, without white space around it, for `parse`.

    Most pages are that already: they are not copied.

    >>> as_utf8(" <p>café au lait ".encode("cp1252")).decode()
    '<p>café au lait'
    """
    if isinstance(html, bytes):
        html, encoding = _unmarked(html, content_type)
        if encoding == "utf-8":
            body = html.strip(SPACE)
            # What else may be left out is left to the text.
            if body.isascii() and not body.startswith(b"\0"):
                return body or EMPTY_HTML
            with suppress(UnicodeDecodeError):
                text = body.decode()
                if len(text) == len(text.strip()) and text[0] not in UNSEEN:
                    return body
        html = to_unicode(html, encoding)
    html = html.strip()
    return html.encode("utf-8", "replace") if html.strip(UNSEEN) else EMPTY_HTML


def parse(body: bytes) -> _Element:
    """Return the root of the tree of *body*, which `as_utf8` made."""
    body = limit_markup(body).replace(b"\0", b"").strip() or EMPTY_HTML
    parser = etree.HTMLParser(huge_tree=True, encoding="utf-8")
    root = etree.fromstring(body, parser)
    return root if root is not None else etree.fromstring(EMPTY_HTML, parser)


def limit_markup(body: bytes) -> bytes:
    """Return *body*, HTML in an encoding that extends ASCII, up to `MAX_BYTES` and `MAX_TAGS`,
    without the attributes after the first 1,000 of a tag, or 500,000 of all. Nearly always it is
    the same object; where it may have more, it is parsed, and cut if they were in no script.
    """
    if len(body) > MAX_BYTES:
        end = MAX_BYTES
        while MAX_BYTES - end < 3 and 0x80 <= body[end] < 0xC0:  # within a character in UTF-8
            end -= 1
        body = body[:end]
    if body.count(b"<") > MAX_TAGS:
        body = body[: -1 - len(body.split(b"<", MAX_TAGS)[-1])]
    cut: bytes = cut_attributes(body, b"")
    if cut is body:
        return body
    probed = cut_attributes(body, f" {PROBE} ".encode())
    parser = etree.HTMLParser(huge_tree=True, encoding="iso-8859-1")
    root = etree.fromstring(probed, parser)
    return cut if root is not None and root.xpath(f"boolean(//@{PROBE})") else body
