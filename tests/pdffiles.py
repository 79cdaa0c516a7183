"""Small PDF files, whose texts stand at given places."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TOP, LEADING = 720, 14


class Text(NamedTuple):
    """A text at a place of a page, in points from its lower left corner. A text that begins with
    ``[`` is an array of parts and the spaces between them, in thousandths of the font's size.
    """

    x: float
    y: float
    text: str
    size: float = 12
    is_bold: bool = False

    def code(self) -> str:
        font = "/F2" if self.is_bold else "/F1"
        shown = f"{self.text} TJ" if self.text.startswith("[") else f"({self.text}) Tj"
        return f"BT {font} {self.size} Tf {self.x} {self.y} Td {shown} ET"


def column(
    lines: Iterable[str], x: float = 72, y: float = TOP, size: float = 12, is_bold: bool = False
) -> list[Text]:
    """Return lines below each other; the first one stands at *y*."""
    leading = LEADING * size / 12
    return [Text(x, y - number * leading, line, size, is_bold) for number, line in enumerate(lines)]


def pdf_file(pages: Sequence[Iterable[Text]], title: str = "A document") -> bytes:
    """Return a PDF file with the texts of each page, in Latin-1, and with an author."""
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        *(
            b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" % name
            for name in (b"Helvetica", b"Helvetica-Bold")
        ),
        f"<< /Title ({title}) /Author (A. Writer) >>".encode("latin-1"),
    ]
    for number, texts in enumerate(pages):
        stream = zlib.compress(" ".join(text.code() for text in texts).encode("cp1252"))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {7 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>".encode()
        )
        head = f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + stream + b"\nendstream")
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        body
        + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
        + f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R >>\n".encode()
        + f"startxref\n{len(body)}\n%%EOF\n".encode()
    )


def make_pdf(pages: Iterable[Iterable[str]], title: str = "A document") -> bytes:
    """Return a PDF file with the lines of each page."""
    return pdf_file([column(lines) for lines in pages], title)
