"""Finds crawls by name, and writes their items to files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from contentspider.ground.addresses import is_web_address
from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.ground.scope import crawl_name
from contentspider.ground.sites import SiteKeys
from contentspider.ground.terminal import printable
from contentspider.recrawl.changes import UNCHANGED
from contentspider.site.models.identity import page_id
from contentspider.state.crawls.books import HISTORIES, crawl_book, is_old, read_book
from contentspider.state.crawls.folder import state_folder

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.state.files.formats import Output, StandardOutput


# The files that servers commonly give for a folder.
INDEX_FILES = ("index.html", "index.htm", "index.php")
# Earlier versions put the start time of the last run into the names of unfinished crawls.
ARCHIVED = re.compile(r"\.\d{8}T\d{6}(-\d+)?$")


def find_crawl(name: str, state_dir: str = "") -> Path:
    """Return the path of a crawl's book. *name* is an address that was crawled, the crawl's name,
    the name of a site that only one crawl has pages of, or the book's file. Raises
    `ContentSpiderError` if no crawl matches.
    """
    folder = state_folder(state_dir)
    path = Path(name)
    if path.parent.name == HISTORIES and (not path.is_file() or is_old(path)):
        # Earlier versions had a file there.
        path = path.parent.parent / path.name
    book = crawl_book(name, state_dir)
    # A file of the current folder may have the name of a crawl by chance.
    places = (book, path) if path.name == name else (path, book)
    return _find(name, folder, (*places, folder / name))


def crawls(state_dir: str = "") -> list[str]:
    """Return the names of all crawls that have a book in the state folder."""
    return [path.stem for path in books(state_dir)]


def books(state_dir: str = "") -> list[Path]:
    """Return the paths of all books in the state folder."""
    folder = state_folder(state_dir)
    files = (*folder.glob("*.sqlite"), *(folder / HISTORIES).glob("*.sqlite"))
    return sorted({folder / path.name for path in files if not ARCHIVED.search(path.stem)})


def find_page(url: str, crawl: str = "", state_dir: str = "") -> tuple[Path, str]:
    """Return the book that has a page, and the page's id: of *crawl*, or of the first crawl. An
    address without a scheme and a copy of a page lead to the page, and a folder to its index file.
    Raises `ContentSpiderError`.
    """
    paths = [find_crawl(crawl, state_dir)] if crawl else books(state_dir)
    for path in paths:
        with closing(read_book(path)) as book:
            for address in _spellings(url):
                name = page_id(address)
                for known in (name, book.known.original_of(name)):
                    if known and book.known.page(known) is not None:
                        return path, known
    searched = f" ({', '.join(path.stem for path in paths)})" if paths else ": none was crawled yet"
    raise ContentSpiderError(f"{printable(url)} is in no book{searched}", code="no-such-page")


def _spellings(url: str) -> Iterator[str]:
    """Yield the addresses that a person may mean."""
    for scheme in ("",) if is_web_address(url) else ("https://", "http://"):
        address = f"{scheme}{url}"
        yield address
        base = address if urlsplit(address).path else f"{address}/"
        if base.endswith("/"):
            yield from (f"{base}{name}" for name in INDEX_FILES)


def _find(name: str, folder: Path, paths: Iterable[Path]) -> Path:
    """Return the first existing file of *paths*, else the only one in *folder* for the site."""
    for path in paths:
        if path.is_file() or (path.parent / HISTORIES / path.name).is_file():
            return path
    stems = crawls(str(folder))
    matches = _matching(name, stems)
    if not matches:
        matches = [stem for stem in stems if name in sites_of(folder / f"{stem}.sqlite")]
    if len(matches) == 1:
        return folder / f"{matches[0]}.sqlite"
    there = ", ".join(matches or stems) or "none (scrapy crawl needs CONTENTSPIDER_DURABLE = True)"
    raise ContentSpiderError(
        f"{printable(name)}: no such file or folder, and no crawl of that name in {folder}; its"
        f" crawls are: {there}",
        code="no-such-crawl",
    )


def sites_of(book: Path) -> list[str]:
    """Return the sites that a book has pages of; none if it cannot be read."""
    with suppress(ContentSpiderError), closing(read_book(book)) as opened:
        return opened.stored_pages.sites()
    return []


def site_of(name: str, state_dir: str = "") -> str:
    """Return the name of the site that the models know of a *crawl* with one site only, or of an
    address; otherwise *name* itself.
    """
    sites = []
    with suppress(ContentSpiderError):
        sites = sites_of(find_crawl(name, state_dir))
    if len(sites) == 1:
        return sites[0]
    return SiteKeys().key(name) if is_web_address(name) else name


def crawls_of_sites(state_dir: str = "") -> dict[str, list[str]]:
    """Return the crawls of each site that have another name than the site, as a person may know it
    by. Books that cannot be read are left out.
    """
    found: dict[str, list[str]] = {}
    for book in books(state_dir):
        with suppress(*DAMAGE):
            for site in sites_of(book):
                if site != book.stem:
                    found.setdefault(site, []).append(book.stem)
    return found


def _matching(name: str, stems: Sequence[str]) -> list[str]:
    """Return the crawls that *name* can mean: the one with that name, else all of its site."""
    try:
        pattern = re.escape(crawl_name([name]))
    except (ContentSpiderError, ValueError):
        return []
    exact = [stem for stem in stems if re.fullmatch(pattern, stem)]
    # A crawl that does not start at the front page has a digest at the end of its name.
    return exact or [stem for stem in stems if re.fullmatch(f"{pattern}-.+-[0-9a-f]{{8}}", stem)]


def crawled_pages(crawl: Path, site: str) -> tuple[str, list[Page]]:
    """Return a site of a crawl and its pages with text. *site* may be empty if the crawl has
    one site only. Raises `ContentSpiderError` if the crawl lacks the site.
    """
    with closing(read_book(crawl)) as book:
        sites = book.stored_pages.sites()
        chosen = site or (sites[0] if len(sites) == 1 else "")
        if chosen not in sites:
            names = ", ".join(sites) or "no site"
            raise ContentSpiderError(
                f"{crawl} has pages of {names}; choose one with --site", code="several-sites"
            )
        return chosen, [page for page in book.stored_pages.sample(chosen) if page.content.blocks]


def export_items(crawl: Path, outputs: Sequence[Output | StandardOutput]) -> int:
    """Write all released items of a crawl to *outputs*, and return their number."""
    with closing(read_book(crawl)) as book:
        written = book.items.count()
        if written or book.items.count(UNCHANGED):
            for output in outputs:
                output.write(book.items.records)
        return written
