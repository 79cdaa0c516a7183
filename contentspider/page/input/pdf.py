"""Recognises PDF files, and splits plain text into paragraphs."""

from __future__ import annotations

import re

MARK = b"%PDF-"
MAX_CHARS = 5_000_000
# A line that ends a sentence also ends a paragraph if it is shorter than this share of the longest
# line around it.
FULL_LINE = 0.85
SENTENCE_END = re.compile(r"[.!?:…。]['\")\]”’»]*$")
BLANK_LINE = re.compile(r"\n[ \t]*\n")


def is_pdf(body: bytes) -> bool:
    """Tell whether *body* is a PDF file, judged by its first bytes."""
    return body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(MARK)


def paragraphs_of(text: str) -> list[str]:
    r"""Return the paragraphs of a text that has a line break after each line.

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
