"""A single page that states its whole text: what it shows beside it is not its content; what it
does not show is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.extract import extract_paths, page_item
from contentspider.ground.fetch import Fetched
from contentspider.page.input.page import Page
from contentspider.site.learn.options import LearningOptions
from contentspider.site.learn.single_page import extract_page
from tests.site.test_prior import constant
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

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


def test_comments_beside_stated_text_are_left_out() -> None:
    assert kept(page("\n".join(TEXTS))) == [LEAD, *TEXTS, "More of it"]


def test_blocks_at_place_of_stated_text_are_kept() -> None:
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
def test_partial_or_foreign_stated_text_is_ignored(stated: str, kind: str) -> None:
    assert kept(page(stated, kind)) == [LEAD, *TEXTS, "More of it", COMMENT]


def unshown(shown: str, stated: list[str] = TEXTS, kind: str = "NewsArticle") -> Page:
    data = json.dumps({"@type": kind, "headline": "Tea", "articleBody": "\n".join(stated)})
    return Page.from_html(
        f"<script type=application/ld+json>{data}</script><title>Tea</title>{shown}",
        "https://e.org/tea",
    )


SHELL = f"<h1>Tea</h1><p>{TEXTS[0][:60]}...</p><aside>{prose('box')}</aside>"


def test_stated_text_missing_from_page_becomes_content_with_model_json_ld() -> None:
    item = extract_page(unshown(SHELL), prior=PRIOR).to_dict()
    assert item["content"] == "\n".join(["Tea", *TEXTS])
    assert str(item["content_markdown"]).startswith(f"# Tea\n\n{TEXTS[0]}\n\n")
    assert (item["model_version"], item["page_type"]) == ("json-ld", "article")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(unshown(f"<p>{TEXTS[0]}</p><p>{TEXTS[1]}</p>"), id="a part is shown"),
        pytest.param(unshown(SHELL, [TEXTS[0][:200]]), id="a line"),
        pytest.param(unshown(SHELL, kind="CollectionPage"), id="a list"),
        pytest.param(
            unshown("".join(f"<p>{prose('other', number)}</p>" for number in range(9))),
            id="another text is shown",
        ),
    ],
)
def test_page_showing_its_stated_text_is_judged_normally(page: Page) -> None:
    found = extract_page(page, prior=PRIOR)
    assert found.model_version == PRIOR.digest
    assert found.text == "\n".join(block.text for block in page.content.blocks)


def test_page_without_visible_text_uses_stated_text(tmp_path: Path) -> None:
    data = json.dumps({"@type": "NewsArticle", "headline": "Tea", "articleBody": TEXTS[0] * 2})
    shell = f"<script type=application/ld+json>{data}</script><div id=app></div>"
    (tmp_path / "tea.html").write_text(shell)
    for item in (
        *extract_paths([tmp_path / "tea.html"]),
        page_item(Fetched("https://e.org/tea", shell.encode(), "text/html"), LearningOptions()),
    ):
        assert (item["content"], item["title"]) == (TEXTS[0] * 2, "Tea")
        assert item["model_version"] == "json-ld"
