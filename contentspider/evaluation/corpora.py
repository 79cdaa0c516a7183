"""Corpora: folders of a website's pages with gold text, as `contentspider evaluate` reads them."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.page.input.files import read_pages
from contentspider.site.own.readers.reading import text_of, title_of
from contentspider.site.own.texts import OwnText

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.page.input.page import Page

GOLD = "gold.jsonl"


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, with its number; only a line feed ends a line."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line


class CorpusError(ContentSpiderError):
    """A folder is not a corpus; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class GoldPage:
    """The text that people marked as a page's content, and text on which they disagree; *host* is
    where a single page is from ("": it belongs to its site).
    """

    path: str
    text: str
    optional: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One site: its folder, what ``site.json`` says of it, and its pages under ``html/``."""

    folder: Path
    about: dict[str, object]

    @property
    def name(self) -> str:
        """Return the site's id, the name of its folder."""
        return self.folder.name

    @property
    def suite(self) -> str:
        """Return the name of what the corpus is averaged with."""
        return str(self.about.get("suite", "sites"))

    @property
    def is_collection(self) -> bool:
        """Tell whether these are single pages of many hosts, of which no site can be learned."""
        return self.suite == "pages"

    def pages(self, attributes: bool = False) -> Iterator[Page]:
        """Return every HTML page by its path below ``html/``, which is its address."""
        return read_pages(self.folder / "html", attributes=attributes)

    def gold(self) -> list[GoldPage]:
        """Return the gold pages; their paths have no leading slash."""
        file = self.folder / GOLD
        return [_gold_page(file, number, line) for number, line in json_lines(file)]

    def gold_paths(self) -> list[str]:
        """Return the paths of the gold pages as the gold writes them."""
        return [json.loads(line)["path"] for _, line in json_lines(self.folder / GOLD)]

    def own_texts(self) -> list[OwnText]:
        """Return the texts of the site's feeds (``own.jsonl``), by paths below ``html/``."""
        file = self.folder / "own.jsonl"
        found = []
        for _, line in json_lines(file) if file.is_file() else ():
            row = json.loads(line)
            path, text = str(row["path"]).lstrip("/"), text_of(str(row["html"]))
            found.append(OwnText(path, text, f"feed {row['source']}", title_of(str(row["title"]))))
        return found


def _gold_page(file: Path, number: int, line: bytes) -> GoldPage:
    try:
        row = json.loads(line)
        optional, host = row.get("optional_text") or "", str(row.get("host") or "")
        return GoldPage(row["path"].lstrip("/"), row["text"], optional, host)
    except DAMAGE as error:
        raise CorpusError(
            f"{file}:{number}: not a gold page ({error!r}); a line is an object with path and text"
        ) from error


def find_corpora(*folders: Path) -> list[Corpus]:
    """Return the corpora in the *folders*, or that are these, each folder's by name."""
    found: list[Corpus] = []
    for folder in folders:
        paths = [folder, *(sorted(folder.iterdir()) if folder.is_dir() else ())]
        sites = [path for path in paths if (path / GOLD).is_file()]
        if not sites:
            raise CorpusError(f"{folder} has no corpora: each is a folder with {GOLD} and html/")
        found += map(_read, sites[:1] if sites[0] == folder else sites)
    return found


def _read(folder: Path) -> Corpus:
    if not (folder / "html").is_dir():
        raise CorpusError(
            f"{folder} has no html/ folder; unpack the corpora first (shared/unpack.py DEST)"
        )
    about = folder / "site.json"
    return Corpus(folder, json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {})
