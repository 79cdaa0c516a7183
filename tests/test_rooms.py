"""The rooms of the house: who may import whom, and how large a module and a class may be."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = ROOT / "contentspider"
# Each room may import those that are named with it, and its own.
ROOMS = {
    "ground": set(),
    "page": {"ground"},
    "site": {"ground", "page"},
    "recrawl": {"ground", "page", "site"},
    "state": {"ground", "page", "site", "recrawl"},
    "evaluation": {"ground", "page", "site", "state"},
    "index": {"ground", "page", "site", "state"},
    "crawl": {"ground", "page", "site", "recrawl", "state", "index"},
    "run": {"ground", "page", "site", "recrawl", "state", "index", "crawl"},
}
# They stand above all rooms; the package itself has the version, which any room may ask for.
OUTSIDE = {"cli", "extract", "__main__", "__init__"}
MAX_LINES, MAX_METHODS, MAX_MODULES = 400, 15, 12


def modules() -> dict[str, Path]:
    """Return the package's modules by their dotted names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that a module imports, also for its types only."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known and node.module != name:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def room(module: str) -> str:
    """Return the room that a module is in; a module beside the rooms is one by itself."""
    return [*module.split("."), "__init__"][1]


def test_arrows_between_rooms_point_one_way() -> None:
    known = modules()
    wrong = [
        f"{name} -> {target}"
        for name, path in known.items()
        if room(name) not in OUTSIDE
        for target in imports(name, path, known)
        if room(target) not in {room(name), "__init__"} | ROOMS[room(name)]
    ]
    assert not wrong


def test_the_documented_rooms_are_these() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w, ]+) \|$", text, re.MULTILINE)
    documented = {name: set(below.split(", ")) - {"nothing"} for name, below in rows}
    assert documented == ROOMS
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders == {*ROOMS, "cli"}


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = modules()
    graph = {name: set(imports(name, path, known)) for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_no_folder_is_crowded() -> None:
    crowded = {}
    for folder in {path.parent for path in PACKAGE.rglob("*.py")}:
        names = {path.stem for path in folder.glob("*.py*") if path.suffix in (".py", ".pyx")}
        if len(names) > MAX_MODULES:
            crowded[folder.relative_to(ROOT).as_posix()] = len(names)
    assert not crowded


def test_modules_and_classes_are_small() -> None:
    # Where only the tests are, as with wheels, there are no benchmarks.
    folders = [PACKAGE, *(ROOT / name for name in ("tests", "benchmarks", "examples"))]
    sources = {
        path: path.read_text()
        for folder in folders
        for path in [*folder.rglob("*.py"), *folder.rglob("*.pyx")]
    }
    assert len(sources) > 60
    large = {
        path.relative_to(ROOT).as_posix(): lines
        for path, text in sources.items()
        if (lines := text.count("\n")) > MAX_LINES
    }
    crowded = {
        f"{path.relative_to(ROOT).as_posix()}: {node.name}": len(public)
        for path, text in sources.items()
        if path.is_relative_to(PACKAGE) and path.suffix == ".py"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and len(public := public_methods(node)) > MAX_METHODS
    }
    assert (large, crowded) == ({}, {})


def test_what_is_marked_for_the_lowest_versions_is_there() -> None:
    modules = sorted((ROOT / "tests").glob("test_*.py"))
    names = {path.stem.removeprefix("test_") for path in modules}
    sources = "\n".join(path.read_text() for path in modules)
    functions = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    assert names | functions >= VERSIONS


def public_methods(node: ast.ClassDef) -> list[str]:
    return [
        entry.name
        for entry in node.body
        if isinstance(entry, (ast.FunctionDef, ast.AsyncFunctionDef))
        and not entry.name.startswith("_")
    ]
