"""Requests as JSON and back, for the ledger's queue: no pickle, no class that a file names."""

from __future__ import annotations

import json
from hashlib import sha1
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest
from scrapy.utils.request import RequestFingerprinter
from w3lib.http import basic_auth_header

from contentspider.crawl.base.meta import IN_MEMORY_META_KEY
from contentspider.ground.addresses import clean_address, parameter_order, split_address
from contentspider.ground.errors import DAMAGE, ContentSpiderError, StateError
from contentspider.page.input.page import Page
from contentspider.state.ledger.item_json import decode_value, dump_item, encode_value, load_item

if TYPE_CHECKING:
    from contentspider.crawl.base.binding import Bindings

PLAIN_CLASSES = (Request, FormRequest, JsonRequest)  # all that they are is in their fields
# What differs from a plain Request of the spider's `parse`, but for columns of the queue.
DEFAULTS = Request("data:,").to_dict()
del DEFAULTS["url"], DEFAULTS["priority"]
METHODS = ("callback", "errback")
CARRIERS = ("meta", "cb_kwargs")  # of a user's values, and items, to the next callback
ITEM = "item"  # what items are under; no value that `encode_value` writes has this name


class OrderedFingerprinter(RequestFingerprinter):
    """Scrapy's fingerprints, but parameters in another order are another address."""

    def fingerprint(self, request: Request) -> bytes:
        """Return the fingerprint of a request."""
        found = super().fingerprint(request)
        order = parameter_order(request.url)
        return sha1(found + order.encode(), usedforsecurity=False).digest() if order else found


def dump_request(request: Request, spider: Spider, bindings: Bindings) -> str:
    """Return a request as JSON, without address and priority; TypeError if it is no data."""
    if IN_MEMORY_META_KEY in request.meta:
        raise TypeError("its address names a password")
    if type(request) not in PLAIN_CLASSES:
        raise TypeError(
            f"{type(request).__name__} may be more than its address, method, headers and body"
        )
    record: dict[str, object] = {}
    for name, default in DEFAULTS.items():
        value = getattr(request, name)
        if name in METHODS and callable(value):
            value = _method_name(request, name, spider)
        if value == default:
            continue
        if name == "headers":  # as Latin-1, every byte of their names is a character
            value = {key.decode("latin-1"): values for key, values in value.items()}
        if name not in CARRIERS:
            record[name] = encode_value(value)
        elif all(type(key) is str for key in value):
            carried = {key: _encode_item(entry, bindings) for key, entry in value.items()}
            record[name] = {"dict": carried}
        else:
            raise TypeError("names that are no text cannot be stored as data")
    return json.dumps(record, separators=(",", ":"))


def _method_name(request: Request, which: str, spider: Spider) -> str:
    """Return the name of a request's callback; Scrapy looks at all methods of the spider."""
    method = getattr(request, which)
    name = getattr(method, "__name__", "")
    if getattr(spider, name, None) == method:
        return str(name)
    try:
        return str(request.to_dict(spider=spider)[which])  # it may have another name
    except ValueError as error:
        raise TypeError(str(error)) from error


def _encode_item(value: Any, bindings: Bindings) -> object:
    if not bindings.has(value):
        return encode_value(value)
    bound = bindings.get(value)
    text = dump_item(value)
    try:
        load_item(text)
    except ContentSpiderError as error:
        raise TypeError(str(error)) from error
    page, row = (bound.page.dump().hex(), bound.page_row) if bound else (None, None)
    return {ITEM: [text, page, row]}


def _decode_item(value: Any, bindings: Bindings) -> Any:
    if not isinstance(value, dict) or ITEM not in value:
        return decode_value(value)
    text, page, row = value[ITEM]
    item = load_item(text)
    bindings.bind(item, Page.load(bytes.fromhex(page)) if page else None, row)
    return item


def with_password_apart(request: Request) -> Request:
    """Return a request with its address' user and password in a header, to be kept in memory."""
    parts = split_address(request.url) if "@" in request.url else None
    if not parts or parts.username is None:
        return request
    apart = request.replace(url=clean_address(request.url))
    apart.meta[IN_MEMORY_META_KEY] = True
    given = unquote(parts.username), unquote(parts.password or "")
    apart.headers.setdefault("Authorization", basic_auth_header(*given))
    return apart


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
    is_name = isinstance(name, str) and not name.startswith("__")
    found = getattr(spider, str(name), None) if is_name else None
    if getattr(found, "__self__", None) is not spider:
        raise StateError(f"the spider has no method {name!r}")
    return found
