"""The state of a site in a store: its crawl's book, and its models.

A SQLite file is copied as it stands after a commit, also while a crawl writes it. All files are cut
into chunks, and only chunks that have changed are uploaded, under new names. A *manifest* lists the
chunks of each file. The site's lease (`lease`) names the manifest, so only the holder of the lease
can replace the state, and readers see all old or all new files.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from contentspider.ground.atomic import write_atomically
from contentspider.state.book.copying import copy_book
from contentspider.state.book.database import PARTS
from contentspider.state.crawls.books import HISTORIES, crawl_book
from contentspider.state.crawls.folder import state_folder
from contentspider.state.stores.lease import LEASE_SECS, Lease, read_record
from contentspider.state.stores.models import COPIES
from contentspider.state.stores.remote import Objects, RemoteError

CHUNK_BYTES = 1_000_000
ATTEMPTS = 5  # downloads while the holder of the lease replaces the objects
SITES = "sites"  # the folder in the store
BOOK, MODELS = "book.sqlite", "models"
# What earlier versions stored in place of a book.
LEDGER, HISTORY = "ledger.sqlite", "history.sqlite"

# A chunk: the name of its object, and the SHA-256 of its content.
Chunk: TypeAlias = tuple[str, str]
Files: TypeAlias = dict[str, list[Chunk]]


class _MissingError(Exception):
    """An object that a manifest needs is not in the store."""


def lease_name(site: str) -> str:
    """Return the name of the lease of a site, which is in the folder of its objects."""
    return f"{SITES}/{site}/lease.json"


def note_of(book: Path) -> Path:
    """Return the file that names the manifest which a book on this machine was copied to or from
    last.
    """
    return book.with_name(f".{book.name}.state")


@dataclass(slots=True)
class Manifest:
    """The object *name* ("": none), and the chunks of each file that it lists."""

    name: str = ""
    files: Files = field(default_factory=dict)

    def objects(self) -> set[str]:
        """Return the names of all objects that belong to the manifest."""
        chunks = {name for chunks in self.files.values() for name, _ in chunks}
        return chunks | ({self.name} if self.name else set())


class SiteState:
    """The state of the site *name* in a store, and on this machine: its *book*, and the folder
    *models*. Methods raise `RemoteError` if the store fails.
    """

    def __init__(
        self,
        objects: Objects,
        name: str,
        book: Path,
        models: Path,
        secs: float = LEASE_SECS,
        run: str = "",
    ) -> None:
        self.name, self.book, self.models = name, book, models
        self.lease = Lease(objects, lease_name(name), secs, run)
        self._objects = objects
        self._folder = f"{SITES}/{name}/objects"
        self._note = note_of(book)
        self._manifest = Manifest()

    @classmethod
    def of_folder(
        cls,
        objects: Objects,
        name: str,
        state_dir: str,
        secs: float = LEASE_SECS,
        run: str = "",
    ) -> SiteState:
        """Return the state of a site whose files are in a state folder."""
        models = state_folder(state_dir) / COPIES / name
        return cls(objects, name, crawl_book(name, state_dir), models, secs, run)

    def pull(self) -> bool:
        """Download the state, unless the local files are as new as the store, or newer. Return
        whether the store has one. Needs no lease.
        """
        for _ in range(ATTEMPTS):
            named = str(read_record(self._objects, self.lease.name)[0].facts.get("state", ""))
            self._manifest = Manifest()
            if not named:
                return False  # the files here, if any, will be the first in the store
            with self._as_remote_error():
                try:
                    self._manifest = self._read(named)
                    if not self._is_here(named):
                        self._download()
                    return True
                except _MissingError:
                    continue  # the holder of the lease has replaced the objects meanwhile
        raise self._incomplete()

    def _incomplete(self) -> RemoteError:
        return RemoteError(
            f"{self._objects.url}/{self._folder}: objects that the site's state needs are missing;"
            f" delete {self.lease.name} to start anew",
            code="store-incomplete",
        )

    def push(self, **facts: Any) -> None:
        """Upload all changes, and let the lease name the new state, with other *facts*. Raises
        `LeaseLostError` if another process holds the lease: then nothing has changed in the store.
        """
        old = self._manifest
        with self._as_remote_error(), self._copies() as copies:
            files = {name: self._upload(path, old.files.get(name)) for name, path in copies.items()}
        if files != old.files:
            new = Manifest(self._new_name(), files)
            self._objects.write(new.name, json.dumps(files).encode())
        else:
            new = old
        self.lease.write(state=new.name, **facts)
        self._manifest = new
        self._note_manifest()
        self._objects.delete(old.objects() - new.objects())

    def model_folders(self) -> set[str]:
        """Return the names of the folders of the models that the state in the store has."""
        for _ in range(ATTEMPTS):
            named = str(read_record(self._objects, self.lease.name)[0].facts.get("state", ""))
            with suppress(_MissingError), self._as_remote_error():
                files = self._read(named).files if named else {}
                paths = map(PurePosixPath, files)
                return {path.parts[1] for path in paths if path.parts[0] == MODELS}
        raise self._incomplete()

    def delete(self) -> int:
        """Delete the state in the store, but not its lease; return the number of objects."""
        return self._objects.delete_below(self._folder)

    def delete_strays(self) -> None:
        """Delete the objects that a dead holder of the lease uploaded, but did not publish."""
        self._objects.delete(self._objects.names(self._folder) - self._manifest.objects())

    def _new_name(self) -> str:
        # Names are never used twice: who lost the lease must not delete objects of the next holder.
        return f"{self._folder}/{uuid.uuid4().hex}"

    def _upload(self, path: Path, old: list[Chunk] | None) -> list[Chunk]:
        """Upload the chunks of a file that are not among the *old* ones; return all chunks."""
        known = {digest: name for name, digest in old or ()}
        chunks = []
        with path.open("rb") as file:
            while data := file.read(CHUNK_BYTES):
                digest = sha256(data).hexdigest()
                if digest not in known:
                    known[digest] = self._new_name()
                    self._objects.write(known[digest], data)
                chunks.append((known[digest], digest))
        return chunks

    @contextmanager
    def _copies(self) -> Iterator[dict[str, Path]]:
        """Yield a complete copy of each file."""
        self.book.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.book.parent, prefix=".push-") as folder:
            copies = {}
            if self.book.exists():
                copies[BOOK] = copy_book(self.book, Path(folder, BOOK))
            yield copies | {f"{MODELS}/{name}": self.models / name for name in self._model_files()}

    def _model_files(self) -> list[str]:
        paths = (path.relative_to(self.models) for path in self.models.rglob("*"))
        return sorted(
            path.as_posix()
            for path in paths
            # Whatever was set aside is not part of the state.
            if path.suffix in (".json", ".shared") and "unsent-" not in path.as_posix()
        )

    def _read(self, name: str) -> Manifest:
        found = self._objects.read(name)
        if found is None:
            raise _MissingError(name)
        record: Mapping[str, list[list[str]]] = json.loads(found[0])
        for file in record:
            path = PurePosixPath(file)
            if file not in (BOOK, LEDGER, HISTORY) and (
                path.parts[0] != MODELS or ".." in path.parts
            ):
                raise ValueError(f"it names {file!r}")
        return Manifest(
            name, {file: [(c[0], c[1]) for c in chunks] for file, chunks in record.items()}
        )

    def _path(self, file: str) -> Path:
        inner = PurePosixPath(file)
        history = self.book.parent / HISTORIES / self.book.name
        paths = {BOOK: self.book, LEDGER: self.book, HISTORY: history}
        return paths.get(file) or self.models.joinpath(*inner.parts[1:])

    def _is_here(self, name: str) -> bool:
        is_noted = self._note.is_file() and self._note.read_text() == name
        return is_noted and all(self._path(file).is_file() for file in self._manifest.files)

    def _download(self) -> None:
        """Replace the files here; raises `_MissingError` if an object is missing."""
        self._note.unlink(missing_ok=True)
        self.book.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.book.parent, prefix=".pull-") as folder:
            for file, chunks in self._manifest.files.items():
                part = Path(folder, file)
                part.parent.mkdir(parents=True, exist_ok=True)
                with part.open("wb") as target:
                    for name, digest in chunks:
                        target.write(self._chunk(name, digest))
            here = {BOOK, *(f"{MODELS}/{path}" for path in self._model_files())}
            for file in here - self._manifest.files.keys():
                self._path(file).unlink(missing_ok=True)
            for file in self._manifest.files:
                path = self._path(file)
                path.parent.mkdir(parents=True, exist_ok=True)
                for suffix in PARTS[1:]:  # these files belong to the old file
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
                Path(folder, file).replace(path)
        self._note_manifest()

    def _chunk(self, name: str, digest: str) -> bytes:
        found = self._objects.read(name)
        if found is None:
            raise _MissingError(name)
        if sha256(found[0]).hexdigest() != digest:
            raise RemoteError(
                f"{self._objects.url}/{name} is damaged: restore it (its SHA-256 is {digest}), or"
                f" delete {self.lease.name} to start anew"
            )
        return found[0]

    def _note_manifest(self) -> None:
        write_atomically(self._note, self._manifest.name.encode())

    @contextmanager
    def _as_remote_error(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, ValueError, TypeError, IndexError) as error:
            raise RemoteError(f"the state of {self.name} cannot be copied: {error}") from error
