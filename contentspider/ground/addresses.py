"""Addresses of pages, as others give them: made absolute and clean, whatever is wrong with them."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

# What is longer leads nowhere: a script, data, or a trap. A link around many blocks is written in
# each of them.
MAX_ADDRESS_CHARS = 2_000
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def absolute(base: str, address: str) -> str:
    """Return the clean absolute form (`clean_address`) of an address that is relative to *base*.

    It is empty, and nothing is raised, if that is no address on the web: another scheme, no host or
    half of one, a port that is none, half a character, or more than 2,000 characters.

    >>> absolute("https://e.org/a/", " b#top "), absolute("https://e.org/", "http://[x/")
    ('https://e.org/a/b', '')
    """
    if len(address) > MAX_ADDRESS_CHARS:
        return ""
    try:
        whole = clean_address(urljoin(base, address.strip()))
        whole.encode()  # half a character raises UnicodeEncodeError, which is a ValueError
        parts = urlsplit(whole)
        # To read the port is what checks it.
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return ""
    return whole if is_web and len(whole) <= MAX_ADDRESS_CHARS else ""


def clean_address(address: str) -> str:
    """Return an address without what does not say which page is meant: its fragment, the port that
    is its scheme's own, and a user's name and password.

    Raises ValueError if its host is half an address of IPv6.

    >>> clean_address("http://me:secret@e.org:80/a#top"), clean_address("https://e.org:8443")
    ('http://e.org/a', 'https://e.org:8443')
    """
    address = address.partition("#")[0]
    parts = urlsplit(address)
    netloc = parts.netloc
    if ":" not in netloc and "@" not in netloc:
        return address
    host = netloc.rpartition("@")[2]
    host = host.removesuffix(DEFAULT_PORTS.get(parts.scheme, ":")).removesuffix(":")
    return address.replace("//" + netloc, "//" + host, 1)


def host_of(address: str) -> str:
    """Return the host of an address, with its port if it names one; empty if it has none.

    >>> host_of("http://me@Example.org:80?a/b"), host_of("data:,x")
    ('example.org:80', '')
    """
    _, slashes, rest = address.partition("://")
    return re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].lower() if slashes else ""
