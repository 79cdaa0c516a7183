"""Reads files that are not HTML (PDF, office files, e-books, text) as pages, each in a process with
limited processor time and memory (extra ``documents``).
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from dataclasses import replace
from html import escape
from urllib.parse import unquote

from contentspider.ground.addresses import split_address
from contentspider.ground.children import ChildError, End, Limits, never, run_child
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import is_installed
from contentspider.page.input.body import HTML_BEGINNING, is_binary
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
MEMORY_BYTES = 1_000_000_000
READER = "contentspider.page.input.document_process:read_in_child"
KILLED = -getattr(signal, "SIGKILL", 9)  # by others, such as the system when it lacks memory
NO_TIME = "this machine is too busy, or the process hangs"
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
    too much memory (`MEMORY_BYTES`). Reading also ends when *is_over* returns
    True. Raises `SlowDocumentError` after *seconds* of processor time, and `BusyMachineError`.
    """
    kind = document_kind(body, content_type, url)
    if not kind or not can_read():
        return None
    if len(body) > MAX_BYTES:
        logger.info("%s cannot be read: it has more than %d bytes", url, MAX_BYTES)
        return None
    document = _read({"kind": kind, "content_type": content_type}, body, seconds, is_over)
    if problem := document["problem"]:
        logger.info("%s cannot be read: %s", url, problem)
        return None
    if left_out := document["left_out"]:
        logger.warning(
            "%s: %s left out, because they are damaged, or reading takes too long or is too much",
            url,
            left_out,
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


def _read(
    arguments: dict[str, str], body: bytes, seconds: float, is_over: Callable[[], bool]
) -> dict[str, str]:
    """Read a file in a child process. Return its result (`document_process.read`), or, if the child
    fails, a dict with only the ``problem``. Raises `SlowDocumentError` and `BusyMachineError`.
    """
    try:
        result, _ = run_child(
            READER,
            {**arguments, "seconds": seconds},
            body,
            limits=Limits.of_work(seconds, MEMORY_BYTES),
            is_over=is_over,
            is_quiet=True,  # libraries print messages about damaged files
        )
    except ChildError as error:
        return {"problem": _problem(error, seconds)}
    return dict(result)


def _problem(error: ChildError, seconds: float) -> str:
    """Return why a file cannot be read. Raises `SlowDocumentError` and `BusyMachineError`."""
    if error.end is End.FAILED:
        return f"{error.kinds[0]}: {error}"
    if error.end is End.STOPPED:
        return "the crawl ended"
    if error.end is End.OUT_OF_TIME:
        raise SlowDocumentError(f"it takes more than {seconds:g} s of processor time")
    if error.end is End.DIED and error.status == KILLED:
        raise BusyMachineError("its process was killed; perhaps this machine lacks memory")
    if error.end is End.DIED:  # a library that gets no memory ends the whole process
        return f"it needs too much memory, or breaks its reader ({error})"
    reason = NO_TIME if error.end is End.HUNG else "it may be read later"
    raise BusyMachineError(f"{error}: {reason}")
