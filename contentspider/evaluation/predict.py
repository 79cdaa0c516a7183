"""Predictions on corpora: learn each site from its pages without the gold, and extract its gold
pages.
"""

from __future__ import annotations

import json
import logging
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from contentspider.evaluation.serve import SiteServer
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.jsonlines import json_lines
from contentspider.site.learn.alone import extract_page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.vote.labels import VOTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contentspider.evaluation.corpora import Corpus
    from contentspider.page.input.page import Page
    from contentspider.site.judge.prior import Prior
    from contentspider.site.learn.options import LearningOptions

logger = logging.getLogger(__name__)


def predict_site(
    corpus: Corpus,
    options: LearningOptions,
    prior: Prior | None,
    *,
    hosts: Mapping[str, Prior] | None = None,
    alone: bool = False,
    held_out: int | None = None,
    hears: bool = True,
) -> Iterator[dict[str, str]]:
    """Yield ``{"site", "path", "text"}`` for each gold page of a site.

    *hosts* has the priors of single pages by their host (None, or none there: *prior*).
    With *alone* every page is judged by itself; so are the pages of a collection, which are no
    site. With *held_out* no page is extracted by a model that
    has seen it: the site is learned twice, from two samples of that many pages (0, or more than
    there are: half of them) without a page in common. *hears* tells whether what the site's feeds
    say of its pages is heard.
    """
    pages: dict[str, Page] = {page.url: page for page in corpus.pages(options.needs_attributes)}
    learner = SiteLearner(corpus.name, options, prior)
    alone = alone or corpus.is_collection
    groups: list[set[str]] = [set(pages)]
    if held_out is not None:
        paths = sorted(pages)
        random.Random(0).shuffle(paths)
        size = held_out if 0 < held_out <= len(paths) // 2 else len(paths) // 2
        groups = [set(paths[:size]), set(paths[size : 2 * size])]
    own_texts = corpus.own_texts() if hears else []
    models = (
        []
        if alone
        else [
            learner.fit((page for path, page in pages.items() if path in group), own_texts)
            for group in groups
        ]
    )
    for path, gold in zip(corpus.gold_paths(), corpus.gold(), strict=True):
        page = pages.get(gold.path)
        if page is None:
            logger.warning("%s: the gold names %s, which is not among the pages", corpus.name, path)
            continue
        text = ""
        if page.content.blocks:
            if alone:
                judge = (hosts or {}).get(gold.host, prior)
                if options.labels == VOTES:
                    text = extract_page(page, corpus.name, judge).text
                else:
                    text = SiteLearner(corpus.name, options).fit([page]).extract(page).text
            else:
                model = models[-1] if page.url in groups[0] else models[0]
                text = model.extract(page).text
        yield {"site": corpus.name, "path": path, "text": text}


def predict_by_crawl(
    corpus: Corpus, options: LearningOptions, prior: Prior
) -> Iterator[dict[str, str]]:
    """Serve a site on loopback, crawl it as a user would, and yield its gold pages from the crawl's
    output.

    A gold page that the crawl did not reach is missing, and said.
    """
    with (
        TemporaryDirectory(prefix="contentspider-") as folder,
        SiteServer(corpus.folder / "html", corpus.bases) as server,
    ):
        scratch = Path(folder)
        (scratch / "prior.npz").write_bytes(prior.dump())
        output = scratch / "pages.jsonl"
        command = [
            sys.executable,
            "-m",
            "contentspider",
            "crawl",
            *(server.url.rstrip("/") + path for path in corpus.start_paths),
        ]
        command += [
            "-o",
            str(output),
            "--models",
            str(scratch / "models"),
            "--own-site",
            "--log-level",
            "ERROR",
        ]
        command += [
            "-s",
            f"CONTENTSPIDER_PRIOR_FILE={scratch / 'prior.npz'}",
            "-s",
            f"CONTENTSPIDER_LABELS={options.labels}",
            "-s",
            "CONTENTSPIDER_PROGRESS_SECS=0",
        ]
        command += ["-s", f"CONTENTSPIDER_FEATURES={','.join(options.features)}"]
        command += ["-s", f"CONTENTSPIDER_CLASSIFIER={options.classifier}"]
        done = subprocess.run(command, cwd=scratch, stderr=subprocess.PIPE, check=False)  # noqa: S603 - our own command
        if done.returncode:
            raise ContentSpiderError(
                f"{corpus.name}: the crawl failed: {done.stderr.decode(errors='replace')[-500:]}"
            )
        texts: dict[str, str] = {}
        for _, line in json_lines(output):
            item = json.loads(line)
            if file := server.file_of(item["url"]):
                texts[file.relative_to(server.folder).as_posix()] = item["content"]
    missing = 0
    for path in corpus.gold_paths():
        if path.lstrip("/") in texts:
            yield {"site": corpus.name, "path": path, "text": texts[path.lstrip("/")]}
        else:
            missing += 1
    if missing:
        logger.warning("%s: %d gold pages were not reached by the crawl", corpus.name, missing)
