"""The files of a site model: a folder with a manifest for people, and the weights that it names.

Both are JSON, the weights in gzip. The folder of a site has the manifest of the present model. The
last models that were saved are its generations: ``generations/N`` is itself a folder with a
manifest and weights, and has the weights of the present model, too. Replacing the site's manifest
switches the generation. A lock allows one writer at a time, so a reader never sees a mixture of two
models.
"""

from __future__ import annotations

import errno
import gzip
import json
import re
import shutil
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from contentspider.ground.atomic import write_atomically
from contentspider.ground.errors import DAMAGE, StateError
from contentspider.ground.times import now

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
WEIGHTS = "weights.json.gz"
PACKED = ".gz"  # earlier versions did not pack the weights
MAX_BYTES = 300_000_000  # larger weights are a decompression bomb
GENERATIONS = "generations"
# The file names that a manifest may have: beside the manifest, or in the folder of a generation.
INSIDE = re.compile(rf"(?:{GENERATIONS}/[0-9]+/)?[^/\\\0]+")
KEPT_GENERATIONS = 5
# Writing takes milliseconds, so a lock that is held for longer is stuck.
LOCK_SECS = 10
# The reasons for a generation, as manifests record them.
REASONS = ("first", "relearn", "drift", "import", "rollback")
FIRST, RELEARN, DRIFT, IMPORT, ROLLBACK = REASONS
# Fields of a manifest that describe the generation, not the model.
OF_GENERATION = ("generation", "learned_at", "reason", "rolled_back_to", "weights")


def dump_manifest(manifest: dict[str, object]) -> bytes:
    """Return a manifest as readable JSON, with one value per line and without escaped letters."""
    return json.dumps(manifest, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")


def parse_manifest(text: bytes) -> dict[str, object]:
    """Return the manifest in *text*.

    Raises `StateError` if it is damaged, or names weights outside of its folder.
    """
    try:
        manifest: dict[str, object] = json.loads(text.decode("utf-8", "surrogatepass"))
        name, digest = manifest["weights"], manifest["sha256"]
        if not isinstance(name, str) or not INSIDE.fullmatch(name):
            raise ValueError(f"it names weights {name!r} outside its folder")
        if not isinstance(digest, str):
            raise TypeError(f"its digest {digest!r} is not a text")
    except DAMAGE as error:
        raise StateError(f"the manifest cannot be read ({error})", code="model-manifest") from error
    return manifest


def read_manifest(folder: Path) -> dict[str, object]:
    """Return the manifest of the model in *folder*; raises FileNotFoundError or `StateError`."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"{folder} holds no model") from error
    except OSError as error:
        raise StateError(
            f"the manifest cannot be read ({error.strerror})", code="model-manifest"
        ) from error
    return parse_manifest(text)


def read_model(folder: Path) -> tuple[dict[str, object], bytes]:
    """Return a model's manifest and weights; raises FileNotFoundError or `StateError`."""
    manifest = read_manifest(folder)
    while True:
        try:
            weights = (folder / str(manifest["weights"])).read_bytes()
            break
        except OSError as error:
            # Another process may have replaced the generation in the meantime.
            old_manifest, manifest = manifest, read_manifest(folder)
            if manifest == old_manifest:
                name = manifest["weights"]
                raise StateError(f"its weights {name} cannot be read ({error.strerror})") from error
    check_weights(manifest, weights)
    return manifest, _unpacked(weights) if str(manifest["weights"]).endswith(PACKED) else weights


def _unpacked(packed: bytes) -> bytes:
    """Return weights out of gzip; raises `StateError`."""
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        weights = unpacking.decompress(packed, MAX_BYTES)
    except zlib.error as error:
        raise StateError(f"its weights are damaged: {error}") from error
    if not unpacking.eof:
        raise StateError(f"its weights are cut short, or larger than {MAX_BYTES:,} bytes")
    return weights


def check_weights(manifest: dict[str, object], weights: bytes) -> None:
    """Raise `StateError` unless *weights* have the digest in *manifest*."""
    if sha256(weights).hexdigest() != manifest["sha256"]:
        raise StateError(f"its weights {manifest['weights']} are damaged: the digest differs")


class Generations:
    """The generations in the *folder* of a site's models, numbered from 1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = folder / GENERATIONS

    def numbers(self) -> list[int]:
        """Return the numbers of the existing generations, the oldest first."""
        return sorted(
            int(path.name)
            for path in self._root.glob("*")
            if path.name.isascii() and path.name.isdecimal()
        )

    def path(self, number: int) -> Path:
        """Return the folder of the model of a generation."""
        return self._root / str(number)

    def present(self) -> int:
        """Return the number of the present generation, 0 before the first generation."""
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
        """Return the lock for writers; acquiring it raises Timeout after `LOCK_SECS` seconds."""
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
        """Save a model as the present generation, and return its number.

        The last *keep* generations stay. *reason* is one of `REASONS` (default: first for the first
        generation, else relearn). *rolled_back_to* is the number of an earlier generation that the
        model restores. Nothing is written if the model is the present one already. Raises OSError
        if the model cannot be written.
        """
        packed = gzip.compress(weights, mtime=0)  # equal models give equal files
        digest = sha256(packed).hexdigest()
        try:
            with self.lock():
                if self._is_present({**manifest, "sha256": digest}):
                    return self.present()
                number = max(self.numbers(), default=0) + 1
                reason = reason or (RELEARN if number > 1 else FIRST)
                learned = manifest.get("learned_at") or now()
                generation = {"generation": number, "learned_at": learned, "reason": reason}
                if rolled_back_to:
                    generation["rolled_back_to"] = rolled_back_to
                self._write(number, {**generation, **_model_facts(manifest)}, packed, digest)
                self._switch(number)
                self._prune(keep)
        except Timeout as error:
            raise OSError(errno.EBUSY, f"another process writes to {self.folder}") from error
        except NotImplementedError as error:
            raise OSError(errno.ENOSYS, f"{self.folder} is on a disk without locks") from error
        return number

    def _is_present(self, manifest: dict[str, object]) -> bool:
        """Tell whether the present model has the same facts as *manifest*."""
        try:
            return _model_facts(read_model(self.folder)[0]) == _model_facts(manifest)
        except (FileNotFoundError, StateError):
            return False

    def _write(self, number: int, manifest: dict[str, object], weights: bytes, digest: str) -> None:
        partial = self._root / f".{number}.partial"
        self._clear()
        try:
            partial.mkdir()
            write_atomically(partial / WEIGHTS, weights)
            complete = {**manifest, "weights": WEIGHTS, "sha256": digest}
            write_atomically(partial / MANIFEST, dump_manifest(complete))
            partial.rename(self.path(number))
        finally:
            self._clear()

    def _switch(self, number: int) -> None:
        """Make a generation the present one."""
        manifest = read_manifest(self.path(number))
        site_manifest = {**manifest, "weights": f"{GENERATIONS}/{number}/{WEIGHTS}"}
        write_atomically(self.folder / MANIFEST, dump_manifest(site_manifest))

    def _prune(self, keep: int) -> None:
        """Delete all generations but the last *keep*."""
        for number in self.numbers()[:-keep]:
            self.path(number).rename(self._root / f".{number}.partial")
        self._clear()

    def _clear(self) -> None:
        """Delete removed generations, and unfinished generations of killed writers."""
        for path in self._root.glob(".*.partial"):
            shutil.rmtree(path, ignore_errors=True)


def _model_facts(manifest: dict[str, object]) -> dict[str, object]:
    """Return the fields of a manifest that describe the model, not the generation."""
    return {name: value for name, value in manifest.items() if name not in OF_GENERATION}
