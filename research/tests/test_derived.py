"""Derived features of blocks: every name of the thesis, and the whole row."""

from __future__ import annotations

import pytest

from contentspider.page.input.page import Page
from contentspider.site.judge.slots import SlotTable
from contentspider_research.features.derived import derived
from contentspider_research.features.thesis_names import called

NONE = SlotTable.of_names([])


def rows(html: str, attributes: bool = True) -> list[set[str]]:
    page = Page.from_html(html, attributes=attributes)
    again = Page.load(page.dump())
    assert derived(again.content, NONE) == derived(page.content, NONE)
    return [{" ".join(feature) for feature in row} for row in derived(page.content, NONE)]


@pytest.mark.parametrize(
    "name",
    "ad-box adblock advert-box img_ad ads-section top-ad ad_unit adv-top my-adv adv_top my_adv"
    " advertiser adsbygoogle adserver adbox advertorial AdBlock Top-AD".split(),
)
def test_advertisement_names_are_recognized(name) -> None:
    assert called(name) == {"ad"}


@pytest.mark.parametrize("name", "mainnav sidenav topnav navlinks subnav Navigation".split())
def test_navigation_names_are_recognized(name) -> None:
    assert called(name) == {"nav"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *((name, set()) for name in "loading header shadow gradient thread download".split()),
        *((name, set()) for name in "domain remain commentary footerless asides".split()),
        ("user_comment", {"comment"}),
        ("comments-section", {"comment"}),
        ("commentList", {"comment"}),
        ("COMMENTList", {"comment"}),
        ("main-2", {"main"}),
        ("siteFooter", {"footer"}),
        ("page-wrapper", {"wrapper"}),
        ("asideBox", {"aside"}),
        ("cookie-bar", {"cookies"}),
        ("main_nav", {"main", "nav"}),
    ],
)
def test_other_names_are_split_at_hyphens_underscores_and_capitals(name, says) -> None:
    assert called(name) == says


@pytest.mark.parametrize(
    ("html", "has", "has_not"),
    [
        ("<a href=/><div>x</div></a>", "is_desc a", None),
        ("<div><a href=/>x</a></div>", "is_desc a", None),
        ("<div><a href=/>x</a> y</div>", None, "is_desc a"),
        ("<div><p>x</p><a></a></div>", "is_sib a", "is_sib p"),
        ("<p>x</p><form><input></form>", None, "is_sib input"),
        ("<form><p>x</p><input></form>", "is_sib input", "is_sib img"),
        ("<div><p>x</p><img></div>", "is_sib img", "is_sib a"),
        ("<div><p>x</p>" + "<p></p>" * 30 + "<input></div>", "is_sib input", "is_sib img"),
        ("<div><p>x</p><p></p></div>", "is_sib p", "is_sib div"),
        ("<div class=ad-box><p>x</p></div>", "is_desc called ad", "is called ad"),
        ("<div class=ad-box>x</div>", "is called ad", "is_desc called ad"),
        ("<div id=sidenav><p>x</p></div>", "is_desc called nav", "is_desc nav"),
        ("<nav><p>x</p></nav>", "is_desc called nav", "is called nav"),
        ("<section><p>x</p></section>", "is_desc called section", "is called section"),
        ("<div id=comments><p>x</p></div>", "is_desc called comment", "is_desc called main"),
        ("<p>All Rights Reserved</p>", "contains rights reserved", "contains like"),
        ("<p>Like it? Share!</p>", "contains like", "contains rights reserved"),
        ("<p>Share</p>", "contains share", "contains like"),
        ("<p>x <i>y</i></p>", "has_child i", "has_child b"),
        ("<p>x <i>y</i></p>", "has_children", "is_link"),
        ("<p>x</p>", None, "has_children"),
        ("<li> <a href=/>x</a> </li>", "is_link", None),
        ("<p>x<a href=/>y</a></p>", None, "is_link"),
        ("<p>a b <b>c</b> <i>d e</i></p>", "inner_text_length 5", None),
        ("<p>a b <b>c</b><i>d e</i></p>", "child_text_length 3", None),
        ("<div>a<p>b c</p><p>d e</p></div>", "inner_text_length 5", None),
        ("<div>a<p>b c</p><p>d e</p></div>", "child_text_length 2", None),
    ],
)
def test_derived_features_have_names_of_thesis(html, has, has_not) -> None:
    row = rows(html)[0]
    assert has is None or has in row
    assert has_not not in row


def test_page_edges_are_three_percent_of_text() -> None:
    html = "<p>" + "x" * 2 + "</p><p>" + "x" * 2 + "</p><p>" + "x" * 93 + "</p><p>xxx</p>"
    found = ["is_uppermost_or_bottommost" in row for row in rows(html)]
    assert found == [True, True, False, True]


def test_edges_of_rendered_page_are_measured_by_height() -> None:
    page = Page.from_html("<p>a</p><p>b</p><p>c</p><p>d</p>").content
    tops = (0, 30, 930, 980)
    page.visuals = [
        {"box top": f"{top}", "box height": "20", "box left": "0", "box width": "9"} for top in tops
    ]
    found = [("is_uppermost_or_bottommost",) in row for row in derived(page, NONE)]
    assert found == [True, False, False, True]


def test_derived_row_is_complete() -> None:
    html = (
        "<body><aside class=ad-box><h2>Related</h2></aside><div><p>All <b>of</b> it</p><ul><li>"
        "<a href=/>There</a></ul><pre>x</pre><p>And more</p></div>"
    )
    _, text, link, _, last = rows(html)
    assert text == {
        *("is_desc body", "is_desc div", "has_child b", "has_children"),
        *("is_sib ul", "is_sib pre", "is_sib p", "after header related", "under_noise_header 2"),
        *("inner_text_length 4", "child_text_length 3", "word count 4", "position 2", "tag p"),
    }
    assert link == {
        *("is_desc body", "is_desc div", "is_desc ul", "is_desc a", "has_child a", "has_children"),
        *("is_link", "after header related", "under_noise_header 2", "inner_text_length 2"),
        *("child_text_length 0", "word count 2", "position 4", "tag li"),
    }
    assert {"position 8", "is_sib p", "is_uppermost_or_bottommost"} <= last


def test_derived_features_without_tree_ignore_elements_without_block() -> None:
    html = "<div><p>a <i>b</i></p><div>c</div><p>d</p><input></div>"
    row = rows(html, attributes=False)[0]
    assert {"is_sib div", "is_sib p"} <= row
    assert not row & {"is_sib input", "has_child i", "has_children"}
    outer = rows("<div>a<p>b</p></div>", attributes=False)[0]
    assert {"has_child p", "has_children"} <= outer


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [(0, 0, True), (79, 0, True), (80, 0, False), (79, 319, True), (79, 320, False)],
)
def test_phrases_are_searched_at_start_of_short_text(before, after, says) -> None:
    html = f"<p>{'x' * before}©{'x' * after}</p>"
    assert ("says legal" in rows(html)[0]) == says
    # in a header of whatever length
    found = rows(f"<h2>{'x' * before}©{'x' * after}</h2><p>a</p>")[1]
    assert ("after header legal" in found) == (before < 80)


@pytest.mark.parametrize(("links", "is_link"), [(9, False), (10, True)])
def test_block_with_ninety_percent_linked_text_is_link(links, is_link) -> None:
    html = f"<p><a href=/>{'x' * links}</a>y</p>"
    assert ("is_link" in rows(html)[0]) == is_link
