"""Variations of the paper's labels."""

from __future__ import annotations

import pytest

from contentspider.page.input.page import Page
from contentspider.site.vote.blocks import gather
from contentspider_research.labels import (
    label_by_contrast,
    label_by_terms,
    label_by_terms_with_two_clusters,
    label_in_the_box,
    label_page_by_page,
    label_slots_by_terms,
    label_slots_by_terms_with_two_clusters,
    label_template_by_template,
    label_with_two_clusters,
)
from tests.site.test_paper import HEADING, ITEM, LINKED, PARAGRAPH, SILENT, labels


@pytest.mark.parametrize(
    ("method", "bodies", "expected"),
    [
        (label_page_by_page, [PARAGRAPH, ITEM], [1, 0, 0, 1]),
        (label_page_by_page, [PARAGRAPH, "", ITEM], [1, 0, 0, 1]),
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
    ],
)
def test_label_variants_choose_content_clusters(method, bodies, expected) -> None:
    assert labels(method, *bodies) == expected


def test_two_best_clusters_are_labelled_content() -> None:
    body = "<title>aaaa</title><p>aaaa</p><ul><li>aaa</ul><h2>aa</h2>"
    assert labels(label_with_two_clusters, body) == [1, 1, 0]
    assert labels(label_with_two_clusters, "<title>a</title><p>a") == [1]


def test_common_terms_count_by_rarity() -> None:
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


def test_blocks_starting_in_content_column_are_labelled_content() -> None:
    # Left, top and width of each block, 20 px high; the two paragraphs are the best cluster.
    blocks = {
        "<p>aaaa": (100, 0, 400),
        "<h3>aa</h3>": (102, 30, 400),
        "<blockquote>aa</blockquote>": (140, 60, 300),
        "<h4>zz</h4>": (100, 90, 400),
        "<p>aaaa</p>": (100, 120, 400),
        "<h5>aa</h5>": (100, 150, 400),
        "<h6>aa</h6>": (100, 60, 600),
    }
    page = Page.from_html("<title>aaaa</title>" + "".join(blocks))
    page.content.visuals = [
        {"box left": str(left), "box top": str(top), "box width": str(width), "box height": "20"}
        for left, top, width in blocks.values()
    ]
    site = gather([page])
    # Set in; without a score; below; wider than the column.
    assert label_in_the_box([page], site).tolist() == [1, 1, 0, 0, 1, 0, 0]
    # Nothing is known of the looks of plain HTML.
    assert labels(label_in_the_box, "<title>aaaa</title>" + "".join(blocks)) == [
        1,
        0,
        0,
        0,
        1,
        0,
        0,
    ]
