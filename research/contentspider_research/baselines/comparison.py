"""Every method of comparison on corpora with gold text, and ours beside them."""

from __future__ import annotations

import logging
import random
from collections import defaultdict
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import mean
from time import process_time
from typing import TYPE_CHECKING

from contentspider.evaluation.corpora import CorpusError, find_corpora
from contentspider.page.input.body import as_utf8, parse
from contentspider.page.input.files import html_files
from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.scores import text_score
from contentspider_research.baselines import BASELINES, SOFTWARE, new_baseline
from contentspider_research.experiments.charts import bar_chart
from contentspider_research.training import cross_fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from contentspider.evaluation.corpora import Corpus, GoldPage
    from contentspider.site.models.model import SiteModel
    from contentspider_research.baselines.protocol import Baseline

logger = logging.getLogger(__name__)

OURS = "votes"


class Votes:
    """Our own method behind the protocol: the site's model, learned from its pages."""

    def __init__(self, prior: Prior) -> None:
        self._prior = prior
        self._model: SiteModel | None = None

    def fit(self, pages: Sequence[tuple[str, bytes]]) -> None:
        """Learn the site's model."""
        read = [Page.from_html(html, url) for url, html in pages]
        self._model = SiteLearner("", LearningOptions(), self._prior).fit(
            page for page in read if page.content.blocks
        )

    def text(self, html: bytes) -> str:
        """Return what the model keeps of a page."""
        page = Page.from_html(html)
        return self._model.extract(page).text if self._model and page.content.blocks else ""


def predict_by_method(corpus: Corpus, name: str) -> Iterator[dict[str, str]]:
    """Yield ``{"site", "path", "text"}`` for each gold page of a site, by a method of `BASELINES`.

    A site's method learns from all pages of the site; a single page of a collection is a site.
    """
    root = corpus.folder / "html"
    bodies = {path.relative_to(root).as_posix(): path.read_bytes() for path in html_files(root)}
    method = new_baseline(name)
    if not corpus.is_collection:
        method.fit(list(bodies.items()))
    for path, gold in zip(corpus.gold_paths(), corpus.gold(), strict=True):
        if gold.path not in bodies:
            logger.warning("%s: the gold names %s, which is not among the pages", corpus.name, path)
            continue
        if corpus.is_collection:
            method = new_baseline(name)
            method.fit([(gold.path, bodies[gold.path])])
        yield {"site": corpus.name, "path": path, "text": method.text(bodies[gold.path])}


@dataclass(frozen=True, slots=True)
class Judged:
    """What a method reached on a site: the mean F1 of its pages, and how many seconds it took and
    lxml's parsing of them did.
    """

    site: str
    f1: float
    seconds: float
    parsing: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The gold pages of a site that take part: the body and the gold of each; and how many seconds
    lxml takes to parse them.
    """

    corpus: Corpus
    pages: list[tuple[bytes, GoldPage]]
    parsing: float

    @classmethod
    def of(cls, corpus: Corpus, count: int) -> Sample:
        """Draw *count* of a site's gold pages; the same ones each time."""
        gold = sorted(corpus.gold(), key=lambda page: page.path)
        if len(gold) > count:
            gold = random.Random(0).sample(gold, count)
        files = [(corpus.folder / "html" / page.path, page) for page in gold]
        pages = [(file.read_bytes(), page) for file, page in files if file.is_file()]
        if not pages:
            raise CorpusError(f"{corpus.folder} has none of the pages that its gold names")
        start = process_time()
        for body, _ in pages:
            parse(as_utf8(body))
        return cls(corpus, pages, process_time() - start)

    def judge(self, method: Baseline) -> Judged:
        """Let a method learn from these pages, and judge what it keeps of them."""
        start = process_time()
        method.fit([(gold.path, body) for body, gold in self.pages])
        texts = [method.text(body) for body, _ in self.pages]
        seconds = process_time() - start
        scores = [
            text_score(text, gold.text, gold.optional).f1
            for text, (_, gold) in zip(texts, self.pages, strict=True)
        ]
        return Judged(self.corpus.name, mean(scores), seconds, self.parsing)


def compare_methods(source: Path, chart: Path, count: int) -> list[str]:
    """Return the table of all methods and ours on *count* gold pages of each site in *source*, and
    write its chart.

    Our prior has not seen the sites: where the shipped one has, it is cross-fitted.
    """
    corpora = find_corpora(source)
    shipped = Prior.shipped()
    seen = shipped.card["trained_on"]
    assert isinstance(seen, list)
    is_seen = any(corpus.name in seen for corpus in corpora)
    priors = cross_fit(corpora) if is_seen and len(corpora) > 1 else {}
    sites = [corpus for corpus in corpora if not corpus.is_collection]
    if not sites:
        raise CorpusError(
            f"{source} has no sites, only single pages; 'evaluate --method NAME' judges these"
        )
    names = [name for name in BASELINES if name not in SOFTWARE or find_spec(name)] + [OURS]
    found: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for corpus in sites:
        sample = Sample.of(corpus, count)
        for name in names:
            method = Votes(priors.get(corpus.name, shipped)) if name == OURS else new_baseline(name)
            found[name, corpus.suite].append(sample.judge(method))
        logger.info("%s: judged by %d methods", corpus.name, len(names))
    suites = sorted({corpus.suite for corpus in sites}, reverse=True)
    bar_chart(
        chart,
        names,
        {
            suite: [mean(site.f1 for site in found[name, suite]) for name in names]
            for suite in suites
        },
        "token F1 against gold",
    )
    lines = [
        "| method | suite | truth by word | least site | time / parsing |",
        "|---|---|---|---|---|",
    ]
    for name in names:
        for suite in suites:
            judged = found[name, suite]
            least = min(judged, key=lambda site: site.f1)
            factor = sum(site.seconds for site in judged) / sum(site.parsing for site in judged)
            lines.append(
                f"| {name} | {suite} | {mean(site.f1 for site in judged):.4f} |"
                f" {least.f1:.4f} ({least.site}) | {factor:.1f} |"
            )
    return lines
