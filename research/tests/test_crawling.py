"""``contentspider-research evaluate --crawl``: gold pages by a crawl of the served site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from researching import run

from contentspider.evaluation.corpora import find_corpora
from contentspider_research.corpora import group_of, is_crawlable, start_paths
from tests.conftest import read_jsonl, token_f1

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.thorough
def test_evaluate_crawl_serves_and_crawls_corpus(example_corpus: Path, tmp_path: Path) -> None:
    run("evaluate", str(example_corpus), "-o", "out.jsonl", "--crawl", cwd=tmp_path)
    (corpus,) = find_corpora(example_corpus)
    gold = {page.path: page.text for page in corpus.gold()}
    rows = {
        str(row["path"]).lstrip("/"): str(row["text"]) for row in read_jsonl(tmp_path / "out.jsonl")
    }
    assert set(rows) == set(gold)
    assert sum(token_f1(rows[path], gold[path]) for path in gold) / len(gold) >= 0.95


def test_corpus_properties_are_read(example_corpus: Path) -> None:
    (corpus,) = find_corpora(example_corpus)
    assert is_crawlable(corpus)
    assert start_paths(corpus) == ["/index.html"]
    assert group_of(corpus) == corpus.name
