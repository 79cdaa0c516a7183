"""The pictures of a page's content, by the text that they stand with and what the site repeats.

The groups by size are those of Yunis (2016). What decides was measured on pictures of 80 pages that
were judged one by one (`benchmarks/images.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from contentspider.page.tree.resolver import Resolver
from contentspider.site.judge.rows import text_key
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools, Floats

# A picture that stands on so many pages is the template's.
REPEATED_SHARE, REPEATED_PAGES = 0.1, 3
LARGE_AREA = 40_000  # in square pixels
MIN_SIDE = 33
MAX_CAPTION_CHARS = 500
# By the last parts of its address.
ADDRESS_PARTS = 3
DECORATION = re.compile(
    r"(?:^|[^a-z])(?:logos?|icons?|ico|smil(?:ey|ie)s?|emojis?|emoticons?|badges?|avatars?|gravatar|"
    r"spacer|blank|buttons?|btn|bullets?|pixel|banners?|counter|rss|arrow|divider|shim|masthead|"
    r"sprite)(?:[^a-z]|$)",
    re.IGNORECASE,
)
SIZE_IN_NAME = re.compile(r"[-_](\d{2,4})x(\d{2,4})(?=[._-]|$)")
CAPTION = "caption"


def picture_key(address: str) -> str:
    """Return the key, as of a text that recurs, of a picture by its address in the markup."""
    return text_key(f"![]({address})")


def repeated_pictures(pages: Sequence[Page]) -> frozenset[str]:
    """Return the keys of the pictures that many of a site's *pages* show."""
    counts = Counter(
        address
        for page in pages
        for address in {image[1] for block in page.content.blocks for image in block.images}
    )
    least = max(REPEATED_PAGES, REPEATED_SHARE * len(pages))
    return frozenset(picture_key(address) for address, count in counts.items() if count >= least)


def page_images(
    page: Page, kept: Bools, probabilities: Floats, repeated: frozenset[str]
) -> list[dict[str, Any]]:
    """Return the pictures of a page's content in reading order: ``url``, ``alt``, ``caption``,
    ``width`` and ``height`` (None: not known), ``large`` (more than 40,000 square pixels; None: not
    known), and the ``confidence`` of the text that it stands with; by the blocks that are *kept*,
    and the keys of the pictures that are *repeated* on the site.
    """
    found: dict[str, dict[str, Any]] = {}
    resolve = Resolver(page.base).resolve
    stated = resolve(page.metadata.image) if page.metadata.image else ""
    for index, (place, address, description, *size) in _candidates(page, repeated):
        url = resolve(address)
        is_main = kept[index] or _is_beside_kept(page, kept, index, place)
        if not url or url in found or not (is_main or url == stated):
            continue
        width, height = _size(address, *size)
        found[url] = {
            "url": url,
            "alt": description,
            "caption": _caption(page.content.blocks, index, place),
            "width": width or None,
            "height": height or None,
            "large": width * height > LARGE_AREA if width and height else None,
            "confidence": round(float(probabilities[index]), 3),
        }
    return list(found.values())


def _candidates(page: Page, repeated: frozenset[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the pictures that are no decoration, each with the number of its block."""
    for index, block in enumerate(page.content.blocks):
        for image in block.images:
            if picture_key(image[1]) not in repeated and not _is_decoration(image):
                yield index, image


def _is_beside_kept(page: Page, kept: Bools, index: int, place: int) -> bool:
    """Tell whether a picture that stands alone has kept text on its other side, whose element is a
    sibling of that of the block at *index*.
    """
    content = page.content
    block = content.blocks[index]
    other = index - 1 if place < 0 else index + 1
    if 0 <= place <= len(block.text) or not 0 <= other < len(content.blocks):
        return False
    parents = content.parents
    is_sibling = parents[content.blocks[other].container] == parents[block.container]
    return bool(kept[other]) and is_sibling


def _is_decoration(image: tuple[Any, ...]) -> bool:
    _, address, _, *size = image
    shown = "/".join(address.partition("?")[0].split("/")[-ADDRESS_PARTS:])
    return any(0 < side < MIN_SIDE for side in _size(address, *size)) or bool(
        DECORATION.search(shown)
    )


def _size(address: str, width: int = 0, height: int = 0) -> tuple[int, int]:
    """Return width and height by the markup or, if it says neither, by the name of the file.

    >>> _size("/uploads/tea-300x200.jpg"), _size("/uploads/tea-300x200.jpg", 30)
    ((300, 200), (30, 0))
    """
    if not (width or height) and (named := SIZE_IN_NAME.search(address)):
        return int(named[1]), int(named[2])
    return width, height


def _caption(blocks: Sequence[Block], index: int, place: int) -> str:
    """Return the text beside a picture that is called a caption; a figure's is only that of the
    pictures which stand with it.
    """
    if "/figcaption" in blocks[index].path:
        return blocks[index].text[:MAX_CAPTION_CHARS]
    for number in (index, index + (1 if place >= 0 else -1)):
        if 0 <= number < len(blocks):
            block = blocks[number]
            names = " ".join(step_names(block.path.rpartition("/")[2])).lower()
            if CAPTION in names and "/figcaption" not in block.path:
                return block.text[:MAX_CAPTION_CHARS]
    return ""
