"""What does not matter to a reader of a page is no change: ages, counters, texts that alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.restless import RestlessSite
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

KIND = "text/html; charset=utf-8"


class Restless(Recrawls):
    """Crawls of a `RestlessSite`, each a day after the last one."""

    def __init__(self, site: Site, folder: Path, number: int) -> None:
        super().__init__(site, folder)
        self.pages = RestlessSite(number)

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        html = self.pages.html(path)
        return (404, KIND, b"<p>none</p>") if html is None else (200, KIND, html.encode())


@pytest.mark.parametrize("number", [1, 2])
def test_only_changes_that_matter_to_readers_are_told(
    site: Site, tmp_path: Path, number: int
) -> None:
    restless = Restless(site, tmp_path, number)
    restless.crawl()
    assert set(restless.changes().values()) == {"new"}
    restless.pages.day = 1
    restless.crawl()
    restless.records()
    restless.pages.day = 2
    items = restless.crawl()
    records = {record["url"]: record for record in restless.records()}
    assert {record["change"] for record in records.values()} == {"unchanged"}
    ignored = {"ages", "counters", "alternating texts"}
    assert set(records["/3"]["reason"].split(", ")) <= ignored
    assert "alternating texts" in records["/3"]["reason"]
    assert {item["change"] for item in items.values()} == {"unchanged"}
    assert "ignored: 12 " in restless.said

    restless.pages.day = 3
    restless.pages.edited = {"/2": "sentence", "/3": "price", "/4": "day"}
    items = restless.crawl()
    assert restless.changes() == dict.fromkeys(restless.pages.edited, "changed")
    assert {path for path, item in items.items() if item["change"] == "changed"} == {
        *restless.pages.edited
    }
