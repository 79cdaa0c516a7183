"""The position of a book in its change log. It tells the book from others and from copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class HistoryPosition:
    """The last crawl in a book (*key*, and the time it *ended*), and the last change of a page
    (its number *seq*, and the time *at* which it was recorded).
    """

    key: str
    ended: str
    seq: int
    at: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the position in a JSON record; raises KeyError, TypeError or ValueError."""
        text = {name: str(record[name]) for name in ("key", "ended", "at")}
        return cls(seq=int(record["seq"]), **text)
