"""Reads e-books (EPUB) as one page: the parts of the book are XHTML, joined in their order."""

from __future__ import annotations

import posixpath
import re
from html import escape, unescape
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

from lxml import etree, html

from contentspider.ground.counts import counted
from contentspider.page.input.body import as_utf8, is_too_deep, parse
from contentspider.page.input.office import MAX_CHARS, UNKNOWN, OfficeText
from contentspider.page.input.properties import ZIP_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
XHTML_TYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
MAX_PARTS = 5_000
MAX_PART_BYTES = 20_000_000  # of one part, unpacked
# The parts that repeat the title or the headings: by ``epub:type`` in EPUB 3, by the type of a
# reference in the guide of EPUB 2.
REPEATING = frozenset("cover titlepage title-page toc landmarks loi lot page-list".split())
# The page that a guide calls the table of contents may have a preface, too. Only its lists are left
# out whose text is links in so large a share.
LINK_SHARE = 0.8
NOTE_TYPES = frozenset("noteref doc-noteref footnote endnote rearnote doc-footnote".split())
NOTE_NAME = re.compile(r"foot-?note|note-?ref|endnote", re.IGNORECASE)
NOTE_TEXT = re.compile(r"[\[(]?(?:\d{1,4}|[*†‡§¶]{1,3})[\])]?")
# XML has five entities; XHTML has all entities of HTML.
ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,31};")
FILE_NAME = re.compile(r"\S+\.\w{3,4}")
# A rule of a style sheet for a class, and what in it makes text bold or italic.
RULE = re.compile(r"\.([\w-]+)\s*\{([^{}]*)\}")
STYLES = {
    "b": re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)"),
    "i": re.compile(r"font-style\s*:\s*(?:italic|oblique)"),
}
DROPPED = ("script", "style", "head", "template")


def is_epub(body: bytes) -> bool:
    """Tell whether a ZIP file is an EPUB file."""
    try:
        with ZipFile(BytesIO(body)) as archive:
            return CONTAINER in archive.namelist()
    except ZIP_ERRORS:
        return False


def read_epub(body: bytes) -> OfficeText:
    """Return the content of an e-book, up to `MAX_CHARS` characters. The cover, the title page and
    the table of contents are left out. Pictures in the file have no web address, so each is
    replaced by its alternative text.
    """
    try:
        with ZipFile(BytesIO(body)) as archive:
            return _Book(archive).read()
    except (*ZIP_ERRORS, KeyError, etree.XMLSyntaxError):
        return OfficeText(problem=UNKNOWN)


class _Book:
    """An e-book in an open ZIP file."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._heading = ""
        self._tags: dict[str, str] = {}
        self._contents: set[str] = set()

    def read(self) -> OfficeText:
        parts = self._parts()
        if not parts:
            return OfficeText(problem=UNKNOWN)
        if self._encrypted().intersection(parts):
            return OfficeText(problem="it is encrypted")
        numbers = {path: number for number, path in enumerate(parts, 1)}
        notes = _Notes()
        texts: list[str] = []
        chars = left_out = 0
        for path in parts:
            if chars >= MAX_CHARS:
                left_out += 1
                continue
            root = _xhtml(self._member(path))
            if root is None:
                left_out += 1
                continue
            left_out += is_too_deep(root)  # part of it is nested too deeply
            part = _PartWriter(root, path, numbers, self._tags, notes).write()
            if part is None:
                continue
            if path in self._contents:
                _drop_lists_of_links(part)
            self._heading = self._heading or _first_heading(part)
            text = str(html.tostring(part, encoding="unicode"))
            chars += len(text)
            texts.append(text[: 2 * MAX_CHARS])
        left = counted(left_out, "parts") if left_out else ""
        return OfficeText("".join(texts), self._heading, left)

    def _member(self, path: str) -> bytes:
        """Return the beginning of a member of the file; raises KeyError if it has none."""
        with self._archive.open(path) as member:
            return member.read(MAX_PART_BYTES)

    def _parts(self) -> list[str]:
        """Return the paths of the book's parts in the order of reading."""
        container = _xml(self._member(CONTAINER))
        package_path = next(_values(container, "rootfile", "full-path"))
        package = _xml(self._member(package_path))
        folder = posixpath.dirname(package_path)
        texts = self._read_manifest(package, folder)
        repeating = self._read_guide(package, folder)
        names = set(self._archive.namelist())
        spine = [texts.get(ref, "") for ref in _values(package, "itemref", "idref")]
        parts = list(dict.fromkeys(part for part in spine if part in names))
        # If the guide says of all parts that they repeat others, the book has no other text.
        return ([part for part in parts if part not in repeating] or parts)[:MAX_PARTS]

    def _read_manifest(self, package: etree._Element, folder: str) -> dict[str, str]:
        """Read the manifest, the list of all files of the book, and the style sheets in it. Return
        the paths of the files with text by their ids.
        """
        texts = {}
        for item in _elements(package, "item"):
            path = _path(folder, item.get("href", ""))
            if item.get("media-type") == "text/css":
                self._read_styles(path)
            is_text = item.get("media-type", "").lower() in XHTML_TYPES
            if is_text and "nav" not in item.get("properties", "").split():
                texts[item.get("id", "")] = path
        return texts

    def _read_guide(self, package: etree._Element, folder: str) -> set[str]:
        """Read the guide, a list that says what some parts of the book are. Return the paths of
        the parts without text of their own, such as the cover (`REPEATING`). The paths of the table
        of contents go to ``_contents``: a preface may stand there, too.
        """
        repeating = set()
        for reference in _elements(package, "reference"):
            path = _path(folder, reference.get("href", ""))
            if reference.get("type") == "toc":
                self._contents.add(path)
            elif reference.get("type") in REPEATING:
                repeating.add(path)
        return repeating

    def _read_styles(self, path: str) -> None:
        """Add the classes of a style sheet that make text bold or italic."""
        if path not in self._archive.namelist():
            return
        for name, rule in RULE.findall(self._member(path).decode("utf-8", "replace")):
            for tag, pattern in STYLES.items():
                if pattern.search(rule):
                    self._tags[name] = tag

    def _encrypted(self) -> set[str]:
        """Return the paths of encrypted members. In books that anybody may read, fonts are."""
        if ENCRYPTION not in self._archive.namelist():
            return set()
        return set(map(unquote, _values(_xml(self._member(ENCRYPTION)), "CipherReference", "URI")))


class _Notes:
    """The footnotes of a book: the ids of their *markers*, and their own *names*, by their ids."""

    def __init__(self) -> None:
        self.markers: set[str] = set()
        self.names: dict[str, str] = {}

    def name(self, note: str) -> str:
        return self.names.setdefault(note, f"note-{len(self.names) + 1}")


class _PartWriter:
    """Writes a part of a book as HTML.

    *numbers* has the number of each part by its path, *tags* the tag of each class that makes text
    bold or italic, and *notes* the footnotes of the parts before.
    """

    def __init__(
        self,
        root: etree._Element,
        path: str,
        numbers: dict[str, int],
        tags: dict[str, str],
        notes: _Notes,
    ) -> None:
        self._root, self._path, self._numbers = root, path, numbers
        self._tags, self._notes = tags, notes
        self._number = numbers[path]

    def write(self) -> etree._Element | None:
        """Return the part's body as an element of HTML; None for a part that repeats others. Ids
        get the part's number, so that they differ.
        """
        body = next(_elements(self._root, "body"), self._root)
        for element in list(body.iter("*")):
            self._make_html(element)
        for element in [each for each in body.iter("*") if _types(each) & REPEATING]:
            if element is body:
                return None
            _drop(element)
        for element in list(body.iter("a")):
            self._link(element)
        for element in body.iter("*"):
            if name := self._notes.names.get(element.get("id", "")):
                element.set("id", name)
        for element in list(body.iter("img", "image")):
            _drop(element, text=_text_of_picture(element))
        etree.strip_elements(body, *DROPPED, with_tail=False)
        part = etree.Element("div")  # without the namespaces of the body
        part.text = body.text
        part.extend(body)
        return part

    def _make_html(self, element: etree._Element) -> None:
        """Make an element of XHTML one of HTML: without namespaces, with an id of its own."""
        element.tag = etree.QName(element).localname
        _drop_namespaces(element)
        if element.get("id"):
            element.set("id", f"part{self._number}-{element.get('id')}")
        if element.tag == "span":
            tags = [self._tags[name] for name in _classes(element) if name in self._tags]
            element.tag = tags[0] if tags else "span"
        if element.tag == "input" and element.get("type") == "checkbox":
            element.set("disabled", "")

    def _link(self, link: etree._Element) -> None:
        """Keep a link to another site, and one between a footnote and its marker. Others lead to
        parts of the book, which the page of the book does not have.
        """
        address = link.get("href", "")
        try:
            parts = urlsplit(address)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme or parts.netloc:
            return
        path = _path(posixpath.dirname(self._path), parts.path) if parts.path else self._path
        number = self._numbers.get(path)
        target = f"part{number}-{unquote(parts.fragment)}"
        if parts.fragment and target in self._notes.markers:  # from a note back to its marker
            _drop(link)
        elif number is not None and parts.fragment and _is_note_link(link):
            link.set("href", f"#{self._notes.name(target)}")
            link.set("role", "doc-noteref")
            for marker in (link, link.getparent()):
                if marker is not None:
                    self._notes.markers.add(marker.get("id", ""))
        else:
            link.attrib.pop("href", "")


def _drop_namespaces(element: etree._Element) -> None:
    """Remove the attributes with a namespace, except for the type and the target of a link."""
    if epub_type := element.attrib.pop("{http://www.idpf.org/2007/ops}type", ""):
        element.set("data-type", epub_type)
    for name in [name for name in map(str, element.attrib) if "{" in name]:
        value = str(element.attrib.pop(name))
        if name.endswith("}href") and element.get("href") is None:
            element.set("href", value)


def _is_note_link(link: etree._Element) -> bool:
    if NOTE_TYPES & _types(link) or NOTE_NAME.search(link.get("class", "")):
        return True
    is_raised = any(each.tag == "sup" for each in (link, *link.iterancestors(), *link.iter()))
    return is_raised and NOTE_TEXT.fullmatch(_text(link)) is not None


def _text_of_picture(picture: etree._Element) -> str:
    """Return the text that stands for a picture, "" if its caption or only its file names it."""
    text = (picture.get("alt") or "").strip()
    figure = next(picture.iterancestors("figure"), None)
    has_caption = figure is not None and figure.find(".//figcaption") is not None
    return "" if has_caption or FILE_NAME.fullmatch(text) else text


def _classes(element: etree._Element) -> list[str]:
    return element.get("class", "").split()


def _types(element: etree._Element) -> set[str]:
    """Return what ``epub:type`` and ``role`` say of an element."""
    return {*element.get("data-type", "").split(), *element.get("role", "").split()}


def _drop(element: etree._Element, text: str = "") -> None:
    """Remove an element, with a *text* in its place."""
    parent, before = element.getparent(), element.getprevious()
    text += element.tail or ""
    if before is not None:
        before.tail = (before.tail or "") + text
    elif parent is not None:
        parent.text = (parent.text or "") + text
    if parent is not None:
        parent.remove(element)


def _drop_lists_of_links(part: etree._Element) -> None:
    for entries in list(part.iter("ul", "ol")):
        links = sum(len(_text(link)) for link in entries.iter("a"))
        if entries.getparent() is not None and links >= LINK_SHARE * len(_text(entries)):
            _drop(entries)


def _first_heading(root: etree._Element) -> str:
    heading = next(root.iter("h1", "h2", "h3"), None)
    return _text(heading) if heading is not None else ""


def _text(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


def _xml(data: bytes) -> etree._Element:
    """Parse XML. Entities stay unresolved, so that they cannot make a text huge. Raises
    XMLSyntaxError.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(data, parser)
    if root is None:
        raise ValueError("there is no element")
    return root


def _xhtml(data: bytes) -> etree._Element | None:
    """Parse a part of a book, as HTML if it is not well-formed; return None if it is empty."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        return etree.fromstring(ENTITY.sub(_without_entity, data), parser)
    except etree.XMLSyntaxError:
        return parse(as_utf8(data)) if data.strip() else None


def _without_entity(match: re.Match[bytes]) -> bytes:
    return escape(unescape(match[0].decode())).encode("ascii", "xmlcharrefreplace")


def _elements(root: etree._Element, name: str) -> Iterator[etree._Element]:
    return root.iter(f"{{*}}{name}")


def _values(root: etree._Element, name: str, attribute: str) -> Iterator[str]:
    return (each.get(attribute, "") for each in _elements(root, name))


def _path(folder: str, href: str) -> str:
    """Return the path of a member in the file by an address in a member of a *folder*."""
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))
