"""Labels to the letter of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.preprocessing import StandardScaler

from contentspider.page.input.page import Page
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.paper import cluster_blocks, label_like_the_paper


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
    ("bodies", "expected"),
    [
        ([PARAGRAPH, ITEM], [1, 0, 1, 0]),
        ([PARAGRAPH, ITEM, ITEM], [0, 1, 0, 1, 0, 1]),
        ([LINKED, ITEM], [1, 0, 1, 0]),
        ([PARAGRAPH, HEADING, SILENT], [1, 0, 0, 0, 0]),
        (
            [f"<title>{text}</title><p>aabbccaabbcc</p><h2>a</h2>" for text in ("aa", "bb")],
            [1, 0, 1, 0],
        ),
    ],
)
def test_paper_labels_choose_content_clusters(bodies, expected) -> None:
    assert labels(label_like_the_paper, *bodies) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        # One subsequence with all that is stated: "aaaabb" has six characters of the list item.
        ("<title>aaaa</title><meta name=description content=bb>", [0, 1]),
        # Titles come first, wherever they stand: of "bbaaaa" the paragraph would have more.
        ("<meta name=description content=bb><meta property=og:title content=aaaa>", [0, 1]),
        # What is said twice is twice as long: eight characters of the paragraph.
        ("<title>aaaa</title><meta property=og:title content=aaaa>", [1, 0]),
        # JSON-LD and Dublin Core are no titles of the publication.
        ("<title>aaaa</title><meta name=dc.title content=bb>", [1, 0]),
    ],
)
def test_relevance_compares_blocks_with_joined_titles_and_descriptions(head, expected) -> None:
    body = f"{head}<p>aaaaaaaa</p><ul><li>aaaabb</ul>"
    assert labels(label_like_the_paper, body) == expected


def test_page_without_title_or_description_has_no_relevance() -> None:
    script = '<script type="application/ld+json">{"@type": "Article", "headline": "bbb"}</script>'
    silent = f"{script}<p>b</p><ul><li>bbb</ul>"
    assert labels(label_like_the_paper, silent, silent, PARAGRAPH) == [1, 0, 1, 0, 1, 0]


def test_stated_titles_and_descriptions_are_stored_with_page() -> None:
    head = (
        "<meta name=description content='D 1'><meta property=og:description content='D 1'>"
        "<meta property=og:title content=T><title>T </title><meta name=dc.title content=no>"
    )
    page = Page.from_html(f"{head}<p>x")
    assert page.hints.stated == ("T ", "T", "D 1", "D 1")
    assert Page.load(page.dump()).hints.stated == page.hints.stated


def test_box_widths_are_scaled_by_their_frequency() -> None:
    # With each width counted once the deviation would be 163, and 100 beside 160 one cluster.
    widths = ["100"] * 49 + ["160"] * 49 + ["500", "500"]
    found = clusters("<p>x</p>" * len(widths), [{"box width": width} for width in widths])
    every = StandardScaler().fit_transform(np.array(widths, dtype=float)[:, None])
    assert found == DBSCAN(eps=0.5, min_samples=1).fit_predict(every).tolist()
    assert len(set(found)) == 3


def clusters(html: str, visuals: list[dict[str, str]] | None = None) -> list[int]:
    page = Page.from_html(html)
    page.content.visuals = visuals or []
    return cluster_blocks([page]).tolist()


def test_blocks_with_same_tag_path_form_one_cluster() -> None:
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
def test_rendered_blocks_with_same_path_are_split_by_style_and_width(other, is_one) -> None:
    first = {"color": "red", "box width": "600", "box x": "0"}
    one, two = clusters("<p>a</p><p>b</p>", [first, other])
    assert (one == two) == is_one
