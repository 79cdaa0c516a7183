"""Requests as JSON and back, for the ledger's queue: no pickle, and no class that the file names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy import FormRequest, Request
from scrapy.http import JsonRequest

from contentspider.storage.items import decode_value, encode_value

if TYPE_CHECKING:
    from scrapy import Spider

# These put all that they are into the fields of a request when they are made.
PLAIN_CLASSES = (Request, FormRequest, JsonRequest)
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


def dump_request(request: Request, spider: Spider) -> str:
    """Return a request as JSON, without its address and priority.

    Raises TypeError if it cannot be made again from data: a callback that is no method of the
    spider, or values in ``meta`` or ``cb_kwargs`` that are not plain.
    """
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
    return json.dumps(
        {name: encode_value(value) for name, value in changed.items()}, separators=(",", ":")
    )


def load_request(text: str, url: str, priority: int, spider: Spider) -> Request:
    """Return the request that `dump_request` wrote; raises ValueError if it names no method of the
    spider.
    """
    fields = {
        name: decode_value(value) for name, value in json.loads(text).items() if name in DEFAULTS
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
