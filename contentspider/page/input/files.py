"""Reads pages from the HTML files in a folder."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from contentspider.ground.encodings import (
    BROTLI,
    DEFLATE,
    GZIP_MARK,
    ZSTD_MARK,
    PackedError,
    encoding_of,
    unpack,
)
from contentspider.page.input.body import MAX_BYTES, MAX_DEPTH, MAX_TAGS, is_binary, may_be_html
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import MAX_BLOCKS, new_walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.overrides import Overrides

logger = logging.getLogger(__name__)

PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
HTML_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:[^-]|-(?!->))*-->\s*)*"
    rb"<(?:!doctype\s+html|html|head|title)\b",
    re.IGNORECASE,
)
# Tools save answers as servers send them, which may be packed.
PACKED_SUFFIXES = (".gz", ".br", ".zst")
PACKED_BYTES = 256_000  # their beginnings unpack to at least 1,000 bytes
MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")


def html_files(folder: Path) -> Iterator[Path]:
    """Yield the HTML files below *folder*, sorted by path.

    Files with other endings are included if they begin like HTML, also if they are packed by gzip
    or Zstandard, since tools that mirror sites save pages under any name.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (_is_named_page(path) or _begins_like_html(path)):
            yield path


def _is_named_page(path: Path) -> bool:
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


def unpacked(body: bytes) -> bytes:
    """Return the HTML of a file that was saved as a server sent it: packed by gzip, Zstandard,
    Brotli or deflate, or not at all. Raises `PackedError`.

    Brotli and deflate show themselves only when they are unpacked: a binary file is tried, and is a
    page if it unpacks to markup.
    """
    if body.startswith((GZIP_MARK, ZSTD_MARK)):
        return _unpack(body, encoding_of(body))
    for encoding in (BROTLI, DEFLATE) if is_binary(body) else ():
        beginning = b""
        with suppress(PackedError):
            beginning = unpack(body, encoding, 1_000)
        if MARKUP.match(beginning):
            return _unpack(body, encoding)
    return body


def _unpack(body: bytes, encoding: str) -> bytes:
    html = unpack(body, encoding, MAX_BYTES + 1)
    if len(html) > MAX_BYTES:
        raise PackedError(f"it unpacks to more than {MAX_BYTES // 1_000_000} MB")
    return html


def read_pages(
    root: Path,
    files: Iterable[Path] | None = None,
    attributes: bool = False,
    overrides: Overrides | None = None,
    obey_directives: bool = True,
    fields_file: FieldsFile | None = None,
    left_out: set[Path] | None = None,
) -> Iterator[Page]:
    """Yield the pages in *files* (default: all HTML files below *root*), with *overrides* and the
    selectors of *fields_file* applied.

    A page's address is its path relative to *root*. Logs a warning and leaves the file out if it
    cannot be read or is not HTML, and logs a warning if a page is cut. Files that cannot be read
    are added to *left_out*.
    """
    walker = new_walker(obey_directives)
    for path in html_files(root) if files is None else files:
        try:
            body = unpacked(path.read_bytes())
        except (OSError, PackedError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            logger.warning("%s cannot be read (%s); this file is left out", path, reason)
            if left_out is not None:
                left_out.add(path)
            continue
        if not may_be_html(body):
            logger.warning("%s is not HTML; this file is left out", path)
            continue
        url = path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
        page = Page.from_html(body, url, None, attributes, walker, overrides, fields_file)
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
