"""Reads files that are not HTML (PDF, office files, e-books, text) as pages, each in a process with
limited processor time and memory (extra ``documents``).
"""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import unquote

from contentspider.ground.addresses import split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import is_installed
from contentspider.page.input.body import is_binary
from contentspider.page.input.files import HTML_BEGINNING
from contentspider.page.input.page import Page
from contentspider.page.input.pdf import is_pdf

logger = logging.getLogger(__name__)

# The kinds of files. The process that reads a file of the kind `OFFICE` finds its exact format.
PDF, OFFICE, MARKDOWN, TEXT = "pdf", "office", "markdown", "text"
RTF_MARK = b"{\\rtf"
ZIP_MARK = b"PK\x03\x04"
# The format of old DOC files, and of DOCX, XLSX and PPTX files with a password.
OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Names of members that office files and e-books have. EPUB files should begin with the member
# ``mimetype``, but many lack it.
ZIP_MEMBERS = (b"[Content_Types].xml", b"META-INF/container.xml", b"META-INF/manifest.xml")
OOXML = "application/vnd.openxmlformats-officedocument."
OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
MARKDOWN_TYPES = ("text/markdown", "text/x-markdown")
UNKNOWN_TYPES = ("application/octet-stream", "")
# The media types of the files that can be read.
TYPES = (
    *("application/pdf", "application/epub+zip", "application/rtf", "text/rtf"),
    *(OOXML + name for name in ("wordprocessingml.document", "spreadsheetml.sheet")),
    OOXML + "presentationml.presentation",
    *(OPEN_DOCUMENT + name for name in ("text", "spreadsheet", "presentation")),
    *("text/plain", *MARKDOWN_TYPES, "application/octet-stream"),
)
MARKDOWN_SUFFIXES = (".md", ".markdown")
TEXT_SUFFIXES = (".txt", ".text")
# A crawl requests files with these suffixes only if it can read documents.
SUFFIXES = tuple(".pdf .docx .docm .xlsx .xlsm .pptx .pptm .odt .ods .odp".split())

MAX_BYTES = 30_000_000
# The seconds of processor time for a file: `MIN_SECS`, and one more for each `BYTES_PER_SEC`, up to
# `MAX_SECS`.
MIN_SECS, MAX_SECS = 10, 60
BYTES_PER_SEC = 100_000
# A busy machine gives a process little of its time, which is not the fault of the file. So many
# times the processor time may pass until the process counts as one that hangs.
WALL_FACTOR = 20
NO_TIME = "this machine is too busy, or the process hangs"
POLL_SECS = 0.2
# Signals that end the process of a file: the system's when the processor time is over (Windows has
# none), and one that others send, such as the system when it lacks memory.
OUT_OF_TIME, KILLED = -getattr(signal, "SIGXCPU", 0), -9
META_NAMES = {
    "author": "author",
    "keywords": "keywords",
    "created": "dcterms.created",
    "modified": "dcterms.modified",
}


class SlowDocumentError(ContentSpiderError):
    """Reading a document takes more processor time than it may."""

    code = "slow-document"


class BusyMachineError(ContentSpiderError):
    """A document was not read because this machine had no time or memory for it, or could not start
    a process. It may be read later.
    """

    code = "busy-machine"


def document_kind(body: bytes, content_type: str = "", url: str = "") -> str:
    """Return the kind of a document: `PDF`, `OFFICE` (also EPUB and RTF), `MARKDOWN` or `TEXT`. For
    other files return "".

    PDF and office files are recognised by their first bytes alone. Text files lack typical bytes;
    they are recognised by their *content_type* and by the suffix of their *url*.
    """
    if is_pdf(body):
        return PDF
    if body.startswith((RTF_MARK, OLE_MARK)) or _is_zipped_document(body):
        return OFFICE
    return _text_kind(body, content_type, url)


def _is_zipped_document(body: bytes) -> bool:
    return body.startswith(ZIP_MARK) and any(member in body for member in ZIP_MEMBERS)


def _text_kind(body: bytes, content_type: str, url: str) -> str:
    """Return `MARKDOWN` or `TEXT` for a text file, "" for other files: HTML, binary data, and files
    with the suffix of another format, such as source code or CSV.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    name = split_address(url).path.lower().rpartition("/")[2]
    is_markdown = media_type in MARKDOWN_TYPES
    is_named = name.endswith((*MARKDOWN_SUFFIXES, *TEXT_SUFFIXES))
    if media_type == "text/plain":
        is_text = is_named or (name != "" and "." not in name)
    else:
        is_text = is_markdown or (is_named and media_type in UNKNOWN_TYPES)
    if not is_text or is_binary(body) or HTML_BEGINNING.match(body[:1_000]):
        return ""
    return MARKDOWN if is_markdown or name.endswith(MARKDOWN_SUFFIXES) else TEXT


def can_read() -> bool:
    """Tell whether documents can be read, that is, the extra ``documents`` is installed."""
    return is_installed("documents")


def seconds_for(body: bytes) -> float:
    """Return how many seconds of processor time the reading of a file may take."""
    return min(MIN_SECS + len(body) / BYTES_PER_SEC, MAX_SECS)


def never() -> bool:
    """Return False: nothing ends the reading early."""
    return False


def read_document(
    body: bytes,
    url: str,
    seconds: float = MAX_SECS,
    is_over: Callable[[], bool] = never,
    content_type: str = "",
) -> Page | None:
    """Return a file as a page. If a document is too long, its end is left out with a warning.

    Return None for a file that is not a document, or without the extra ``documents``. Log the
    reason and return None if the file is larger than `MAX_BYTES`, encrypted or damaged, or needs
    too much memory (`document_process.MEMORY_BYTES`). Reading also ends when *is_over* returns
    True. Raises `SlowDocumentError` after *seconds* of processor time, and `BusyMachineError`.
    """
    kind = document_kind(body, content_type, url)
    if not kind or not can_read():
        return None
    if len(body) > MAX_BYTES:
        logger.info("%s cannot be read: it has more than %d bytes", url, MAX_BYTES)
        return None
    document = _result([kind, str(seconds), content_type], body, seconds, is_over)
    if problem := document["problem"]:
        logger.info("%s cannot be read: %s", url, problem)
        return None
    if left_out := document["left_out"]:
        logger.warning(
            "%s: %s left out, because reading takes too long or is too much", url, left_out
        )
    return replace(Page.from_html(document_html(document, url), url), is_document=True)


def document_html(document: dict[str, str], url: str) -> str:
    """Return a document as HTML: its properties in the head, and its body. The title of a document
    without one is the name of its file.
    """
    title = document["title"] or unquote(split_address(url).path.rpartition("/")[2])
    head = "".join(
        f'<meta name="{name}" content="{escape(document[key])}">'
        for key, name in META_NAMES.items()
        if document[key]
    )
    return (
        f'<html lang="{escape(document["language"])}"><head><title>{escape(title)}'
        f"</title>{head}</head><body>{document['body']}</body></html>"
    )


def _result(
    arguments: list[str], body: bytes, seconds: float, is_over: Callable[[], bool]
) -> dict[str, str]:
    """Run the process that reads a file. Return its result (`document_process.read`), or, if the
    process fails, a dict with only the ``problem``. Raises `SlowDocumentError` and
    `BusyMachineError`.
    """
    try:
        code, output, errors = _run(arguments, body, seconds, is_over)
    except subprocess.TimeoutExpired as error:
        if is_over():
            return {"problem": "the crawl ended"}
        raise BusyMachineError(f"it was not read within {error.timeout:g} s: {NO_TIME}") from None
    except OSError as error:
        raise BusyMachineError(f"its process could not be run: {error}") from error
    if code == 0:
        return _parsed(output)
    if code == OUT_OF_TIME:
        raise SlowDocumentError(f"it takes more than {seconds:g} s of processor time")
    if code == KILLED:
        raise BusyMachineError("its process was killed; perhaps this machine lacks memory")
    if code < 0:  # a library that gets no memory ends the whole process
        return {"problem": f"it needs too much memory, or breaks its reader (signal {-code})"}
    lines = errors.decode(errors="replace").strip().splitlines()
    return {"problem": lines[-1] if lines else f"exit code {code}"}


def _parsed(output: bytes) -> dict[str, str]:
    try:
        result: dict[str, str] = json.loads(output)
    except ValueError as error:
        return {"problem": str(error)}
    return result


def _run(
    arguments: list[str], body: bytes, seconds: float, is_over: Callable[[], bool]
) -> tuple[int, bytes, bytes]:
    """Run the process that reads a file; return its exit code, output and errors. Raises
    `subprocess.TimeoutExpired` after `WALL_FACTOR` times its *seconds*, or when *is_over*.
    """
    wall_seconds = WALL_FACTOR * seconds
    end = time.monotonic() + wall_seconds
    # The input is a file, because `communicate` loses the rest of a pipe's input at a timeout.
    with TemporaryFile() as file:
        file.write(body)
        file.seek(0)
        with subprocess.Popen(  # noqa: S603 - Python with a module of our own
            [sys.executable, "-m", "contentspider.page.input.document_process", *arguments],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[3],
        ) as process:
            while True:
                wait = max(min(POLL_SECS, end - time.monotonic()), 0)
                with suppress(subprocess.TimeoutExpired):
                    output, errors = process.communicate(timeout=wait)
                    return process.returncode, output, errors
                if is_over() or time.monotonic() >= end:
                    process.kill()
                    raise subprocess.TimeoutExpired(process.args, wall_seconds)
