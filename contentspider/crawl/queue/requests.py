"""Requests as JSON and back, for the book's queue: no pickle, no class that a file names."""

from __future__ import annotations

import json
from hashlib import sha1
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest
from scrapy.utils.request import RequestFingerprinter
from w3lib.http import basic_auth_header

from contentspider.crawl.base.meta import BINDINGS_META_KEY, IN_MEMORY_META_KEY, PAGE_META_KEY
from contentspider.crawl.base.options import CrawlOptions
from contentspider.ground.addresses import (
    page_address,
    parameter_order,
    route_of,
    split_address,
)
from contentspider.ground.errors import DAMAGE, ContentSpiderError, StateError
from contentspider.page.input.page import Page
from contentspider.state.book.item_json import decode_value, dump_item, encode_value, load_item

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.crawl.base.items import Bindings

# Classes of requests that are stored completely by their fields.
PLAIN_CLASSES = (Request, FormRequest, JsonRequest)
# Only fields that differ from these defaults are stored. Columns of the queue have the URL and the
# priority.
DEFAULTS = Request("data:,").to_dict()
del DEFAULTS["url"], DEFAULTS["priority"]
METHODS = ("callback", "errback")
CARRIERS = ("meta", "cb_kwargs")  # fields that carry a user's values and items to a callback
# What each answer sets. A request that was made from an answer, or goes back after it, has it, too.
OF_ANSWERS = (PAGE_META_KEY, BINDINGS_META_KEY)
IGNORE = "contentspider:ignore"  # stands for the callback `ignore`; a method has no such name
ITEM = "item"  # the key of a stored item; `encode_value` writes no such key


class OrderedFingerprinter(RequestFingerprinter):
    """Scrapy's fingerprints, which here depend on the order of the parameters, too, and in crawls
    with a browser on the route (`route_of`).
    """

    def __init__(self, crawler: Crawler | None = None) -> None:
        super().__init__(crawler)
        self._reads_routes = (
            crawler is not None and CrawlOptions.from_settings(crawler.settings).reads_routes
        )

    def fingerprint(self, request: Request) -> bytes:
        """Return the fingerprint of a request."""
        fingerprint = super().fingerprint(request)
        more = parameter_order(request.url)
        if self._reads_routes:
            more += route_of(request.url)
        if not more:
            return fingerprint
        return sha1(fingerprint + more.encode(), usedforsecurity=False).digest()


def ignore(_: object) -> None:
    """Ignore an answer or a failure, which a middleware has recorded."""


def dump_request(request: Request, spider: Spider, bindings: Bindings) -> str:
    """Return a request as JSON, without its address and priority. Raises TypeError if the request
    has a password, or values that are not plain data.
    """
    if IN_MEMORY_META_KEY in request.meta:
        raise TypeError("its address has a password")
    if type(request) not in PLAIN_CLASSES:
        raise TypeError(
            f"a {type(request).__name__} may have attributes beside its address, method, headers"
            " and body"
        )
    record: dict[str, object] = {}
    for name, default in DEFAULTS.items():
        value = getattr(request, name)
        if name in METHODS and callable(value):
            value = _method_name(request, name, spider)
        if value == default:
            continue
        if name == "headers":  # in Latin-1 every byte is a character
            value = {key.decode("latin-1"): values for key, values in value.items()}
        if name in CARRIERS:
            record[name] = {"dict": _encode_carried(value, bindings)}
        else:
            record[name] = encode_value(value, is_exact=False)
    return json.dumps(record, separators=(",", ":"))


def _method_name(request: Request, which: str, spider: Spider) -> str:
    """Return the name of a request's callback or errback (*which*) among the spider's methods."""
    method = getattr(request, which)
    if method is ignore:
        return IGNORE
    name = getattr(method, "__name__", "")
    if getattr(spider, name, None) == method:
        return str(name)
    try:
        # The method may be stored under another name: Scrapy looks at all methods of the spider.
        return str(request.to_dict(spider=spider)[which])
    except ValueError as error:
        raise TypeError(str(error)) from error


def _encode_carried(values: dict[Any, Any], bindings: Bindings) -> dict[str, object]:
    """Return the values of ``meta`` or ``cb_kwargs`` as JSON data."""
    if not all(type(key) is str for key in values):
        raise TypeError("a key of meta or cb_kwargs is not text")
    return {
        key: _encode_item(value, bindings) for key, value in values.items() if key not in OF_ANSWERS
    }


def _encode_item(value: Any, bindings: Bindings) -> object:
    """Return a value as JSON data, a bound item together with its page."""
    if not bindings.has(value):
        return encode_value(value, is_exact=False)
    bound = bindings.get(value)
    text = dump_item(value)
    try:
        load_item(text)
    except ContentSpiderError as error:
        raise TypeError(str(error)) from error
    page, row = (bound.page.dump().hex(), bound.page_row) if bound else (None, None)
    return {ITEM: [text, page, row]}


def _decode_item(value: Any, bindings: Bindings) -> Any:
    """Return the value that `_encode_item` encoded, an item bound to its page."""
    if not isinstance(value, dict) or ITEM not in value:
        return decode_value(value)
    text, page, row = value[ITEM]
    item = load_item(text)
    bindings.bind(item, Page.load(bytes.fromhex(page)) if page else None, row)
    return item


def with_password_apart(request: Request) -> Request:
    """Return a request with the user and password of its address moved to a header. Such a request
    stays in memory, so that no password is written to the book.
    """
    parts = split_address(request.url) if "@" in request.url else None
    if not parts or parts.username is None:
        return request
    clean = request.replace(url=page_address(request.url))
    clean.meta[IN_MEMORY_META_KEY] = True
    credentials = unquote(parts.username), unquote(parts.password or "")
    clean.headers.setdefault("Authorization", basic_auth_header(*credentials))
    return clean


def load_request(text: str, url: str, priority: int, spider: Spider, bindings: Bindings) -> Request:
    """Return the request that `dump_request` wrote; raises `ContentSpiderError`."""
    try:
        return _load(json.loads(text), url, priority, spider, bindings)
    except DAMAGE as error:
        raise StateError(f"the request cannot be read ({error!r})") from error


def _load(record: Any, url: str, priority: int, spider: Spider, bindings: Bindings) -> Request:
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if name in CARRIERS:
            carried = value["dict"].items()
            fields[name] = {key: _decode_item(entry, bindings) for key, entry in carried}
        elif name in METHODS:
            fields[name] = _method(spider, value)
        elif name in DEFAULTS:
            fields[name] = decode_value(value)
    headers = fields.pop("headers", {}).items()
    fields["headers"] = {key.encode("latin-1"): values for key, values in headers}
    return Request(url, priority=priority, **fields)


def _method(spider: Spider, name: object) -> Any:
    """Return the spider's method with a name; raises `StateError`."""
    if name == IGNORE:
        return ignore
    is_name = isinstance(name, str) and not name.startswith("__")
    method = getattr(spider, str(name), None) if is_name else None
    if getattr(method, "__self__", None) is not spider:
        raise StateError(f"the spider has no method {name!r}")
    return method
