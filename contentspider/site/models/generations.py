"""The generations of a site's model: the last models that were saved.

``generations/N`` in the site's folder is the folder of a model; the manifest in the site's folder
is that of the present one. Replacing that file switches the generation, and a lock allows one
writer at a time: a reader never sees a mixture.
"""

from __future__ import annotations

import errno
import shutil
from hashlib import sha256
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from contentspider.ground.atomic import write_atomically
from contentspider.ground.errors import StateError
from contentspider.ground.times import now
from contentspider.site.models.folder import (
    GENERATIONS,
    MANIFEST,
    WEIGHTS,
    dump_manifest,
    read_manifest,
    read_model,
)

if TYPE_CHECKING:
    from pathlib import Path

KEPT_GENERATIONS = 5
# Writing takes milliseconds: a lock that is held for longer is stuck.
LOCK_SECS = 10
# Why a generation was made.
REASONS = ("first", "relearn", "drift", "import", "rollback")
FIRST, RELEARN, DRIFT, IMPORT, ROLLBACK = REASONS
# Fields of a manifest that describe the generation, not the model.
OF_GENERATION = ("generation", "learned_at", "reason", "rolled_back_to", "weights")


class Generations:
    """The generations in the *folder* of a site's models, numbered from 1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = folder / GENERATIONS

    def numbers(self) -> list[int]:
        """Return the numbers of the generations that are there, the oldest first."""
        return sorted(
            int(path.name)
            for path in self._root.glob("*")
            if path.name.isascii() and path.name.isdecimal()
        )

    def path(self, number: int) -> Path:
        """Return the folder of a generation, which is that of a model."""
        return self._root / str(number)

    def present(self) -> int:
        """Return the number of the present generation, 0 if there is none."""
        try:
            number = read_manifest(self.folder).get("generation")
        except (FileNotFoundError, StateError):
            return 0
        return number if isinstance(number, int) else 0

    def before(self) -> int:
        """Return the number of the generation before the present (or restored) one, or 0."""
        present = self.present()
        origin = read_manifest(self.folder).get("rolled_back_to", present) if present else 0
        return max((n for n in self.numbers() if isinstance(origin, int) and n < origin), default=0)

    def lock(self) -> FileLock:
        """Return the lock of writers; it waits for `LOCK_SECS`, then raises Timeout."""
        self._root.mkdir(parents=True, exist_ok=True)
        return FileLock(self._root / ".lock", timeout=LOCK_SECS)

    def add(
        self,
        manifest: dict[str, object],
        weights: bytes,
        reason: str = "",
        keep: int = KEPT_GENERATIONS,
        rolled_back_to: int = 0,
    ) -> int:
        """Make a model the present generation, and return its number; the last *keep* stay.

        *reason* is one of `REASONS` (default: first, or relearn). Nothing is written if it is the
        present model already. Raises OSError if it cannot be written.
        """
        digest = sha256(weights).hexdigest()
        try:
            with self.lock():
                if self._has({**manifest, "sha256": digest}):
                    return self.present()
                number = max(self.numbers(), default=0) + 1
                reason = reason or (RELEARN if number > 1 else FIRST)
                learned = manifest.get("learned_at") or now()
                noted = {"generation": number, "learned_at": learned, "reason": reason}
                if rolled_back_to:
                    noted["rolled_back_to"] = rolled_back_to
                self._write(number, {**noted, **_of_model(manifest)}, weights, digest)
                self._switch(number)
                self._prune(keep)
        except Timeout as error:
            raise OSError(errno.EBUSY, f"another process writes to {self.folder}") from error
        except NotImplementedError as error:
            raise OSError(errno.ENOSYS, f"{self.folder} is on a disk without locks") from error
        return number

    def _has(self, manifest: dict[str, object]) -> bool:
        try:
            return _of_model(read_model(self.folder)[0]) == _of_model(manifest)
        except (FileNotFoundError, StateError):
            return False

    def _write(self, number: int, manifest: dict[str, object], weights: bytes, digest: str) -> None:
        partial = self._root / f".{number}.partial"
        self._clear()
        try:
            partial.mkdir()
            write_atomically(partial / WEIGHTS, weights)
            named = {**manifest, "weights": WEIGHTS, "sha256": digest}
            write_atomically(partial / MANIFEST, dump_manifest(named))
            partial.rename(self.path(number))
        finally:
            self._clear()

    def _switch(self, number: int) -> None:
        manifest = read_manifest(self.path(number))
        named = {**manifest, "weights": f"{GENERATIONS}/{number}/{WEIGHTS}"}
        write_atomically(self.folder / MANIFEST, dump_manifest(named))

    def _prune(self, keep: int) -> None:
        for number in self.numbers()[:-keep]:
            self.path(number).rename(self._root / f".{number}.partial")
        self._clear()

    def _clear(self) -> None:
        """Delete removed generations, and unfinished ones of killed writers."""
        for path in self._root.glob(".*.partial"):
            shutil.rmtree(path, ignore_errors=True)


def _of_model(manifest: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in manifest.items() if name not in OF_GENERATION}
