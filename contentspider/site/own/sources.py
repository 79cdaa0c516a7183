"""The sources of own texts: where a page says that one is, and how its body is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from contentspider.ground.plugins import PlugIns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.texts import OwnText


@dataclass(frozen=True, slots=True)
class Announced:
    """What a page's head announces: its *links* (``rel``, with ``print`` added if that is their
    ``media``, ``type`` in lower case, and absolute address), and its *generator*.
    """

    url: str
    links: tuple[tuple[str, str, str], ...] = ()
    generator: str = ""


class Source(Protocol):
    """A kind of own texts. None of it may raise, whatever it is given."""

    name: str

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the absolute addresses of own texts of this kind, the best first."""

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the own texts in the answer of *url*; none if it is of another kind or broken."""


SOURCES: PlugIns[type[Source]] = PlugIns(
    "contentspider.own_texts",
    {
        "wordpress": "contentspider.site.own.readers.wordpress:WordPress",
        "feed": "contentspider.site.own.readers.feeds:Feed",
        "index": "contentspider.site.own.readers.indexes:SearchIndex",
        "markdown": "contentspider.site.own.readers.versions:Markdown",
        "version": "contentspider.site.own.readers.versions:Version",
    },
)
