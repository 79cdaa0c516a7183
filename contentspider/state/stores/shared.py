"""Files that several machines share through a store.

Each file is an object with a unique name. A JSON object, the *pointer*, lists the objects. It is
replaced only if no other machine has replaced it, so that readers see all old or all new files.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from contentspider.ground.atomic import write_atomically
from contentspider.ground.times import now
from contentspider.state.book.copying import copy_book, has_unfinished_run
from contentspider.state.book.database import PARTS
from contentspider.state.stores.remote import Objects, RemoteError, ReplacedError, writer

logger = logging.getLogger(__name__)

SCHEMA = 1
OBJECTS = "objects"
OBJECT = re.compile(rf"{OBJECTS}/[\w.-]+")
ATTEMPTS = 5  # reads of the pointer while other writers replace it


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in the store: its object, the hash of its content, and its *size* in bytes."""

    object: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Note:
    """The pointer that was read last. *unsent*: the local files are newer than the store's."""

    url: str
    mark: str = ""
    files: Mapping[str, Entry] = field(default_factory=dict)
    unsent: bool = False


class SharedFiles:
    """Files below *folder* that match *patterns*, shared by a *pointer*. Files are replaced in the
    order of the patterns; *beside* are suffixes of files that belong to each.
    """

    def __init__(
        self, objects: Objects, pointer: str, folder: Path, patterns: Sequence[str], *beside: str
    ) -> None:
        self._objects = objects
        self._pointer = pointer
        self._prefix = pointer.rpartition("/")[0]
        self.folder = folder
        self._patterns = patterns
        self._beside = beside
        self._note_path = folder / f".{patterns[-1]}.shared"

    @property
    def name(self) -> str:
        """Return the pointer's URL."""
        return f"{self._objects.url}/{self._pointer}"

    def pull(self, has_more: bool = False) -> None:
        """Download the store's files. If the store has changed, unsent local files are moved aside,
        and so are others if they have more than was sent (*has_more*).
        """
        for _ in range(ATTEMPTS):
            note = self._note()
            pointer = self._objects.read(self._pointer)
            if pointer is None:
                # If the pointer was deleted, all files are sent again.
                unsent = note.unsent or bool(note.mark and self.files())
                self._write_note(Note(self._objects.url, unsent=unsent))
                return
            data, mark = pointer
            files = self._parse(data)
            is_here = note.unsent or all((self.folder / name).is_file() for name in files)
            if mark == note.mark and is_here:
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.folder, prefix=".pull-") as name:
                partial = Path(name)
                if not self._fetch(files, partial):
                    continue  # another writer has replaced the objects
                if note.unsent or has_more:
                    self._set_aside()
                self._move_into_place(files, partial)
            self._write_note(Note(self._objects.url, mark, files))
            return
        raise RemoteError(
            f"{self.name}: objects that it names are missing from the store",
            code="store-incomplete",
        )

    def files(self) -> dict[str, Path]:
        """Return the local files by their names."""
        return {
            path.relative_to(self.folder).as_posix(): path
            for pattern in self._patterns
            for path in sorted(self.folder.glob(pattern))
        }

    @property
    def is_unsent(self) -> bool:
        """Tell whether the local files are newer than the store's."""
        return self._note().unsent

    def is_changed(self, files: Mapping[str, Path]) -> bool:
        """Tell whether *files* differ from the files that were in the store last."""
        known = {name: entry.sha256 for name, entry in self._note().files.items()}
        return known != {name: _digest(path) for name, path in files.items()}

    def begin_change(self) -> None:
        """Record that the local files are about to become newer than the store's."""
        self._write_note(replace(self._note(), unsent=True))

    def push(self, files: Mapping[str, Path]) -> bool:
        """Upload unsent files; return whether there were any.

        Raises `ReplacedError` if another machine has replaced the pointer.
        """
        note = self._note()
        if not note.unsent:
            return False
        entries, uploaded = {}, []
        for name, path in files.items():
            digest = _digest(path)
            earlier = note.files.get(name)
            if earlier and earlier.sha256 == digest:
                entries[name] = earlier
                continue
            new_object = f"{OBJECTS}/{uuid.uuid4().hex}{PurePosixPath(name).suffix}"
            entries[name] = Entry(new_object, digest, path.stat().st_size)
            self._objects.upload(path, self._object_name(entries[name]))
            uploaded.append(self._object_name(entries[name]))
        data = _dump(entries)
        try:
            mark = self._objects.replace(self._pointer, data, note.mark)
        except ReplacedError:
            current = self._objects.read(self._pointer)
            if not current or current[0] != data:  # else only the response was lost
                self._objects.delete(uploaded)
                raise ReplacedError(
                    f"{self.name}: another writer ({_author(current)}) was faster; the results of"
                    f" this run stay in {self.folder}; the next run sets them aside, and uses the"
                    " store's files"
                ) from None
            mark = current[1]
        self._write_note(Note(self._objects.url, mark, entries))
        outdated = set(note.files.values()) - set(entries.values())
        self._objects.delete(map(self._object_name, outdated))
        return True

    def _object_name(self, entry: Entry) -> str:
        return f"{self._prefix}/{entry.object}"

    def _fetch(self, files: Mapping[str, Entry], folder: Path) -> bool:
        """Download the files; return False if one is missing."""
        for name, entry in files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._objects.download(self._object_name(entry), target)
            except FileNotFoundError:
                return False
            if _digest(target) != entry.sha256:
                raise RemoteError(
                    f"{self._objects.url}/{self._object_name(entry)} is damaged: it has"
                    f" {target.stat().st_size:,} bytes of {entry.size:,}, or another hash. Restore"
                    f" it (its SHA-256 is {entry.sha256}), or delete {self._pointer} to start from"
                    " this machine's files"
                )
        return True

    def _set_aside(self) -> None:
        stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")
        aside = self.folder / f"unsent-{stamp}"
        for name in self.files():
            for suffix in ("", *self._beside):
                path, target = self.folder / (name + suffix), aside / (name + suffix)
                if path.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    path.replace(target)
        logger.warning(
            f"{self.name}: another writer was faster: the results here that were not sent are moved"
            f" to {aside}, and the store's files are used"
        )

    def _move_into_place(self, files: Mapping[str, Entry], partial: Path) -> None:
        for name in files:
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            for suffix in self._beside:  # these files belong to the old file
                target.with_name(target.name + suffix).unlink(missing_ok=True)
            (partial / name).replace(target)
        for name in self.files().keys() - files.keys():
            (self.folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # the folder may have other files
                (self.folder / name).parent.rmdir()

    def _parse(self, data: bytes) -> dict[str, Entry]:
        """Return the files that a pointer lists; raises `RemoteError` if it is invalid."""
        try:
            record = json.loads(data)
            if record["schema"] != SCHEMA:
                raise ValueError(f"its schema is {record['schema']!r}, and must be {SCHEMA}")
            files = _entries(record["files"])
            for name, entry in files.items():
                is_ours = any(fnmatch(name, pattern) for pattern in self._patterns)
                if not is_ours or ".." in name or not OBJECT.fullmatch(entry.object):
                    raise ValueError(f"it names {name!r}")
            return files
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RemoteError(f"{self.name} cannot be read: {error}") from error

    def _note(self) -> Note:
        try:
            record = json.loads(self._note_path.read_bytes())
            if record["url"] == self._objects.url:
                return Note(**{**record, "files": _entries(record["files"])})
        except (OSError, ValueError, KeyError, TypeError):
            pass
        # No note for this store: the local files were never in it.
        return Note(self._objects.url, unsent=bool(self.files()))

    def _write_note(self, note: Note) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._note_path, json.dumps(asdict(note)).encode())


class SharedBook:
    """A crawl's book in the file *path*, shared by the pointer ``NAME/history.json``."""

    def __init__(self, objects: Objects, path: Path) -> None:
        self.path = path
        pointer = f"{path.stem}/history.json"
        self._shared = SharedFiles(objects, pointer, path.parent, (path.name,), *PARTS[1:])
        self.begin_change = self._shared.begin_change

    def pull(self) -> None:
        """Download the book, or upload one that an earlier run left; raises `RemoteError`."""
        try:
            self._shared.pull(has_more=self.path.is_file() and has_unfinished_run(self.path))
        except OSError as error:
            raise RemoteError(f"{self.path} cannot be written: {error}") from error
        self.push()

    def push(self) -> None:
        """Upload the book if it is newer; raises the errors of `SharedFiles.push`."""
        if not self._shared.is_unsent:
            return
        try:
            with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".push-") as folder:
                copy = copy_book(self.path, Path(folder, "book.sqlite"))
                self._shared.push({self.path.name: copy})
        except (OSError, sqlite3.Error) as error:
            raise RemoteError(f"{self.path} cannot be copied: {error}") from error


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while part := file.read(1_000_000):
            digest.update(part)
    return digest.hexdigest()


def _entries(record: Mapping[str, Any]) -> dict[str, Entry]:
    def read(entry: Mapping[str, Any]) -> Entry:
        return Entry(str(entry["object"]), str(entry["sha256"]), int(entry["size"]))

    return {str(name): read(entry) for name, entry in record.items()}


def _dump(entries: Mapping[str, Entry]) -> bytes:
    files = {name: asdict(entry) for name, entry in entries.items()}
    # The id makes each pointer unique.
    own_id = uuid.uuid4().hex
    pointer = {"schema": SCHEMA, "id": own_id, "at": now(), "by": writer(), "files": files}
    return json.dumps(pointer, indent=1).encode()


def _author(pointer: tuple[bytes, str] | None) -> str:
    """Return who wrote a pointer, and when; "unknown" if it does not say."""
    try:
        record = json.loads(pointer[0]) if pointer else {}
        return f"{record['by']}, {record['at']}"
    except (ValueError, KeyError, TypeError):
        return "unknown"
