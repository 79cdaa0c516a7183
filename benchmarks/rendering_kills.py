"""Rendered crawls of a real site: memory as they go on, and with kills of browser and crawl.

    python benchmarks/rendering_kills.py FOLDER [--pages 500] [--kills 20]

The folder of HTML files is served on loopback and crawled with ``--render always``. Memory is the
resident set of the crawl and of all processes of its browser together, every 10 seconds. With
--kills, crawl and browser are killed in turn, at seeded moments, and a killed crawl goes on with
--resume: each page must come out once, and no process and no folder of a browser may be left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from contentspider.render.browser import FOLDER
from contentspider_research.serve import SiteServer

EACH_SECS = 10.0
SECS = (2.0, 12.0)  # between two kills


def resident(process: psutil.Process) -> float:
    """Return the resident set of a process and of all that it started, in MB."""
    found = 0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            found += one.memory_info().rss
    return found / 1e6


def browsers(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if "chromium" in command and "--type=" not in command and str(folder) in command:
            found.append(process)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    moments = random.Random(0)
    with SiteServer(options.folder) as server, TemporaryDirectory() as name:
        folder, files = Path(name), Path(name) / "files"
        files.mkdir()
        command = [sys.executable, "-m", "contentspider", "crawl", server.url, "--own-site"]
        command += ["--render", "always", "--max-pages", str(options.pages), "-o", "pages.jsonl"]
        command += ["--resume", "--log-level", "ERROR", "--stats", "stats.json"]
        done = Counter(kills=0)
        began = shown = time.monotonic()
        code = None
        while code is None:
            given = {**os.environ, "TMPDIR": str(files)}
            started = subprocess.Popen(command, cwd=folder, env=given, stderr=subprocess.DEVNULL)
            process = psutil.Process(started.pid)
            until = time.monotonic() + moments.uniform(*SECS)
            while (code := started.poll()) is None:
                time.sleep(0.2)
                if time.monotonic() >= shown + EACH_SECS:
                    shown = time.monotonic()
                    print(f"{shown - began:.0f} s: {resident(process):.0f} MB", flush=True)
                if done["kills"] < options.kills and time.monotonic() > until:
                    victims = browsers(files)
                    kind = "browser" if done["kills"] % 2 and victims else "crawl"
                    done["kills"] += 1
                    done[kind] += 1
                    (victims[0] if kind == "browser" else process).kill()
                    until = time.monotonic() + moments.uniform(*SECS)
            if code < 0:
                code = None  # it was killed
        lines = (folder / "pages.jsonl").read_bytes().split(b"\n")
        items = [json.loads(line)["url"] for line in lines if line]
        twice = [url for url, count in Counter(items).items() if count > 1]
        print(f"exit code {code}; {dict(done)}; {len(items)} items, {len(twice)} twice")
        left = [path.name for path in files.iterdir() if path.name.startswith(FOLDER)]
        print(f"left: {len(browsers(files))} browsers, {len(left)} folders")
        stats = json.loads((folder / "stats.json").read_text())["stats"]
        print({key: value for key, value in stats.items() if "/render/" in key})


if __name__ == "__main__":
    main()
