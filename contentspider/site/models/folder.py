"""A model on disk: a folder with a manifest for people, which names the weights that decide.

Both are JSON. The folder of a site has the manifest of its present model; the weights are in one of
its `contentspider.site.models.generations`, each of which is such a folder, too.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE, StateError

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
WEIGHTS = "weights.json"
GENERATIONS = "generations"
# Files that a manifest may name: beside it, or in the folder of a generation.
INSIDE = re.compile(rf"(?:{GENERATIONS}/[0-9]+/)?[^/\\\0]+")


def dump_manifest(manifest: dict[str, object]) -> bytes:
    """Return a manifest as readable JSON: a line a value, letters unescaped."""
    return json.dumps(manifest, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")


def parse_manifest(text: bytes) -> dict[str, object]:
    """Return the manifest in *text*; raises `StateError`, also if its weights are elsewhere."""
    try:
        manifest: dict[str, object] = json.loads(text.decode("utf-8", "surrogatepass"))
        name, digest = manifest["weights"], manifest["sha256"]
        if not isinstance(name, str) or not INSIDE.fullmatch(name):
            raise ValueError(f"it names weights {name!r} outside its folder")
        if not isinstance(digest, str):
            raise TypeError("its digest is no text")
    except DAMAGE as error:
        raise StateError(f"the manifest cannot be read ({error})") from error
    return manifest


def read_manifest(folder: Path) -> dict[str, object]:
    """Return the manifest of the model in *folder*; raises FileNotFoundError or `StateError`."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"{folder} holds no model") from error
    except OSError as error:
        raise StateError(f"the manifest cannot be read ({error.strerror})") from error
    return parse_manifest(text)


def read_model(folder: Path) -> tuple[dict[str, object], bytes]:
    """Return a model's manifest and weights; raises FileNotFoundError or `StateError`."""
    manifest = read_manifest(folder)
    while True:
        try:
            weights = (folder / str(manifest["weights"])).read_bytes()
            break
        except OSError as error:
            # Another generation may have replaced it in the meantime.
            before, manifest = manifest, read_manifest(folder)
            if manifest == before:
                name = manifest["weights"]
                raise StateError(f"its weights {name} cannot be read ({error.strerror})") from error
    check_weights(manifest, weights)
    return manifest, weights


def check_weights(manifest: dict[str, object], weights: bytes) -> None:
    """Raise `StateError` unless *weights* are those that *manifest* names."""
    if sha256(weights).hexdigest() != manifest["sha256"]:
        raise StateError(f"its weights {manifest['weights']} are damaged: the digest differs")
