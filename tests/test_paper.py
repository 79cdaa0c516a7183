"""Labels to the letter of the paper, and its variations."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.preprocessing import StandardScaler

from contentspider.page.input.page import Page
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.paper import (
    cluster_blocks,
    label_by_contrast,
    label_by_terms,
    label_by_terms_with_two_clusters,
    label_like_the_paper,
    label_page_by_page,
    label_slots_by_terms,
    label_slots_by_terms_with_two_clusters,
    label_template_by_template,
    label_with_two_clusters,
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
def test_all_titles_and_then_all_descriptions_are_one_text(head, expected) -> None:
    body = f"{head}<p>aaaaaaaa</p><ul><li>aaaabb</ul>"
    assert labels(label_like_the_paper, body) == expected


def test_a_page_that_states_nothing_has_no_relevance() -> None:
    script = '<script type="application/ld+json">{"@type": "Article", "headline": "bbb"}</script>'
    silent = f"{script}<p>b</p><ul><li>bbb</ul>"
    assert labels(label_like_the_paper, silent, silent, PARAGRAPH) == [1, 0, 1, 0, 1, 0]


def test_the_two_best_clusters() -> None:
    body = "<title>aaaa</title><p>aaaa</p><ul><li>aaa</ul><h2>aa</h2>"
    assert labels(label_with_two_clusters, body) == [1, 1, 0]
    assert labels(label_with_two_clusters, "<title>a</title><p>a") == [1]


def test_terms_in_common_count_by_their_rareness() -> None:
    # ln(2/1) for tea, 0 for both pages' news: (2 + 1) ln 2 in the paragraph, (1 + 1) ln 2 in the
    # heading, nothing in the list.
    one = "<title>tea news</title><p>tea tea</p><h2>tea</h2><ul><li>news news news news</ul>"
    other = "<title>news</title><p>x</p><h2>x</h2><ul><li>news</ul>"
    assert labels(label_by_terms, one, other) == [1, 0, 0, 1, 0, 0]
    assert labels(label_by_terms_with_two_clusters, one, other) == [1, 1, 0, 1, 1, 0]
    # Slots know classes.
    classes = one.replace("</p>", "</p><p class=a>tea"), other.replace("<p>", "<p class=a>")
    assert labels(label_by_terms, *classes) == [1, 1, 0, 0, 1, 0, 0]
    assert labels(label_slots_by_terms, *classes) == [1, 0, 0, 0, 0, 0, 0]
    assert labels(label_slots_by_terms_with_two_clusters, *classes) == [1, 1, 0, 0, 1, 0, 0]


def test_what_a_page_states_is_kept_with_it() -> None:
    head = (
        "<meta name=description content='D 1'><meta property=og:description content='D 1'>"
        "<meta property=og:title content=T><title>T </title><meta name=dc.title content=no>"
    )
    page = Page.from_html(f"{head}<p>x")
    assert page.hints.stated == ("T ", "T", "D 1", "D 1")
    assert Page.load(page.dump()).hints.stated == page.hints.stated


def test_widths_are_scaled_by_how_often_they_are() -> None:
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
