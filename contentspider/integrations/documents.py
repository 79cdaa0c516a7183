"""Reads the items of a crawl as documents: pages or passages with ids, text and metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contentspider.ground.addresses import route_of, split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable
from contentspider.site.models.identity import page_id
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.export import find_crawl
from contentspider.state.files.text import address, titled_markdown

LINES = (".jsonl", ".jl")


@dataclass(frozen=True, slots=True)
class Document:
    """A page or a passage. *text* is Markdown. *metadata* is flat, because vector databases accept
    only such metadata: ``url``, ``title``, ``heading_path`` (headings joined by ``" > "``),
    ``anchor``, ``language``, ``published_at``, ``modified_at``, ``page_id`` and ``content_hash``.

    *id* and *metadata* stay the same until the page or the passage changes.
    """

    id: str
    text: str
    metadata: dict[str, str]


def read_documents(
    source: str | Path, passages: bool = False, state_dir: str | Path = ""
) -> Iterator[Document]:
    """Yield a document for each page with text, or for each of its passages with *passages*.

    *source* is a file of items in JSON lines (``.jsonl``), or a crawl in the state folder
    *state_dir*, named as for ``contentspider replay``. Raises `ContentSpiderError` if the source
    cannot be read, or lacks passages.
    """
    for record in _records(source, str(state_dir)):
        if passages:
            try:
                yield from _passages(record, source)
            except (KeyError, TypeError, AttributeError) as error:
                raise ContentSpiderError(
                    f"the passages of {printable(address(record))} have another form than items of"
                    " contentspider",
                    code="items-file",
                ) from error
        elif record.get("content"):
            yield Document(_page_id(record), titled_markdown(record), _metadata(record))


def _records(source: str | Path, state_dir: str) -> Iterator[Mapping[str, Any]]:
    path = Path(source)
    if path.suffix.lower() in LINES:
        yield from _records_of_file(path)
        return
    with closing(read_book(find_crawl(str(source), state_dir))) as book:
        yield from book.items.records()


def _records_of_file(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _record(line, f"{printable(str(path))}, line {number}")
    except OSError as error:
        raise ContentSpiderError(
            f"{printable(str(path))} cannot be read: {error.strerror}", code="items-file"
        ) from error


def _record(line: bytes, place: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ContentSpiderError(f"{place}: it is not JSON", code="items-file") from error
    if not isinstance(record, dict) or not address(record):
        raise ContentSpiderError(f"{place}: it is not an item with a url", code="items-file")
    return record


def _page_id(record: Mapping[str, Any]) -> str:
    return str(record.get("id") or page_id(address(record)))


def _metadata(record: Mapping[str, Any]) -> dict[str, str]:
    fields = ("title", "language", "published_at", "modified_at", "content_hash")
    return {
        "url": address(record),
        "heading_path": "",
        "anchor": "",
        "page_id": _page_id(record),
        **{name: str(record.get(name) or "") for name in fields},
    }


def _passages(record: Mapping[str, Any], source: str | Path) -> Iterator[Document]:
    passages = record.get("passages")
    if record.get("content") and not passages:
        raise ContentSpiderError(
            f"{printable(address(record))} has no passages in {printable(str(source))}: crawl with"
            " -s CONTENTSPIDER_PASSAGES=1000, or extract with --passages 1000",
            code="no-passages",
        )
    metadata = _metadata(record)
    for passage in passages or ():
        headings, text = " > ".join(passage["heading_path"]), passage["markdown"]
        own_metadata = {
            "url": passage["url"],
            "heading_path": headings,
            "anchor": "" if route_of(passage["url"]) else split_address(passage["url"]).fragment,
            # The hash of this passage stays the same when another passage of the page changes.
            "content_hash": passage["id"].rpartition("-")[2],
        }
        text = f"{headings}\n\n{text}" if headings else text
        yield Document(passage["id"], text, metadata | own_metadata)
