"""Addresses of pages: made absolute and clean, however broken the input is."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

# A longer address is a script, data, or a trap.
MAX_ADDRESS_CHARS = 2_000
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def absolute(base: str, address: str) -> str:
    """Return the clean absolute form (`clean_address`) of an address that is relative to *base*.

    Empty if that is not a valid web address: another scheme, no valid host or port, a lone
    surrogate, or more than 2,000 characters.

    >>> absolute("https://e.org/a/", " b#top "), absolute("https://e.org/", "http://[x/")
    ('https://e.org/a/b', '')
    """
    if len(address) > MAX_ADDRESS_CHARS:
        return ""
    try:
        whole = clean_address(urljoin(base, address.strip()))
        whole.encode()  # a lone surrogate raises UnicodeEncodeError, a ValueError
        parts = urlsplit(whole)
        # Reading the port checks it.
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return ""
    return whole if is_web and len(whole) <= MAX_ADDRESS_CHARS else ""


def clean_address(address: str) -> str:
    """Return an address without its fragment, its scheme's default port, user name and password.

    Raises ValueError if its host is a broken IPv6 address.

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


def host_name(address: str) -> str:
    """Return the name or number of an address' host, without its port, in lower case; empty if it
    has none, or is no address.
    """
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def host_of(address: str) -> str:
    """Return the host of an address, with its port if it names one; empty if it has none.

    >>> host_of("http://me@Example.org:80?a/b"), host_of("data:,x")
    ('example.org:80', '')
    """
    _, slashes, rest = address.partition("://")
    return re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].lower() if slashes else ""
