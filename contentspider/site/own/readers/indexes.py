"""Reads the search indexes that static site generators write for searches in the browser.

They contain the text of all pages: MkDocs' ``search_index.json`` (sections of pages), Hexo's
``search.xml`` (whole posts), and the ``search-index.json`` of docusaurus-search-local (sections).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from contentspider.ground.addresses import absolute
from contentspider.site.own.readers.reading import (
    inner_text,
    is_json,
    join_lines,
    objects,
    own_text,
    read_json,
    read_xml,
    string,
    text_of,
    title_of,
)
from contentspider.site.own.texts import MAX_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from contentspider.site.own.sources import Announced
    from contentspider.site.own.texts import OwnText

# The address of a generator's index, relative to the start page, by the beginning of its name.
INDEX_ADDRESSES = {
    "mkdocs": "search/search_index.json",
    "hexo": "search.xml",
    "docusaurus": "search-index.json",
}
# At most this many sections are read. A site of 10,000 pages has about 100,000.
MAX_SECTIONS = 200_000
MAX_SECTIONS_OF_PAGE = 1_000
# This many sections are compared to find out whether a page's text includes its sections.
MAX_COMPARED = 3


@dataclass(slots=True)
class Sections:
    """A page in an index: its *title*, its *whole* text, and its *sections*.

    A section is a pair of its heading and its text. All texts are HTML.
    """

    title: str = ""
    whole: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)

    def text(self) -> str:
        """Return the page's text in reading order, with its title and its headings."""
        sections = [(title_of(heading), text_of(text)) for heading, text in self.sections]
        title, whole = title_of(self.title), _without_sections(text_of(self.whole), sections)
        if whole.startswith(title) or (sections and sections[0][0] == title):
            title = ""  # the text begins with it
        parts = [title, whole]
        for section in sections:
            parts += section
        return join_lines(line for part in parts for line in part.splitlines())


class SearchIndex:
    """The own texts of the search indexes that MkDocs, Hexo and Docusaurus write."""

    name = "index"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the address of the index beside a start page that names such a generator."""
        generator = announced.generator.strip().lower()
        for name, index_address in INDEX_ADDRESSES.items():
            if generator.startswith(name) and (address := absolute(announced.url, index_address)):
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the texts of an index's first `MAX_TEXTS` pages."""
        source = f"index {url}"
        if not is_json(body):
            return _hexo(body, url, source)
        value = read_json(body)
        pages = _mkdocs(value, url) if isinstance(value, dict) else _docusaurus(value, url)
        texts = (
            own_text(address, page.text(), source, page.title) for address, page in pages.items()
        )
        return [text for text in texts if text.text]


def _hexo(body: bytes, url: str, source: str) -> list[OwnText]:
    root = read_xml(body)
    if root is None:
        return []
    pages: dict[str, OwnText] = {}
    try:
        entries = root.iterchildren("entry") if root.tag == "search" else ()
        for entry in islice(entries, MAX_TEXTS):
            links = (link.get("href") for link in entry.iterchildren("link"))
            address = _address(url, _child(entry, "url") or next(links, ""))
            text = text_of(_child(entry, "content"))
            if address and text and address not in pages:
                pages[address] = own_text(address, text, source, _child(entry, "title"))
    except UnicodeDecodeError:
        pass  # libxml2 recovered with text in an invalid encoding: the remaining pages are lost
    return list(pages.values())


def _child(entry: _Element, name: str) -> str:
    return next((inner_text(child).strip() for child in entry.iterchildren(name)), "")


def _mkdocs(index: dict[str, object], url: str) -> dict[str, Sections]:
    pages: dict[str, Sections] = {}
    root = absolute(url, "../")
    for entry in objects(index.get("docs"), MAX_SECTIONS):
        # The location of the front page is "", which is valid.
        if not isinstance(entry.get("location"), str):
            continue
        location, _, anchor = string(entry.get("location")).partition("#")
        page = _page(pages, absolute(root, location))
        if page is None:
            continue
        title, text = string(entry.get("title")), string(entry.get("text"))
        if anchor:
            if len(page.sections) < MAX_SECTIONS_OF_PAGE:
                page.sections.append((title, text))
        else:
            page.title, page.whole = title, text
    return pages


def _docusaurus(index: object, url: str) -> dict[str, Sections]:
    """Return the pages of an index: its first list has the pages' titles, its last the sections."""
    pages: dict[str, Sections] = {}
    groups = [objects(group.get("documents"), MAX_SECTIONS) for group in objects(index, 10)]
    if len(groups) < 2:
        return pages
    for document in groups[-1]:
        page = _page(pages, _address(url, document.get("u")))
        if page and len(page.sections) < MAX_SECTIONS_OF_PAGE:
            page.sections.append((string(document.get("s")), string(document.get("t"))))
    for document in groups[0]:
        if page := pages.get(_address(url, document.get("u"))):
            page.title = string(document.get("t"))
    return pages


def _address(url: str, link: object) -> str:
    return absolute(url, link) if link and isinstance(link, str) else ""


def _page(pages: dict[str, Sections], address: str) -> Sections | None:
    """Return the page of an address, which is added to *pages* if there are fewer than `MAX_TEXTS`.

    The result is None if the page is not in *pages* and cannot be added.
    """
    if address and address not in pages and len(pages) < MAX_TEXTS:
        pages[address] = Sections()
    return pages.get(address)


def _without_sections(whole: str, sections: list[tuple[str, str]]) -> str:
    """Return the part of a page's text before its sections.

    The search plugin of MkDocs includes the sections in the page's text; other plugins do not.
    """
    compared = [section for section in sections if section[1]][:MAX_COMPARED]
    if not compared or not all(text in whole for _, text in compared):
        return whole
    heading, text = compared[0]
    before_text = whole.partition(text)[0]
    if heading and heading in before_text:
        return before_text.rpartition(heading)[0]
    return before_text
