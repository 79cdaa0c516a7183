"""Workers of one crawl, and their PostgreSQL, that are killed and stopped at seeded moments."""

from __future__ import annotations

import random
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from tests import conftest
from tests.cluster.test_shared_crawl import LEASE_SECS, Cluster, alone, texts, until
from tests.conftest import TIMEOUT, read_jsonl
from tests.servers import postgresql_server, skip_without
from tests.sites import small_site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site
    from tests.processes import Popen
    from tests.servers import Server

PAGES = 60
SEEDS = 12
# Exit codes of a worker: the crawl is complete, or others have taken over its lease.
ENDED = (0, 1)

site = conftest.site


class Moments:
    """Has the site wait at the requests with some numbers, until `go_on` is called."""

    def __init__(self, site: Site, numbers: list[int]) -> None:
        self._answer = site.answer
        self._numbers = numbers
        self._count = 0
        self._lock = threading.Lock()
        self.arrived, self._may_go_on = threading.Semaphore(0), threading.Semaphore(0)
        site.answer = self._wait

    def _wait(self, path: str) -> tuple[int, str, bytes]:
        with self._lock:
            self._count += 1
            is_moment = self._count in self._numbers
        if is_moment:
            self.arrived.release()
            self._may_go_on.acquire(timeout=TIMEOUT)
        return self._answer(path)

    def go_on(self) -> None:
        self._may_go_on.release()


class Workers:
    """Two workers of a crawl, whose frontier is in the PostgreSQL *server*."""

    def __init__(self, cluster: Cluster, server: Server) -> None:
        self._cluster, self._server = cluster, server
        self._workers = {number: cluster.start(number) for number in (1, 2)}

    def kill(self, number: int) -> None:
        """Kill a worker, and start it again as a service manager does."""
        self._workers[number].kill()
        self._workers[number].wait()
        self._workers[number] = self._cluster.start(number)

    def stop(self, number: int) -> None:
        """Stop a worker for longer than its lease."""
        self._workers[number].send_signal(signal.SIGSTOP)
        threading.Timer(
            2 * LEASE_SECS, self._workers[number].send_signal, (signal.SIGCONT,)
        ).start()

    def restart_server(self, _: int) -> None:
        """Kill PostgreSQL, and start it again."""
        self._server.kill()
        self._server.start()

    def wait(self) -> None:
        """Wait until the crawl is complete; a worker that lost its lease is started again."""
        for number, worker in self._workers.items():
            code = worker.wait(TIMEOUT)
            assert code in ENDED, self._cluster.log(number)[-3000:]
        until(lambda: all(worker.poll() is not None for worker in self._workers.values()))
        if not self._cluster.outputs():
            last: Popen = self._cluster.start(1)
            assert last.wait(TIMEOUT) == 0, self._cluster.log(1)[-3000:]


@pytest.mark.thorough
def test_workers_give_each_page_once_whatever_is_killed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without("postgresql")
    small_site(site, PAGES)
    answer = site.answer
    with postgresql_server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "first").mkdir()
        expected = alone(Cluster(tmp_path / "first", site.url, server.url), site)
        for seed in range(SEEDS):
            folder = tmp_path / f"{seed}"
            folder.mkdir()
            draw = random.Random(seed)
            numbers = sorted(draw.sample(range(2, PAGES), 3))
            moments = Moments(site, numbers)
            cluster = Cluster(folder, site.url, server.url)
            workers = Workers(cluster, server)
            happenings = [workers.kill, workers.stop, workers.restart_server]
            draw.shuffle(happenings)
            for happen in happenings:
                assert moments.arrived.acquire(timeout=TIMEOUT)
                happen(draw.choice((1, 2)))
                moments.go_on()
            workers.wait()
            # A worker that is started again after the end begins the next crawl.
            outputs = cluster.outputs()
            assert outputs, (seed, numbers)
            for output in outputs:
                assert texts(list(read_jsonl(output))) == expected, (seed, numbers)
            site.answer = answer
