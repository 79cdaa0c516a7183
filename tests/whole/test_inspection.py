"""``scrapy shell``, ``fetch`` and ``parse`` look at a page with the add-on on: no file is
touched.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TIMEOUT, Site
from tests.sites import prose, small_site

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """
ADDONS = {"contentspider.Addon": 500}
SPIDER_MODULES = ["spiders"]
CONTENTSPIDER_DURABLE = %s
CONTENTSPIDER_OUTPUT_FILE = "out.jsonl"
CONTENTSPIDER_ITEM_FIELDS = {"dict": {"content": "text"}}
REMOTE_CONTROL_ENABLED = TELNETCONSOLE_ENABLED = False
LOG_LEVEL = "INFO"
"""
SPIDER = """
from dataclasses import dataclass
import scrapy
from contentspider import ContentItem

class MySpider(scrapy.Spider):
    name = "my"
    def parse(self, response):
        yield ContentItem.from_response(response)

    def parse_link(self, response):
        yield response.follow("/1", lambda answer: None, dont_filter=True, meta={"odd": object()})

    def parse_dict(self, response):
        yield {"url": response.url}
        yield Other()

@dataclass
class Other:
    url: str = ""
"""


def make_project(folder: Path, site: Site, durable: bool) -> None:
    small_site(site, 2)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (folder / "settings.py").write_text(SETTINGS % durable)
    (folder / "spiders.py").write_text(SPIDER)


def inspect(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", "-m", "scrapy", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )


@pytest.mark.parametrize(
    ("command", "durable"),
    [
        (["shell", "-c", "print(response.status)"], True),
        (["fetch", "--headers"], False),
        (["parse", "--spider=my", "--pipelines", "--nocolour"], True),
        (["parse", "--spider=my", "--callback=parse_link", "--depth=2"], True),
    ],
)
def test_scrapy_shell_fetch_and_parse_write_no_files(
    command: list[str], durable: bool, site: Site, tmp_path: Path
) -> None:
    make_project(tmp_path, site, durable)
    before = {path.name for path in tmp_path.iterdir()}
    done = inspect(tmp_path, *command, site.url + "/")
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert "ERROR" not in done.stderr
    assert "SequenceExclude" not in done.stderr, "no run resumes the requests"
    assert "200" in done.stdout if command[0] == "shell" else done.stdout
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == before


def test_items_in_shell_have_content_judged_by_prior(site: Site, tmp_path: Path) -> None:
    make_project(tmp_path, site, durable=True)
    of = "__import__('contentspider')"
    code = (
        f"print({of}.ContentItem.from_response(response).content,"
        f" [block.is_content for block in {of}.page_of(response).blocks])"
    )
    done = inspect(tmp_path, "shell", "-c", code, site.url + "/1")
    assert prose(1, 1) in done.stdout and "True" in done.stdout
    assert "Traceback" not in done.stderr
    assert "it has no model" in done.stderr, "it says who judges the page"


def test_parse_fills_items_of_mapped_classes_and_names_others(site: Site, tmp_path: Path) -> None:
    make_project(tmp_path, site, durable=False)
    command = ("parse", "--spider=my", "--callback=parse_dict", "--nocolour", "--nolinks")
    done = inspect(tmp_path, *command, site.url + "/1")
    assert prose(1, 1) in re.sub(r"'\s+'", "", done.stdout), "pprint breaks the text into lines"
    assert "CONTENTSPIDER_ITEM_FIELDS = {'spiders.Other': {'content': 'content'}}" in done.stderr
