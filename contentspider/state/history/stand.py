"""Where a history stands: by that it is told from others, and from earlier copies of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class Stand:
    """The last crawl that a history has taken over, by its *key* and by when that *ended*; the
    number of the last change of a page (*seq*), and when that was made (*at*).
    """

    key: str
    ended: str
    seq: int
    at: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the stand that JSON has; raises `KeyError`, `TypeError` or `ValueError`."""
        text = {name: str(record[name]) for name in ("key", "ended", "at")}
        return cls(seq=int(record["seq"]), **text)
