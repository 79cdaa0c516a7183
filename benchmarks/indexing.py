"""What indexing costs: our way into tantivy beside the engine's own bulk loader.

    python benchmarks/indexing.py TEXTS [--documents N] [--rounds N]

TEXTS is the folder that `benchmarks/search_quality.py --texts` keeps. Its pages' clean texts are
taken again and again, each with an id and a number of its own in front of its text, until there are
N documents (20,000). *bulk* adds them to a plain writer of the same schema, heap and one
thread, and commits once; *upsert* is what `contentspider index` does: in batches as large as the
engine takes, each asked for its documents first (`Engine.find`), one flush at the end; *again* is
an upsert of all documents, changed, into the index that *upsert* left; *sync* is `contentspider
index sync` of a history that has them, as it is after a crawl, into a new index. Each runs in a
process of its own: seconds, CPU seconds, the largest resident set with what it is without any
document, and the index's bytes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

import tantivy
from memory import high_water

from contentspider.cli import main as contentspider
from contentspider.index.engines.tantivy import HEAP_BYTES, TantivyEngine
from contentspider.index.engines.tantivy_terms import SCHEMA, to_tantivy
from contentspider.index.schema import Document, document_fields
from contentspider.state.history.entries import Entries
from contentspider.state.history.history import History
from contentspider.state.ledger.visits import Answer, StoredVisit, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

WAYS = ("bulk", "upsert", "again", "sync")
HISTORY = Path("history", "pages.sqlite")
AT = "2026-01-02T03:04:05+00:00"


def documents(texts: Path, count: int, version: int) -> Iterator[Document]:
    """Yield documents, one at a time; the pages are read from their files when they are needed."""
    rows = (
        (file.stem, row)
        for file in cycle(sorted(texts.glob("*.json")))
        for row in json.loads(file.read_text(encoding="utf-8"))
        if row["clean"]
    )
    for number, (site, row) in enumerate(islice(rows, count)):
        fields = document_fields(
            {
                "url": f"http://{site}/{number}",
                "site": site,
                "title": row["title"],
                "content": f"{number} {version} {row['clean']}",
                "page_type": "article",
            }
        )
        yield Document(f"{number:032x}", site, version, f"{version}", fields)


def bulk(folder: Path, texts: Path, count: int) -> None:
    """Fill an index with a plain writer."""
    index = tantivy.Index(SCHEMA, str(folder))
    writer = index.writer(HEAP_BYTES, num_threads=1)
    for document in documents(texts, count, 1):
        writer.add_document(to_tantivy(document))
    writer.commit()
    writer.wait_merging_threads()


def upsert(folder: Path, texts: Path, count: int, version: int) -> None:
    """Fill an index, or write all of it anew, with the engine."""
    engine = TantivyEngine(f"tantivy:{folder}")
    engine.open(is_writer=True)
    batch: list[Document] = []
    size = 0
    for document in documents(texts, count, version):
        length = len(document.fields["content"])
        if len(batch) == engine.max_documents or size + length > engine.max_bytes:
            engine.upsert(batch)
            batch, size = [], 0
        batch.append(document)
        size += length
    engine.upsert(batch)
    engine.flush()
    engine.close()


def make_history(path: Path, texts: Path, count: int) -> None:
    """Write a history of one crawl that found the documents."""
    history = History(path)
    takeover = history.begin_writing("crawl 1", True)
    for place, one in enumerate(documents(texts, count, 1)):
        item = dict(one.fields) | {"id": one.id}
        digest = f"{place:032x}"
        visit = Visit(
            id=one.id,
            url=str(item["url"]),
            site=str(item["site"]),
            at=AT,
            change="new",
            ratio=1.0,
            cause="",
            content_hash=digest,
            text_hash=digest,
            model="m",
            first_seen=AT,
            changed_at=AT,
        )
        text = str(item["content"])
        takeover.add_visit(StoredVisit(place + 1, visit, Answer(), text, None, True, item))
    takeover.commit()
    history.close()


def run(way: str, folder: Path, texts: Path, count: int) -> None:
    """Do one thing in this process, and print what it cost."""
    for _ in documents(texts, 1, 1):
        pass
    if way == "sync":
        Entries(folder.parent / HISTORY).close()
    idle = high_water(os.getpid())
    started, used = time.monotonic(), time.process_time()
    if way == "bulk":
        bulk(folder, texts, count)
    elif way == "sync":
        contentspider(["index", "sync", str(folder.parent / HISTORY), f"tantivy:{folder}"])
    else:
        upsert(folder, texts, count, 1 + (way == "again"))
    seconds, cpu = time.monotonic() - started, time.process_time() - used
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(json.dumps([seconds, cpu, high_water(os.getpid()), idle, size / 1e6]))


def main() -> None:
    """Run each way in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--run", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run, options.folder, options.texts, options.documents)
        return
    if not list(options.texts.glob("*.json")):
        sys.exit(f"{options.texts} has no texts: search_quality.py --texts keeps them")
    total = sum(
        len(document.fields["content"].encode())
        for document in documents(options.texts, options.documents, 1)
    )
    print(f"{options.documents} documents, {total / 1e6:.0f} MB of text\n")
    print("| round | way | seconds | CPU seconds | memory, MB (idle) | index, MB |")
    print("|---|---|---|---|---|---|")
    for number in range(1, options.rounds + 1):
        with tempfile.TemporaryDirectory(prefix="contentspider-") as scratch:
            path = Path(scratch) / HISTORY
            path.parent.mkdir()
            made = multiprocessing.Process(
                target=make_history, args=(path, options.texts, options.documents)
            )
            made.start()
            made.join()
            for way in WAYS:
                folder = Path(scratch) / ("upsert" if way == "again" else way)
                folder.mkdir(exist_ok=True)
                command = [sys.executable, __file__, str(options.texts), "--run", way]
                command += ["--folder", str(folder), "--documents", str(options.documents)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                seconds, cpu, peak, idle, size = json.loads(done.stdout)
                cells = f"{seconds:.1f} | {cpu:.1f} | {peak:.0f} ({idle:.0f}) | {size:.0f}"
                print(f"| {number} | {way} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
