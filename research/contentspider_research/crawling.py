"""Predictions of a corpus by a crawl of it, served as the website that it was."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from contentspider.evaluation.corpora import json_lines
from contentspider.ground.errors import ContentSpiderError
from contentspider_research.corpora import bases, is_crawlable, start_paths
from contentspider_research.serve import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.judge.prior import Prior
    from contentspider.site.learn.options import LearningOptions

logger = logging.getLogger(__name__)


def predict_by_crawl(
    corpus: Corpus, options: LearningOptions, prior: Prior
) -> Iterator[dict[str, str]]:
    """Serve a site on loopback, crawl it as a user would, and yield its gold pages from the crawl's
    output; a warning counts those that the crawl did not reach.
    """
    if not is_crawlable(corpus):
        logger.warning("%s: its pages are not linked to each other; left out", corpus.name)
        return
    texts: dict[str, str] = {}
    with (
        TemporaryDirectory(prefix="contentspider-") as folder,
        SiteServer(corpus.folder / "html", bases(corpus)) as server,
    ):
        scratch = Path(folder)
        (scratch / "prior.npz").write_bytes(prior.dump())
        command = [sys.executable, "-m", "contentspider", "crawl", "--own-site"]
        command += ["--output=pages.jsonl", "--log-level=ERROR"]
        settings = {
            "CONTENTSPIDER_PRIOR_FILE": scratch / "prior.npz",
            "CONTENTSPIDER_LABELS": options.labels,
            "CONTENTSPIDER_FEATURES": ",".join(options.features),
            "CONTENTSPIDER_CLASSIFIER": options.classifier,
            "CONTENTSPIDER_PROGRESS_SECS": 0,
        }
        command += [f"--set={name}={value}" for name, value in settings.items()]
        command += [server.url.rstrip("/") + path for path in start_paths(corpus)]
        done = subprocess.run(command, cwd=scratch, stderr=subprocess.PIPE, check=False)  # noqa: S603 - our own command
        if done.returncode:
            raise ContentSpiderError(
                f"{corpus.name}: the crawl failed: {done.stderr.decode(errors='replace')[-500:]}"
            )
        for _, line in json_lines(scratch / "pages.jsonl"):
            item = json.loads(line)
            if file := server.file_of(item["url"]):
                texts[file.relative_to(server.folder).as_posix()] = item["content"]
    found = {path: texts.get(path.lstrip("/")) for path in corpus.gold_paths()}
    for path, text in found.items():
        if text is not None:
            yield {"site": corpus.name, "path": path, "text": text}
    if missing := sum(text is None for text in found.values()):
        logger.warning("%s: %d gold pages were not reached by the crawl", corpus.name, missing)
