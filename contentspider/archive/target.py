"""Reads and writes the output of a job, on any fsspec URL: items, samples and notes of tasks."""

from __future__ import annotations

import json
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import fsspec

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.json_text import json_text
from contentspider.state.stores.remote import check_url, is_url, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORK = "_work"
PARTIAL = ".partial"


class TargetError(ContentSpiderError):
    """An object of a job's output cannot be written or read; the message has its address."""

    code = "target"


class Target:
    """The output folder of a job at a URL. Objects appear in it only when they are complete."""

    def __init__(self, url: str) -> None:
        if is_url(url):
            check_url(url)
        self.url = url.rstrip("/")
        self._files, root = fsspec.url_to_fs(self.url)
        self._root = root.rstrip("/")
        self._is_local = "file" in self._files.protocol

    @contextmanager
    def _named_errors(self, name: str) -> Iterator[None]:
        """Raise `TargetError` with the address of the object *name* in place of other errors,
        except FileNotFoundError.
        """
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - each file system has its own errors
            message = without_secrets(f"{type(error).__name__}: {error}")
            raise TargetError(f"{self.url}/{name}: {message}") from None

    def put(self, source: Path, name: str) -> None:
        """Copy a file to the object *name*, and replace the object if it exists."""
        path = f"{self._root}/{name}"
        with self._named_errors(name):
            partial = self._partial_path(path)
            self._files.put_file(str(source), partial)
            if partial != path:
                self._files.mv(partial, path)

    def get(self, name: str, target: Path) -> None:
        """Copy the object *name* to a file."""
        with self._named_errors(name):
            self._files.get_file(f"{self._root}/{name}", str(target))

    def names(self, folder: str) -> list[str]:
        """Return the names of all complete objects below *folder*, sorted."""
        with self._named_errors(folder):
            self._files.invalidate_cache()
            paths = self._files.find(f"{self._root}/{folder}")
        start = len(self._root.lstrip("/")) + 1
        names = (str(path).lstrip("/")[start:] for path in paths)
        return sorted(name for name in names if not name.endswith(PARTIAL))

    def sweep(self) -> None:
        """Delete the incomplete files that killed processes left on a local disk."""
        with self._named_errors(PARTIAL):
            for path in self._files.glob(f"{self._root}/**/*{PARTIAL}") if self._is_local else ():
                self._files.rm_file(path)

    def write_note(self, name: str, record: dict[str, Any]) -> None:
        """Write a JSON object, such as the result of a task, to the object *name*."""
        with self._named_errors(name):
            text = json_text(record).encode("utf-8", "replace")
            path = f"{self._root}/{name}"
            partial = self._partial_path(path)
            self._files.pipe_file(partial, text)
            if partial != path:
                self._files.mv(partial, path)

    def _partial_path(self, path: str) -> str:
        """Return the path to write an object to before it is moved to *path*, and make its folder.

        Object stores publish only complete objects, so there the result is *path* itself.
        """
        if not self._is_local:
            return path
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        return path + PARTIAL

    def read_note(self, name: str) -> dict[str, Any] | None:
        """Return the JSON object that `write_note` wrote; None if it does not exist yet."""
        try:
            with self._named_errors(name):
                record = json.loads(self._files.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None
        return dict(record)


def shard_id(shard: str) -> str:
    """Return the name of a shard in the output: the beginning of its file name and a hash.

    >>> shard_id("s3://crawls/2024/a.warc.gz")
    'a-e788742382d9'
    """
    stem = shard.rpartition("/")[2].partition(".")[0][:40]
    safe_stem = "".join(char if char.isalnum() else "_" for char in stem)
    return f"{safe_stem}-{blake2b(shard.encode(), digest_size=6).hexdigest()}"
