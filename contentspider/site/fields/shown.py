"""General rules that find the date and the authors that a page shows, on any site."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.dates import date_in_address
from contentspider.page.about.visible import beside_headline, visible_author, visible_dates

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from contentspider.page.input.page import Page

# The names of the rules, in their order: elements that are marked as dates or authors, the address,
# and the blocks beside the headline.
MARKED, ADDRESS, BESIDE = "marked", "address", "beside the headline"


class ShownDates(NamedTuple):
    """The days of publication and of the last change in ISO 8601, "" if the page shows none."""

    published: str = ""
    modified: str = ""


def _beside_dates(page: Page, title: str) -> ShownDates:
    blocks = page.content.blocks
    near = beside_headline(blocks, title)
    return ShownDates(*visible_dates(blocks, near, page.hints.language))


def _beside_author(page: Page, title: str) -> tuple[str, ...]:
    return visible_author(beside_headline(page.content.blocks, title))


DATE_RULES: Mapping[str, Callable[[Page, str], ShownDates]] = {
    MARKED: lambda page, title: ShownDates(page.metadata.marked_at),
    ADDRESS: lambda page, title: ShownDates(date_in_address(page.url)),
    BESIDE: _beside_dates,
}
AUTHOR_RULES: Mapping[str, Callable[[Page, str], tuple[str, ...]]] = {
    MARKED: lambda page, title: page.metadata.marked_author,
    BESIDE: _beside_author,
}


def shown_dates(page: Page, title: str, distrusted: Collection[str] = ()) -> ShownDates:
    """Return the dates of the first rule that finds a day; rules in *distrusted* are not used.

    *title* is the page's headline.
    """
    for name, find in DATE_RULES.items():
        if name not in distrusted and any(dates := find(page, title)):
            return dates
    return ShownDates()


def shown_author(page: Page, title: str, distrusted: Collection[str] = ()) -> tuple[str, ...]:
    """Return the authors of the first rule that finds any, as `shown_dates` does."""
    for name, find in AUTHOR_RULES.items():
        if name not in distrusted and (names := find(page, title)):
            return names
    return ()
