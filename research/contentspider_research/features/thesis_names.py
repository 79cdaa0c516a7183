"""What ids and classes call an element in a thesis on derived features: its patterns, as it has
them. What our own models read in names is `contentspider.page.words.names`.
"""

from __future__ import annotations

import re

# Of an id or of one class, whatever its case.
ADVERTISEMENT = re.compile(
    r"\bad-|-ad\b|\bad_|_ad\b|\badv-|-adv\b|\badv_|_adv\b|advert|\bads|adblock|adbox", re.IGNORECASE
)
# Between hyphens, underscores and changes of case; the source means the plural, too: an element
# ``#comments`` is what it speaks of.
PARTS = {
    "comment": "comment",
    "comments": "comment",
    "main": "main",
    "footer": "footer",
    "wrapper": "wrapper",
    "aside": "aside",
    "cookie": "cookies",
    "cookies": "cookies",
}
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Only the tag ``section`` makes an element a section: names such as ``comments-section`` mean its
# content.
CALLED = ("nav", "ad", "comment", "main", "footer", "wrapper", "aside", "cookies", "section")
TAGS = frozenset(["nav", "main", "footer", "aside", "section"])


def called(name: str) -> frozenset[str]:
    """Return which of `CALLED` an id or a class says: ``nav`` anywhere in it, the patterns of
    advertisements, the others as a part.

    >>> sorted(called("sidenavAside")), called("gradient")
    (['aside', 'nav'], frozenset())
    """
    found = {PARTS[part] for each in PART.findall(name) if (part := each.lower()) in PARTS}
    if "nav" in name.lower():
        found.add("nav")
    if ADVERTISEMENT.search(name):
        found.add("ad")
    return frozenset(found)
