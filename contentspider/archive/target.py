"""What a job writes, on any fsspec URL: whole objects, and what says that a task is done."""

from __future__ import annotations

import json
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import fsspec

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.stores.remote import check_url, is_url, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORK = "_work"
PARTIAL = ".partial"


class TargetError(ContentSpiderError):
    """What a job makes cannot be written or read."""


class Target:
    """The folder at a URL; each of its objects appears as a whole."""

    def __init__(self, url: str) -> None:
        if is_url(url):
            check_url(url)
        self.url = url.rstrip("/")
        self._files, root = fsspec.url_to_fs(self.url)
        self._root = root.rstrip("/")
        self._is_local = "file" in self._files.protocol

    @contextmanager
    def _saying(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - each file system has its own
            said = without_secrets(f"{type(error).__name__}: {error}")
            raise TargetError(f"{self.url}/{name}: {said}") from None

    def put(self, source: Path, name: str) -> None:
        """Make an object of a file, in place of the one that was there."""
        place = f"{self._root}/{name}"
        with self._saying(name):
            partial = self._made_ready(place)
            self._files.put_file(str(source), partial)
            if partial != place:
                self._files.mv(partial, place)

    def get(self, name: str, target: Path) -> None:
        """Copy an object to a file."""
        with self._saying(name):
            self._files.get_file(f"{self._root}/{name}", str(target))

    def names(self, below: str) -> list[str]:
        """Return the names of the objects below a folder, in order."""
        with self._saying(below):
            self._files.invalidate_cache()
            found = self._files.find(f"{self._root}/{below}")
        start = len(self._root.lstrip("/")) + 1
        names = (str(path).lstrip("/")[start:] for path in found)
        return sorted(name for name in names if not name.endswith(PARTIAL))

    def sweep(self) -> None:
        """Delete what a killed process left half written."""
        with self._saying(PARTIAL):
            for path in self._files.glob(f"{self._root}/**/*{PARTIAL}") if self._is_local else ():
                self._files.rm_file(path)

    def note(self, name: str, record: dict[str, Any]) -> None:
        """Write what is known of a task that is done."""
        with self._saying(name):
            text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
            place = f"{self._root}/{name}"
            partial = self._made_ready(place)
            self._files.pipe_file(partial, text)
            if partial != place:
                self._files.mv(partial, place)

    def _made_ready(self, place: str) -> str:
        """Return where an object is written before it is in its place; others appear as a whole."""
        if not self._is_local:
            return place
        self._files.makedirs(place.rpartition("/")[0], exist_ok=True)
        return place + PARTIAL

    def noted(self, name: str) -> dict[str, Any] | None:
        """Return what was noted of a task; None if it is not done."""
        try:
            with self._saying(name):
                found = json.loads(self._files.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None
        return dict(found)


def shard_id(shard: str) -> str:
    """Return the name that a shard has among what is written.

    >>> shard_id("s3://crawls/2024/a.warc.gz")
    'a-e788742382d9'
    """
    stem = shard.rpartition("/")[2].partition(".")[0][:40]
    safe = "".join(char if char.isalnum() else "_" for char in stem)
    return f"{safe}-{blake2b(shard.encode(), digest_size=6).hexdigest()}"
