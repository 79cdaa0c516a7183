"""How pages are compared with their previous versions in a history."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from contentspider.crawl.revisits.comparison import PageComparison
from contentspider.crawl.revisits.knowledge import CrawlKnowledge
from contentspider.page.input.page import Page


@pytest.mark.parametrize(
    ("before", "model", "changes"),
    [
        ({"price": 12.9}, "m1", (("price", 12.9, 11.5),)),
        # The model, or the file of fields, may be the reason for another value.
        ({"price": 12.9}, "m2", ()),
        ({}, "m1", ()),
    ],
)
def test_fields_of_page_that_history_does_not_keep_are_compared_under_one_model(
    before: dict[str, Any], model: str, changes: tuple[Any, ...]
) -> None:
    history: Any = SimpleNamespace(item=lambda _: {"fields": before}, stored=lambda _: None)
    refilter: Any = None
    base: Any = SimpleNamespace(id="1", content_hash="a", model="m1")
    fields = {"content_hash": "a", "model_version": model, "fields": {"price": 11.5}}
    state: Any = SimpleNamespace(is_outdated=False)
    comparison = PageComparison(history, refilter, CrawlKnowledge({}, {}), has_own_fields=True)
    facts = comparison.facts(base, fields, Page.from_html("<p>Tea"), "", state)
    assert facts.fields == changes
