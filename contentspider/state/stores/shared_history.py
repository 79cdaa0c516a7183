"""A crawl's history where several machines share it: on an fsspec URL, with a local copy."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.state.ledger.database import PARTS
from contentspider.state.stores.remote import RemoteError
from contentspider.state.stores.shared import SharedFiles

if TYPE_CHECKING:
    from contentspider.state.stores.remote import Objects

POINTER = "history.json"


class SharedHistory:
    """The history in the file *path*, in the store *objects* as ``NAME/history.json`` and the files
    that it lists. Other processes may only read the file in the meantime.
    """

    def __init__(self, objects: Objects, path: Path) -> None:
        self.path = path
        name = f"{path.stem}/{POINTER}"
        self._shared = SharedFiles(objects, name, path.parent, (path.name,), PARTS[1:])

    def pull(self) -> None:
        """Download the history; one that is unsent from an earlier run is uploaded.

        Raises `RemoteError` if the store cannot be read, or its history is damaged.
        """
        try:
            self._shared.pull()
        except OSError as error:
            raise RemoteError(f"{self.path} cannot be written: {error}") from error
        self.push()

    def begin_change(self) -> None:
        """Record that the history is about to become newer than the store's."""
        self._shared.begin_change()

    def push(self) -> None:
        """Upload the history if it is newer; raises as `SharedFiles.push` does."""
        if not self._shared.is_unsent:
            return
        try:
            with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".push-") as folder:
                # A complete copy without a log, even while another process reads it.
                copy = Path(folder, "history.sqlite")
                with (
                    closing(sqlite3.connect(self.path)) as source,
                    closing(sqlite3.connect(copy)) as target,
                ):
                    source.backup(target)
                self._shared.push({self.path.name: copy})
        except (OSError, sqlite3.Error) as error:
            raise RemoteError(f"{self.path} cannot be copied: {error}") from error
