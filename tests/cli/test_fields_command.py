"""``contentspider fields``: the places, values and doubts of a site's fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.page.input.page import Page
from contentspider.site.fields.site_fields import FIELD_NAMES
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.identity import page_id
from contentspider.site.models.record import page_fields
from contentspider.state.book.book import Book
from contentspider.state.stores.models import ModelStore
from tests.conftest import run
from tests.sites import prose
from tests.visited import Seen, crawling, see

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 12
FIELDS = """
[price]
type = "number"
examples = [{url = "https://e.org/1", value = "101"}, {url = "https://e.org/2", value = "102"}]
[size]
examples = [{url = "https://e.org/1", value = "XL"}, {url = "https://e.org/99", value = "S"}]
[shop]
css = "h1"
[code]
css = ".none"
"""


def html(number: int) -> str:
    text = "".join(f"<p>{prose(number, part)}</p>" for part in range(8))
    return (
        f"<title>Lamp {number}</title><meta name=author content='Ada Byron'><h1>The shop</h1>"
        f"<p class=by>by Ada Byron</p><p class=price>Price: {100 + number} EUR</p>{text}"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the model and the book of a site."""
    folder = tmp_path_factory.mktemp("fields")
    (folder / "fields.toml").write_text(FIELDS)
    options = LearningOptions(fields=str(folder / "fields.toml"))
    pages = [
        Page.from_html(html(number), f"https://e.org/{number}", fields_file=options.own_fields)
        for number in range(PAGES)
    ]
    model = SiteLearner("e.org", options).fit(pages)
    ModelStore(folder / "models").save(model, "test")
    book = Book(folder / "state" / "e.org.sqlite")
    with crawling(book):
        for page in pages:
            item = page_fields(page, "e.org", model.extract(page), model.version)
            values = {"url": page.url, "model": model.version}
            see(book, Seen(page_id(page.url), text="", item=item, values=values))
    book.close()
    return folder


def reports(folder: Path, *options: str) -> dict[str, dict[str, Any]]:
    done = run("fields", "e.org", "--json", "--state-dir", "state", *options, cwd=folder)
    return {report["name"]: report for report in map(json.loads, done.stdout.splitlines())}


def test_fields_are_reported_with_places_values_and_doubts(folder: Path) -> None:
    found = reports(folder, "--fields", "fields.toml")
    assert list(found) == [*FIELD_NAMES, "price", "size", "shop", "code"]
    author, price = found["author"], found["price"]
    assert (author["source"], author["pages"], author["with_value"]) == ("statements", PAGES, PAGES)
    assert (price["is_own"], price["source"], price["with_value"]) == (True, "examples", PAGES)
    assert (price["right"], price["tested"], price["precision"]) == (2, 2, 1.0)
    assert any("p.price" in place for place in price["places"])
    assert {"url": "https://e.org/1", "value": 101.0} in price["examples"]
    assert price["doubts"] == []
    assert found["published_at"]["with_value"] == 0
    assert (found["shop"]["source"], found["shop"]["with_value"]) == ("selector", PAGES)
    assert len(found["shop"]["doubts"]) == len(found["code"]["doubts"]) == 1
    assert any("https://e.org/99" in doubt for doubt in found["size"]["doubts"])


def test_fields_without_their_file_are_those_of_the_items(folder: Path) -> None:
    assert list(reports(folder)) == [*FIELD_NAMES, "price", "size", "shop"]


def test_changed_file_and_a_missing_book_are_told(folder: Path) -> None:
    (folder / "changed.toml").write_text(FIELDS.replace('"102"', '"103"'))
    changed = reports(folder, "--fields", "changed.toml")["price"]
    assert len(changed["doubts"]) == 1
    done = run("fields", "e.org", "--state-dir", "none", cwd=folder)
    assert "price (your field)" in done.stdout
    assert "e.org" in done.stderr
    done = run("fields", "other.org", cwd=folder, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_damaged_book_of_another_crawl_is_left_out(folder: Path) -> None:
    damaged = folder / "state" / "other.org.sqlite"
    damaged.write_bytes(b"no database" * 100)
    done = run("fields", "e.org", "--json", "--state-dir", "state", cwd=folder)
    assert json.loads(done.stdout.splitlines()[0])["pages"] == PAGES
    assert damaged.name in done.stderr


def test_lines_for_people_have_the_same(folder: Path) -> None:
    shown = run(
        "fields", "e.org", "--fields", "fields.toml", "--state-dir", "state", cwd=folder
    ).stdout
    for line in (
        "price (your field): 12 of 12 pages with a value",
        "  value: 101.0  https://e.org/1",
        "code (your field): 0 of 12 pages with a value",
    ):
        assert line in shown.splitlines()
