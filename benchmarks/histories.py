"""Crawls of real sites' histories: are the records of changes true, and what does a re-crawl cost?

    python benchmarks/histories.py SITE... [--states 3] [--kills N] [--verbose]

SITE is a git directory of rendered pages, as ``DIRECTORY@REF:FOLDER`` (FOLDER ends with a slash, or
is empty), in which `--states` commits are taken, the first with half of the last one's pages and
others evenly after it. Each is served on loopback at the same address; the first one is crawled
twice (an identical state), then each of the others. The truth comes from the files: a page of two
states has changed if a line of its text has that hardly another page of that state gained or lost,
and trafilatura reads another text from it; it has not if all its other lines are on other pages,
too. What lies between is not counted, nor what differs in digits, or in labels that other pages
have, too ("Next LABEL"). With `--kills` each crawl but the first is killed (SIGKILL) so many times,
at drawn moments, and resumed.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import trafilatura

from contentspider.page.input.page import Page
from contentspider_research.serve import SiteServer

# A line that so many pages, and this share of them, gained or lost is the template's.
COMMON, COMMON_SHARE = 3, 0.1
STUB = re.compile(rb"http-equiv=.?refresh", re.IGNORECASE)
DIGITS = re.compile(r"\d+")


def git(repository: str, *arguments: str, given: bytes = b"") -> bytes:
    """Return what a command of git prints."""
    command = ["git", "-C", repository, *arguments]
    return subprocess.run(command, input=given, check=True, stdout=subprocess.PIPE).stdout


def states(repository: str, ref: str, folder: str, count: int) -> list[str]:
    """Return so many commits of a history."""
    commits = git(repository, "rev-list", "--reverse", "--first-parent", ref).decode().split()

    def size(commit: str) -> int:
        found = git(repository, "ls-tree", "-r", "--name-only", commit, folder or ".").split(b"\n")
        return sum(name.endswith(b".html") for name in found)

    half, low, high = size(commits[-1]) // 2, 0, len(commits) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if size(commits[middle]) >= half else (middle + 1, high)
    last = len(commits) - 1
    return [commits[low + (last - low) * number // (count - 1)] for number in range(count)]


class State:
    """The pages of a commit, unpacked into a *folder*: their lines, and what trafilatura reads."""

    def __init__(self, repository: str, commit: str, part: str, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        hashes, paths = [], []
        for entry in git(repository, "ls-tree", "-r", "-z", commit).decode().split("\0")[:-1]:
            facts, _, path = entry.partition("\t")
            if path.endswith((".html", ".xml")) and (path.startswith(part) or "/" not in path):
                hashes.append(facts.split()[2])
                paths.append(folder / path)
        packed = io.BytesIO(
            git(repository, "cat-file", "--batch", given="\n".join(hashes).encode())
        )
        for path in paths:
            _, kind, *size = packed.readline().split()
            if kind == b"blob":  # a snapshot may lack some
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed.read(int(size[0]) + 1)[:-1])
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.html")}
        self.pages = {name for name in found if not STUB.search((folder / name).read_bytes())}
        self._lines = {name: self._read(name) for name in self.pages}
        self._on_pages = Counter(line for lines in self._lines.values() for line in set(lines))

    def lines(self, name: str) -> Counter[str]:
        """Return the lines of a page's text."""
        return self._lines[name]

    def has_label(self, line: str) -> bool:
        """Tell whether a line without its first word is one of several pages."""
        return any(self._on_pages[part] > 1 for part in (line, line.partition(" ")[2]))

    def _read(self, name: str) -> Counter[str]:
        page = Page.from_html((self.folder / name).read_bytes(), "/")
        return Counter(" ".join(block.text.split()) for block in page.content.blocks)

    def main_text(self, name: str) -> str:
        """Return the main text of a page by another extractor."""
        html = (self.folder / name).read_bytes()
        return " ".join((trafilatura.extract(html) or "").split())


def truth(before: State, after: State) -> tuple[set[str], set[str], dict[str, list[str]]]:
    """Return the pages that have changed, those that have not, and which lines differ."""
    differing: dict[str, list[str]] = {}
    pages = before.pages & after.pages
    for name in pages:
        old, new = before.lines(name), after.lines(name)
        differing[name] = [*(old - new).elements(), *(new - old).elements()]
    many = max(COMMON, COMMON_SHARE * len(pages))
    common = Counter(line for lines in differing.values() for line in set(lines))
    changed, same = set(), set()
    for name, lines in differing.items():
        differing[name] = own = [line for line in lines if common[line] < many]
        numberless = Counter(DIGITS.sub("", line) for line in own if not after.has_label(line))
        if not own:
            same.add(name)
        elif any(count % 2 for count in numberless.values()) and (
            before.main_text(name) != after.main_text(name)
        ):
            changed.add(name)
    return changed, same, differing


class Crawls:
    """The crawls of one site, in a *folder*, and what they cost."""

    def __init__(self, folder: Path, server: SiteServer, start: str) -> None:
        self._folder, self._server, self._start = folder, server, start
        self._seq = 0
        self._names: dict[str, str] = {}
        self._draw = random.Random(25)
        self.kills = 0

    def _crawl(self, kills: int, most_secs: float) -> subprocess.CompletedProcess[str]:
        """Run a crawl, which is killed so many times, and resumed."""
        command = ["crawl", self._start, "--own-site", "-o", "pages.jsonl"]
        for _ in range(kills):
            with suppress(subprocess.TimeoutExpired):  # that kills it
                return self._run(*command, timeout=self._draw.uniform(0.5, most_secs))
            self.kills += 1
            command[6:] = ["--resume"]
        return self._run(*command)

    def crawl(
        self, state: State, kills: int = 0, most_secs: float = 0
    ) -> tuple[dict[str, dict[str, Any]], float, int]:
        """Crawl a state; return the records by page, the CPU seconds, and the exit code."""
        self._server.folder = state.folder.resolve()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self._crawl(kills, most_secs)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told = {}
        for line in self._run("changes", self._start, "--since", str(self._seq)).stdout.split("\n"):
            if line:
                record = json.loads(line)
                self._seq = max(self._seq, record["seq"])
                told[self._name(state, record["url"])] = record
                if record["previous_url"]:
                    told[self._name(state, record["previous_url"])] = record
        return told, seconds, done.returncode

    def _name(self, state: State, url: str) -> str:
        file = self._server.file_of("/" + url.removeprefix(self._server.url))
        if file is not None:
            self._names[url] = file.relative_to(state.folder.resolve()).as_posix()
        return self._names.get(url, url)

    def _run(
        self, *arguments: str, timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "contentspider", *arguments]
        return subprocess.run(
            command,
            cwd=self._folder,
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
        )


def share(part: int, whole: int) -> str:
    """Return numbers as "2 of 3"."""
    return f"{part} of {whole}"


def measure(site: str, count: int, kills: int, is_verbose: bool) -> Counter[str]:
    """Print what crawls of a site's states told, and what was true; return the sums."""
    repository, _, rest = site.partition("@")
    ref, _, part = rest.partition(":")
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "crawls").mkdir()
        commits = states(repository, ref, part, count)
        made = [
            State(repository, commit, part, folder / f"state{number}")
            for number, commit in enumerate(commits)
        ]
        with SiteServer(made[0].folder) as server:
            start = server.url + (quote(part.strip("/")) + "/" if part else "")
            crawls = Crawls(folder / "crawls", server, start)
            told, first, _ = crawls.crawl(made[0])
            print(f"\n{site}: {len(made[0].pages)} pages, {len(told)} read, {first:.1f} s of CPU")
            again, seconds, code = crawls.crawl(made[0], kills, first / 2)
            other = [one for one in again.values() if one["change"] != "unchanged"]
            print(
                f"identical: {len(other)} of {len(again)} records are not 'unchanged', exit code"
                f" {code}, {seconds / first:.2f} of the first crawl's CPU"
            )
            totals["identical, false"] += len(other)
            totals["identical"] += len(again)
            for before, after in pairwise(made):
                known = {name for name, one in told.items() if one["change"] != "gone"}
                told, seconds, code = crawls.crawl(after, kills, first / 2)
                sums = compare(before, after, known, told, is_verbose)
                print(
                    f"{len(after.pages)} pages:"
                    f" changed {share(sums['changed right'], sums['changed told'])} right,"
                    f" {share(sums['changed right'], sums['changed'])} found;"
                    f" new {share(sums['new right'], sums['new told'])} right;"
                    f" gone or moved {share(sums['gone right'], sums['gone told'])} right,"
                    f" {share(sums['gone right'], sums['gone'])} found;"
                    f" exit code {code}, {seconds / first:.2f} of the first crawl's CPU",
                    flush=True,
                )
                totals.update(sums)
            totals["kills"] += crawls.kills
    return totals


def compare(
    before: State, after: State, known: set[str], told: dict[str, dict[str, Any]], is_verbose: bool
) -> Counter[str]:
    """Return how many records are right, told, and true, by kind."""
    changed, same, differing = truth(before, after)
    sums: Counter[str] = Counter()
    for name, record in told.items():
        kind, is_page = record["change"], record["change_cause"] == "page"
        if kind == "changed" and is_page and name in changed | same:
            sums["changed told"] += 1
            sums["changed right"] += name in changed
            if is_verbose and name in same:
                print("  false:", name, differing[name][:6])
        elif kind == "new":
            sums["new told"] += 1
            sums["new right"] += name not in known
        elif kind in ("gone", "moved") and name in known:
            sums["gone told"] += 1
            sums["gone right"] += name not in after.pages
    for name in changed & known & told.keys():
        sums["changed"] += 1
        if is_verbose and told[name]["change"] not in ("changed", "moved"):
            print("  missed:", name, told[name]["change"], differing[name][:6])
    for name in (known & before.pages) - after.pages:
        sums["gone"] += 1
        if is_verbose and told.get(name, {}).get("change") not in ("gone", "moved"):
            print("  not gone:", name, told.get(name))
    return sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sites", nargs="+", metavar="DIRECTORY@REF:FOLDER")
    parser.add_argument("--states", type=int, default=3, metavar="N")
    parser.add_argument("--kills", type=int, default=0, metavar="N")
    parser.add_argument("--verbose", action="store_true", help="print what is false or missed")
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    for site in options.sites:
        totals.update(measure(site, options.states, options.kills, options.verbose))
    print("\nall sites:")
    for name, number in sorted(totals.items()):
        print(f"  {name}: {number}")


if __name__ == "__main__":
    main()
