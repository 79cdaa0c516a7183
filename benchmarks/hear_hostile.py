"""What the worst of feeds cost that are wrong, broken or hostile, each made by a seed of what the
sites' own feeds say (`hostile_feeds.py`).

    python benchmarks/hear_hostile.py OWN [--feeds 1000]

OWN has folders with gold text and ``own.jsonl``, which the shipped prior has not seen. The kinds
take turns on every site; F1 is that of all its gold pages, beside that without any feed.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import sys
import traceback
from collections import defaultdict
from dataclasses import replace
from html import escape
from itertools import compress
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

from hostile_feeds import BASE, VARIANTS, Entry, Material
from own_texts import WORSE, Site

from contentspider.evaluation.corpora import find_corpora, json_lines
from contentspider.ground.address_keys import address_key
from contentspider.site.judge.prior import Prior
from contentspider.site.own.assessment import measure
from contentspider.site.own.matching import texts_by_page
from contentspider.site.own.readers.feeds import Feed
from contentspider.site.vote.posts import comment_like

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.evaluation.corpora import Corpus


class Loss(NamedTuple):
    """What a hostile feed of a site cost in F1, and how many of its texts were heard."""

    change: float
    site: str
    heard: int


def material_of(site: Site, corpus: Corpus, foreign: Corpus) -> Material:
    """Return what hostile feeds of a site are made of."""
    judged, comment = site.vote.plain_vote, comment_like(site.blocks)
    template, comments = {}, {}
    for page in site.told:
        here = slice(site.starts[page], site.starts[page + 1])
        texts = [f"<p>{escape(block.text)}</p>" for block in site.sample[page].content.blocks]
        url = site.sample[page].url
        template[url] = "".join(compress(texts, (judged[here] < 0.5).tolist()))
        comments[url] = "".join(compress(texts, comment[here].tolist()))
    urls = {address_key(site.sample[page].url): site.sample[page].url for page in site.told}
    entries = [
        replace(entry, path=urls[address_key(entry.path)])
        for entry in feed_entries(corpus)
        if address_key(entry.path) in urls
    ]
    return Material(entries, feed_entries(foreign), template, comments)


def feed_entries(corpus: Corpus) -> list[Entry]:
    """Return what a folder's feeds truly say, of each page once."""
    found = {}
    for _, line in json_lines(corpus.folder / "own.jsonl"):
        row = json.loads(line)
        path = row["path"].lstrip("/")
        found.setdefault(path, Entry(path, row["title"], row["html"]))
    return list(found.values())


def hear_hostile(corpora: Sequence[Corpus], prior: Prior, count: int) -> None:
    """Print what *count* hostile feeds cost, by their kind."""
    telling = [corpus for corpus in corpora if (corpus.folder / "own.jsonl").is_file()]
    found: dict[str, list[Loss]] = defaultdict(list)
    errors: list[str] = []
    kinds = list(VARIANTS)
    grown: list[int] = []
    for index, corpus in enumerate(telling):
        site = Site(corpus, prior, corpus.own_texts())
        if not site.told:
            continue
        material = material_of(site, corpus, telling[index - 1])
        before = site.f1(site.vote.plain_vote, site.gold)
        site.hear(site.told)  # so that what the vote keeps counts for no hostile feed
        memory = resident_memory()
        for seed in range(index, count, len(telling)):
            # The kinds take turns on every site.
            kind = kinds[(seed // len(telling) + index) % len(kinds)]
            try:
                body = VARIANTS[kind](material, random.Random(seed))
                texts = [
                    replace(own, url=own.url.removeprefix(BASE)) for own in Feed().read(body, BASE)
                ]
                probabilities = site.hear(texts_by_page(site.sample, texts))
                measure(site.vote)
            except Exception:  # noqa: BLE001 - what is raised is the result
                errors.append(f"seed {seed}, {corpus.name}, {kind}: {traceback.format_exc()}")
                continue
            change = site.f1(probabilities, site.gold) - before
            found[kind].append(Loss(change, site.name, len(site.vote.evidence.pages)))
        grown.append(resident_memory() - memory)
        print(".", end="", file=sys.stderr, flush=True)
    print(f"\nHostile feeds: {count} of {len(telling)} sites, all gold pages:\n")
    print("| feed | feeds | heard | worse | mean | worst |\n|---|---|---|---|---|---|")
    for kind, losses in found.items():
        worst = min(losses)
        print(
            f"| {kind} | {len(losses)} | {sum(loss.heard > 0 for loss in losses)} |"
            f" {sum(loss.change < -WORSE for loss in losses)} |"
            f" {mean(loss.change for loss in losses):+.4f} | {worst.change:+.4f} ({worst.site}) |"
        )
    print(
        f"\n{len(errors)} exceptions; memory after a site's last feed less that before its first:"
        f" {mean(grown):+.0f} MB in the mean, {max(grown):+d} MB at most; peak {peak_memory()} MB"
    )
    print("\n".join(errors))


def peak_memory() -> int:
    """Return the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def resident_memory() -> int:
    """Return the memory that this process has now, in MB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("own", type=Path, help="unpacked folders, some with own.jsonl")
    parser.add_argument("--feeds", type=int, default=1_000, metavar="N", help="hostile feeds")
    options = parser.parse_args()
    hear_hostile(find_corpora(options.own), Prior.shipped(), options.feeds)


if __name__ == "__main__":
    main()
