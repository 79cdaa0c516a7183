"""What a browser brings to open sites, and costs: crawls of each with and without it.

    python benchmarks/rendering.py CORPORA [SITE...] [--modes never learn auto always]

Each site is served on loopback and crawled from all of its pages by ``contentspider crawl --render
MODE``: the mean F1 of its gold pages, the CPU seconds of the crawl's processes (the browser's are
among them), and the pages that were rendered. The pages lie there without their style sheets,
pictures and most scripts: what is inline in them runs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote, urlsplit

from contentspider.evaluation.corpora import Corpus, find_corpora
from contentspider.site.scores import text_score
from contentspider_research.corpora import bases, start_paths
from contentspider_research.serve import SiteServer

MODES = ("never", "learn", "auto", "always")


def crawl(addresses: list[str], mode: str) -> tuple[dict[str, str], float, int]:
    """Return the texts of a crawl's pages by their path, its CPU seconds, and rendered pages."""
    with TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "contentspider", "crawl", *addresses, "--own-site"]
        command += ["-o", "pages.jsonl", "--stats", "stats.json", "--log-level", "ERROR"]
        command += ["--render", mode, "-s", "ROBOTSTXT_OBEY=False"]
        subprocess.run(command, cwd=folder, check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        stats = json.loads((Path(folder) / "stats.json").read_text())["stats"]
        lines = (Path(folder) / "pages.jsonl").read_bytes().split(b"\n")
    texts = {}
    for item in map(json.loads, filter(None, lines)):
        texts[bare(unquote(urlsplit(item["url"]).path))] = item["content"]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return texts, seconds, stats.get("contentspider/render/pages", 0)


def bare(path: str) -> str:
    """Return a path that is the same for a folder and its index page, of which either comes out."""
    return path.removesuffix("index.html").strip("/")


def row_of(corpus: Corpus, modes: list[str]) -> str:
    """Return a row of the table."""
    cells, gold_pages = [], corpus.gold()
    with SiteServer(corpus.folder / "html", bases(corpus)) as server:
        pages = ["/" + quote(page.url) for page in corpus.pages()]
        starts = [server.url.rstrip("/") + path for path in [*start_paths(corpus), *pages]]
        for mode in modes:
            texts, seconds, rendered = crawl(starts, mode)
            scores = [
                text_score(texts.get(bare(gold.path), ""), gold.text, gold.optional).f1
                for gold in gold_pages
            ]
            cells.append(f"{sum(scores) / len(scores):.4f} | {seconds:.1f} | {rendered}")
    return f"| {corpus.name} | {len(gold_pages)} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("corpora", type=Path, help="unpacked sites with gold text")
    parser.add_argument("sites", nargs="*", metavar="SITE", help="(default: all)")
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES, metavar="MODE")
    options = parser.parse_args()
    heads = [f"{mode}: F1 | CPU s | rendered" for mode in options.modes]
    print(f"| site | gold pages | {' | '.join(heads)} |")
    print("|---" * (2 + 3 * len(heads)) + "|")
    for corpus in find_corpora(options.corpora):
        if corpus.name in (options.sites or [corpus.name]):
            print(row_of(corpus, options.modes), flush=True)


if __name__ == "__main__":
    main()
