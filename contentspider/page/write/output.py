"""Text of the blocks that were kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.write.structure import CELL_TAGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.blocks import Block


def to_text(blocks: Sequence[Block]) -> str:
    """Return the text of the blocks, one block a line; the cells of a table row share a line."""
    lines: list[str] = []
    row = 0
    for block in blocks:
        if block.row and block.row == row and block.tag in CELL_TAGS:
            lines[-1] += "\t" + block.text
        else:
            lines.append(block.text)
        row = block.row if block.tag in CELL_TAGS else 0
    return "\n".join(lines)
