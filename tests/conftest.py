from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread, current_thread, local, main_thread
from typing import TYPE_CHECKING

import pytest

from tests.processes import run_forked, start_server

# Before anything loads OpenMP: its threads wait for each other by spinning, and with a worker of
# pytest-xdist a core the training of trees takes ten times as long. Subprocesses inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
CORPORA = ROOT.parent / "shared"
TIMEOUT = 900


# Where a library's version decides, and CI tests with the lowest ones, too: what we take for
# granted of Scrapy's insides, small crawls, storage, and what the core does with lxml and NumPy.
VERSIONS = {
    *("engine_contract", "scheduler", "inspection", "scope", "settings", "plugins", "binding"),
    "sitesfile",
    *("links", "items", "requests", "ending", "storage", "output", "files", "formats"),
    *("book", "book_contents", "book_files", "book_items", "book_queue", "book_sample", "imports"),
    *("blocks", "blocks_hidden", "document", "body", "hints", "metadata", "title"),
    *("model", "trees", "overrides"),
    "test_each_page_is_output_once_and_second_crawl_loads_model",
    "test_addon_fills_items_of_user_project",
    "test_failed_urls_are_retried_at_end_of_crawl",
    "test_crawl_without_asyncio_logs_one_error",
    "test_other_2xx_responses_are_read_as_pages",
}


# These take many seconds: they begin first, so that no worker is left with them at the end.
LONG = {
    *("test_outage", "test_hostile", "test_witnesses", "test_rendered_crawls", "test_durability"),
    *("test_archive", "test_annotate_browser", "test_try_browser", "test_training"),
    "test_docs_blocks",
}


# The audit events of a test that starts a process. With --quick they skip it, as a socket does.
STARTS = {"subprocess.Popen", "os.fork", "os.posix_spawn"}
# Modules whose tests run the components of a whole crawl, in memory: --quick leaves them out.
CRAWLS = re.compile(r"^ *from tests\.(?:crawls|crawlers|recrawled) import", re.MULTILINE)


def pytest_configure(config: pytest.Config) -> None:
    """Start one process that forks commands for all workers of pytest-xdist."""
    if config.getoption("--quick"):
        config.pluginmanager.register(Quick())
    elif getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        start_server()


class Quick:
    """Leaves out tests of crawls, and skips a test at the moment when it starts a process or opens
    a socket.
    """

    def __init__(self) -> None:
        self._in_test = False
        sys.addaudithook(self._skip)

    def _skip(self, event: str, values: tuple[object, ...]) -> None:
        started = event in STARTS or (
            event == "socket.__new__" and values[1] in {socket.AF_INET, socket.AF_INET6}
        )
        if started and self._in_test and current_thread() is main_thread():
            pytest.skip("starts a process, or opens a socket")

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        is_test = collection_path.name.startswith("test_")
        return (is_test and bool(CRAWLS.search(collection_path.read_text("utf-8")))) or None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._in_test = True
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        self._in_test = False
        return (yield)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m versions``, leave out the modules without such tests: they need not be imported."""
    name = collection_path.stem.removeprefix("test_")
    if config.option.markexpr != "versions" or name == collection_path.stem or name in VERSIONS:
        return None
    functions = re.findall(r"^def (test_\w+)", collection_path.read_text("utf-8"), re.MULTILINE)
    return VERSIONS.isdisjoint(functions) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for option, marker in (("--all-kills", "thorough"), ("--all-folds", "folds")):
        if not config.getoption(option):
            items[:] = [item for item in items if not item.get_closest_marker(marker)]
    for item in items:
        if {item.path.stem.removeprefix("test_"), item.name.partition("[")[0]} & VERSIONS:
            item.add_marker(pytest.mark.versions)
    items.sort(key=lambda item: item.path.stem not in LONG)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="leave out tests of crawls, processes and servers"
    )
    parser.addoption(
        "--all-folds",
        action="store_true",
        help="judge the open corpora, by priors that are trained",
    )
    parser.addoption(
        "--all-kills", action="store_true", help="kill crawls at all moments, and all that is slow"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many inputs the readers were given (`test_fuzz.py`), and how they ended."""
    ends: dict[str, Counter[str]] = {}
    for report in terminalreporter.getreports("passed"):
        for kind, value in getattr(report, "user_properties", ()) if report.when == "call" else ():
            if kind == "fuzzed":
                ends.setdefault(value[0], Counter()).update(value[1])
    for name, counts in ends.items():
        how = ", ".join(f"{count:,} {end}" for end, count in counts.most_common())
        terminalreporter.line(f"{name}: {counts.total():,} inputs: {how}")


@pytest.fixture(scope="session")
def example_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from example_site import ExampleSite

    return ExampleSite().write(tmp_path_factory.mktemp("corpora") / "example")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a test of a book has it."""
    return tmp_path / "crawl.sqlite"


@pytest.fixture(scope="session")
def shared() -> Path:
    if not (CORPORA / "corpora").is_dir():
        pytest.skip("the shared corpora are not beside the checkout (../shared)")
    return CORPORA


def run(
    *arguments: str, cwd: Path, check: bool = True, module: str = "contentspider"
) -> subprocess.CompletedProcess[str]:
    """Run contentspider's command line, or that of another *module* or script, as a user would."""
    done = run_forked(module, *arguments, cwd=cwd, seconds=TIMEOUT)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    if check:
        assert done.returncode == 0, done.stderr[-3000:]
    return done


def read_jsonl(path: Path) -> list[dict[str, object]]:
    # Not splitlines(), which also splits at U+2028, in the midst of a line.
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def token_f1(predicted: str, gold: str) -> float:
    """Return the F1 of two texts' multisets of words, as shared/score.py defines it."""
    first, second = (Counter(re.findall(r"\w+", text.lower())) for text in (predicted, gold))
    common = sum((first & second).values())
    return (
        2 * common / (sum(first.values()) + sum(second.values()))
        if common
        else float(not first and not second)
    )


class LoopbackServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of the default 5 the kernel drops connections


class LoopbackServer6(LoopbackServer):
    address_family = socket.AF_INET6


class Site:
    """A website on loopback whose pages a test makes: path -> (status, type, body)."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.pages: dict[str, tuple[int, str, bytes]] = {}
        self.requests: list[str] = []
        # The headers of the request that is answered just now, by its thread.
        self.asked = local()
        self.answer: Callable[[str], tuple[int, str, bytes]] = lambda path: self.pages.get(
            path, (404, "text/html", b"<p>none</p>")
        )
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                site.asked.headers = self.headers
                status, kind, body = site.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = (LoopbackServer6 if ":" in host else LoopbackServer)((host, 0), Handler)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self.server.server_address[1]}"

    def add(
        self,
        path: str,
        html: str | bytes,
        status: int = 200,
        kind: str = "text/html; charset=utf-8",
    ) -> None:
        self.pages[path] = (status, kind, html.encode() if isinstance(html, str) else html)


@contextmanager
def serve(host: str = "127.0.0.1") -> Iterator[Site]:
    made = Site(host)
    thread = Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as made:
        yield made
