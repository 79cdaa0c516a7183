"""Files that one process at a time writes, and that stay complete if the process is killed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from contentspider.ground.atomic import writing
from contentspider.ground.errors import ContentSpiderError

END_BYTES = 65_536  # the digest of the last bytes identifies a file


class LockedFile:
    """Opens *partial* and locks *path* for writing; raises `ContentSpiderError` if it cannot."""

    def __init__(self, path: Path, partial: Path, buffering: int = -1) -> None:
        self.path = path
        lock = path.with_name(f".{path.name}.lock")
        self._lock = FileLock(lock, thread_local=False, blocking=False)
        try:
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            lock.touch()  # raises the reason if the file cannot be made, which the lock does not
            self._lock.acquire()
            self._file: BinaryIO = partial.open("r+b" if partial.exists() else "w+b", buffering)
        except Timeout as error:
            raise ContentSpiderError(
                f"{path} is being written by another crawl; give this one another file",
                code="output-busy",
            ) from error
        except OSError as error:
            self._lock.release()
            reason = error.strerror
            if isinstance(error, FileNotFoundError):
                reason = f"no file can be made in {path.absolute().parent}"
            raise ContentSpiderError(
                f"{path} cannot be written: {reason}", code="output-file"
            ) from error

    def close(self) -> None:
        """Close the file and unlock its path."""
        with suppress(OSError):  # lines that the disk did not accept were not committed either
            self._file.close()
        Path(self._lock.lock_file).unlink(missing_ok=True)  # before another process can lock it
        self._lock.release()


class JsonLinesWriter(LockedFile):
    """Writes JSON lines to a partial file beside *path*; `publish` replaces *path* with it.

    Lines are appended after *mark*. If the partial file does not match the mark, it is written
    anew from *lines*.
    """

    def __init__(self, path: Path, mark: tuple[int, str] | None, lines: Iterable[bytes]) -> None:
        self.partial = _partial(path)
        super().__init__(path, self.partial)
        with writing(path), ExitStack() as on_failure:
            on_failure.callback(self.close)
            end, digest = mark or (0, "")
            size = self._file.seek(0, os.SEEK_END)
            if mark and size >= end and self._digest(end) == digest:
                self._file.truncate(self._file.seek(end))
            else:
                self.rewrite(lines)
            on_failure.pop_all()

    def _digest(self, offset: int) -> str:
        """Return a digest of the bytes before *offset*."""
        self._file.seek(max(offset - END_BYTES, 0))
        return blake2b(self._file.read(min(offset, END_BYTES)), digest_size=16).hexdigest()

    def write(self, line: bytes) -> None:
        """Append a line. The next `mark` flushes it to the file. Raises OSError."""
        with _named(self.partial):
            self._file.write(line + b"\n")

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace all lines; raises OSError if the disk is full."""
        self._file.truncate(self._file.seek(0))
        for line in lines:
            self.write(line)

    def mark(self) -> tuple[int, str]:
        """Flush all lines and return the mark for continuing later; raises OSError."""
        with _named(self.partial):
            self._file.flush()
        offset = self._file.tell()
        mark = offset, self._digest(offset)
        self._file.seek(offset)
        return mark

    def sync(self) -> None:
        """Write the flushed lines to the disk; can run in a thread. Raises OSError."""
        with _named(self.partial):
            os.fsync(self._file.fileno())

    def publish(self) -> None:
        """Replace the output with the partial file; raises OSError."""
        with _named(self.partial):
            self._file.flush()
        self.sync()
        self.partial.replace(self.path)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the name of a file to an OSError that lacks it, such as the error of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def check_output(path: Path) -> None:
    """Raise `ContentSpiderError` if lines cannot be written to *path* now."""
    LockedFile(path, _partial(path)).close()


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")
