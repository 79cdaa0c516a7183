"""Mends DOCX and ODT files before the library ``anydoc`` reads them: marks that it drops become
characters, text that readers do not see is removed, and a file without styles gets Word's headings.

Without this, the raised number in 10³ gives 103, Word's non-breaking hyphen in 5‑10 gives 510, a
tick in the font Wingdings gives nothing, or ``ü``, the base text of ruby is lost (Word) or has its
reading in it (ODT), and hidden text and the comments of ODT are content.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZipFile

from lxml import etree

from contentspider.page.input.properties import ZIP_ERRORS
from contentspider.page.input.symbol_fonts import characters
from contentspider.page.tree.tags import raised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TEXTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml", "content.xml")
STYLES = "word/styles.xml"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
# Word knows these headings by itself. Some programs write files that use them undefined.
BUILT_IN = "".join(
    f'<w:style w:type="paragraph" w:styleId="{style}"><w:name w:val="{name}"/></w:style>'
    for style, name in [
        ("Title", "Title"),
        *((f"Heading{level}", f"heading {level}") for level in range(1, 10)),
    ]
)
BUILT_IN = f'<w:styles xmlns:w="{WORD}">{BUILT_IN}</w:styles>'
# Files with larger members stay as they are.
MAX_BYTES = 50_000_000
LEFT_OUT = (
    "the marks of raised numbers (10³ is 103), non-breaking hyphens (5‑10 is 510), signs of the"
    " fonts Wingdings and Symbol, ruby, and hidden text"
)
NON_BREAKING_HYPHEN = "\u2011"
# A member without any of these has nothing to mend, and is not parsed.
MARKS = (
    *(b"superscript", b"text-position", b"noBreakHyphen", b":sym", b"Wingdings", b"Symbol"),
    *(b"vanish", b"ruby", b"annotation"),
)
# Values of an attribute of OOXML that turn a property off.
OFF = frozenset(("0", "false", "off"))
# The four digits of a character: not a half of a surrogate pair, nor U+FFFE and U+FFFF.
SYMBOL_CODE = re.compile("(?!D[89A-F]|FFF[EF])[0-9A-F]{4}", re.IGNORECASE)
# Members with other names are pictures and fonts, which are not read.
READ_SUFFIXES = (".xml", ".rels", "mimetype")


def with_lost_signs(body: bytes) -> tuple[bytes, str]:
    """Return a DOCX or ODT file with raised numbers, non-breaking hyphens and signs of symbol fonts
    as characters, without its hidden text, readings of ruby, comments and pictures; a
    DOCX file without styles gets those of headings. A file that has nothing to mend, a damaged one
    and one of another format is returned as it is.

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
        texts = {name: _mended_text(members[name]) for name in TEXTS if name in members}
    except etree.XMLSyntaxError:  # also of texts that are nested too deeply for the parser
        return body, LEFT_OUT
    if _lacks_styles(members):
        texts[STYLES] = BUILT_IN.encode()
    if not any(texts.values()):
        return body, ""
    members.update((name, text) for name, text in texts.items() if text)
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        for name in dict.fromkeys((*names, *members)):
            archive.writestr(name, members.get(name, b""))
    return file.getvalue(), ""


def _lacks_styles(members: Mapping[str, bytes]) -> bool:
    """Tell whether a DOCX file, of which these are the *members*, defines no styles."""
    styles = (member for name, member in members.items() if name.startswith("word/styles"))
    return TEXTS[0] in members and not any(b":style " in member for member in styles)


def _mended_text(member: bytes) -> bytes:
    """Return a mended member of a file (see `with_lost_signs`), b"" if it has nothing to mend.
    Raises `lxml.etree.XMLSyntaxError`.
    """
    if b"<!DOCTYPE" in member or not any(mark in member for mark in MARKS):
        return b""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    root = etree.fromstring(member, parser)
    is_changed = _remove_unseen(root) + _show_ruby_bases(root) > 0
    for element in (*_raised_in_docx(root), *_raised_in_odt(root)):
        if text := raised(element.text or ""):
            element.text = text
            is_changed = True
    for element, text in (*_hyphens(root), *_symbols(root)):
        element.tag = etree.QName(etree.QName(element).namespace, "t").text
        element.text = text
        is_changed = True
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True) if is_changed else b""


def _remove_unseen(root: etree._Element) -> int:
    """Remove Word's hidden text, and comments and readings of ruby in ODT. Return their number."""
    unseen = list(root.iter("{*}annotation", "{*}annotation-end", "{*}ruby-text"))
    for mark in root.iter("{*}vanish"):
        run = mark.getparent()
        run = run.getparent() if run is not None else None
        is_on = OFF.isdisjoint(map(str, mark.attrib.values()))
        if is_on and run is not None and etree.QName(run).localname == "r":
            unseen.append(run)
    for element in unseen:
        _remove(element)
    return len(unseen)


def _remove(element: etree._Element) -> None:
    """Remove an element, but not the text behind it."""
    parent, before, tail = element.getparent(), element.getprevious(), element.tail or ""
    if parent is None:
        return
    if before is not None:
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    parent.remove(element)


def _show_ruby_bases(root: etree._Element) -> int:
    """Put the base text of Word's ruby in place of the run around it. Return how many there are."""
    count = 0
    for base in list(root.iter("{*}rubyBase")):
        ruby = base.getparent()
        run = ruby.getparent() if ruby is not None else None
        if run is not None:
            for child in reversed(list(base)):
                run.addnext(child)
            count += 1
    return count


def _hyphens(root: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    for hyphen in root.iter("{*}noBreakHyphen"):
        yield hyphen, NON_BREAKING_HYPHEN


def _symbols(root: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    """Yield the elements in symbol fonts with their characters: single signs, and texts of runs."""
    for sign in root.iter("{*}sym"):
        if found := _symbol(_attribute(sign, "font"), _attribute(sign, "char")):
            yield sign, found
    for fonts in root.iter("{*}rFonts"):
        run = next(fonts.iterancestors("{*}r"), None)
        font = _attribute(fonts, "ascii") or _attribute(fonts, "hAnsi")
        if run is None or _attribute(fonts, "hAnsi") not in ("", font):
            continue
        for element in run.iterchildren("{*}t"):
            text = characters(font, element.text or "")
            if text is not None and text != element.text:
                yield element, text


def _symbol(font: str, code: str) -> str:
    """Return the character with a code (hexadecimal) in a font, "" if it is unknown."""
    if not SYMBOL_CODE.fullmatch(code) or (sign := chr(int(code, 16))) < " ":
        return ""
    known = characters(font, sign)
    # In other fonts, codes have the meaning that Unicode gives them, except for private ones.
    return sign if known is None and "\xff" < sign < "\ue000" else known or ""


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
