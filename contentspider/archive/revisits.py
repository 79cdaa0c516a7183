"""Finds the pages that WARC ``revisit`` records stand for, in all shards of a job.

Each shard with revisits has a folder in the job's target: a note with its revisits, and for each
shard that has some of their pages a file with the HTML of these. The folder is read as a shard.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contentspider.archive.stored import REVISIT, StoredPage
from contentspider.archive.target import WORK, Target, shard_id
from contentspider.page.input.body import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    # A revisit: the id of its shard, and its number in the note of this shard.
    Place = tuple[str, int]

FOLDER, ENDING = f"{WORK}/revisits", ".revisits"
NOTE = "revisits.json"
NOT_FOUND = "a revisit record, and the page that it stands for is not in the archive"


def write_revisits(target: Target, shard: str, revisits: list[StoredPage]) -> str:
    """Write the revisits of a shard for `find_pages`. Return the URL of their folder, which
    `read_revisits` reads.
    """
    folder = f"{FOLDER}/{shard_id(shard)}{ENDING}"
    rows = [[page.url, page.content_type, page.date, page.keys] for page in revisits]
    target.write_note(f"{folder}/{NOTE}", {"revisits": rows})
    return f"{target.url}/{folder}"


def find_pages(target: Target, shard: str, pages: Iterable[StoredPage]) -> None:
    """Write the HTML of those *pages* of a shard that revisits of any shard stand for."""
    wanted = _wanted(target)
    with TemporaryDirectory(prefix="contentspider-archive-") as temporary:
        for page in pages:
            # A page with several keys is written once for each revisit.
            places = dict.fromkeys(place for key in page.keys for place in wanted.pop(key, ()))
            for folder, number in places:
                row = {"number": number, "html": _text(page), "content_type": page.content_type}
                with (Path(temporary) / folder).open("ab") as file:
                    file.write(json.dumps(row).encode() + b"\n")
        for path in Path(temporary).iterdir():
            target.put(path, f"{FOLDER}/{path.name}/{shard_id(shard)}.jsonl")


def _wanted(target: Target) -> dict[str, list[Place]]:
    """Return the revisits of all shards by the keys of their pages."""
    wanted: dict[str, list[Place]] = defaultdict(list)
    for name in target.names(FOLDER):
        folder, _, file = name.removeprefix(f"{FOLDER}/").rpartition("/")
        if file == NOTE:
            for number, revisit in enumerate(_revisits(target, folder)):
                for key in revisit[-1]:
                    wanted[key].append((folder, number))
    return wanted


def _revisits(target: Target, folder: str) -> list[list[Any]]:
    note = target.read_note(f"{FOLDER}/{folder}/{NOTE}")
    return list(note["revisits"]) if note else []


def _text(page: StoredPage) -> str:
    return page.html if isinstance(page.html, str) else decode(page.html, page.content_type)


def read_revisits(shard: str) -> Iterator[StoredPage]:
    """Yield the pages that the revisits in a folder stand for, and then, with a problem, the
    revisits whose page no shard has.
    """
    url, _, folder = shard.rpartition(f"/{FOLDER}/")
    target = Target(url)
    unread = dict(enumerate(_revisits(target, folder)))
    with TemporaryDirectory(prefix="contentspider-archive-") as temporary:
        for name in target.names(f"{FOLDER}/{folder}"):
            if name.endswith(f"/{NOTE}"):
                continue
            path = Path(temporary) / "pages"
            target.get(name, path)
            with path.open("rb") as file:
                for row in map(json.loads, file):
                    revisit = unread.pop(row["number"], None)
                    if revisit is not None:  # the first shard that has the page gives it
                        url, content_type, date, _ = revisit
                        yield StoredPage(
                            url, row["html"], content_type or row["content_type"], date
                        )
    for url, content_type, date, _ in unread.values():
        yield StoredPage(url, b"", content_type, date, NOT_FOUND, REVISIT)
