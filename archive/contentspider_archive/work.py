"""The three functions: sample a shard, learn a bucket of sites, extract a shard.

They know no engine: a task is a dict of JSON values, which any process on any machine can do that
sees sources, models and target; done twice it leaves the same objects behind. The samples are the
pages with the smallest hashes of their addresses (`contentspider.site.sample`), so that a site's
model is the same however its pages are split over shards.
"""

from __future__ import annotations

import heapq
import json
import struct
import zlib
from collections import defaultdict
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.ground.sites import SiteKeys
from contentspider.page.blocks import new_walker
from contentspider.page.input.body import is_binary
from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.alone import extract_page
from contentspider.site.learn.learner import MAX_SAMPLE, SiteLearner
from contentspider.site.models.record import page_fields
from contentspider.site.sample import sample_order
from contentspider.state.files.formats import WRITERS
from contentspider.state.stores.shared_models import SharedModels, open_models
from contentspider_archive.child import NOWHERE
from contentspider_archive.sources import ShardError, read_shard
from contentspider_archive.target import WORK, Target, shard_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from contentspider.site.models.model import SiteModel
    from contentspider_archive.sources import Stored

SAMPLE, LEARN, EXTRACT = "sample", "learn", "extract"
MIN_PAGES = 2  # of a site that is learned; a single page is judged by itself
MODELS_KEPT = 64  # in a process
MAX_SITE_BYTES = 200  # of a name: it is that of a file, too
FLUSH_CHARS = 32_000_000
HEAD = struct.Struct(">I")
Task = dict[str, Any]


class Kept(NamedTuple):
    """A sampled page: its address and a digest that orders captures of one address; and where its
    dump is in a file.
    """

    url: str
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


def run(task: Task, say: Callable[[int], object] = lambda number: None) -> dict[str, Any]:
    """Do a task, and return what is to be told of it; done before, it is not done again. *say* is
    told the number of each page of the shard before it is read. Raises `ContentSpiderError`.
    """
    target = Target(task["target"])
    form = f"-{task['format']}" if task["kind"] == EXTRACT else ""
    name = f"{WORK}/{task['kind']}/{task['id']}{form}.json"
    if (found := target.noted(name)) is not None:
        return found
    found = {SAMPLE: sample_shard, LEARN: learn_bucket, EXTRACT: extract_shard}[task["kind"]](
        task, target, say
    )
    if not found.get("damage"):  # the next time it may be whole
        target.note(name, found)
    return found


class Pages:
    """The pages with text of a task's shard; None for one that killed its process before, or whose
    host is longer than any. *damage* says where the shard could not be read further.
    """

    def __init__(self, task: Task, say: Callable[[int], object]) -> None:
        self._task, self._say = task, say
        self.damage = ""

    def __iter__(self) -> Iterator[tuple[Stored, Page | None]]:
        """Yield each page; raises `ShardError` if there is none before the damage."""
        skipped, walker = set(self._task.get("skip", ())), new_walker()
        number = -1
        try:
            for number, stored in enumerate(read_shard(self._task["shard"])):
                host = stored.url.partition("://")[2].partition("/")[0]
                if number in skipped or len(host) > MAX_SITE_BYTES:
                    yield stored, None
                    continue
                self._say(number)
                if isinstance(stored.html, bytes) and is_binary(stored.html):
                    continue
                page = Page.from_html(stored.html, stored.url, stored.content_type, walker=walker)
                if page.content.blocks:
                    yield stored, page
        except ShardError as error:
            if number < 0:
                raise
            self.damage = f"{error}, after page {number + 1}"
        self._say(NOWHERE)  # what follows is for all pages


def sample_shard(task: Task, target: Target, say: Callable[[int], object]) -> dict[str, Any]:
    """Write the sample of each site in a shard, to as many files as there are buckets of sites."""
    sites = SiteKeys()
    samples: dict[str, Sample] = defaultdict(Sample)
    pages, read = 0, Pages(task, say)
    with (
        TemporaryDirectory(prefix="contentspider-archive-") as folder,
        (Path(folder) / "dumps").open("w+b") as dumps,
    ):
        for stored, page in read:
            if page is None:
                continue
            pages += 1
            sample, order = samples[sites.key(stored.url)], sample_order(stored.url)
            if sample.takes(order):
                dump, start = page.dump(), dumps.tell()
                dumps.write(dump)
                known = f"{stored.date}\n".encode("utf-8", "replace") + _bytes(stored)
                digest = blake2b(known, digest_size=8).hexdigest()
                sample.add(order, Kept(stored.url, digest, start, len(dump)))
        buckets: dict[int, list[str]] = defaultdict(list)
        for site in sorted(samples):
            buckets[zlib.crc32(site.encode()) % task["buckets"]].append(site)
        for bucket, sites_in_it in buckets.items():
            with (Path(folder) / "bucket").open("wb") as file:
                for site in sites_in_it:
                    for _, kept in sorted(samples[site].kept.items()):
                        dumps.seek(kept.start)
                        _write(file, site, kept, dumps.read(kept.size))
            target.put(Path(folder) / "bucket", f"{_place(task, bucket)}/{task['id']}")
    return {"pages": pages, "damage": read.damage}


def _place(task: Task, bucket: int) -> str:
    """Return the folder of the samples of a bucket."""
    return f"{WORK}/samples/{task['buckets']}/{bucket:05}"


def _bytes(stored: Stored) -> bytes:
    html = stored.html
    return html if isinstance(html, bytes) else html.encode("utf-8", "surrogatepass")


def _write(file: BinaryIO, site: str, kept: Kept, dump: bytes) -> None:
    record = [site, kept.url, kept.digest, len(dump)]
    head = json.dumps(record).encode()
    file.write(HEAD.pack(len(head)) + head + dump)


def _read(file: BinaryIO) -> Iterator[tuple[str, str, str, bytes]]:
    while head := file.read(HEAD.size):
        site, url, digest, size = json.loads(file.read(HEAD.unpack(head)[0]))
        yield site, url, digest, file.read(size)


def learn_bucket(task: Task, target: Target, say: Callable[[int], object]) -> dict[str, Any]:
    """Learn the sites of a bucket of which there is no model yet, from all shards' samples."""
    found: dict[str, dict[bytes, tuple[str, bytes]]] = defaultdict(dict)
    with TemporaryDirectory(prefix="contentspider-archive-") as folder:
        file = Path(folder) / "sample"
        for name in target.names(_place(task, task["bucket"])):
            target.get(name, file)
            with file.open("rb") as samples:
                for site, url, digest, dump in _read(samples):
                    order, pages = sample_order(url), found[site]
                    # Of several captures of an address one is taken, whichever shard has it.
                    if order not in pages or pages[order][0] < digest:
                        pages[order] = (digest, dump)
                    if len(pages) > 2 * MAX_SAMPLE:
                        found[site] = _smallest(pages)
    store = open_models(task["models"], task["state"])
    learned, left_out = 0, []
    for number, site in enumerate(sorted(found)):
        say(number)
        sample = _smallest(found.pop(site)).values()
        if number in task.get("skip", ()):
            left_out.append(f"learning {site}")
            continue
        if len(sample) < MIN_PAGES or store.load(site):
            continue
        store.save(SiteLearner(site).fit(Page.load(dump) for _, dump in sample))
        learned += 1
    say(NOWHERE)
    if isinstance(store, SharedModels):
        for error in store.send():
            raise error
    return {"learned": learned, "left_out": left_out}


def _smallest(pages: dict[bytes, tuple[str, bytes]]) -> dict[bytes, tuple[str, bytes]]:
    return {order: pages[order] for order in sorted(pages)[:MAX_SAMPLE]}


def extract_shard(task: Task, target: Target, say: Callable[[int], object]) -> dict[str, Any]:
    """Write the items of a shard's pages, a file a site; say which pages were left out."""
    sites, prior, load = SiteKeys(), Prior.shipped(), _models(task["models"], task["state"])
    parts: dict[str, list[bytes]] = defaultdict(list)
    chars = items = 0
    left_out, read = [], Pages(task, say)
    with TemporaryDirectory(prefix="contentspider-archive-") as folder:
        for stored, page in read:
            if page is None:
                left_out.append(stored.url)
                continue
            site = sites.key(stored.url)
            model = load(site)
            found = model.extract(page) if model else extract_page(page, site, prior)
            fields = page_fields(page, site, found, found.model_version)
            # When it was fetched, not now: a task that is done again leaves the same behind.
            fields["crawled_at"] = stored.date
            line = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            parts[site].append(line)
            items, chars = items + 1, chars + len(line)
            if chars >= FLUSH_CHARS:
                _flush(Path(folder), parts)
                chars = 0
        _flush(Path(folder), parts)
        for path in sorted(Path(folder).glob("*.jsonl")):
            written = path
            if task["format"] == "parquet":
                written = path.with_suffix(".parquet")
                with written.open("wb") as file:
                    WRITERS["parquet"](partial(_lines, path), file)
            target.put(written, f"site={path.stem}/{task['id']}{written.suffix}")
            path.unlink()
    return {"items": items, "left_out": left_out, "damage": read.damage}


def _flush(folder: Path, parts: dict[str, list[bytes]]) -> None:
    for site, lines in parts.items():
        with (folder / f"{site}.jsonl").open("ab") as file:
            file.writelines(lines)
    parts.clear()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        yield from map(json.loads, file)


@lru_cache(maxsize=4)
def _models(models: str, state: str) -> Callable[[str], SiteModel | None]:
    """Return what loads the models in a store: the last ones are kept in this process."""
    store = open_models(models, state)

    @lru_cache(maxsize=MODELS_KEPT)
    def load(site: str) -> SiteModel | None:
        return store.load(site)

    return load


def tasks_of(kind: str, job: Task, shards: list[str]) -> list[Task]:
    """Return the tasks of a step of a job."""
    names = sorted(map(shard_id, shards))
    if kind == LEARN:  # again if there are more shards
        known = blake2b("\n".join(names).encode(), digest_size=4).hexdigest()
        buckets = range(job["buckets"])
        return [{**job, "kind": kind, "id": f"{known}-{one:05}", "bucket": one} for one in buckets]
    more = f"-{job['buckets']}" if kind == SAMPLE else ""
    return [
        {**job, "kind": kind, "id": f"{shard_id(shard)}{more}", "shard": shard} for shard in shards
    ]
