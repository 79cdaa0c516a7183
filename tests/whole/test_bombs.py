"""Pages that are made to fill the memory, and crawls that are left none.

The crawls are started by themselves: forks of a process that has loaded everything have its memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.process_memory import MB
from contentspider.site.learn import learner, sampling
from contentspider.state.outcome import Outcome
from tests.bombs import KINDS, page
from tests.conftest import read_jsonl, serve
from tests.hostile import Exchange, HostileSite, serve_hostile
from tests.messages import wording
from tests.sites import article, small_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Site

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sizes are read from /proc")

GOOD = 6
SMALL, LARGE = 2_000_000, 28_000_000
# The worst of trees, attributes, links, text and tables.
SAMPLE = ("short blocks", "nested links", "attributes each", "unspaced Chinese", "table of one row")
# What a page may take over a crawl without it.
MOST, TIMES = 300 * MB, 20
PAGES = 40


@pytest.fixture
def hostile() -> Iterator[HostileSite]:
    with serve_hostile() as made:
        yield made


def command(url: str, *options: str) -> list[str]:
    crawl = [sys.executable, "-m", "contentspider", "crawl", url, "--own-site"]
    return [*crawl, *options, "--log-level", "INFO"]


def start(url: str, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command(url, *options), cwd=folder, stdout=log, stderr=log)


# A process counts as its own what the one had that started it: this has little.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stderr=open("log", "wb"), stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def send(kind: str, size: int, exchange: Exchange) -> None:
    exchange.send(page(kind, size))


def peak(site: HostileSite, folder: Path, bombs: dict[str, int]) -> int:
    """Crawl good pages and *bombs*, kinds with their sizes; return the most bytes that the crawl,
    or a process that it started, had in memory.
    """
    kinds = list(bombs)
    links = "".join(f"<a href=/bomb{number}>x</a> " for number in range(len(kinds)))
    links += "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, GOOD))
    site.add("/", article(0, links))
    for number in range(1, GOOD):
        site.add(f"/{number}", article(number))
    for number, kind in enumerate(kinds):
        site.handlers[f"/bomb{number}"] = partial(send, kind, bombs[kind])
    folder.mkdir(exist_ok=True)
    crawl = command(site.url, "--max-depth", "1", "-s", "DOWNLOAD_TIMEOUT=180")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *crawl], cwd=folder, stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == Outcome.COMPLETE, (folder / "log").read_text()[-3000:]
    urls = [str(item["url"]).removeprefix(site.url) for item in read_jsonl(folder / "pages.jsonl")]
    assert {f"/{number}" for number in range(1, GOOD)} < set(urls)
    assert len(set(urls)) == len(urls)
    return int(done.stdout) * 1024


@pytest.fixture(scope="session")
def usual(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Return what a crawl without bombs takes."""
    with serve_hostile() as made:
        return peak(made, tmp_path_factory.mktemp("usual"), {})


@pytest.mark.thorough
def test_hostile_pages_take_little_memory(usual: int, hostile: HostileSite, tmp_path: Path) -> None:
    assert peak(hostile, tmp_path, dict.fromkeys(SAMPLE, SMALL)) - usual < MOST
    assert wording("crawl.page-cut") in (tmp_path / "log").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_hostile_page_takes_bounded_memory(
    kind: str, size: int, usual: int, hostile: HostileSite, tmp_path: Path
) -> None:
    assert peak(hostile, tmp_path, {kind: size}) - usual < max(MOST, TIMES * size)


@pytest.mark.thorough
def test_all_kinds_of_hostile_pages_together_take_bounded_memory(
    usual: int, hostile: HostileSite, tmp_path: Path
) -> None:
    assert peak(hostile, tmp_path, dict.fromkeys(KINDS, SMALL)) - usual < 1.5 * MOST


def test_learning_sample_is_limited_in_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    from contentspider import Page

    pages = [Page.from_html(article(number), f"/{number}") for number in range(30)]
    all_of_them = learner.SiteLearner.sample(pages)
    monkeypatch.setattr(sampling, "MAX_SAMPLE_CHARS", 10 * sampling._chars(pages[0]))
    first = learner.SiteLearner.sample(pages)
    assert 5 < len(first) < 15
    assert first == all_of_them[: len(first)] == learner.SiteLearner.sample(pages[::-1])
    monkeypatch.setattr(sampling, "MAX_SAMPLE_CHARS", 1)
    assert learner.SiteLearner.sample(pages) == all_of_them[:1]


MOMENTS: dict[str, Callable[[Site, str], bool]] = {
    "start": lambda site, log: len(site.requests) > 2,
    "download": lambda site, log: len(site.requests) > PAGES // 2,
    "learning": lambda site, log: "learning from" in log,
    "learned": lambda site, log: "learned model" in log,
    "end": lambda site, log: "Closing spider" in log,
}
SHORT = [("learned", 30)]


@pytest.mark.thorough
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("spare", [10, 30, 60, 120])
def test_crawl_out_of_memory_ends_within_seconds_and_resumes(
    moment: str, spare: int, tmp_path: Path
) -> None:
    with serve() as site:
        small_site(site, PAGES)
        answer = site.answer

        def slowly(path: str) -> tuple[int, str, bytes]:
            time.sleep(0.02)  # so that there is a "while"
            return answer(path)

        site.answer = slowly
        process = start(site.url, tmp_path)
        log = tmp_path / "log"
        while process.poll() is None and not MOMENTS[moment](site, log.read_text()):
            time.sleep(0.005)
        try:
            size = int((tmp_path / f"/proc/{process.pid}/statm").read_text().split()[0])
            allowed = size * resource.getpagesize() + spare * MB
            resource.prlimit(process.pid, resource.RLIMIT_AS, (allowed, allowed))
        except (ProcessLookupError, FileNotFoundError, IndexError):
            assert moment == "end", "the crawl was over before"
        code = process.wait(40)
        said = log.read_text()
        assert code in (Outcome.OUT_OF_MEMORY, Outcome.COMPLETE), said[-3000:]
        if (moment, spare) in SHORT:
            assert code == Outcome.OUT_OF_MEMORY
        if code:
            last = said.splitlines()[-1]
            assert last.startswith("contentspider: ")
            assert last.endswith("run the same command with --resume to continue")
            assert "out of memory" in said
        again = start(site.url, tmp_path, "--resume")
        assert again.wait(120) == Outcome.COMPLETE
        urls = [item["url"] for item in read_jsonl(tmp_path / "pages.jsonl")]
        assert len(urls) == len(set(urls)) == PAGES
