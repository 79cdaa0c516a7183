"""Feeds (RSS, Atom, JSON Feed): the newest pages of a site, often with their whole text."""

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
# An entry has about ten, and one for each keyword and picture.
MAX_CHILDREN = 500
TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json")
JSON_VERSION = "jsonfeed.org/version/"
ROOTS = ("rss", "rdf", "feed")
ENTRIES = ("{*}item", "{*}entry")
ATOM = "{http://www.w3.org/2005/Atom}"
# Namespaces of pictures and episodes, with names of elements about the page.
MEDIA = ("{http://search.yahoo.com/mrss", "{http://www.itunes.com/", "{http://www.google.com/")
TEXTS = ("content", "description", "summary")
PUBLISHED = ("published", "pubDate", "issued", "created", "date")
MODIFIED = ("updated", "modified")
# RSS: "ada@example.org (Ada Byron)"
MAILBOX = re.compile(r"\S+@\S+\s*\((.+)\)")


class Entry(NamedTuple):
    """An entry as written: a *link* relative to *base*; *encoded* is the whole text, if any."""

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
        """Yield the feeds that a page announces, but for those of comments."""
        for rel, kind, address in announced.links:
            is_feed = "alternate" in rel.split() and kind.partition(";")[0].strip() in TYPES
            if is_feed and "comments" not in address:
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the texts of a feed's first `MAX_TEXTS` pages, but for those of comments."""
        return [entry for entry in read_entries(body, url, content_type) if entry.text]


def read_entries(
    body: bytes, url: str, content_type: str = "", texts: int = MAX_TEXTS
) -> list[OwnText]:
    """Return a feed's pages, each once; only the first *texts* have more than an address."""
    source = f"feed {url}"
    found: dict[str, OwnText] = {}
    for entry in islice(_entries(body, url, content_type), MAX_ENTRIES):
        address = absolute(absolute(url, entry.base) or url, entry.link) if entry.link else ""
        if not address or address in found:
            continue
        if len(found) < texts:
            found[address] = _own_text(entry, address, source)
        else:
            found[address] = OwnText(address, "", source)
    return list(found.values())


def _own_text(entry: Entry, address: str, source: str) -> OwnText:
    text = ""
    if "#comment" not in entry.link:  # else it is not the text of its page
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
    own = _json_authors(feed)
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
            authors=_json_authors(item) or own,
            published=string(item.get("date_published")),
            modified=string(item.get("date_modified")),
        )


def _json_authors(value: dict[str, object]) -> tuple[str, ...]:
    # The first version had one.
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
        # libxml2, which recovers, lets invalid encodings pass.
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
    """Return an element's name without namespace, or without prefix if that is unknown."""
    return element.tag.rpartition("}")[2].rpartition(":")[2] if isinstance(element.tag, str) else ""


def _children(element: _Element) -> dict[str, list[_Element]]:
    """Return an element's children by name, but for those with entries: unclosed tags."""
    found: dict[str, list[_Element]] = {}
    for child in islice(element.iterchildren(), MAX_CHILDREN):
        # Comments and entities have no name.
        is_element = isinstance(child.tag, str) and not child.tag.startswith(MEDIA)
        if is_element and next(child.iter(*ENTRIES), None) is None:
            found.setdefault(_local_name(child), []).append(child)
    return found


def _link(children: dict[str, list[_Element]]) -> tuple[str, str]:
    """Return the base ("": the feed's) and address of an entry's page."""
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
    """Return the longest of what some elements hold, as HTML."""
    return max(map(_html, elements), key=len, default="")


def _html(element: _Element) -> str:
    if element.find("*") is not None:  # Atom's XHTML, or HTML that was not escaped
        return str(etree.tostring(element, encoding="unicode", with_tail=False))
    text = inner_text(element)
    # RSS never says that it is HTML.
    is_text = element.tag.startswith(ATOM) and element.get("type", "text") in ("text", "text/plain")
    return escape(text, quote=False) if is_text else text
