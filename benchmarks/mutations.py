"""Which random changes of rooms or modules the tests notice.

    python benchmarks/mutations.py [--sample 200] [--seed 0] state recrawl index/sync ...
    python benchmarks/mutations.py state/book/sample:57 ...

The mutants of Python modules are mutmut's. A mutant of a Cython module (.pyx) changes one operator,
word or number; the changed module is compiled, and mutants that do not compile are not counted.

A sample of the mutants of the named rooms and modules is run (``--sample 0``: all of them). A name
with a number is one mutant. Each mutant stands in a copy of this tree, so that subprocesses see it,
and runs in a fork of a process that has loaded the libraries. The test files that import the
module, directly or not, run until a test fails. Files with words of the module's path come first.
Strings that differ only in the case of SQL words or codec names are not mutants.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import difflib
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from contextlib import suppress
from importlib import import_module
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst
import lxml
import pytest
from mutmut.mutation.file_mutation import create_mutations

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "contentspider"
# After so many CPU seconds a mutant is given no further test, and lives; it has at most so many
# files of tests.
BUDGET_SECS, FILES = 40, 24
# A process that takes as much of the CPU, or tests that take as long, hang: the mutant is killed.
CPU_SECS, WALL_SECS = 60, 600
PYTEST = ["-xq", "--tb=short", "-pno:cacheprovider", "-Wignore::pytest.PytestAssertRewriteWarning"]
# Parts that are loaded by name (`contentspider.ground.plugins`).
PLUGGED = re.compile(r"contentspider[.\w]+:\w+")
# Prints which libraries the tests load, and leaves compiled Python to all forks.
LOAD = """
import os, sys, pytest, tests.loaded
pytest.main(["--collect-only", *sys.argv[1:]])
files = {name: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}
print("LOADED", *(name for name in files if not files[name].startswith(os.getcwd())))
"""
SQL = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|CREATE|WHERE|FROM|ORDER|JOIN|BEGIN|IS NOT NULL)\b"
    r'|^"\w+ = \?'
)
# Words of the schema, and lists of columns ("content, item").
NAMED = frozenset(re.findall(r"\w+", (PACKAGE / "state/book/schema.py").read_text()))
LIST = re.compile(r'"\w+(?:, \w+)+"')
CODECS = ("utf-8", "ascii", "latin-1")
# The modules that a Cython module imports.
CYTHON_IMPORT = re.compile(r"^(?:from|cimport|import) ([\w.]+)", re.MULTILINE)
# Mutants of Cython: operators with a space on both sides (other signs are casts, pointers and
# references), and words.
OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+"}
OPERATORS |= {"&": "|", "|": "&", "+=": "-=", "-=": "+="}
WORDS = {"and": "or", "or": "and", "not": "", "True": "False", "False": "True"}
NOT_COMPILED = "the compiler"


class Concerned:
    """The test files that concern a module, by who imports whom."""

    def __init__(self) -> None:
        paths = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx")]
        paths += ROOT.joinpath("tests").rglob("*.py")
        names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
        self._names = {path: name.removesuffix(".__init__") for path, name in names.items()}
        known = set(self._names.values())
        self._imports = {self._names[path]: known & set(_imported(path)) for path in paths}
        # Command lines, in processes of their own.
        self._imports["tests.processes"].add("contentspider.__main__")
        tests = [path for path in paths if path.stem.startswith("test_")]
        self._distances = {path: self._reached(self._names[path]) for path in tests}

    def _reached(self, start: str) -> dict[str, int]:
        distances, queue = {start: 0}, [start]
        for name in queue:
            for target in self._imports[name] - distances.keys():
                distances[target] = distances[name] + 1
                queue.append(target)
        return distances

    def tests(self, path: Path) -> list[str]:
        """Return the nearest test files; of those as near, those that run command lines last."""
        name, ranked = self._names[path], []
        for test, distances in self._distances.items():
            if name in distances:
                shared_words = _words(name) & _words(self._names[test])
                near = distances[name] - 2 * len(shared_words)
                ranked.append((near, "run(" in test.read_text(), test.relative_to(ROOT).as_posix()))
        return [test for _, _, test in sorted(ranked)[:FILES]]


def _imported(path: Path) -> Iterator[str]:
    if path.suffix == ".pyx":
        yield from CYTHON_IMPORT.findall(path.read_text())
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and PLUGGED.fullmatch(str(node.value)):
            yield str(node.value).partition(":")[0]


def _words(name: str) -> set[str]:
    return {word.rstrip("s") for word in re.split(r"[._]+", name)} - {"test", "contentspider"}


class Mutants:
    """The numbered mutants of a module's functions; decorated functions have none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(PACKAGE).with_suffix("").as_posix()
        self.source = path.read_text()
        self._module, mutations, _, _ = create_mutations(str(path), self.source)
        self._mutations = [
            made
            for made in mutations
            if made.contained_by_top_level_function
            and not _is_same(made.original_node, made.mutated_node)
        ]
        self.numbers = range(len(self._mutations))

    def code(self, number: int) -> str:
        """Return the source of the module with this mutant."""
        made = self._mutations[number]
        return self._module.deep_replace(made.original_node, made.mutated_node).code

    def difference(self, number: int) -> str:
        """Return what a mutant changes."""
        lines = self.source.splitlines(), self.code(number).splitlines()
        return "\n".join([*difflib.unified_diff(*lines, n=1, lineterm="")][2:])


class CompiledMutants(Mutants):
    """The numbered mutants of a Cython module. Each changes one operator, word or number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(PACKAGE).with_suffix("").as_posix()
        self.source = path.read_text()
        self._edits = list(_edits(self.source))
        self.numbers = range(len(self._edits))

    def code(self, number: int) -> str:
        """Return the source of the module with this mutant."""
        start, end, text = self._edits[number]
        return self.source[:start] + text + self.source[end:]


def _edits(source: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the new text of each change of a Cython source."""
    starts = [0, 0, *accumulate(map(len, source.splitlines(keepends=True)))]
    for token in tokenize.generate_tokens(StringIO(source).readline):
        start, end = (starts[row] + column for row, column in (token.start, token.end))
        is_spaced = source[start - 1] == " " and source[end : end + 1] in (" ", "\n")
        if token.type == tokenize.NAME and token.string in WORDS:
            yield start, end, WORDS[token.string]
        elif token.type == tokenize.OP and token.string in OPERATORS and is_spaced:
            yield start, end, OPERATORS[token.string]
        elif token.type == tokenize.NUMBER and "except" not in token.line:
            yield start, end, f"({token.string} + 1)"


def _is_same(one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Tell whether two strings differ only in the case of what is read in any case."""
    if not (isinstance(one, cst.SimpleString) and isinstance(other, cst.SimpleString)):
        return False
    if one.value.lower() != other.value.lower():
        return False
    # What stands in quotes within a statement is data, and parameters have names.
    is_list = LIST.fullmatch(one.value) and NAMED.issuperset(re.findall(r"\w+", one.value))
    is_sql = is_list or (SQL.search(one.value) and not re.search(r":[a-z]", one.value))
    data = [re.findall(r"'[^']*'", node.value) for node in (one, other)]
    return one.value.strip("\"'") in CODECS or bool(is_sql and data[0] == data[1])


class Copy:
    """A copy of the tree in a *folder*, in which a module is changed while tests run in a fork."""

    def __init__(self, folder: Path) -> None:
        self._tree = folder / "tree"
        folder.chmod(0o755)  # a database server runs as another user
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
        compiled = [path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.so")]
        for name in [*listed.stdout.split("\0"), *compiled]:
            if (ROOT / name).is_file():
                (self._tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self._tree / name)
        # Instead of these, their source can run: all, or none.
        self._compiled = [
            path
            for path in self._tree.rglob("*.so")
            if path.with_name(f"{path.name.partition('.')[0]}.py").exists()
        ]
        (folder / "tmp").mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        os.chdir(self._tree)
        parts = ("", "research", "engines", "rules")
        here = [str(self._tree / name) for name in parts]
        os.environ["PYTHONPATH"] = os.pathsep.join(here)
        there = [ROOT / name for name in parts]
        sys.path[:] = [*here, *(name for name in sys.path[1:] if Path(name) not in there)]

    def load(self, tests: list[str]) -> None:
        """Import the libraries that the tests use, for all forks."""
        command = [sys.executable, "-c", LOAD, *PYTEST, *tests]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for name in done.stdout.rpartition("LOADED")[2].split():
            if not name.startswith(("_cython", "__main")):
                import_module(name)
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

    def failing(self, path: Path, code: str, tests: list[str]) -> tuple[str, float]:
        """Return which of the *tests* fails where a module has this *code*, or "", and how many CPU
        seconds that took.
        """
        changed = self._tree / path.relative_to(ROOT)
        original = changed.read_text()
        changed.write_text(code)
        library = next(changed.parent.glob(f"{changed.stem}.*.so"), None)
        compiled = library.read_bytes() if library and path.suffix == ".pyx" else b""
        if compiled and not _compile(changed):
            changed.write_text(original)
            return NOT_COMPILED, 0.0
        for stale in changed.parent.glob(f"__pycache__/{changed.stem}.*"):
            stale.unlink()
        if any(changed == path.with_name(f"{changed.stem}.py") for path in self._compiled):
            for built in self._compiled:
                built.unlink(missing_ok=True)
        Path("failed").write_text("a hang or a crash")
        child = os.fork()
        if not child:
            _run(tests)
        _, _, used = os.wait4(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it has left running
        changed.write_text(original)
        if library and compiled:
            library.write_bytes(compiled)
        return Path("failed").read_text(), used.ru_utime + used.ru_stime


def _compile(path: Path) -> bool:
    """Compile a Cython module beside its source, and tell whether that succeeded."""
    # Without optimisation the module would refer to functions of libxml2 that it does not call.
    flags = " ".join(["-g0 -O1", *(f"-I{folder}" for folder in lxml.get_include())])
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "--force", str(path)]
    done = subprocess.run(
        command, check=False, env={**os.environ, "CFLAGS": flags}, capture_output=True
    )
    return done.returncode == 0


class Watch:
    """A plug-in of pytest: it keeps the first test that fails, and ends when time is used up."""

    def __init__(self, processes: list[int]) -> None:
        self.failed = ""
        self._processes = processes

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    pytest_collectreport = pytest_runtest_logreport

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if sum(map(_cpu_seconds, self._processes)) > BUDGET_SECS:
            item.session.shouldstop = "it has had its time"


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _run(tests: list[str]) -> None:
    """In a fork: run the tests, and write which one fails."""
    processes = [os.getpid()]
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECS, CPU_SECS))
        signal.alarm(WALL_SECS)
        output = os.open("output", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for number in range(3):
            os.dup2(output, number)
        watch = Watch(processes)
        watch.failed = "the import"
        import_module("tests.loaded")
        watch.failed = ""
        processes.append(_fork_server())
        pytest.main([*PYTEST, *tests], plugins=[watch])
    finally:
        for process in processes[1:]:
            os.kill(process, signal.SIGTERM)
            os.waitpid(process, 0)
        Path("failed").write_text(watch.failed)
        os._exit(0)


def _fork_server() -> int:
    """Start the process that forks command lines with all that is loaded here; return its pid."""
    processes = import_module("tests.processes")
    shutil.rmtree("forks", ignore_errors=True)
    Path("forks").mkdir()
    os.environ[processes.SERVER] = address = str(Path("forks/socket").resolve())
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    nothing, _ = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(nothing, 0)
        atexit._clear()  # commands must not remove the copy of the tree when they end
        processes.serve(listener.detach())
    listener.close()
    return child


def drawn(names: list[str], sample: int, seed: int) -> list[tuple[Mutants, int]]:
    """Return the mutants that are named, or a sample of those in what is named."""
    chosen = []
    for name in names:
        module, _, wanted = name.partition(":")
        folder = PACKAGE / module
        paths = sorted([*folder.rglob("*.py"), *folder.rglob("*.pyx")])
        paths = paths or [
            path for path in map(folder.with_suffix, (".py", ".pyx")) if path.exists()
        ]
        for path in paths:
            made = CompiledMutants(path) if path.suffix == ".pyx" else Mutants(path)
            chosen += [(made, number) for number in ([int(wanted)] if wanted else made.numbers)]
    print(f"{len(chosen)} mutants", flush=True)
    if 0 < sample < len(chosen):
        numbers = random.Random(seed).sample(range(len(chosen)), sample)
        return [chosen[number] for number in sorted(numbers)]
    return chosen


def main() -> None:
    """Run mutants one by one, and print which live, and how many of each room."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("names", nargs="+", metavar="ROOM|MODULE|MODULE:NUMBER")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = drawn(options.names, options.sample, options.seed)
    concerned = Concerned()
    tests = {made.path: concerned.tests(made.path) for made, _ in chosen}
    count: Counter[str] = Counter()
    killed: Counter[str] = Counter()
    sound: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        copy.load(sorted({name for names in tests.values() for name in names}))
        for made, number in chosen:
            by, seconds = copy.failing(made.path, made.code(number), tests[made.path])
            if by == NOT_COMPILED:
                print(f"{made.name}:{number} does not compile", flush=True)
                continue
            if ".py" in by and (made.name, by) not in sound:
                if copy.failing(made.path, made.source, [by])[0]:
                    raise SystemExit(f"{Path('output').read_text()}\n{by} fails without a mutant")
                sound.add((made.name, by))
            fate = f"killed by {by}" if by else f"LIVES\n{made.difference(number)}"
            print(f"{made.name}:{number} {seconds:.0f} s {fate}", flush=True)
            for name in (made.name.partition("/")[0], "all"):
                count[name] += 1
                killed[name] += bool(by)
        os.chdir(ROOT)
    for name, all_of_it in sorted(count.items()):
        print(f"{name:10} {killed[name]:4} of {all_of_it:4} killed: {killed[name] / all_of_it:.0%}")


if __name__ == "__main__":
    main()
