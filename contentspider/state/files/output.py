"""JSON-lines files that a kill leaves whole, and that replace what was there only when asked to."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files.locked import LockedFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# A file is known again by its end.
END_BYTES = 65_536


class JsonLinesWriter:
    """Writes lines beside *path*, in the file *partial*, which `publish` puts in its place.

    It goes on from where *mark* left the partial file: what stands behind was written after the
    last commit, and goes. If the file is not what it was then (it was deleted or published, the
    power was lost, somebody else wrote to it), all *lines* that the ledger has are written anew.
    Raises `ContentSpiderError` if it cannot be written, or another process is writing it.
    """

    def __init__(self, path: Path, mark: tuple[int, str] | None, lines: Iterable[bytes]) -> None:
        self.path = path
        self.partial = path.with_name(f".{path.name}.partial")
        self._locked = LockedFile(path, self.partial)
        self._file = self._locked.file
        try:
            if (
                mark
                and self._file.seek(0, os.SEEK_END) >= mark[0]
                and self._digest(mark[0]) == mark[1]
            ):
                self._file.truncate(mark[0])
                self._file.seek(mark[0])
            else:
                self._file.truncate(0)
                self._file.seek(0)
                for line in lines:
                    self.write(line)
        except OSError as error:
            self.close()
            raise ContentSpiderError(f"{path} cannot be written: {error.strerror}") from error

    def _digest(self, offset: int) -> str:
        """Return a digest of the bytes before *offset*."""
        self._file.seek(max(offset - END_BYTES, 0))
        return blake2b(self._file.read(min(offset, END_BYTES)), digest_size=16).hexdigest()

    def write(self, line: bytes) -> None:
        """Append a line; it is in the file after `mark`. Raises OSError if the disk is full."""
        self._file.write(line + b"\n")

    def mark(self) -> tuple[int, str]:
        """Hand all lines to the system and return the mark to go on from; raises OSError if the
        disk is full.
        """
        self._file.flush()
        offset = self._file.tell()
        mark = offset, self._digest(offset)
        self._file.seek(offset)
        return mark

    def sync(self) -> None:
        """Bring what was handed over to the disk, and raise OSError if it takes no more; this waits
        for the disk, and may be called in a thread.
        """
        os.fsync(self._file.fileno())

    def publish(self) -> None:
        """Put the partial file in the place of the output, at once and as a whole; raises OSError
        if the disk is full.
        """
        self._file.flush()
        self.sync()
        self.partial.replace(self.path)

    def close(self) -> None:
        """Close the file."""
        self._locked.close()  # what the disk does not take is in no commit either
