"""Reads pages from the HTML files in a folder."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from contentspider.page.input.body import MAX_DEPTH, is_binary
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import MAX_BLOCKS, new_walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.overrides import Overrides

logger = logging.getLogger(__name__)

PAGE_SUFFIXES = frozenset([".html", ".htm", ".xhtml"])
HTML_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:[^-]|-(?!->))*-->\s*)*"
    rb"<(?:!doctype\s+html|html|head|title)\b",
    re.IGNORECASE,
)


def html_files(folder: Path) -> Iterator[Path]:
    """Yield the HTML files below *folder*, sorted by path.

    Files with other endings are included if they begin like HTML, since tools that mirror sites
    save pages under any name.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (path.suffix.lower() in PAGE_SUFFIXES or _begins_like_html(path)):
            yield path


def _begins_like_html(path: Path) -> bool:
    """Tell whether a file's first 1,000 bytes begin an HTML page; False if it is unreadable."""
    try:
        with path.open("rb") as file:
            return bool(HTML_BEGINNING.match(file.read(1_000)))
    except OSError:
        return False


def read_pages(
    root: Path,
    files: Iterable[Path] | None = None,
    attributes: bool = False,
    overrides: Overrides | None = None,
    obey_directives: bool = True,
    fields_file: FieldsFile | None = None,
) -> Iterator[Page]:
    """Yield the pages in *files* (default: all HTML files below *root*), with *overrides* and the
    selectors of *fields_file* applied.

    A page's address is its path relative to *root*. Logs a warning and leaves the file out if it
    cannot be read or is not HTML, and logs a warning if a page is cut.
    """
    walker = new_walker(obey_directives)
    for path in html_files(root) if files is None else files:
        try:
            body = path.read_bytes()
        except OSError as error:
            logger.warning("%s cannot be read (%s); this file is left out", path, error.strerror)
            continue
        if is_binary(body):
            logger.warning("%s is not HTML; this file is left out", path)
            continue
        url = path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
        page = Page.from_html(body, url, None, attributes, walker, overrides, fields_file)
        if page.content.truncated:
            logger.warning(
                "%s has more than %d blocks of text, or elements nested more than %d deep; the rest"
                " is left out",
                path,
                MAX_BLOCKS,
                MAX_DEPTH,
            )
        yield page
