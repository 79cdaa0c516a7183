"""The registry of sources of own texts; each source finds addresses and reads their bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from contentspider.ground.plugins import PlugIns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.texts import OwnText


@dataclass(frozen=True, slots=True)
class Announced:
    """The links and the generator that the head of the page at *url* announces.

    Each of *links* is a tuple of its ``rel``, with ``print`` added if its ``media`` is print, its
    ``type`` in lower case, and its absolute address. *is_start* tells whether the crawl started at
    the page. Only such a page has a *generator*.
    """

    url: str
    links: tuple[tuple[str, str, str], ...] = ()
    generator: str = ""
    is_start: bool = False


class Source(Protocol):
    """A kind of own texts. Its methods must not raise an error for any input."""

    name: str

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the absolute addresses of own texts of this kind, the best first."""

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the own texts in the *body* of *url*, none if it is broken or of another kind."""


SOURCES: PlugIns[type[Source]] = PlugIns(
    "contentspider.own_texts",
    {
        "wordpress": "contentspider.site.own.readers.wordpress:WordPress",
        "feed": "contentspider.site.own.readers.feeds:Feed",
        "index": "contentspider.site.own.readers.indexes:SearchIndex",
        "llms": "contentspider.site.own.readers.llms:LlmsText",
        "markdown": "contentspider.site.own.readers.versions:Markdown",
        "version": "contentspider.site.own.readers.versions:Version",
    },
)
