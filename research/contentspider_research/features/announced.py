"""Headers that announce what is not the page's content ("Related", "Most Popular"), and the
sections that they rule: a thesis' list of sixty, ``headers.json``.

A feature, never a filter: "References" is content to an encyclopaedia.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from contentspider.page.words.names import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Collection

    from contentspider.page.tree.blocks import PageBlocks

SITE = "[site]"
HEADERS: list[str] = json.loads(files(__package__).joinpath("headers.json").read_text("utf-8"))
# None is longer by itself; what stands for a site's name is no sentence.
MAX_HEADER_CHARS = 100
MAX_NAME_WORDS = 4


def header_key(text: str) -> str:
    """Return a header's words in lower case, without punctuation and quotes.

    >>> header_key("Editor\u2019s choice:"), header_key("Most E-Mailed")
    ('editors choice', 'most emailed')
    """
    kept = "".join(char for char in text.lower() if char.isalnum() or char.isspace())
    return " ".join(kept.split())


WHOLE = frozenset(header_key(header) for header in HEADERS if SITE not in header)
BEFORE_NAME = tuple(
    header_key(header.replace(SITE, "")) + " " for header in HEADERS if SITE in header
)


def announces_noise(text: str, site_names: Collection[str] | None = None) -> bool:
    """Tell whether a header is one of the sixty, as a whole.

    Where one of them names the site, *site_names* are the keys (`header_key`) of its names; if they
    are not known (None), up to `MAX_NAME_WORDS` words are taken for one.

    >>> announces_noise("More from Tea Weekly"), announces_noise("More from Tea Weekly", ["bbc"])
    (True, False)
    """
    if len(text) > MAX_HEADER_CHARS:
        return False
    key = header_key(text)
    if key in WHOLE:
        return True
    name = next((key[len(start) :] for start in BEFORE_NAME if key.startswith(start)), "")
    return bool(name) and (
        name.count(" ") < MAX_NAME_WORDS if site_names is None else name in site_names
    )


def block_ranges(page: PageBlocks) -> tuple[list[int], list[int]]:
    """Return for each element of the page the number of the first block in or below it, and of the
    one behind the last.
    """
    first = [len(page.blocks)] * len(page.parents)
    end = [0] * len(page.parents)
    for number, block in enumerate(page.blocks):
        first[block.container] = min(first[block.container], number)
        end[block.container] = number + 1
    for element in range(len(page.parents) - 1, 0, -1):
        parent = page.parents[element]
        first[parent] = min(first[parent], first[element])
        end[parent] = max(end[parent], end[element])
    return first, end


def noise_sections(page: PageBlocks, site_names: Collection[str] | None = None) -> list[int]:
    """Return for each block the level (1 to 6) of the header that announces noise above it, 0 if
    there is none.

    A header's section is what follows it in the outermost element, but for the body, that it is the
    first text of; if that has no other text (a box around the header), what follows in the element
    around. The next header of its level, or of a higher one, ends it.
    """
    levels = [0] * len(page.blocks)
    headers = [element for element, tag in enumerate(page.tags) if tag in HEADINGS]
    if not headers:
        return levels
    first, end = block_ranges(page)
    following = dict.fromkeys(headers, len(page.blocks))
    open_headers: list[int] = []  # of falling rank
    for header in headers:
        rank = HEADINGS[page.tags[header]]
        while open_headers and HEADINGS[page.tags[open_headers[-1]]] >= rank:
            following[open_headers.pop()] = first[header]
        open_headers.append(header)
    for header in headers:
        text = " ".join(block.text for block in page.blocks[first[header] : end[header]][:3])
        if not announces_noise(text, site_names):
            continue
        around = header
        while page.parents[around] > 0 and first[page.parents[around]] == first[header]:
            around = page.parents[around]
        if end[around] == end[header]:
            around = max(page.parents[around], 0)
        stop = min(end[around], following[header])
        start = end[header]
        levels[start:stop] = [HEADINGS[page.tags[header]]] * max(stop - start, 0)
    return levels
