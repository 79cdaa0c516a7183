"""Own texts: what a site publishes of one of its pages, without its template."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# A page's text is shorter; what is longer is cut.
MAX_CHARS = 200_000
MAX_TITLE_CHARS = 500
# Own texts of a site that are kept, the first of each source.
MAX_TEXTS = 200


@dataclass(frozen=True, slots=True)
class OwnText:
    """What a site publishes of the page at *url*: *text*, a paragraph a line, without markup.

    *source* is its kind and, if it has one, an address (``feed https://example.org/feed``). The
    rest may be empty; dates are ISO 8601.
    """

    url: str
    text: str
    source: str
    title: str = ""
    author: tuple[str, ...] = ()
    published_at: str = ""
    modified_at: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, for `from_record`."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> OwnText:
        """Return what `to_record` described; damage raises ValueError, KeyError or TypeError."""
        return cls(
            url=str(record["url"]),
            text=str(record["text"])[:MAX_CHARS],
            source=str(record["source"]),
            title=str(record.get("title", ""))[:MAX_TITLE_CHARS],
            author=tuple(map(str, record.get("author", ()))),
            published_at=str(record.get("published_at", "")),
            modified_at=str(record.get("modified_at", "")),
        )
