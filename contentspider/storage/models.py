"""The store of models: a folder a site, JSON only, written so that a crash leaves the old or the
new.
"""

from __future__ import annotations

import json
import logging
import os
from hashlib import sha256
from pathlib import Path

from contentspider.errors import StateError
from contentspider.site.model import SiteModel

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"
KEPT_GENERATIONS = 2


def write_atomically(path: Path, data: bytes) -> None:
    """Write *data* to *path* so that a reader, or a crash, sees the old file or the whole new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


class ModelStore:
    """Models below *folder*: ``SITE/manifest.json``, for people, names the ``weights-DIGEST.json``
    that decide.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sites(self) -> list[str]:
        """Return the sites that have a model."""
        return sorted(path.parent.name for path in self.folder.glob(f"*/{MANIFEST}"))

    def save(self, model: SiteModel) -> Path:
        """Save the model of its site in place of the one before, and return its folder.

        The weights are written first: a manifest never names weights that are not there. The
        weights of the generation before stay beside them.
        """
        folder = self.folder / model.site
        folder.mkdir(parents=True, exist_ok=True)
        weights = model.dump_weights()
        digest = sha256(weights).hexdigest()
        name = f"weights-{digest[:12]}.json"
        write_atomically(folder / name, weights)
        manifest = {**model.manifest(), "weights": name, "sha256": digest}
        write_atomically(
            folder / MANIFEST,
            json.dumps(manifest, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass"),
        )
        generations = sorted(
            folder.glob("weights-*.json"),
            key=lambda path: (path.name == name, path.stat().st_mtime),
        )
        for old in generations[:-KEPT_GENERATIONS]:
            old.unlink(missing_ok=True)
        return folder

    def load(self, site: str) -> SiteModel | None:
        """Return the model of a site, None if there is none.

        One that cannot be used is set aside (its manifest renamed to ``manifest.json.broken``, if
        the folder can be written) with one warning, and None is returned: the site will be learned
        anew.
        """
        path = self.folder / site / MANIFEST
        try:
            return self.read(site)
        except FileNotFoundError:
            return None
        except StateError as error:
            aside = path.with_name(path.name + ".broken")
            try:
                path.replace(aside)
                done = f"it is set aside as {aside.name}"
            except OSError as refused:
                done = f"it cannot be set aside ({refused.strerror})"
            logger.warning("%s: %s; %s and the site is learned anew", path, error, done)
            return None

    def read(self, site: str) -> SiteModel:
        """Return the model of a site; raises FileNotFoundError if it has none, `StateError` if it
        cannot be read or is damaged.
        """
        folder = self.folder / site
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
        return SiteModel.load(manifest, weights)
