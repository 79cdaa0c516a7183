"""Writes a site model to one file and reads it: a zip archive of manifest and weights (JSON)."""

from __future__ import annotations

import re
import zlib
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from contentspider.ground.atomic import replacing
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.site.models.folder import (
    MANIFEST,
    check_weights,
    dump_manifest,
    parse_manifest,
)
from contentspider.site.models.model import SiteModel

WEIGHTS = "weights.json"  # the archive packs it
MAX_BYTES = 100_000_000  # a model of 200 pages has some 1 MB of weights
SITE = re.compile(r"(?!\.)[\w.-]{1,200}(?<!\.)")  # also the name of the site's folder


def export_model(model: SiteModel, output: Path) -> None:
    """Write a model to the file *output*; raises `ContentSpiderError` if that fails."""
    weights = model.dump_weights()
    weights_file = {"weights": WEIGHTS, "sha256": sha256(weights).hexdigest()}
    manifest = dump_manifest({**model.manifest(), **weights_file})
    with replacing(output) as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, data in ((MANIFEST, manifest), (WEIGHTS, weights)):
            # Without times, so that equal models give equal files.
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)


def import_model(source: Path) -> SiteModel:
    """Return the model in a file of `export_model`; raises `StateError` if it cannot be used."""
    try:
        if source.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
        with ZipFile(source) as archive:
            names = [entry.filename for entry in archive.infolist()]
            if sorted(names) != [MANIFEST, WEIGHTS]:
                raise ValueError(
                    f"it has {', '.join(map(repr, names[:5])) or 'nothing'} in it, and should have"
                    f" {MANIFEST!r} and {WEIGHTS!r}"
                )
            text, weights = (_read(archive, archive.getinfo(name)) for name in (MANIFEST, WEIGHTS))
        manifest = parse_manifest(text)
        check_weights(manifest, weights)
        model = SiteModel.parse(manifest, weights)
        if not SITE.fullmatch(model.site):
            raise ValueError(f"{model.site!r} cannot be the name of a site's folder")
    except OSError as error:
        raise ContentSpiderError(f"{source} cannot be read ({error.strerror})") from error
    # A RuntimeError means that the archive is encrypted.
    except (BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, StateError) as error:
        raise StateError(
            f"{source} cannot be imported: {error}; give a file that 'contentspider models export'"
            " wrote",
            code="model-import",
        ) from error
    return model


def _read(archive: ZipFile, entry: ZipInfo) -> bytes:
    """Return an entry's contents; reads `MAX_BYTES` at most, since its header may lie."""
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ValueError(f"its {entry.filename!r} has an unknown compression")
    with archive.open(entry) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"its {entry.filename!r} is larger than {MAX_BYTES:,} bytes")
    return data
