"""The pages that people annotate, brought together in a folder: the corpus that comes of it."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from protego import Protego

from contentspider.ground.addresses import join, split_address
from contentspider.ground.atomic import replacing, writing
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require
from contentspider.ground.fetch import Fetched, FetchError, fetch
from contentspider.ground.sites import SiteKeys, folder_name
from contentspider.page.input.body import as_utf8
from contentspider.page.input.files import html_files
from contentspider.site.sample import sample_order
from contentspider.state.crawls.export import find_crawl, open_crawl_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

logger = logging.getLogger(__name__)

WARC_SUFFIXES = (".warc", ".warc.gz")
HTML = "html"
MAX_NAME_BYTES = 100
SECS_BETWEEN = 1.0
ROBOT = "contentspider"


@dataclass(frozen=True, slots=True)
class Collected:
    """A site's name, the folder whose ``html/`` has its pages, and the folder where the style
    sheets and pictures of them are (None: nowhere).
    """

    site: str
    folder: Path
    assets: Path | None = None


def collect(
    source: str,
    output: Path,
    most: int,
    state_dir: str = "",
    is_private_allowed: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Collected:
    """Copy up to *most* pages of a site into a folder of *output*, and return where they are.

    *source* is a folder of HTML files, a corpus (a folder with ``html/``), a WARC file, a file of
    addresses (one a line), or a crawl, whose pages are asked for again: it keeps no HTML. What was
    copied before stays. Raises `ContentSpiderError` if there are no pages.
    """
    path = Path(source)
    if path.is_dir():
        root = path / HTML if (path / HTML).is_dir() else path
        site = folder_name(path.resolve().name)
        found = Collected(site, output / site, root)
        names = [file.relative_to(root).as_posix() for file in html_files(root)]
        for name in sorted(names, key=sample_order)[:most]:
            if (body := _read(root / name)) is not None:
                _keep(found.folder, name, body)
    elif path.name.lower().endswith(WARC_SUFFIXES):
        found = _collect_fetched(_of_warc(path), output, most)
    else:
        addresses = _listed(path) if path.is_file() else _crawled(source, state_dir, most)
        found = _collect_fetched(_asked(addresses, is_private_allowed, say), output, most)
    if not any(html_files(found.folder / HTML)):
        raise ContentSpiderError(f"{source} has no HTML pages")
    return found


def _collect_fetched(pages: Iterable[Fetched], output: Path, most: int) -> Collected:
    """Keep the pages of the first one's site."""
    sites = SiteKeys()
    site, count = "", 0
    for page in pages:
        site = site or sites.key(page.url)
        if sites.key(page.url) == site and count < most:
            try:
                _keep(output / site, file_of(page.url), as_utf8(page.body, page.content_type))
                count += 1
            except ContentSpiderError as error:  # its name is that of a folder
                logger.warning("%s is left out: %s", page.url, error)
    if not site:
        raise ContentSpiderError("there is no page that can be had")
    return Collected(site, output / site)


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError as error:
        logger.warning("%s cannot be read (%s); it is left out", file, error.strerror)
        return None


def _keep(folder: Path, name: str, body: bytes) -> None:
    file = folder / HTML / name
    if file.exists():
        return
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as written:
        written.write(body)


def file_of(url: str) -> str:
    """Return the name of the file for the page at an address, which leads nowhere else.

    >>> file_of("https://example.org/tea/../green%20tea/?page=2#top")
    'tea/green tea/index-851b7497.html'
    """
    parts = split_address(url)
    steps = [step for step in unquote(parts.path).split("/") if step not in ("", ".", "..")]
    steps = [_cut(step.replace("\\", "_").replace("\0", "_")) for step in steps]
    if not steps or parts.path.endswith("/"):
        steps.append("index.html")
    name = PurePosixPath(*steps)
    stem = name.stem if name.suffix.lower() in (".html", ".htm") else name.name
    query = f"-{blake2b(parts.query.encode(), digest_size=4).hexdigest()}" if parts.query else ""
    return str(name.with_name(f"{stem}{query}.html"))


def _cut(name: str) -> str:
    """Return a name that a file system takes; a longer one keeps what tells it from others."""
    data = name.encode("utf-8", "replace")
    if len(data) <= MAX_NAME_BYTES:
        return name
    beginning = data[: MAX_NAME_BYTES - 9].decode("utf-8", "ignore")
    return f"{beginning}-{blake2b(data, digest_size=4).hexdigest()}"


def _of_warc(path: Path) -> Iterator[Fetched]:
    """Yield the pages of a WARC file."""
    require("warc", "reading a WARC file")
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    try:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type != "response" or not record.http_headers:
                    continue
                kind = record.http_headers.get_header("Content-Type") or ""
                if record.http_headers.get_statuscode() == "200" and "html" in kind.lower():
                    url = record.rec_headers.get_header("WARC-Target-URI") or ""
                    yield Fetched(url, record.content_stream().read(), kind)
    except OSError as error:
        raise ContentSpiderError(f"{path} cannot be read ({error.strerror or error})") from error
    except ArchiveLoadFailed as error:
        raise ContentSpiderError(f"{path} is no WARC file: {error}") from error


def _listed(path: Path) -> list[str]:
    """Return the addresses in a file."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ContentSpiderError(f"{path} is no list of addresses: {error}") from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _crawled(name: str, state_dir: str, most: int) -> list[str]:
    """Return the addresses of a sample of the pages that a crawl keeps."""
    with open_crawl_data(find_crawl(name, state_dir)) as (_, kept, _):
        found = [page.url for site in sorted(kept.sites())[:1] for page in kept.sample(site)]
    return found[:most]


def _asked(
    addresses: Iterable[str], is_private_allowed: bool, say: Callable[[str], None]
) -> Iterator[Fetched]:
    """Yield the pages at some addresses, one a second, those that robots.txt allows."""
    robots: dict[str, Protego] = {}
    for number, address in enumerate(addresses):
        place = join(address, "/robots.txt")
        try:
            if place not in robots:
                robots[place] = Protego.parse("")
                with suppress(FetchError):
                    rules = fetch(place, is_private_allowed).body.decode("utf-8", "replace")
                    robots[place] = Protego.parse(rules)
            if not robots[place].can_fetch(address, ROBOT):
                say(f"{address}: robots.txt forbids it")
                continue
            if number:
                time.sleep(SECS_BETWEEN)
            yield fetch(address, is_private_allowed)
        except FetchError as error:
            say(str(error))
