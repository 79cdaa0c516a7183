"""Own texts: the texts of pages that a site publishes without its template."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# Longer texts are cut; the texts of ordinary pages are shorter.
MAX_CHARS = 200_000
MAX_TITLE_CHARS = 500
# Only this many own texts are read from one body.
MAX_TEXTS = 200


@dataclass(frozen=True, slots=True)
class OwnText:
    """The text of the page at *url*, as its site publishes it without the template.

    *text* is plain text, with one paragraph per line. *source* is the kind of its source, followed
    by the source's address if it has one (``feed https://example.org/feed``). The other fields may
    be empty; dates are in ISO 8601.
    """

    url: str
    text: str
    source: str
    title: str = ""
    author: tuple[str, ...] = ()
    published_at: str = ""
    modified_at: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the own text as JSON values, without empty ones, for `from_record`."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> OwnText:
        """Return the own text of a record; damage raises ValueError, KeyError or TypeError."""
        return cls(
            url=str(record["url"]),
            text=str(record["text"])[:MAX_CHARS],
            source=str(record["source"]),
            title=str(record.get("title", ""))[:MAX_TITLE_CHARS],
            author=tuple(map(str, record.get("author", ()))),
            published_at=str(record.get("published_at", "")),
            modified_at=str(record.get("modified_at", "")),
        )
