"""Peak memory of `contentspider crawl` by the size of the site, and pages per second.

    python benchmarks/memory.py [PAGES ...]    # 2,000 and 5,000 by default; 10000 100000 takes long

The generated site is served from a process of its own. Memory is the largest resident set: of the
crawling process alone, whose ratio is to the first size, and of the larger of it and the process
that learns the site. The book's size is that at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from generated_server import GeneratedServer


class Done(NamedTuple):
    items: int
    crawl_mb: float
    peak_mb: float
    book_kb: float
    seconds: float
    cpu: float


def high_water(pid: int) -> float:
    """Return the largest resident set of a running process so far, in MB; 0 where the system does
    not tell.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1e3 if found else 0.0


def crawl(pages: int) -> Done:
    """Crawl a site of so many pages."""
    with GeneratedServer(pages) as server, tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "contentspider",
            "crawl",
            server.url,
            "--own-site",
            "--no-sitemaps",
            "-s",
            "CONTENTSPIDER_PROGRESS_SECS=0",
        ]
        started = time.monotonic()
        process = subprocess.Popen([*command, "--log-level", "ERROR"], cwd=folder)
        own = 0.0
        while True:
            own = max(own, high_water(process.pid))
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.2)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"the crawl of {pages} pages failed")
        with (Path(folder) / "pages.jsonl").open("rb") as file:
            items = sum(1 for _ in file)
        book = sum(
            path.stat().st_size for path in (Path(folder) / ".scrapy" / "contentspider").iterdir()
        )
    # macOS counts bytes, Linux kB; with the learner, which the crawl has waited for.
    peak = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Done(items, own, peak, book / 1e3, seconds, used.ru_utime + used.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", type=int, nargs="*", default=[2_000, 5_000])
    print(
        "| pages | items | crawl, peak MB | ratio | with the learner, peak MB | book, kB a page |"
        " pages per second | pages per CPU-second |"
    )
    print("|---|---|---|---|---|---|---|---|")
    first = 0.0
    for pages in parser.parse_args().pages:
        done = crawl(pages)
        first = first or done.crawl_mb
        print(
            f"| {pages:,} | {done.items:,} | {done.crawl_mb:.0f} |"
            f" {done.crawl_mb / max(first, 1):.2f} | {done.peak_mb:.0f} |"
            f" {done.book_kb / pages:.2f} | {done.items / done.seconds:.0f} |"
            f" {done.items / done.cpu:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
