"""DOM filters (Gupta, Kaiser, Neistadt and Grimm, 2003): the tree without advertisements, lists of
links, and tables that are empty then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from contentspider.page.tree.text import tokens
from contentspider_research.baselines.protocol import OnePage
from contentspider_research.baselines.trees import read_body, text_of

# Parts of forms, and what else shows no text of the page's own.
CONTROLS = ("button", "fieldset", "input", "label", "legend", "option", "optgroup", "img")
# What may be a list of links, or one's entry.
LISTS = frozenset("td th table tr ul ol li dl dt dd div nav section p".split())
MIN_TABLE_WORDS = 5
MAX_ADDRESS_CHARS = 500
AD_HOSTS = """
2mdn.net
adbrite.com
adform.net
adnxs.com
adsrvr.org
adtech.de
advertising.com
amazon-adsystem.com
atdmt.com
bidvertiser.com
burstnet.com
casalemedia.com
criteo.com
criteo.net
doubleclick.net
falkag.net
fastclick.net
googleadservices.com
googlesyndication.com
infolinks.com
media.net
mgid.com
moatads.com
openx.net
outbrain.com
pubmatic.com
revcontent.com
rubiconproject.com
serving-sys.com
smartadserver.com
taboola.com
tribalfusion.com
valueclick.com
zedo.com
""".split()
ADVERTISEMENT = re.compile(
    r"/ads/|adserver|doubleclick"
    rf"|//(?:[^/?#]*[.@])?(?:{'|'.join(map(re.escape, AD_HOSTS))})(?![\w.-])",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Left:
    """What is left in an element: links, words, and words outside of links."""

    links: int = 0
    words: int = 0
    unlinked: int = 0


class DOMFilters(OnePage):
    """Drops, the deepest elements first, what leads to an advertisement, what has more links than
    *ratio* times its words outside of links, and tables of fewer than `MIN_TABLE_WORDS` words.
    """

    def __init__(self, ratio: float = 0.25) -> None:
        self.ratio = ratio

    def text(self, html: bytes) -> str:
        """Return the text of what is left."""
        body = read_body(html)
        etree.strip_elements(body, *CONTROLS, with_tail=False)
        counts: dict[etree._Element, Left] = {}
        dropped = []
        for element in reversed(list(body.iter())):
            tag = element.tag
            words = len(tokens(element.text)) if element.text else 0
            left = Left(0, words, words)
            for child in element:
                below = counts[child]
                after = len(tokens(child.tail)) if child.tail else 0
                left.links += below.links
                left.words += below.words + after
                left.unlinked += below.unlinked + after
            if tag == "a":
                left.links, left.unlinked = left.links + 1, 0
            address = element.get("href") or element.get("src")
            if (
                (address and ADVERTISEMENT.search(address[:MAX_ADDRESS_CHARS]))
                or (tag in LISTS and left.links > self.ratio * left.unlinked)
                or (tag == "table" and left.words < MIN_TABLE_WORDS)
            ):
                dropped.append(element)
                left = Left()
            counts[element] = left
        for element in dropped:
            if element is not body:
                tail = element.tail
                element.clear()
                element.tail = tail
        return text_of(body)
