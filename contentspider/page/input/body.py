"""Decodes and parses the bodies of pages, safely and fast."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from lxml import etree
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

from contentspider.ground.encodings import (
    BROTLI,
    DEFLATE,
    GZIP_MARK,
    ZSTD_MARK,
    PackedError,
    encoding_of,
    unpack,
)
from contentspider.ground.errors import NotHTMLError
from contentspider.page.input._body import cut_attributes

if TYPE_CHECKING:
    from lxml.etree import _Element

# The encodings of browsers (https://encoding.spec.whatwg.org) by their Python names. Other Python
# codecs are not used: some do not encode text, and punycode takes time quadratic in the length.
ENCODINGS = frozenset(
    "utf-8 cp866 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10"
    " iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic cp874 cp1250"
    " cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 gb18030 big5hkscs euc_jp iso2022_jp"
    " cp932 cp949 utf-16 utf-16-be utf-16-le".split()
)
# Encodings that use ASCII bytes as parts of other characters. Such a body must be decoded
# before it is searched for markup.
NOT_ASCII = frozenset(["iso2022_jp", "utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le"])

NO_ASCII = bytes(range(128, 256))
# A few characters in another encoding can be valid UTF-8 by chance. More bytes hardly are.
MIN_UTF8_BYTES = 40
# Fewer bytes beyond ASCII, such as two quotation marks of Windows-1252, are text in any encoding.
MIN_GUESS_BYTES = 6
# ISO-2022-JP is ASCII with escapes, which begin with these bytes.
ESCAPE = b"\x1b$"

# The name of an attribute that marks the places where `limit_markup` would cut a page.
PROBE = "contentspider-cut"

# A tag takes up to 1 kB of memory, with the data that contentspider keeps for it. The limit is five
# times the number of tags on the largest of 5,000 large pages.
MAX_TAGS = 250_000
# A byte of text takes up to 24 bytes of memory until the page is in the book.
MAX_BYTES = 12_000_000

# libxml2 reads nothing after an element that is nested more deeply.
MAX_DEPTH = 2_048
END_OF_PAGE = re.compile(rb"</html\s*>", re.IGNORECASE)
END_TAGS = re.compile(rb"</(?:html|body)\s*>", re.IGNORECASE)

# The elements that begin within others and end them (HTML, 13.2.6.4.7), although their end tags are
# missing. All others are ended by libxml2.
ENDED_BY = {
    **dict.fromkeys(("dt", "dd"), ("dt", "dd")),
    **dict.fromkeys(("rt", "rp"), ("rb", "rt", "rp")),
    **dict.fromkeys(("rb", "rtc"), ("rb", "rt", "rp", "rtc")),
}
MAY_LACK_ENDS = re.compile(rb"<(?:d[dt]|r[bpt])\b", re.IGNORECASE)
# Parsed in place of an empty body, for which lxml returns no tree.
EMPTY_HTML = b"<html></html>"
JSON = json.JSONDecoder()
# The ASCII characters that `str.strip` removes.
SPACE = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
# Invisible characters; a body with no others is empty.
UNSEEN = "\x00\ufeff"

# Control characters that text hardly contains. White space and the shift characters of old Asian
# encodings are left out, and NUL because UTF-16 contains it.
CONTROLS = bytes(set(range(1, 32)) - set(b"\t\n\f\r\x0e\x0f\x1b"))


# PDF, ZIP and formats based on it, gzip, and images. Some of these files look like text otherwise.
SIGNATURES = (
    *(b"%PDF-", b"PK\x03\x04", b"\x1f\x8b\x08"),
    *(b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff"),
)
# Feeds and sitemaps. Copies of sites that are served from files send them as pages. A comment ends
# at its first end, otherwise the search would try each set of comments as one.
XML_DATA = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?[^>]*>\s*|<!--(?:(?!-->).)*-->\s*)*"
    rb"<(?:rss|rdf:RDF|feed|urlset|sitemapindex)[\s>]",
    re.DOTALL,
)
HTML_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:[^-]|-(?!->))*-->\s*)*"
    rb"<(?:!doctype\s+html|html|head|title)\b",
    re.IGNORECASE,
)
MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
# A text without tags that is the name of a file or an address, and was given in place of its page.
MAX_NAME_CHARS = 1_000
NAME = re.compile(
    r"(?:https?|file)://\S+|(?:[a-z]:|\.{0,2})/[\w.~]\S*|(?:[a-z]:|\.{1,2})\\\w\S*|[^\s/]\S*\.x?html?(?:\.(?:gz|br|zst))?",
    re.IGNORECASE,
)
# Content types that are never pages, even if the body is markup (SVG).
MEDIA_TYPES = ("image/", "audio/", "video/", "font/")


def is_media(content_type: str) -> bool:
    """Tell whether a ``Content-Type`` means an image, audio, a video or a font."""
    return content_type.strip().lower().startswith(MEDIA_TYPES)


def is_binary(body: bytes) -> bool:
    """Tell whether a body cannot be HTML, judged by its first 1,000 bytes.

    >>> [is_binary(body) for body in (b"%PDF-1.4", bytes(range(256)), "<p>é".encode("cp1252"))]
    [True, True, False]
    >>> is_binary("<p>日本".encode("iso2022_jp"))
    False
    """
    head = body[:1000]
    if head.startswith(SIGNATURES):
        return True
    # UTF-16 encodes Asian scripts with bytes that look like control characters. It is recognised
    # by its byte order mark, or by the NUL bytes in its tags.
    is_utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"<\0" in head or b"\0<" in head
    return not is_utf16 and len(head.translate(None, CONTROLS)) * 20 < len(head) * 19


def may_be_html(body: bytes) -> bool:
    """Tell whether a body may be HTML: it is neither a binary file nor a feed, a sitemap or JSON.

    >>> [may_be_html(body) for body in (b"<p>Tea", b"Tea", b'{"tea": 1}', b"<rss>")]
    [True, True, False, False]
    """
    return not (is_binary(body) or _is_data(body))


def unpacked(body: bytes) -> bytes:
    """Return the HTML of a file that was saved as a server sent it: packed by gzip, Zstandard,
    Brotli or deflate, or not at all. Raises `PackedError`.

    Brotli and deflate show themselves only when they are unpacked: a binary file is tried, and is a
    page if it unpacks to markup.
    """
    if body.startswith((GZIP_MARK, ZSTD_MARK)):
        return _unpack(body, encoding_of(body))
    for encoding in (BROTLI, DEFLATE) if is_binary(body) else ():
        beginning = b""
        with suppress(PackedError):
            beginning = unpack(body, encoding, 1_000)
        if MARKUP.match(beginning):
            return _unpack(body, encoding)
    return body


def _unpack(body: bytes, encoding: str) -> bytes:
    html = unpack(body, encoding, MAX_BYTES + 1)
    if len(html) > MAX_BYTES:
        raise PackedError(f"it unpacks to more than {MAX_BYTES // 1_000_000} MB")
    return html


def check_html(html: bytes | str) -> None:
    """Raise `NotHTMLError` unless a body or a text may be HTML."""
    body = html.encode("utf-8", "replace") if isinstance(html, str) else html
    if body.startswith(b"%PDF-"):
        raise NotHTMLError(
            "the body is not HTML, but a PDF file: contentspider.page.input.documents.read_document"
            " reads it"
        )
    # Only bytes may be a binary file: a text with control characters is still a text.
    if _is_data(body) or (isinstance(html, bytes) and is_binary(body)):
        raise NotHTMLError(
            "the body is not HTML, but a binary file, a feed, a sitemap or JSON: leave it out"
        )
    if isinstance(html, str) and (name := _name_in(html)):
        is_address = name.startswith(("http://", "https://"))
        raise NotHTMLError(
            f"{name} is an address, not HTML: give the body of its response, or crawl it"
            if is_address
            else f"{name} is the path of a file, not HTML: give Path({name!r}).read_bytes()"
        )


def _name_in(html: str) -> str:
    """Return the path or the address that a text consists of; "" for any other text."""
    text = html.strip() if len(html) <= MAX_NAME_CHARS else ""
    return text if NAME.fullmatch(text) else ""


def _is_data(body: bytes) -> bool:
    """Tell whether a body is a feed, a sitemap or JSON."""
    return bool(XML_DATA.match(body[:2_000])) or _is_json(body)


def _is_json(body: bytes) -> bool:
    """Tell whether a body is JSON, or JSON lines. Some hosts put a script of theirs behind it."""
    text = body.lstrip(b"\xef\xbb\xbf" + SPACE)
    if not text.startswith((b"{", b"[")):
        return False
    line, _, rest = text.partition(b"\n")
    is_lines = rest.lstrip(SPACE).startswith((b"{", b"["))
    for part in (line, text) if is_lines else (text,):
        with suppress(ValueError, RecursionError):
            json.loads(part)
            return True
    if not text.rstrip(SPACE).endswith(b"</script>"):
        return False
    with suppress(ValueError, RecursionError):
        decoded = text.decode()
        end = JSON.raw_decode(decoded)[1]
        return 2 * end > len(decoded) and decoded[end:].lstrip().startswith("<script")
    return False


def named_encoding(body: bytes, content_type: str | None) -> str | None:
    """Return the first Python codec that a page declares, even if browsers do not support it; None
    if it declares none.
    """
    return (
        read_bom(body)[0]
        or http_content_type_encoding(content_type)
        or html_body_declared_encoding(body)
    )


def declared_encoding(body: bytes, content_type: str | None) -> str | None:
    """Return the encoding that a page declares, by its Python name.

    The byte order mark counts first, then *content_type*, then the markup. Return None if the page
    declares no encoding, or one that browsers do not support. If the markup declares another
    encoding than UTF-8 but the body is UTF-8, the page was converted to UTF-8 when it was saved.
    """
    if name := read_bom(body)[0]:
        return name
    name = http_content_type_encoding(content_type)
    if name in ENCODINGS:
        return "utf-16-le" if name == "utf-16" else name
    name = html_body_declared_encoding(body)
    # If the declaration in the markup could be read as ASCII, the page is not in UTF-16.
    if name not in ENCODINGS or name.startswith("utf-16"):
        return None
    return "utf-8" if name != "utf-8" and _is_surely_utf8(body) else name


def _is_surely_utf8(body: bytes) -> bool:
    """Tell whether *body* is UTF-8, and has enough non-ASCII bytes to exclude another encoding."""
    is_long = len(body) - len(body.translate(None, NO_ASCII)) >= MIN_UTF8_BYTES
    return is_long and _is_utf8(body)


def page_encoding(body: bytes, content_type: str | None) -> str:
    """Return the encoding that a page declares, or else `guessed_encoding`."""
    return declared_encoding(body, content_type) or guessed_encoding(body)


def guessed_encoding(body: bytes) -> str:
    """Return the encoding of a *body* that declares none: UTF-8 if the body is valid UTF-8, or else
    what Firefox's detector finds. A few bytes beyond ASCII are Windows-1252.
    """
    if _is_utf8(body):
        return "iso2022_jp" if ESCAPE in body and body.isascii() else "utf-8"
    if len(body) - len(body.translate(None, NO_ASCII)) < MIN_GUESS_BYTES:
        return "cp1252"
    name = resolve_encoding(_detected(body)) or ""
    return name if name in ENCODINGS else "cp1252"


def _detected(body: bytes) -> str:
    # Imported here: few pages need it. chardetng has no wheels for Python 3.14.
    try:
        from chardetng_py import detect
    except ImportError:
        import chardet

        names = [name.replace("_", "-") for name in sorted(ENCODINGS)]
        return str(chardet.detect(body, include_encodings=names)["encoding"])
    return str(detect(body))


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        # An error at the very end is a character that was cut with the body.
        return error.end >= len(body) - 4
    return True


def decode(body: bytes, content_type: str | None) -> str:
    """Return a page's text, without its byte order mark."""
    body, encoding, _ = _without_bom(body, content_type)
    return to_unicode(body, encoding)


def _without_bom(body: bytes, content_type: str | None) -> tuple[bytes, str, bool]:
    """Return *body* without its byte order mark, the encoding to decode it with, and whether that
    is a guess.
    """
    encoding, mark = read_bom(body)
    if encoding and mark:
        return body[len(mark) :], encoding, False
    declared = declared_encoding(body, content_type)
    return body, declared or guessed_encoding(body), not declared


def as_utf8(html: bytes | str, content_type: str | None = None) -> bytes:
    """Return a page's text in UTF-8, without white space around it, for `parse`.

    Most pages are UTF-8 already; `bytes` that need no change are returned without a copy.

    >>> as_utf8(" <p>café au lait ".encode("cp1252")).decode()
    '<p>café au lait'
    """
    return read_utf8(html, content_type)[0]


def read_utf8(html: bytes | str, content_type: str | None = None) -> tuple[bytes, str]:
    """Return what `as_utf8` returns, and the encoding of bytes that are not UTF-8 and declare none
    (`guessed_encoding`), "" for others.
    """
    guess = ""
    if isinstance(html, bytes):
        html, encoding, is_guess = _without_bom(html, content_type)
        if encoding == "utf-8":
            body = html.strip(SPACE)
            # Invisible characters beyond ASCII are removed from the decoded text below.
            if body.isascii() and not body.startswith(b"\0"):
                return body or EMPTY_HTML, ""
            with suppress(UnicodeDecodeError):
                text = body.decode()
                if len(text) == len(text.strip()) and text[0] not in UNSEEN:
                    return body, ""
        elif is_guess:
            guess = encoding
        html = to_unicode(html, encoding)
    html = html.strip()
    return html.encode("utf-8", "replace") if html.strip(UNSEEN) else EMPTY_HTML, guess


def parse(body: bytes) -> _Element:
    """Return the root element of a page's tree; *body* is the result of `as_utf8`."""
    body = limit_markup(body).replace(b"\0", b"").strip() or EMPTY_HTML
    body = without_early_ends(body)
    parser = etree.HTMLParser(huge_tree=True, encoding="utf-8")
    root = etree.fromstring(body, parser)
    if root is None:
        return etree.fromstring(EMPTY_HTML, parser)
    if MAY_LACK_ENDS.search(body) and not is_too_deep(root):
        _end_elements(root)
    return root


def _end_elements(root: _Element) -> None:
    """End the elements whose end tags pages may leave out, but which libxml2 does not end: an
    element that begins within one that it ends is put behind it, with its following siblings.
    """
    for element in list(root.iter(*ENDED_BY)):
        parent = element.getparent()
        if parent is None or parent.tag not in ENDED_BY[str(element.tag)]:
            continue
        moved = [element, *element.itersiblings()]
        tail, parent.tail = parent.tail or "", None
        for sibling in reversed(moved):
            parent.addnext(sibling)
        moved[-1].tail = (moved[-1].tail or "") + tail


def is_too_deep(root: _Element) -> bool:
    """Tell whether a tree ends at `MAX_DEPTH`: the rest of its page was not read."""
    element: _Element | None = root
    depth = 0
    while element is not None:
        depth += 1
        element = next(element.iterchildren("*", reversed=True), None)
    return depth >= MAX_DEPTH


def without_early_ends(body: bytes) -> bytes:
    """Return *body* without the ends of the page if the first is not at the end.

    libxml2 drops what follows `</html>`. Browsers show it in the body of the page.

    >>> without_early_ends(b"<head></head></html><body><p>Tea</p></body></html>")
    b'<head></head><body><p>Tea</p>'
    """
    end = END_OF_PAGE.search(body)
    if end is None or not body[end.end() :].strip(SPACE):
        return body
    return END_TAGS.sub(b"", body)


def is_too_large(body: bytes) -> bool:
    """Tell whether `limit_markup` leaves out the end of *body*."""
    return len(body) > MAX_BYTES or _has_too_many_tags(body)


def _has_too_many_tags(body: bytes) -> bool:
    return len(body) > MAX_TAGS and body.count(b"<") > MAX_TAGS  # most bodies have fewer bytes


def limit_markup(body: bytes) -> bytes:
    """Return *body* cut to `MAX_BYTES` bytes, `MAX_TAGS` tags, 1,000 attributes per tag and 500,000
    attributes in total. *body* is HTML in an encoding that extends ASCII.

    Nearly all bodies are within the limits and are returned without a copy. Scripts and comments
    can look like tags with too many attributes, so a body is parsed once with a probe at each cut:
    attributes are only cut if a probe is inside a real tag.
    """
    if len(body) > MAX_BYTES:
        end = MAX_BYTES
        # Do not cut within a UTF-8 character.
        while MAX_BYTES - end < 3 and 0x80 <= body[end] < 0xC0:
            end -= 1
        body = body[:end]
    if _has_too_many_tags(body):
        body = body[: -1 - len(body.split(b"<", MAX_TAGS)[-1])]
    shortened: bytes = cut_attributes(body, b"")
    if shortened is body:
        return body
    body_with_probes = cut_attributes(body, f" {PROBE} ".encode())
    parser = etree.HTMLParser(huge_tree=True, encoding="iso-8859-1")
    root = etree.fromstring(body_with_probes, parser)
    has_cut_tags = root is not None and root.xpath(f"boolean(//@{PROBE})")
    return shortened if has_cut_tags else body
