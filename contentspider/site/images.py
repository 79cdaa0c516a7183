"""The pictures of a page's content.

A picture belongs to the content if the text beside it is kept and the site does not repeat the
picture. The minimum size of a large picture follows Yunis (2016). The other limits were measured
on 80 pages whose pictures were labelled by hand (`benchmarks/images.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from contentspider.page.tree.resolver import Resolver
from contentspider.site.judge.rows import text_key
from contentspider.site.judge.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools, Floats

# A picture on at least this share of the sample, and on this many pages, belongs to the template.
REPEATED_SHARE, REPEATED_PAGES = 0.1, 3
LARGE_AREA = 40_000  # in square pixels
MIN_SIDE = 33  # in pixels; a smaller picture is decoration
MAX_CAPTION_CHARS = 500
# Names of decoration are searched in the last parts of a picture's address.
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
    """Return the key of a picture by its address in the markup; it has the form of a text's key."""
    return text_key(f"![]({address})")


def repeated_pictures(pages: Sequence[Page]) -> frozenset[str]:
    """Return the keys of the pictures that many of a site's *pages* show."""
    counts = Counter(
        address
        for page in pages
        for address in {image[1] for block in page.content.blocks for image in block.images}
    )
    min_pages = max(REPEATED_PAGES, REPEATED_SHARE * len(pages))
    return frozenset(
        picture_key(address) for address, count in counts.items() if count >= min_pages
    )


def page_images(
    page: Page, kept: Bools, probabilities: Floats, repeated: frozenset[str]
) -> list[dict[str, Any]]:
    """Return the pictures of a page's content in reading order.

    Each picture is a dict with its ``url``, ``alt`` text, ``caption``, ``width`` and ``height`` in
    pixels, ``large`` (whether it has more than 40,000 square pixels), and the ``confidence`` of the
    text that it stands with. Unknown values are None.

    *kept* tells which blocks are content, *probabilities* how probably each block is. *repeated*
    has the keys of the pictures that the site repeats; they are left out. The picture that the page
    states in its metadata is always included unless it is repeated or decoration.
    """
    images: dict[str, dict[str, Any]] = {}
    resolve = Resolver(page.base).resolve
    stated_url = resolve(page.metadata.image) if page.metadata.image else ""
    for index, (offset, address, description, *size) in _candidates(page, repeated):
        url = resolve(address)
        if not url or url in images:
            continue
        if not (kept[index] or _is_beside_kept(page, kept, index, offset) or url == stated_url):
            continue
        width, height = _size(address, *size)
        images[url] = {
            "url": url,
            "alt": description,
            "caption": _caption(page.content.blocks, index, offset),
            "width": width or None,
            "height": height or None,
            "large": width * height > LARGE_AREA if width and height else None,
            "confidence": round(float(probabilities[index]), 3),
        }
    return list(images.values())


def _candidates(page: Page, repeated: frozenset[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield each picture that is neither repeated nor decoration, with the number of its block."""
    for index, block in enumerate(page.content.blocks):
        for image in block.images:
            if picture_key(image[1]) not in repeated and not _is_decoration(image):
                yield index, image


def _is_beside_kept(page: Page, kept: Bools, index: int, offset: int) -> bool:
    """Tell whether a picture outside of its block's text stands next to another, kept block.

    The picture is recorded at the block *index*; an *offset* outside of that block's text says on
    which side of the block it stands. The block on the other side of the picture must be kept, and
    its element must be a sibling of the first block's element.
    """
    content = page.content
    block = content.blocks[index]
    neighbour = index - 1 if offset < 0 else index + 1
    if 0 <= offset <= len(block.text) or not 0 <= neighbour < len(content.blocks):
        return False
    parents = content.parents
    is_sibling = parents[content.blocks[neighbour].container] == parents[block.container]
    return bool(kept[neighbour]) and is_sibling


def _is_decoration(image: tuple[Any, ...]) -> bool:
    """Tell whether a picture is decoration, by its size or by a name in its address."""
    _, address, _, *size = image
    if any(0 < side < MIN_SIDE for side in _size(address, *size)):
        return True
    address_end = "/".join(address.partition("?")[0].split("/")[-ADDRESS_PARTS:])
    return DECORATION.search(address_end) is not None


def _size(address: str, width: int = 0, height: int = 0) -> tuple[int, int]:
    """Return the width and height of a picture in pixels, 0 for an unknown one.

    They come from the markup, or, if the markup gives neither, from the name of the file.

    >>> _size("/uploads/tea-300x200.jpg"), _size("/uploads/tea-300x200.jpg", 30)
    ((300, 200), (30, 0))
    """
    if not (width or height) and (match := SIZE_IN_NAME.search(address)):
        return int(match[1]), int(match[2])
    return width, height


def _caption(blocks: Sequence[Block], index: int, offset: int) -> str:
    """Return the caption of a picture at the block *index*, "" if it has none.

    The caption is that block, if it is in a ``figcaption``; or else that block, or its neighbour on
    the picture's side, if its element has a name with "caption". The ``figcaption`` of a neighbour
    belongs to other pictures.
    """
    if "/figcaption" in blocks[index].path:
        return blocks[index].text[:MAX_CAPTION_CHARS]
    neighbour = index + 1 if offset >= 0 else index - 1
    for number in (index, neighbour):
        if 0 <= number < len(blocks):
            block = blocks[number]
            names = " ".join(step_names(block.path.rpartition("/")[2])).lower()
            if CAPTION in names and "/figcaption" not in block.path:
                return block.text[:MAX_CAPTION_CHARS]
    return ""
