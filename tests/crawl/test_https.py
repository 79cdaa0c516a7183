"""Warnings of invalid certificates."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.crawl import handlers
from contentspider.crawl.handlers import RepeatedWarnings

if TYPE_CHECKING:
    import pytest


def test_each_warning_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "MAX_WARNINGS", 2)
    logger = logging.getLogger("tests.certificates")
    warnings = RepeatedWarnings()
    logger.addFilter(warnings)
    for host in "aabacc":
        logger.warning("no valid certificate: %s", host)
    logger.removeFilter(warnings)
    hosts = [message[-1] for message in caplog.messages]
    assert hosts == ["a", "b", "c", "c"], "beyond the limit nothing is remembered"
