"""Installing: what is missing is said before a build, and a wheelhouse needs no compiler."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contentspider.cli import build_parser
from tests.conftest import ROOT, TIMEOUT

NAMED = re.compile(r"(?<![\w/])docs/([\w-]+\.md)")
WHEELHOUSE = ROOT / "wheelhouse"
PAGE = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water."


def check(path: Path) -> subprocess.CompletedProcess[str]:
    """Run the check of a build where only *path* has programs."""
    return subprocess.run(
        [sys.executable, "setup.py", "--check"],
        cwd=ROOT,
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )


def program(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_missing_compiler_error_names_packages_to_install(tmp_path: Path) -> None:
    program(tmp_path / "bin", "apt-get")
    done = check(tmp_path / "bin")
    assert done.returncode == 1
    assert "apt-get install g++ make python3-dev python3-venv" in done.stderr
    assert "Traceback" not in done.stderr
    program(tmp_path / "other", "dnf")
    assert "dnf install gcc-c++ make python3-devel" in check(tmp_path / "other").stderr


def test_setup_check_with_compilers_prints_nothing(tmp_path: Path) -> None:
    program(tmp_path / "bin", "cc")
    program(tmp_path / "bin", "c++")
    checked = subprocess.run(
        [sys.executable, "setup.py", "--check"],
        cwd=ROOT,
        env={"PATH": str(tmp_path / "bin"), "CC": "cc", "CXX": "c++ -pthread"},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_help_names_folder_of_documentation_which_is_in_the_wheel() -> None:
    folder = Path(build_parser().format_help().split()[-1])
    pages = {page.name for page in (ROOT / "docs").iterdir() if page.suffix in (".md", ".txt")}
    assert {page.name for page in folder.iterdir()} >= pages
    text = (ROOT / "pyproject.toml").read_text()
    (patterns,) = re.findall(r'^"share/doc/contentspider/docs" = (\[.*\])$', text, re.MULTILINE)
    packed = {path.name for pattern in json.loads(patterns) for path in ROOT.glob(pattern)}
    assert packed >= pages
    sources = [file.read_text() for file in ROOT.glob("contentspider/**/*.py")]
    named = {name for source in sources for name in NAMED.findall(source)}
    assert named <= packed, "messages and help name only pages that there are"


def test_wheel_packs_no_folders_that_running_the_examples_makes(tmp_path: Path) -> None:
    (tmp_path / "examples" / "__pycache__").mkdir(parents=True)
    text = (ROOT / "pyproject.toml").read_text()
    lists = re.findall(r'^"share/doc/[^"]*" = (\[.*\])$', text, re.MULTILINE)
    patterns = [pattern for each in lists for pattern in json.loads(each)]
    assert any(pattern.startswith("examples/") for pattern in patterns)
    assert not [path for pattern in patterns for path in tmp_path.glob(pattern)]


def dockerfile_steps() -> list[str]:
    """Return the commands that the Dockerfile runs, without those of other users' machines."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    commands = re.findall(r"^RUN (?:--mount=\S+ +)*(.+)$", text, re.MULTILINE)
    return [" ".join(command.split()) for command in commands if "pip" in command]


def test_dockerfile_and_makefile_build_same_wheelhouse() -> None:
    build, install = dockerfile_steps()
    assert build == "pip wheel --no-cache-dir --wheel-dir /wheels '.[all]'"
    assert install.endswith("--no-index --find-links /wheels 'contentspider[all]'")
    assert "wheel -q --wheel-dir wheelhouse '.[all,testing]'" in (ROOT / "Makefile").read_text()


@pytest.mark.thorough
@pytest.mark.skipif(not WHEELHOUSE.is_dir(), reason="there is no wheelhouse: make wheelhouse")
def test_dockerfile_installs_from_wheelhouse_without_compiler(tmp_path: Path) -> None:
    venv, empty = tmp_path / "venv", tmp_path / "empty"
    empty.mkdir()
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=TIMEOUT)
    _, install = dockerfile_steps()
    bare = {"PATH": f"{venv}/bin:{empty}", "HOME": str(empty), "LANG": "C.UTF-8"}
    command = install.replace("/wheels", str(WHEELHOUSE))
    subprocess.run(["/bin/sh", "-c", command], env=bare, check=True, timeout=TIMEOUT)
    (tmp_path / "tea.html").write_text(PAGE)
    done = subprocess.run(
        ["/bin/sh", "-c", "contentspider extract tea.html --format txt"],
        cwd=tmp_path,
        env=bare,
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT,
    )
    assert "Tea is made of leaves and water." in done.stdout
    for command in ("serve", "annotate", "report", "render", "archive", "rules"):
        subprocess.run([venv / "bin" / "contentspider", command, "--help"], env=bare, check=True)
