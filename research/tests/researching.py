"""The command line of the research package, in tests."""

from __future__ import annotations

from functools import partial

from tests import conftest

run = partial(conftest.run, module="contentspider_research")
