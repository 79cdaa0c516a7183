"""Which hosts are public, so that their owners need a contact."""

from __future__ import annotations

import pytest

from contentspider.ground.useragent import are_public


@pytest.mark.parametrize(
    ("addresses", "is_public"),
    [
        (
            ["http://127.0.0.1:8000/", "http://192.168.1.2/", "http://nas.local./", "http://wiki/"],
            0,
        ),
        (["http://[::1]/", "http://[fd00::2]/", "http://router.home.arpa/"], 0),
        ([], 0),
        (["https://example.org/"], 1),
        (["http://localhost/", "https://example.org/"], 1),
        (["http://[2606:4700::1]/"], 1),
    ],
)
def test_hosts_are_public_as_their_names_tell(addresses: list[str], is_public: int) -> None:
    assert are_public(addresses) == bool(is_public)
