"""Every code block of README.md and docs/*.md runs as it is printed, in an empty folder.

The blocks of a page run in order, in a folder of their own (`tests.docs_reader` says how). One that
cannot has a comment before it that says why, such as ``<!-- not run: needs a cluster -->``.

`CONTENTSPIDER_DOCS_PYTHON` names the Python of an environment in which the wheel is installed. What
extras need is taken from the environment of the tests if it is not there. Without the variable all
is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.extras import EXTRAS
from tests.conftest import ROOT
from tests.docs_blocks import PAGES, Block, blocks_of
from tests.docs_forks import forked_commands
from tests.docs_reader import LANGUAGES, Reader, programs_of
from tests.docs_site import serve_docs
from tests.ground.test_extras import NOT_IN_ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = os.environ.get("CONTENTSPIDER_DOCS_PYTHON", sys.executable)
BLOCKS = {page: blocks_of(page) for page in PAGES}
ALL = [block for blocks in BLOCKS.values() for block in blocks]
# The tutorial takes the longest: it begins.
WITH_BLOCKS = [page for page in PAGES[::-1] if any(not block.reason for block in BLOCKS[page])]
# CI runs what a new user reads first; the nightly tests run all pages.
IN_CI = {"README", "tutorial", "own-spiders", "python", "scheduling"}
# What of the environment of the tests must not be seen: the checkout, and settings.
HIDDEN = ("PYTHON", "CONTENTSPIDER_", "SCRAPY_", "VIRTUAL_ENV")
OF_EXTRAS = sorted({name for extra in EXTRAS.keys() - NOT_IN_ALL for name in EXTRAS[extra]})
ABOUT = """
import json, sys, contentspider
from importlib.util import find_spec
missing = [name for name in sys.argv[1:] if find_spec(name) is None]
print(json.dumps([contentspider.__file__, sys.prefix, sys.version, missing]))
"""


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return the environment of somebody who has the package and all extras."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    path = os.pathsep.join([str(Path(PYTHON).parent), os.environ["PATH"]])
    folder = tmp_path_factory.mktemp("docs")
    environment = kept | {"PATH": path, "HOME": str(folder)}
    package, prefix, version, missing = about(environment)
    if missing and version == sys.version:
        environment["PYTHONPATH"] = sysconfig.get_path("purelib")
        package, _, _, missing = about(environment)
    if "CONTENTSPIDER_DOCS_PYTHON" in os.environ:
        assert Path(package).is_relative_to(prefix), "the checkout is imported, not the wheel"
    if missing:
        pytest.skip(f"these modules of extras are not installed: {', '.join(missing)}")
    assert run(["contentspider", "--version"], environment)
    with forked_commands(PYTHON, folder / "commands", environment) as variables:
        yield variables


def about(environment: dict[str, str]) -> tuple[str, str, str, list[str]]:
    """Return the path of the package that is imported, that of its environment, the version of its
    Python, and what extras need that is not there.
    """
    package, prefix, version, missing = json.loads(
        run([PYTHON, "-c", ABOUT, *OF_EXTRAS], environment)
    )
    return package, prefix, version, missing


def run(command: list[str], environment: dict[str, str]) -> str:
    """Return what a command prints, outside of the checkout."""
    done = subprocess.run(
        command,
        cwd=environment["HOME"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("block", ALL, ids=str)
def test_code_blocks_have_language_or_reason_not_to_run(block: Block) -> None:
    assert block.mark or block.language in LANGUAGES, "give its language, or say why it cannot run"
    assert block.mark != "not run" or block.reason, "say why it is not run"
    assert block.mark or block.language != "toml" or block.file, "name its file in the line before"
    for test in re.findall(r"tests/[\w/.]+", block.reason):
        assert (ROOT / test).exists(), test


def is_run_elsewhere(block: Block) -> bool:
    """Tell whether a test that the block's reason names reads the page of the block."""
    tests = re.findall(r"tests/[\w/]+\.py", block.reason)
    return any(block.page.name in (ROOT / test).read_text(encoding="utf-8") for test in tests)


def test_most_code_blocks_run_here_or_in_a_test_that_reads_their_page() -> None:
    unproved = [block for block in ALL if block.reason and not is_run_elsewhere(block)]
    assert len(unproved) <= len(ALL) / 4


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page.stem in IN_CI else pytest.mark.thorough)
        for page in WITH_BLOCKS
    ],
    ids=lambda page: page.stem,
)
def test_code_blocks_of_page_run_as_printed(
    page: Path, commands: dict[str, str], tmp_path: Path
) -> None:
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
