"""The fixtures of contentspider's own tests."""

from __future__ import annotations

from tests.conftest import site

__all__ = ["site"]
