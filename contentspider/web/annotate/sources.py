"""Collect the pages of a site for annotation in one folder, which becomes a corpus."""

from __future__ import annotations

import logging
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from contentspider.ground.addresses import join, split_address
from contentspider.ground.atomic import replacing, writing
from contentspider.ground.encodings import PackedError
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require
from contentspider.ground.fetch import Fetched, FetchError, fetch
from contentspider.ground.robots import RobotsTxt
from contentspider.ground.sites import SiteKeys, folder_name
from contentspider.page.input.body import as_utf8, unpacked
from contentspider.page.input.files import html_files
from contentspider.site.sample import sample_order
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.export import find_crawl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

logger = logging.getLogger(__name__)

WARC_SUFFIXES = (".warc", ".warc.gz")
HTML = "html"
MAX_NAME_BYTES = 100
SECS_BETWEEN = 1.0
ROBOT = "contentspider"


@dataclass(frozen=True, slots=True)
class SitePages:
    """The collected pages of a *site*.

    The subfolder ``html/`` of *folder* has the pages. *assets* is the folder with their style
    sheets and pictures, or None. *addresses* has the web addresses of pages by the path of their
    file; it is empty for a folder of files.
    """

    site: str
    folder: Path
    assets: Path | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)


def collect(
    source: str,
    output: Path,
    max_pages: int,
    state_dir: str = "",
    is_private_allowed: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> SitePages:
    """Copy up to *max_pages* pages of a site into a subfolder of *output*.

    *source* is a folder of HTML files, a corpus (a folder with ``html/``), a WARC file, a file with
    one address per line, or a crawl. The pages of a crawl are fetched again, because a crawl does
    not store their HTML. Existing copies are not overwritten. *report* is called with messages
    about pages that are left out. Raises `ContentSpiderError` for a source without pages.
    """
    path = Path(source)
    if path.is_dir():
        root = path / HTML if (path / HTML).is_dir() else path
        site = folder_name(path.resolve().name)
        site_pages = SitePages(site, output / site, root)
        names = [file.relative_to(root).as_posix() for file in html_files(root)]
        for name in sorted(names, key=sample_order)[:max_pages]:
            if (body := _read(root / name)) is not None:
                _copy(site_pages.folder, name, body)
    elif path.name.lower().endswith(WARC_SUFFIXES):
        site_pages = _collect_fetched(_read_warc(path), output, max_pages)
    else:
        if path.is_file():
            addresses = _read_addresses(path)
        else:
            addresses = _crawled_addresses(source, state_dir, max_pages)
        pages = _fetch_all(addresses, is_private_allowed, report)
        site_pages = _collect_fetched(pages, output, max_pages)
    if not any(html_files(site_pages.folder / HTML)):
        raise ContentSpiderError(f"{source} has no HTML pages")
    return site_pages


def _collect_fetched(pages: Iterable[Fetched], output: Path, max_pages: int) -> SitePages:
    """Copy the pages that belong to the site of the first page. The pages of its other hosts get a
    folder for each host.
    """
    sites = SiteKeys()
    site, first_host = "", ""
    addresses: dict[str, str] = {}
    for page in pages:
        host = split_address(page.url).netloc
        site, first_host = site or sites.key(page.url), first_host or host
        if sites.key(page.url) == site and len(addresses) < max_pages:
            try:
                body = as_utf8(page.body, page.content_type)
                name = file_name_for(page.url)
                if host != first_host:
                    name = f"{_shorten(host)}/{name}"
                _copy(output / site, name, body)
                addresses[name] = page.url
            except ContentSpiderError as error:  # a folder has the name of the page's file
                logger.warning("%s is left out: %s", page.url, error)
    if not site:
        raise ContentSpiderError("no page could be read: check the addresses, or the WARC file")
    return SitePages(site, output / site, addresses=addresses)


def _read(file: Path) -> bytes | None:
    try:
        return unpacked(file.read_bytes())
    except (OSError, PackedError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        logger.warning("%s cannot be read (%s); it is left out", file, reason)
        return None


def _copy(folder: Path, name: str, body: bytes) -> None:
    """Write a page's file, unless it exists."""
    file = folder / HTML / name
    if file.exists():
        return
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as output:
        output.write(body)


def file_name_for(url: str) -> str:
    """Return the relative path of the file for an address; it never leads out of the folder.

    Addresses of one host with different paths or queries have different files: a digest is part of
    the name unless the path alone can be read from the name.

    >>> file_name_for("https://example.org/tea/green%20tea/"), file_name_for("https://e.org/a.htm")
    ('tea/green tea/index.html', 'a.htm.html')
    """
    parts = split_address(url)
    path = unquote(parts.path)
    steps = [step for step in path.split("/") if step not in ("", ".", "..")]
    readable = "/".join(["", *steps]) + ("/" if path.endswith("/") else "")
    steps = [step.replace("\\", "_").replace("\0", "_") for step in steps]
    is_readable = path in ("", readable) and "/".join(steps) == readable.strip("/")
    if not steps or path.endswith("/"):
        steps.append("index")
    elif steps[-1] == "index" or "%2f" in parts.path.lower():
        is_readable = False
    differing = parts.query if is_readable else f"{parts.path}?{parts.query}"
    digest = f"-{blake2b(differing.encode(), digest_size=4).hexdigest()}" if differing else ""
    *folders, name = map(_shorten, steps)
    return str(PurePosixPath(*folders, f"{name}{digest}.html"))


def _shorten(name: str) -> str:
    """Return a name that a file system accepts. The end of a long name becomes a hash."""
    data = name.encode("utf-8", "replace")
    if len(data) <= MAX_NAME_BYTES:
        return name
    beginning = data[: MAX_NAME_BYTES - 9].decode("utf-8", "ignore")
    return f"{beginning}-{blake2b(data, digest_size=4).hexdigest()}"


def _is_page(record: Any) -> bool:
    """Tell whether a record of a WARC file is an HTML page that a server answered."""
    headers = record.http_headers
    if record.rec_type != "response" or not headers or headers.get_statuscode() != "200":
        return False
    return "html" in headers.get_header("Content-Type", "").lower()


def _read_warc(path: Path) -> Iterator[Fetched]:
    """Yield the HTML pages in a WARC file."""
    require("warc", "reading a WARC file")
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    try:
        with path.open("rb") as file:
            for record in filter(_is_page, ArchiveIterator(file)):
                url = record.rec_headers.get_header("WARC-Target-URI", "")
                kind = record.http_headers.get_header("Content-Type")
                try:
                    # warcio unpacks all encodings but Zstandard.
                    yield Fetched(url, unpacked(record.content_stream().read()), kind)
                except PackedError as error:
                    logger.warning("%s is left out: %s", url, error)
    except OSError as error:
        raise ContentSpiderError(f"{path} cannot be read ({error.strerror or error})") from error
    except ArchiveLoadFailed as error:
        raise ContentSpiderError(f"{path} is not a WARC file: {error}") from error


def _read_addresses(path: Path) -> list[str]:
    """Return the addresses in a file, one per line; lines with "#" are comments."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ContentSpiderError(f"{path} is not a list of addresses: {error}") from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _crawled_addresses(name: str, state_dir: str, max_pages: int) -> list[str]:
    """Return the addresses of a sample of the pages in a crawl's book."""
    with closing(read_book(find_crawl(name, state_dir))) as book:
        pages = book.stored_pages
        addresses = [page.url for site in sorted(pages.sites())[:1] for page in pages.sample(site)]
    return addresses[:max_pages]


def _fetch_all(
    addresses: Iterable[str], is_private_allowed: bool, report: Callable[[str], None]
) -> Iterator[Fetched]:
    """Fetch the addresses that robots.txt allows, one per second, and yield the pages."""
    robots: dict[str, RobotsTxt] = {}
    for number, address in enumerate(addresses):
        robots_url = join(address, "/robots.txt")
        try:
            if robots_url not in robots:
                robots[robots_url] = RobotsTxt("")
                with suppress(FetchError):
                    rules = fetch(robots_url, is_private_allowed).body.decode("utf-8", "replace")
                    robots[robots_url] = RobotsTxt(rules)
            if not robots[robots_url].allows(address, ROBOT):
                report(f"{address}: robots.txt forbids it")
                continue
            if number:
                time.sleep(SECS_BETWEEN)
            yield fetch(address, is_private_allowed)
        except FetchError as error:
            report(str(error))
