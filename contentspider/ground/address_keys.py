"""Keys of addresses: two addresses of one page have the same key."""

from __future__ import annotations

import re
from urllib.parse import unquote

from contentspider.ground.addresses import route_of

SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//(?:www\.)?", re.IGNORECASE)
INDEX = re.compile(r"(?:^|/)index\.(?:html?|php|xhtml)$", re.IGNORECASE)
HOST = re.compile(r"[^/?]*")


def address_key(address: str) -> str:
    """Return a key that is the same for all addresses of one page.

    It ignores the scheme, ``www.``, ``index.html``, escapes, a slash at the end, and fragments
    other than routes (`route_of`).

    >>> address_key("https://www.E.org/tea/index.html#top"), address_key("http://e.org/t%65a/")
    ('e.org/tea', 'e.org/tea')
    """
    address = address.strip()
    bare = SCHEME.sub("", address.partition("#")[0])
    path, question, query = bare.partition("?")
    host, slash, host_path = path.partition("/")
    path = INDEX.sub("", host.lower() + slash + unquote(host_path)).strip("/")
    return path + question + query + route_of(address)


def path_key(address: str) -> str:
    """Return the key of an address (`address_key`) without its host.

    A site that moves to another domain usually keeps this part of its addresses.

    >>> path_key("https://old.example/tea/?p=1"), path_key("https://e.org/"), path_key("/tea")
    ('tea?p=1', '', 'tea')
    """
    return address_key(address)[len(host_of_key(address)) :].lstrip("/")


def host_of_key(address: str) -> str:
    """Return the host in the key of an address, "" if the address is a path."""
    match = HOST.match(address_key(address)) if SCHEME.match(address.strip()) else None
    return match[0] if match else ""
