"""Requests as the book keeps them."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

import numpy as np
import pytest
from scrapy import Request, Spider
from scrapy.utils.request import RequestFingerprinter

from contentspider.crawl.base.items import Bindings
from contentspider.crawl.base.meta import BINDINGS_META_KEY, IN_MEMORY_META_KEY, PAGE_META_KEY
from contentspider.crawl.queue.requests import OrderedFingerprinter, dump_request, load_request
from contentspider.ground.errors import StateError


class MySpider(Spider):
    name = "my"

    def page(self, response: Any, number: int = 0) -> None:
        """Read a page."""

    def failed(self, failure: Any) -> None:
        """Note a failure."""


def test_serialized_requests_load_unchanged() -> None:
    spider = MySpider()
    request = Request(
        "http://x/?q=ü",
        spider.page,
        method="POST",
        headers={"X-Odd": b"\xff", "Accept": ["a", "b"]},
        body=b"\x00\xff",
        priority=3,
        dont_filter=True,
        meta={"depth": 2, "tuple": (1, {"x"})},
        cb_kwargs={"number": 1},
        errback=spider.failed,
        flags=["f"],
        cookies={"a": "b"},
    )
    again = load_request(
        dump_request(request, spider, Bindings()), request.url, request.priority, spider, Bindings()
    )
    assert again.to_dict(spider=spider) == request.to_dict(spider=spider)
    assert dump_request(Request("http://x"), spider, Bindings()) == "{}"
    for odd in (
        Request("http://x", lambda response: None),
        Request("http://x", meta={"page": object()}),
    ):
        with pytest.raises(TypeError):
            dump_request(odd, spider, Bindings())


class Text(str):
    """A subclass, as lxml has one of text."""


class Size(str, Enum):
    """A value that code compares."""

    SMALL = "small"


def test_subclasses_of_plain_types_are_stored_as_these() -> None:
    values = {
        "text": Text("tea"),
        "price": np.float64(1.5),
        "many": [(Text("a"), {"b": Text("c")})],
    }
    request = Request("http://x", meta=values, cb_kwargs=values, headers={"X": Text("d")})
    text = dump_request(request, MySpider(), Bindings())
    again = load_request(text, "http://x", 0, MySpider(), Bindings())
    for carried in (again.meta, again.cb_kwargs):
        assert carried == values
        assert [type(carried["text"]), type(carried["price"])] == [str, float]
        assert type(carried["many"][0][1]["b"]) is str
    with pytest.raises(TypeError, match="Size"):
        dump_request(Request("http://x", meta={"size": Size.SMALL}), MySpider(), Bindings())


def test_page_of_an_answer_is_not_stored_with_the_request_that_was_made_from_it() -> None:
    meta = {PAGE_META_KEY: object(), BINDINGS_META_KEY: object(), "depth": 2}
    text = dump_request(Request("http://x", meta=meta), MySpider(), Bindings())
    assert load_request(text, "http://x", 0, MySpider(), Bindings()).meta == {"depth": 2}


class Signed(Request):
    """A request that is more than its fields."""


def test_unserializable_request_raises_type_error() -> None:
    for carrier in ("meta", "cb_kwargs"):
        request = Request("http://x", **{carrier: {5: "tea"}})
        with pytest.raises(TypeError, match="not text"):
            dump_request(request, MySpider(), Bindings())
    secret = Request("http://x", meta={IN_MEMORY_META_KEY: True})
    with pytest.raises(TypeError, match="password"):
        dump_request(secret, MySpider(), Bindings())
    with pytest.raises(TypeError, match="Signed"):
        dump_request(Signed("http://x"), MySpider(), Bindings())


def test_callback_method_is_found_under_alias() -> None:
    class Renamed(MySpider):
        def _named(self, response: object) -> None: ...

        parse_it = _named
        del _named

    renamed = Renamed()
    text = dump_request(Request("http://x", callback=renamed.parse_it), renamed, Bindings())
    assert json.loads(text)["callback"] == "parse_it"


def test_loaded_request_rejects_callbacks_that_are_not_spider_methods() -> None:
    for text in ('{"callback": "nothing"}', '{"callback": "__init__"}', '{"errback": "name"}'):
        with pytest.raises(StateError, match="no method"):
            load_request(text, "http://x", 0, MySpider(), Bindings())


@pytest.mark.parametrize(
    ("url", "is_kept"),
    [("http://x/a#b", True), ("http://x/?a=1&b=2", True), ("http://x/?b=2&a=1", False)],
)
def test_pages_in_the_cache_of_a_project_are_found_as_before(url: str, is_kept: bool) -> None:
    ours, scrapys = OrderedFingerprinter(), RequestFingerprinter()
    request = Request(url)
    assert (ours.fingerprint(request) == scrapys.fingerprint(request)) == is_kept
