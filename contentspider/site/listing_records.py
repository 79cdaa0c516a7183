"""The records of a listing: title, address, day, picture and text of each of its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.addresses import absolute
from contentspider.page.about.visible import MAX_BYLINE_CHARS, visible_dates
from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.tidy import tidy
from contentspider.page.write.output import to_text
from contentspider.site.listing_entries import listing_entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

MAX_TITLE_CHARS = 300


def listing_records(page: Page) -> list[dict[str, str]]:
    """Return a record for each entry of a listing (`listing_entries`), in the order of the page.

    A record has the ``title`` of the entry, the ``url`` that the title links to, the day that the
    entry shows (``published_at``, ISO 8601), the address of its first picture (``image``), and all
    its ``text``, one block a line. Values that an entry lacks are "".
    """
    records = []
    for entry in listing_entries(page.content):
        blocks = page.content.blocks[entry.start : entry.stop]
        title, address = _linked_title(blocks)
        bylines = [block for block in blocks if len(block.text) <= MAX_BYLINE_CHARS]
        pictures = (absolute(page.base, image[1]) for block in blocks for image in block.images)
        records.append(
            {
                "title": tidy(title, MAX_TITLE_CHARS),
                "url": absolute(page.base, address) if address else "",
                "published_at": visible_dates((), bylines, page.hints.language)[0],
                "image": next(filter(None, pictures), ""),
                "text": to_text(blocks),
            }
        )
    return records


def _linked_title(blocks: Sequence[Block]) -> tuple[str, str]:
    """Return the title of an entry and the address that it links to: of the first heading with a
    link, or else of the first link. Without any link the title is the first heading.
    """
    headings = [block for block in blocks if block.tag in HEADINGS]
    for block in (*headings, *blocks):
        for start, stop, address in block.spans:
            if is_link(address):
                return block.text if block.tag in HEADINGS else block.text[start:stop], address
    return headings[0].text if headings else "", ""
