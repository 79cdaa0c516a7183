"""Matches own texts with the pages of a site, whose addresses may be written differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.address_keys import address_key, host_of_key, path_key
from contentspider.ground.addresses import absolute
from contentspider.page.about.jsonld import title_key
from contentspider.page.about.stated_texts import marked_texts
from contentspider.site.own.texts import OwnText
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contentspider.page.input.page import Page

ANNOUNCED_SHARE = 0.2


def stated_texts(pages: Iterable[Page]) -> list[OwnText]:
    """Return the texts that pages state of themselves in their markup, as own texts."""
    return [
        OwnText(page.url, stated.text, stated.source, page_title(page))
        for page in pages
        for stated in (*page.stated_texts, *marked_texts(page.content))
    ]


def texts_by_page(pages: Sequence[Page], own_texts: Iterable[OwnText]) -> dict[int, list[OwnText]]:
    """Return the own texts of each page, in order, by the page's number among *pages*.

    A text whose address is at an old domain of the site belongs to the page with the same path and
    title. If a source has several texts for one page, they are texts of its parts, for example
    comments, and are left out.
    """
    texts = list(own_texts)
    numbers = _page_numbers(pages, texts)
    by_source: dict[int, dict[str, list[OwnText]]] = {}
    for own, number in zip(texts, numbers, strict=True):
        if number >= 0:
            by_source.setdefault(number, {}).setdefault(own.source, []).append(own)
    return {
        number: [texts[0] for texts in sources.values() if len(texts) == 1]
        for number, sources in sorted(by_source.items())
    }


def rarely_announced(pages: Sequence[Page]) -> dict[str, frozenset[int]]:
    """Return the sources that few of *pages* announce, each with the numbers of these pages.

    A visitor can upload a feed and announce it on a page. The feeds of the site itself are
    announced by its front page, or by at least `ANNOUNCED_SHARE` of its pages. A feed that
    no page announces, for example one that the user gives, is not returned.
    """
    numbers_of: dict[str, set[int]] = {}
    for number, page in enumerate(pages):
        base = absolute(page.url, page.content.base) if page.content.base else page.url
        for feed in page.hints.feeds:
            numbers_of.setdefault(f"feed {absolute(base, feed)}", set()).add(number)
    fronts = {number for number, page in enumerate(pages) if not path_key(page.url)}
    return {
        source: frozenset(numbers)
        for source, numbers in numbers_of.items()
        if len(numbers) < ANNOUNCED_SHARE * len(pages) and fronts.isdisjoint(numbers)
    }


def _page_numbers(pages: Sequence[Page], texts: Sequence[OwnText]) -> list[int]:
    """Return for each own text the number of its page, -1 if none of *pages* is its page."""
    number_of: dict[str, int] = {}
    for addresses in ([page.url for page in pages], [page.hints.canonical for page in pages]):
        for number, address in enumerate(addresses):
            if address:
                number_of.setdefault(address_key(address), number)
    numbers = [number_of.get(address_key(own.url), -1) for own in texts]
    unmatched: dict[str, list[int]] = {}
    for index, (own, number) in enumerate(zip(texts, numbers, strict=True)):
        if number < 0:
            unmatched.setdefault(own.source, []).append(index)
    if unmatched:
        number_of_path = _numbers_by_path(pages)
        for indexes in unmatched.values():
            source_texts = [texts[index] for index in indexes]
            moved_numbers = _numbers_of_moved(pages, number_of_path, source_texts)
            for index, number in zip(indexes, moved_numbers, strict=True):
                numbers[index] = number
    return numbers


def _numbers_by_path(pages: Sequence[Page]) -> dict[str, int]:
    """Return the number of the page at each path, -1 for front pages and paths of several pages."""
    numbers: dict[str, int] = {}
    for number, page in enumerate(pages):
        path = path_key(page.url)
        numbers[path] = -1 if path in numbers or not path else number
    return numbers


def _numbers_of_moved(
    pages: Sequence[Page], number_of_path: Mapping[str, int], texts: Sequence[OwnText]
) -> list[int]:
    """Return the page numbers of a source's *texts* at an old domain of the site, by their paths.

    The number is -1 if the page at a path does not have the text's title. If most titles differ,
    all numbers are -1, since then the source belongs to another site.
    """
    hosts = {host_of_key(page.url) for page in pages}
    numbers = [
        -1 if host_of_key(own.url) in hosts else number_of_path.get(path_key(own.url), -1)
        for own in texts
    ]
    confirmed = [
        number if number >= 0 and title_key(own.title) in _title_keys(pages[number]) else -1
        for own, number in zip(texts, numbers, strict=True)
    ]
    matches = sum(number >= 0 for number in numbers)
    if 2 * sum(number >= 0 for number in confirmed) > matches:
        return confirmed
    return [-1] * len(texts)


def _title_keys(page: Page) -> set[str]:
    """Return the keys of a page's titles for comparisons, without empty keys."""
    return {title_key(title) for title in (page_title(page), *page.hints.titles)} - {""}
