"""The JSON Schema of items: it describes what extraction and the command line write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.cli import main
from contentspider.crawl.base.items import ContentItem
from contentspider.site.models.item import item_schema
from tests.conftest import read_jsonl

jsonschema = pytest.importorskip("jsonschema")

if TYPE_CHECKING:
    from pathlib import Path

KILN = """<title>Wood kilns</title><meta name=keywords content="clay, fire">
<nav><a href=/>Home</a></nav>
<main><h1>Wood kilns</h1>
<p>The kiln burns wood for a day and a night, until the cones bend. It is opened when it is cold.
<h2 id=glaze>Glaze</h2>
<p>Ash from the fire settles on the pots, melts, and runs down their shoulders.
<img src=/kiln.jpg alt="A kiln" width=640 height=480></main>
"""


def test_items_with_all_optional_fields_follow_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    page, output = tmp_path / "kiln.html", tmp_path / "items.jsonl"
    page.write_text(KILN)
    fields = tmp_path / "fields.toml"
    fields.write_text('heads = {css = "h1, h2", many = true}\nfirst = {css = "h1"}')
    options = ["--passages", "300", "--images", "--summary", "--fields", str(fields)]
    options += ["-o", str(output)]
    assert main(["extract", str(page), *options]) == 0
    (item,) = read_jsonl(output)
    assert item["passages"] and item["images"] and item["keywords"]
    assert item["fields"] == {"heads": ["Wood kilns", "Glaze"], "first": "Wood kilns"}
    jsonschema.validate(item, schema)
    assert set(item) <= set(schema["properties"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": 3},
        {"title": "no address"},
        {"url": "http://e.org", "keywords": "clay"},
        {"url": "http://e.org", "images": [{"url": "http://e.org/a.jpg"}]},
        {"url": "http://e.org", "confidence": None},
        {"url": "http://e.org", "fields": {"sizes": [1, None]}},
    ],
)
def test_schema_rejects_fields_of_other_types(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, item_schema())


def test_schema_has_every_field_of_items() -> None:
    assert list(item_schema()["properties"]) == list(ContentItem.__dataclass_fields__)
