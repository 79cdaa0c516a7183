"""Writes the kept blocks of a page as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.write.places import CELL_TAGS
from contentspider.page.write.tables import lay_out, table_at, table_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.page.write.lines import Cell


def to_text(blocks: Sequence[Block]) -> str:
    """Return the text of the blocks, one block a line.

    The cells of a table row share a line and are separated by tabs. An empty cell keeps its tab,
    and a short cell that spans several rows is repeated in each. A table in a cell is text of the
    cell.
    """
    lines: list[str] = []
    number = 0
    while number < len(blocks):
        block = blocks[number]
        end, level = table_at(blocks, number) if block.row else (number, 0)
        if end > number:
            lines += _table(blocks[number:end], level)
        else:
            end, paragraphs = _row(blocks, number)
            lines += [block.text for block in blocks[number:paragraphs]]
            lines.append("\t".join([block.text for block in blocks[paragraphs:end]]))
        number = end
    return "\n".join(lines)


def _row(blocks: Sequence[Block], start: int) -> tuple[int, int]:
    """Return the index after the last block of a row outside of data tables, and the index of the
    first block of its last line: cells of a row of a layout table share a line, unless a cell has
    several blocks, which are paragraphs.
    """
    row, end = blocks[start].row, start + 1
    last_line = start
    while row and blocks[end - 1].tag in CELL_TAGS and end < len(blocks):
        if blocks[end].row != row or blocks[end].tag not in CELL_TAGS:
            break
        if blocks[end].cell == blocks[end - 1].cell:
            last_line = end
        end += 1
    return end, last_line


def _table(blocks: Sequence[Block], level: int) -> list[str]:
    rows = lay_out(table_rows(blocks, level), False)
    texts = [[_cell(cell) for cell in row] for row in rows]
    return ["\t".join(row).rstrip("\t") for row in texts]


def _cell(cell: Cell | None) -> str:
    return " ".join([block.text for block in cell.blocks]) if cell else ""
