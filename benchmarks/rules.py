"""Rules learned from one half of a site's pages, applied to the other half without contentspider.

    python benchmarks/rules.py CORPORA [SINGLE_PAGES ...] [--priors DIR] [--folds N] [--gold N]
        [--only NAME ...] [--every N]

Each folder is learned by a prior that has not seen it (DIR keeps the priors, as with samples.py).
Rules are learned from what the model keeps of each half of the pages, written as XML, and applied
to the gold pages of the other half by the one file that needs lxml alone, copied to a folder of its
own, in a process of its own (``python -I``). F1 of words against the
gold text, mean of pages, then of folders; *manifest* are rules from the model's manifest, without a
page, and *merged* the selectors of Zhou and Mashuq's own code, of which there are so many
(*selectors*): of all kept blocks whose tags from the body on are equal, one, with the ids and
classes that all have; links are none.
Times are of the processor: seconds of the slower export, and that file's beside lxml's parse of
the same pages (*parse*). *explained* is the share of words of which ``models show``
says what the model decides, in so many *lines*.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from lxml import html as lxml_html
from samples import fold_priors

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.words.names import step_tag
from contentspider.rules import standalone
from contentspider.rules.extraction import learn_rules, rules_of_manifest
from contentspider.rules.files import write_rules
from contentspider.site.judge.slots import step_names
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.explanation import explain_model
from contentspider.site.scores import text_score

if TYPE_CHECKING:
    from contentspider.evaluation.corpora import Corpus
    from contentspider.page.input.page import Page
    from contentspider.rules.standalone import Rules
    from contentspider.site.judge.prior import Prior
    from contentspider.site.models.model import SiteModel

FILE = Path(standalone.__file__)


class Row(NamedTuple):
    rules: float
    manifest: float
    merged: float
    model: float
    selectors: float
    count: float
    agreement: float
    export_secs: float
    parse: float
    explained: float
    lines: float


def apply(rules: Rules, files: list[Path]) -> dict[str, str]:
    """Return the text of each file by the one file, in a process of its own."""
    with TemporaryDirectory() as folder:
        program = shutil.copy(FILE, folder)
        written = Path(folder, "rules.xml")
        written.write_text(write_rules(rules, "xml")[0], encoding="utf-8")
        command = [sys.executable, "-I", program, "--jsonl", str(written), *map(str, files)]
        done = subprocess.run(command, capture_output=True, check=True, cwd=folder)
    rows = map(json.loads, done.stdout.decode().splitlines())
    return {row["path"]: row["text"] for row in rows}


def time_of(rules: Rules, bodies: list[bytes]) -> float:
    """Return how long the one file takes beside lxml's parse of the same bytes."""

    def secs(call, given) -> float:
        found = []
        for _ in range(3):
            start = time.process_time()
            for one in given:
                call(one)
            found.append(time.process_time() - start)
        return median(found)

    parse = secs(lxml_html.document_fromstring, [body for body in bodies if body.strip()])
    return secs(rules.text, [standalone.decode(body) for body in bodies]) / parse


def steps_of(path: str) -> tuple[tuple[str, ...], list[set[str]]]:
    """Return the tags of a block's path, and the ids and classes of each step."""
    steps = path.split("/")
    return tuple(map(step_tag, steps)), [set(step_names(step)) for step in steps]


def merged_selectors(model: SiteModel, pages: list[Page]) -> dict[tuple[str, ...], list[set[str]]]:
    """Return the ids and classes that the kept blocks of equal tags have in common, by tags."""
    found: dict[tuple[str, ...], list[set[str]]] = {}
    for page in pages:
        kept = model.probabilities(page) > 0.5
        for block, keep in zip(page.content.blocks, kept, strict=True):
            if keep and block.link_chars < len(block.text):
                tags, names = steps_of(page.content.paths[block.container])
                known = found.setdefault(tags, names)
                found[tags] = [one & other for one, other in zip(known, names, strict=True)]
    return found


def selected(selectors: dict[tuple[str, ...], list[set[str]]], page: Page) -> str:
    """Return the text of the blocks that a selector holds for."""
    lines = []
    for block in page.content.blocks:
        tags, names = steps_of(page.content.paths[block.container])
        wanted = selectors.get(tags)
        if wanted and all(one <= other for one, other in zip(wanted, names, strict=True)):
            lines.append(block.text)
    return "\n".join(lines)


def measure(corpus: Corpus, prior: Prior, most: int) -> Row:
    pages = {page.url: page for page in corpus.pages() if page.content.blocks}
    gold = {page.path: page for page in corpus.gold() if page.path in pages}
    paths = sorted(pages)
    random.Random(0).shuffle(paths)
    half = {path: number % 2 for number, path in enumerate(paths)}
    judged = random.Random(1).sample(sorted(gold), min(most, len(gold)))
    model = SiteLearner(corpus.name, prior=prior).fit(pages.values())
    scores = defaultdict(list)
    counts, selector_counts, agreements, secs = [], [], [], []
    of_manifest = rules_of_manifest(model)
    explanation = explain_model(model, list(pages.values()))
    folder = corpus.folder / "html"

    def f1(path: str, text: str) -> float:
        return text_score(text, gold[path].text, gold[path].optional).f1

    for number in (0, 1):
        start = time.process_time()
        learned = [pages[path] for path in paths if half[path] == number]
        rules = learn_rules(model, learned)
        secs.append(time.process_time() - start)
        counts.append(len(rules.rules))
        selectors = merged_selectors(model, learned)
        selector_counts.append(len(selectors))
        if rules.agreement is not None:
            agreements.append(rules.agreement)
        others = [path for path in judged if half[path] != number]
        for kind, of in (("rules", rules), ("manifest", of_manifest)):
            texts = apply(of, [folder / path for path in others]) if others else {}
            scores[kind] += [f1(path, texts[str(folder / path)]) for path in others]
        scores["merged"] += [f1(path, selected(selectors, pages[path])) for path in others]
        scores["model"] += [f1(path, model.extract(pages[path]).text) for path in others]
    bodies = [(folder / path).read_bytes() for path in judged[:20]]
    return Row(
        *(mean(scores[kind]) for kind in ("rules", "manifest", "merged", "model")),
        mean(selector_counts),
        mean(counts),
        mean(agreements),
        max(secs),
        time_of(rules, bodies),
        explanation.agreement,
        len(explanation.sentences) + 1,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, nargs="+", help="folders of unpacked corpora")
    parser.add_argument("--priors", type=Path, metavar="DIR", help="keep the folds' priors here")
    parser.add_argument("--folds", type=int, default=7, metavar="N", help="folds of the priors")
    parser.add_argument("--gold", type=int, default=40, metavar="N", help="gold pages of a folder")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these folders only")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every so manyth folder")
    options = parser.parse_args()
    corpora = find_corpora(*options.corpora)
    priors = fold_priors(corpora, options.folds, options.priors)
    chosen = [
        corpus
        for corpus in corpora
        if corpus.name in priors and (not options.only or corpus.name in options.only)
    ][:: options.every]
    suites: dict[str, dict[str, Row]] = defaultdict(dict)
    head = f"| {' | '.join(Row._fields)} |"
    print(f"| folder {head}\n|{'---|' * (len(Row._fields) + 1)}")
    for corpus in chosen:
        row = measure(corpus, priors[corpus.name], options.gold)
        suites[corpus.suite][corpus.name] = row
        print(f"| {corpus.name} | {' | '.join(f'{value:.3f}' for value in row)} |", flush=True)
    print(f"\n| suite | folders {head}\n|{'---|' * (len(Row._fields) + 2)}")
    for suite, rows in suites.items():
        means = [mean(column) for column in zip(*rows.values(), strict=True)]
        print(f"| {suite} | {len(rows)} | {' | '.join(f'{value:.4f}' for value in means)} |")
    every = [row for rows in suites.values() for row in rows.values()]
    print(
        f"\nunder 0.90: {sum(row.rules < 0.9 for row in every)} folders; slowest export"
        f" {max(row.export_secs for row in every):.1f} s; explained by 0.98 of the words:"
        f" {sum(row.explained >= 0.98 for row in every)} of {len(every)} folders, in"
        f" {max(row.lines for row in every):.0f} lines at most"
    )


if __name__ == "__main__":
    main()
