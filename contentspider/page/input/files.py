"""Reads pages from the HTML files in a folder."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import quote

from contentspider.ground.encodings import (
    GZIP_MARK,
    ZSTD_MARK,
    PackedError,
    encoding_of,
    unpack,
)
from contentspider.ground.errors import NotHTMLError
from contentspider.page.input.body import HTML_BEGINNING, MAX_BYTES, MAX_DEPTH, MAX_TAGS, unpacked
from contentspider.page.input.documents import document_kind
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import MAX_BLOCKS, new_walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.overrides import Overrides

logger = logging.getLogger(__name__)

# Why files in a folder of pages are left out.
UNREADABLE, NO_TEXT = "cannot be read", "without text"
NOT_HTML, DOCUMENT = "of another kind", "a document, which is read if given as a file"
PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
# Tools save answers as servers send them, which may be packed.
PACKED_SUFFIXES = (".gz", ".br", ".zst")
PACKED_BYTES = 256_000  # their beginnings unpack to at least 1,000 bytes


def html_files(folder: Path) -> Iterator[Path]:
    """Yield the HTML files below *folder*, sorted by path.

    Files with other endings are included if they begin like HTML, also if they are packed by gzip
    or Zstandard, since tools that mirror sites save pages under any name.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (is_named_page(path) or _begins_like_html(path)):
            yield path


def is_named_page(path: Path) -> bool:
    """Tell whether a file has the name of a page, such as ``a.html`` or ``a.html.gz``."""
    name = path.name.lower()
    for suffix in PACKED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name.endswith(PAGE_SUFFIXES)


def _begins_like_html(path: Path) -> bool:
    """Tell whether a file's first 1,000 bytes begin an HTML page; False if it is unreadable."""
    try:
        with path.open("rb") as file:
            beginning = file.read(1_000)
            if beginning.startswith((GZIP_MARK, ZSTD_MARK)):
                beginning += file.read(PACKED_BYTES)
                beginning = unpack(beginning, encoding_of(beginning), 1_000)
            return bool(HTML_BEGINNING.match(beginning))
    except (OSError, PackedError):
        return False


def read_html(path: Path) -> bytes:
    """Return the HTML of a file, `unpacked`. Raises OSError and `PackedError`."""
    try:
        return unpacked(path.read_bytes())
    except PackedError as error:
        raise PackedError(f"{path}: {error}") from error


def page_url(path: Path, base: str = "") -> str:
    """Return the address of a saved page: its relative *path*, below the address *base*, if any.

    >>> from pathlib import Path
    >>> page_url(Path("a b.html")), page_url(Path("a b.html"), "https://example.org/docs")
    ('a b.html', 'https://example.org/docs/a%20b.html')
    """
    url = path.as_posix().encode("utf-8", "replace").decode()
    return f"{base.removesuffix('/')}/{quote(url)}" if base else url


def read_pages(
    root: Path,
    files: Iterable[Path] | None = None,
    attributes: bool = False,
    overrides: Overrides | None = None,
    obey_directives: bool = True,
    fields_file: FieldsFile | None = None,
    left_out: dict[Path, str] | None = None,
    guessed: dict[Path, str] | None = None,
    base: str = "",
) -> Iterator[Page]:
    """Yield the pages in *files* (default: all HTML files below *root*), with *overrides* and the
    selectors of *fields_file* applied.

    A page's address is its path relative to *root*, below the address *base*, if any. Logs a
    warning and leaves the file out if it cannot be read or is not HTML, and logs a warning if a
    page is cut. Files that are left out are added to *left_out*, with the reason (`UNREADABLE`,
    `DOCUMENT` or `NOT_HTML`), and files whose
    encoding is a guess (`Page.guessed_encoding`) to *guessed*, with the encoding.
    """
    reasons = {} if left_out is None else left_out
    walker = new_walker(obey_directives)
    for path in html_files(root) if files is None else files:
        try:
            body = unpacked(path.read_bytes())
        except (OSError, PackedError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            logger.warning("%s cannot be read (%s); this file is left out", path, reason)
            reasons[path] = UNREADABLE
            continue
        url = page_url(path.relative_to(root), base)
        try:
            page = Page.from_html(body, url, None, attributes, walker, overrides, fields_file)
        except NotHTMLError:
            reasons[path] = DOCUMENT if document_kind(body, "", url) else NOT_HTML
            logger.warning("%s is not HTML, but %s: it is left out", path, reasons[path])
            continue
        if guessed is not None and page.guessed_encoding:
            guessed[path] = page.guessed_encoding
        if page.content.truncated:
            logger.warning(
                "%s has more than %d blocks of text, %d tags or %d bytes, or elements nested more"
                " than %d deep; the rest is left out",
                path,
                MAX_BLOCKS,
                MAX_TAGS,
                MAX_BYTES,
                MAX_DEPTH,
            )
        yield page
