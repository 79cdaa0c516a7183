"""``scrapy shell``, ``fetch`` and ``parse`` look at a page with the add-on on: no file is
touched.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TIMEOUT, Site
from tests.sites import small_site

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """
ADDONS = {"contentspider.Addon": 500}
SPIDER_MODULES = ["spiders"]
CONTENTSPIDER_DURABLE = %s
CONTENTSPIDER_OUTPUT_FILE = "out.jsonl"
REMOTE_CONTROL_ENABLED = TELNETCONSOLE_ENABLED = False
LOG_LEVEL = "INFO"
"""
SPIDER = """
import scrapy
from contentspider import ContentItem

class MySpider(scrapy.Spider):
    name = "my"
    def parse(self, response):
        yield ContentItem.from_response(response)
"""


@pytest.mark.parametrize(
    ("command", "durable"),
    [
        (["shell", "-c", "print(response.status)"], True),
        (["fetch", "--headers"], False),
        (["parse", "--spider=my", "--pipelines", "--nocolour"], True),
    ],
)
def test_scrapy_shell_fetch_and_parse_write_no_files(
    command: list[str], durable: bool, site: Site, tmp_path: Path
) -> None:
    small_site(site, 2)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (tmp_path / "settings.py").write_text(SETTINGS % durable)
    (tmp_path / "spiders.py").write_text(SPIDER)
    before = {path.name for path in tmp_path.iterdir()}
    done = subprocess.run(
        [sys.executable, "-B", "-m", "scrapy", *command, site.url + "/"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert "ERROR" not in done.stderr
    assert "200" in done.stdout if command[0] == "shell" else done.stdout
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == before
