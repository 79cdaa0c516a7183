from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from contentspider.crawl.addon import Addon
from contentspider.crawl.base.option import SettingError
from contentspider.crawl.base.options import DEFAULTS, SETTINGS, CrawlOptions
from contentspider.crawl.progress import live_line
from contentspider.ground.extras import MissingExtraError
from tests.conftest import run
from tests.messages import wording

if TYPE_CHECKING:
    from pathlib import Path


def options(**settings: Any) -> CrawlOptions:
    return CrawlOptions.from_settings(
        Settings({f"CONTENTSPIDER_{name}": value for name, value in settings.items()})
    )


def test_missing_settings_have_default_values() -> None:
    for found in (options(), CrawlOptions.from_settings(Settings(DEFAULTS))):
        assert found.learn_pages == DEFAULTS["CONTENTSPIDER_LEARN_PAGES"]
        assert found.learning.features == ("slots",)
        assert found.models_dir == "models"


def test_string_settings_are_converted_to_values() -> None:
    found = options(
        LEARN_PAGES="30",
        RELEARN="True",
        FEATURES="slots, tags",
        PROGRESS_SECS="0",
        ITEM_FIELDS='{"dict": {"content": "body"}}',
        OUTPUT_FILE=None,
    )
    assert (found.learn_pages, found.relearn, found.progress_secs) == (30, True, 0.0)
    assert found.learning.features == ("slots", "tags")
    assert found.item_fields.fields({}) == {"content": "body"}
    assert found.output_file == ""


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("LEARN_PAGES", "abc", "a whole number from 1 on, such as 2000"),
        ("LEARN_PAGES", 0, "from 1 on"),
        ("LEARN_PAGES", 2.5, "a whole number"),
        ("OUTAGE_SECS", "inf s", "a number from 0 on"),
        ("BOOK_MB", "-1", "from 0 on"),
        ("OWN_TEXTS", -1, "from 0 on"),
        ("PROGRESS_SECS", "nan", "from 0 on"),
        ("MONITOR_MIN_KEPT", 10, "from 0 to 1"),
        ("RELEARN", "maybe", "true or false"),
        ("SITE_BY", "page", "use one of 'domain', 'host'"),
        ("LABELS", "best", "use one of 'votes'"),
        ("FEATURES", "slots,colour", "'colour'"),
        ("FEATURES", 5, "a list of texts"),
        ("ITEM_FIELDS", "{", "a JSON object"),
        ("ITEM_FIELDS", {"my.Item": "body"}, "{'content': 'body'}"),
        ("ITEM_FIELDS", {"my.Item": {"text": "body"}}, "its fields are url"),
        ("PRIOR_FILE", "none.npz", "train-prior"),
        ("MODELS_DIR", 5, "text, such as 'models'"),
    ],
)
def test_invalid_setting_is_named_with_advice(name: str, value: object, advice: str) -> None:
    with pytest.raises(SettingError) as raised:
        options(**{name: value})
    message = str(raised.value)
    assert message.startswith(f"CONTENTSPIDER_{name}")
    assert advice in message
    assert "\n" not in message


def test_every_setting_is_validated() -> None:
    for setting in SETTINGS:
        with pytest.raises(SettingError, match=setting.setting):
            CrawlOptions.from_settings(Settings({setting.setting: object()}))


def test_unknown_setting_error_suggests_nearest_name() -> None:
    with pytest.raises(SettingError, match=r"LEARN_PAGE;.*did you mean CONTENTSPIDER_LEARN_PAGES"):
        options(LEARN_PAGE=30)


def test_addon_rejects_invalid_settings_at_startup() -> None:
    with pytest.raises(SettingError, match="CONTENTSPIDER_LEARN_PAGES='abc'"):
        Addon().update_settings(Settings({"CONTENTSPIDER_LEARN_PAGES": "abc"}))


@dataclass
class Article:
    body: str = ""

    class Part(dict[str, str]):
        """An item of any field."""


@pytest.mark.parametrize(
    ("path", "field", "advice"),
    [
        (f"{__name__}.Article", "body", ""),
        (f"{__name__}.Article.Part", "body", ""),
        (f"{__name__}.Article", "text", "has no fields ['text']; it has body"),
        (f"{__name__}.Artikle", "body", "there is no such class"),
        (f"{__name__}.Addon", "body", "contentspider.crawl.addon.Addon"),
        ("no_such_module.Article", "body", "there is no such class"),
        ("builtins.dict", "body", "another name of dict"),
        ("json.JSONDecoder", "body", "another name of json.decoder.JSONDecoder"),
        ("json.decoder.JSONDecoder", "body", "not a valid item class"),
    ],
)
def test_mapped_item_class_must_exist_and_have_the_fields(
    path: str, field: str, advice: str
) -> None:
    settings = Settings({"CONTENTSPIDER_ITEM_FIELDS": {path: {"content": field}}})
    if not advice:
        Addon().update_settings(settings)
        return
    with pytest.raises(SettingError) as raised:
        Addon().update_settings(settings)
    assert path in str(raised.value) and advice in str(raised.value)


def test_disabled_addon_adds_nothing() -> None:
    settings = Settings({"CONTENTSPIDER_ENABLED": "False", "CONTENTSPIDER_DURABLE": True})
    Addon().update_settings(settings)
    assert not settings["ITEM_PIPELINES"]
    assert settings["SCHEDULER"] == Settings()["SCHEDULER"]


def test_invalid_setting_prints_single_line_on_command_line(tmp_path: Path) -> None:
    done = run(
        "crawl",
        "http://127.0.0.1:9",
        "-s",
        "CONTENTSPIDER_LEARN_PAGES=abc",
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode
    assert done.stderr.count("\n") == 1
    assert "CONTENTSPIDER_LEARN_PAGES='abc'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_missing_spidermon_error_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Settings({"EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500}})
    monkeypatch.setitem(sys.modules, "spidermon", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'contentspider\[monitors\]'"):
        CrawlOptions.from_settings(wanted)


def test_progress_uses_plain_lines_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert live_line() is None


def test_invalid_interval_settings_raise_setting_error() -> None:
    for values, named in (
        ({"CONTENTSPIDER_DUE": True}, wording("crawl.needs-history")),
        ({"CONTENTSPIDER_MAX_INTERVAL": 0.03}, "from 0.04 on"),
        ({"CONTENTSPIDER_MEAN_INTERVAL": 0}, "from 0.001 on"),
    ):
        with pytest.raises(SettingError, match=named):
            CrawlOptions.from_settings(Settings(DEFAULTS | values))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"MODELS_DIR": "s3://ID:hidden@bucket"},
            "CONTENTSPIDER_MODELS_DIR: the URL of a s3 store",
        ),
        ({"BOOKS_URL": "folder", "DURABLE": True}, wording("crawl.give-store-url")),
        ({"BOOKS_URL": "s3://bucket/x"}, "CONTENTSPIDER_DURABLE=True"),
    ],
)
def test_invalid_store_settings_raise_error_without_passwords(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingError, match=re.escape(message)) as error:
        options(**settings)
    assert "hidden" not in str(error.value)
