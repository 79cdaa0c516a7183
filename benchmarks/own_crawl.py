"""What own texts cost a crawl: requests and CPU seconds of crawls of sites with feeds, with
``CONTENTSPIDER_OWN_TEXTS=3`` and without own texts (0: feeds are then read for their links only).

    python benchmarks/own_crawl.py OWN [--rounds 3] [--sites 6]

OWN has unpacked sites with ``own.jsonl``; the largest are served on loopback, one at a time, and
crawled from all of their pages, since not all links between these are to pages that are there. The
two kinds of crawl take turns; CPU time is that of the crawl and of the learning processes, the
least of the rounds: what else the machine does only adds to it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from contentspider.evaluation.corpora import find_corpora
from contentspider_research.corpora import bases, start_paths
from contentspider_research.serve import SiteServer


def crawl(addresses: list[str], own_texts: int) -> tuple[float, dict[str, float]]:
    """Return the CPU seconds of a crawl, and its stats."""
    with TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "contentspider", "crawl", *addresses, "--own-site"]
        command += ["-o", "pages.jsonl", "--models", "models", "--stats", "stats.json"]
        command += ["--log-level", "ERROR", "-s", "CONTENTSPIDER_PROGRESS_SECS=0"]
        command += ["-s", f"CONTENTSPIDER_OWN_TEXTS={own_texts}"]
        subprocess.run(command, cwd=folder, check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        stats = json.loads((Path(folder) / "stats.json").read_text())["stats"]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, stats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("own", type=Path, help="unpacked sites with own.jsonl")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--sites", type=int, default=6, metavar="N")
    options = parser.parse_args()
    telling = [one for one in find_corpora(options.own) if (one.folder / "own.jsonl").is_file()]
    telling.sort(key=lambda one: -sum(1 for _ in (one.folder / "html").rglob("*.html")))
    print("| site | pages | own texts | requests more | CPU s without | with | ratio |")
    print("|---|---|---|---|---|---|---|")
    totals = {0: 0.0, 3: 0.0}
    for corpus in telling[: options.sites]:
        with SiteServer(corpus.folder / "html", bases(corpus)) as server:
            pages = ["/" + quote(page.url) for page in corpus.pages()]
            starts = [server.url.rstrip("/") + path for path in [*start_paths(corpus), *pages]]
            seconds: dict[int, list[float]] = {0: [], 3: []}
            stats = {}
            for _ in range(options.rounds):
                for budget, all_seconds in seconds.items():
                    spent, stats[budget] = crawl(starts, budget)
                    all_seconds.append(spent)
        least = {budget: min(spent) for budget, spent in seconds.items()}
        for budget, spent in least.items():
            totals[budget] += spent
        more = stats[3].get("contentspider/own_texts/requests", 0)
        print(
            f"| {corpus.name} | {stats[3].get('item_scraped_count', 0)} |"
            f" {stats[3].get('contentspider/own_texts/texts', 0)} | {more} |"
            f" {least[0]:.2f} | {least[3]:.2f} | {least[3] / least[0]:.3f} |",
            flush=True,
        )
    print(f"\nall: {totals[3] / totals[0]:.3f} times the CPU")


if __name__ == "__main__":
    main()
