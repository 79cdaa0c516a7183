"""Crawls that feed an index and are killed, and engines that are killed meanwhile: nothing is left
to mend at the end.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TIMEOUT, Site, run
from tests.processes import Popen
from tests.run.test_site_job import until
from tests.servers import SERVERS, skip_without
from tests.sites import article, prose
from tests.whole.test_durability import killing
from tests.whole.test_recrawls import Recrawls
from tests.whole.test_recrawls_killed import KILLING

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.servers import Server

PAGES = 30
SYNC = "contentspider.index.sync:Sync"
ENGINES = {
    "tantivy": "contentspider.index.engines.tantivy:TantivyEngine",
    "postgresql": "contentspider.index.engines.postgresql:PostgreSQLEngine",
    "typesense": "contentspider.index.engines.typesense:TypesenseEngine",
}
# A round brings more than one batch.
BATCH = 4


def moments(engine: str, is_server: bool) -> list[tuple[str, str]]:
    """Return at what a crawl is killed, and in the crawl that goes on with it the engine (or once
    more the crawl): at a request that the site is asked, or a call for so many documents.
    """
    draw = random.Random(12)
    # A server has all documents before the flush, so the next crawl only compares them.
    compares = "documents before 1", "set_mark before 1"
    finds = f"find after {draw.randint(1, 2)}", f"find before {draw.randint(1, 2)}"
    compared, marked = compares if is_server else finds
    return [
        (f"{engine} upsert after {draw.randint(1, 2)}", f"{engine} upsert before 1"),
        (f"fetch {draw.randint(2, PAGES)}", f"{engine} upsert after {draw.randint(1, 2)}"),
        (f"{engine} flush before 1", f"{engine} {compared}"),
        (f"fetch {draw.randint(2, PAGES)}", f"{engine} upsert before {draw.randint(1, 2)}"),
        (f"{SYNC} _save_mark before 1", f"{engine} {marked}"),
    ]


class Killed(Recrawls):
    """A site whose crawls feed the index at *url*, which is *scheme*'s, and are killed."""

    def __init__(self, site: Site, folder: Path, scheme: str, url: str) -> None:
        super().__init__(site, folder)
        self.articles = {f"/{number}": article(number) for number in range(1, PAGES)}
        self.scheme, self.url = scheme, url
        self.rounds = 0

    def change(self) -> None:
        """Change pages, take some away, move one, and bring new ones."""
        self.rounds += 1
        draw = random.Random(self.rounds)
        *edited, gone, moved = draw.sample(sorted(self.articles), 9)
        for path in edited:
            self.articles[path] = article(self.rounds * 1000 + int(path.rpartition("/")[2]))
        del self.articles[gone]
        number = self.rounds * 100
        self.articles[f"/{number}"] = self.articles.pop(moved)
        self.answers[moved] = 301, f"/{number}"
        for new in (number + 1, number + 2):
            self.articles[f"/{new}"] = article(new).replace(prose(new, 1), prose("new", new))

    def begin(self, moment: str, victim: int = 0) -> subprocess.Popen[bytes]:
        """Begin a crawl, or go on with one, which kills itself at a *moment*, or the *victim*."""
        what, _, after = moment.partition(" ")
        command = ["crawl", self.site.url, "--own-site", "-o", "pages.jsonl", "--no-sitemaps"]
        command += ["--resume", "--index", self.url]
        (self.folder / "killing.py").write_text(KILLING)
        program = ["-m", "contentspider"] if what == "fetch" else ["killing.py", moment]
        environment = os.environ | {"VICTIM": str(victim), "BATCH": str(BATCH)}
        with (self.folder / "said").open("wb") as said:
            process = Popen(
                [sys.executable, *program, *command],
                cwd=self.folder,
                env=environment,
                stderr=said,
            )
        if what == "fetch":
            self.site.answer = killing(process, self._answer, int(after))  # type: ignore[arg-type]
        return process

    def crawl_killed(self, moment: str) -> None:
        """Crawl, and fail unless the crawl is killed at a *moment*."""
        process = self.begin(moment)
        code = process.wait(TIMEOUT)
        self.site.answer = self._answer
        assert code == -signal.SIGKILL, (moment, self.told())

    def crawl_without(self, server: Server, moment: str) -> None:
        """Crawl, and kill the engine at a *moment*: the crawl waits for it, and ends well."""
        assert server.process is not None
        process = self.begin(moment, server.process.pid)
        until(lambda: process.poll() is not None or server.process.poll() is not None)
        assert server.process.poll() == -signal.SIGKILL, (moment, process.poll(), self.told())
        # PostgreSQL's process of the connection may outlive the server, and answer to the end.
        may_answer = server.url.startswith("postgresql:")
        assert may_answer or process.poll() is None, (moment, self.told())
        server.start()
        code = process.wait(TIMEOUT)
        assert code == 0, (moment, self.told())
        assert "index sync" not in self.told(), moment

    def told(self) -> str:
        """Return what the last crawl said."""
        said = (self.folder / "said").read_text()
        assert "Traceback" not in said, said[-3000:]
        return said[-3000:]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ENGINES)
def test_index_is_consistent_after_killed_crawls_and_engines(
    scheme: str,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    skip_without(scheme)
    _, make = SERVERS.get(scheme, (scheme, None))
    with make() if make else nullcontext() as server:
        for name, value in server.environment.items() if server else ():
            monkeypatch.setenv(name, value)
        url = f"{server.url}/pages" if server else f"{scheme}:pages"
        again = Killed(site, tmp_path, scheme, url)
        again.crawl("--index", url)
        drawn = moments(ENGINES[scheme], server is not None)
        for first, second in drawn if request.config.getoption("--all-kills") else drawn[:1]:
            again.change()
            again.crawl_killed(first)
            if server:
                again.crawl_without(server, second)
            else:
                again.crawl_killed(second)
        if not server:
            again.crawl("--resume", "--index", url)
        told = run("index", "verify", site.url, url, cwd=tmp_path).stderr
        assert f"{len(again.articles) + 1} documents as they should be, 0 missing" in told
