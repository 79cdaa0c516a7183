"""Reads the properties (title, author, dates) in office files and e-books."""

from __future__ import annotations

import lzma
import re
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator

# The members of a ZIP file that have its properties: of Office Open XML, OpenDocument and EPUB.
MEMBERS = re.compile(r"docProps/core\.xml|meta\.xml|(?:.*/)?[^/]+\.opf", re.DOTALL)
MAX_MEMBER_BYTES = 1_000_000
MAX_VALUES = 50
# Titles that programs give to new files.
GENERIC_TITLE = re.compile(
    r"PowerPoint[ -]\S+|\S+[ -](?:\S+ )?PowerPoint|\W*Untitled(?:\W.{1,20})?\W*|Slide \d+"
    r"|Document\d*"
    # The name of a file, perhaps with the name of its program: "Microsoft Word - minutes.docx".
    r"|(?:Microsoft|LibreOffice|OpenOffice|Adobe)\b.* - .*"
    r"|\S+\.(?:docx?|docm|rtf|odt|xlsx?|pptx?|pdf|dvi|tex|ps|eps|indd|qxd|pages|html?|txt|fm|pmd?)",
    re.IGNORECASE,
)
# What programs write for an author whom they do not know.
NO_AUTHOR = re.compile(
    r"\W*(?:anonymous|unknown(?: author)?|unspecified|none|admin(?:istrator)?|user|owner|root"
    r"|author|(?:microsoft )?office[ -]user|microsoft account|python-docx)\W*",
    re.IGNORECASE,
)
# `zipfile` raises these errors for damaged and encrypted files, and for unknown compressions.
ZIP_ERRORS = (
    *(BadZipFile, OSError, ValueError, EOFError, NotImplementedError, RuntimeError),
    *(zlib.error, lzma.LZMAError, struct.error),
)
# The local names of the elements of each property; the first name that a file has counts. In
# OpenDocument, ``creator`` and ``date`` belong to the last change.
TITLE = ("title",)
AUTHOR = ("initial-creator", "creator")
KEYWORDS = ("keywords", "keyword")
LANGUAGE = ("language",)
CREATED = ("created", "creation-date", "date")
MODIFIED = ("modified", "date")

OPF_ROLE = "{http://www.idpf.org/2007/opf}role"
AUTHOR_ROLE = "aut"  # of MARC relators

RTF_HEAD_CHARS = 100_000
RTF_VALUE = r"\{\\%s ((?:[^{}\\]|\\[^\n])*)\}"
RTF_TIME = r"\{\\%s((?:\\(?:yr|mo|dy|hr|min|sec)\d+)+)"
RTF_UNIT = re.compile(r"\\([a-z]+)(\d+)")
RTF_ESCAPE = re.compile(r"\\u(-?\d+) ?(?:\\'[0-9a-f]{2}|\?)?|\\'([0-9a-f]{2})", re.IGNORECASE)
RTF_CODE_PAGE = re.compile(r"\\ansicpg(\d+)")


@dataclass
class Properties:
    """The properties in a file; missing ones are "". Dates are in the form that the file has."""

    title: str = ""
    author: str = ""
    keywords: str = ""
    created: str = ""
    modified: str = ""
    language: str = ""


def read_properties(body: bytes) -> Properties:
    """Return the properties of an office file or e-book, empty ones if they cannot be read."""
    if body.startswith(b"{\\rtf"):
        properties = _rtf_properties(body[:RTF_HEAD_CHARS].decode("latin-1"))
    else:
        properties = _zip_properties(body)
    if is_generic_title(properties.title):
        properties.title = ""
    properties.author = known_author(properties.author)
    return properties


def known_author(author: str) -> str:
    """Return an author, "" for what programs write without one.

    >>> known_author("(anonymous)"), known_author("Ada Lo")
    ('', 'Ada Lo')
    """
    return "" if NO_AUTHOR.fullmatch(author.strip()) else author


def is_generic_title(title: str) -> bool:
    """Tell whether a title is empty, or a program's name for a new file, or the name of a file.

    >>> is_generic_title("Microsoft Word - minutes.docx"), is_generic_title("Word for all")
    (True, False)
    """
    return not title.strip() or GENERIC_TITLE.fullmatch(title.strip()) is not None


def _zip_properties(body: bytes) -> Properties:
    values: dict[str, list[str]] = {}
    for member in _members(body):
        # Entities stay unresolved, so that they cannot make a text huge or read other files.
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        # A member that is not XML, or has names that are not UTF-8: the values before it count.
        with suppress(etree.XMLSyntaxError, UnicodeDecodeError):
            root = etree.fromstring(member, parser)
            if root is not None:
                for element in _properties_of(root):
                    _add(values, element)
    return Properties(
        title=_first(values, TITLE),
        author=", ".join(next(filter(None, (values.get(name) for name in AUTHOR)), [])),
        keywords=", ".join(next(filter(None, (values.get(name) for name in KEYWORDS)), [])),
        created=_first(values, CREATED),
        modified=_first(values, MODIFIED),
        language=_first(values, LANGUAGE),
    )


def _properties_of(root: etree._Element) -> Iterator[etree._Element]:
    """Yield the elements of a member. Of an EPUB, the main title comes first, and if creators have
    the role of the author, the others (illustrators, editors) are left out (EPUB 3.3, appendix D.3;
    ``opf:role`` in EPUB 2).
    """
    refined = {
        (str(meta.get("refines")).removeprefix("#"), meta.get("property")): (
            meta.text or ""
        ).strip()
        for meta in root.iter("{*}meta")
        if meta.get("refines")
    }

    def refinement(element: etree._Element, name: str) -> str | None:
        return refined.get((element.get("id") or "", name))

    roles = {
        creator: refinement(creator, "role") or creator.get(OPF_ROLE)
        for creator in root.iter("{*}creator")
    }
    has_authors = AUTHOR_ROLE in roles.values()
    yield from (
        title for title in root.iter("{*}title") if refinement(title, "title-type") == "main"
    )
    for element in root.iter("*"):
        if not has_authors or roles.get(element, AUTHOR_ROLE) == AUTHOR_ROLE:
            yield element


def _members(body: bytes) -> list[bytes]:
    """Return the first `MAX_MEMBER_BYTES` of each member of a ZIP file with properties."""
    try:
        with ZipFile(BytesIO(body)) as archive:
            names = [name for name in archive.namelist() if MEMBERS.fullmatch(name)]
            members = []
            for name in names[:2]:
                with archive.open(name) as file:
                    members.append(file.read(MAX_MEMBER_BYTES))
            return [member for member in members if member]
    except ZIP_ERRORS:
        return []  # the text of a damaged or encrypted file may be readable all the same


def _add(values: dict[str, list[str]], element: etree._Element) -> None:
    """Add the text of an element to *values*, by its local name. EPUB files have the time of the
    last change in an element ``meta``.
    """
    # A prefix without a declaration stays in the name.
    name = str(element.tag).rpartition("}")[2].rpartition(":")[2]
    if name == "meta" and element.get("property") == "dcterms:modified":
        name = "modified"
    text = " ".join((element.text or "").split())
    texts = values.setdefault(name, [])
    if text and len(texts) < MAX_VALUES:
        texts.append(text)


def _first(values: dict[str, list[str]], names: tuple[str, ...]) -> str:
    return next((values[name][0] for name in names if values.get(name)), "")


def _rtf_properties(head: str) -> Properties:
    """Return the properties in the ``info`` group of an RTF file."""
    code_page = RTF_CODE_PAGE.search(head)
    encoding = f"cp{code_page[1]}" if code_page else "cp1252"
    _, _, info = head.partition(r"{\info")

    def value(name: str) -> str:
        match = re.search(RTF_VALUE % name, info)
        return _rtf_text(match[1], encoding) if match else ""

    return Properties(
        title=value("title"),
        author=value("author"),
        keywords=value("keywords"),
        created=_rtf_time(info, "creatim"),
        modified=_rtf_time(info, "revtim"),
    )


def _rtf_text(text: str, encoding: str) -> str:
    r"""Return the text that an RTF file writes with escapes.

    >>> _rtf_text(r"Gr\'fcner Tee \u8364?", "cp1252")
    'Grüner Tee €'
    """

    def character(match: re.Match[str]) -> str:
        if match[1]:
            code = int(match[1]) % 0x10000
            return "" if 0xD800 <= code < 0xE000 else chr(code)
        try:
            return bytes([int(match[2], 16)]).decode(encoding, "replace")
        except LookupError:
            return "\ufffd"

    return " ".join(RTF_ESCAPE.sub(character, text).split())


def _rtf_time(info: str, name: str) -> str:
    r"""Return a date and time of RTF in ISO 8601, "" if there is none.

    >>> _rtf_time(r"{\creatim\yr2024\mo3\dy1\hr8\min5}", "creatim")
    '2024-03-01T08:05:00'
    """
    match = re.search(RTF_TIME % name, info)
    units = {unit: int(number[:4]) for unit, number in RTF_UNIT.findall(match[1])} if match else {}
    if not {"yr", "mo", "dy"} <= units.keys():
        return ""
    day = f"{units['yr']:04}-{units['mo']:02}-{units['dy']:02}"
    return f"{day}T{units.get('hr', 0):02}:{units.get('min', 0):02}:{units.get('sec', 0):02}"
