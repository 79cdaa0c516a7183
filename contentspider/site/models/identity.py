"""The identity of pages and items: ids, hashes, and the fields that count for them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from contentspider.ground.addresses import is_web_address, parameter_order, route_of

if TYPE_CHECKING:
    from collections.abc import Mapping

UNFILTERED = "unfiltered"
# The fields of an item that hold its content, and the fields that differ from run to run.
CONTENT_FIELDS = frozenset(
    "content content_markdown content_html content_hash headings passages summary".split()
)
PASSING_FIELDS = frozenset(
    "crawled_at confidence model_version modified_at change change_ratio first_seen"
    " changed_at".split()
)
# Fields that an own text may fill where the page states nothing.
OWN_TEXT_FIELDS = ("published_at", "modified_at", "author")
HASH_PART = 16  # digits of each of the two hashes in an `item_hash`
# Most addresses match this pattern. They are canonical, so that the slow function of w3lib is not
# needed.
CANONICAL = re.compile(r"https?://[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?:/(?!\.)[A-Za-z0-9._-]*)+\Z")
# The item of a site (``--site-item``) has the address of its front page with this fragment.
SITE_FRAGMENT = "#contentspider-site"
SITE_TYPE = "site"


def is_site_item(url: str) -> bool:
    """Tell whether an address belongs to the item of a site. Such an address is never requested."""
    return url.endswith(SITE_FRAGMENT)


@lru_cache(maxsize=4_096)  # a crawl asks for the id of a page some ten times
def page_id(url: str) -> str:
    """Return the stable id of a page, with 32 hexadecimal digits.

    It is a hash of the canonical form of its address, of the order of the parameters, and of the
    route (`route_of`).
    """
    if not CANONICAL.match(url):
        from w3lib.url import canonicalize_url  # loads an HTTP client

        url = url.encode("utf-8", "replace").decode()
        fragment = SITE_FRAGMENT if is_site_item(url) else route_of(url)
        url = canonicalize_url(url) + parameter_order(url) if is_web_address(url) else url
        url += fragment
    return _digest(url.encode())


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]


def content_hash(content: str) -> str:
    """Return the hash of a page's content; differences in white space do not count."""
    return _digest(" ".join(content.split()).encode("utf-8", "surrogatepass"))


def item_hash(item: Mapping[str, object]) -> str:
    """Return a hash of an item: of its metadata and of its content, `HASH_PART` digits each.

    Fields that differ from run to run do not count.
    """
    content = {name: item[name] for name in item if name in CONTENT_FIELDS}
    metadata_names = item.keys() - CONTENT_FIELDS - PASSING_FIELDS
    metadata = {name: item[name] for name in metadata_names}
    dumps = (json.dumps(part, sort_keys=True).encode() for part in (metadata, content))
    return "".join(sha256(dump).hexdigest()[:HASH_PART] for dump in dumps)


def refilled(item: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    """Return an item with the values of new *fields*.

    Its id, address and site stay, and so do the dates and the author that only own texts gave.
    """
    old_names = {"id", "url", "site"} | {name for name in OWN_TEXT_FIELDS if not fields.get(name)}
    return {
        name: item[name] if name in old_names else fields.get(name, item[name]) for name in item
    }
