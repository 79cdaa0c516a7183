"""What the add-on puts into a project's settings, and what it leaves to the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES, Settings

from contentspider.crawl.addon import COMPONENTS, PARQUET_EXPORTER, Addon
from contentspider.crawl.base.options import DEFAULTS
from contentspider.crawl.learning.holder import ItemPipelines
from contentspider.crawl.queue.requests import OrderedFingerprinter
from contentspider.crawl.queue.scheduler import LedgerScheduler

if TYPE_CHECKING:
    import pytest


def test_addon_fills_in_unset_settings_and_registers_its_components() -> None:
    settings = Settings({"CONTENTSPIDER_DURABLE": True})
    Addon().update_settings(settings)
    for name, default in DEFAULTS.items():
        if name != "CONTENTSPIDER_DURABLE":
            assert settings[name] == default
            assert settings.getpriority(name) == SETTINGS_PRIORITIES["default"]
    parts = {
        "SCHEDULER": LedgerScheduler,
        "ITEM_PROCESSOR": ItemPipelines,
        "REQUEST_FINGERPRINTER_CLASS": OrderedFingerprinter,
    }
    for name, part in parts.items():
        assert settings[name] is part
        assert settings.getpriority(name) == SETTINGS_PRIORITIES["addon"]
    assert settings["FEED_EXPORTERS_BASE"]["parquet"] == PARQUET_EXPORTER
    for name, part, order in COMPONENTS:
        assert settings[name][part] == order


def test_addon_keeps_project_settings_and_warns_about_lost_features(
    caplog: pytest.LogCaptureFixture,
) -> None:
    own = {"SCHEDULER": "my.Scheduler", "ITEM_PROCESSOR": "my.Processor"}
    settings = Settings(own | {"CONTENTSPIDER_DURABLE": True})
    Addon().update_settings(settings)
    assert {name: settings[name] for name in own} == own
    scheduler_message, processor_message = caplog.messages
    assert "SCHEDULER is 'my.Scheduler'" in scheduler_message
    assert "ITEM_PROCESSOR is 'my.Processor'" in processor_message
    own["SCHEDULER"] = "my.Other"
    settings = Settings(own)
    caplog.clear()
    Addon().update_settings(settings)
    assert settings["SCHEDULER"] == "my.Other"
    assert "SCHEDULER" not in caplog.text, "a crawl that is not durable takes any"
