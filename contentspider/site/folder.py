"""A model on disk: a folder with a manifest for people, which names the weights that decide.

Both are JSON. A crash leaves the old or the new model, never a mixture.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

from contentspider.errors import StateError

MANIFEST = "manifest.json"
KEPT_GENERATIONS = 2


def write_atomically(path: Path, data: bytes) -> None:
    """Write *data* to *path* so that a reader, or a crash, sees the old file or the whole new
    one.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_model(folder: Path, manifest: dict[str, object], weights: bytes) -> None:
    """Write a model into *folder*, which is made, in place of the one before.

    The weights are written first: a manifest never names weights that are not there. The weights of
    the generation before stay beside them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    digest = sha256(weights).hexdigest()
    name = f"weights-{digest[:12]}.json"
    write_atomically(folder / name, weights)
    write_atomically(
        folder / MANIFEST,
        json.dumps(
            {**manifest, "weights": name, "sha256": digest}, ensure_ascii=False, indent=1
        ).encode("utf-8", "surrogatepass"),
    )
    generations = sorted(
        folder.glob("weights-*.json"), key=lambda path: (path.name == name, path.stat().st_mtime)
    )
    for old in generations[:-KEPT_GENERATIONS]:
        old.unlink(missing_ok=True)


def read_model(folder: Path) -> tuple[dict[str, object], bytes]:
    """Return the manifest and the weights of the model in *folder*.

    Raises FileNotFoundError if there is no model, and `StateError` if it cannot be read or is
    damaged.
    """
    try:
        text = (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"{folder} holds no model") from error
    except OSError as error:
        raise StateError(f"the manifest cannot be read ({error.strerror})") from error
    try:
        manifest = json.loads(text.decode("utf-8", "surrogatepass"))
        name, digest = manifest["weights"], manifest["sha256"]
        if not isinstance(name, str) or Path(name).name != name:
            raise ValueError(f"it names weights {name!r} outside its folder")
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"the manifest cannot be read ({error})") from error
    try:
        weights = (folder / name).read_bytes()
    except OSError as error:
        raise StateError(f"its weights {name} cannot be read ({error.strerror})") from error
    if sha256(weights).hexdigest() != digest:
        raise StateError(f"its weights {name} are damaged: the digest differs")
    return manifest, weights
