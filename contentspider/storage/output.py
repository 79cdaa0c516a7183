"""JSON-lines files that a kill leaves whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from contentspider.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class JsonLinesWriter:
    """Appends lines to *path* from *offset* on: what stands behind it was written after the last commit, and goes.

    If the file is shorter than *offset* (it was deleted, or the power was lost), or is another one, all *lines*
    that the ledger has are written anew.
    """

    def __init__(self, path: Path, offset: int, lines: Iterable[bytes]) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("r+b" if path.exists() else "w+b")
            if offset and self._file.seek(0, os.SEEK_END) >= offset:
                self._file.truncate(offset)
                self._file.seek(offset)
            else:
                self._file.truncate(0)
                self._file.seek(0)
                for line in lines:
                    self._file.write(line + b"\n")
        except OSError as error:
            raise ContentSpiderError(f"{path} cannot be written: {error.strerror}") from error

    def write(self, line: bytes) -> None:
        """Append a line; it is in the file after `sync`."""
        self._file.write(line + b"\n")

    def sync(self) -> int:
        """Bring all lines to the disk and return the file's length; raises OSError if the disk is full."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
