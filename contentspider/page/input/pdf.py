"""Text of PDF files (the extra ``documents``), read in a process with limits of time and memory."""

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
# A line this much shorter than its page's longest ends a paragraph, if it ends a sentence.
FULL_LINE = 0.85
SENTENCE_END = re.compile(r"[.!?:…。]['\")\]”’»]*$")
BLANK_LINE = re.compile(r"\n[ \t]*\n")


def is_pdf(body: bytes) -> bool:
    """Tell whether *body* is a PDF file, whatever its content type."""
    return body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(MARK)


def can_read() -> bool:
    """Tell whether PDF files can be read: whether the extra ``documents`` is installed."""
    return is_installed("documents")


def read_pdf(body: bytes, url: str) -> Page | None:
    """Return a PDF file as a page; None if it cannot be read within `READ_SECS` and the limits."""
    if len(body) > MAX_BYTES or not can_read():
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-m", "contentspider.page.input.pdf"],
            input=body,
            capture_output=True,
            timeout=READ_SECS,
            check=False,
            cwd=Path(__file__).resolve().parents[3],
        )
        said = json.loads(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        logger.info("%s: the PDF file cannot be read: %s", url, error)
        return None
    if said is None:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        logger.info("%s: the PDF file cannot be read: %s", url, words[-1] if words else "?")
        return None
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in said["paragraphs"])
    head = "".join(
        f'<meta name="{name}" content="{escape(said[name])}">' for name in ("author", "keywords")
    )
    html = f"<head><title>{escape(said['title'])}</title>{head}</head><body>{paragraphs}</body>"
    return replace(Page.from_html(html, url), is_document=True)


def paragraphs_of(text: str) -> list[str]:
    r"""Return the paragraphs of a page's text with hard line breaks.

    >>> paragraphs_of("A line that is as long as the pa-\nper is.\nThe next paragraph.")
    ['A line that is as long as the paper is.', 'The next paragraph.']
    """
    found = []
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
                found.append(paragraph)
                paragraph = ""
        found.append(paragraph)
    return [paragraph for paragraph in found if paragraph]


def _extract(file: IO[bytes]) -> dict[str, object]:
    from pypdf import PdfReader

    reader = PdfReader(file)
    said = reader.metadata
    paragraphs: list[str] = []
    left = MAX_CHARS
    for number, page in enumerate(reader.pages):
        if number == MAX_PAGES or left <= 0:
            break
        text = page.extract_text().replace("\0", "")[:left]
        left -= len(text)
        paragraphs += paragraphs_of(text)
    return {
        "title": str((said and said.title) or ""),
        "author": str((said and said.author) or ""),
        "keywords": str((said and said.get("/Keywords")) or ""),
        "paragraphs": paragraphs,
    }


def _limit() -> None:
    """Limit the time and memory of this process."""
    try:
        import resource
    except ImportError:  # on Windows only the parent's time limit applies
        return
    resource.setrlimit(resource.RLIMIT_CPU, (READ_SECS, READ_SECS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def main() -> None:
    """Read a PDF file from standard input, and write its text as JSON."""
    output, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    _limit()
    said = _extract(io.BytesIO(sys.stdin.buffer.read()))
    json.dump(said, output)


if __name__ == "__main__":
    main()
