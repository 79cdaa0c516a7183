"""What the tests of this distribution share with those of contentspider."""

from __future__ import annotations

from tests.conftest import site

__all__ = ["site"]
