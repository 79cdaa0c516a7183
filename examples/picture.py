"""Draw a page of the example site before and after: ``python examples/picture.py FILE.svg``."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from example_site import ExampleSite

from contentspider import Page, SiteLearner

PAGE = "/recipes/3/index.html"
WIDTH, LINE, CHARS = 440, 15, 56
KEPT, DROPPED = "#1a7f37", "#8c8c8c"


def picture() -> str:
    """Return the picture: on the left all text of the page, on the right that of its item."""
    pages = [Page.from_html(html, path) for path, html in ExampleSite().pages.items()]
    (page,) = (page for page in pages if page.url == PAGE)
    extraction = SiteLearner("example").fit(pages).extract(page)
    texts = [
        (block.text, kept) for block, kept in zip(page.content.blocks, extraction.kept, strict=True)
    ]
    item = [(text, True) for text, kept in texts if kept]
    height = (len(texts) + 2) * LINE + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH + 40} {height}"'
        ' font-family="sans-serif" font-size="12">'
        f"<title>{len(texts)} texts of a page, and the {len(item)} of its item</title>"
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f"{_column(10, 'The page', texts)}{_column(WIDTH + 30, 'The item', item)}</svg>\n"
    )


def _column(x: int, title: str, texts: list[tuple[str, bool]]) -> str:
    height = (len(texts) + 1) * LINE + 15
    lines = [
        f'<rect x="{x}" y="10" width="{WIDTH}" height="{height}" fill="none" stroke="#ccc"/>',
        f'<text x="{x + 10}" y="28" font-weight="bold">{title}</text>',
    ]
    for number, (text, is_kept) in enumerate(texts, 2):
        shown = text if len(text) <= CHARS else f"{text[: CHARS - 1]}…"
        colour, mark = (KEPT, "") if is_kept else (DROPPED, ' text-decoration="line-through"')
        y = number * LINE + 13
        lines.append(f'<text x="{x + 10}" y="{y}" fill="{colour}"{mark}>{escape(shown)}</text>')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
