"""Other software, as a method of comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider_research.baselines.protocol import OnePage

if TYPE_CHECKING:
    from collections.abc import Callable


class Trafilatura(OnePage):
    """Keeps what trafilatura keeps with its defaults, without comments."""

    def __init__(self) -> None:
        try:
            from trafilatura import extract
        except ImportError as error:
            raise ContentSpiderError(
                "the method trafilatura needs the package of that name:"
                " pip install 'contentspider[bench]'"
            ) from error
        self._extract: Callable[..., str | None] = extract

    def text(self, html: bytes) -> str:
        """Return the page's text as trafilatura writes it."""
        return self._extract(html, include_comments=False) or ""
