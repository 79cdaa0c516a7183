"""A corpus as the website that it was, on loopback, from a process of its own.

    python benchmarks/corpus_server.py CORPUS [--no-validators]

It prints the start addresses as a JSON array. For each line on standard input it prints the
requests since the last one. `CorpusSite` runs it, so that its CPU time is not counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.evaluation.corpora import find_corpora
from contentspider_research.corpora import bases, start_paths
from contentspider_research.serve import SiteServer

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class CorpusSite:
    """Serves a *corpus* as a context manager; *urls* are its start pages. Without validators, the
    server sends every page in full.
    """

    def __init__(self, corpus: Path, has_validators: bool = True) -> None:
        self._command = [sys.executable, __file__, str(corpus)]
        if not has_validators:
            self._command.append("--no-validators")

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.urls: list[str] = self._read()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()  # the server ends with its standard input

    def _read(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def requests(self) -> list[tuple[str, str]]:
        """Return the addresses of the requests since the last call, each with the ETag that it
        asked for ("": none).
        """
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        root = "/".join(self.urls[0].split("/")[:3])
        return [(root + path, etag) for path, etag in self._read()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="the folder of one corpus")
    parser.add_argument("--no-validators", action="store_true", help="send no ETag, and no 304")
    options = parser.parse_args()
    (corpus,) = find_corpora(options.corpus)
    folder, addresses = corpus.folder / "html", bases(corpus)
    with SiteServer(folder, addresses, not options.no_validators) as site:
        urls = [site.url + path.lstrip("/") for path in start_paths(corpus)]
        print(json.dumps(urls), flush=True)
        for _ in sys.stdin:
            requests, site.requests = site.requests, []
            print(json.dumps(requests), flush=True)


if __name__ == "__main__":
    main()
