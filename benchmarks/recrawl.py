"""Three crawls of a site that changes between them: are the records of its changes true?

    python benchmarks/recrawl.py [--pages 2000] [--down 503] [--folder FOLDER]

The site is that of `changing_site.py`, on loopback. `contentspider crawl` crawls its first version,
and learns it; then the second and the third with the stored model. What `contentspider changes`
tells after each crawl is compared with the truth: precision and recall by kind of record, and
every record that is wrong or missing, with what had happened to the page. What is ``changed`` for
another cause than the page's (``model``) counts as unchanged, and is counted apart. A
page of which nothing can be said (soft 404s, logins, what is down) is to have no record but
``unchanged``. Requests, bytes of bodies and CPU seconds (the learner's, too) are printed for each
crawl.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from changing_site import ChangingSite, Truth

from contentspider_research.serve import LoopbackServer

KINDS = ("new", "changed", "gone", "moved")
Change = tuple[str, str, str]


class Server:
    """Serves a site in a thread, and counts requests, bytes of bodies and answers by status."""

    def __init__(self, site: ChangingSite) -> None:
        self.counts: Counter[str] = Counter()
        lock = threading.Lock()  # a site makes one page at a time
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with lock:
                    status, target, validator, text = site.answer(self.path.partition("?")[0])
                if validator and self.headers.get("If-None-Match") == validator:
                    status, text = 304, ""
                body = text.encode()
                server.counts.update({"requests": 1, "bytes": len(body), f"HTTP {status}": 1})
                self.send_response(status)
                if target:
                    self.send_header("Location", target)
                if validator:
                    self.send_header("ETag", validator)
                if status != 304:
                    self.send_header("Content-Type", "text/html; charset=utf-8")
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = LoopbackServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def crawl(url: str, folder: Path, log: str) -> float:
    """Crawl the site, and return the CPU seconds that it took."""
    before = _cpu()
    command = ["crawl", url, "--own-site", "--no-sitemaps", "-o", "pages.jsonl"]
    quick = ["-s", "CONTENTSPIDER_OUTAGE_SECS=30"]
    with (folder / log).open("w") as file:
        done = subprocess.run(
            [sys.executable, "-m", "contentspider", *command, *quick],
            cwd=folder,
            stderr=file,
            check=False,
        )
    if done.returncode not in (0, 4):  # 4: some pages could not be read
        sys.exit(f"the crawl failed ({done.returncode}): see {folder / log}")
    return _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def records(url: str, folder: Path, since: int) -> list[dict[str, Any]]:
    """Return the change records after *since*, paths in place of addresses."""
    done = subprocess.run(
        [sys.executable, "-m", "contentspider", "changes", url, "--since", str(since)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for record in found:
        for name in ("url", "previous_url"):
            record[name] = record[name].removeprefix(url)
    return found


def compare(found: list[dict[str, Any]], truth: Truth) -> list[str]:
    """Print precision and recall by kind, and return what is wrong, a line each."""
    by_path = {record["url"]: record for record in found}
    # A page may have a record of its own, and one of each other that moved to it.
    times = Counter((r["change"], r["url"], r["previous_url"]) for r in found)
    wrong = [f"repeated  {' '.join(key)}" for key, count in times.items() if count > 1]
    paired = {path for pair in truth.pairs for path in pair}
    told = {
        (record["change"], record["url"], record["previous_url"] or "")
        for record in found
        if record["url"] not in paired and record["url"] not in truth.either
    }
    causes = {r["url"]: r["change_cause"] for r in found if r["change"] == "changed"}
    # Pages that could not be read are filtered anew, too, when the site is.
    known = truth.same | truth.hidden
    recut = {path for path, cause in causes.items() if cause == "model"} & known
    told -= {("changed", path, "") for path in recut}
    true = {change for change in truth.changes if change[1] not in truth.either}
    print("| record | true | told | right | precision | recall |\n|---|---|---|---|---|---|")
    for kind in KINDS:
        are = {change for change in true if change[0] == kind}
        said = {change for change in told if change[0] == kind}
        _print_row(kind, are, said)
        wrong += [_line("wrong", change, truth, by_path) for change in sorted(said - are)]
        wrong += [_line("missing", change, truth, by_path) for change in sorted(are - said)]
    same = {("unchanged", path, "") for path in truth.same}
    said = {change for change in told if change[0] == "unchanged" and change[1] not in truth.hidden}
    said |= {("unchanged", path, "") for path in recut & truth.same}
    _print_row("unchanged", same, said)
    wrong += [_line("wrong", change, truth, by_path) for change in sorted(said - same)]
    no_record = [path for path in sorted(truth.same) if path not in by_path]
    wrong += [f"no record {path} ({truth.what.get(path, 'as it was')})" for path in no_record]
    kind = "unchanged" if not all(change[0] == "new" for change in truth.changes) else "new"
    for pair in truth.pairs:
        kinds = [by_path[path]["change"] for path in pair if path in by_path]
        if kinds != [kind]:
            wrong.append(f"copies    {' = '.join(pair)}: {', '.join(kinds) or 'no record'}")
    hidden = sum(path in by_path for path in truth.hidden)
    print(
        f"\nOf these {len(recut)} are told as changed since they are cut differently;"
        f" {len(truth.hidden)} pages of which nothing can be said, {hidden} of them with a record;"
        f" {len(truth.pairs)} texts at two addresses\n"
    )
    return wrong


def _print_row(kind: str, true: set[Change], told: set[Change]) -> None:
    right = len(true & told)
    precision = right / len(told) if told else 1.0
    recall = right / len(true) if true else 1.0
    print(f"| {kind} | {len(true)} | {len(told)} | {right} | {precision:.4f} | {recall:.4f} |")


def _line(word: str, change: Change, truth: Truth, by_path: dict[str, dict[str, Any]]) -> str:
    kind, path, previous = change
    record = by_path.get(path)
    told = (
        f"told {record['change']} {record['change_ratio']} {record['change_cause']}"
        f" {record['reason']} {record['previous_url'] or ''}".rstrip()
        if record
        else "no record"
    )
    moved = f" from {previous}" if previous else ""
    return f"{word:9} {kind} {path}{moved} ({truth.what.get(path, 'as it was')}; {told})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=2_000, help="400 or more")
    parser.add_argument("--folder", type=Path, help="keep logs and state here")
    parser.add_argument(
        "--down", type=int, default=503, help="what the part that is down answers (default: 503)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        site = ChangingSite(options.pages, down=options.down)
        server = Server(site)
        since, costs, wrong = 0, [], []
        for number in (1, 2, 3):
            truth = site.first() if number == 1 else site.step()
            server.counts.clear()
            cpu = crawl(server.url, folder, f"crawl-{number}.log")
            costs.append({**server.counts, "CPU": cpu})
            found = records(server.url, folder, since)
            since = max((record["seq"] for record in found), default=since)
            print(f"\n## Crawl {number}: {len(found)} records\n")
            lines = compare(found, truth)
            wrong += lines
            print("\n".join(lines))
    print("\n| crawl | requests | answers 304 | MB | CPU seconds |\n|---|---|---|---|---|")
    for number, cost in enumerate(costs, 1):
        print(
            f"| {number} | {cost['requests']} | {cost.get('HTTP 304', 0)} |"
            f" {cost['bytes'] / 1e6:.1f} | {cost['CPU']:.1f} |"
        )
    print(f"\n{len(wrong)} wrong or missing records")


if __name__ == "__main__":
    main()
