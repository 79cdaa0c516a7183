"""What `extract_column` and ``contentspider archive`` cost beside a plain loop, in CPU time.

    python benchmarks/columns.py [--pages N] [--sites N] [PAGES.jsonl]

PAGES.jsonl has ``url`` and ``html`` (default: N generated pages of 240 words). All read the same
pages: the loop is ``model.extract(Page.from_html(html, url))`` with the fields of a row, or with
``to_dict`` as `archive` writes them, with models that are learned already; the loop that learns has
`SiteLearner.fit` of each site's pages before it. `archive` runs with models, and without: then it
learns. The times of `extract_column` and of its loop are of these alone (the least of five, in
turns). Those of `archive` are of whole processes, start and imports included, with one worker
process; modules are compiled beforehand, as an installation does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from contentspider import Page, SiteLearner, extract_column
from contentspider.ground.sites import SiteKeys
from contentspider.site.fields.choice import page_author, page_dates
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from contentspider import SiteModel

WORDS = "river stone winter letter engine garden bridge market number mirror candle harbour".split()
ROUNDS = 5


def generate(path: Path, pages: int, sites: int) -> None:
    draw = random.Random(1)
    with path.open("w") as file:
        for number in range(pages):
            site = f"site{number % sites}.example"
            texts = [" ".join(draw.choices(WORDS, k=40)) for _ in range(6)]
            links = "".join(f"<li><a href=/{word}>{word} {site}</a></li>" for word in WORDS)
            body = "".join(f"<p>{text}. <a href=/{text[:5]}>{text[:9]}</a></p>" for text in texts)
            html = (
                f"<html lang=en><title>{texts[0][:40]} | {site}</title><nav><ul>{links}</ul></nav>"
                f"<main><h1>{texts[0][:40]}</h1><time>12 May 2024</time>{body}</main>"
                f"<aside><ul>{links}</ul></aside><footer>About {site}</footer>"
            )
            row = {"url": f"https://{site}/{number}", "html": html}
            file.write(json.dumps(row) + "\n")


def columns(path: Path) -> tuple[list[str], list[str]]:
    rows = [json.loads(line) for line in path.open()]
    return [row["url"] for row in rows], [row["html"] for row in rows]


def loop(urls: list[str], htmls: list[str], models: dict[str, SiteModel]) -> list[str]:
    """Read the fields of the rows of `extract_column`, and return the texts."""
    keys, rows = SiteKeys(), []
    for url, html in zip(urls, htmls, strict=True):
        found = models[keys.key(url)].extract(Page.from_html(html, url))
        title, is_listing = found.title, found.page_type == "listing"
        given = found.page, title, found.site_fields, is_listing
        text, dates, names = found.text, page_dates(*given), page_author(*given)
        rows.append((text, found.markdown, found.language, dates, names, found.confidence))
    return [row[0] for row in rows]


def learn(path: Path, models: Path) -> None:
    by_site, keys = defaultdict(list), SiteKeys()
    for url, html in zip(*columns(path), strict=True):
        by_site[keys.key(url)].append((url, html))
    for site, rows in by_site.items():
        model = SiteLearner(site).fit(Page.from_html(html, url) for url, html in rows)
        ModelStore(models).save(model)


def write(path: Path, models: Path, output: Path) -> None:
    keys, found = SiteKeys(), {}
    with output.open("w") as file:
        for url, html in zip(*columns(path), strict=True):
            site = keys.key(url)
            if site not in found:
                found[site] = ModelStore(models).read(site)
            fields = found[site].extract(Page.from_html(html, url)).to_dict()
            file.write(json.dumps(fields, ensure_ascii=False) + "\n")


def cpu_of(*command: str) -> float:
    """Return the CPU seconds of a command with its child processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_columns(path: Path, models: Path) -> None:
    urls, htmls = columns(path)
    store = ModelStore(models)
    by_site = {site: store.read(site) for site in store.sites()}
    of_loop = of_column = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        texts = loop(urls, htmls, by_site)
        middle = time.process_time()
        table = extract_column(urls, htmls, models=models)
        of_loop = min(of_loop, middle - start)
        of_column = min(of_column, time.process_time() - middle)
    assert [text or None for text in texts] == table["content"].to_pylist()
    ratio, millis = of_column / of_loop, 1000 * of_loop / len(urls)
    print(f"loop {millis:.2f} ms a page; extract_column {ratio:.2f} of it")


def compare_archive(path: Path, place: Path) -> None:
    def archive(out: str, models: str) -> float:
        given = ["--models", f"{place}/{models}", "--state-dir", f"{place}/state"]
        target = ["-o", f"{place}/{out}", "--processes", "1"]
        return cpu_of("-m", "contentspider", "archive", str(path), *target, *given)

    def plain(*parts: str) -> float:
        return cpu_of(__file__, str(path), "--models", f"{place}/models", "--part", *parts)

    archive("warm", "warm-models")  # compiles modules, and fills the cache of the disk
    written = plain("write")
    print(f"archive with models {archive('known', 'models') / written:.2f} of a loop")
    archived = archive("learned", "learned-models")
    learned = plain("learn") + written
    print(f"archive that learns {archived / learned:.2f} of learning and then a loop,")
    print(f"and {archived / written:.2f} of a loop with models")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("path", type=Path, nargs="?", metavar="PAGES.jsonl")
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--sites", type=int, default=4)
    parser.add_argument("--models", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=("learn", "write"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "learn":
        learn(options.path, options.models)
    elif options.part == "write":
        write(options.path, options.models, options.models.with_name("loop.jsonl"))
    else:
        with TemporaryDirectory(prefix="contentspider-benchmark-") as folder:
            place = Path(folder)
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            os.environ["PYTHONPYCACHEPREFIX"] = f"{place}/compiled"
            path = options.path or place / "pages.jsonl"
            if not options.path:
                generate(path, options.pages, options.sites)
            learn(path, place / "models")
            compare_columns(path, place / "models")
            compare_archive(path, place)


if __name__ == "__main__":
    main()
