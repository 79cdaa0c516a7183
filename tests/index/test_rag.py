"""The recipe of docs/rag.md: passages with vectors that follow a site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT, Site
from tests.sites import prose
from tests.whole.test_recrawls import COUNT, Recrawls

if TYPE_CHECKING:
    from pathlib import Path

CRAWL = ("-s", "CONTENTSPIDER_PASSAGES=300")


@pytest.mark.thorough
def test_rag_recipe_keeps_passages_in_sync_with_site(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, *_ = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "rag.md").read_text(), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(recipe, names)  # noqa: S102 - our own page
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    recrawls = Recrawls(site, tmp_path)

    def update() -> tuple[Any, int]:
        recrawls.crawl(*CRAWL)
        passages = names["Passages"]("passages.json")
        return passages, passages.update(site.url, "pages.jsonl")

    passages, embedded = update()
    assert embedded >= 2 * COUNT
    recrawls.articles["/3"] = recrawls.articles["/3"].replace(prose(3, 1), "Zanzibar is an island.")
    del recrawls.articles["/4"]
    recrawls.answers["/5"] = (301, "/moved")
    recrawls.articles["/moved"] = recrawls.articles.pop("/5")
    recrawls.unlinked.add("/moved")
    passages, embedded = update()
    assert 1 <= embedded <= 8, "what has not changed keeps its vectors"
    (first, *_) = passages.search("island Zanzibar")
    assert first["url"].partition("#")[0] == f"{site.url}/3"
    assert "Zanzibar is an island." in first["markdown"]
    pages = {page["url"].removeprefix(site.url) for page in passages.pages.values()}
    assert {"/4", "/5"}.isdisjoint(pages)
    assert "/moved" in pages
    assert update()[1] == 0
