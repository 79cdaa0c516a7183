from __future__ import annotations

import json
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scrapy

from contentspider.crawl.base.items import ContentItem
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.model import SCHEMA, SiteModel
from contentspider.state.book.item_json import dump_item, load_item
from contentspider.state.stores.models import ModelStore
from tests.messages import raises, wording

if TYPE_CHECKING:
    from pathlib import Path

HTML = (
    "<title>t</title><nav><a href=/>Home</a></nav><p>Words that go on for a while, with commas, and"
    " that end with a full stop here.</p>"
)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    store = ModelStore(tmp_path / "models")
    store.save(SiteLearner("example.org").fit([Page.from_html(HTML)]))
    return store


def test_stored_model_is_loaded_and_missing_generations_are_reported(store: ModelStore) -> None:
    model = store.load("example.org")
    assert model is not None
    assert store.sites() == ["example.org"]
    assert store.load("other.org") is None
    assert (
        store.missing("example.org", 3) == "example.org has no generation 3; its generations are: 1"
    )
    assert store.missing("other.org", "x").endswith("no generation x; its generations are: none")
    assert (
        json.loads((store.folder / "example.org" / "manifest.json").read_text())["version"]
        == model.version
    )


def damage_half(folder: Path) -> None:
    (weights,) = folder.glob("generations/1/weights.json.gz")
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])


def damage_manifest(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:100])


def damage_schema(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"schema": {SCHEMA}', '"schema": 99'))


def damage_path(folder: Path) -> None:
    manifest = folder / "manifest.json"
    record = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(record | {"weights": "../../secret.json"}))


def test_unknown_feature_names_in_model_weigh_nothing(store: ModelStore) -> None:
    model = store.read("example.org")
    record = json.loads(model.dump_weights())
    odd_ones = [["after", 1.0], ["slot", 1.0], ["after", "a", "b", "c", 1.0], [1.0], [7, None, 1.0]]
    record["classifier"]["weights"] += odd_ones
    page = Page.from_html(
        "<p>One more page of a site, and what it says is of no importance here.</p>"
    )
    odd = SiteModel.parse(model.manifest(), json.dumps(record).encode())
    np.testing.assert_array_equal(odd.probabilities(page), model.probabilities(page))


@pytest.mark.parametrize("damage", [damage_half, damage_manifest, damage_schema, damage_path])
def test_damaged_model_is_set_aside_with_one_warning(
    store: ModelStore, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    damage(store.folder / "example.org")
    with pytest.raises(StateError):
        store.read("example.org")
    assert store.load("example.org") is None
    assert store.load("example.org") is None
    (said,) = caplog.messages
    manifest = store.place("example.org") / "manifest.json"
    assert said.startswith(f"{manifest}: ")
    assert said.endswith(
        "; it is renamed to manifest.json.broken" + wording("state.site-learned-again")
    )
    assert (store.folder / "example.org" / "manifest.json.broken").is_file()


def unreadable(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()


def test_unreadable_model_that_cannot_be_set_aside_is_relearned(
    store: ModelStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable(store.folder / "example.org")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(store.folder), "replace", refuse)
    assert store.load("example.org") is None
    assert "cannot be renamed (Permission denied)" in caplog.text


def test_file_in_place_of_models_folder_holds_no_models(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("")
    assert ModelStore(tmp_path / "models").load("example.org") is None


@dataclass
class Article:
    url: str
    body: str = ""
    tags: list[str] = field(default_factory=list)
    made: Any = None


class Product(scrapy.Item):
    url = scrapy.Field()
    price = scrapy.Field()


@pytest.mark.parametrize(
    "item",
    [
        {"url": "u", "n": None, "nested": {"a": [1, 2.5, True]}},
        Article("u", tags=["a"], made=datetime(2024, 1, 2, tzinfo=timezone.utc)),
        Article("u", made=(b"\x00\xff", date(2024, 1, 2), {"x"})),
        Product(url="u", price=Decimal("1.10")),
        ContentItem("https://example.org/ü"),
    ],
)
def test_serialized_items_load_unchanged(item: object) -> None:
    again = load_item(dump_item(item))
    assert again == item
    assert type(again) is type(item)


class Colour(str, Enum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


@pytest.mark.parametrize("value", [Colour.RED, Size.LARGE, [Colour.RED], OrderedDict(a=1)])
def test_values_changing_type_in_json_raise_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        dump_item({"value": value})


@dataclass
class Counted(Article):
    words: int = field(init=False, default=0)
    lost: list[str] = field(init=False, default_factory=list)


def test_non_init_fields_of_item_survive_serialization() -> None:
    item = Counted("u", "Tea")
    item.words, item.lost = 7, ["a"]
    assert load_item(dump_item(item)) == item


def test_serialized_item_format_is_stable() -> None:
    time = datetime(2024, 1, 2, 3, 4, tzinfo=timezone.utc)
    item = {
        "\ud800": [None, True, 1, 0.5, ("é", {"k": "v"})],
        "times": [time, time.date()],
        "others": [Decimal("1.10"), b"\x00\xff", {1}, frozenset([2])],
    }
    text = (
        '["builtins", "dict", {"\\ud800": {"list": [null, true, 1, 0.5, {"tuple": ["\\u00e9",'
        ' {"dict": {"k": "v"}}]}]}, "times": {"list": [{"datetime": "2024-01-02T03:04:00+00:00"},'
        ' {"date": "2024-01-02"}]}, "others": {"list": [{"decimal": "1.10"}, {"bytes": "00ff"},'
        ' {"set": [1]}, {"frozenset": [2]}]}}]'
    )
    assert dump_item(item) == text
    assert load_item(text) == item
    assert dump_item(Product(url="u")) == f'["{__name__}", "Product", {{"url": "u"}}]'


@pytest.mark.parametrize("value", [{1: "a"}, {"a": {2: "b"}}, object(), int, range(2)])
def test_unserializable_values_raise_type_error(value: object) -> None:
    with pytest.raises(TypeError, match=r"^\w+ " + wording("state.value-not-stored") + "$"):
        dump_item({"value": value})


def test_item_of_unloaded_class_is_named_in_error() -> None:
    for module, name in (("a.b", "C"), ("json", "C.D"), ("json", "dumps"), (__name__, "Colour")):
        with raises(ContentSpiderError, "item-class", f" {module}.{name},"):
            load_item(json.dumps([module, name, {}]))


def test_loading_item_imports_no_modules() -> None:
    with pytest.raises(ContentSpiderError, match="not loaded"):
        load_item(json.dumps(["antigravity", "Item", {}]))
    assert "antigravity" not in sys.modules
    with pytest.raises(ContentSpiderError, match="not loaded"):
        load_item(json.dumps(["os", "system", {"command": "true"}]))
