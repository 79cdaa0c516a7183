"""Every code block of README.md and docs/*.md runs as it is printed, in an empty folder.

The blocks of a page run in order, in one folder of their own (`tests.docs_reader` says how). A block
that does not run has a comment before it that says why, such as ``<!-- not run: needs a cluster -->``.

`CONTENTSPIDER_DOCS_PYTHON` names the Python of an environment in which the wheel is installed with
the extra ``all``; without it that of the tests is taken.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs_blocks import PAGES, Block, blocks_of
from tests.docs_reader import LANGUAGES, Reader, programs_of
from tests.docs_site import serve_docs

PYTHON = os.environ.get("CONTENTSPIDER_DOCS_PYTHON", sys.executable)
BLOCKS = {page: blocks_of(page) for page in PAGES}
ALL = [block for blocks in BLOCKS.values() for block in blocks]
WITH_BLOCKS = [page for page in PAGES if any(not block.reason for block in BLOCKS[page])]
# What of the environment of the tests must not be seen: the checkout, and slow imports.
HIDDEN = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "CONTENTSPIDER_", "SCRAPY_", "VIRTUAL_ENV")


def environment(home: Path) -> dict[str, str]:
    """Return the variables of somebody who has the package, and a folder of his own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    home.mkdir()
    path = os.pathsep.join([str(Path(PYTHON).parent), os.environ["PATH"]])
    return kept | {"PATH": path, "HOME": str(home)}


def asked(code: str, folder: Path) -> str:
    """Return what Python in the environment of the package prints."""
    command, variables = [PYTHON, "-c", code], environment(folder / "home")
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("block", ALL, ids=str)
def test_a_block_runs_or_says_why_not(block: Block) -> None:
    assert block.mark or block.language in LANGUAGES, "give its language, or say why it cannot run"
    assert block.mark != "not run" or block.reason, "say why it is not run"
    assert block.mark or block.language != "toml" or block.file, "name its file in the line before"


def test_most_blocks_run() -> None:
    assert sum(bool(block.reason) for block in ALL) <= len(ALL) / 3


def test_the_package_that_is_tested_is_that_of_the_environment(tmp_path: Path) -> None:
    code = "import contentspider, sys; print(contentspider.__file__, sys.prefix, sep='\\n')"
    package, prefix = asked(code, tmp_path).splitlines()
    if "CONTENTSPIDER_DOCS_PYTHON" in os.environ:
        assert Path(package).is_relative_to(prefix)


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_a_page_runs_as_it_is_printed(page: Path, tmp_path: Path) -> None:
    blocks = [block for block in BLOCKS[page] if not block.reason]
    for program in {name for block in blocks for name in programs_of(block)}:
        if not shutil.which(program):
            pytest.skip(f"{program} is not here")
    folder = tmp_path / "folder"
    folder.mkdir()
    with serve_docs(tmp_path / "certificate.pem") as (site, variables):
        reader = Reader(PYTHON, folder, site, environment(tmp_path / "home") | variables)
        for block in blocks:
            reader.do(block)
        reader.end()
