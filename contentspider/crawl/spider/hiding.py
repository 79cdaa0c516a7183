"""Tells the crawl what each address gave, to find out whether its site hides its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from contentspider.crawl.base.engine import asked_address
from contentspider.crawl.base.outcomes import PERMANENT
from contentspider.crawl.spider.duplicates import plain_form
from contentspider.ground.addresses import absolute
from contentspider.page.about.shell import LITTLE_CHARS, Signs, read_signs
from contentspider.site.hidden import MAX_CHARS, Answer, chars_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element
    from scrapy.http import Response

    from contentspider.page.input.page import Page


def read_answer(
    response: Response,
    page: Page,
    root: _Element | None,
    *,
    is_start: bool = False,
    is_probe: bool = False,
    has_links: bool = False,
) -> Answer | None:
    """Return the signs of hidden pages in a response; None if its page is a copy of the page that
    it names as canonical. See `Answer` for the flags.
    """
    asked, form = asked_address(response), plain_form(response.url)
    chars = chars_of(page)
    signs = read_signs(root) if root is not None and chars <= MAX_CHARS else Signs()
    is_redirected = plain_form(asked) != form
    canonical = absolute(response.url, page.hints.canonical)
    if canonical and not is_redirected and not is_start and plain_form(canonical) != form:
        return None
    address = plain_form(asked)
    if not (signs.is_for_scripts and chars < LITTLE_CHARS):
        # Many servers do not read the parameters of an address.
        address = address.partition("?")[0]
    return Answer(
        address,
        page,
        signs,
        is_start=is_start,
        is_probe=is_probe,
        has_links=has_links,
        is_redirected=is_redirected and _is_for_now(response.meta.get("redirect_reasons", ())),
        is_returned=is_redirected and _names(response.url, asked),
    )


def _is_for_now(reasons: Sequence[int | str]) -> bool:
    return any(reason not in PERMANENT for reason in reasons)


def _names(url: str, asked: str) -> bool:
    """Tell whether the query of an address has another address, to return to it."""
    parts = urlsplit(asked)
    path = parts.path or "/"
    values = [value for _, value in parse_qsl(urlsplit(url).query)]
    return any(value.partition("?")[0] in (path, asked.partition("?")[0]) for value in values)
