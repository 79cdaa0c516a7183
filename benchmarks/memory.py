"""Peak memory of `contentspider crawl` by the size of the site, and pages per second.

    python benchmarks/memory.py [PAGES ...]    # 2,000 and 5,000 by default; 10000 100000 takes long

The generated site is served from a process of its own. Memory is the crawling process's largest resident set;
the table's ratios are to the first size.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generated_site import GeneratedServer


def crawl(pages: int) -> tuple[int, float, float, float]:
    """Crawl a site of so many pages; return its items, MB at the most, seconds and CPU seconds."""
    with GeneratedServer(pages) as server, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "contentspider", "crawl", server.url, "--own-site", "--no-sitemaps", "-s", "CONTENTSPIDER_PROGRESS_SECS=0"]
        started = time.monotonic()
        process = subprocess.Popen([*command, "--log-level", "ERROR"], cwd=folder)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"the crawl of {pages} pages failed")
        with (Path(folder) / "pages.jsonl").open("rb") as file:
            items = sum(1 for _ in file)
    # macOS counts bytes, Linux kB.
    return items, used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3), seconds, used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", type=int, nargs="*", default=[2_000, 5_000])
    print("| pages | items | peak MB | ratio | pages per second | pages per CPU-second |\n|---|---|---|---|---|---|")
    first = 0.0
    for pages in parser.parse_args().pages:
        items, memory, seconds, cpu = crawl(pages)
        first = first or memory
        print(f"| {pages:,} | {items:,} | {memory:.0f} | {memory / first:.2f} | {items / seconds:.0f} | {items / cpu:.0f} |", flush=True)


if __name__ == "__main__":
    main()
