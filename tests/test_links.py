"""Links cost little, whatever they look like."""

from __future__ import annotations

import re
import time

import pytest

from contentspider.crawl import duplicates, links, sitemaps, traps

PATTERNS = [
    (module, name)
    for module in (duplicates, links, sitemaps, traps)
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern)
]
UNITS = ["a", "0", "a0", "-", "/", "?", "&", "&sid=a0", "/(a(", ";jsessionid=a", "utm_", "http:"]


@pytest.mark.parametrize(
    ("module", "name"), PATTERNS, ids=[f"{module.__name__}.{name}" for module, name in PATTERNS]
)
def test_no_regular_expression_takes_long(module: object, name: str) -> None:
    pattern = getattr(module, name)
    started = time.process_time()
    for unit in UNITS:
        for text in (unit * 5_000, f"https://e.org/{unit * 5_000}\n!"):
            pattern.search(text.encode() if isinstance(pattern.pattern, bytes) else text)
    assert time.process_time() - started < 1


def test_forms_of_long_addresses_take_no_time() -> None:
    started = time.process_time()
    for unit in UNITS:
        address = f"https://e.org/{unit * 5_000}"
        for function in (
            traps.without_session,
            traps.repeats,
            traps.shape_of,
            links.clean_address,
            duplicates.plain_form,
        ):
            function(address)
    assert time.process_time() - started < 2
