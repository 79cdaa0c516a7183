"""Environments in which the tests run: ``nox -s minimum``, ``newest``, ``unreleased``, ``loaders``,
``engines``, ``docs``, ``sanitized``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nox

nox.options.sessions = ["minimum", "newest"]
ROOT = Path(__file__).parent
OURS = ("-e", ".[all]", "-e", "research")
TOOLS = ("pytest", "pytest-xdist", "markdown-it-py")
# What shows whether a library is old or new enough: the core, and crawls over real HTTP. Speed,
# quality and kills do not hang on versions.
MAKEFILE = (ROOT / "Makefile").read_text()
CORE = re.findall(r"^CORE_TESTS := .*tests/,(.*)\)$", MAKEFILE, re.MULTILINE)[0].split()
TESTS = [
    path.relative_to(ROOT).as_posix()
    for room in CORE
    for path in sorted((ROOT / "tests" / room).glob("test_*.py"))
    if not path.stem.startswith(
        ("test_durability", "test_quality", "test_featuresets", "test_report")
    )
]


def lowest(session: nox.Session) -> list[str]:
    """Return the requirements of pyproject.toml at their lower bounds, and what tests of the core
    need; tests of extras are skipped.
    """
    project = nox.project.load_toml("pyproject.toml")["project"]
    dev = project["optional-dependencies"]["dev"]
    names = ("pytest", "markdown-it-py", "mdit-py-plugins")
    tools = [need for need in dev if need.startswith(names)]
    tools += project["optional-dependencies"]["testing"]
    needs = [need.partition(";")[0] for need in project["dependencies"] + tools]
    bounded = [need for need in needs if re.fullmatch(r"[\w.-]+>=[\d.]+", need)]
    if len(bounded) != len(needs):
        session.error(f"these have no plain lower bound: {sorted(set(needs) - set(bounded))}")
    return [need.replace(">=", "==") for need in bounded]


def test(session: nox.Session) -> None:
    """Run the tests in the environment at hand."""
    session.run("python", "-c", "import scrapy, lxml; print(scrapy.__version__, lxml.__version__)")
    session.run("python", "-m", "pytest", "-q", "-n", "2", *session.posargs, *TESTS)


@nox.session
def minimum(session: nox.Session) -> None:
    """Run the tests with the lowest version of every dependency, on the oldest Python:
    ``--force-python python3.10``. ``-- -m versions`` runs those of which a version decides.
    """
    session.install(*lowest(session))
    # Compiled fast: speed is not what is tested. (-O0 keeps calls of libxml2 that nobody makes.)
    session.install("--no-deps", "-e", ".", "-e", "research", env={"CFLAGS": "-O1"})
    test(session)


@nox.session
def newest(session: nox.Session) -> None:
    """Run the tests with the newest version of every dependency."""
    session.install("--upgrade", *OURS, *TOOLS)
    test(session)


@nox.session
def unreleased(session: nox.Session) -> None:
    """Run the tests with Scrapy as its repository has it today."""
    session.install(*OURS, *TOOLS)
    session.install("--upgrade", "git+https://github.com/scrapy/scrapy")
    test(session)


@nox.session
def loaders(session: nox.Session) -> None:
    """Run the tests of `contentspider.integrations` with LangChain, LlamaIndex and Haystack."""
    session.install("-e", ".[langchain,llamaindex,haystack]", *TOOLS)
    session.run("python", "-m", "pytest", "-q", *session.posargs, "tests/integrations")


@nox.session
def engines(session: nox.Session) -> None:
    """Run the examples of docs/data-engines.md, docs/archives.md and docs/machines.md with the real
    engines, also with those that take 1 GB. Spark needs Java (``default-jre-headless``), Celery
    needs Redis (``redis-server``).
    """
    engines = ("pyspark", "ray[data]", "dask[dataframe]", "duckdb", "polars", "pandas")
    task_engines = ("celery[redis]", "prefect")
    session.install("-e", ".[parquet,archive,dask,language]", *engines, *task_engines, *TOOLS)
    files = ("archive/test_data_engines.py", "archive/test_recipes.py", "run/test_recipes.py")
    tests = [f"tests/{file}" for file in files]
    session.run("python", "-m", "pytest", "-q", "--all-kills", *session.posargs, *tests)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a broken link within it is an error."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "-q", "-b", "html", "docs", "docs/_build")


@nox.session
def sanitized(session: nox.Session) -> None:
    """Read hostile pages, models and records with compiled modules that AddressSanitizer watches:
    20,000 pages, and 2,500 of each other kind that compiled code reads.
    """
    pyproject = nox.project.load_toml("pyproject.toml")
    extras = pyproject["project"]["optional-dependencies"]
    needs = [*pyproject["build-system"]["requires"], *pyproject["project"]["dependencies"]]
    session.install(*needs, *extras["warc"], "pytest")
    copy = Path(session.create_tmp()) / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    skipped = shutil.ignore_patterns(".*", "build", "docs", "*.so")
    shutil.copytree(ROOT, copy, ignore=skipped)
    session.chdir(copy)
    flags = "-fsanitize=address -fno-omit-frame-pointer -g -O1"
    compiled = {"CFLAGS": flags, "CXXFLAGS": flags, "LDFLAGS": "-fsanitize=address"}
    session.run("python", "setup.py", "-q", "build_ext", "--inplace", env=compiled)
    named = ("libasan.so", "libstdc++.so")
    found = [
        str(session.run("gcc", f"-print-file-name={name}", external=True, silent=True)).strip()
        for name in named
    ]
    watched = {
        "LD_PRELOAD": " ".join(found),
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=50",
        "PYTHONMALLOC": "malloc",  # else it cannot see the borders of objects
        "PYTHONPATH": str(copy),
    }
    kinds = ["links", "own texts", "models", "priors", "corrections", "records"]
    parts = [f"pages-{first}" for first in range(0, 20_000, 2_500)] + [f"{one}-0" for one in kinds]
    name = "tests/whole/test_fuzz.py::test_all_fuzz_inputs_are_read_or_rejected"
    tests = [f"{name}[{part}]" for part in parts]
    session.run("python", "-m", "pytest", "-q", "--all-kills", *tests, env=watched)


@nox.session
def mutation(session: nox.Session) -> None:
    """See which random changes of a room the tests notice: ``-- --sample 50 state``."""
    session.install("-e", ".[dev]", *OURS, "mutmut>=3.8", "cython>=3")
    session.run("python", "benchmarks/mutations.py", *session.posargs)
