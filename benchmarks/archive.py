"""``contentspider archive`` beside ``contentspider extract``: pages a CPU-second on the same pages.

    python benchmarks/archive.py CORPORA [SITE...] [--shards N]
    python benchmarks/archive.py --generated N

The pages of corpora are written to WARC files (each page to a shard by its number), and extracted
with one process, two, and two workers of Dask; ``extract`` reads the same pages from the folders,
a site at a time, in one process, and in two at once, half of the sites each: two that share a
core's caches take longer for the same, whatever they do. CPU time is that of all processes; their
largest resident set is beside it. With ``--generated`` N pages of 200 sites of our own making, of
80 words each, are extracted by one process, and its resident set is said on the way.
"""

from __future__ import annotations

import argparse
import gzip
import random
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psutil

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.input.files import html_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WORDS = [
    f"{one}{two}" for one in "ka lo mi re tu ven sor bal".split() for two in "n st ra le".split()
]


def warc(url: str, html: bytes) -> bytes:
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
        f"WARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + body + b"\r\n\r\n", 3)


def write_shards(folder: Path, pages: Iterable[tuple[str, bytes]], shards: int) -> int:
    folder.mkdir()
    files = [(folder / f"{number:03}.warc.gz").open("wb") for number in range(shards)]
    count = 0
    for count, (url, html) in enumerate(pages, 1):
        files[count % shards].write(warc(url, html))
    for file in files:
        file.close()
    return count


def generated(count: int) -> Iterator[tuple[str, bytes]]:
    draw = random.Random(1)
    for number in range(count):
        site = f"site{number % 200}.example"
        text = [" ".join(draw.choices(WORDS, k=20)) for _ in range(4)]
        paragraphs = "".join(f"<p>{each}.</p>" for each in text)
        html = (
            f"<title>{text[0][:40]}</title><nav><a href=/>Home</a> <a href=/b>{site}</a></nav>"
            f"<div class=text><h1>{text[0][:40]}</h1>{paragraphs}</div><footer>{site}</footer>"
        )
        yield f"https://{site}/{number}", html.encode()


class Watch(threading.Thread):
    """Adds up the CPU time of a process with its children, and keeps their largest sizes."""

    def __init__(self, pid: int, says: bool = False) -> None:
        super().__init__(daemon=True)
        self.root, self.says = psutil.Process(pid), says
        self.cpu: dict[int, float] = {}
        self.largest = 0.0

    def run(self) -> None:
        last = 0.0
        while True:
            try:
                processes = [self.root, *self.root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            size = 0.0
            for one in processes:
                with suppress(psutil.Error):
                    times = one.cpu_times()
                    self.cpu[one.pid] = times.user + times.system
                    size = max(size, one.memory_info().rss / 1e6)
            self.largest = max(self.largest, size)
            if self.says and time.monotonic() - last > 30:
                last = time.monotonic()
                print(f"largest process {size:.0f} MB", flush=True)
            time.sleep(0.2)  # more often it takes the time of those that are measured


def measure(name: str, pages: int, *commands: list[str], says: bool = False) -> float:
    """Say what *commands* take, at once, and return the pages a CPU-second."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-m", *command], stderr=subprocess.DEVNULL)
            )
            for command in commands
        ]
        watches = [Watch(process.pid, says) for process in processes]
        for watch in watches:
            watch.start()
    cpu = sum(sum(watch.cpu.values()) for watch in watches)
    largest = max(watch.largest for watch in watches)
    print(f"| {name} | {cpu:.1f} | {pages / cpu:.0f} | {largest:.0f} |", flush=True)
    return pages / cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("corpora", type=Path, nargs="?")
    parser.add_argument("sites", nargs="*", metavar="SITE", help="(default: all of suite sites)")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--generated", type=int, default=0, metavar="N")
    options = parser.parse_args()
    print("| | CPU s | pages a CPU-second | largest process, MB |\n|---|---|---|---|")
    with TemporaryDirectory(prefix="contentspider-benchmark-") as name:
        place = Path(name)

        def command(out: str, *more: str) -> list[str]:
            given = ["--models", f"{place}/{out}-models", "--state-dir", f"{place}/state"]
            source = f"{place}/shards/*.warc.gz"
            return ["contentspider", "archive", source, "-o", f"{place}/{out}", *given, *more]

        if options.generated:
            count = write_shards(place / "shards", generated(options.generated), options.shards)
            measure(f"{count} pages", count, command("one", "--processes", "1"), says=True)
            return
        corpora = [
            corpus
            for corpus in find_corpora(options.corpora)
            if corpus.suite == "sites" and corpus.name in (options.sites or [corpus.name])
        ]
        folders = [corpus.folder / "html" for corpus in corpora]
        pages = (
            (
                f"https://{corpus.name}.example/{path.relative_to(folder).as_posix()}",
                path.read_bytes(),
            )
            for corpus, folder in zip(corpora, folders, strict=True)
            for path in html_files(folder)
        )
        count = write_shards(place / "shards", pages, options.shards)
        plain = ["contentspider", "extract", "-o", f"{place}/plain.jsonl"]
        halves = [[*plain[:-1], f"{place}/{n}.jsonl", *map(str, folders[n::2])] for n in (0, 1)]
        least = measure("extract", count, [*plain, *map(str, folders)])
        two = measure("extract, twice at once, half of the sites each", count, *halves)
        rates = [
            measure("archive, 1 process", count, command("one", "--processes", "1")),
            measure("archive, 2 processes", count, command("two", "--processes", "2")),
        ]
        import dask
        from distributed import LocalCluster

        dask.config.set({"distributed.worker.profile.enabled": False})  # as docs/archives.md says
        given = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**given) as cluster:
            workers = [Watch(each.pid) for each in psutil.Process().children()]
            for watch in workers:
                watch.start()
            time.sleep(1)
            before = {watch: sum(watch.cpu.values()) for watch in workers}
            address = cluster.scheduler_address.replace("tcp://", "dask://")
            measure("archive, Dask's client alone", count, command("dask", "--engine", address))
            cpu = sum(sum(watch.cpu.values()) - start for watch, start in before.items())
        print(f"| archive, 2 workers of Dask | {cpu:.1f} | {count / cpu:.0f} | |")
        shown = ", ".join(f"{rate / least:.2f}" for rate in (*rates, count / cpu))
        print(f"\nof extract: {shown}")
        shown = ", ".join(f"{rate / two:.2f}" for rate in (rates[1], count / cpu))
        print(f"with two processes, of extract twice at once: {shown}")


if __name__ == "__main__":
    main()
