"""The three functions: sample a shard, learn a bucket of sites, extract the rest of a shard.

They know no engine: a task is a dict of JSON values, which any process on any machine can do that
sees sources, models and target; done twice it leaves the same objects behind. The samples are the
pages with the smallest hashes of their addresses (`contentspider.site.sample`), so that a site's
model is the same however its pages are split over shards.

Each page is parsed once: what a shard gives to samples is extracted where its site is learned.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from posixpath import basename
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contentspider.archive.items import Items
from contentspider.archive.samples import (
    Kept,
    Sample,
    get_pages,
    read_page,
    sampled,
    write_page,
)
from contentspider.archive.sources import ShardError, read_shard
from contentspider.archive.target import WORK, Target, shard_id
from contentspider.archive.tasks import EXTRACT, LEARN, NOWHERE, SAMPLE
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.body import is_binary
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.sample import sample_order
from contentspider.state.stores.shared_models import SharedModels, open_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from contentspider.archive.samples import Row
    from contentspider.archive.sources import Stored
    from contentspider.archive.tasks import Task
    from contentspider.page.tree._walk import Walker
    from contentspider.site.models.model import SiteModel

MIN_PAGES = 2  # of a site that is learned; a single page is judged by itself
MODELS_KEPT = 64  # in a process
MAX_KEPT_BYTES = 100_000_000  # of HTML, of the parsed pages of a site
MAX_SITE_BYTES = 200  # of a name: it is that of a file, too
MAX_NAMED = 100  # records that cannot be read: the others are only counted


def run(task: Task, say: Callable[[int], object] = lambda number: None) -> dict[str, Any]:
    """Do a task, and return what is to be told of it; done before, it is not done again. *say* is
    told the number of each page before it is read. Raises `ContentSpiderError`.
    """
    target = Target(task["target"])
    form = "" if task["kind"] == SAMPLE else f"-{task['format']}"
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
    """The pages of a task's shard, and their numbers. Those that killed their process before, or
    have a host longer than any, are *left_out*. *unread* counts the records that cannot be read;
    *unread_names* names the first 100, and says why. *damage* says where the shard could not be
    read further.
    """

    def __init__(self, task: Task, say: Callable[[int], object]) -> None:
        self._task, self._say = task, say
        self.left_out: list[str] = []
        self.unread = 0
        self.unread_names: list[str] = []
        self.damage = ""

    def __iter__(self) -> Iterator[tuple[int, Stored]]:
        """Yield each page; raises `ShardError` if there is none before the damage."""
        skipped, number = set(self._task.get("skip", ())), -1
        try:
            for number, stored in enumerate(read_shard(self._task["shard"])):
                host = stored.url.partition("://")[2].partition("/")[0]
                if number in skipped or len(host) > MAX_SITE_BYTES:
                    self.left_out.append(stored.url)
                    continue
                problem = stored.problem
                if isinstance(stored.html, bytes) and is_binary(stored.html):
                    problem = "it is no HTML"
                if problem:
                    self._note_unread(stored, problem)
                    continue
                self._say(number)
                yield number, stored
        except ShardError as error:
            if number < 0:
                raise
            self.damage = f"{error}, after page {number + 1}"
        self._say(NOWHERE)  # what follows is for all pages

    def _note_unread(self, stored: Stored, problem: str) -> None:
        self.unread += 1
        if len(self.unread_names) < MAX_NAMED:
            name = stored.url or basename(self._task["shard"])
            self.unread_names.append(f"{name}: {problem}")


def _parse(stored: Stored, walker: Walker) -> Page:
    return Page.from_html(stored.html, stored.url, stored.content_type, walker=walker)


class HeldPages:
    """Parses the pages of samples in a *file*, those of a site once."""

    def __init__(self, file: BinaryIO, skipped: set[int], say: Callable[[int], object]) -> None:
        self._file, self._skipped, self._say = file, skipped, say
        self._walker = new_walker()
        self.forget()

    def forget(self) -> None:
        """Forget the pages of a site."""
        self._kept: dict[Row, Page] = {}
        self._room = MAX_KEPT_BYTES

    def get(self, row: Row, number: int | None = None, keep: bool = False) -> Page | None:
        """Return the page at a row of the samples. Return None if it has no text, or if reading it
        killed a process before. *number* tells the supervisor what is read (None: the page's own
        number). With *keep* the parsed page stays in memory for the next call.
        """
        if row.number in self._skipped:
            return None
        self._say(row.number if number is None else number)
        if (page := self._kept.get(row)) is None:
            stored = read_page(self._file, row.start)
            page = _parse(stored, self._walker)
            self._room -= len(stored.html) * keep
            if keep and self._room > 0:
                self._kept[row] = page
        return page if page.content.blocks else None


def sample_shard(task: Task, target: Target, say: Callable[[int], object]) -> dict[str, Any]:
    """Write the sample of each site in a shard, to as many files as there are buckets of sites."""
    sites, shard = SiteKeys(), shard_id(task["shard"])
    samples: dict[str, Sample] = defaultdict(Sample)
    pages, read = 0, Pages(task, say)
    with (
        TemporaryDirectory(prefix="contentspider-archive-") as folder,
        (Path(folder) / "pages").open("w+b") as file,
    ):
        for number, stored in read:
            pages += 1
            site, order = sites.key(stored.url), sample_order(stored.url)
            if samples[site].takes(order):
                samples[site].add(order, Kept(number, *write_page(file, site, shard, stored)))
        buckets: dict[int, list[Kept]] = defaultdict(list)
        for site, sample in samples.items():
            buckets[zlib.crc32(site.encode()) % task["buckets"]] += sample.kept.values()
        for bucket, kept_in_it in buckets.items():
            with (Path(folder) / "bucket").open("wb") as part:
                for kept in kept_in_it:
                    file.seek(kept.start)
                    part.write(file.read(kept.size))
            target.put(Path(folder) / "bucket", f"{_samples(task, bucket)}/{shard}")
    held = sorted(kept.number for sample in samples.values() for kept in sample.kept.values())
    is_all = len(held) == pages and not read.left_out
    target.note(_held(shard), {"held": held, "is_all": is_all, "damage": read.damage})
    unread = {"unread": read.unread, "unread_names": read.unread_names}
    return {"pages": pages, "damage": read.damage, **unread}


def _samples(task: Task, bucket: int) -> str:
    """Return the folder of the samples of a bucket."""
    return f"{WORK}/samples/{task['buckets']}/{bucket:05}"


def _held(shard: str) -> str:
    """Return the name of the note of which pages of a shard are of samples."""
    return f"{WORK}/held/{shard}.json"


def _damage(shard: str, target: Target) -> str:
    """Return why not all of a shard's pages are there that are of samples; "" if they are."""
    noted = target.noted(_held(shard)) or {"damage": f"{shard} was not sampled"}
    return str(noted["damage"])


def learn_bucket(task: Task, target: Target, say: Callable[[int], object]) -> dict[str, Any]:
    """Learn each site of a bucket that has no model yet, from the samples of all shards. Then write
    the items of the sampled pages; shards whose items were written by an earlier run are skipped.
    """
    place, skipped = _samples(task, task["bucket"]), set(task.get("skip", ()))
    note = f"{place.replace('samples', 'written', 1)}-{task['format']}.json"
    written = set((target.noted(note) or {"shards": ()})["shards"])
    names = target.names(place)
    store, learned, left_out = open_models(task["models"], task["state"]), 0, []
    with (
        TemporaryDirectory(prefix="contentspider-archive-") as folder,
        (Path(folder) / "pages").open("w+b") as file,
    ):
        items, rows = Items(Path(folder)), get_pages(target, names, file, Path(folder) / "part")
        pages = HeldPages(file, skipped, say)
        for number, site in enumerate(sorted(rows), sum(map(len, rows.values()))):
            of_site, model = sorted(rows.pop(site)), store.load(site)
            pages.forget()
            if number in skipped:
                left_out.append(f"learning {site}")
            elif model is None:
                sample = [row for row in sampled(of_site) if pages.get(row, keep=True)]
                if len(sample) >= MIN_PAGES:
                    say(number)
                    of_sample = (pages.get(row, number) for row in sample)
                    store.save(SiteLearner(site).fit(filter(None, of_sample)))
                    model, learned = store.load(site), learned + 1
            for row in of_site:
                if row.shard in written:
                    continue
                if page := pages.get(row):
                    items.add(row.shard, page, site, model, row.date)
                elif row.number in skipped:
                    left_out.append(row.url)
        say(NOWHERE)
        if isinstance(store, SharedModels):
            for error in store.send():
                raise error
        items.put(target, task["format"])
    damage = {shard: _damage(shard, target) for shard in map(basename, names)}
    target.note(note, {"shards": [shard for shard, said in damage.items() if not said]})
    said = next(filter(None, damage.values()), "")
    return {"learned": learned, "items": items.count, "left_out": left_out, "damage": said}


def extract_shard(task: Task, target: Target, say: Callable[[int], object]) -> dict[str, Any]:
    """Write the items of a shard's pages that are of no sample; say which pages were left out."""
    shard = shard_id(task["shard"])
    noted = target.noted(_held(shard))
    if noted is None:
        raise ShardError(f"{task['shard']} was not sampled")
    if noted["is_all"]:
        return {"damage": noted["damage"]}
    sites, load, walker = SiteKeys(), _models(task["models"], task["state"]), new_walker()
    held, read = set(noted["held"]), Pages(task, say)
    with TemporaryDirectory(prefix="contentspider-archive-") as folder:
        items = Items(Path(folder))
        for number, stored in read:
            if number not in held:
                site, page = sites.key(stored.url), _parse(stored, walker)
                items.add(f"{shard}-more", page, site, load(site), stored.date)
        items.put(target, task["format"])
    return {"items": items.count, "left_out": read.left_out, "damage": read.damage}


@lru_cache(maxsize=4)
def _models(models: str, state: str) -> Callable[[str], SiteModel | None]:
    """Return what loads the models in a store: the last ones are kept in this process."""
    store = open_models(models, state)

    @lru_cache(maxsize=MODELS_KEPT)
    def load(site: str) -> SiteModel | None:
        return store.load(site)

    return load
