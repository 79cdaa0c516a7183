"""Makes tables and code of elements that style sheets draw as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

# Javadoc (17 and later): the cells of a table follow each other without rows.
HEADER, LAST = "table-header", "col-last"


def make_rows(grid: _Element) -> None:
    """Make a row of the cells up to each last one: ``<div class="col-first">..<div
    class="col-last">``.
    """
    begins_row = True
    for cell in list(grid.iterchildren("div")):
        names = (cell.get("class") or "").split()
        if begins_row:
            row = grid.makeelement("tr")
            cell.addprevious(row)
        cell.tag = "th" if HEADER in names else "td"
        row.append(cell)
        begins_row = LAST in names


def join_lines(code: _Element) -> None:
    """Drop the space between lines of code that are elements (Doxygen), and the space between a
    line and its number. Lines that a reader may fold are in elements of their own.
    """
    for lines in (code, *code.iterfind(".//div[@class='foldopen']")):
        lines.text = _without_space(lines.text)
        for line in lines:
            line.tail = _without_space(line.tail)
            for number in line:
                if number.get("class") == "lineno" and number.tail:
                    number.tail = number.tail.removeprefix(" ")


def join_signature(term: _Element) -> None:
    """Move the parameters of a signature that Sphinx writes a line each, in a list that the parser
    has put behind the *term*, back into it: ``f(`` ``<dl><dd>a,</dd><dd>b,</dd></dl>`` ``)``.
    """
    while (after := term.getnext()) is not None and after.tag not in ("dd", "dt"):
        term.append(after)
    for parameters in term.iterchildren("dl"):
        parameters.tag, parameters.text = "span", None
        for parameter in parameters:
            parameter.tag, parameter.tail = "span", " "
        if len(parameters):
            last = parameters[-1]
            last.tail = None
            if len(last) and last[-1].tail:
                last[-1].tail = last[-1].tail.rstrip(" ,\n")


def _without_space(text: str | None) -> str | None:
    return text if text and text.strip() else None


def drop_separators(facts: _Element) -> None:
    """Drop the dot before a link to the source, which is left out (rustdoc): ``1.0.0 · Source``."""
    for link in facts.iterchildren("a"):
        before = link.getprevious()
        if link.get("class") == "src" and before is not None and before.tail:
            before.tail = before.tail.removesuffix("· ")
