"""Which page an own text is of, in whatever form its address is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from contentspider.page.about.stated import marked_texts
from contentspider.site.own.texts import OwnText
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.page.input.page import Page

SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//(?:www\.)?", re.IGNORECASE)
INDEX = re.compile(r"(?:^|/)index\.(?:html?|php|xhtml)$", re.IGNORECASE)


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


def stated_by(pages: Iterable[Page]) -> list[OwnText]:
    """Return what pages state of their own text themselves, as own texts of them."""
    return [
        OwnText(page.url, stated.text, stated.source, page_title(page))
        for page in pages
        for stated in (*page.stated_texts, *marked_texts(page.content))
    ]


def by_page(pages: Sequence[Page], own_texts: Iterable[OwnText]) -> dict[int, list[OwnText]]:
    """Return the own texts of each page, in order, by its number among *pages*.

    A source with several texts for one page has texts of its parts (comments): they are left out.
    """
    numbers: dict[str, int] = {}
    for addresses in ([page.url for page in pages], [page.hints.canonical for page in pages]):
        for number, address in enumerate(addresses):
            if address:
                numbers.setdefault(address_key(address), number)
    found: dict[int, dict[str, list[OwnText]]] = {}
    for own in own_texts:
        number = numbers.get(address_key(own.url), -1)
        if number >= 0:
            found.setdefault(number, {}).setdefault(own.source, []).append(own)
    return {
        number: [own for texts in sources.values() if len(texts) == 1 for own in texts]
        for number, sources in sorted(found.items())
    }
