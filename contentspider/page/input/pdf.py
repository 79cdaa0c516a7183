"""Reads the text of PDF files in a process with limited time and memory (extra ``documents``)."""

from __future__ import annotations

import io
import json
import logging
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
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
# The seconds for a file: `MIN_SECS`, and one more for each `BYTES_PER_SEC`, up to `MAX_SECS`. The
# process that reads may use `READ_SHARE` of them; then it returns the pages that it has read.
MIN_SECS, MAX_SECS = 10, 60
BYTES_PER_SEC = 100_000
READ_SHARE = 0.8
POLL_SECS = 0.2
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


def seconds_for(body: bytes) -> float:
    """Return how many seconds the reading of a PDF file may take."""
    return min(MIN_SECS + len(body) / BYTES_PER_SEC, MAX_SECS)


def never() -> bool:
    """Return False: nothing ends the reading early."""
    return False


def read_pdf(
    body: bytes, url: str, seconds: float = MAX_SECS, is_over: Callable[[], bool] = never
) -> Page | None:
    """Return a PDF file as a page. If its pages take too long, the later ones are left out.

    Return None if the file is larger than `MAX_BYTES`, or the extra ``documents`` is not installed.
    Log the reason and return None if reading fails, takes more than some *seconds*, or needs more
    than `MEMORY_BYTES`. Reading also ends when *is_over* returns True.
    """
    if len(body) > MAX_BYTES or not can_read():
        return None
    try:
        code, output, error_output = _run(body, seconds, is_over)
        document = json.loads(output) if code == 0 else None
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        logger.info("%s: the PDF file cannot be read: %s", url, error)
        return None
    if document is None:
        errors = error_output.decode(errors="replace").strip().splitlines()
        logger.info("%s: the PDF file cannot be read: %s", url, errors[-1] if errors else "?")
        return None
    if left_out := document["pages_left_out"]:
        logger.warning("%s: %d pages are left out, because reading takes too long", url, left_out)
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in document["paragraphs"])
    head = "".join(
        f'<meta name="{name}" content="{escape(document[name])}">'
        for name in ("author", "keywords")
    )
    html = f"<head><title>{escape(document['title'])}</title>{head}</head><body>{paragraphs}</body>"
    return replace(Page.from_html(html, url), is_document=True)


def _run(body: bytes, seconds: float, is_over: Callable[[], bool]) -> tuple[int, bytes, bytes]:
    """Run the process that reads a file; return its exit code, output and errors. Raises
    `subprocess.TimeoutExpired` after some *seconds*, or when *is_over*.
    """
    end, file = time.monotonic() + seconds, body or None
    with subprocess.Popen(  # noqa: S603 - Python with a module of our own
        [sys.executable, "-m", "contentspider.page.input.pdf", str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[3],
    ) as process:
        while True:
            wait = max(min(POLL_SECS, end - time.monotonic()), 0)
            try:
                output, errors = process.communicate(file, wait)
                return process.returncode, output, errors
            except subprocess.TimeoutExpired:
                file = None  # the process has it, or is getting it
                if is_over() or time.monotonic() >= end:
                    process.kill()
                    raise


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


def extract_text(file: IO[bytes], seconds: float) -> dict[str, object]:
    """Return title, author, keywords and paragraphs of a PDF file, of the pages that are read in
    some *seconds*, and the number of pages left out for want of time.
    """
    from pypdf import PdfReader

    end = time.monotonic() + seconds
    reader = PdfReader(file)
    metadata = reader.metadata
    paragraphs: list[str] = []
    remaining_chars = MAX_CHARS
    pages_left_out = 0
    for number, page in enumerate(reader.pages):
        if number == MAX_PAGES or remaining_chars <= 0:
            break
        if time.monotonic() > end:
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


def _limit(seconds: float) -> None:
    """Limit the CPU *seconds* and the memory of this process."""
    try:
        import resource
    except ImportError:  # Windows lacks the module; only the parent's time limit applies there
        return
    cpu_seconds = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def main() -> None:
    """Read a PDF file from standard input, and write its text as JSON to standard output. The
    argument is the number of seconds that this may take.
    """
    # Libraries may print; their output must not mix with the JSON.
    output, sys.stdout = sys.stdout, sys.stderr
    seconds = float(sys.argv[1])
    _limit(seconds)
    file = io.BytesIO(sys.stdin.buffer.read())
    json.dump(extract_text(file, READ_SHARE * seconds), output)


if __name__ == "__main__":
    main()
