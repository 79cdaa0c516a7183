"""Every code block of README.md and docs/*.md runs as it is printed, in an empty folder.

The blocks of a page run in order, in one folder:

- ``sh`` and ``console`` by bash. What a console block shows is printed, but for its numbers.
- Python in a process of its own; dialogues with Python by doctest.
- A block whose paragraph names its file (In `sites.toml`:) is added to the end of that file. A
  command reads it later, or it belongs to a project of Scrapy's: `settings.py` and spiders are
  crawled with at the end.

A block that does not run has a comment before it that says why. Nothing is replaced in a block:
https://example.org is reached by a proxy on loopback (`tests.docs_site`). But servers listen at any
port, and pip installs nothing: it is looked whether the package has the extra.

`CONTENTSPIDER_DOCS_PYTHON` names the Python of an environment in which the wheel is installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.docs_blocks import PAGES, Block, blocks_of, parts_of_a_dialogue, without_numbers
from tests.docs_site import DocsSite, serve_docs

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = os.environ.get("CONTENTSPIDER_DOCS_PYTHON", sys.executable)
BLOCKS = {page: blocks_of(page) for page in PAGES}
LANGUAGES = {"sh", "console", "python", "pycon", "toml"}
# Programs that are not ours, and what of a command shows that it needs them.
PROGRAMS = {"wget": "wget ", "chromium": "--screenshots"}
SERVER = re.compile(r"^(contentspider (?:serve|annotate).*?)(?= *#|$)", re.MULTILINE)
PIP = re.compile(r"^pip install '?contentspider(?:\[([\w,]+)\])?'?(?= *#| *$)", re.MULTILINE)
SECONDS = 120
SPIDER = '''
import scrapy
from contentspider import ContentItem


class Reader(scrapy.Spider):
    name = "reader"
    start_urls = ["https://example.org", "https://example.org/tea", "https://example.org/walks"]

    def parse(self, response):
        yield ContentItem.from_response(response)
'''


def runs(block: Block) -> bool:
    return not block.mark


class Reader:
    """Somebody who does in a folder what a page says, word by word."""

    def __init__(self, folder: Path, site: DocsSite, environment: dict[str, str]) -> None:
        self.folder, self.site, self.environment = folder, site, environment
        # What was written to files by blocks, and which of these files no command has read yet.
        self.unread: set[str] = set()
        self.spiders: list[str] = []

    def do(self, block: Block) -> None:
        """Run a block, or write it to its file; raises `AssertionError`."""
        if block.file:
            self.write(block)
        elif block.language in ("sh", "console"):
            is_console = block.language == "console"
            script, output = parts_of_a_dialogue(block.text) if is_console else (block.text, [])
            said = self.shell(script)
            self.compare(output, said)
            self.unread -= {file for file in self.unread if file.split("/")[0] in script}
        elif block.language == "python":
            self.python("-c", block.text)

    def write(self, block: Block) -> None:
        file = self.folder / block.file
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"\n{block.text}")
        self.unread.add(block.file)
        if "scrapy.Spider)" in block.text:
            self.spiders.append(block.file)

    def shell(self, script: str) -> str:
        """Run commands, and return what they print. A server is ended when it listens."""
        for extras in PIP.findall(script):
            self.check_extras(extras)
        script = PIP.sub("true", script)
        if not SERVER.search(script):
            return self.run("bash", "-euo", "pipefail", "-c", script)
        script = SERVER.sub(r"\1 --port 0", script)
        command = ["bash", "-euo", "pipefail", "-c", script]
        return self.run_until(command, "(Ctrl-C ends it)")
