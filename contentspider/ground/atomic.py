"""Files that are replaced as a whole: after a crash the file is the old one or the new one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.json_text import json_text


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces *path* when it is complete; raises OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()


def write_atomically(path: Path, data: bytes) -> None:
    """Write *data* to *path*, as `atomic_file` does."""
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def writing(path: Path, consequence: str = "") -> Iterator[None]:
    """Raise an OSError of the block as a `ContentSpiderError`: *path* cannot be written."""
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror or error}{consequence}"
        raise ContentSpiderError(f"{path} cannot be written: {reason}") from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file as `atomic_file` does; raises `ContentSpiderError` if it cannot be written."""
    with writing(path, "; the old file was not changed"), atomic_file(path) as file:
        yield file


def write_json(path: Path, value: object) -> None:
    """Write *value* to *path* as indented JSON; raises `ContentSpiderError`."""
    text = json_text(value, indent=2)
    with replacing(path) as file:
        file.write((text + "\n").encode("utf-8", "replace"))


def ensure_folder(path: Path, option: str) -> Path:
    """Return the folder of a file that an *option* names, and create it if it is missing. Raises
    `ContentSpiderError`.
    """
    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ContentSpiderError(
            f"{option} {path}: the folder {folder} cannot be created: {error.strerror}"
        ) from error
    return folder
