"""The three steps of a job: sample a shard, learn a bucket of sites, extract the rest of a shard.

The steps do not depend on an engine. A task is a dict of JSON values, which any process can run
that has access to sources, models and target. A task that runs twice writes the same objects. A
site's sample has the pages whose addresses have the smallest hashes (`contentspider.site.sample`),
and the first pages of each template, so the site's model is the same however its pages are
distributed over shards.

Each page is extracted once: a sampled page when its site is learned, all others with their shard.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from dataclasses import asdict
from functools import lru_cache
from os import SEEK_END
from pathlib import Path
from posixpath import basename
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contentspider.archive.items import Items
from contentspider.archive.samples import (
    Sample,
    SampledPage,
    TemplateSample,
    choose_sample,
    get_pages,
    page_digest,
    read_page,
    with_templates,
    write_page,
)
from contentspider.archive.sources import ShardError, read_shard
from contentspider.archive.target import WORK, Target, shard_id
from contentspider.archive.tasks import EXTRACT, LEARN, NO_PAGE, SAMPLE
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.body import is_binary
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.templates import page_template
from contentspider.site.sample import sample_order
from contentspider.state.stores.shared_models import SharedModels, open_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from contentspider.archive.samples import SampleRow
    from contentspider.archive.sources import StoredPage
    from contentspider.archive.tasks import Task
    from contentspider.page.tree._walk import Walker
    from contentspider.site.models.model import SiteModel
    from contentspider.state.stores.models import ModelStore

MIN_PAGES = 2  # a site with fewer pages is not learned: the prior judges its page
MODELS_KEPT = 64  # models in the cache of a process
MAX_KEPT_BYTES = 100_000_000  # HTML of a site's parsed pages in memory
MAX_SITE_BYTES = 200  # a site's name is also a file name, which has a limited length
MAX_NAMED = 100  # addresses of unreadable records in a result; the others are only counted


def run(task: Task, report: Callable[[int], object] = lambda number: None) -> dict[str, Any]:
    """Run a task and return its result. A task that was completed before is not run again.

    *report* is called with the number of each page before the page is read. Raises
    `ContentSpiderError`.
    """
    target = Target(task["target"])
    form = "" if task["kind"] == SAMPLE else f"-{task['format']}"
    name = f"{WORK}/{task['kind']}/{task['id']}{form}.json"
    result = target.read_note(name)
    if result is not None:
        return result
    step = {SAMPLE: sample_shard, LEARN: learn_bucket, EXTRACT: extract_shard}[task["kind"]]
    result = step(task, target, report)
    if not result.get("damage"):  # a damaged shard may have been repaired by the next run
        target.write_note(name, result)
    return result


class ShardPages:
    """The readable pages of a task's shard with their numbers.

    After the iteration, *left_out* has the addresses of pages that killed the process before or
    whose host is too long. *unread* is the number of unreadable records, and *unread_names* has the
    addresses and reasons of the first 100. *damage* is the error that ended the shard early; "" if
    it was read to its end.
    """

    def __init__(self, task: Task, report: Callable[[int], object]) -> None:
        self._task, self._report = task, report
        self.left_out: list[str] = []
        self.unread = 0
        self.unread_names: list[str] = []
        self.damage = ""

    def __iter__(self) -> Iterator[tuple[int, StoredPage]]:
        """Yield each page with its number; raises `ShardError` if the first one is unreadable."""
        skipped, number = set(self._task.get("skip", ())), -1
        try:
            for number, stored in enumerate(read_shard(self._task["shard"])):
                host = stored.url.partition("://")[2].partition("/")[0]
                if number in skipped or len(host) > MAX_SITE_BYTES:
                    self.left_out.append(stored.url)
                    continue
                problem = stored.problem
                if isinstance(stored.html, bytes) and is_binary(stored.html):
                    problem = "the body is not HTML"
                if problem:
                    self._note_unread(stored, problem)
                    continue
                self._report(number)
                yield number, stored
        except ShardError as error:
            if number < 0:
                raise
            self.damage = f"{error}, after page {number + 1}"
        self._report(NO_PAGE)  # no single page causes an error from here on

    def _note_unread(self, stored: StoredPage, problem: str) -> None:
        """Count a record that cannot be read, and list its address and *problem*."""
        self.unread += 1
        if len(self.unread_names) < MAX_NAMED:
            name = stored.url or basename(self._task["shard"])
            self.unread_names.append(f"{name}: {problem}")


def _parse(stored: StoredPage, walker: Walker) -> Page:
    return Page.from_html(stored.html, stored.url, stored.content_type, walker=walker)


class SamplePages:
    """Reads and parses the sampled pages in a *file*, and keeps one site's pages in memory."""

    def __init__(self, file: BinaryIO, skipped: set[int], report: Callable[[int], object]) -> None:
        self._file, self._skipped, self._report = file, skipped, report
        self._walker = new_walker()
        self.forget()

    def forget(self) -> None:
        """Drop the pages in memory, before the next site."""
        self._kept: dict[SampleRow, Page] = {}
        self._free_bytes = MAX_KEPT_BYTES

    def get(self, row: SampleRow, number: int | None = None, keep: bool = False) -> Page | None:
        """Return the page of a row; None if it is empty, or killed the process before.

        *number* is reported before the page is read (None: the page's own number). With *keep* the
        parsed page stays in memory for the next call.
        """
        if row.number in self._skipped:
            return None
        self._report(row.number if number is None else number)
        page = self._kept.get(row)
        if page is None:
            stored = read_page(self._file, row.start)
            page = _parse(stored, self._walker)
            if keep:
                self._free_bytes -= len(stored.html)
                if self._free_bytes > 0:
                    self._kept[row] = page
        return page if page.content.blocks else None

    def template(self, row: SampleRow) -> bytes | None:
        """Return the template of a page; None where `get` returns None."""
        page = self.get(row, keep=True)
        return page_template(page) if page else None


class ShardSamples:
    """The samples of the sites in a shard. Their pages are written to a *file*."""

    def __init__(self, file: BinaryIO, shard: str, report: Callable[[int], object]) -> None:
        self._file, self._shard, self._report = file, shard, report
        self._walker = new_walker()
        self._first: dict[str, Sample] = defaultdict(Sample)
        self._of_templates: dict[str, TemplateSample] = defaultdict(self._template_sample)

    def _template_sample(self) -> TemplateSample:
        return TemplateSample(self._template, self._read)

    def offer(self, site: str, number: int, stored: StoredPage) -> None:
        """Add the page with a *number* to the samples of its site that it belongs to."""
        first, of_templates = self._first[site], self._of_templates[site]
        key = sample_order(stored.url), page_digest(stored)
        is_first, is_of_template = first.takes(key[0]), of_templates.takes(key, stored)
        self._report(number)  # earlier pages may have been read again
        if not (is_first or is_of_template):
            return
        self._file.seek(0, SEEK_END)
        place = write_page(self._file, site, self._shard, stored, key[1])
        page = SampledPage(number, key[1], *place)
        if is_first:
            first.add(key[0], page)
        if is_of_template:
            of_templates.pages[key] = page

    def chosen(self) -> Iterator[tuple[str, set[SampledPage]]]:
        """Yield each site with its sampled pages."""
        for site, first in self._first.items():
            yield site, {*first.pages.values(), *self._of_templates[site].pages.values()}

    def _template(self, stored: StoredPage) -> bytes | None:
        page = _parse(stored, self._walker)
        return page_template(page) if page.content.blocks else None

    def _read(self, page: SampledPage) -> StoredPage:
        self._report(page.number)
        return read_page(self._file, page.start)


def sample_shard(task: Task, target: Target, report: Callable[[int], object]) -> dict[str, Any]:
    """Write the sample of each site in a shard to one sample file per bucket of sites."""
    sites, shard = SiteKeys(), shard_id(task["shard"])
    pages, shard_pages = 0, ShardPages(task, report)
    with (
        TemporaryDirectory(prefix="contentspider-archive-") as folder,
        (Path(folder) / "pages").open("w+b") as file,
    ):
        samples = ShardSamples(file, shard, report)
        for number, stored in shard_pages:
            pages += 1
            samples.offer(sites.key(stored.url), number, stored)
        buckets: dict[int, list[SampledPage]] = defaultdict(list)
        for site, sampled in samples.chosen():
            buckets[zlib.crc32(site.encode()) % task["buckets"]] += sampled
        for bucket, bucket_pages in buckets.items():
            with (Path(folder) / "bucket").open("wb") as part:
                for page in bucket_pages:
                    file.seek(page.start)
                    part.write(file.read(page.size))
            target.put(Path(folder) / "bucket", f"{_bucket_folder(task, bucket)}/{shard}")
    numbers = sorted(page.number for _, sampled in samples.chosen() for page in sampled)
    is_all = len(numbers) == pages and not shard_pages.left_out
    note = {"held": numbers, "is_all": is_all, "damage": shard_pages.damage}
    target.write_note(_sampled_note(shard), note)
    return {
        "pages": pages,
        "damage": shard_pages.damage,
        "unread": shard_pages.unread,
        "unread_names": shard_pages.unread_names,
    }


def _bucket_folder(task: Task, bucket: int) -> str:
    """Return the folder of the sample files of a bucket."""
    return f"{WORK}/samples/{task['buckets']}/{bucket:05}"


def _sampled_note(shard: str) -> str:
    """Return the name of the note with the numbers of a shard's sampled pages."""
    return f"{WORK}/held/{shard}.json"


def _damage(shard: str, target: Target) -> str:
    """Return the error that ended a shard's sampling early; "" if it was sampled completely."""
    note = target.read_note(_sampled_note(shard)) or {"damage": f"{shard} was not sampled"}
    return str(note["damage"])


def learn_bucket(task: Task, target: Target, report: Callable[[int], object]) -> dict[str, Any]:
    """Learn each site of a bucket that lacks a model from the samples of all shards, and write the
    items of the sampled pages. Shards whose items an earlier run wrote are skipped.
    """
    bucket_folder, skipped = _bucket_folder(task, task["bucket"]), set(task.get("skip", ()))
    note_name = f"{bucket_folder.replace('samples', 'written', 1)}-{task['format']}.json"
    written_shards = set((target.read_note(note_name) or {"shards": ()})["shards"])
    names = target.names(bucket_folder)
    store = open_models(task["models"], task["state"])
    learned, left_out = 0, []
    with (
        TemporaryDirectory(prefix="contentspider-archive-") as folder,
        (Path(folder) / "pages").open("w+b") as file,
    ):
        items = Items(Path(folder))
        rows_of = get_pages(target, names, file, Path(folder) / "part")
        pages = SamplePages(file, skipped, report)
        # Sites are numbered after the pages.
        for number, site in enumerate(sorted(rows_of), sum(map(len, rows_of.values()))):
            rows, model = sorted(rows_of.pop(site)), store.load(site)
            pages.forget()
            if number in skipped:
                left_out.append(f"learning {site}")
            elif model is None and _learn(site, rows, pages, store, number, report):
                model, learned = store.load(site), learned + 1
            unwritten_rows = (row for row in rows if row.shard not in written_shards)
            for row in unwritten_rows:
                if page := pages.get(row):
                    items.add(row.shard, page, site, model, row.date)
                elif row.number in skipped:
                    left_out.append(row.url)
        report(NO_PAGE)
        _send(store)
        items.put(target, task["format"])
    damage = {shard: _damage(shard, target) for shard in map(basename, names)}
    complete_shards = [shard for shard, error in damage.items() if not error]
    target.write_note(note_name, {"shards": complete_shards})
    first_damage = next(filter(None, damage.values()), "")
    return {
        "learned": learned,
        "items": items.count,
        "lost": asdict(items.lost),
        "left_out": left_out,
        "damage": first_damage,
    }


def _send(store: ModelStore) -> None:
    """Send new models to a shared store; raises the first error."""
    if isinstance(store, SharedModels):
        for error in store.send():
            raise error


def _learn(
    site: str,
    rows: list[SampleRow],
    pages: SamplePages,
    store: ModelStore,
    number: int,
    report: Callable[[int], object],
) -> bool:
    """Learn a site from its rows and save the model, if it has enough pages with text, and the
    model is not refused; tell whether it was saved. *number* is reported in place of the numbers of
    its pages.
    """
    sample = [row for row in choose_sample(rows) if pages.get(row, keep=True)]
    if len(sample) < MIN_PAGES:
        return False
    sample = with_templates(sample, rows, pages.template)
    report(number)
    sample_pages = (pages.get(row, number) for row in sample)
    model = SiteLearner(site).fit(filter(None, sample_pages))
    if not model.is_refused:
        store.save(model)
    return not model.is_refused


def extract_shard(task: Task, target: Target, report: Callable[[int], object]) -> dict[str, Any]:
    """Write the items of a shard's pages that are in no sample.

    The result has the number of items, the addresses of pages that were left out, and the error
    that ended the shard early.
    """
    note = target.read_note(_sampled_note(shard_id(task["shard"])))
    if note is None:
        raise ShardError(f"{task['shard']} was not sampled")
    if note["is_all"]:
        return {"damage": note["damage"]}
    sites, load_model = SiteKeys(), _model_loader(task["models"], task["state"])
    walker, sampled_numbers = new_walker(), set(note["held"])
    shard_pages = ShardPages(task, report)
    with TemporaryDirectory(prefix="contentspider-archive-") as folder:
        items = Items(Path(folder))
        for number, stored in shard_pages:
            if number not in sampled_numbers:
                site, page = sites.key(stored.url), _parse(stored, walker)
                name = f"{shard_id(task['shard'])}-more"
                items.add(name, page, site, load_model(site), stored.date)
        items.put(target, task["format"])
    return {
        "items": items.count,
        "lost": asdict(items.lost),
        "left_out": shard_pages.left_out,
        "damage": shard_pages.damage,
    }


@lru_cache(maxsize=4)
def _model_loader(models: str, state: str) -> Callable[[str], SiteModel | None]:
    """Return a function that loads a site's model from a store, with a cache of recent models."""
    store = open_models(models, state)

    @lru_cache(maxsize=MODELS_KEPT)
    def load(site: str) -> SiteModel | None:
        return store.load(site)

    return load
