"""The fixtures of contentspider's own tests."""

from __future__ import annotations

from tests.conftest import example_corpus, site

__all__ = ["example_corpus", "site"]
