"""What a data set is made from: corpora, folders of HTML files, rendered pages, crawls."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.body import as_utf8, is_binary, parse
from contentspider.page.input.files import html_files
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker, read_tree
from contentspider.site.title import title_parts
from contentspider.state.crawls.books import read_book
from contentspider_research.corpora import bases
from contentspider_research.features.announced import header_key
from contentspider_research.rendered_sites import (
    GOLD_SUFFIX,
    RENDERED,
    RENDERED_SUFFIXES,
    add_boxes,
    read_rendered_site,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lxml.etree import _Element

    from contentspider.evaluation.corpora import GoldPage

logger = logging.getLogger(__name__)

# Pages that are judged together; of more, each so manyth stands for the site.
MAX_BATCH = 1_000
# What this share of a site's titles have in common is its name.
NAME_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Read:
    """A page, its *file* (None if its markup is missing), and the records of its *pictures* if it
    was rendered.
    """

    page: Page
    file: Path | None = None
    pictures: Sequence[dict[str, Any]] = ()

    def elements(self) -> list[_Element] | None:
        """Return the elements of the page's tree that `PageBlocks` has, parsed again; None if its
        markup is not at hand.
        """
        if self.file is None:
            return None
        kept: list[_Element] = []
        read_tree(parse(as_utf8(self.file.read_bytes())), containers=kept)
        return kept


@dataclass(slots=True)
class Source:
    """A site: its name, the files of its pages or the pages themselves, and the gold by page.

    *language* is for pages that do not name one, *host* is the host of its pages ("": unknown).
    *pictures* has the records of the pictures on rendered pages, by page. The file *rendered*, if
    it exists, has the records of rendered *files*.
    """

    name: str
    files: Sequence[Path] = ()
    folder: Path | None = None
    pages: Sequence[Page] = ()
    gold: dict[str, GoldPage] = field(default_factory=dict)
    language: str = ""
    host: str = ""
    pictures: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rendered: Path | None = None

    def batches(self) -> Iterator[list[Read]]:
        """Yield the site's pages with text, those together that are judged together."""
        count = -(-max(len(self.files), len(self.pages)) // MAX_BATCH)
        for number in range(count):
            read = [
                Read(page, pictures=self.pictures.get(page.url, ()))
                for page in self.pages[number::count]
            ]
            read += self._read_rendered(self.files[number::count])
            if read := [each for each in read if each.page.content.blocks]:
                yield read

    def names(self, pages: Sequence[Page]) -> set[str]:
        """Return the keys (`header_key`) of what the site is called: the label of its domain, and
        the parts that the titles of *pages* have in common.
        """
        counts: Counter[str] = Counter()
        for page in pages:
            if page.hints.titles and len(parts := title_parts(page.hints.titles[0])) > 1:
                counts.update({header_key(part) for part in parts})
        least = max(2.0, NAME_SHARE * len(pages))
        labels = self.host.split(".")[:-1] or [self.name]
        common = {part for part, count in counts.items() if count >= least}
        return common | {header_key(max(labels, key=len))} - {""}

    def _read_rendered(self, files: Sequence[Path]) -> list[Read]:
        """Return the pages of *files*, with what the file `rendered` says of them."""
        pages = list(self._read(files))
        if self.rendered is None:
            return pages
        pictures = add_boxes([each.page for each in pages], self.rendered)
        return [replace(each, pictures=pictures.get(each.page.url, ())) for each in pages]

    def _read(self, files: Sequence[Path]) -> Iterator[Read]:
        walker = new_walker()
        for file in files:
            try:
                body = file.read_bytes()
            except OSError as error:
                logger.warning("%s cannot be read (%s); it is left out", file, error.strerror)
                continue
            if is_binary(body):
                logger.warning("%s is no HTML; it is left out", file)
                continue
            url = str(file.relative_to(self.folder) if self.folder else file)
            url = url.encode("utf-8", "replace").decode()
            yield Read(Page.from_html(body, url, walker=walker), file)


def find_sources(path: Path) -> list[Source]:
    """Return the sites at *path*: corpora (folders with ``gold.jsonl`` and ``html/``), rendered
    pages (files, or a folder of them), or a folder of HTML files, which is one site.

    Raises `ContentSpiderError` if there are none.
    """
    if path.is_file():
        if path.name.endswith(RENDERED_SUFFIXES):
            return [_rendered(path)]
        return [Source(path.parent.resolve().name, [path], path.parent)]
    if not path.is_dir():
        raise ContentSpiderError(f"{path}: no such file or folder")
    entries = sorted(path.iterdir())
    if any((folder / "gold.jsonl").is_file() for folder in (path, *entries)):
        return [
            Source(
                corpus.name,
                list(html_files(corpus.folder / "html")),
                corpus.folder / "html",
                gold={page.path: page for page in corpus.gold()},
                language=str(corpus.about.get("language") or ""),
                host=next((urlsplit(base).hostname or "" for base in bases(corpus)), ""),
                rendered=corpus.folder / RENDERED,
            )
            for corpus in find_corpora(path)
        ]
    rendered = [
        entry
        for entry in entries
        if entry.name.endswith(RENDERED_SUFFIXES) and not entry.name.endswith(GOLD_SUFFIX)
    ]
    if rendered:
        return [_rendered(entry) for entry in rendered]
    if files := list(html_files(path)):
        return [Source(path.resolve().name, files, path)]
    raise ContentSpiderError(
        f"{path} has neither corpora nor HTML files nor rendered pages (.jsonl, .jsonl.gz)"
    )


def _rendered(path: Path) -> Source:
    site = read_rendered_site(path)
    return Source(
        site.name,
        pages=site.pages,
        gold={gold.path: gold for gold in site.gold if gold},
        pictures={
            page.url: pictures for page, pictures in zip(site.pages, site.pictures, strict=True)
        },
    )


def crawl_sources(book_file: Path) -> list[Source]:
    """Return the sites of a crawl with the pages that its book has kept; of these the elements
    with text are known, not the markup.
    """
    with closing(read_book(book_file)) as book:
        kept = book.stored_pages
        found = [Source(site, pages=list(kept.sample(site)), host=site) for site in kept.sites()]
    if not found:
        raise ContentSpiderError(f"{book_file} has kept no pages to read")
    return found
