"""Writes the raised numbers in DOCX and ODT files as raised characters.

The library ``anydoc`` does not tell which text is raised: 10³ would be 103.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZipFile

from lxml import etree

from contentspider.page.input.properties import ZIP_ERRORS
from contentspider.page.tree.tags import raised

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml", "content.xml")
# The numbers in files with larger members stay as they are.
MAX_BYTES = 50_000_000
LEFT_OUT = "the marks of raised numbers (10³ is 103)"
# Members with other names are pictures and fonts, which are not read.
READ_SUFFIXES = (".xml", ".rels", "mimetype")


def with_raised_numbers(body: bytes) -> tuple[bytes, str]:
    """Return a DOCX or ODT file with raised numbers as raised characters, and without its pictures.
    A file without raised numbers, a damaged one and one of another format is returned as it is.

    The second value is `LEFT_OUT` if the file is too large or too complex to search, else "".
    """
    try:
        with ZipFile(BytesIO(body)) as archive:
            names = archive.namelist()
            read = [info for info in archive.infolist() if info.filename.endswith(READ_SUFFIXES)]
            if set(names).isdisjoint(TEXTS):
                return body, ""
            if sum(info.file_size for info in read) > MAX_BYTES:
                return body, LEFT_OUT
            members = {info.filename: archive.read(info) for info in read}
    except ZIP_ERRORS:
        return body, ""
    try:
        texts = {name: _raised_text(members[name]) for name in TEXTS if name in members}
    except etree.XMLSyntaxError:  # also of texts that are nested too deeply for the parser
        return body, LEFT_OUT
    if not any(texts.values()):
        return body, ""
    members.update((name, text) for name, text in texts.items() if text)
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        for name in dict.fromkeys(names):
            archive.writestr(name, members.get(name, b""))
    return file.getvalue(), ""


def _raised_text(member: bytes) -> bytes:
    """Return a member of a file with its raised numbers as raised characters, b"" if it has none.
    Raises `lxml.etree.XMLSyntaxError`.
    """
    if b"<!DOCTYPE" in member or (b"superscript" not in member and b"text-position" not in member):
        return b""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    root = etree.fromstring(member, parser)
    is_changed = False
    for element in (*_raised_in_docx(root), *_raised_in_odt(root)):
        if text := raised(element.text or ""):
            element.text = text
            is_changed = True
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True) if is_changed else b""


def _raised_in_docx(root: etree._Element) -> Iterator[etree._Element]:
    for mark in root.iter("{*}vertAlign"):
        run = next(mark.iterancestors("{*}r"), None)
        if run is not None and "superscript" in mark.attrib.values():
            yield from run.iterchildren("{*}t")


def _raised_in_odt(root: etree._Element) -> Iterator[etree._Element]:
    names = set()
    for properties in root.iter("{*}text-properties"):
        style = properties.getparent()
        position = _attribute(properties, "text-position").partition("%")[0]
        is_raised = position.startswith("super") or (position.isdecimal() and position != "0")
        if style is not None and is_raised:
            names.add(_attribute(style, "name"))
    for span in root.iter("{*}span"):
        if _attribute(span, "style-name") in names:
            yield span


def _attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its name in any namespace, "" without it."""
    found = (value for key, value in element.items() if str(key).endswith("}" + name))
    return str(next(found, ""))
