"""Chooses the pages that sites are learned from, and writes them to sample files."""

from __future__ import annotations

import heapq
import json
import struct
from collections import defaultdict
from hashlib import blake2b
from io import SEEK_CUR, BytesIO
from itertools import count
from shutil import copyfileobj
from typing import TYPE_CHECKING, NamedTuple

from fastwarc.stream_io import Lz4Reader, Lz4Writer

from contentspider.archive.stored import StoredPage
from contentspider.site.learn.sampling import MAX_SAMPLE, TemplatePages
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path
    from typing import BinaryIO, TypeAlias

    from contentspider.archive.target import Target

    Key: TypeAlias = tuple[bytes, str]

HEAD = struct.Struct(">II")  # the sizes of a page's metadata and of its compressed HTML, in bytes


class SampledPage(NamedTuple):
    """A page in the sample of a shard.

    *number* is the page's number in the shard. Captures of one address are ordered by *digest*.
    The page begins at the offset *start* of the local file and has *size* bytes there.
    """

    number: int
    digest: str
    start: int
    size: int


class Sample:
    """The sample of a site in one shard: the `MAX_SAMPLE` pages with the smallest orders
    (`sample_order`), one per address.
    """

    def __init__(self) -> None:
        self.pages: dict[bytes, SampledPage] = {}
        self._heap: list[int] = []  # the negated orders, so that the largest order comes first

    def takes(self, order: bytes) -> bool:
        """Tell whether a page with this order belongs to the sample so far."""
        if order in self.pages or len(self.pages) < MAX_SAMPLE:
            return True
        return -int.from_bytes(order, "big") > self._heap[0]

    def add(self, order: bytes, page: SampledPage) -> None:
        """Add a page for which `takes` is true, and drop the page with the largest order if the
        sample is too large. Of several captures of an address the largest digest stays.
        """
        if order not in self.pages:
            heapq.heappush(self._heap, -int.from_bytes(order, "big"))
            self.pages[order] = page
            if len(self.pages) > MAX_SAMPLE:
                largest = -heapq.heappop(self._heap)
                del self.pages[largest.to_bytes(len(order), "big")]
        elif self.pages[order].digest < page.digest:
            self.pages[order] = page


class TemplateSample:
    """The first pages of each template of a site in one shard (`TemplatePages`), at most
    `MAX_SAMPLE`.

    If the shard has at most `MAX_SAMPLE` pages of the site, *pages* has all of them, and no page is
    parsed for its template. The key of a page is its `sample_order` and its digest. Pages are in
    the order of their keys. *template_of* returns the template of a page, or None for a page
    without text. *read* returns the HTML of a page in *pages*.
    """

    def __init__(
        self,
        template_of: Callable[[StoredPage], bytes | None],
        read: Callable[[SampledPage], StoredPage],
    ) -> None:
        self.pages: dict[Key, SampledPage] = {}
        self._template_of, self._read = template_of, read
        self._templates: TemplatePages[Key] | None = None

    def takes(self, key: Key, stored: StoredPage) -> bool:
        """Tell whether a page belongs to the sample so far. If it does, the caller must add it to
        `pages`. Pages that it replaces are removed.
        """
        if key in self.pages:
            return False
        if self._templates is None:
            if len(self.pages) < MAX_SAMPLE:
                return True
            self._templates = TemplatePages(MAX_SAMPLE)
            for earlier, page in list(self.pages.items()):
                if not self._stays(self._templates, earlier, self._read(page)):
                    self.pages.pop(earlier, None)
        return self._stays(self._templates, key, stored)

    def _stays(self, templates: TemplatePages[Key], key: Key, stored: StoredPage) -> bool:
        """Tell whether a page is among the first of its template, and remove the pages that it
        replaces.
        """
        template = self._template_of(stored)
        if template is None:
            return False
        dropped = templates.add(key, template, key)
        for replaced in dropped:
            self.pages.pop(replaced, None)
        return key not in dropped


class SampleRow(NamedTuple):
    """A sampled page of a bucket. Rows are sorted by *order* (`sample_order`), and captures of one
    address by *digest*.

    *number* is the page's number in the bucket, *start* its offset in the local file, *shard* the
    id of its shard, and *date* the time of its fetch.
    """

    order: bytes
    digest: str
    number: int
    start: int
    shard: str
    url: str
    date: str


def choose_sample(rows: list[SampleRow]) -> list[SampleRow]:
    """Return the sample of a site from its sorted rows of all shards, one row per address.

    Of several captures of an address the last row is used.
    """
    return list({row.order: row for row in rows}.values())[:MAX_SAMPLE]


def with_templates(
    sample: list[SampleRow],
    rows: Collection[SampleRow],
    template_of: Callable[[SampleRow], bytes | None],
) -> list[SampleRow]:
    """Return the rows of a site's *sample*, followed by the first pages of each template among all
    *rows* of the site. Each address has one row.

    *template_of* returns the template of a page, or None for a page without text. It is not called
    if there are at most `MAX_SAMPLE` rows.
    """
    if len(rows) <= MAX_SAMPLE:
        return sample
    of_templates: TemplatePages[SampleRow] = TemplatePages(MAX_SAMPLE)
    for row in rows:
        template = template_of(row)
        if template is not None:
            of_templates.add((row.order, row.digest), template, row)
    further = {row.order: row for row in sorted(of_templates.ranked())}
    of_sample = {row.order for row in sample}
    return [*sample, *(row for order, row in further.items() if order not in of_sample)]


def page_digest(page: StoredPage) -> str:
    """Return a hash of a page's date and HTML. Captures of one address are ordered by it."""
    content = f"{page.date}\n".encode("utf-8", "replace") + _html_bytes(page)
    return blake2b(content, digest_size=8).hexdigest()


def _html_bytes(page: StoredPage) -> bytes:
    return page.html.encode("utf-8", "surrogatepass") if isinstance(page.html, str) else page.html


def write_page(
    file: BinaryIO, site: str, shard: str, page: StoredPage, digest: str
) -> tuple[int, int]:
    """Append a page to a sample file, and return its offset and its size in bytes."""
    html, is_text = _html_bytes(page), isinstance(page.html, str)
    metadata = [site, digest, shard, page.url, page.date, page.content_type, is_text]
    head, packed = json.dumps(metadata).encode(), BytesIO()
    with Lz4Writer(packed) as writer:  # LZ4 takes a tenth of zlib's time
        writer.write(html)
    record = HEAD.pack(len(head), len(packed.getvalue())) + head + packed.getvalue()
    start = file.tell()
    file.write(record)
    return start, len(record)


def read_page(file: BinaryIO, start: int) -> StoredPage:
    """Return the page at the offset *start* of a sample file."""
    file.seek(start)
    head_size, html_size = HEAD.unpack(file.read(HEAD.size))
    *_, url, date, content_type, is_text = json.loads(file.read(head_size))
    html = Lz4Reader(BytesIO(file.read(html_size))).read()
    return StoredPage(
        url, html.decode("utf-8", "surrogatepass") if is_text else html, content_type, date
    )


def get_pages(
    target: Target, names: Iterable[str], file: BinaryIO, part: Path
) -> dict[str, list[SampleRow]]:
    """Copy the sample files *names* of a target to one file, and return the rows of each site.

    *part* is the path of a temporary file, which holds one sample file at a time.
    """
    for name in names:
        target.get(name, part)
        with part.open("rb") as source:
            copyfileobj(source, file)
    rows: dict[str, list[SampleRow]] = defaultdict(list)
    file.seek(0)
    for number in count():
        start = file.tell()
        if not (sizes := file.read(HEAD.size)):
            break
        head_size, html_size = HEAD.unpack(sizes)
        site, digest, shard, url, date, *_ = json.loads(file.read(head_size))
        rows[site].append(SampleRow(sample_order(url), digest, number, start, shard, url, date))
        file.seek(html_size, SEEK_CUR)
    return rows
