"""Tests for packages that extend contentspider: the extra ``testing`` (pytest)."""

import pytest

# Failed assertions show their values, as in a project's own tests.
pytest.register_assert_rewrite("contentspider.testing.engines")
