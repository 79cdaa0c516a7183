"""How the flags of ``contentspider crawl`` become settings."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

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


@pytest.mark.parametrize(
    ("flags", "is_imported"),
    [([], False), (["-s", "REMOTE_CONTROL_ENABLED=1", "-s", "TELNETCONSOLE_ENABLED=1"], True)],
)
def test_extensions_that_serve_the_crawler_are_imported_if_they_are_turned_on(
    flags: list[str], is_imported: bool
) -> None:
    options = build_parser().parse_args(["crawl", *flags, "http://e.org"])
    extensions = crawl_settings(options).getwithbase("EXTENSIONS")
    assert "scrapy.extensions.corestats.CoreStats" in extensions
    assert ("scrapy.extensions.telnet.TelnetConsole" in extensions) is is_imported
    remote = "scrapy.extensions.remote_control.RemoteControl"
    if remote in Settings().getwithbase("EXTENSIONS"):  # Scrapy 2.19 and later
        assert (remote in extensions) is is_imported
