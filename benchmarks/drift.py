"""Drift: are templates that changed found, and is nothing found where none has?

    python benchmarks/drift.py CORPORA [--only NAME ...]

CORPORA holds unpacked corpora. Four tables, by the shipped prior:

- *years*: outlets that are there in two years. The model of the earlier meets the pages of the
  later. F1 of the later year's gold pages by that model, by the model learned when drift is found
  (from the later pages: all that such a crawl sees), and by one learned afresh (the same).
- *themes*: half of a site's pages come in another theme (all classes and ids renamed, everything
  in two more elements), after a model was learned from the other half. When drift is found the
  site is learned from a sample of both halves. F1 of the renamed half's gold pages by the first
  model, by that one, and by one learned from the renamed half alone.
- *halves*: half of a site's pages meet the model of the other half, both ways: whatever is found
  is a false alarm.
- *unchanged*: all pages of a site meet the model that was learned from them, as in the next crawl
  of a site that did not change: whatever is found is a false alarm.
"""

from __future__ import annotations

import argparse
from hashlib import blake2b
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from lxml import html as lxml_html

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.input.page import Page
from contentspider.recrawl.drift import Drift
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.sample import sample_order
from contentspider.site.scores import text_score
from contentspider_research.corpora import group_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.models.model import SiteModel

# Pages of a folder that are looked at.
MOST = 200


def watch(model: SiteModel, pages: Iterable[Page]) -> Drift:
    """Return what a model makes of pages that came after it."""
    drift = Drift(model)
    for page in pages:
        drift.add(page)
    return drift


def halves(pages: Iterable[Page]) -> tuple[list[Page], list[Page]]:
    """Return the pages, in an order that has nothing to do with their addresses, in two halves."""
    # Not the sample's own order, which would leave the first half to the learner as it is.
    ordered = sorted(pages, key=lambda page: sample_order(page.url)[::-1])[: 2 * MOST]
    middle = len(ordered) // 2
    return ordered[:middle], ordered[middle:]


def in_another_theme(corpus: Corpus, page: Page) -> Page:
    """Return a page with other classes and ids, in two more elements."""
    root = lxml_html.fromstring((corpus.folder / "html" / page.url).read_bytes())
    for element in root.iter("*"):
        for name in ("class", "id"):
            if tokens := (element.get(name) or "").split():
                element.set(name, " ".join(map(_renamed, tokens)))
    body = root.find(".//body")
    if body is not None:
        inner = lxml_html.Element("div", {"class": "theme-inner"})
        inner.text, body.text = body.text, None
        inner.extend(list(body))
        outer = lxml_html.Element("div", {"class": "theme-outer"})
        outer.append(inner)
        body.append(outer)
    return Page.from_html(lxml_html.tostring(root, encoding="unicode"), page.url)


def _renamed(token: str) -> str:
    # What people call a thing stays in part: a theme has words of its own.
    return "t" + "".join(
        chr(97 + byte % 26) for byte in blake2b(token.encode(), digest_size=6).digest()
    )


def f1(corpus: Corpus, model: SiteModel, pages: Sequence[Page]) -> float:
    """Return the mean F1 of those of the pages that have gold."""
    gold = {page.path.lstrip("/"): page for page in corpus.gold()}
    scores = [
        text_score(model.extract(page).text, gold[page.url].text, gold[page.url].optional).f1
        for page in pages
        if page.url in gold
    ]
    return mean(scores) if scores else float("nan")


def learn(corpus: Corpus, pages: Sequence[Page]) -> SiteModel:
    return SiteLearner(corpus.name).fit(pages)


def row(*cells: object) -> None:
    shown = [f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells]
    print(f"| {' | '.join(shown)} |", flush=True)


def years(corpora: list[Corpus]) -> None:
    """Print the table of outlets of two years."""
    row("outlet", "pages", "strange", "shared slot", "found", "F1 before", "after", "afresh")
    groups: dict[str, list[Corpus]] = {}
    for corpus in corpora:
        groups.setdefault(group_of(corpus), []).append(corpus)
    found, pairs = 0, [group for group in groups.values() if len(group) == 2]
    for earlier, later in pairs:
        model, pages = learn(earlier, list(earlier.pages())), list(later.pages())
        drift = watch(model, pages)
        fresh = learn(later, pages)
        relearned = learn(later, pages) if drift.is_found else model
        found += drift.is_found
        row(
            *(group_of(later), drift.pages, drift.strange, drift.shared, drift.is_found),
            *(f1(later, one, pages) for one in (model, relearned, fresh)),
        )
    print(f"found on {found} of {len(pairs)}\n")


def themes(corpora: list[Corpus]) -> None:
    """Print the table of sites whose theme changes."""
    row("site", "pages", "strange", "found", "F1 before", "after", "afresh")
    worst = 0.0
    found = 0
    for corpus in corpora:
        first, second = halves(corpus.pages())
        renamed = [in_another_theme(corpus, page) for page in second]
        model = learn(corpus, first)
        drift = watch(model, renamed)
        found += drift.is_found
        relearned = learn(corpus, [*first, *renamed]) if drift.is_found else model
        scores = [f1(corpus, one, renamed) for one in (model, relearned, learn(corpus, renamed))]
        worst = max(worst, scores[2] - scores[1])
        row(corpus.name, drift.pages, drift.strange, drift.is_found, *scores)
    print(f"found on {found} of {len(corpora)}; at most {worst:.4f} below afresh\n")


def alarms(corpora: list[Corpus]) -> None:
    """Print the table of false alarms."""
    row("site", "pages", "strange", "shared slot", "found")
    count = 0
    for corpus in corpora:
        parts = halves(corpus.pages())
        for seen, new in (parts, parts[::-1]):
            drift = watch(learn(corpus, seen), new)
            count += drift.is_found
            row(corpus.name, drift.pages, drift.strange, drift.shared, drift.is_found)
    print(f"{count} false alarms in {2 * len(corpora)} crawls")


def unchanged(corpora: list[Corpus]) -> None:
    """Print the table of false alarms on sites that did not change."""
    row("site", "pages", "strange", "usual confidence", "confidence", "found")
    count = 0
    for corpus in corpora:
        pages = list(corpus.pages())
        model = learn(corpus, pages)
        drift = watch(model, pages)
        count += drift.is_found
        usual = model.baseline.confidence if model.baseline else float("nan")
        sure = sorted(model.extract(page).confidence for page in pages)[len(pages) // 2]
        row(corpus.name, drift.pages, drift.strange, usual, sure, drift.is_found)
    print(f"{count} false alarms in {len(corpora)} crawls of unchanged sites\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, nargs="+", help="folders of unpacked corpora")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these folders only")
    options = parser.parse_args()
    corpora = [
        corpus
        for corpus in find_corpora(*options.corpora)
        if not corpus.is_collection and (not options.only or corpus.name in options.only)
    ]
    years(corpora)
    sites = [corpus for corpus in corpora if corpus.suite == "sites"]
    unchanged(sites)
    alarms(sites)
    themes(sites)


if __name__ == "__main__":
    main()
