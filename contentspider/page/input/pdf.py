"""Reads the text of PDF files."""

from __future__ import annotations

import re
import time
from typing import IO, TypedDict

MARK = b"%PDF-"
MAX_PAGES = 2_000
MAX_CHARS = 5_000_000
# A line that ends a sentence also ends a paragraph if it is shorter than this share of the longest
# line around it.
FULL_LINE = 0.85
SENTENCE_END = re.compile(r"[.!?:…。]['\")\]”’»]*$")
BLANK_LINE = re.compile(r"\n[ \t]*\n")


class PdfText(TypedDict):
    """The text and the properties of a PDF file, and the number of pages that were not read."""

    title: str
    author: str
    keywords: str
    paragraphs: list[str]
    pages_left_out: int


def is_pdf(body: bytes) -> bool:
    """Tell whether *body* is a PDF file, judged by its first bytes."""
    return body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(MARK)


def paragraphs_of(text: str) -> list[str]:
    r"""Return the paragraphs of the text of a PDF page, which has a line break after each line.

    >>> paragraphs_of("A line that is as long as the pa-\nper is.\nThe next paragraph.")
    ['A line that is as long as the paper is.', 'The next paragraph.']
    """
    paragraphs = []
    for part in BLANK_LINE.split(text):
        lines = [line.strip() for line in part.splitlines()]
        full = FULL_LINE * max(map(len, lines), default=0)
        paragraph = ""
        for line in lines:
            if len(paragraph) > 1 and paragraph[-1] == "-" and line[:1].islower():
                paragraph = paragraph[:-1] + line
            else:
                paragraph = f"{paragraph} {line}".strip()
            if len(line) < full and SENTENCE_END.search(line):
                paragraphs.append(paragraph)
                paragraph = ""
        paragraphs.append(paragraph)
    return [paragraph for paragraph in paragraphs if paragraph]


def extract_text(file: IO[bytes], seconds: float) -> PdfText:
    """Return title, author, keywords and paragraphs of a PDF file, of the pages that are read in
    some *seconds* of processor time, and the number of pages left out for want of time.
    """
    from pypdf import PdfReader

    end = time.process_time() + seconds
    reader = PdfReader(file)
    metadata = reader.metadata
    paragraphs: list[str] = []
    remaining_chars = MAX_CHARS
    pages_left_out = 0
    for number, page in enumerate(reader.pages):
        if number == MAX_PAGES or remaining_chars <= 0:
            break
        if time.process_time() > end:
            pages_left_out = len(reader.pages) - number
            break
        text = page.extract_text().replace("\0", "")[:remaining_chars]
        remaining_chars -= len(text)
        paragraphs += paragraphs_of(text)
    return {
        "title": str((metadata and metadata.title) or ""),
        "author": str((metadata and metadata.author) or ""),
        "keywords": str((metadata and metadata.get("/Keywords")) or ""),
        "paragraphs": paragraphs,
        "pages_left_out": pages_left_out,
    }
