"""Reads feeds (RSS, Atom, JSON Feed): the newest pages of a site, often with their whole text."""

from __future__ import annotations

import re
from contextlib import suppress
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from contentspider.ground.addresses import absolute
from contentspider.site.own.readers.reading import (
    inner_text,
    is_json,
    objects,
    own_text,
    read_json,
    read_xml,
    string,
    text_of,
)
from contentspider.site.own.texts import MAX_TEXTS, OwnText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from contentspider.site.own.sources import Announced

MAX_ENTRIES = 20_000
# An entry has about ten child elements, and one more for each keyword and picture.
MAX_CHILDREN = 500
TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json")
JSON_VERSION = "jsonfeed.org/version/"
ROOTS = ("rss", "rdf", "feed")
ENTRIES = ("{*}item", "{*}entry")
ATOM = "{http://www.w3.org/2005/Atom}"
# Namespaces that describe pictures and episodes. Their elements share names with elements that
# describe the page, and are skipped.
MEDIA = ("{http://search.yahoo.com/mrss", "{http://www.itunes.com/", "{http://www.google.com/")
TEXTS = ("content", "description", "summary")
PUBLISHED = ("published", "pubDate", "issued", "created", "date")
MODIFIED = ("updated", "modified")
# RSS: "ada@example.org (Ada Byron)"
MAILBOX = re.compile(r"\S+@\S+\s*\((.+)\)")


class Entry(NamedTuple):
    """An entry of a feed; *link* is relative to *base*, *encoded* is the whole text, or ""."""

    base: str
    link: str
    title: str
    texts: tuple[str, ...]
    encoded: str = ""
    authors: tuple[str, ...] = ()
    published: str = ""
    modified: str = ""


class Feed:
    """The own texts of RSS, Atom and JSON feeds."""

    name = "feed"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of the feeds that a page announces, except feeds of comments."""
        for rel, kind, address in announced.links:
            is_feed = "alternate" in rel.split() and kind.partition(";")[0].strip() in TYPES
            if is_feed and "comments" not in address:
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the texts of a feed's first `MAX_TEXTS` pages, without texts of comments."""
        return [entry for entry in read_entries(body, url, content_type) if entry.text]


def read_entries(
    body: bytes, url: str, content_type: str = "", texts: int = MAX_TEXTS
) -> list[OwnText]:
    """Return the pages of a feed without duplicates.

    The first *texts* pages have all fields of an own text, later pages only an address.
    """
    source = f"feed {url}"
    pages: dict[str, OwnText] = {}
    for entry in islice(_entries(body, url, content_type), MAX_ENTRIES):
        address = absolute(absolute(url, entry.base) or url, entry.link) if entry.link else ""
        if not address or address in pages:
            continue
        if len(pages) < texts:
            pages[address] = _own_text(entry, address, source)
        else:
            pages[address] = OwnText(address, "", source)
    return list(pages.values())


def _own_text(entry: Entry, address: str, source: str) -> OwnText:
    text = ""
    # The text of a comment is not the text of its page.
    if "#comment" not in entry.link:
        text = text_of(entry.encoded) or max(map(text_of, entry.texts), key=len, default="")
    return own_text(
        address, text, source, entry.title, entry.authors, entry.published, entry.modified
    )


def _entries(body: bytes, url: str, content_type: str) -> Iterator[Entry]:
    if is_json(body):
        value = read_json(body)
        kind = content_type.partition(";")[0].strip().lower()
        if isinstance(value, dict) and (
            kind == "application/feed+json" or JSON_VERSION in string(value.get("version"))
        ):
            yield from _json_entries(value)
        return
    root = read_xml(body)
    if root is not None:
        yield from _xml_entries(root)


def _json_entries(feed: dict[str, object]) -> Iterator[Entry]:
    feed_authors = _json_authors(feed)
    for item in objects(feed.get("items"), MAX_ENTRIES):
        yield Entry(
            "",
            string(item.get("url")),
            string(item.get("title")),
            (
                string(item.get("content_html")),
                escape(string(item.get("content_text")), quote=False),
                escape(string(item.get("summary")), quote=False),
            ),
            authors=_json_authors(item) or feed_authors,
            published=string(item.get("date_published")),
            modified=string(item.get("date_modified")),
        )


def _json_authors(value: dict[str, object]) -> tuple[str, ...]:
    # In version 1 of JSON Feed an item has a single author.
    authors = objects(value.get("authors"), MAX_CHILDREN) or objects([value.get("author")], 1)
    return tuple(name for author in authors if (name := string(author.get("name"))))


def _xml_entries(root: _Element) -> Iterator[Entry]:
    try:
        if _local_name(root).lower() not in ROOTS:
            return
        authors = tuple(_authors(_children(root)))
    except UnicodeDecodeError:
        return
    for element in root.iter(*ENTRIES):
        # libxml2 lets text in an invalid encoding pass when it recovers from errors.
        with suppress(UnicodeDecodeError):
            yield _xml_entry(_children(element), authors)


def _xml_entry(children: dict[str, list[_Element]], authors: tuple[str, ...]) -> Entry:
    return Entry(
        *_link(children),
        _markup(*children.get("title", ())[:1]),
        tuple(_markup(*children.get(name, ())) for name in TEXTS),
        _markup(*children.get("encoded", ())),
        tuple(_authors(children)) or authors,
        _first_text(children, PUBLISHED),
        _first_text(children, MODIFIED),
    )


def _local_name(element: _Element) -> str:
    """Return an element's name without its namespace, and without a prefix that is not declared.

    The result is "" for comments and entities, which are not named.
    """
    return element.tag.rpartition("}")[2].rpartition(":")[2] if isinstance(element.tag, str) else ""


def _children(element: _Element) -> dict[str, list[_Element]]:
    """Return the children of an element by their local names.

    A child that contains entries is left out: its tag was not closed.
    """
    children: dict[str, list[_Element]] = {}
    for child in islice(element.iterchildren(), MAX_CHILDREN):
        # The tag of a comment or an entity is not a string.
        is_element = isinstance(child.tag, str) and not child.tag.startswith(MEDIA)
        if is_element and next(child.iter(*ENTRIES), None) is None:
            children.setdefault(_local_name(child), []).append(child)
    return children


def _link(children: dict[str, list[_Element]]) -> tuple[str, str]:
    """Return the base ("" stands for the feed's) and the address of an entry's page."""
    for link in children.get("link", ()):
        href = link.get("href")
        if href is None and link.text and link.text.strip():
            return "", link.text
        if href and link.get("rel", "alternate") == "alternate":
            return link.base or "", href
    for guid in children.get("guid", ()):
        if guid.get("isPermaLink", "true") == "true" and guid.text:
            return "", guid.text.strip()
    return "", ""


def _authors(children: dict[str, list[_Element]]) -> Iterator[str]:
    for element in children.get("creator", ()):
        yield inner_text(element)
    for element in children.get("author", ()):
        names = _children(element).get("name")
        text = inner_text(names[0]) if names else inner_text(element)
        mailbox = MAILBOX.fullmatch(text.strip()[:1_000])
        yield mailbox[1] if mailbox else text


def _first_text(children: dict[str, list[_Element]], names: tuple[str, ...]) -> str:
    texts = (inner_text(element) for name in names for element in children.get(name, ()))
    return next(filter(None, texts), "")


def _markup(*elements: _Element) -> str:
    """Return the longest content of some elements, as HTML."""
    return max(map(_html, elements), key=len, default="")


def _html(element: _Element) -> str:
    if element.find("*") is not None:  # Atom's XHTML, or HTML that was not escaped
        return str(etree.tostring(element, encoding="unicode", with_tail=False))
    text = inner_text(element)
    # In RSS the content is always HTML; in Atom it is text unless its type says otherwise.
    is_text = element.tag.startswith(ATOM) and element.get("type", "text") in ("text", "text/plain")
    return escape(text, quote=False) if is_text else text
