"""Other software, as a method of comparison."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from contentspider.ground.errors import ContentSpiderError
from contentspider_research.baselines.protocol import OnePage

# What ChromeRAG writes of the page's data before its text.
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def _needed(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ContentSpiderError(
            f"the method {module} needs the package of that name:"
            " pip install 'contentspider[bench]'"
        ) from error


class Trafilatura(OnePage):
    """Keeps what trafilatura keeps with its defaults, without comments."""

    def __init__(self) -> None:
        self._extract = _needed("trafilatura").extract

    def text(self, html: bytes) -> str:
        """Return the page's text as trafilatura writes it."""
        return str(self._extract(html, include_comments=False) or "")


class ChromeRAG(OnePage):
    """Keeps what ChromeRAG keeps with its defaults; its model was trained on WCXB's pages."""

    def __init__(self) -> None:
        self._extractor = _needed("chromerag").ChromeRAG()

    def text(self, html: bytes) -> str:
        """Return the page's Markdown without the front matter."""
        found = self._extractor.extract(html.decode("utf-8", "replace"))
        return FRONT_MATTER.sub("", str(found.markdown))
