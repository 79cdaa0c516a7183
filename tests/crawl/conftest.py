"""Crawlers and a model of the articles, for tests of the parts of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from tests.crawlers import close, open_crawler
from tests.held import FIELDS
from tests.recrawled import SITE, address
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler

    from contentspider.site.models.model import SiteModel


@pytest.fixture
def crawler(tmp_path: Path) -> Iterator[Crawler]:
    """Give a crawler whose book is deleted when it closes."""
    made = open_crawler(tmp_path, item_fields=FIELDS)
    yield made
    close(made)


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Crawler]:
    """Give a crawler that a later run can resume."""
    made = open_crawler(tmp_path, durable=True, item_fields=FIELDS)
    yield made
    close(made)


@pytest.fixture(scope="module")
def model() -> SiteModel:
    """Return a model that was learned from nine articles."""
    pages = [Page.from_html(article(number), address(f"/{number}")) for number in range(9)]
    return SiteLearner(SITE).fit(pages)
