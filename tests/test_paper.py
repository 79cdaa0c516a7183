"""Labels to the letter of the paper, and its variations."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.page.document import Page
from contentspider.site.blocks import gather
from contentspider.site.paper import (
    cluster_blocks,
    label_by_contrast,
    label_like_the_paper,
    label_page_by_page,
    label_template_by_template,
)


def labels(method, *bodies: str) -> list[int]:
    pages = [Page.from_html(body) for body in bodies]
    site = gather([page.content for page in pages], [page.hints for page in pages])
    found = method(pages, site)
    assert found.dtype == np.float32
    return found.astype(int).tolist()


# The paragraph has four characters of its page's title, the list item three.
PARAGRAPH = "<title>aaaa</title><p>a a a A</p><ul><li>zzzz</ul>"
ITEM = "<title>bbbb</title><p>zzzz</p><ul><li>bbb</ul>"
# Two pages of another template, the second without hints.
HEADING = "<title>cc</title><h2>cc</h2><ul><li>zzzz</ul>"
SILENT = "<ol><li>dddd</ol>"
LINKED = PARAGRAPH.replace("a a a A", "<a href=/>aaaa</a>")


@pytest.mark.parametrize(
    ("method", "bodies", "expected"),
    [
        (label_like_the_paper, [PARAGRAPH, ITEM], [1, 0, 1, 0]),
        (label_like_the_paper, [PARAGRAPH, ITEM, ITEM], [0, 1, 0, 1, 0, 1]),
        (label_like_the_paper, [LINKED, ITEM], [1, 0, 1, 0]),
        (label_page_by_page, [PARAGRAPH, ITEM], [1, 0, 0, 1]),
        (label_page_by_page, [PARAGRAPH, "", ITEM], [1, 0, 0, 1]),
        (label_like_the_paper, [PARAGRAPH, HEADING, SILENT], [1, 0, 0, 0, 0]),
        (label_template_by_template, [PARAGRAPH, HEADING, SILENT], [1, 0, 1, 0, 0]),
        (label_template_by_template, [PARAGRAPH, ITEM], [1, 0, 1, 0]),
        (label_by_contrast, [PARAGRAPH, ITEM], [1, 0, 1, 0]),
        # what is linked says nothing
        (label_by_contrast, [LINKED, ITEM], [0, 1, 0, 1]),
        # nor does what speaks of every page
        (
            label_by_contrast,
            [f"<title>{text}</title><p>aabbccaabbcc</p><h2>{text}</h2>" for text in ("aa", "bb")],
            [0, 1, 0, 1],
        ),
        (
            label_like_the_paper,
            [f"<title>{text}</title><p>aabbccaabbcc</p><h2>a</h2>" for text in ("aa", "bb")],
            [1, 0, 1, 0],
        ),
    ],
)
def test_which_cluster_is_content(method, bodies, expected) -> None:
    assert labels(method, *bodies) == expected


def clusters(html: str, visuals: list[dict[str, str]] | None = None) -> list[int]:
    page = Page.from_html(html)
    page.content.visuals = visuals or []
    return cluster_blocks([page]).tolist()


def test_blocks_of_one_tag_path_are_one_cluster_whatever_their_names() -> None:
    html = "<div class=a><p>a</p></div><div id=b><p class=c>b</p><h2>c</h2></div><p>d</p>"
    assert clusters(html) == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("other", "is_one"),
    [
        ({"color": "red", "box width": "600", "box x": "0"}, True),
        ({"color": "red", "box width": "600", "box x": "900"}, True),
        ({"color": "blue", "box width": "600", "box x": "0"}, False),
        ({"color": "red", "box width": "200", "box x": "0"}, False),
    ],
)
def test_rendered_blocks_of_one_tag_path_differ_by_style_and_width(other, is_one) -> None:
    first = {"color": "red", "box width": "600", "box x": "0"}
    one, two = clusters("<p>a</p><p>b</p>", [first, other])
    assert (one == two) == is_one
