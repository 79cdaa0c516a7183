"""Stored pages in, items out: the same whatever the split, the engine, and what is killed."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
import zlib
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from contentspider.archive import engines, samples, sources, steps
from contentspider.archive.samples import (
    Sample,
    SampledPage,
    SampleRow,
    TemplateSample,
    choose_sample,
    page_digest,
    with_templates,
)
from contentspider.archive.sources import ShardError, find_shards, read_shard
from contentspider.archive.stored import BROKEN, StoredPage
from contentspider.archive.target import Target
from contentspider.archive.tasks import EXTRACT, LEARN, SAMPLE, job_of, steps_of, tasks_of
from contentspider.ground.children import Limits
from contentspider.ground.errors import ContentSpiderError
from contentspider.site.learn.sampling import MAX_SAMPLE
from contentspider.site.sample import sample_order
from contentspider.state.outcome import Outcome
from contentspider.state.stores.knowledge import stored_knowledge
from tests.conftest import run
from tests.seaweed import BUCKET, s3_server
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

DATE = "2024-05-01T00:00:00Z"
SITES = ("a.example", "b.example")


def html(site: str, number: int) -> str:
    return (
        f"<title>{site} {number}</title><nav><a href=/>Home</a> <a href=/b>{site}</a></nav>"
        f"<div class=text><h1>{site} {number}</h1><p>{prose(site, number)}</p>"
        f"<p>{prose(site, number, 2)}</p></div><footer>© 2024 {site}</footer>"
    )


def stored(count: int = 12) -> list[StoredPage]:
    pages = [
        StoredPage(f"https://{site}/{number}", html(site, number).encode(), "text/html", DATE)
        for site in SITES
        for number in range(count)
    ]
    pages.append(
        StoredPage("https://single.example/", html("single", 1).encode(), "text/html", DATE)
    )
    random.Random(1).shuffle(pages)
    return pages


def write_warc(path: Path, pages: Iterable[StoredPage], status: str = "200 OK") -> None:
    with path.open("wb") as file:
        for page in pages:
            body = f"HTTP/1.1 {status}\r\nContent-Type: {page.content_type}\r\n\r\n".encode()
            body += page.html  # type: ignore[operator]
            head = (
                "WARC/1.1\r\nWARC-Type: response\r\n"
                f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\nWARC-Date: {page.date}\r\n"
                f"WARC-Target-URI: {page.url}\r\n"
                "Content-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            file.write(gzip.compress(head.encode() + body + b"\r\n\r\n"))


def write_shards(folder: Path, count: int, pages: list[StoredPage] | None = None) -> str:
    folder.mkdir(parents=True)
    for number in range(count):
        write_warc(folder / f"{number}.warc.gz", (pages or stored())[number::count])
    return f"{folder}/*.warc.gz"


def items(folder: Path) -> list[str]:
    """Return the lines of all items, in an order of their own."""
    return sorted(
        line for path in folder.glob("site=*/*.jsonl") for line in path.read_text().splitlines()
    )


def archive(source: str, out: Path, *more: str, **options: Any) -> subprocess.CompletedProcess[str]:
    models = ("--models", f"{out}-models", "--state-dir", f"{out}-state")
    return run("archive", source, "-o", str(out), *models, *more, cwd=out.parent, **options)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the items of the pages in one shard."""
    folder = tmp_path_factory.mktemp("expected")
    archive(write_shards(folder / "one", 1), folder / "of-one", "--processes", "1")
    return items(folder / "of-one")


def test_archive_items_do_not_depend_on_sharding(tmp_path: Path, expected: list[str]) -> None:
    assert len(expected) == 25
    found = [json.loads(line) for line in expected]
    assert {item["crawled_at"] for item in found} == {DATE}
    by_site = {item["site"]: item["content"] for item in found}
    assert by_site.keys() == {*SITES, "single.example"}
    assert "Home" not in "".join(by_site.values())
    said = archive(write_shards(tmp_path / "five", 5), tmp_path / "of-five").stderr
    assert "25 items of 25 pages, 2 sites learned" in said
    assert items(tmp_path / "of-five") == expected
    rows = [
        {"url": page.url, "html": page.html.decode(), "date": page.date}  # type: ignore[union-attr]
        for page in stored()
    ]
    with gzip.open(tmp_path / "pages.jsonl.gz", "wt") as file:
        file.write("\n".join(map(json.dumps, rows)) + "\n\n")
    archive(f"{tmp_path}/pages.jsonl.gz", tmp_path / "of-lines")
    assert items(tmp_path / "of-lines") == expected


def test_archive_reads_and_writes_parquet(tmp_path: Path, expected: list[str]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [{"url": page.url, "html": page.html, "date": page.date} for page in stored()]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "pages.parquet")
    out = tmp_path / "out"
    archive(f"{tmp_path}/pages.parquet", out, "--format", "parquet")
    found = [
        row
        for path in out.glob("site=*/*.parquet")
        for row in parquet.ParquetFile(path).read().to_pylist()
    ]
    contents = {json.loads(line)["url"]: json.loads(line)["content"] for line in expected}
    assert {row["url"]: row["content"] for row in found} == contents


def test_pages_beyond_samples_are_extracted_exactly_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The items of samples and those of the rest are all items, once, however the pages lie; one
    address was captured twice.
    """
    monkeypatch.setattr("contentspider.archive.samples.MAX_SAMPLE", 3)
    pages = stored()
    pages.append(pages[0]._replace(date="2025-01-01T00:00:00Z"))
    found = []
    for count in (1, 4):
        shards = find_shards([write_shards(tmp_path / f"{count}", count, pages)])
        job = job_of(shards, f"{tmp_path}/of-{count}", f"{tmp_path}/models-{count}", str(tmp_path))
        counts: Counter[str] = Counter()
        for step, _, result in steps_of(shards, job, lambda tasks: map(steps.run, tasks)):
            counts[step] += result.get("items", 0)
        assert counts[LEARN] >= 7 and counts[EXTRACT] >= 3
        found.append(items(tmp_path / f"of-{count}"))
    assert found[0] == found[1]
    assert len(found[0]) == len(pages)


def run_steps(
    job: dict[str, Any], shards: list[str], names: Iterable[str] = (SAMPLE, LEARN, EXTRACT)
) -> list[str]:
    """Run the steps *names* of a job in this process, and return all its items."""
    for step in names:
        for task in tasks_of(step, job, shards):
            steps.run(task)
    return items(Path(job["target"]))


def test_sites_with_models_are_extracted_without_samples(
    tmp_path: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = find_shards([write_shards(tmp_path / "shards", 2)])
    first = job_of(shards, f"{tmp_path}/first", f"{tmp_path}/models", str(tmp_path))
    assert run_steps(first, shards) == expected
    sampled: list[str] = []

    def write_page(file: BinaryIO, site: str, *page: Any) -> tuple[int, int]:
        sampled.append(site)
        return samples.write_page(file, site, *page)

    monkeypatch.setattr(steps, "write_page", write_page)
    again = job_of(shards, f"{tmp_path}/again", f"{tmp_path}/models", str(tmp_path))
    assert run_steps(again, shards) == expected
    assert sampled == ["single.example"]


def test_sites_learned_meanwhile_give_each_item_once(tmp_path: Path, expected: list[str]) -> None:
    """The job is interrupted when its sites are learned, and begins again with other buckets."""
    shards = find_shards([write_shards(tmp_path / "shards", 2)])
    job = job_of(shards, f"{tmp_path}/out", f"{tmp_path}/models", str(tmp_path))
    assert len(run_steps(job, shards, [SAMPLE, LEARN])) == len(expected)
    assert run_steps({**job, "buckets": 17}, shards) == expected


def test_model_that_is_lost_during_a_job_is_an_error(tmp_path: Path) -> None:
    shards = find_shards([write_shards(tmp_path / "shards", 1)])
    first = job_of(shards, f"{tmp_path}/first", f"{tmp_path}/models", str(tmp_path))
    run_steps(first, shards)
    again = job_of(shards, f"{tmp_path}/again", f"{tmp_path}/models", str(tmp_path))
    run_steps(again, shards, [SAMPLE, LEARN])
    shutil.rmtree(tmp_path / "models" / "a.example")
    stored_knowledge.cache_clear()
    with pytest.raises(ContentSpiderError, match=r"a\.example"):
        run_steps(again, shards, [EXTRACT])


def test_overrides_beside_models_are_obeyed(tmp_path: Path, expected: list[str]) -> None:
    shards = find_shards([write_shards(tmp_path / "shards", 1)])
    folder = tmp_path / "models" / "a.example"
    folder.mkdir(parents=True)
    (folder / "overrides.toml").write_text('drop = ["div.text > h1"]\n')
    for out in ("learned", "known"):
        job = job_of(shards, f"{tmp_path}/{out}", f"{tmp_path}/models", str(tmp_path))
        for line in run_steps(job, shards):
            item = json.loads(line)
            is_whole = item["content"].startswith(item["title"])
            assert is_whole is (item["site"] != "a.example"), out


@pytest.mark.thorough
def test_dask_engine_gives_same_items(tmp_path: Path, expected: list[str]) -> None:
    distributed = pytest.importorskip("distributed")
    source = write_shards(tmp_path / "shards", 3)
    given = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**given, local_directory=str(tmp_path / "dask")) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        archive(source, tmp_path / "out", "--engine", address)
    assert items(tmp_path / "out") == expected


def test_repeated_archive_job_processes_only_missing_work(
    tmp_path: Path, expected: list[str]
) -> None:
    pages, out = stored(), tmp_path / "out"
    source = write_shards(tmp_path / "shards", 2, pages[:20])
    archive(source, out)
    [first] = out.glob("site=a.example/0-*.jsonl")
    written = first.stat().st_mtime_ns
    (out / "site=a.example" / "x.jsonl.partial").write_text("half")
    write_warc(tmp_path / "shards" / "more.warc.gz", pages[20:])
    archive(source, out)
    assert first.stat().st_mtime_ns == written
    assert not list(out.glob("**/*.partial"))
    urls = {json.loads(line)["url"] for line in items(out)}
    assert urls == {json.loads(line)["url"] for line in expected}
    assert len(items(out)) == len(expected)


@pytest.mark.thorough
@pytest.mark.parametrize("kill", [0.2, 0.5, 0.8])
def test_killed_archive_job_resumes(tmp_path: Path, expected: list[str], kill: float) -> None:
    """All its processes are killed in the midst of sampling, of learning, or of extracting."""
    source, out = write_shards(tmp_path / "shards", 4), tmp_path / "out"
    models = ("--models", f"{out}-models", "--state-dir", f"{out}-state")
    command = [sys.executable, "-m", "contentspider", "archive", source, "-o", str(out), *models]
    step = ("sample", "learn", "extract")[int(kill * 3)]
    with subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not list(out.glob(f"_work/{step}/*.json")):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    archive(source, out)
    assert items(out) == expected


KILLER = """
import os, signal
from contentspider.page.input.page import Page
read = Page.from_html.__func__
def from_html(cls, html, url="", *given, **more):
    here = os.environ["KILLED_AT"]
    if url.endswith("/kills") or (url.endswith("/once") and not os.path.exists(here)):
        open(here, "a").close()
        os.kill(os.getpid(), signal.SIGKILL)
    if url.endswith("/hangs"):
        signal.pause()
    return read(cls, html, url, *given, **more)
Page.from_html = classmethod(from_html)
"""


@pytest.fixture
def killing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pages at /kills kill the process that reads them, one at /once the first time."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(KILLER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"), prepend=os.pathsep)
    monkeypatch.setenv("KILLED_AT", str(tmp_path / "killed"))


@pytest.mark.usefixtures("killing")
def test_page_that_kills_its_process_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = stored()
    for name in ("kills", "once"):
        pages.insert(3, pages[0]._replace(url=f"https://a.example/{name}"))
    shards = write_shards(tmp_path / "shards", 2, pages)
    with TemporaryDirectory() as temporary:  # its path is short, as a socket's must be
        monkeypatch.setenv("TMPDIR", temporary)
        done = archive(shards, tmp_path / "out", check=False)
        assert not list(Path(temporary).iterdir())
    assert done.returncode == Outcome.INCOMPLETE
    assert (
        "left out, since it kills its process or has no host: https://a.example/kills"
        in done.stderr
    )
    urls = {json.loads(line)["url"] for line in items(tmp_path / "out")}
    assert urls == {page.url for page in pages} - {"https://a.example/kills"}


@pytest.mark.thorough
@pytest.mark.usefixtures("killing")
def test_page_that_hangs_its_process_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Learning must not take as long, also where the machine is busy.
    monkeypatch.setattr(engines, "PAGE_LIMITS", Limits(step_secs=15.0))
    pages = [*stored(2), StoredPage("https://a.example/hangs", b"<p>x", "text/html")]
    write_shards(tmp_path / "shards", 1, pages)
    job = {"target": str(tmp_path / "out"), "models": str(tmp_path / "models"), "state": ""}
    job |= {"format": "jsonl", "buckets": 1}
    shards = [f"{tmp_path}/shards/0.warc.gz"]
    engines.do(*tasks_of(SAMPLE, job, shards))
    found = engines.do(*tasks_of(LEARN, job, shards))
    assert found["left_out"] == ["https://a.example/hangs"]
    assert found["items"] == len(pages) - 1


def test_unreadable_shards_are_reported_and_others_processed(tmp_path: Path) -> None:
    source, out = write_shards(tmp_path / "shards", 2), tmp_path / "out"
    whole = (tmp_path / "shards" / "0.warc.gz").read_bytes()
    (tmp_path / "shards" / "0.warc.gz").write_bytes(whole[:-2_000] + b"x" * 2_000)
    (tmp_path / "shards" / "2.warc.gz").write_bytes(b"no archive at all\n")
    done = archive(source, out, check=False)
    assert done.returncode == 1
    assert "0.warc.gz cannot be read: OSError" in done.stderr
    assert ", after page " in done.stderr
    assert "2.warc.gz cannot be read: OSError" in done.stderr
    assert 12 < len(items(out)) < 25


def test_repaired_shard_is_read_again(tmp_path: Path) -> None:
    rows = [{"url": f"https://a.example/{n}", "html": html("a", n)} for n in range(12)]
    whole = gzip.compress("\n".join(map(json.dumps, rows)).encode())
    shard, out = tmp_path / "a.jsonl.gz", tmp_path / "out"
    shard.write_bytes(whole[: len(whole) * 2 // 3])
    done = archive(str(shard), out, check=False)
    assert done.returncode == 1 and "EOFError" in done.stderr
    assert len(items(out)) < 12
    shard.write_bytes(whole)
    archive(str(shard), out)
    assert len(items(out)) == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none/*.warc.gz"], "none/*.warc.gz: "),
        (["page.txt"], "page.txt: "),
        (["x://e.org/*.warc.gz"], "x://e.org"),
        (["a.jsonl", "--engine", "spark"], "use local, or dask"),
        pytest.param(
            *(["a.jsonl", "--engine", "dask://127.0.0.1:1"], "dask://127.0.0.1:1: "),
            marks=pytest.mark.thorough,  # Dask tries for ten seconds
        ),
    ],
)
def test_archive_mistakes_print_error_message(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "page.txt").write_text("x")
    (tmp_path / "a.jsonl").write_text('{"url": "https://e.org/", "html": "<p>x"}\n')
    done = run("archive", *arguments, "-o", "out", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert said in done.stderr


def test_shard_yields_its_html_pages(tmp_path: Path) -> None:
    pages = [
        StoredPage("https://e.org/a b", b"<p>one", "text/html; charset=utf-8", DATE),
        StoredPage("https://e.org/c", b"%PDF-1.4", "application/pdf", DATE),
        StoredPage("https://e.org/d", b"<p>two", "application/xhtml+xml", DATE),
    ]
    write_warc(tmp_path / "a.warc.gz", pages)
    write_warc(tmp_path / "b.warc.gz", pages, "404 Not Found")
    found = list(read_shard(str(tmp_path / "a.warc.gz")))
    assert [page.url for page in found] == ["https://e.org/a%20b", "https://e.org/d"]
    assert found[0].content_type == "text/html; charset=utf-8"
    assert list(read_shard(str(tmp_path / "b.warc.gz"))) == []
    assert [shard.rpartition("/")[2] for shard in find_shards([f"{tmp_path}/*.gz"])] == [
        "a.warc.gz",
        "b.warc.gz",
    ]
    (tmp_path / "c.jsonl").write_text('{"url": "https://e.org/"}\n')
    with pytest.raises(ShardError, match=r"c\.jsonl cannot be read: KeyError\('html'\)"):
        list(read_shard(str(tmp_path / "c.jsonl")))


def write_record(path: Path, url: str, head: str, body: bytes) -> None:
    """Append the record of a page that was answered with a head and a body as they were sent."""
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{head}\r\n".encode() + body
    record = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\n"
        f"WARC-Date: {DATE}\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    with path.open("ab") as file:
        file.write(gzip.compress(record.encode() + block + b"\r\n\r\n"))


def chunked(body: bytes) -> bytes:
    pieces = [body[at : at + 100] for at in range(0, len(body), 100)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])


GZIP, CHUNKED = "Content-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\n"


def test_bodies_are_decoded_for_any_transfer_and_content_encoding(tmp_path: Path) -> None:
    page = f"<p>{prose(1)}".encode()
    raw = zlib.compressobj(wbits=-15)
    records = [
        (CHUNKED + GZIP, chunked(gzip.compress(page))),
        (CHUNKED, chunked(page)),
        (GZIP, gzip.compress(page)),
        ("Content-Encoding: deflate\r\n", zlib.compress(page)),
        ("Content-Encoding: deflate\r\n", raw.compress(page) + raw.flush()),
        (GZIP, page),
        (CHUNKED, page),
        ("Content-Encoding: br\r\n", page),
    ]
    for number, (head, body) in enumerate(records):
        write_record(tmp_path / "a.warc.gz", f"https://e.org/{number}", head, body)
    found = list(read_shard(str(tmp_path / "a.warc.gz")))
    assert [stored.html for stored in found] == [page] * len(records)
    assert not any(stored.problem for stored in found)


def test_unreadable_records_are_reported_and_others_read(tmp_path: Path) -> None:
    broken = gzip.compress(html("a", 1).encode())[:15] + b"?" * 99
    shard = tmp_path / "a.warc.gz"
    for number in range(3):
        write_record(shard, f"https://a.example/{number}", "", html("a", number).encode())
    write_record(shard, "https://a.example/broken", GZIP, broken)
    write_record(shard, "https://a.example/odd", "Content-Encoding: tea\r\n", b"\1\2\3" * 9)
    write_record(shard, "https://a.example/picture", "", b"\x89PNG\r\n\x1a\n" + b"\0" * 99)
    write_record(shard, "https://a.example/last", CHUNKED, chunked(html("a", 9).encode()))
    done = archive(str(shard), tmp_path / "out", check=False)
    assert done.returncode == Outcome.INCOMPLETE
    said = done.stderr
    assert "3 records cannot be read" in said
    assert "https://a.example/broken: it cannot be unpacked as gzip" in said
    assert "https://a.example/odd: the Content-Encoding 'tea' is unknown" in said
    assert "https://a.example/picture: the body is not HTML" in said
    assert len(items(tmp_path / "out")) == 4


def test_reported_unreadable_records_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = tmp_path / "a.warc.gz"
    for number in range(3):
        address = f"https://a.example/{number}"
        write_record(shard, address, "Content-Encoding: tea\r\n", b"\1\2\3" * 9)
    monkeypatch.setattr(steps, "MAX_NAMED", 2)
    pages = steps.ShardPages({"shard": str(shard)}, lambda number: None)
    assert list(pages) == []
    assert pages.unread == {BROKEN: 3}
    assert [name.split(": ")[0] for name in pages.unread_names] == [
        "https://a.example/0",
        "https://a.example/1",
    ]


def test_lenient_warc_reader_reads_records_strict_reader_rejects(tmp_path: Path) -> None:
    shard = tmp_path / "a.warc.gz"
    heads = ["", f"X-Long: {'y' * 100_000}\r\n", ""]
    for number, head in enumerate(heads):
        write_record(
            shard, f"https://e.org/{number}", head + GZIP, gzip.compress(b"<p>%d" % number)
        )
    found = list(read_shard(str(shard)))
    assert [(page.url, page.html) for page in found] == [
        (f"https://e.org/{number}", b"<p>%d" % number) for number in range(3)
    ]
    assert {(page.content_type, page.date) for page in found} == {("text/html", DATE)}
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-60] + b"?" * 60)
    with pytest.raises(ShardError, match="cannot be read: OSError"):
        list(read_shard(str(shard)))


def test_unreadable_json_lines_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 1_000)
    monkeypatch.setattr(sources, "SKIPPED_BYTES", 100)
    good = json.dumps({"url": "https://e.org/", "html": "<p>Tea"})
    long = json.dumps({"url": "https://e.org/long", "html": "x" * 5_000})
    lines = [good, long, "{", "[" * 900, good, long]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    found = list(read_shard(str(tmp_path / "a.jsonl")))
    assert [stored.html for stored in found if not stored.problem] == ["<p>Tea"] * 2
    assert [stored.problem.partition(":")[0] for stored in found if stored.problem] == [
        "line 2 has more than 0 MB",
        "line 3 is not valid JSON",
        "line 4 is not valid JSON",
        "line 6 has more than 0 MB",
    ]


def test_sample_keeps_pages_of_smallest_order_once_per_url() -> None:
    sample = Sample()
    urls = [f"https://e.org/{number}" for number in range(3 * MAX_SAMPLE)]
    for digest in ("1", "2", "0"):
        for url in urls:
            if sample.takes(order := sample_order(url)):
                sample.add(order, SampledPage(0, digest, 0, 0))
    assert sorted(sample.pages) == sorted(map(sample_order, urls))[:MAX_SAMPLE]
    assert {page.digest for page in sample.pages.values()} == {"2"}


def test_sample_by_templates_does_not_depend_on_sharding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if addresses were captured several times, with other templates, or without text."""
    monkeypatch.setattr("contentspider.archive.samples.MAX_SAMPLE", 12)
    draw = random.Random(7)
    templates = ["common"] * 60 + [f"rare {number}" for number in range(9)] + [""]
    usual = draw.choices(templates, k=450)
    captures = []
    for number in range(600):
        address = draw.randrange(450)
        template = usual[address] if draw.random() < 0.9 else draw.choice(templates)
        captures.append(StoredPage(f"https://e.org/{address}", template, "", f"{number}"))

    def template_of(page: StoredPage) -> bytes | None:
        return str(page.html).encode() or None

    def sample(shards: int) -> set[StoredPage]:
        rows = []
        for shard in range(shards):
            first = Sample()
            of_templates = TemplateSample(template_of, lambda page: captures[page.number])
            for number in range(shard, len(captures), shards):
                stored = captures[number]
                key = sample_order(stored.url), page_digest(stored)
                page = SampledPage(number, key[1], 0, 0)
                if first.takes(key[0]):
                    first.add(key[0], page)
                if of_templates.takes(key, stored):
                    of_templates.pages[key] = page
            assert len(of_templates.pages) <= 12
            for page in {*first.pages.values(), *of_templates.pages.values()}:
                url = captures[page.number].url
                rows.append(
                    SampleRow(sample_order(url), page.digest, page.number, 0, f"{shard}", url, "")
                )
        rows.sort()
        chosen = with_templates(
            choose_sample(rows), rows, lambda row: template_of(captures[row.number])
        )
        assert len({row.url for row in chosen}) == len(chosen)
        return {captures[row.number] for row in chosen}

    expected = sample(1)
    assert {page.html for page in expected} >= set(templates) - {""}
    for shards in (2, 3, 7, 40, 600):
        assert sample(shards) == expected, shards


def test_templates_of_small_sites_are_not_read() -> None:
    def read(page: object) -> NoReturn:
        raise AssertionError(page)

    sample = TemplateSample(read, read)
    for number in range(MAX_SAMPLE):
        key = number.to_bytes(8, "big"), ""
        assert sample.takes(key, StoredPage(f"https://e.org/{number}", "Tea"))
        sample.pages[key] = SampledPage(number, "", 0, 0)
    with pytest.raises(AssertionError):
        sample.takes((b"", ""), StoredPage("https://e.org/more", "Tea"))


def test_archive_output_files_are_written_atomically(tmp_path: Path) -> None:
    target = Target(str(tmp_path / "out"))
    assert target.names("none") == [] and target.read_note("a/b.json") is None
    target.write_note("a/b.json", {"n": 1})
    (tmp_path / "file").write_text("x")
    target.put(tmp_path / "file", "a/c")
    (tmp_path / "out" / "a" / "d.partial").write_text("half")
    assert target.names("a") == ["a/b.json", "a/c"]
    assert target.read_note("a/b.json") == {"n": 1}
    target.sweep()
    assert not (tmp_path / "out" / "a" / "d.partial").exists()
    (tmp_path / "full").write_text("")
    with pytest.raises(ContentSpiderError, match="full"):
        Target(str(tmp_path / "full")).put(tmp_path / "file", "x/y")


@pytest.mark.thorough
def test_archive_works_with_shards_models_and_output_on_s3(
    tmp_path: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs")
    import fsspec

    source = write_shards(tmp_path / "shards", 3)
    (tmp_path / "s3").mkdir()
    with s3_server(tmp_path / "s3") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        files, _ = fsspec.url_to_fs(f"s3://{BUCKET}", skip_instance_cache=True)
        files.put(source.rpartition("/")[0], f"{BUCKET}/shards", recursive=True)
        models = ("--models", f"s3://{BUCKET}/models", "--state-dir", str(tmp_path / "state"))
        given = (f"s3://{BUCKET}/shards/*.warc.gz", "-o", f"s3://{BUCKET}/out")
        run("archive", *given, *models, cwd=tmp_path)
        files.invalidate_cache()
        (tmp_path / "copy").mkdir()
        for name in files.find(f"{BUCKET}/out/"):
            copy = tmp_path / "copy" / name.partition("/out/")[2]
            copy.parent.mkdir(parents=True, exist_ok=True)
            files.get_file(name, str(copy))
        learned = files.glob(f"{BUCKET}/models/*/model.json")
    assert items(tmp_path / "copy") == expected
    assert sorted(name.split("/")[-2] for name in learned) == list(SITES)
