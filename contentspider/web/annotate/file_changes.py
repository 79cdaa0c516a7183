"""Changes of TOML files that a person makes in the annotation tool, and their undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing, writing

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of the file at *path* from the content *before*, None without a file, to *after*."""

    path: Path
    before: bytes | None
    after: bytes

    def undo(self) -> bool:
        """Write the content before, and return True. A file that has changed since stays as it is;
        the result is False then. Raises `ContentSpiderError` if the file cannot be written.
        """
        if read_bytes(self.path) != self.after:
            return False
        if self.before is None:
            with writing(self.path):
                self.path.unlink()
        else:
            with replacing(self.path) as file:
                file.write(self.before)
        return True


def replace_file(path: Path, before: bytes | None, after: str) -> FileChange:
    """Write the text *after* to a file whose content is *before*, and return the change. Raises
    `ContentSpiderError`.
    """
    content = after.encode()
    with replacing(path) as file:
        file.write(content)
    return FileChange(path, before, content)


def read_bytes(path: Path) -> bytes | None:
    """Return the content of a file that will be written; None without a file. Raises
    `ContentSpiderError`.
    """
    with writing(path):
        return path.read_bytes() if path.is_file() else None
