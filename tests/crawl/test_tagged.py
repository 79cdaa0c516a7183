"""`page_of`: what a spider sees of a page, and of the decisions of its site's model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lxml import html as lxml_html
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from contentspider import SiteLearner, TaggedPage, page_of
from contentspider.crawl.base.items import Bindings
from contentspider.crawl.base.meta import BINDINGS_META_KEY, PAGE_META_KEY
from contentspider.page.features.extractor import FEATURE_NAMES
from contentspider.page.input.overrides import Overrides
from contentspider.page.input.page import Page
from tests.sites import prose

if TYPE_CHECKING:
    from contentspider.site.models.model import SiteModel

HTML = "<title>Tea</title><div class='menu 2nd'><a href=/>Home</a></div><p id=a:b>{}"


def tagged(model: SiteModel | None = None) -> TaggedPage:
    page = Page.from_html(HTML.format(prose(1)), "https://e.org/1")
    bindings = Bindings()
    bindings.model_of = lambda url: model
    meta = {PAGE_META_KEY: page, BINDINGS_META_KEY: bindings}
    response = HtmlResponse(page.url, request=Request(page.url, meta=meta))
    found = page_of(response)
    assert found is not None
    return found


def test_tagged_blocks_have_text_path_and_css_selector() -> None:
    menu, text = tagged().blocks
    assert (menu.text, menu.tag, menu.tag_path) == ("Home", "div", "body/div")
    assert (menu.link_density, text.link_density) == (1, 0)
    assert text.text == prose(1)
    root = HtmlResponse("https://e.org/1", body=HTML.format("x").encode(), encoding="utf-8")
    for block in (menu, text):
        assert len(root.css(block.selector)) == 1, block.selector
    assert menu.css == {}


def test_tagged_blocks_have_prior_features() -> None:
    page = tagged()
    assert page.features.shape == (2, len(FEATURE_NAMES))
    assert list(page.blocks[1].features) == FEATURE_NAMES
    assert list(page.blocks[1].features.values()) == page.features[1].tolist()


def test_tagged_block_decisions_equal_site_model() -> None:
    before = tagged().blocks[1]
    assert (before.probability, before.is_content) == (None, None)
    pages = [Page.from_html(HTML.format(prose(n)), f"https://e.org/{n}") for n in range(12)]
    model = SiteLearner("e.org").fit(pages)
    page = tagged(model)
    assert page.model is model
    assert [block.is_content for block in page.blocks] == [False, True]
    probabilities = model.probabilities(page.page).tolist()
    assert [block.probability for block in page.blocks] == pytest.approx(probabilities)


def test_page_of_returns_none_without_page() -> None:
    assert page_of(TextResponse("https://e.org/x")) is None
    assert page_of(TextResponse("https://e.org/x", request=Request("https://e.org/x"))) is None


def test_page_that_no_crawl_has_read_is_judged_alone() -> None:
    html = HTML.format(prose(1)).encode()
    asked = Request("https://e.org/1")
    for request in (None, asked):
        response = HtmlResponse("https://e.org/1", body=html, encoding="utf-8", request=request)
        page = page_of(response)
        assert page is not None
        assert [block.is_content for block in page.blocks] == [False, True]
    asked.meta[BINDINGS_META_KEY] = Bindings()
    assert page_of(response) is None, "the crawl has left it out: an error page"
    assert page_of(HtmlResponse("https://e.org/1")) is not None, "an empty page has no blocks"


def root() -> Any:
    return lxml_html.fromstring(HTML.format(prose(1)))


def test_tagged_block_explains_its_decision() -> None:
    assert tagged().blocks[0].explain() is None
    pages = [Page.from_html(HTML.format(prose(n)), f"https://e.org/{n}") for n in range(30)]
    menu, text = tagged(SiteLearner("e.org").fit(pages)).blocks
    why = menu.explain()
    assert why is not None and why.correction is not None
    assert (why.is_kept, why.text) == (False, "Home")
    (rule,) = Overrides.parse("\n".join(why.correction.lines)).tables
    assert [element.text_content() for element in rule.keep[0].elements(root())] == ["Home"]
    assert any("100%" in reason for reason in why.reasons), "its links"
    assert any("stands at the beginning" in reason for reason in why.reasons)
    assert (text.explain() or why).is_kept
    assert "&quot;Home&quot; " in why._repr_html_(), "in a notebook"
