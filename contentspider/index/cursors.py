"""How far the indexes of a history are: a small file beside it."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)


@dataclass
class Cursor:
    """How far an index is: shown as *url*, it has all changes of the history up to the number
    *seq*, but the documents that it *refused* (their ids, and why).
    """

    url: str
    seq: int = 0
    at: str = ""
    refused: dict[str, str] = field(default_factory=dict)


class Cursors:
    """The cursors of the indexes of the history at *path*, by the indexes' identities.

    They are no more than a shortcut: without its cursor an index is compared with the whole
    history.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_suffix(".indexes.json")
        self.all: dict[str, Cursor] = {}
        try:
            record = json.loads(self._path.read_text(encoding="utf-8"))
            self.all = {name: Cursor(**cursor) for name, cursor in record.items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError) as error:
            logger.warning(
                "%s cannot be read (%s): indexes are compared with the whole history",
                self._path,
                error,
            )

    def of(self, identity: str, url: str) -> Cursor:
        """Return the cursor of an index, at the beginning if it has none."""
        cursor = self.all.setdefault(identity, Cursor(url))
        cursor.url = url
        return cursor

    def save(self) -> None:
        """Write them; raises `ContentSpiderError` if that cannot be."""
        with replacing(self._path) as file:
            record = {name: asdict(cursor) for name, cursor in self.all.items()}
            file.write(json.dumps(record, indent=1, ensure_ascii=False).encode("utf-8", "replace"))
