"""Writes ``llms.txt`` and ``llms-full.txt`` (https://llmstxt.org): a site for language models.

``llms.txt`` names the site's pages in sections, ``llms-full.txt`` has their texts. Pages that a
reader may leave out come last: listings, and pages that name another page as their canonical one.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import takewhile
from typing import BinaryIO
from urllib.parse import unquote

from contentspider.ground.addresses import split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files.text import (
    Record,
    Records,
    address,
    clean,
    encode,
    link_target,
    markdown_heading,
)

# The first section has the pages without a folder. llmstxt.org defines the name of the last one.
FIRST, LAST = "Pages", "Optional"
NO_NAME = "A page without an address"
MAX_TITLE_CHARS = 200
MAX_DESCRIPTION_CHARS = 300
INDEX_FILE = re.compile(r"(?:^|/)index\.\w+$")
# These characters are escaped: they can begin markup that ends in a later text of the line.
SPECIAL = re.compile(r"[\\`<]")
# The parser of llmstxt.org does not allow brackets in the text of a link.
NO_BRACKETS = str.maketrans("[]", "()")
NO_PARENTHESES = str.maketrans({"(": "%28", ")": "%29"})

# The titles of all pages. SQLite moves a temporary database to the disk if it becomes large.
PAGES = """CREATE TABLE pages (
    number INTEGER PRIMARY KEY, url TEXT, canonical TEXT, link TEXT, host TEXT, path TEXT,
    depth INTEGER, folder TEXT, section TEXT, heading TEXT, description TEXT, is_listing INTEGER)"""
INSERT = "INSERT INTO pages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
FRONT = """SELECT number, host, heading, description FROM pages
    ORDER BY host = '', depth, number LIMIT 1"""
# A folder is a section if it has several pages. An address is a folder only if pages are below it.
FLATTEN = """UPDATE pages SET folder = '' WHERE folder NOT IN (
    SELECT folder FROM pages GROUP BY folder HAVING count(*) > 1 AND max(depth) > :depth)"""
# Counts the pages of each folder by their first breadcrumb. The most frequent one comes last.
NAMES = """SELECT folder, section, count(*), sum(count(*)) OVER (PARTITION BY folder) FROM pages
    WHERE folder <> '' GROUP BY folder, section ORDER BY folder, count(*)"""
# The front page stays in its section, also if it is a listing or other pages name it.
OPTIONAL = """UPDATE pages SET section = :last WHERE number <> :front AND (is_listing OR (
    canonical <> url AND canonical <> (SELECT url FROM pages WHERE number = :front)
    AND canonical IN (SELECT url FROM pages)))"""
LINES = """SELECT section, link, description FROM pages ORDER BY section = :last,
    section <> :first, min(number) OVER (PARTITION BY section), number"""


def write_llms(records: Records, file: BinaryIO) -> int:
    """Write the titles, addresses and descriptions of all items in sections, below the title and
    the description of the front page. Return the number of items. Raises `ContentSpiderError` if
    the temporary folder is full.
    """
    try:
        with closing(sqlite3.connect("")) as database:
            return _write_sections(database, records, file)
    except sqlite3.Error as error:
        raise ContentSpiderError(
            f"the titles of the pages cannot be stored in the temporary folder: {error}",
            code="output-file",
        ) from error


def _write_sections(database: sqlite3.Connection, records: Records, file: BinaryIO) -> int:
    database.execute(PAGES)
    database.executemany(INSERT, map(_row, records()))
    database.execute("CREATE INDEX urls ON pages (url)")
    front, host, title, description = database.execute(FRONT).fetchone() or (0, "", "", "")
    _divide(database, front, host)
    file.write(encode(f"# {title or host or FIRST}\n"))
    if description:
        file.write(encode(f"\n> {description}\n"))
    current = ""
    for section, link, text in database.execute(LINES, {"first": FIRST, "last": LAST}):
        if section != current:
            file.write(encode(f"\n## {section}\n\n"))
            current = section
        file.write(encode(f"- {link}: {text}\n" if text else f"- {link}\n"))
    return int(database.execute("SELECT count(*) FROM pages").fetchone()[0])


def _row(record: Record) -> tuple[object, ...]:
    """Return the values of `INSERT`."""
    url = address(record)
    parts = split_address(url)
    path = INDEX_FILE.sub("", parts.path)
    segments = [segment for segment in path.split("/") if segment]
    if parts.query:
        segments.append("?" + parts.query)
    title = _one_line(record.get("title"), MAX_TITLE_CHARS).translate(NO_BRACKETS)
    target = link_target(record).translate(NO_PARENTHESES)
    return (
        encode(url).decode(),
        encode(str(record.get("canonical") or url)).decode(),
        _link(title, target),
        encode(parts.netloc).decode(),
        encode("".join(f"{segment}/" for segment in segments)).decode(),
        len(segments),
        "",
        _one_line(_first_breadcrumb(record), MAX_TITLE_CHARS),
        title,
        _one_line(record.get("description"), MAX_DESCRIPTION_CHARS).translate(NO_BRACKETS),
        record.get("page_type") == "listing",
    )


def _link(title: str, target: str) -> str:
    text = title or target.translate(NO_BRACKETS) or NO_NAME
    return f"[{text}]({target})" if target else text


def _first_breadcrumb(record: Record) -> object:
    section = record.get("section")
    if isinstance(section, (list, tuple)):
        return section[0] if section else ""
    return section


def _one_line(value: object, max_chars: int) -> str:
    """Return a text as one line of at most *max_chars* characters, plus escapes."""
    line = " ".join(clean(str(value or "")).split())
    if len(line) > max_chars:
        line = line[: max_chars - 1].rstrip() + "…"
    return SPECIAL.sub(r"\\\g<0>", encode(line).decode())


def _divide(database: sqlite3.Connection, front: int, host: str) -> None:
    """Give each page its section: the name of its first folder below the folder of all pages, or
    its first breadcrumb. Pages of other hosts than the front page's have their host.
    """
    first, last = database.execute(
        "SELECT min(path), max(path) FROM pages WHERE host = ?", (host,)
    ).fetchone()
    depth = len(_common(first or "", last or ""))
    database.create_function("segment", 1, lambda path: (path.split("/") + [""] * depth)[depth])
    database.execute("UPDATE pages SET folder = segment(path) WHERE host = ?", (host,))
    database.execute(FLATTEN, {"depth": depth + 1})
    database.execute("UPDATE pages SET folder = host WHERE host <> ?", (host,))
    names = {
        folder: section if section and 2 * pages > all_pages else _name(folder)
        for folder, section, pages, all_pages in database.execute(NAMES)
    }
    database.execute("CREATE INDEX folders ON pages (folder)")
    database.executemany(
        "UPDATE pages SET section = ? WHERE folder = ?",
        ((name, folder) for folder, name in names.items()),
    )
    database.execute("UPDATE pages SET section = ? WHERE section = ''", (FIRST,))
    database.execute(OPTIONAL, {"last": LAST, "front": front})


def _common(first: str, last: str) -> list[str]:
    """Return the folders at the beginning of both paths. All paths between them in alphabetical
    order have these folders, too.
    """
    pairs = zip(first.split("/")[:-1], last.split("/")[:-1], strict=False)
    return [segment for segment, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def _name(folder: str) -> str:
    """Return the name of a section for a folder of addresses, or a host.

    >>> _name("getting-started"), _name("blog.example.org")
    ('Getting started', 'blog.example.org')
    """
    words = unquote(folder)
    if "." not in words:
        words = re.sub(r"[-_+]+", " ", words)
        words = words[:1].upper() + words[1:]
    return _one_line(words, MAX_TITLE_CHARS)


def write_llms_full(records: Records, file: BinaryIO) -> int:
    """Write the Markdown of all items, each below its title and its address, listings last. Return
    the number of items.
    """
    written = 0
    for are_listings in (False, True):
        for record in records():
            if (record.get("page_type") == "listing") is are_listings:
                file.write(encode(("\n" if written else "") + _page(record)))
                written += 1
    return written


def _page(record: Record) -> str:
    """Return an item's Markdown in the form that generators of documentation write."""
    url = address(record)
    title: Sequence[str] = str(record.get("title") or "").split()
    text = str(record.get("content_markdown") or record.get("content") or "")
    first_line, _, text_below = text.partition("\n")
    if title and first_line.lstrip("# ").split() == title:
        text = text_below
    heading = markdown_heading(title or [url or NO_NAME])
    source = f"Source: {link_target(record)}\n" if url else ""
    return clean(f"{heading}\n{source}\n{text.strip()}".rstrip() + "\n")
