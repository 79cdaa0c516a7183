"""The user agent that identifies the crawler to sites."""

from __future__ import annotations

import re

from contentspider.ground import __version__
from contentspider.ground.errors import ContentSpiderError

# The address of a page or a mailbox, without characters that would end a header's comment.
CONTACT = re.compile(r"[!-\'*-:<-~]*(?:@|://)[!-\'*-:<-~]+")
# The user agent if the user gave no contact.
ANONYMOUS = f"contentspider/{__version__} (Scrapy)"


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
