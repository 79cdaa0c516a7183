"""Tests for packages that extend contentspider. They need the extra ``testing`` (pytest)."""

import pytest

# pytest shows the values in failed assertions only for test files and modules registered here.
pytest.register_assert_rewrite("contentspider.testing.engines")
