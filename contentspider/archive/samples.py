"""Samples of sites: which pages are held for learning, and the files that they are held in."""

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

from contentspider.archive.sources import Stored
from contentspider.site.learn.learner import MAX_SAMPLE
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import BinaryIO

    from contentspider.archive.target import Target

HEAD = struct.Struct(">II")  # the sizes of what is known of a page, and of its HTML


class Kept(NamedTuple):
    """A page of a shard that is kept: its number, a digest that orders captures of one address, and
    where it is in a file.
    """

    number: int
    digest: str
    start: int
    size: int


class Sample:
    """The pages of a site with the smallest orders (`sample_order`), one of each address."""

    def __init__(self) -> None:
        self.kept: dict[bytes, Kept] = {}
        self._heap: list[int] = []  # of orders, the largest first

    def takes(self, order: bytes) -> bool:
        """Tell whether a page may be of the sample."""
        is_full = len(self.kept) == MAX_SAMPLE
        return order in self.kept or not is_full or -int.from_bytes(order, "big") > self._heap[0]

    def add(self, order: bytes, page: Kept) -> None:
        """Add a page that it takes."""
        if order not in self.kept:
            heapq.heappush(self._heap, -int.from_bytes(order, "big"))
            self.kept[order] = page
            if len(self.kept) > MAX_SAMPLE:
                last = -heapq.heappop(self._heap)
                del self.kept[last.to_bytes(len(order), "big")]
        elif self.kept[order].digest < page.digest:
            self.kept[order] = page


class Row(NamedTuple):
    """A page of a sample: its number among those of the bucket, the shard that it is of, and where
    it is in a file. Captures of one address are sorted by their digests.
    """

    order: bytes
    digest: str
    number: int
    start: int
    shard: str
    url: str
    date: str


def sampled(rows: list[Row]) -> list[Row]:
    """Return the sample of the rows of a site, sorted: of several captures of an address one is
    taken, whichever shard has it.
    """
    return list({row.order: row for row in rows}.values())[:MAX_SAMPLE]


def write_page(file: BinaryIO, site: str, shard: str, page: Stored) -> tuple[str, int, int]:
    """Append a page, and return its digest, where it is, and its size there."""
    html = page.html.encode("utf-8", "surrogatepass") if isinstance(page.html, str) else page.html
    digest = blake2b(f"{page.date}\n".encode("utf-8", "replace") + html, digest_size=8).hexdigest()
    known = [site, digest, shard, page.url, page.date, page.content_type, page.html is not html]
    head, packed = json.dumps(known).encode(), BytesIO()
    with Lz4Writer(packed) as writer:  # it takes a tenth of zlib's time
        writer.write(html)
    record = HEAD.pack(len(head), len(packed.getvalue())) + head + packed.getvalue()
    start = file.tell()
    file.write(record)
    return digest, start, len(record)


def read_page(file: BinaryIO, start: int) -> Stored:
    """Return the page that is at a place."""
    file.seek(start)
    head, size = HEAD.unpack(file.read(HEAD.size))
    *_, url, date, content_type, is_text = json.loads(file.read(head))
    html = Lz4Reader(BytesIO(file.read(size))).read()
    return Stored(
        url, html.decode("utf-8", "surrogatepass") if is_text else html, content_type, date
    )


def get_pages(
    target: Target, names: Iterable[str], file: BinaryIO, part: Path
) -> dict[str, list[Row]]:
    """Copy the pages in a target's objects to one file, and return the rows of each site; *part*
    is a file for one object at a time.
    """
    for name in names:
        target.get(name, part)
        with part.open("rb") as source:
            copyfileobj(source, file)
    rows: dict[str, list[Row]] = defaultdict(list)
    file.seek(0)
    for number in count():
        start = file.tell()
        if not (sizes := file.read(HEAD.size)):
            break
        head, size = HEAD.unpack(sizes)
        site, digest, shard, url, date, *_ = json.loads(file.read(head))
        rows[site].append(Row(sample_order(url), digest, number, start, shard, url, date))
        file.seek(size, SEEK_CUR)
    return rows
