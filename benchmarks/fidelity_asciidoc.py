"""Reads AsciiDoc as HTML that `fidelity.py` compares, by way of Asciidoctor's DocBook."""

from __future__ import annotations

import subprocess
from html import escape

from lxml import etree

DOCBOOK = "{http://docbook.org/ns/docbook}"
LINK = "{http://www.w3.org/1999/xlink}href"
BOXES = frozenset("note tip warning important caution".split())
TAGS = {  # of DocBook, and what is the same in HTML
    "simpara": "p",
    "para": "p",
    "literal": "code",
    "blockquote": "blockquote",
    "itemizedlist": "ul",
    "orderedlist": "ol",
    "calloutlist": "ol",
    "callout": "li",
    "variablelist": "dl",
    "term": "dt",
    "subscript": "sub",
    "superscript": "sup",
    "informaltable": "table",
    "table": "table",
    "row": "tr",
}
SILENT = frozenset("info indexterm anchor colspec textobject attribution toc".split())
CODE = frozenset("programlisting screen literallayout".split())
STYLES = {"strong": "strong", "line-through": "del", "marked": "mark"}
MATHS = frozenset("inlineequation informalequation equation".split())


def to_html(asciidoc: str) -> str:
    """Return a page in AsciiDoc as HTML. Links to other pages of the site, and their titles, may
    be anything, as what a source computes: ``{{page}}``.
    """
    command = ["asciidoctor", "-q", "-b", "docbook5", "-S", "safe", "-o", "-", "-"]
    done = subprocess.run(command, check=True, capture_output=True, input=asciidoc.encode())
    return html_of(done.stdout)


def html_of(docbook: bytes) -> str:
    """Return an article in DocBook as HTML."""
    root = etree.fromstring(docbook, etree.XMLParser(recover=True, resolve_entities=False))
    title = root.findtext(f"{DOCBOOK}info/{DOCBOOK}title") or ""
    return (f"<h1>{escape(title)}</h1>" if title else "") + _inside(root, 1)


def _inside(element: etree._Element, level: int) -> str:
    """Return the HTML in an element; *level* is that of the heading above."""
    parts = [escape(element.text or "")]
    for child in element:
        if isinstance(child.tag, str):
            parts.append(_html(child, level))
        parts.append(escape(child.tail or ""))
    return "".join(parts)


def _html(element: etree._Element, level: int) -> str:
    name = element.tag.removeprefix(DOCBOOK)
    if name in SILENT:
        return ""
    if name in ("section", "bibliography", "glossary", "appendix"):
        return _inside(element, level + 1)
    if name == "title":
        is_heading = element.getparent().tag.removeprefix(DOCBOOK) in ("section", "glossary")
        inside = _inside(element, level)
        return f"<h{level}>{inside}</h{level}>" if is_heading else f"<div>{inside}</div>"
    if name in BOXES:
        return f'<aside class="{name}">{_inside(element, level)}</aside>'
    if name in CODE:
        return _code(element)
    if name in MATHS:
        return f"<tt class=formula>{escape(''.join(element.itertext()).strip())}</tt>"
    return _inline(element, name, level)


def _code(element: etree._Element) -> str:
    for number, callout in enumerate(element.iter(f"{DOCBOOK}co"), 1):
        callout.text = f"({number})"
    text, language = "".join(element.itertext()), element.get("language")
    names = f' class="language-{language}"' if language else ""
    return f"<pre><code{names}>{escape(text)}</code></pre>"


def _inline(element: etree._Element, name: str, level: int) -> str:
    """Return the HTML of an element that is the same, or no more than text, in HTML."""
    inside = _inside(element, level)
    if name == "emphasis":
        tag = STYLES.get(element.get("role", ""), "em")
    elif name == "listitem":
        tag = "dd" if element.getparent().tag == f"{DOCBOOK}varlistentry" else "li"
    elif name == "entry":
        tag = "th" if element.getparent().getparent().tag == f"{DOCBOOK}thead" else "td"
    elif name in ("link", "xref"):
        address = element.get(LINK, "")
        if not address.startswith(("http:", "https:", "mailto:")):
            address = "{{page}}"
        inside = inside or "{{title}}"
        return f'<a href="{escape(address)}">{inside}</a>'
    elif name == "imagedata":
        alt = element.xpath("string(../../*[local-name()='textobject'])").strip()
        return f'<img alt="{escape(alt)}" src="{escape(element.get("fileref", ""))}">'
    elif name == "footnote":
        return f'<li class="footnote">{inside}</li>'
    else:
        tag = TAGS.get(name, "")
    return f"<{tag}>{inside}</{tag}>" if tag else inside
