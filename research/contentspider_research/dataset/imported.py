"""Others' gold as corpora: pages annotated with a class, L3S-GN1, and CleanEval."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml import etree

from contentspider.ground.atomic import write_json
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.body import as_utf8, parse
from contentspider.page.input.files import html_files
from contentspider.page.tree.blocks import read_tree
from contentspider_research.corpora import write_gold, write_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lxml.etree import _Element

logger = logging.getLogger(__name__)

# The class of Yunis (2016) is printed with one underscore and with two.
MAIN_CLASSES = frozenset(["CEML__MAIN__CONTENT", "CEML_MAIN_CONTENT"])
# L3S-GN1 (Kohlschütter et al. 2010): 1 headline, 2 full text, 3 supplemental; 4 related content and
# 5 comments, about which people disagree.
SPAN = re.compile(r"(?:^|\s)x-nc-sel([0-9])(?:\s|$)")
SPAN_CLASS = re.compile(rb"\bx-nc-sel[0-9]\b")
MAIN_SPANS, OPTIONAL_SPANS = frozenset("123"), frozenset("45")
# CleanEval (Baroni et al. 2008): a page in an element of its own, and its text with marked lines.
WRAPPER = re.compile(rb"\A\s*<text\b[^>]*>|</text>\s*\Z", re.IGNORECASE)
ENCODING = re.compile(rb"\A\s*<text\b[^>]*\bencoding\s*=\s*[\"']([\w-]+)", re.IGNORECASE)
MARKED_LINE = re.compile(r"^\s*<[hpl]>\s*", re.IGNORECASE)
URL_LINE = re.compile(r"\A\s*URL:.*\n")
TEXT_NAME = re.compile(r"(?:[-.]cleaned)?\.txt$")


@dataclass(frozen=True, slots=True)
class Imported:
    """A page: its path, its HTML, its main text, and text about which people disagree."""

    path: str
    html: bytes
    text: str
    optional: str = ""


def import_gold(source: Path, folder: Path) -> int:
    """Write the pages of *source* that have gold as a corpus to *folder*; return their number.

    *source* is a folder of HTML files with the class of main content (as ``contentspider annotate``
    writes them; they are one site), of L3S-GN1 (``annotated/``; without ``original/`` the annotated
    pages are taken, without the spans' classes), or of CleanEval (HTML files, and texts of the same
    names, in any folders below it); of these each page is judged by itself. Raises
    `ContentSpiderError` if there are none.
    """
    is_site = False
    if (source / "annotated").is_dir():
        pages = _of_l3s(source)
    elif texts := _texts_of_pages(source):
        pages = _of_cleaneval(source, texts)
    else:
        pages, is_site = _of_classes(source), True
    gold = []
    for page in pages:
        write_page(folder, page.path, page.html)
        row = {"path": page.path, "text": page.text}
        gold.append(row | ({"optional_text": page.optional} if page.optional else {}))
    if not any(row["text"] for row in gold):
        raise ContentSpiderError(
            f"{source} has no pages with gold: a class {min(MAIN_CLASSES)} in HTML files,"
            " annotated/ of L3S-GN1, or HTML files and texts of CleanEval"
        )
    write_gold(folder, gold)
    if not is_site:
        write_json(folder / "site.json", {"id": folder.name, "suite": "pages"})
    return len(gold)


def _of_classes(source: Path) -> Iterator[Imported]:
    for file in html_files(source):
        html = file.read_bytes()
        elements: list[_Element] = []
        content, _ = read_tree(parse(as_utf8(html)), containers=elements)
        marked = [
            not MAIN_CLASSES.isdisjoint(str(element.get("class", "")).split())
            for element in elements
        ]
        if any(marked):
            main = [block.text for block in content.blocks if marked[block.container]]
            path = file.relative_to(source).as_posix()
            yield Imported(path, _without_class(html), "\n".join(main))


def _without_class(html: bytes) -> bytes:
    """Return a page without the classes: nothing is to be learned from them."""
    for name in sorted(MAIN_CLASSES):
        html = html.replace(f' class="{name}"'.encode(), b"").replace(f" {name}".encode(), b"")
        html = html.replace(name.encode(), b"")
    return html


def _of_l3s(source: Path) -> Iterator[Imported]:
    has_originals = (source / "original").is_dir()
    for file in html_files(source / "annotated"):
        name = file.relative_to(source / "annotated")
        original = source / "original" / name
        if has_originals and not original.is_file():
            logger.warning("%s is left out: its page is not in original/", file)
            continue
        html = file.read_bytes()
        main, optional = (_in_spans(html, kind) for kind in (MAIN_SPANS, OPTIONAL_SPANS))
        page = original.read_bytes() if has_originals else SPAN_CLASS.sub(b"", html)
        yield Imported(name.as_posix(), page, main, optional)


def _in_spans(html: bytes, wanted: frozenset[str]) -> str:
    """Return the text of a page that stands in spans of some kinds, the innermost decides."""
    root = parse(as_utf8(html))
    etree.strip_elements(root, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    kinds: dict[_Element, str] = {}
    for element in root.iter("*"):
        above = element.getparent()
        span = SPAN.search(str(element.get("class", "")))
        kinds[element] = span[1] if span else kinds.get(above, "") if above is not None else ""
    for element, kind in kinds.items():
        if kind not in wanted and element.text:
            element.text = " "
        above = element.getparent()
        if element.tail and above is not None and kinds[above] not in wanted:
            element.tail = " "
    content, _ = read_tree(root)
    return "\n".join(block.text for block in content.blocks)


def _texts_of_pages(source: Path) -> dict[str, Path]:
    """Return the texts of the same names as HTML files, by these names."""
    texts = {TEXT_NAME.sub("", path.name): path for path in source.rglob("*.txt")}
    return {file.stem: texts[file.stem] for file in html_files(source) if file.stem in texts}


def _of_cleaneval(source: Path, texts: dict[str, Path]) -> Iterator[Imported]:
    for file in html_files(source):
        gold = texts.get(file.stem)
        if gold is None:
            continue
        html = file.read_bytes()
        encoding = ENCODING.match(html)
        body = WRAPPER.sub(b"", html)
        kind = f"text/html; charset={encoding[1].decode()}" if encoding else None
        lines = URL_LINE.sub("", as_utf8(gold.read_bytes()).decode()).splitlines()
        text = "\n".join(filter(None, (MARKED_LINE.sub("", line).strip() for line in lines)))
        yield Imported(file.relative_to(source).as_posix(), as_utf8(body, kind), text)
