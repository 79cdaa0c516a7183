"""Crawls with a user's own fields: held items, pages that are not sent again, indexes, errors."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import run
from tests.whole.test_recrawls_cheap import Validating

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

SELECTOR = '[code]\ncss = "article::attr(data-code)"\n'
EXAMPLES = """
[price]
type = "number"
examples = [{{url = "{0}/1", value = "101"}}, {{url = "{0}/2", value = "102"}}]
"""


class Shop(Validating):
    """Articles with a code in their markup, which is not text, and with a price."""

    def __init__(self, site: Site, folder: Path) -> None:
        super().__init__(site, folder)
        self.unsent = []
        self.articles = {
            path: html.replace("<article>", f"<article data-code=c{path[1:]}>").replace(
                "</h1>", f"</h1><p class=price>Price: {100 + int(path[1:])} EUR</p>"
            )
            for path, html in self.articles.items()
        }

    def fields(self, text: str) -> None:
        (self.folder / "fields.toml").write_text(text)

    def own(self, *options: str) -> dict[str, Any]:
        """Crawl with the fields, and return those of the items by path."""
        self.unsent.clear()
        items = self.crawl("--fields", "fields.toml", *options)
        return {path: item["fields"] for path, item in items.items()}


@pytest.fixture
def shop(site: Site, tmp_path: Path) -> Shop:
    return Shop(site, tmp_path)


def int_of(path: str) -> int:
    return int(path.removeprefix("/") or 0)


def indexed(folder: Path) -> Any:
    """Return the fields of the page /3 in the index."""
    with closing(sqlite3.connect(folder / "pages.db")) as index:
        query = "SELECT fields FROM documents WHERE url LIKE '%/3'"
        return json.loads(index.execute(query).fetchone()[0])


def searched(folder: Path, *options: str) -> list[str]:
    """Return the paths of the pages that a search finds."""
    done = run("search", "--index", "sqlite:pages.db", "--json", *options, cwd=folder)
    return [urlsplit(json.loads(line)["url"]).path for line in done.stdout.splitlines()]


def test_fields_follow_pages_and_their_file_from_crawl_to_crawl(shop: Shop) -> None:
    shop.fields(SELECTOR + EXAMPLES.format(shop.site.url))
    first = shop.own("--index", "sqlite:pages.db")
    assert first["/3"] == indexed(shop.folder) == {"code": "c3", "price": 103.0}
    shown = run("models", "show", urlsplit(shop.site.url).netloc.replace(":", "-"), cwd=shop.folder)
    assert "p.price" in shown.stdout
    # Pages that are not sent keep their values.
    assert shop.own() == first
    assert "/3" in shop.unsent
    cheap = searched(shop.folder, "--filter", "price<=103", "--filter", "price>101")
    assert sorted(cheap) == ["/2", "/3"]
    assert searched(shop.folder, "--sort", "price:desc", "--limit", "1") == [max(first, key=int_of)]
    assert searched(shop.folder, "--filter", "code=c3") == ["/3"]
    # A value that only the markup has is no text: only the field has changed.
    shop.articles["/3"] = shop.articles["/3"].replace("data-code=c3", "data-code=new")
    shop.changes()
    found = shop.own("--index", "sqlite:pages.db")["/3"]
    assert found == indexed(shop.folder) == {"code": "new", "price": 103.0}
    (change,) = [record for record in shop.records() if record["change"] != "unchanged"]
    assert (change["url"], change["change"], change["change_cause"]) == ("/3", "changed", "fields")
    assert (change["fields"], change["change_ratio"]) == ({"code": ["c3", "new"]}, 0.0)
    assert searched(shop.folder, "--filter", "code=new") == ["/3"]
    assert shop.own()["/3"]["code"] == "new"
    assert "/3" in shop.unsent
    # A page with another text is changed, and its record has the fields, too.
    shop.articles["/4"] = shop.articles["/4"].replace("Price: 104", "Price: 99.5")
    assert shop.own()["/4"]["price"] == 99.5
    (change,) = [record for record in shop.records() if record["change"] != "unchanged"]
    assert (change["url"], change["change_cause"]) == ("/4", "page")
    assert change["fields"] == {"price": [104.0, 99.5]}
    # Another selector is matched on all pages, though they are not sent at first. Its values are no
    # changes of the pages.
    shop.fields(SELECTOR.replace("code", "it", 1))
    assert shop.own()["/4"] == {"it": "c4"}
    assert shop.own()["/4"] == {"it": "c4"}
    assert shop.changes() == {}
    assert "/4" in shop.unsent
    # Without the file items have no own fields.
    assert {str(item["fields"]) for item in shop.crawl().values()} == {"{}"}


def test_broken_file_ends_the_crawl_before_any_request(site: Site, tmp_path: Path) -> None:
    (tmp_path / "fields.toml").write_text("[code]\ncss = 'p['")
    asked: list[str] = []

    def answer(path: str) -> tuple[int, str, bytes]:
        asked.append(path)
        return 404, "text/html", b""

    site.answer = answer
    done = run("crawl", site.url, "--fields", "fields.toml", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "fields.toml" in done.stderr
    assert "Traceback" not in done.stderr
    assert asked == []
