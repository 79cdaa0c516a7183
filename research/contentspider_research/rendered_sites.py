"""Rendered pages with their gold text: files of sites, and of collections of single pages.

Gold is a file ``SITE.gold.jsonl`` beside the pages (``url`` and ``text`` a line), or each record
brings its own (``gold``). A corpus can have the records of its own pages beside its gold
(`RENDERED`).
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.evaluation.corpora import GoldPage, json_lines
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.tree.text import tokens
from contentspider_research.rendered import add_visuals, pictures_of, read_with_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)
RENDERED_SUFFIXES = (".jsonl", ".jsonl.gz")
GOLD_SUFFIX = ".gold.jsonl"
CORPUS_GOLD = "gold.jsonl"
# The records of a corpus: ``contentspider render CORPUS/html -o CORPUS/rendered.jsonl.gz``.
RENDERED = "rendered.jsonl.gz"
# Gold is asked of a page that has so much of its words: what was rendered may be a server's error,
# of which no method can extract the article. In the open data 14 pages have less than 0.22, and
# all others more than 0.42.
MIN_GOLD_SHARE = 1 / 3


@dataclass(frozen=True, slots=True)
class RenderedSite:
    """A file's pages that have text, with their gold (None: none, or it is not on the page) and the
    records of their *pictures*; *is_mixed* says that they are single pages of many sites: their
    records bring the gold.
    """

    name: str
    file: str
    pages: list[Page]
    gold: list[GoldPage | None]
    pictures: list[list[dict[str, Any]]]
    is_mixed: bool


def find_rendered(source: Path) -> list[RenderedSite]:
    """Return the files of rendered pages that *source* is, or has; an empty list if it has none, or
    is a corpus.
    """
    files = [source] if source.is_file() else []
    if source.is_dir() and not (source / CORPUS_GOLD).is_file():
        files = sorted(
            path
            for path in source.iterdir()
            if path.name.endswith(RENDERED_SUFFIXES) and not path.name.endswith(GOLD_SUFFIX)
        )
    sites = [site for path in files if (site := read_rendered_site(path)).pages]
    if files and not sites:
        raise ContentSpiderError(f"{source} has no rendered pages")
    return sites


def add_boxes(pages: Sequence[Page], file: Path) -> dict[str, list[dict[str, Any]]]:
    """Add the boxes and computed CSS in the records of a *file* to the *pages* of a corpus, and
    return the records of their pictures by the address of the page. If there is no such file, the
    pages stay as they are.
    """
    if not file.is_file():
        return {}
    page_at = {page.url: page for page in pages}
    pictures = {}
    for rendered, record in read_with_records(file):
        if rendered.url in page_at:
            add_visuals(page_at[rendered.url].content, record)
            pictures[rendered.url] = pictures_of(record)
    missing = len(page_at) - len(pictures)
    if missing:
        logger.warning("%s has no record of %d of %d pages", file, missing, len(pages))
    return pictures


def read_rendered_site(path: Path) -> RenderedSite:
    """Return the pages of a file, with the gold in their records or beside the file."""
    name = path.name.split(".")[0]
    beside = _gold_texts(path.with_name(name + GOLD_SUFFIX))
    pages, texts, pictures, is_mixed = [], [], [], False
    for page, record in read_with_records(path):
        gold = record.get("gold")
        is_mixed |= gold is not None
        if page.content.blocks:
            pages.append(page)
            pictures.append(pictures_of(record))
            texts.append(beside.get(page.url) if gold is None else gold)
    return RenderedSite(
        name,
        path.name,
        pages,
        [
            GoldPage(page.url, text, "") if text and _is_on(page, text) else None
            for page, text in zip(pages, texts, strict=True)
        ],
        pictures,
        is_mixed,
    )


def _gold_texts(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    return dict(_gold_text(path, number, line) for number, line in json_lines(path))


def _gold_text(path: Path, number: int, line: bytes) -> tuple[str, str]:
    try:
        row = json.loads(line)
        return str(row["url"]), str(row["text"])
    except (ValueError, KeyError, TypeError) as error:
        raise ContentSpiderError(
            f"{path}:{number}: not gold of a page ({error!r}); a line is an object with url and"
            " text"
        ) from error


def _is_on(page: Page, gold: str) -> bool:
    wanted = Counter(tokens(gold))
    found = Counter(token for block in page.content.blocks for token in tokens(block.text))
    return (wanted & found).total() >= MIN_GOLD_SHARE * wanted.total()
