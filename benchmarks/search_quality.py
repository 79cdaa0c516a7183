"""Search quality: is a page that one knows found, and how far up? With clean content in the index,
with trafilatura's text, and with all of the pages' text.

    python benchmarks/search_quality.py CORPORA [SINGLE_PAGES ...] [--priors DIR] [--texts DIR]
        [--folds N] [--least N] [--leave-out NAME ...] [--sentences N]
    python benchmarks/search_quality.py CORPORA --engines [NAME ...] [--texts DIR] [--sites N]
        [--embedder lsa|MODULE:OBJECT|ADDRESS]

The second form compares search engines, by the queries of `search_engines.py`. The first form:

Of each site with *--least* gold pages all pages are put into three tantivy indexes, listings too.
These differ in ``content`` alone: what contentspider keeps, having learned the site without its
gold by a prior that has not seen it; what trafilatura keeps; the text of all blocks. The title and
the type of the page are those of the item in all three. A result whose content is equal to that of
the page that is asked for is that page: a crawl gives one of such copies. Two kinds of queries have
one right answer each, a gold page:

- title: the words of its title.
- untitled: the same in indexes of the contents alone: where titles are, they decide.
- sentence: the three rarest words (by how many gold pages have them) of a sentence that is drawn
  from its gold text, *--sentences* a page. Of CJK and Thai text, two neighbouring characters are a
  word.

A query that suits another page as well (which has the same title, or whose gold has all three
words) has no right answer: these count in the row of all queries only. MRR is the mean of 1 / rank,
nDCG@10 of 1 / log2(1 + rank), 0 beyond the tenth. Cells have the three texts in the order above.
Priors (DIR keeps them) and texts (DIR keeps those, too) take the longest.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
from collections import Counter
from itertools import compress
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from samples import fold_priors
from search_engines import ENGINES, compare_engines

from contentspider.evaluation.corpora import find_corpora
from contentspider.index.engine import Query
from contentspider.index.engines.tantivy import TantivyEngine
from contentspider.index.schema import Document, document_fields
from contentspider.page.tree.text import UNSPACED
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.record import page_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.judge.prior import Prior

TEXTS = ("clean", "trafilatura", "raw")
KINDS = ("title", "untitled", "sentence")
DEPTH = 10
SENTENCE = re.compile(r"(?<=[.!?…؟])\s+|(?<=[。！？])|\n")
# What is shorter is a heading or a label, which other pages have, too.
LEAST_WORDS = 6
RUN = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
UNSPACED_RUN = re.compile(rf"[{UNSPACED}]")


def site_texts(corpus: Corpus, prior: Prior) -> list[dict[str, Any]]:
    """Return for each page of a site its path, its title and its `TEXTS`; the ``gold`` text."""
    import trafilatura

    pages = [page for page in corpus.pages() if page.content.blocks]
    model = SiteLearner(corpus.name, prior=prior).fit(pages)
    gold = {page.path: page.text for page in corpus.gold()}
    rows = []
    for page in pages:
        item = page_fields(page, corpus.name, model.extract(page), model.version)
        body = (corpus.folder / "html" / page.url).read_bytes()
        rows.append(
            {
                "path": page.url,
                "title": item["title"],
                "page_type": item["page_type"],
                "clean": item["content"],
                "trafilatura": trafilatura.extract(body, include_comments=False) or "",
                "raw": "\n".join(block.text for block in page.content.blocks),
                "gold": gold.get(page.url, ""),
            }
        )
    return rows


def cached_texts(corpus: Corpus, prior: Prior, folder: Path | None) -> list[dict[str, Any]]:
    """Return `site_texts`, read from the *folder* or kept there."""
    file = folder / f"{corpus.name}.json" if folder else None
    if file and file.is_file():
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        return rows
    rows = site_texts(corpus, prior)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return rows


def words_of(text: str) -> list[str]:
    """Return the words of a text; of unspaced scripts all neighbours."""
    found = []
    for run in RUN.findall(text.lower()):
        if UNSPACED_RUN.match(run):
            found += [run[start : start + 2] for start in range(max(len(run) - 1, 1))]
        else:
            found.append(run)
    return found


def title_queries(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, bool]]:
    """Yield the path and the title of each gold page, and whether no other page has the title."""
    titles = Counter(row["title"].lower() for row in rows)
    for row in rows:
        if row["gold"] and row["title"]:
            yield row["path"], row["title"], titles[row["title"].lower()] == 1


def sentence_queries(
    site: str, gold: dict[str, str], count: int
) -> Iterator[tuple[str, str, bool]]:
    """Yield the path of each gold page and the three rarest words of sentences drawn from it, and
    whether no other gold text has all three.
    """
    words = {path: set(words_of(text)) for path, text in gold.items()}
    frequency = Counter(word for held in words.values() for word in held)
    for path, text in gold.items():
        sentences = [
            part for part in SENTENCE.split(text) if len(set(words_of(part))) >= LEAST_WORDS
        ]
        draw = random.Random(f"{site}/{path}")
        for sentence in draw.sample(sentences, min(count, len(sentences))):
            rarest = sorted(set(words_of(sentence)), key=lambda word: (frequency[word], word))[:3]
            is_one = sum(held.issuperset(rarest) for held in words.values()) == 1
            yield path, " ".join(rarest), is_one


def fill(
    folder: Path, site: str, rows: list[dict[str, Any]], text: str, is_titled: bool
) -> tuple[TantivyEngine, int]:
    """Return the index of a site's pages with one of `TEXTS`, and its bytes; with titles or not."""
    url = f"tantivy:{folder}"
    engine = TantivyEngine(url)
    engine.open(is_writer=True)
    for number, row in enumerate(rows, 1):
        fields = document_fields(
            {
                "url": row["path"],
                "site": site,
                "title": row["title"] if is_titled else "",
                "page_type": row["page_type"],
                "content": row[text],
            }
        )
        engine.upsert([Document(row["path"], site, number, "", fields)])
    engine.flush()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return engine, size


def copies(rows: list[dict[str, Any]], text: str) -> dict[str, set[str]]:
    """Return for each page the pages with the same content, itself among them."""
    alike: dict[str, set[str]] = {}
    for row in rows:
        alike.setdefault(" ".join(row[text].split()) or row["path"], set()).add(row["path"])
    return {path: paths for paths in alike.values() for path in paths}


def rank(engine: TantivyEngine, words: str, right: set[str]) -> int:
    """Return the place of the first right page among the results; 0: none is in the first ten."""
    hits = engine.search(Query(words, limit=DEPTH)).hits
    places = (place for place, hit in enumerate(hits, 1) if hit.record["id"] in right)
    return next(places, 0)


def figures(ranks: list[int]) -> tuple[float, float]:
    """Return MRR and nDCG@10."""
    return (
        mean(1 / place if place else 0.0 for place in ranks),
        mean(1 / math.log2(1 + place) if place else 0.0 for place in ranks),
    )


def measure(site: str, rows: list[dict[str, Any]], count: int, verbose: bool) -> dict[str, Any]:
    """Return by text its MRR and nDCG@10 of both kinds of queries, and the bytes of its index."""
    gold = {row["path"]: row["gold"] for row in rows if row["gold"]}
    titles = list(title_queries(rows))
    queries = {
        "title": titles,
        "untitled": titles,
        "sentence": list(sentence_queries(site, gold, count)),
    }
    ranks: dict[str, dict[str, list[int]]] = {kind: {} for kind in KINDS}
    sizes = {}
    for text in TEXTS:
        alike = copies(rows, text)
        for kinds in (("untitled",), ("title", "sentence")):
            with TemporaryDirectory(prefix="contentspider-") as folder:
                engine, sizes[text] = fill(Path(folder), site, rows, text, "title" in kinds)
                for kind in kinds:
                    ranks[kind][text] = [
                        rank(engine, words, alike[path]) for path, words, _ in queries[kind]
                    ]
                engine.close()
    result: dict[str, Any] = {"pages": len(rows), "sizes": sizes}
    for kind, asked in queries.items():
        alone = [is_one for _, _, is_one in asked]
        result[f"{kind} count"] = [len(asked), sum(alone)]
        for text, places in ranks[kind].items():
            result[f"all {kind} {text}"] = figures(places)
            result[f"{kind} {text}"] = figures(list(compress(places, alone)))
        if verbose:
            for (path, words, is_one), *places in zip(asked, *ranks[kind].values(), strict=True):
                if is_one and places[0] != 1 and places[0] != places[-1]:
                    print("   ", kind, repr(words), path, *places, file=sys.stderr)
    return result


def report(found: dict[str, dict[str, Any]]) -> None:
    """Print a table: means first, then the sites."""
    columns = " | ".join(f"{kind} MRR | nDCG@10" for kind in KINDS)
    print(f"| site | pages, queries | {columns} | index, kB |")
    print(f"|{'---|' * 9}")
    rows = list(found.values())

    def line(name: str, count: str, prefix: str, of: list[dict[str, Any]]) -> None:
        cells = []
        for kind in KINDS:
            for place in (0, 1):
                values = [
                    mean(row[f"{prefix}{kind} {text}"][place] for row in of) for text in TEXTS
                ]
                cells.append(
                    " ".join(
                        f"**{value:.4f}**" if value > max(values) - 0.00005 else f"{value:.4f}"
                        for value in values
                    )
                )
        sizes = " ".join(f"{sum(row['sizes'][text] for row in of) / 1000:.0f}" for text in TEXTS)
        print(f"| {name} | {count} | {' | '.join(cells)} | {sizes} |")

    def counts(of: list[dict[str, Any]], place: int) -> str:
        asked = [sum(row[f"{kind} count"][place] for row in of) for kind in ("title", "sentence")]
        return f"{sum(row['pages'] for row in of)}, {asked[0]} and {asked[1]}"

    line(f"**mean of {len(rows)}**", counts(rows, 1), "", rows)
    line("**all queries**", counts(rows, 0), "all ", rows)
    for name, row in sorted(found.items()):
        line(name, counts([row], 1), "", [row])


def main() -> None:
    """Measure each site, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--priors", type=Path)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--least", type=int, default=60)
    parser.add_argument("--leave-out", nargs="*", default=[])
    parser.add_argument("--sentences", type=int, default=3)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--engines", nargs="*", choices=ENGINES)
    parser.add_argument("--sites", type=int, default=10)
    parser.add_argument("--seed", type=int, default=53)
    parser.add_argument("--embedder", default="")
    options = parser.parse_args()
    corpora = find_corpora(*options.corpora)
    if options.engines is not None:
        engines = options.engines or ENGINES
        compare_engines(
            corpora, engines, options.texts, options.sites, options.seed, options.embedder
        )
        return
    priors = fold_priors(corpora, options.folds, options.priors)
    found = {}
    for corpus in corpora:
        if corpus.suite != "sites" or len(corpus.gold()) < options.least:
            continue
        if corpus.name in options.leave_out:
            continue
        rows = cached_texts(corpus, priors[corpus.name], options.texts)
        found[corpus.name] = measure(corpus.name, rows, options.sentences, options.verbose)
        print(corpus.name, json.dumps(found[corpus.name]), file=sys.stderr, flush=True)
    report(found)


if __name__ == "__main__":
    main()
