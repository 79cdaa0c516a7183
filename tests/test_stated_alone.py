"""A single page that states its whole text: what it shows beside it is not its content."""

from __future__ import annotations

import json

import pytest

from contentspider.page.input.page import Page
from contentspider.site.learn.alone import extract_page
from tests.sites import prose
from tests.test_prior import constant

TEXTS = [prose("stated", number) for number in range(6)]
LEAD, AFTER, COMMENT = (prose(name) for name in ("lead", "after", "comment"))
PRIOR = constant(5.0)  # keeps all


def page(stated: str, kind: str = "NewsArticle", beside: str = "") -> Page:
    data = json.dumps({"@type": kind, "headline": "Tea", "articleBody": stated})
    paragraphs = "".join(f"<p>{text}</p>" for text in TEXTS)
    return Page.from_html(
        f"<script type=application/ld+json>{data}</script><article><div>{LEAD}</div>"
        f"<section>{paragraphs}<h2>More of it</h2>{beside}</section></article>"
        f"<ol><li>{COMMENT}</li></ol>",
        "https://e.org/tea",
    )


def kept(page: Page) -> list[str]:
    found = extract_page(page, prior=PRIOR)
    return [
        block.text
        for block, is_kept in zip(page.content.blocks, found.kept, strict=True)
        if is_kept
    ]


def test_what_follows_beside_the_stated_text_is_left_out() -> None:
    assert kept(page("\n".join(TEXTS))) == [LEAD, *TEXTS, "More of it"]


def test_what_stands_where_stated_text_stands_is_kept() -> None:
    added = f"<p>{AFTER}</p><aside>{prose('box')}</aside>"
    assert kept(page("\n".join(TEXTS), beside=added)) == [LEAD, *TEXTS, "More of it", AFTER]


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        ("", "NewsArticle"),
        (prose("of another page"), "NewsArticle"),
        ("\n".join([*TEXTS[:2], *(prose("cut", number) for number in range(4))]), "NewsArticle"),
        (COMMENT[:60], "NewsArticle"),
        ("\n".join(TEXTS), "DiscussionForumPosting"),
    ],
    ids=["none", "other", "other version", "teaser", "one post of many"],
)
def test_what_is_not_the_whole_text_of_the_page_says_nothing(stated: str, kind: str) -> None:
    assert kept(page(stated, kind)) == [LEAD, *TEXTS, "More of it", COMMENT]
