"""The steps of a job: sample a shard, learn a bucket of sites, extract the rest of a shard. If WARC
files have revisits, a step between the first two finds their pages, and samples them, too.

The steps do not depend on an engine. A task is a dict of JSON values, which any process can run
that has access to sources, models and target. A task that runs twice writes the same objects. A
site's sample has the pages whose addresses have the smallest hashes (`contentspider.site.sample`),
and the first pages of each template, so the site's model is the same however its pages are
distributed over shards.

Each page is extracted once: a sampled page when its site is learned, all others with their shard. A
site that has a model when its shard is sampled needs no sample.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from dataclasses import asdict
from os import SEEK_END
from pathlib import Path
from posixpath import basename
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contentspider.archive.items import Items
from contentspider.archive.revisits import find_pages, write_revisits
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
from contentspider.archive.stored import NOT_HTML, REVISIT
from contentspider.archive.target import WORK, Target, shard_id
from contentspider.archive.tasks import EXTRACT, FIND, LEARN, SAMPLE
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.body import may_be_html
from contentspider.page.tree.blocks import new_walker
from contentspider.site.learn.sampling import page_template
from contentspider.site.sample import sample_order
from contentspider.state.stores.knowledge import DEFAULTS, UNKNOWN, Knowledge, stored_knowledge
from contentspider.state.stores.models import ModelStore, SharedModels, open_models

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from contentspider.archive.samples import SampleRow
    from contentspider.archive.stored import StoredPage
    from contentspider.archive.tasks import Task
    from contentspider.ground.child_process import Report
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

MAX_KEPT_BYTES = 100_000_000  # HTML of a site's parsed pages in memory
MAX_SITE_BYTES = 200  # a site's name is also a file name, which has a limited length
NO_HTML = "the body is not HTML"
MAX_NAMED = 100  # addresses of unreadable records in a result; the others are only counted


def run_in_child(task: Task, _: bytes, report: Report) -> tuple[dict[str, Any], bytes]:
    """Run a task in a child process, see `run`."""
    return run(task, report), b""


def run(task: Task, report: Report = lambda number: None) -> dict[str, Any]:
    """Run a task and return its result. A task that was completed before is not run again.

    *report* is called with the number of each page before the page is read, and with None after
    the last one. Raises `ContentSpiderError`.
    """
    target = Target(task["target"])
    form = "" if task["kind"] == SAMPLE else f"-{task['format']}"
    name = f"{WORK}/{task['kind']}/{task['id']}{form}.json"
    result = target.read_note(name)
    if result is not None:
        return result
    result = STEPS[task["kind"]](task, target, report)
    if result.pop("is_final"):
        target.write_note(name, result)
    return result


class ShardPages:
    """The readable pages of a task's shard with their numbers.

    After the iteration, *left_out* has the addresses of pages that killed the process before or
    whose host is too long. *unread* has the numbers of unreadable records by kind, and
    *unread_names* the addresses and reasons of the first 100. *revisits* has the pages that are
    stored elsewhere. *damage* is the error that ended the shard early; "" if it was read to its
    end.
    """

    def __init__(self, task: Task, report: Report) -> None:
        self._task, self._report = task, report
        self.left_out: list[str] = []
        self.unread: Counter[str] = Counter()
        self.unread_names: list[str] = []
        self.revisits: list[StoredPage] = []
        self.damage = ""

    @property
    def is_final(self) -> bool:
        """Whether a later run reads the same: the shard may have been repaired by then, or the page
        of a revisit may be in a new shard.
        """
        return not self.damage and not self.unread[REVISIT]

    def __iter__(self) -> Iterator[tuple[int, StoredPage]]:
        """Yield each page with its number; raises `ShardError` if the first one is unreadable."""
        skipped, number = set(self._task.get("skip", ())), -1
        try:
            for number, stored in enumerate(read_shard(self._task["shard"])):
                host = stored.url.partition("://")[2].partition("/")[0]
                if number in skipped or len(host) > MAX_SITE_BYTES:
                    self.left_out.append(stored.url)
                    continue
                if stored.problem:
                    self._note_unread(stored)
                    continue
                if stored.kind == REVISIT:
                    self.revisits.append(stored)
                    continue
                if isinstance(stored.html, bytes) and not may_be_html(stored.html):
                    self._note_unread(stored._replace(problem=NO_HTML, kind=NOT_HTML))
                    continue
                self._report(number)
                yield number, stored
        except ShardError as error:
            if number < 0:
                raise
            self.damage = f"{error}, after page {number + 1}"
        self._report(None)  # no single page causes an error from here on

    def _note_unread(self, stored: StoredPage) -> None:
        """Count a record that cannot be read, and list its address and its problem."""
        self.unread[stored.kind] += 1
        if len(self.unread_names) < MAX_NAMED:
            name = stored.url or basename(self._task["shard"])
            self.unread_names.append(f"{name}: {stored.problem}")


class SamplePages:
    """Reads and parses the sampled pages in a *file*, and keeps one site's pages in memory."""

    def __init__(self, file: BinaryIO, skipped: set[int], report: Report) -> None:
        self._file, self._skipped, self._report = file, skipped, report
        self._walker = new_walker()
        self.begin(UNKNOWN)

    def begin(self, known: Knowledge) -> None:
        """Begin with the next site, with its model and overrides; drops the pages in memory."""
        self._known = known
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
            page = self._known.read(stored.html, stored.url, stored.content_type, self._walker)
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

    def __init__(self, file: BinaryIO, shard: str, report: Report) -> None:
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
        page = UNKNOWN.read(stored.html, stored.url, stored.content_type, self._walker)
        return page_template(page) if page.content.blocks else None

    def _read(self, page: SampledPage) -> StoredPage:
        self._report(page.number)
        return read_page(self._file, page.start)


class _Learned(dict[str, bool]):
    """Tells whether a site of a shard has a model, so that its pages need no sample.

    *earlier* are the sites that had one when the shard was sampled before (None: it was not). Then
    they stay the same, because the sampled pages of other sites may be items already.
    """

    def __init__(self, store: ModelStore, earlier: Iterable[str] | None) -> None:
        super().__init__(dict.fromkeys(earlier or (), True))
        self._store = store
        self._sites = set(store.sites()) if earlier is None else set()

    def __missing__(self, site: str) -> bool:
        # A model that cannot be used is learned again.
        is_learned = site in self._sites and self._store.load(site) is not None
        self[site] = is_learned
        return is_learned


def sample_shard(task: Task, target: Target, report: Report) -> dict[str, Any]:
    """Write the sample of each site without a model in a shard to one sample file per bucket."""
    sites, shard = SiteKeys(), shard_id(task["shard"])
    pages, shard_pages = 0, ShardPages(task, report)
    earlier = target.read_note(_sampled_note(shard))
    learned = _Learned(
        open_models(task["models"], task["state"]), None if earlier is None else earlier["learned"]
    )
    with (
        TemporaryDirectory(prefix="contentspider-archive-") as folder,
        (Path(folder) / "pages").open("w+b") as file,
    ):
        samples = ShardSamples(file, shard, report)
        for number, stored in shard_pages:
            pages += 1
            site = sites.key(stored.url)
            if not learned[site]:
                samples.offer(site, number, stored)
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
    end = {"damage": shard_pages.damage, "is_final": shard_pages.is_final}
    note = {"held": numbers, "is_all": is_all, "learned": sorted(filter(learned.get, learned))}
    target.write_note(_sampled_note(shard), note | end)
    revisits = shard_pages.revisits
    folders = [write_revisits(target, task["shard"], revisits)] if revisits else []
    return {
        **end,
        "pages": pages,
        "revisits": folders,
        "unread": shard_pages.unread,
        "unread_names": shard_pages.unread_names,
    }


def _bucket_folder(task: Task, bucket: int) -> str:
    """Return the folder of the sample files of a bucket."""
    return f"{WORK}/samples/{task['buckets']}/{bucket:05}"


def _sampled_note(shard: str) -> str:
    """Return the name of the note with the numbers of a shard's sampled pages."""
    return f"{WORK}/held/{shard}.json"


def _is_final(shard: str, target: Target) -> bool:
    """Tell whether a later run would sample the same pages of a shard."""
    note = target.read_note(_sampled_note(shard))
    return note is not None and bool(note["is_final"])


def find_revisited(task: Task, target: Target, report: Report) -> dict[str, Any]:
    """Write the pages of a shard that revisits of all shards stand for. What cannot be read was
    reported when the shard was sampled.
    """
    shard_pages = ShardPages(task, report)
    find_pages(target, task["shard"], (stored for _, stored in shard_pages))
    return {"is_final": shard_pages.is_final}


def learn_bucket(task: Task, target: Target, report: Report) -> dict[str, Any]:
    """Learn each site of a bucket that lacks a model from the samples of all shards, and write the
    items of the sampled pages. Shards whose items an earlier run wrote are skipped.
    """
    bucket_folder, skipped = _bucket_folder(task, task["bucket"]), set(task.get("skip", ()))
    note_name = f"{bucket_folder.replace('samples', 'written', 1)}-{task['format']}.json"
    written_shards = set((target.read_note(note_name) or {"shards": ()})["shards"])
    names = target.names(bucket_folder)
    store = open_models(task["models"], task["state"])
    learned, left_out, refused = 0, [], []
    with (
        TemporaryDirectory(prefix="contentspider-archive-") as folder,
        (Path(folder) / "pages").open("w+b") as file,
    ):
        items = Items(Path(folder))
        rows_of = get_pages(target, names, file, Path(folder) / "part")
        pages = SamplePages(file, skipped, report)
        # Sites are numbered after the pages.
        for number, site in enumerate(sorted(rows_of), sum(map(len, rows_of.values()))):
            rows = sorted(rows_of.pop(site))
            known = Knowledge(store.load(site), store.overrides(site))
            pages.begin(known)
            if number in skipped:
                left_out.append(f"learning {site}")
            elif known.model is None:
                model = _learn(site, rows, pages, number, report)
                if model is not None and model.is_refused:
                    refused.append(site)
                elif model is not None:
                    store.save(model)
                    known, learned = known._replace(model=store.load(site)), learned + 1
            unwritten_rows = (row for row in rows if row.shard not in written_shards)
            for row in unwritten_rows:
                if page := pages.get(row):
                    items.add(row.shard, page, site, known, row.date)
                elif row.number in skipped:
                    left_out.append(row.url)
        report(None)
        _send(store)
        items.put(target, task["format"])
    final_shards = [shard for shard in map(basename, names) if _is_final(shard, target)]
    target.write_note(note_name, {"shards": final_shards})
    return {
        "learned": learned,
        "refused": refused,
        "items": items.count,
        "lost": asdict(items.lost),
        "left_out": left_out,
        "is_final": len(final_shards) == len(names),
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
    number: int,
    report: Report,
) -> SiteModel | None:
    """Return the model of a site, learned from its rows; None if it has too few pages with text.
    *number* is reported in place of the numbers of its pages.
    """
    sample = [row for row in choose_sample(rows) if pages.get(row, keep=True)]
    if len(sample) < DEFAULTS.min_pages:
        return None
    # Imported here: a job whose sites are learned does without scikit-learn and half of SciPy.
    from contentspider.site.learn.learner import SiteLearner

    sample = with_templates(sample, rows, pages.template)
    report(number)
    sample_pages = (pages.get(row, number) for row in sample)
    return SiteLearner(site).fit(filter(None, sample_pages))


def extract_shard(task: Task, target: Target, report: Report) -> dict[str, Any]:
    """Write the items of a shard's pages that are in no sample.

    The result has the number of items, the addresses of pages that were left out, and the error
    that ended the shard early.
    """
    note = target.read_note(_sampled_note(shard_id(task["shard"])))
    if note is None:
        raise ShardError(f"{task['shard']} was not sampled")
    if note["is_all"]:
        return {"damage": note["damage"], "is_final": note["is_final"]}
    sites, walker = SiteKeys(), new_walker()
    knowledge_of = stored_knowledge(task["models"], task["state"], ModelStore.load)
    sampled_numbers, learned = set(note["held"]), set(note["learned"])
    shard_pages = ShardPages(task, report)
    with TemporaryDirectory(prefix="contentspider-archive-") as folder:
        items = Items(Path(folder))
        for number, stored in shard_pages:
            if number not in sampled_numbers:
                site = sites.key(stored.url)
                known = knowledge_of(site)
                if known.model is None and site in learned:
                    raise ContentSpiderError(
                        f"{task['shard']}: the model of {site} was there when the job began, and"
                        f" is missing or damaged now: put it back, or delete {target.url}/{WORK} to"
                        " begin the job again"
                    )
                page = known.read(stored.html, stored.url, stored.content_type, walker)
                items.add(f"{shard_id(task['shard'])}-more", page, site, known, stored.date)
        items.put(target, task["format"])
    return {
        "items": items.count,
        "lost": asdict(items.lost),
        "left_out": shard_pages.left_out,
        "damage": shard_pages.damage,
        "is_final": shard_pages.is_final,
    }


STEPS = {SAMPLE: sample_shard, FIND: find_revisited, LEARN: learn_bucket, EXTRACT: extract_shard}
