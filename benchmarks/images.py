"""Pictures of the content against a gold (`images_gold.jsonl`).

    python benchmarks/images.py CORPORA [--gold FILE] [--prior FILE]

A line of the gold is a page: its site and path, and its pictures (`picture_key` of the address in
the markup, width, height) that are ``main`` (they would be
missed if the article were printed: its photos, drawings, formulas,
galleries, product pictures) or ``other`` (avatars, icons, logos, share buttons, advertisements,
teasers of other pages), judged one by one from the markup, then on the rendered pages (with the
places of pictures, not the pictures). Each site is learned from its pages, by
the shipped prior, which has seen them, or by that of --prior. Groups are by the size that markup
or the file's name gives: above 40,000 square pixels, up to that, or unknown.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.input.files import read_pages
from contentspider.page.tree.resolver import Resolver
from contentspider.site.images import picture_key
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions

GOLD = Path(__file__).with_name("images_gold.jsonl")


def group_of(size: tuple[int, int]) -> str:
    if not all(size):
        return "unknown size"
    return "large" if size[0] * size[1] > 40_000 else "small"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--gold", type=Path, default=GOLD)
    parser.add_argument("--prior", default="", help="(contentspider-research train-prior)")
    options = parser.parse_args()
    learning = LearningOptions(prior_file=options.prior)
    gold = defaultdict(dict)
    for line in options.gold.read_bytes().splitlines():
        page = json.loads(line)
        gold[page["site"]][page["path"]] = page
    counts: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for corpus in find_corpora(options.corpora):
        if corpus.name not in gold:
            continue
        folder = corpus.folder / "html"
        learner = SiteLearner(corpus.name, learning)
        model = learner.fit(learner.sample(read_pages(folder)))
        for page in read_pages(folder, [folder / path for path in gold[corpus.name]]):
            judged = gold[corpus.name][page.url]
            resolve, extraction = Resolver(page.base).resolve, model.extract(page)
            urls = {image["url"] for image in extraction.images}
            found = {
                picture_key(image[1])
                for block in page.content.blocks
                for image in block.images
                if resolve(image[1]) in urls
            }
            for is_main in (True, False):
                for key, *size in judged["main" if is_main else "other"]:
                    for name in ("all", group_of(size), corpus.name):
                        counts[name][key in found, is_main] += 1
    print("| | pictures | main | precision | recall | F1 |\n|---|---|---|---|---|---|")
    for name in sorted(counts, key=lambda one: ("-" in one, one)):
        found = counts[name]
        right, wrong, missed = found[True, True], found[True, False], found[False, True]
        precision, recall = right / max(right + wrong, 1), right / max(right + missed, 1)
        f1 = 2 * right / max(2 * right + wrong + missed, 1)
        row = f"{found.total()} | {right + missed} | {precision:.3f} | {recall:.3f} | {f1:.3f}"
        print(f"| {name} | {row} |")


if __name__ == "__main__":
    main()
