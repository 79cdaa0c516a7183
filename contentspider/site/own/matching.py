"""Which page an own text is of, in whatever form its address is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from contentspider.page.about.jsonld import title_key
from contentspider.page.about.stated_texts import marked_texts
from contentspider.site.own.texts import OwnText
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contentspider.page.input.page import Page

SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//(?:www\.)?", re.IGNORECASE)
INDEX = re.compile(r"(?:^|/)index\.(?:html?|php|xhtml)$", re.IGNORECASE)
HOST = re.compile(r"[^/?]*")


def address_key(address: str) -> str:
    """Return what two addresses of one page have in common, which may differ in scheme, ``www.``,
    ``index.html``, escapes and a slash at the end.

    >>> address_key("https://www.E.org/tea/index.html#top"), address_key("http://e.org/t%65a/")
    ('e.org/tea', 'e.org/tea')
    """
    bare = SCHEME.sub("", address.strip().partition("#")[0])
    path, question, query = bare.partition("?")
    host, slash, rest = path.partition("/")
    path = INDEX.sub("", host.lower() + slash + unquote(rest)).strip("/")
    return path + question + query


def path_key(address: str) -> str:
    """Return what is left of an address' key without its host: what a site that moved to another
    domain keeps of the addresses of its pages.

    >>> path_key("https://old.example/tea/?p=1"), path_key("https://e.org/"), path_key("/tea")
    ('tea?p=1', '', 'tea')
    """
    return address_key(address)[len(_host(address)) :].lstrip("/")


def _host(address: str) -> str:
    """Return the host in an address' key, empty if the address is a path."""
    match = HOST.match(address_key(address)) if SCHEME.match(address.strip()) else None
    return match[0] if match else ""


def stated_by(pages: Iterable[Page]) -> list[OwnText]:
    """Return what pages state of their own text themselves, as own texts of them."""
    return [
        OwnText(page.url, stated.text, stated.source, page_title(page))
        for page in pages
        for stated in (*page.stated_texts, *marked_texts(page.content))
    ]


def by_page(pages: Sequence[Page], own_texts: Iterable[OwnText]) -> dict[int, list[OwnText]]:
    """Return the own texts of each page, in order, by its number among *pages*.

    Texts at an old domain of the site belong to the page with their path and title. A source with
    several texts for one page has texts of its parts (comments): they are left out.
    """
    texts = list(own_texts)
    numbers: dict[str, int] = {}
    for addresses in ([page.url for page in pages], [page.hints.canonical for page in pages]):
        for number, address in enumerate(addresses):
            if address:
                numbers.setdefault(address_key(address), number)
    places = [numbers.get(address_key(own.url), -1) for own in texts]
    elsewhere: dict[str, list[int]] = {}
    for index, (own, place) in enumerate(zip(texts, places, strict=True)):
        if place < 0:
            elsewhere.setdefault(own.source, []).append(index)
    paths = _pages_of_paths(pages) if elsewhere else {}
    for indexes in elsewhere.values():
        moved = _moved(pages, paths, [texts[index] for index in indexes])
        for index, number in zip(indexes, moved, strict=True):
            places[index] = number
    found: dict[int, dict[str, list[OwnText]]] = {}
    for own, place in zip(texts, places, strict=True):
        if place >= 0:
            found.setdefault(place, {}).setdefault(own.source, []).append(own)
    return {
        number: [own for texts in sources.values() if len(texts) == 1 for own in texts]
        for number, sources in sorted(found.items())
    }


def _pages_of_paths(pages: Sequence[Page]) -> dict[str, int]:
    """Return the number of the page of each path that only one page has; front pages have none."""
    found: dict[str, int] = {}
    for number, page in enumerate(pages):
        path = path_key(page.url)
        found[path] = -1 if path in found or not path else number
    return found


def _moved(pages: Sequence[Page], paths: Mapping[str, int], texts: Sequence[OwnText]) -> list[int]:
    """Return the page of each of a source's *texts* by its path, -1 if none has its title, too, and
    for all if most titles differ: the source is another site's.
    """
    hosts = {_host(page.url) for page in pages}
    places = [-1 if _host(own.url) in hosts else paths.get(path_key(own.url), -1) for own in texts]
    agreed = [
        place if place >= 0 and title_key(own.title) in _title_keys(pages[place]) else -1
        for own, place in zip(texts, places, strict=True)
    ]
    is_own = 2 * sum(place >= 0 for place in agreed) > sum(place >= 0 for place in places)
    return agreed if is_own else [-1] * len(texts)


def _title_keys(page: Page) -> set[str]:
    """Return a page's titles for comparison; none is empty."""
    return {title_key(title) for title in (page_title(page), *page.hints.titles)} - {""}
