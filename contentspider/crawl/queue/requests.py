"""Requests as JSON and back, for the ledger's queue: no pickle, and no class that the file
names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from scrapy import FormRequest, Request
from scrapy.http import JsonRequest
from w3lib.http import basic_auth_header

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.state.ledger.item_json import decode_value, dump_item, encode_value, load_item

if TYPE_CHECKING:
    from scrapy import Spider

    from contentspider.crawl.hold.binding import Bindings

# These put all that they are into the fields of a request when they are made.
PLAIN_CLASSES = (Request, FormRequest, JsonRequest)
IN_MEMORY_META_KEY = "contentspider_in_memory"
# What differs from a plain Request of the spider's `parse`; the address and the priority are
# columns of the queue.
DEFAULTS: dict[str, Any] = {
    "callback": None,
    "errback": None,
    "headers": {},
    "method": "GET",
    "body": b"",
    "cookies": {},
    "meta": {},
    "encoding": "utf-8",
    "dont_filter": False,
    "flags": [],
    "cb_kwargs": {},
}
# The fields that carry a user's values from one callback to the next.
CARRIERS = ("meta", "cb_kwargs")


# What items that a request carries are under; no value that `encode_value` writes has this name.
ITEM = "item"


def dump_request(request: Request, spider: Spider, bindings: Bindings) -> str:
    """Return a request as JSON, without its address and priority. Items in ``meta`` and
    ``cb_kwargs`` keep the page that they are bound to.

    Raises TypeError if it cannot be made again from data: a callback that is no method of the
    spider, or values in ``meta`` or ``cb_kwargs`` that are not plain.
    """
    if IN_MEMORY_META_KEY in request.meta:
        raise TypeError("its address names a password")
    try:
        fields = request.to_dict(spider=spider)
    except ValueError as error:
        raise TypeError(str(error)) from error
    if type(request) not in PLAIN_CLASSES:
        raise TypeError(
            f"{type(request).__name__} may be more than its address, method, headers and body"
        )
    changed = {
        name: fields[name]
        for name, default in DEFAULTS.items()
        if name in fields and fields[name] != default
    }
    if (
        "headers" in changed
    ):  # bytes, which need not be text: as Latin-1 every one of them is a character
        changed["headers"] = {
            key.decode("latin-1"): [value.decode("latin-1") for value in values]
            for key, values in changed["headers"].items()
        }
    record = {
        name: _encode_values(value, bindings) if name in CARRIERS else encode_value(value)
        for name, value in changed.items()
    }
    return json.dumps(record, separators=(",", ":"))


def _encode_values(values: dict[str, Any], bindings: Bindings) -> object:
    if not all(type(name) is str for name in values):
        raise TypeError("names that are no text cannot be stored as data")
    return {"dict": {name: _encode_item(value, bindings) for name, value in values.items()}}


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


def without_password(address: str) -> str:
    """Return an address without the user and password that it may name.

    >>> without_password("http://me:secret@host:80/a@b")
    'http://host:80/a@b'
    """
    if "@" not in address:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return address.partition("@")[2]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def with_password_apart(request: Request) -> Request:
    """Return a request whose address names no user and password: they are in a header, and it says
    that it is to be kept in memory only.
    """
    parts = urlsplit(request.url) if "@" in request.url else None
    if not parts or parts.username is None:
        return request
    apart = request.replace(url=without_password(request.url))
    apart.meta[IN_MEMORY_META_KEY] = True
    apart.headers.setdefault(
        "Authorization", basic_auth_header(unquote(parts.username), unquote(parts.password or ""))
    )
    return apart


def load_request(text: str, url: str, priority: int, spider: Spider, bindings: Bindings) -> Request:
    """Return the request that `dump_request` wrote; raises ValueError if it names no method of the
    spider, `ContentSpiderError` if an item that it carries cannot be made again.
    """
    fields: dict[str, Any] = {
        name: (
            {key: _decode_item(entry, bindings) for key, entry in value["dict"].items()}
            if name in CARRIERS
            else decode_value(value)
        )
        for name, value in json.loads(text).items()
        if name in DEFAULTS
    }
    if headers := fields.get("headers"):
        fields["headers"] = {
            key.encode("latin-1"): [value.encode("latin-1") for value in values]
            for key, values in headers.items()
        }
    for name in ("callback", "errback"):
        if method := fields.get(name):
            found = (
                getattr(spider, method, None)
                if isinstance(method, str) and not method.startswith("__")
                else None
            )
            if getattr(found, "__self__", None) is not spider:
                raise ValueError(f"the spider has no method {method!r}")
            fields[name] = found
    return Request(url, priority=priority, **fields)
