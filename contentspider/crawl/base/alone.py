"""Reads pages of responses that did not pass our middlewares, as in unit tests of spiders. The
prior judges such a page alone.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse

from contentspider.crawl.base.engine import tree_of
from contentspider.crawl.base.meta import BINDINGS_META_KEY
from contentspider.ground.sites import SiteKeys

if TYPE_CHECKING:
    from scrapy.http import Response

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)


def page_alone(response: Response) -> Page | None:
    """Return the page of a response that has passed no middleware of ours; None if it has passed
    one, or is not HTML.
    """
    meta: dict[str, Any] = response.meta if response.request is not None else {}
    if BINDINGS_META_KEY in meta or not isinstance(response, HtmlResponse):
        return None
    _warn()
    from contentspider.page.input.page import Page

    root = tree_of(response)
    return Page.from_html("", response.url) if root is None else Page.from_root(root, response.url)


def model_alone(url: str) -> SiteModel:
    """Return the model of a site that has been learned from no page: the prior judges each page."""
    from contentspider.site.judge.prior import Prior
    from contentspider.site.models.model import SiteModel

    return SiteModel.of_prior(SiteKeys("domain").key(url), Prior.shipped())


def fields_alone(page: Page) -> dict[str, object]:
    """Return the fields of a `ContentItem` for a page."""
    from contentspider.site.models.record import page_fields

    model = model_alone(page.url)
    return page_fields(page, model.site, model.extract(page), model.version)


@cache
def _warn() -> None:
    """Say once why a page is judged alone: in a crawl the add-on is missing."""
    logger.warning(
        "A response has not passed contentspider's add-on, so its page is read and judged alone."
        " This is right in a unit test. In a crawl, enable the add-on:"
        " ADDONS = {'contentspider.Addon': 500}"
    )
