"""The rooms of the house: which room may import which, and when."""

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
CORE = {"ground", "page", "site", "recrawl", "state", "evaluation", "index", "crawl", "run"}
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
    "testing": {"ground", "index"},
    "rules": {"ground", "page", "site"},
    "archive": {"ground", "page", "site", "state"},
    "integrations": {"ground", "site", "state"},
    "render": {"ground", "page", "site", "state", "crawl"},
    "web": {"ground", "page", "site", "recrawl", "state", "index", "crawl", "run", "rules"},
}
# What a room imports within a function, when a crawl asks for it.
ON_DEMAND = {"crawl": {"render"}}
# The folders of `crawl`, each with the folders that it may import at run time. The key "" stands
# for the modules beside the folders.
CRAWL_FOLDERS = {
    "base": set(),
    "revisits": {"base"},
    "queue": {"base", "revisits"},
    "learning": {"base", "revisits", "queue"},
    "middlewares": {"base", "revisits", "queue", "learning"},
    "spider": {"base", "revisits", "queue", "learning", "middlewares"},
    "": {"base", "revisits", "queue", "learning", "middlewares", "spider"},
}
# They stand above all rooms; the package itself has the version, which any room may ask for.
OUTSIDE = {"cli", "crawl_process", "extract", "__main__", "__init__"}


def modules() -> dict[str, Path]:
    """Return the package's modules by their dotted names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path], on_demand: bool = True) -> Iterator[str]:
    """Yield the modules of the package that a module imports, also for its types only; with
    *on_demand* also within its functions.
    """
    tree = ast.parse(path.read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    within = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, functions) and not on_demand
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if id(node) in within:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known and node.module != name:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def imports_for_types(path: Path) -> set[str]:
    """Return the modules from which a module imports only for its types."""
    blocks = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.If))
    return {
        statement.module
        for block in blocks
        if ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module
    }


def crawl_folder(module: str) -> str:
    """Return the folder of `crawl` that a module is in, empty for a module beside the folders."""
    parts = module.split(".")[2:]
    return parts[0] if parts and parts[0] in CRAWL_FOLDERS else ""


def room(module: str) -> str:
    """Return the room that a module is in; a module beside the rooms is one by itself."""
    return [*module.split("."), "__init__"][1]


def test_package_imports_follow_documented_layers() -> None:
    known = modules()
    wrong = [
        f"{name} -> {target}"
        for name, path in known.items()
        if room(name) not in OUTSIDE
        for target in imports(name, path, known)
        if room(target)
        not in {room(name), "__init__"} | ROOMS[room(name)] | ON_DEMAND.get(room(name), set())
    ]
    assert not wrong


def test_folders_of_a_crawl_import_each_other_one_way() -> None:
    known = modules()
    wrong = [
        f"{name} -> {target}"
        for name, path in known.items()
        if room(name) == "crawl"
        for target in set(imports(name, path, known)) - imports_for_types(path)
        if room(target) == "crawl"
        and crawl_folder(target) not in {crawl_folder(name)} | CRAWL_FOLDERS[crawl_folder(name)]
    ]
    assert not wrong


def test_folders_of_crawl_do_not_import_render() -> None:
    known = modules()
    wrong = [
        f"{name} -> {target}"
        for name, path in known.items()
        if room(name) == "crawl" and crawl_folder(name)
        for target in set(imports(name, path, known)) - imports_for_types(path)
        if room(target) in ON_DEMAND["crawl"]
    ]
    assert not wrong


def test_core_imports_optional_packages_only_on_demand() -> None:
    known = modules()
    allowed = CORE | {"__init__"}
    wrong = [
        f"{name} -> {target}"
        for name, path in known.items()
        if room(name) in CORE and not name.startswith("contentspider.index.engines")
        for target in imports(name, path, known, on_demand=False)
        if room(target) not in allowed or target.startswith("contentspider.index.engines")
    ]
    assert not wrong


def test_documented_layers_match_package_folders() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w, ]+) \|$", text, re.MULTILINE)
    documented = {name: set(below.split(", ")) - {"nothing"} for name, below in rows}
    assert documented == ROOMS
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders == {*ROOMS, "cli"}


def test_functions_of_documented_diagram_are_in_named_modules() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    steps = re.findall(r"^   \| +([\w.]+).* (\w+/[\w/]+\.py)", text, re.MULTILINE)
    assert len(steps) > 10
    for name, path in steps:
        tree: ast.AST | None = ast.parse((PACKAGE / path).read_text())
        for part in name.split("."):
            nodes = ast.iter_child_nodes(tree) if tree is not None else ()
            tree = next((node for node in nodes if getattr(node, "name", "") == part), None)
        assert tree is not None, f"{path} has no {name}"


def test_modules_have_no_import_cycles() -> None:
    known = modules()
    graph = {name: set(imports(name, path, known)) for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_tests_marked_for_lowest_versions_exist() -> None:
    modules = sorted((ROOT / "tests").rglob("test_*.py"))
    names = {path.stem.removeprefix("test_") for path in modules}
    sources = "\n".join(path.read_text() for path in modules)
    functions = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    assert names | functions >= VERSIONS
