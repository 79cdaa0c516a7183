# cython: language_level=3, annotation_typing=False, infer_types=True
"""Tables: their rows and cells, and where each cell stands. One that is there for the layout of the
page is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.tree.tags import PREFORMATTED_TAGS
from contentspider.page.words.names import HEADINGS
from contentspider.page.write.lines import Cell, Part, Row
from contentspider.page.write.places import is_header_cell, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.page.tree.resolver import Resolver

# A cell with more than this holds a part of the page: the table is there for its layout.
MAX_CELL_BLOCKS, MAX_CELL_CHARS = 6, 1_000
# Below a row of headers a cell may have so many times as much, and short code.
HEADED_FACTOR = 5
MAX_CELL_CODE_LINES = 10
# Cells that cover others are repeated until a table has so many times its characters.
MAX_REPEATED = 10
MAX_REPEATED_CHARS = 100  # of a cell; a longer one is a text
MAX_CELLS = 200_000  # of a table that is laid out


def table_end(blocks: Sequence[Block], start: int) -> int:
    """Return the number behind the last block of the table that begins with a block; *start* itself
    if the table is there for the layout.
    """
    table = place_of(blocks[start].path).table
    if start and blocks[start - 1].row and place_of(blocks[start - 1].path).table == table:
        return start  # the rest of a table for the layout
    end = start + 1
    while end < len(blocks) and blocks[end].row and place_of(blocks[end].path).table == table:
        end += 1
    return start if _is_layout(list(blocks[start:end])) else end


def _is_layout(blocks: list[Block]) -> bool:
    """Tell whether a table has more in it than text in cells. Where cells never stand beside each
    other it needs a header, and no code: titles of files stand above code in such tables.
    """
    has_header = _has_header(blocks)
    has_code = False
    factor = HEADED_FACTOR if has_header else 1
    last = blocks[0]
    members = chars = 0
    is_wide = False
    for block in blocks:
        if block.tag in HEADINGS:
            return True
        if block.tag in PREFORMATTED_TAGS:
            has_code = True
            if not has_header or block.text.count("\n") >= MAX_CELL_CODE_LINES:
                return True
        if block.row != last.row or block.cell != last.cell:
            is_wide = is_wide or block.row == last.row
            members = chars = 0
        members += 1
        chars += len(block.text)
        is_long = members > 1 and chars > factor * MAX_CELL_CHARS
        if is_long or members > factor * MAX_CELL_BLOCKS:
            return True
        last = block
    return not is_wide and (has_code or not has_header)


def _has_header(blocks: list[Block]) -> bool:
    """Tell whether a table's first row has header cells alone, and other rows follow, of which the
    first has none: a title above a layout has headers at the side of it, too.
    """
    first = blocks[0].row
    following = 0
    for block in blocks:
        if following and block.row != following:
            return True
        if block.row != first:
            following = block.row
        if is_header_cell(block.path) != (block.row == first):
            return False
    return following > 0


def table_rows(blocks: Sequence[Block], resolver: Resolver, labels: dict[str, str]) -> list[Row]:
    """Return the rows of the table that *blocks* are."""
    rows: list[Row] = []
    for block in blocks:
        if not rows or block.row != rows[-1].number:
            rows.append(Row(block.row))
        cells = rows[-1].cells
        column = max(block.cell, 1) - 1  # what is in no cell of its row stands in the first
        if not cells or column > cells[-1].column:
            cells.append(Cell(column, block))
        cells[-1].parts.append(Part(block, resolver, 0, 0, labels))
    width = 1 + max([row.cells[-1].column for row in rows])
    for row in rows:
        for cell in row.cells:
            cell.colspan = max(1, min(cell.colspan, width - cell.column))
    return rows


def lay_out(rows: list[Row], repeats_columns: bool) -> list[list[list[Part]]]:
    """Return the parts in each column of each row. A short cell that covers several rows stands in
    each of them, and if *repeats_columns* in all columns that it covers, unless it is a row alone.
    Rows of a table too large to be laid out have the cells that begin in them.
    """
    if is_huge(rows):
        lines = [[cell.parts for cell in row.cells] for row in rows]
        lines[0] += [[]] * (max(map(len, lines)) - len(lines[0]))
        return lines
    width = 1 + max([row.cells[-1].column for row in rows])
    layout = Layout(repeats_columns, MAX_REPEATED * sum([_row_chars(row) for row in rows]))
    laid_out = [layout.line(row) for row in rows]
    return [[line.get(column, []) for column in range(width)] for line in laid_out]


def is_huge(rows: list[Row]) -> bool:
    """Tell whether a table has too many columns and rows to be laid out."""
    return len(rows) * (1 + max([row.cells[-1].column for row in rows])) > MAX_CELLS


class Layout:
    """The cells of a table that reach down into the next rows, by their columns, and how many
    characters may be repeated yet.
    """

    def __init__(self, repeats_columns: bool, chars_left: int) -> None:
        self.repeats_columns, self.chars_left = repeats_columns, chars_left
        self.above: dict[int, tuple[int, Cell]] = {}  # the last row that each reaches, and it

    def line(self, row: Row) -> dict[int, list[Part]]:
        """Return the parts in the columns of a row."""
        line: dict[int, list[Part]] = {}
        for column, (last_row, cell) in list(self.above.items()):
            if row.number > last_row or self.chars_left < 0:
                del self.above[column]
            else:
                line[column] = cell.parts
                self.chars_left -= _chars(cell)
        is_alone = len(row.cells) == 1
        for cell in row.cells:
            line[cell.column] = cell.parts
            if cell.colspan * cell.rowspan > 1 and _chars(cell) <= MAX_REPEATED_CHARS:
                columns = cell.colspan if self.repeats_columns and not is_alone else 1
                self._repeat(cell, columns, row.number, line)
        return line

    def _repeat(self, cell: Cell, columns: int, row: int, line: dict[int, list[Part]]) -> None:
        if self.chars_left < 0:
            return
        for column in range(cell.column, cell.column + columns):
            line[column] = cell.parts
            self.chars_left -= _chars(cell)
            if cell.rowspan > 1:
                self.above[column] = (row + cell.rowspan - 1, cell)


def _row_chars(row: Row) -> int:
    return sum([_chars(cell) for cell in row.cells])


def _chars(cell: Cell) -> int:
    return sum([len(part.block.text) for part in cell.parts])
