"""What every method of comparison is to the command line and the experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Baseline(Protocol):
    """A method that extracts a page's text, and may look at the pages of its site before."""

    def fit(self, pages: Sequence[tuple[str, bytes]]) -> None:
        """Learn from a site's *pages*, each its address and its body; called once, before `text`.

        A method that judges each page by itself does nothing here.
        """

    def text(self, html: bytes) -> str:
        """Return the content of a page as text; "" if it finds none."""


class OnePage:
    """A method that judges each page by itself."""

    def fit(self, pages: Sequence[tuple[str, bytes]]) -> None:
        """Do nothing: the page says it all."""
