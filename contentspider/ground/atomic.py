"""Files that are replaced as a whole: a reader, or a crash, sees the old file or the new one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from contentspider.ground.errors import ContentSpiderError


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of *path* once it is written as a whole; raises OSError."""
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
    """Write *data* to *path* as `atomic_file` does."""
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def writing(path: Path, consequence: str = "") -> Iterator[None]:
    """Raise an OSError as a `ContentSpiderError`: *path* cannot be written."""
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror or error}{consequence}"
        raise ContentSpiderError(f"{path} cannot be written: {reason}") from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Do what `atomic_file` does; raises `ContentSpiderError` if *path* cannot be written."""
    with writing(path, "; what was there is left as it was"), atomic_file(path) as file:
        yield file


def write_json(path: Path, value: object) -> None:
    """Write *value* to *path* as JSON for people, as `replacing` does."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    with replacing(path) as file:
        file.write((text + "\n").encode("utf-8", "replace"))


def made_folder(path: Path, option: str) -> Path:
    """Return the folder of a file that an *option* names, made if it is not there; raises
    `ContentSpiderError`.
    """
    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ContentSpiderError(
            f"{option} {path}: the folder {folder} cannot be made: {error.strerror}"
        ) from error
    return folder
