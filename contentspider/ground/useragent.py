"""Who the crawler says it is."""

from __future__ import annotations

import re

from contentspider.ground import __version__
from contentspider.ground.errors import ContentSpiderError

# An address of a page or a mail, or both, that ends no comment of a header.
CONTACT = re.compile(r"[!-\'*-:<-~]*(?:@|://)[!-\'*-:<-~]+")
# What the site spider does not know of whoever runs it.
ANONYMOUS = f"contentspider/{__version__} (Scrapy)"


def user_agent(contact: str) -> str:
    """Return the user agent, with a web or mail address of its owner; raises `ContentSpiderError`.

    >>> user_agent("https://example.org/bot; me@example.org").partition(" ")[2]
    '(+https://example.org/bot; me@example.org)'
    """
    if not contact:
        return ANONYMOUS
    parts = [part.strip() for part in contact.split(";")]
    if not all(CONTACT.fullmatch(part) for part in parts):
        raise ContentSpiderError(
            f"the contact {contact!r} cannot be used: give an address of a page or a mail, such as"
            " https://example.org/bot or me@example.org (both: with a semicolon between them)"
        )
    return f"contentspider/{__version__} (+{'; '.join(parts)})"
