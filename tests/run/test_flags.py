"""How the flags of ``contentspider crawl`` become settings."""

from __future__ import annotations

import pytest

from contentspider.cli import build_parser
from contentspider.run.run import crawl_settings


@pytest.mark.parametrize(
    ("flags", "requests", "delay"),
    [
        ([], 4, 0.25),
        (["--own-site"], 16, 0),
        (["--own-site", "--concurrency", "2", "--delay", "1"], 2, 1),
        (["--concurrency", "8"], 8, 0.25),
    ],
)
def test_unset_flags_keep_default_settings(flags: list[str], requests: int, delay: float) -> None:
    settings = crawl_settings(build_parser().parse_args(["crawl", *flags, "http://e.org"]))
    assert settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN") == requests
    assert settings.getfloat("DOWNLOAD_DELAY") == delay
