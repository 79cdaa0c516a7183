"""The rules of the hybrid paper (Uzun, Agun and Yerlikaya, 2013), as XML, and their scores on other
pages. The rules are the start tags of blocks that a classifier of six word features keeps.

A rule keeps the text between a start tag with an id or class and its end tag. The paper finds it
with string functions; `contentspider.rules.standalone` finds it in the tree of a page.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.atomic import write_atomically
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.page.tree.text import tokens
from contentspider.page.words.names import step_tag
from contentspider.rules.files import to_xml
from contentspider.rules.standalone import KEEP, Element, Rule, RuleError, Rules
from contentspider.site.judge.slots import step_names
from contentspider_research.classifiers.c45 import C45
from contentspider_research.classifiers.matrix import NormalBayes
from contentspider_research.corpora import group_of
from contentspider_research.experiments.experiments import owner_folds
from contentspider_research.experiments.hybrid import UnitPage
from contentspider_research.features.wordcounts import CELLS
from contentspider_research.metric import measures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus
    from contentspider_research.classifiers.matrix import NumberClassifier

logger = logging.getLogger(__name__)

CLASSIFIERS: dict[str, Callable[[], NumberClassifier]] = {"c45": C45, "bayes": NormalBayes}
HEAD = (
    "| site | rules | P | R | F1 | accuracy |",
    "|---|---|---|---|---|---|",
)
PUBLISHED = {
    "c45": "| **published, C4.5** | | 0.89 | 0.81 | 0.80 | 0.55 |",
    "bayes": "| **published, naive Bayes** | | 0.81 | 0.76 | 0.70 | 0.53 |",
}


@dataclass(slots=True)
class RuleSite:
    """A site. Its rules are *learned* from some pages, and *tested* on others; these have their
    HTML and their gold text. *group* is the same for all sites of one owner.
    """

    name: str
    suite: str
    group: str
    learned: list[UnitPage] = field(default_factory=list)
    tested: list[tuple[bytes, str]] = field(default_factory=list)

    @classmethod
    def of(cls, corpus: Corpus, pages: int) -> RuleSite:
        """Return the first *pages* gold pages of a corpus: every second one is for tests."""
        site = cls(corpus.name, corpus.suite, group_of(corpus))
        gold = sorted(corpus.gold(), key=lambda page: page.path)[:pages]
        for number, gold_page in enumerate(gold):
            html = (corpus.folder / "html" / gold_page.path).read_bytes()
            if number % 2:
                site.tested.append((html, gold_page.text))
            elif (page := Page.from_html(html, gold_page.path, attributes=True)).content.blocks:
                site.learned.append(UnitPage.of(page, gold_page, CELLS))
        return site


def start_tag_rules(
    pages: Sequence[UnitPage], kept: Sequence[NDArray[np.bool_]], site: str = ""
) -> tuple[Rules, int]:
    """Return a rule for each start tag of a *kept* unit, and the number of such start tags without
    a rule: they have no id and no class, so that the rule would match all elements of this name.

    If a start tag has several classes, the rule has the class that fewest dropped units have.
    """
    dropped: Counter[str] = Counter()
    of_tag: dict[str, list[int]] = {}
    for page, keeps in zip(pages, kept, strict=True):
        chars = np.zeros(len(keeps) + 1, dtype=np.int64)
        np.add.at(chars, page.unit, [len(block.text) for block in page.page.content.blocks])
        chars_of: Counter[str] = Counter()
        for tag, count, is_kept in zip(page.start_tags, chars[:-1], keeps, strict=True):
            if is_kept:
                chars_of[tag] += int(count)
            else:
                dropped.update(step_names(tag))
        for tag, total in chars_of.items():
            counts = of_tag.setdefault(tag, [0, 0])
            counts[0] += 1
            counts[1] += total
    rules: dict[Element, Rule] = {}
    left_out = 0
    for tag, (count, total) in sorted(of_tag.items()):
        try:
            element = _element(tag, dropped)
        except RuleError:
            left_out += 1
            continue
        before = rules.get(element)
        rules[element] = Rule(
            KEEP,
            element,
            pages=count + (before.pages if before else 0),
            chars=total + (before.chars if before else 0),
        )
    return Rules(list(rules.values()), site, pages=len(pages)), left_out


def _element(start_tag: str, dropped: Counter[str]) -> Element:
    """Return the element of a start tag; raises `RuleError` without an id or class that a rule can
    have.
    """
    tag, names = step_tag(start_tag), step_names(start_tag)
    for name in names:
        if name[0] == "#":
            return Element(tag, id=name[1:])
    classes = [name for name in names if name[0] == "."]
    if not classes:
        raise RuleError(f"{start_tag} has no id and no class")
    return Element(tag, name=min(classes, key=lambda name: dropped[name])[1:])


def export_tag_rules(
    corpora: Sequence[Corpus], folder: Path, classifier: str, pages: int, folds: int
) -> list[str]:
    """Write the rules of each site as ``SITE.xml`` into *folder*; return the table of their scores.

    The classifier is learned from the gold of other owners. It chooses rules on one half of the
    site's gold pages, and they are scored by word on the other half. Raises `ContentSpiderError`
    for sites of fewer than two owners.
    """
    sites = [RuleSite.of(corpus, pages) for corpus in corpora if not corpus.is_collection]
    sites = [site for site in sites if site.learned and site.tested]
    if len({site.group for site in sites}) < 2:
        raise ContentSpiderError(
            "rules of a classifier need sites of two owners or more, each with two gold pages: it"
            " learns from the gold of others"
        )
    folder.mkdir(parents=True, exist_ok=True)
    lines = [*HEAD]
    rows: dict[str, list[tuple[float, ...]]] = {}
    for site, rules in _rules_of(sites, classifier, folds):
        write_atomically(folder / f"{site.name}.xml", to_xml(rules)[0].encode())
        row = (len(rules.rules), *_scores(rules, site))
        rows.setdefault(site.suite, []).append(row)
        lines.append(_row(site.name, row))
    for suite, members in rows.items():
        means = tuple(mean(column) for column in zip(*members, strict=True))
        lines.append(_row(f"**{suite}, mean of {len(members)}**", means))
    return [*lines, PUBLISHED[classifier]]


def _rules_of(
    sites: Sequence[RuleSite], classifier: str, folds: int
) -> Iterator[tuple[RuleSite, Rules]]:
    for tested_sites, training_sites in owner_folds(sites, folds):
        pages = [page for site in training_sites for page in site.learned]
        judge = CLASSIFIERS[classifier]()
        judge.fit(
            np.concatenate([page.numbers for page in pages]),
            np.concatenate([page.labels for page in pages]),
        )
        for site in tested_sites:
            predicted = [judge.predict(page.numbers) for page in site.learned]
            rules, left_out = start_tag_rules(site.learned, predicted, site.name)
            if left_out:
                logger.info("%s: %d start tags have no id or class", site.name, left_out)
            yield site, rules


def _scores(rules: Rules, site: RuleSite) -> tuple[float, ...]:
    """Return precision, recall, F1 and accuracy by word, the means of the pages tested."""
    scores = []
    for html, gold in site.tested:
        page_words, rule_words, gold_words = (
            Counter(tokens(text))
            for text in (
                " ".join(block.text for block in Page.from_html(html).content.blocks),
                rules.text(html),
                gold,
            )
        )
        right = (rule_words & gold_words).total()
        wrong, missed = rule_words.total() - right, gold_words.total() - right
        noise = max(page_words.total() - right - wrong - missed, 0)
        scores.append(measures(np.array([[noise, wrong], [missed, right]])))
    return tuple(mean(column) for column in zip(*scores, strict=True))


def _row(name: str, values: tuple[float, ...]) -> str:
    rules, *scores = values
    return f"| {name} | {rules:.1f} | {' | '.join(f'{score:.4f}' for score in scores)} |"
