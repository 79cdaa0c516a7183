"""What large sites gain from pages of rare templates in the sample that they are learned from.

    python benchmarks/rare_templates.py CORPORA... [--draws N]

Each corpus is learned from N samples with and without these pages, by the shipped prior. The
samples differ in the hash that orders the pages. The table has the mean F1 of all gold pages and of
gold pages with a rare template (`page_template`; at most `RARE_SHARE` of the site's pages have it),
the standard deviation and the lowest F1 of the samples, and the CPU seconds to learn.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from functools import partial
from hashlib import blake2b
from pathlib import Path
from statistics import mean, pstdev
from typing import TYPE_CHECKING, NamedTuple

from contentspider.evaluation.corpora import find_corpora
from contentspider.site.learn import sampling
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.sampling import page_template
from contentspider.site.sample import ORDER_BYTES
from contentspider.site.scores import text_score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.evaluation.corpora import Corpus
    from contentspider.page.input.page import Page

RARE_SHARE = 0.005
PARTS = {"without": 10**9, "with": sampling.TEMPLATE_PART}  # one page in so many is for a template


class Result(NamedTuple):
    """The mean F1 of all gold pages and of rare templates, and the CPU seconds to learn."""

    f1: float
    rare: float
    seconds: float


def salted_order(salt: int, address: str) -> bytes:
    """Return the hash of an address that orders the pages of one draw."""
    return blake2b(f"{salt} {address}".encode(), digest_size=ORDER_BYTES).digest()


def rare_pages(pages: Mapping[str, Page]) -> set[str]:
    """Return the addresses of the pages with a rare template."""
    templates = {url: page_template(page) for url, page in pages.items() if page.content.blocks}
    counts = Counter(templates.values())
    most = max(2, RARE_SHARE * len(pages))
    return {url for url, template in templates.items() if counts[template] <= most}


def learn(corpus: Corpus, pages: Mapping[str, Page], rare: set[str]) -> Result:
    """Learn a corpus, and score the model on its gold pages."""
    started = time.process_time()
    model = SiteLearner(corpus.name).fit(pages.values(), corpus.own_texts())
    seconds = time.process_time() - started
    f1 = {}
    for gold in corpus.gold():
        if gold.path in pages:
            text = model.extract(pages[gold.path]).text
            f1[gold.path] = text_score(text, gold.text, gold.optional).f1
    of_rare = [score for path, score in f1.items() if path in rare]
    return Result(mean(f1.values()), mean(of_rare or [1.0]), seconds)


def main() -> None:
    """Print a table of the sites, with and without pages of rare templates."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=6)
    options = parser.parse_args()
    print("| site | pages for templates | F1 | deviation | lowest | rare templates | seconds |")
    print("|---|---|---|---|---|---|---|")
    for corpus in find_corpora(*options.corpora):
        pages = {page.url: page for page in corpus.pages()}
        rare = rare_pages(pages)
        for name, part in PARTS.items():
            sampling.TEMPLATE_PART = part
            results = []
            for draw in range(options.draws):
                sampling.sample_order = partial(salted_order, draw)
                results.append(learn(corpus, pages, rare))
            f1 = [result.f1 for result in results]
            print(
                f"| {corpus.name} | {name} | {mean(f1):.4f} | {pstdev(f1):.4f} | {min(f1):.4f}"
                f" | {mean(result.rare for result in results):.4f}"
                f" | {mean(result.seconds for result in results):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
