"""Which changes of what learns a site the tests notice: mutants by mutmut, run one by one.

    python benchmarks/mutations.py [--sample 30] [--seed 0] [MODULE ...]
    python benchmarks/mutations.py --mutants objections.x_echo__mutmut_3 ...

Of each module a random sample of its mutants is run (``--sample 0``: all), each against the tests
that concern the module. A mutant is killed if a test fails, or if the tests take more than a minute
of CPU time. What a survivor changes is printed, so that a test can be written, or a reason.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.mutation.trampoline import set_mutant_under_test

ROOT = Path(__file__).resolve().parent.parent
# The test files that concern a module, those that kill most first.
TESTS = {
    "blocks": "votes objections objections_comments slots copies",
    "classifier": "classifier plugins",
    "clusters": "slots site",
    "copies": "copies objections objections_comments",
    "featuresets": "plugins options",
    "folder": "folder model",
    "labels": "plugins",
    "learner": "learner memory",
    "memory": "memory",
    "model": "model memory",
    "options": "options plugins",
    "pagetype": "pagetype",
    "paper": "paper",
    "plugins": "plugins",
    "prior": "prior",
    "record": "items metadata language",
    "relevance": "slots site",
    "rows": "rows site",
    "objections": "objections objections_comments votes",
    "sample": "options",
    "slots": "slots",
    "svm": "classifier plugins",
    "teasers": "slots",
    "title": "title",
    "trees": "trees prior",
    "votes": "votes",
}
# Tests that take seconds, or run the command line, where mutants are not.
SLOW = [
    "tests/test_plugins.py::test_the_command_line_finds_what_is_installed",
    "tests/test_site.py::test_pylcs_is_only_loaded_by_the_letter_of_the_paper",
    "tests/test_site.py::test_the_model_does_not_depend_on_the_order_of_the_pages[None]",
    "tests/test_site.py::test_what_is_kept_of_a_site_changes_no_decision",
]
# CPU seconds after which a mutant is taken for one that never ends.
SECONDS = 60


class Mutants:
    """The mutants of a module, in a copy of the package at *folder* from which the tests run."""

    def __init__(self, module: str, folder: Path) -> None:
        (source,) = (
            path
            for room in ("site", "ground")
            for path in (ROOT / "contentspider" / room).rglob(f"{module}.py")
        )
        path = source.relative_to(ROOT).as_posix()
        self.module = path.removesuffix(".py").replace("/", ".")
        self.folder = folder
        self.tests = [f"tests/test_{name}.py" for name in TESTS[module].split()]
        made = mutate_file_contents(path, (ROOT / path).read_text())
        self.names = list(made.mutant_names)
        self._code = made.code.splitlines()
        self._spans = made.line_span_by_function_name
        for name in ("contentspider", "tests", "examples", "docs"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        (folder / path).write_text(made.code)
        # A compiled module would be imported in place of its source.
        for compiled in (folder / path).parent.glob(f"{module}.*.so"):
            compiled.unlink()

    def difference(self, name: str) -> str:
        """Return what the mutant changes."""
        original = f"{name.rpartition('_mutmut_')[0]}_mutmut_orig"
        before, after = (
            [
                line.replace(function, original)
                for line in self._code[self._spans[function].start - 1 : self._spans[function].end]
            ]
            for function in (original, name)
        )
        return "\n".join(
            line
            for line in difflib.unified_diff(before, after, n=0, lineterm="")
            if not line.startswith(("---", "+++", "@@"))
        )

    def collect(self) -> None:
        """Import the tests once: each mutant runs in a fork of this process."""
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        set_mutant_under_test("")
        self._silently(["--collect-only"])

    def _silently(self, arguments: list[str]) -> int:
        kept = os.dup(1), os.dup(2)
        with Path(os.devnull).open("wb") as null:
            os.dup2(null.fileno(), 1)
            os.dup2(null.fileno(), 2)
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
        try:
            return int(
                pytest.main([*options, *(f"--deselect={test}" for test in SLOW), *self.tests])
            )
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)

    def is_killed(self, name: str) -> bool:
        """Tell whether a test fails with the mutant of this *name* ("": the code as it is)."""
        child = os.fork()
        if not child:
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = int(used.ru_utime + used.ru_stime) + SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            set_mutant_under_test(f"{self.module}.{name}" if name else "")
            code = 1
            try:
                code = self._silently([])
            finally:
                os._exit(code)
        return os.waitpid(child, 0)[1] != 0


def run(module: str, sample: int, seed: int, wanted: list[str]) -> None:
    """Run the mutants of a module and print how many are killed."""
    with tempfile.TemporaryDirectory() as folder:
        mutants = Mutants(module, Path(folder))
        names = [name for name in mutants.names if f"{module}.{name}" in wanted]
        if not wanted:
            names = mutants.names
            if sample and sample < len(names):
                names = random.Random(f"{seed} {module}").sample(names, sample)
        mutants.collect()
        if mutants.is_killed(""):
            raise SystemExit(
                f"{module}: its tests fail without a mutant: {' '.join(mutants.tests)}"
            )
        survivors = []
        for name in names:
            if not mutants.is_killed(name):
                survivors.append(name)
                print(f"{module}.{name}\n{mutants.difference(name)}", flush=True)
        killed = len(names) - len(survivors)
        print(
            f"{module:12} {killed:4} of {len(names):4} killed, {len(mutants.names)} mutants",
            flush=True,
        )
        os.chdir(ROOT)


def main() -> None:
    """Run the modules that are named, or all, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(TESTS)}")
    parser.add_argument("--sample", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mutants", nargs="*", default=[], help="just these")
    options = parser.parse_args()
    modules = options.modules or sorted({n.split(".")[0] for n in options.mutants} or TESTS)
    for module in modules:
        child = os.fork()
        if not child:
            run(module, options.sample, options.seed, options.mutants)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
