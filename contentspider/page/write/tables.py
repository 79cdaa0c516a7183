# cython: language_level=3, annotation_typing=False, infer_types=True
"""Tables: finds the blocks of a table, builds rows and cells, and lays the cells out in columns.

A table that only arranges parts of the page (a layout table) is not written as a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.tree.tags import PREFORMATTED_TAGS
from contentspider.page.words.names import HEADINGS
from contentspider.page.write.lines import Cell, Row
from contentspider.page.write.places import cell_of, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block

# A cell with more blocks or characters holds a part of the page, so the table is a layout table.
MAX_CELL_BLOCKS, MAX_CELL_CHARS = 6, 1_000
# Below a row of header cells, a cell may hold this many times as much, and also short code.
HEADED_FACTOR = 5
MAX_CELL_CODE_LINES = 10
# Repeating the cells that span rows or columns makes a table at most this many times as long.
MAX_REPEATED = 10
MAX_REPEATED_CHARS = 100  # a longer cell is running text and is written once
MAX_CELLS = 200_000  # a table with more cells is not laid out in columns


def table_at(blocks: Sequence[Block], start: int, outermost: int = 0) -> tuple[int, int]:
    """Return the index after the last block of the table that begins at *start*, and the table's
    level: 0 for a table in no other table.

    If nested tables begin at *start*, the outermost one that is not a layout table is returned.
    Tables at a level below *outermost* are ignored. If all tables are layout tables, the index is
    *start*. A heading over the columns of a table parts it in two.
    """
    block = blocks[start]
    for level in range(outermost, len(block.outer) + 1):
        table = table_of(block, level)
        if _is_over_columns(block, level):
            continue
        if start and _is_in_table(blocks[start - 1], level, table):
            continue  # the first blocks of this table were already found to be layout
        end = start + 1
        while end < len(blocks) and _is_in_table(blocks[end], level, table):
            end += 1
        if not _is_layout(list(blocks[start:end]), level):
            return end, level
    return start, 0


def _is_in_table(block: Block, level: int, table: int | str | None) -> bool:
    return table_of(block, level) == table and not _is_over_columns(block, level)


def _is_over_columns(block: Block, level: int) -> bool:
    """Tell whether a block is a heading within a page in a cell that covers columns (Doxygen)."""
    return block.tag in HEADINGS and block.tag != "h1" and cell_at(block, level)[2] > 1


def table_of(block: Block, level: int) -> int | str | None:
    """Return the number or path that identifies the table at a *level* around a block; None without
    a table.
    """
    if not block.row or level > len(block.outer):
        return None
    if level < len(block.outer):
        return block.outer[level][0]
    return block.table or table_path(block, level)  # earlier versions stored no number


def table_path(block: Block, level: int) -> str:
    """Return the path of the table at a *level* around a block, "" for rows without a table."""
    tables = place_of(block.path).tables
    number = len(tables) - 1 - (len(block.outer) - level)
    return str(tables[number]) if 0 <= number < len(tables) else ""


def cell_at(block: Block, level: int) -> tuple[int, int, int, int]:
    """Return the row and column, and the colspan and rowspan, of a block's cell in the table at a
    *level* around the block.
    """
    if level < len(block.outer):
        return block.outer[level][1:]
    return block.row, block.cell, block.colspan, block.rowspan


def _is_layout(blocks: list[Block], level: int) -> bool:
    """Tell whether a table arranges parts of the page: its cells hold headings, long code or much
    text, or one of its only row holds several paragraphs. A table of one column is data only if it
    has a header and no code: with code, the "header" is the name of a file. A table around other
    tables is data only if it has a header.
    """
    has_header = _has_header(blocks, level)
    factor = HEADED_FACTOR if has_header else 1
    previous_row, previous_cell, _, _ = cell_at(blocks[0], level)
    cell_blocks = cell_chars = 0
    has_code = is_wide = has_table = has_rows = has_paragraphs = False
    for block in blocks:
        row, cell, _, _ = cell_at(block, level)
        has_code = has_code or block.tag in PREFORMATTED_TAGS
        has_table = has_table or len(block.outer) > level
        if row != previous_row or cell != previous_cell:
            is_wide = is_wide or row == previous_row
            cell_blocks = cell_chars = 0
        has_rows = has_rows or row != previous_row
        cell_blocks += 1
        has_paragraphs = has_paragraphs or cell_blocks > 1
        cell_chars += len(block.text)
        is_long = cell_blocks > 1 and cell_chars > factor * MAX_CELL_CHARS
        if is_long or cell_blocks > factor * MAX_CELL_BLOCKS or _is_page_part(block, has_header):
            return True
        previous_row, previous_cell = row, cell
    if not is_wide and (has_code or not has_header):
        return True
    return not has_header and (has_table or (has_paragraphs and not has_rows))


def _is_page_part(block: Block, has_header: bool) -> bool:
    """Tell whether a block belongs to no data table: a heading or code, except for short code below
    a header.
    """
    if block.tag in PREFORMATTED_TAGS:
        return not has_header or block.text.count("\n") >= MAX_CELL_CODE_LINES
    return block.tag in HEADINGS


def _has_header(blocks: list[Block], level: int) -> bool:
    """Tell whether the first row has only header cells and the second row has none."""
    first_row = cell_at(blocks[0], level)[0]
    second_row = 0
    for block in blocks:
        row = cell_at(block, level)[0]
        if second_row and row != second_row:
            return True
        if row != first_row:
            second_row = row
        if cell_of(block.path, table_path(block, level))[0] != (row == first_row):
            return False
    return second_row > 0


def table_rows(blocks: Sequence[Block], level: int) -> list[Row]:
    """Return the rows of the table at a *level* that consists of *blocks*. The parts of its cells
    are empty.
    """
    rows: list[Row] = []
    for block in blocks:
        number, column, colspan, rowspan = cell_at(block, level)
        if not rows or number != rows[-1].number:
            rows.append(Row(number))
        cells = rows[-1].cells
        column = max(column, 1) - 1  # text outside of all cells is added to the first cell
        if not cells or column > cells[-1].column:
            is_header, _ = cell_of(block.path, table_path(block, level))
            cells.append(Cell(column, colspan, rowspan, is_header))
        cells[-1].blocks.append(block)
    width = 1 + max([row.cells[-1].column for row in rows])
    for row in rows:
        for cell in row.cells:
            cell.colspan = max(1, min(cell.colspan, width - cell.column))
    return rows


def lay_out(rows: list[Row], repeats_columns: bool) -> list[list[Cell | None]]:
    """Return the cells by row and column, with None for empty cells.

    A short cell that spans several rows is repeated in each of them. With *repeats_columns* it is
    also repeated in each column that it spans, unless it is the only cell of its row. In a table
    that is too large to lay out, each row has just the cells that begin in it.
    """
    if is_huge(rows):
        cells_by_row: list[list[Cell | None]] = [list(row.cells) for row in rows]
        missing_cells = max(map(len, cells_by_row)) - len(cells_by_row[0])
        cells_by_row[0] += [None] * missing_cells
        return cells_by_row
    width = 1 + max([row.cells[-1].column for row in rows])
    layout = Layout(repeats_columns, MAX_REPEATED * sum([_row_chars(row) for row in rows]))
    cells_by_column = [layout.line(row) for row in rows]
    return [[cells.get(column) for column in range(width)] for cells in cells_by_column]


def is_huge(rows: list[Row]) -> bool:
    """Tell whether a table has too many rows and columns to be laid out."""
    return len(rows) * (1 + max([row.cells[-1].column for row in rows])) > MAX_CELLS


class Layout:
    """Lays out a table row by row.

    *above* maps a column to the cell from an earlier row that still spans it, *chars_left* is how
    many characters may still be repeated.
    """

    def __init__(self, repeats_columns: bool, chars_left: int) -> None:
        self.repeats_columns, self.chars_left = repeats_columns, chars_left
        self.above: dict[int, tuple[int, Cell]] = {}  # last spanned row, cell

    def line(self, row: Row) -> dict[int, Cell]:
        """Return the cell in each column of a row; empty columns are left out."""
        line: dict[int, Cell] = {}
        for column, (last_row, cell) in list(self.above.items()):
            if row.number > last_row or self.chars_left < 0:
                del self.above[column]
            else:
                line[column] = cell
                self.chars_left -= _chars(cell)
        is_alone = len(row.cells) == 1
        for cell in row.cells:
            line[cell.column] = cell
            if cell.colspan * cell.rowspan > 1 and _chars(cell) <= MAX_REPEATED_CHARS:
                columns = cell.colspan if self.repeats_columns and not is_alone else 1
                self._repeat(cell, columns, row.number, line)
        return line

    def _repeat(self, cell: Cell, columns: int, row: int, line: dict[int, Cell]) -> None:
        if self.chars_left < 0:
            return
        for column in range(cell.column, cell.column + columns):
            line[column] = cell
            self.chars_left -= _chars(cell)
            if cell.rowspan > 1:
                self.above[column] = (row + cell.rowspan - 1, cell)


def _row_chars(row: Row) -> int:
    return sum([_chars(cell) for cell in row.cells])


def _chars(cell: Cell) -> int:
    return sum([len(block.text) for block in cell.blocks])
