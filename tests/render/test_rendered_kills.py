"""Crawls with ``--render auto`` that are killed, with and without their browser: no page is lost,
none comes twice, and the items are the same as without a kill.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING

import pytest

from contentspider.render.browser import NAMES
from tests.conftest import TIMEOUT, Site, read_jsonl
from tests.processes import Popen
from tests.render.test_rendered_crawls import APP, SHELL, browsers_of, files
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

    Items = dict[str, tuple[object, ...]]

__all__ = ["files"]

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        find_spec("scrapy_playwright") is None or not any(map(shutil.which, NAMES)),
        reason="scrapy-playwright or Chromium is not installed",
    ),
]

PAGES = 12  # that scripts make, and as many that they do not
VICTIMS = ("crawl", "browser", "both")


def mixed_site(site: Site) -> None:
    """Serve pages that scripts put into an empty page, and pages without scripts."""
    paths = [f"/{number}" for number in range(1, PAGES)]
    paths += [f"/plain/{number}" for number in range(PAGES)]
    links = "".join(f"<a href={path}>Page {path}</a> " for path in paths)
    site.add("/app.js", APP, kind="text/javascript")
    for number in range(PAGES):
        path = f"/{number or ''}"
        site.add(path, SHELL)
        site.add(f"/api{path}", article(number, links))
        site.add(f"/plain/{number}", article(100 + number, links))


class KilledCrawl:
    """A rendered crawl of a site into *folder*, whose browsers keep their files in *files*."""

    def __init__(self, site: Site, folder: Path, files: Path) -> None:
        self.site, self.folder, self.files = site, folder, files
        folder.mkdir()
        self.command = [sys.executable, "-m", "contentspider", "crawl", f"{site.url}/", "--resume"]
        self.command += ["--own-site", "--no-sitemaps", "--render", "auto", "-o", "pages.jsonl"]

    def run(self, victim: str = "", after: int = 0) -> bool:
        """Crawl, and kill the *victim* when the server has been asked *after* times. Return whether
        the crawl came to its end.
        """
        answer, numbers = self.site.answer, count(1)

        def killing(path: str) -> tuple[int, str, bytes]:
            if next(numbers) == after:
                if victim in ("browser", "both"):
                    for number in browsers_of(self.files)[:1]:
                        os.kill(number, signal.SIGKILL)
                if victim in ("crawl", "both"):
                    process.kill()
            return answer(path)

        self.site.answer = killing
        with Popen(self.command, cwd=self.folder, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            said = process.stderr.read()
            code = process.wait(TIMEOUT)
        self.site.answer = answer
        assert "Traceback" not in said, said
        assert code in (0, -signal.SIGKILL), said
        return code == 0

    def items(self) -> Items:
        """Return the items in the output by the paths of their pages."""
        items = read_jsonl(self.folder / "pages.jsonl")
        names = ("title", "content", "content_markdown", "change")
        by_path = {
            str(item["url"]).removeprefix(self.site.url): tuple(item[name] for name in names)
            for item in items
        }
        assert len(by_path) == len(items), "each page once"
        return by_path


def test_killed_rendered_crawls_end_with_the_items_of_an_unkilled_one(
    site: Site, tmp_path: Path, files: Path
) -> None:
    mixed_site(site)
    unkilled = KilledCrawl(site, tmp_path / "unkilled", files)
    assert unkilled.run()
    expected = unkilled.items()
    assert len(expected) == 2 * PAGES
    assert all(content for _, content, *_ in expected.values())
    for seed in range(8):
        draw = random.Random(seed)
        crawl = KilledCrawl(site, tmp_path / str(seed), files)
        victim = ("crawl", "both")[seed % 2]
        assert not crawl.run(victim, draw.randint(1, 30)), f"seed {seed}: the kill came too late"
        # A third death would set aside the pages that were in flight each time. A crawl whose
        # browser alone is killed goes on with another one.
        assert crawl.run(draw.choice(VICTIMS), draw.randint(1, 15)) or crawl.run()
        assert crawl.items() == expected, f"seed {seed}"
        assert not browsers_of(files), f"seed {seed}"
