"""The files of a site model: a folder with a manifest for people, and the weights that it names.

Both are JSON. The folder of a site has the manifest of the present model. Its weights are in the
folder of a generation (`contentspider.site.models.generations`), which is itself a folder with a
manifest and weights.
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
# The file names that a manifest may have: beside the manifest, or in the folder of a generation.
INSIDE = re.compile(rf"(?:{GENERATIONS}/[0-9]+/)?[^/\\\0]+")


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
    return manifest, weights


def check_weights(manifest: dict[str, object], weights: bytes) -> None:
    """Raise `StateError` unless *weights* have the digest in *manifest*."""
    if sha256(weights).hexdigest() != manifest["sha256"]:
        raise StateError(f"its weights {manifest['weights']} are damaged: the digest differs")
