"""Writes items to files in several formats. A file replaces an older one when it is complete."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from html import escape
from itertools import chain
from pathlib import Path
from typing import BinaryIO
from unicodedata import normalize
from urllib.parse import unquote

from contentspider.ground.atomic import ensure_folder, replacing
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.json_text import json_text
from contentspider.state.files.llms import write_llms, write_llms_full
from contentspider.state.files.parquet import check_parquet, write_parquet
from contentspider.state.files.text import (
    Record,
    Records,
    address,
    clean,
    encode,
    link_target,
    titled_markdown,
)

# The format by a file's name, which counts before its ending (https://llmstxt.org).
NAMES = {"llms.txt": "llms", "llms-full.txt": "llms-full"}
# The format by a file's ending; the file of a single page in a folder has one of PAGE_KINDS.
KINDS = {f".{kind}": kind for kind in ("jsonl", "json", "csv", "xml", "md", "txt", "parquet")}
KINDS[".jl"] = "jsonl"
PAGE_KINDS = ("md", "txt", "html", "json")
STDOUT = "-"
# Spreadsheets run a cell that begins so as a formula. Some read full-width signs, superscripts and
# the like as the plain signs, and the minus sign (U+2212) as a hyphen.
FORMULA_STARTS = ("=", "+", "-", "\u2212", "@", "\t", "\r")
MAX_STEM_BYTES = 120
HEAD_FIELDS = ("url", "title", "language")
# The keys of YAML front matter, with the fields that they hold. The address is called ``source``,
# because Hugo does not build a site with an absolute ``url``.
FRONT_MATTER = {
    "title": "title",
    "source": "url",
    "date": "published_at",
    "modified": "modified_at",
    "author": "author",
    "description": "description",
    "language": "language",
}


@dataclass(frozen=True, slots=True)
class Output:
    """A file of a *kind* for items, or, if *is_folder*, a folder with one file for each page."""

    path: Path
    kind: str
    is_folder: bool = False

    @classmethod
    def parse(cls, text: str, page_kind: str = "md") -> Output:
        """Return the file or folder that a command line names; raises `ContentSpiderError`."""
        path = Path(text)
        _check_name(path, text)
        kind = NAMES.get(path.name.lower()) or KINDS.get(path.suffix.lower(), "")
        is_folder = text.endswith(("/", os.sep)) or (not kind and path.is_dir())
        if not is_folder:
            _check_file(path, kind, text)
        parent = ensure_folder(path, "-o")
        folder = path if path.is_dir() else parent
        if not os.access(folder, os.W_OK):
            raise ContentSpiderError(
                f"-o {text} cannot be written: {folder} is read-only for you; name another folder",
                code="output-file",
            )
        return cls(path, page_kind if is_folder else kind, is_folder)

    def write(self, records: Records) -> int:
        """Write all items and return their number. If that fails, an older file stays as it is."""
        if self.is_folder:
            return self._write_pages(records)
        with replacing(self.path) as file:
            return WRITERS[self.kind](records, file)

    def _write_pages(self, records: Records) -> int:
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise ContentSpiderError(
                f"{self.path} cannot be created: {error.strerror}", code="output-file"
            ) from error
        written = 0
        for record in records():
            with replacing(self.path / page_file(address(record), self.kind)) as file:
                file.write(encode(PAGES[self.kind](record)))
            written += 1
        return written


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """Standard output, with pages of a *kind*."""

    kind: str

    def write(self, records: Records) -> int:
        """Write all items and return their number."""
        return STDOUT_WRITERS[self.kind](records, sys.stdout.buffer)


def any_output(text: str, page_kind: str | None) -> Output | StandardOutput:
    """Return the output that a command line names, ``-`` for standard output; raises
    `ContentSpiderError`. None: Markdown in a folder, JSON on standard output.
    """
    if text == STDOUT:
        return StandardOutput(page_kind or "json")
    return Output.parse(text, page_kind or "md")


def _check_name(path: Path, text: str) -> None:
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ContentSpiderError(
            f"-o {text[:300]!r} cannot be written: {why}", code="output-file"
        ) from error


def _check_file(path: Path, kind: str, text: str) -> None:
    if not kind:
        raise ContentSpiderError(
            f"-o {text}: its ending names no format; use one of {', '.join(KINDS)}, - for"
            " standard output, or a folder/ for one file a page",
            code="output-format",
        )
    if kind == "parquet":
        check_parquet()
    if path.is_dir():
        raise ContentSpiderError(f"-o {text} cannot be written: it is a folder", code="output-file")


def page_file(url: str, kind: str) -> str:
    """Return the name of a page's file: the words of its address, and a digest of the address that
    makes the name unique.

    >>> page_file("https://example.org/../a b?c=1", "md")
    'example.org-a-b-c-1-7b8f7d41b72a.md'
    """
    words = re.findall(r"[^\W_]+(?:[._][^\W_]+)*", unquote(url.partition("://")[2] or url))
    stem = "-".join(words).encode("utf-8", "replace")[:MAX_STEM_BYTES].decode(errors="ignore")
    digest = sha256(url.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{stem or 'page'}-{digest}.{kind}"


def no_formula(text: str) -> str:
    """Return a text as the cell of a CSV file, with an apostrophe before a formula. `cell_text`
    reads the text from the cell.

    >>> no_formula("=1+1"), cell_text("'=1+1"), cell_text(no_formula("'=1+1"))
    ("'=1+1", '=1+1', "'=1+1")
    """
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Tell whether a spreadsheet may run a text, without apostrophes before it, as a formula."""
    return normalize("NFKC", text.lstrip("'")[:1]).startswith(FORMULA_STARTS)


def cell_text(cell: str) -> str:
    """Return the text that `no_formula` wrote as a cell."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)) and all(isinstance(entry, str) for entry in value):
        value = ", ".join(value)
    elif isinstance(value, (dict, list, tuple)):
        value = json_text(value)
    return no_formula(clean(value)) if isinstance(value, str) else value


def csv_of(columns: Sequence[str], records: Iterable[Record]) -> bytes:
    """Return a CSV file (RFC 4180) with the values of some *columns*."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(record.get(column)) for column in columns] for record in records)
    return encode(text.getvalue())


def _write_csv(records: Records, file: BinaryIO) -> int:
    # Items may have different fields.
    columns = list(dict.fromkeys(chain.from_iterable(records())))
    text = io.TextIOWrapper(file, "utf-8", newline="")
    rows = csv.writer(text)
    rows.writerow(map(_cell, columns))
    written = 0
    for record in records():
        rows.writerow([_cell(record.get(column)) for column in columns])
        written += 1
    text.detach()
    return written


def _element(name: str, value: object) -> str:
    from xml.sax.saxutils import escape, quoteattr  # loads an HTTP client, for nothing here

    # Parsers of the fourth edition of XML 1.0 (expat) refuse names in many scripts.
    tag = re.sub(r"^(?=[^a-zA-Z_])", "_", re.sub(r"[^\w.-]", "_", name, flags=re.ASCII))
    attribute = f" name={quoteattr(clean(name))}" if tag != name else ""
    if isinstance(value, dict):
        inside = "".join(_element(str(key), entry) for key, entry in value.items())
    elif isinstance(value, (list, tuple)):
        inside = "".join(_element("value", entry) for entry in value)
    else:
        inside = escape(clean("" if value is None else str(value)), {"\r": "&#13;"})
    return f"<{tag}{attribute}>{inside}</{tag}>"


def _item(record: Record) -> str:
    return _element("item", dict(record)) + "\n"


def _markdown(record: Record) -> str:
    source = link_target(record)
    head = f"<{source}>\n\n" if source else ""  # a page from standard input lacks an address
    return clean(f"{head}{titled_markdown(record)}".rstrip() + "\n")


def _markdown_page(record: Record) -> str:
    """Return a page for site generators: YAML front matter, then Markdown."""
    values = {key: record.get(name) or "" for key, name in FRONT_MATTER.items()}
    lines = [f"{key}: {_yaml(value)}" for key, value in values.items() if str(value).strip()]
    head = "\n".join(["---", *lines, "---"])
    return clean(f"{head}\n\n{titled_markdown(record)}".rstrip() + "\n")


def _yaml(value: object) -> str:
    """Return a value as one line of YAML. JSON is YAML, apart from some line breaks."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_yaml, value))}]"
    return json_text(" ".join(clean(str(value)).split()))


def _text(record: Record) -> str:
    title, text = str(record.get("title") or ""), str(record.get("content") or "")
    lines = [address(record), "" if text.startswith(title) else title]
    head = "\n".join(filter(None, lines))
    return clean((f"{head}\n\n{text}" if head else text).rstrip() + "\n")


def _html(record: Record) -> str:
    url, title, language = (escape(str(record.get(name) or "")) for name in HEAD_FIELDS)
    lang = f' lang="{language}"' if language else ""
    canonical = f'<link rel="canonical" href="{url}">\n' if url else ""
    body = str(record.get("content_html") or "")
    if not body:  # the item is of a user's class
        lines = str(record.get("content") or "").split("\n")
        body = "\n".join(f"<p>{escape(line)}</p>" for line in lines)
    return clean(
        f"<!DOCTYPE html>\n<html{lang}>\n"
        f'<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"{canonical}</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


PAGES: dict[str, Callable[[Record], str]] = {
    "md": _markdown_page,
    "txt": _text,
    "html": _html,
    "json": lambda record: json_text(record) + "\n",
}


def _write_parts(
    make: Callable[[Record], str], around: Sequence[str], records: Records, file: BinaryIO
) -> int:
    """Write each item as *make* formats it. *around*: the texts before, between and after items."""
    before, between, after = map(encode, around)
    file.write(before)
    written = 0
    for record in records():
        if written:
            file.write(between)
        file.write(encode(make(record)))
        written += 1
    file.write(after)
    return written


XML_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<items>\n'
WRITERS: dict[str, Callable[[Records, BinaryIO], int]] = {
    "jsonl": partial(_write_parts, PAGES["json"], ("", "", "")),
    "json": partial(_write_parts, json_text, ("[\n", ",\n", "\n]\n")),
    "csv": _write_csv,
    "xml": partial(_write_parts, _item, (XML_HEAD, "", "</items>\n")),
    "md": partial(_write_parts, _markdown, ("", "\n---\n\n", "")),
    "txt": partial(_write_parts, PAGES["txt"], ("", "\n" + "=" * 80 + "\n\n", "")),
    "parquet": write_parquet,
    "llms": write_llms,
    "llms-full": write_llms_full,
}
# The writers for standard output, by the format of a page.
STDOUT_WRITERS: dict[str, Callable[[Records, BinaryIO], int]] = {
    "md": WRITERS["md"],
    "txt": WRITERS["txt"],
    "html": partial(_write_parts, PAGES["html"], ("", "", "")),
    "json": WRITERS["jsonl"],
}
