"""Reads corpora for `contentspider evaluate`: folders with the pages of a site and gold text."""

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
    """Yield each line that is not blank, with its number, counted from 1.

    Only a line feed ends a line. Files that end with ``.gz`` are decompressed.
    """
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line


class CorpusError(ContentSpiderError):
    """Raised if a folder is not a corpus; the message says which part is missing."""

    code = "corpus"


@dataclass(frozen=True, slots=True)
class GoldPage:
    """The gold of a page: the *text* that people marked as content.

    They disagree about the text *optional*. *host* is the host of a single page, in a collection
    of pages from many hosts; it is "" for the page of a site.
    """

    path: str
    text: str
    optional: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus: the *folder* of one site, with its pages under ``html/``.

    *about* is the content of its file ``site.json``.
    """

    folder: Path
    about: dict[str, object]

    @property
    def name(self) -> str:
        """Return the site's id, the name of its folder."""
        return self.folder.name

    @property
    def suite(self) -> str:
        """Return the name of the suite of corpora over which scores are averaged."""
        return str(self.about.get("suite", "sites"))

    @property
    def is_collection(self) -> bool:
        """Tell whether the pages are from many hosts, so that no site can be learned."""
        return self.suite == "pages"

    def pages(self, attributes: bool = False) -> Iterator[Page]:
        """Yield every HTML page; its address is its path below ``html/``."""
        return read_pages(self.folder / "html", attributes=attributes)

    def gold(self) -> list[GoldPage]:
        """Return the gold pages; their paths do not begin with a slash."""
        file = self.folder / GOLD
        return [_gold_page(file, number, line) for number, line in json_lines(file)]

    def gold_paths(self) -> list[str]:
        """Return the paths of the gold pages as the gold file has them."""
        return [json.loads(line)["path"] for _, line in json_lines(self.folder / GOLD)]

    def own_texts(self) -> list[OwnText]:
        """Return the texts of the site's feeds (``own.jsonl``); addresses are paths as in `pages`.

        A corpus without this file has none.
        """
        file = self.folder / "own.jsonl"
        if not file.is_file():
            return []
        texts = []
        for _, line in json_lines(file):
            row = json.loads(line)
            path, text = str(row["path"]).lstrip("/"), text_of(str(row["html"]))
            texts.append(OwnText(path, text, f"feed {row['source']}", title_of(str(row["title"]))))
        return texts


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
    """Return the corpora in *folders*, in the order of their names.

    Each of *folders* is a corpus itself, or contains the folders of corpora. Raises `CorpusError`
    if a folder is neither.
    """
    corpora: list[Corpus] = []
    for folder in folders:
        if (folder / GOLD).is_file():
            corpora.append(_read(folder))
            continue
        subfolders = sorted(folder.iterdir()) if folder.is_dir() else []
        sites = [path for path in subfolders if (path / GOLD).is_file()]
        if not sites:
            raise CorpusError(
                f"{folder} has no corpora; give a folder with {GOLD} and html/, or the folder that"
                " contains such folders"
            )
        corpora += map(_read, sites)
    return corpora


def _read(folder: Path) -> Corpus:
    if not (folder / "html").is_dir():
        raise CorpusError(
            f"{folder} has no html/ folder; unpack the corpora first (shared/unpack.py DEST)"
        )
    about = folder / "site.json"
    return Corpus(folder, json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {})
