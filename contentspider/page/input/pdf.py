"""Reads the text of PDF files in a process with limited time and memory (extra ``documents``)."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import IO

from contentspider.ground.extras import is_installed
from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

MARK = b"%PDF-"
MAX_BYTES = 30_000_000
MAX_PAGES = 2_000
MAX_CHARS = 5_000_000
READ_SECS = 60
MEMORY_BYTES = 1_000_000_000
# A line that ends a sentence also ends a paragraph if it is shorter than this share of the longest
# line around it.
FULL_LINE = 0.85
SENTENCE_END = re.compile(r"[.!?:…。]['\")\]”’»]*$")
BLANK_LINE = re.compile(r"\n[ \t]*\n")


def is_pdf(body: bytes) -> bool:
    """Tell whether *body* is a PDF file, judged by its first bytes."""
    return body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(MARK)


def can_read() -> bool:
    """Tell whether PDF files can be read, that is, the extra ``documents`` is installed."""
    return is_installed("documents")


def read_pdf(body: bytes, url: str) -> Page | None:
    """Return a PDF file as a page.

    Return None if it is larger than `MAX_BYTES`, the extra ``documents`` is not installed, or
    reading fails or exceeds `READ_SECS` or `MEMORY_BYTES`; the log has the reason for a failure.
    """
    if len(body) > MAX_BYTES or not can_read():
        return None
    try:
        process = subprocess.run(
            [sys.executable, "-m", "contentspider.page.input.pdf"],
            input=body,
            capture_output=True,
            timeout=READ_SECS,
            check=False,
            cwd=Path(__file__).resolve().parents[3],
        )
        document = json.loads(process.stdout) if process.returncode == 0 else None
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        logger.info("%s: the PDF file cannot be read: %s", url, error)
        return None
    if document is None:
        errors = process.stderr.decode(errors="replace").strip().splitlines()
        logger.info("%s: the PDF file cannot be read: %s", url, errors[-1] if errors else "?")
        return None
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in document["paragraphs"])
    head = "".join(
        f'<meta name="{name}" content="{escape(document[name])}">'
        for name in ("author", "keywords")
    )
    html = f"<head><title>{escape(document['title'])}</title>{head}</head><body>{paragraphs}</body>"
    return replace(Page.from_html(html, url), is_document=True)


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


def _extract(file: IO[bytes]) -> dict[str, object]:
    """Return title, author, keywords and paragraphs of a PDF file."""
    from pypdf import PdfReader

    reader = PdfReader(file)
    metadata = reader.metadata
    paragraphs: list[str] = []
    remaining_chars = MAX_CHARS
    for number, page in enumerate(reader.pages):
        if number == MAX_PAGES or remaining_chars <= 0:
            break
        text = page.extract_text().replace("\0", "")[:remaining_chars]
        remaining_chars -= len(text)
        paragraphs += paragraphs_of(text)
    return {
        "title": str((metadata and metadata.title) or ""),
        "author": str((metadata and metadata.author) or ""),
        "keywords": str((metadata and metadata.get("/Keywords")) or ""),
        "paragraphs": paragraphs,
    }


def _limit() -> None:
    """Limit the time and memory of this process."""
    try:
        import resource
    except ImportError:  # Windows lacks the module; only the parent's time limit applies there
        return
    resource.setrlimit(resource.RLIMIT_CPU, (READ_SECS, READ_SECS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def main() -> None:
    """Read a PDF file from standard input, and write its text as JSON to standard output."""
    # Libraries may print; their output must not mix with the JSON.
    output, sys.stdout = sys.stdout, sys.stderr
    _limit()
    json.dump(_extract(io.BytesIO(sys.stdin.buffer.read())), output)


if __name__ == "__main__":
    main()
