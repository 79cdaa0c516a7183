"""Every code block of README.md and docs/*.md runs as it is printed, in an empty folder.

The blocks of a page run in order, in one folder of their own (`tests.docs_reader` says how). A block
that cannot has a comment before it that says why, such as ``<!-- not run: needs a cluster -->``.

`CONTENTSPIDER_DOCS_PYTHON` names the Python of an environment in which the wheel is installed with
the extra ``all``; without it that of the tests is taken.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.extras import EXTRAS
from tests.conftest import ROOT
from tests.docs_blocks import PAGES, Block, blocks_of
from tests.docs_forks import forked_commands
from tests.docs_reader import LANGUAGES, Reader, programs_of
from tests.docs_site import serve_docs

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = os.environ.get("CONTENTSPIDER_DOCS_PYTHON", sys.executable)
BLOCKS = {page: blocks_of(page) for page in PAGES}
ALL = [block for blocks in BLOCKS.values() for block in blocks]
WITH_BLOCKS = [page for page in PAGES if any(not block.reason for block in BLOCKS[page])]
# What of the environment of the tests must not be seen: the checkout, and settings.
HIDDEN = ("PYTHON", "CONTENTSPIDER_", "SCRAPY_", "VIRTUAL_ENV")
ABOUT = """
import sys, contentspider
from importlib.util import find_spec
print(contentspider.__file__, sys.prefix, sep="\\n")
print(*[name for name in {modules!r} if find_spec(name) is None])
"""


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return the environment of somebody who has the package and all extras."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    path = os.pathsep.join([str(Path(PYTHON).parent), os.environ["PATH"]])
    folder = tmp_path_factory.mktemp("docs")
    environment = kept | {"PATH": path, "HOME": str(folder)}
    modules = {module for extra, named in EXTRAS.items() for module in named if extra != "testing"}
    package, prefix, missing = run([PYTHON, "-c", ABOUT.format(modules=modules)], environment)
    if "CONTENTSPIDER_DOCS_PYTHON" in os.environ:
        assert not missing
        assert Path(package).is_relative_to(prefix), "the checkout is imported, not the wheel"
    elif missing:
        pytest.skip(f"these modules of extras are not installed: {missing}")
    assert run(["contentspider", "--version"], environment)
    with forked_commands(PYTHON, folder / "commands", environment) as variables:
        yield variables


def run(command: list[str], environment: dict[str, str]) -> list[str]:
    """Return the lines that a command prints, outside of the checkout."""
    done = subprocess.run(
        command,
        cwd=environment["HOME"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")[:3]


@pytest.mark.parametrize("block", ALL, ids=str)
def test_a_block_runs_or_says_why_not(block: Block) -> None:
    assert block.mark or block.language in LANGUAGES, "give its language, or say why it cannot run"
    assert block.mark != "not run" or block.reason, "say why it is not run"
    assert block.mark or block.language != "toml" or block.file, "name its file in the line before"
    for test in re.findall(r"tests/[\w/.]+", block.reason):
        assert (ROOT / test).exists(), test


def test_most_blocks_run() -> None:
    assert sum(bool(block.reason) for block in ALL) <= len(ALL) / 3


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_a_page_runs_as_it_is_printed(page: Path, commands: dict[str, str], tmp_path: Path) -> None:
    blocks = [block for block in BLOCKS[page] if not block.reason]
    for program in {name for block in blocks for name in programs_of(block)}:
        if not shutil.which(program):
            pytest.skip(f"{program} is not here")
    for name in ("folder", "home"):
        (tmp_path / name).mkdir()
    with serve_docs(tmp_path / "certificate.pem") as (site, variables):
        environment = commands | variables | {"HOME": str(tmp_path / "home")}
        reader = Reader(PYTHON, tmp_path / "folder", site, environment)
        for block in blocks:
            reader.do(block)
        reader.end()
