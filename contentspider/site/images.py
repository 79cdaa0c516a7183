"""The pictures of a page's content.

A picture belongs to the content if the text beside it is kept and the site does not repeat the
picture. The minimum size of a large picture follows Yunis (2016). The other limits were measured
on 80 pages whose pictures were labelled by hand (`benchmarks/images.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

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
# Words in the ids and classes of elements that contain a picture and its caption.
FIGURE = re.compile(
    r"caption|figure|photo|image|(?:^|[^a-z])img|picture|thumb|gallery", re.IGNORECASE
)


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
    has the keys of the pictures that the site repeats; they are left out, and so is decoration. The
    other pictures are included in these cases:

    - The page states it in its metadata.
    - Its block is content, or the block on its other side (`_is_beside_kept`).
    - It is large, and its block is the caption of a figure in the article (`_Article.has_figure`).
    """
    images: dict[str, dict[str, Any]] = {}
    resolve = Resolver(page.base).resolve
    stated_url = resolve(page.metadata.image) if page.metadata.image else ""
    article = _Article(page, kept)
    for index, image in _candidates(page, repeated):
        url = resolve(image[1])
        if not url or url in images:
            continue
        if url == stated_url or article.has_picture(index, image):
            confidence = round(float(probabilities[index]), 3)
            images[url] = {"url": url, **_details(page, index, image), "confidence": confidence}
    return list(images.values())


def _details(page: Page, index: int, image: tuple[Any, ...]) -> dict[str, Any]:
    """Return the texts and the size of a picture at the block *index*."""
    offset, address, description, *size = image
    width, height = picture_size(address, *size)
    return {
        "alt": description,
        "caption": _caption(page.content.blocks, index, offset),
        "width": width or None,
        "height": height or None,
        "large": width * height > LARGE_AREA if width and height else None,
    }


class _Article:
    """The article of a page: the innermost element that contains half of the kept text.

    Elements are numbered as in `PageBlocks`. The sums are computed at first access, because few
    pages have a large picture beside text that is not kept.
    """

    def __init__(self, page: Page, kept: Bools) -> None:
        self._page, self._content, self._kept = page, page.content, kept

    @cached_property
    def _sums(self) -> Floats:
        """The kept characters, all characters and characters of links in each element."""
        content = self._content
        sums = np.zeros((len(content.parents), 3))
        for block, is_kept in zip(content.blocks, self._kept.tolist(), strict=True):
            chars = len(block.text)
            sums[block.container] += (chars * is_kept, chars, block.link_chars)
        for element in range(len(sums) - 1, 0, -1):
            sums[content.parents[element]] += sums[element]
        return sums

    @cached_property
    def _element(self) -> int:
        kept_chars = self._sums[:, 0]
        return int(np.flatnonzero(2 * kept_chars >= kept_chars[0])[-1])

    def has_picture(self, index: int, image: tuple[Any, ...]) -> bool:
        """Tell whether a picture at the block *index* belongs to the content."""
        offset, address, _, *size = image
        if self._kept[index] or _is_beside_kept(self._page, self._kept, index, offset):
            return True
        width, height = picture_size(address, *size)
        return width * height > LARGE_AREA and self.has_figure(index)

    def has_figure(self, index: int) -> bool:
        """Tell whether the block with the number *index*, which is not kept, is the caption of a
        figure in the article or beside it.

        The figure is the outermost element around the block without kept text. The ids or classes
        of the figure, or of an element between it and the block, must match `FIGURE`. Its text must
        be short, and less than half of it may be links, because teasers of other pages are links.
        """
        content, parents = self._content, self._content.parents
        block = content.blocks[index]
        figure = block.container
        if not self._sums[0, 0] or self._sums[figure, 0]:
            return False
        while not self._sums[parents[figure], 0]:
            figure = parents[figure]
        _, chars, link_chars = self._sums[figure]
        outer_steps = content.paths[parents[figure]].count("/") + 1
        steps = block.path.split("/")[outer_steps:]
        return (
            chars <= MAX_CAPTION_CHARS
            and 2 * link_chars < chars
            and any(map(FIGURE.search, steps))
            and self._is_around(parents[figure])
        )

    def _is_around(self, element: int) -> bool:
        """Tell whether an element is in the article, or is the article's parent."""
        parents, article = self._content.parents, self._element
        if element == parents[article]:
            return True
        while element > article:
            element = parents[element]
        return element == article


def _candidates(page: Page, repeated: frozenset[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield each picture that is neither repeated nor decoration, with the number of its block."""
    for index, block in enumerate(page.content.blocks):
        for image in block.images:
            if picture_key(image[1]) not in repeated and not _is_decoration(image):
                yield index, image


def _is_beside_kept(page: Page, kept: Bools, index: int, offset: int) -> bool:
    """Tell whether a picture outside of its block's text stands next to another, kept block.

    The picture is recorded at the block *index*; an *offset* below zero says that it
    stands before the block's text, another that it stands behind it. The block on the other side of
    the picture must be kept, and its element must be a sibling of the first block's element.
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
    if any(0 < side < MIN_SIDE for side in picture_size(address, *size)):
        return True
    address_end = "/".join(address.partition("?")[0].split("/")[-ADDRESS_PARTS:])
    return DECORATION.search(address_end) is not None


def picture_size(address: str, width: int = 0, height: int = 0) -> tuple[int, int]:
    """Return the width and height of a picture in pixels, 0 for an unknown one.

    They come from the markup, or, if the markup gives neither, from the name of the file.

    >>> picture_size("/a/tea-300x200.jpg"), picture_size("/a/tea-300x200.jpg", 30)
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
