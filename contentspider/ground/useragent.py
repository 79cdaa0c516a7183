"""The user agent that identifies the crawler to sites."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.ground import __version__
from contentspider.ground.addresses import network_of, split_address
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Iterable

# The address of a page or a mailbox, without characters that would end a header's comment.
CONTACT = re.compile(r"[!-\'*-:<-~]*(?:@|://)[!-\'*-:<-~]+")
# The user agent if the user gave no contact.
ANONYMOUS = f"contentspider/{__version__} (Scrapy)"
# Names that only networks of one house know (RFC 6762, RFC 8375, and ICANN's for private use).
HOUSE_NAMES = (".local", ".home.arpa", ".internal")


def user_agent(contact: str) -> str:
    """Return the user agent with a contact (web or mail address); raises `ContentSpiderError`.

    >>> user_agent("https://example.org/bot; me@example.org").partition(" ")[2]
    '(+https://example.org/bot; me@example.org)'
    """
    if not contact:
        return ANONYMOUS
    parts = [part.strip() for part in contact.split(";")]
    if not all(CONTACT.fullmatch(part) for part in parts):
        raise ContentSpiderError(
            f"the contact {contact!r} cannot be used: give the address of a web page or a mailbox,"
            " such as https://example.org/bot or me@example.org (or both, separated by a semicolon)"
        )
    return f"contentspider/{__version__} (+{'; '.join(parts)})"


def are_public(addresses: Iterable[str]) -> bool:
    """Tell whether one of the addresses is of a public host, as far as its name tells.

    >>> are_public(["http://localhost:8000/", "http://10.0.0.1/", "http://wiki/"])
    False
    >>> are_public(["http://localhost:8000/", "https://example.org/"])
    True
    """
    hosts = [(split_address(address).hostname or "").rstrip(".") for address in addresses]
    return any(
        not network_of(host) and ("." in host or ":" in host) and not host.endswith(HOUSE_NAMES)
        for host in hosts
    )
