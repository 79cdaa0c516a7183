"""What the add-on puts into a project's settings, and what it leaves to the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scrapy.settings import SETTINGS_PRIORITIES, Settings

from contentspider.crawl.addon import COMPONENTS, PARQUET_EXPORTER, Addon
from contentspider.crawl.base.options import DEFAULTS
from contentspider.crawl.handlers import HTTPS_HANDLER
from contentspider.crawl.learning.holder import ItemPipelines
from contentspider.crawl.queue.requests import OrderedFingerprinter
from contentspider.crawl.queue.scheduler import BookScheduler

if TYPE_CHECKING:
    from typing import Any


def test_addon_fills_in_unset_settings_and_registers_its_components() -> None:
    settings = Settings({"CONTENTSPIDER_DURABLE": True})
    Addon().update_settings(settings)
    for name, default in DEFAULTS.items():
        if name != "CONTENTSPIDER_DURABLE":
            assert settings[name] == default
            assert settings.getpriority(name) == SETTINGS_PRIORITIES["default"]
    parts = {
        "SCHEDULER": BookScheduler,
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


@pytest.mark.parametrize(
    ("own", "is_warned"),
    [
        ({}, False),
        ({"CONTENTSPIDER_VERIFY_TLS": "always"}, True),
        ({"CONTENTSPIDER_HEADERS": {"X-Key": "s3cret"}}, True),
        ({"CONTENTSPIDER_VERIFY_TLS": "always", "DOWNLOAD_VERIFY_CERTIFICATES": True}, False),
        ({"CONTENTSPIDER_VERIFY_TLS": "never", "CONTENTSPIDER_HEADERS": {"X-Key": "s"}}, False),
    ],
)
def test_addon_keeps_handler_of_project_and_warns_if_it_has_to_verify(
    caplog: pytest.LogCaptureFixture, own: dict[str, Any], is_warned: bool
) -> None:
    settings = Settings(own)
    Addon().update_settings(settings)
    assert settings.getwithbase("DOWNLOAD_HANDLERS")["https"] == HTTPS_HANDLER
    settings = Settings(own | {"DOWNLOAD_HANDLERS": {"https": "my.Handler"}})
    assert not caplog.messages
    Addon().update_settings(settings)
    assert settings.getwithbase("DOWNLOAD_HANDLERS")["https"] == "my.Handler"
    assert ("DOWNLOAD_VERIFY_CERTIFICATES" in caplog.text) is is_warned
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    ("own", "is_warned"),
    [
        ({}, True),
        ({"HTTPCACHE_EXPIRATION_SECS": 3600}, False),
        ({"HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy"}, False),
        ({"HTTPCACHE_ENABLED": False}, False),
        ({"CONTENTSPIDER_DURABLE": False}, False),
    ],
)
def test_addon_warns_of_cache_that_hides_changes_from_later_crawls(
    caplog: pytest.LogCaptureFixture, own: dict[str, Any], is_warned: bool
) -> None:
    cached = {"CONTENTSPIDER_DURABLE": True, "HTTPCACHE_ENABLED": True}
    Addon().update_settings(Settings(cached | own))
    assert len(caplog.messages) == is_warned
    assert ("HTTPCACHE_EXPIRATION_SECS" in caplog.text) is is_warned
