"""Readers' comments below the text of a page that is judged alone, and posts of a discussion."""

from __future__ import annotations

import json

import numpy as np
import pytest

from contentspider.page.input.page import Page
from contentspider.site.judge.comments import readers_comments
from tests.sites import prose

TEXT = f"<div class=story><p>{prose('first')}</p><p>{prose('second')}</p></div>"
ENTRIES = [f"{name}, {day} March 2012" for name, day in (("Ada", 3), ("Ben", 4))]


def page(below: str, text: str = TEXT, kind: str = "") -> Page:
    data = json.dumps({"@type": kind})
    return Page.from_html(
        f"<script type=application/ld+json>{data}</script><h1>Tea</h1>{text}{below}"
    )


def comments(page: Page, content: bool = True) -> list[bool]:
    """Return which blocks are comments if all sentences are text, or none."""
    sentences = [
        len(block.text) if content and len(block.text) >= 60 else 0 for block in page.content.blocks
    ]
    called = np.ones(len(sentences), dtype=bool)
    return readers_comments(page, np.array(sentences), called).tolist()


def listed(name: str = "class=comment-list", inner: str = "p") -> str:
    entries = (f"<li><{inner}>{prose('entry', number)}</{inner}>" for number in range(3))
    return f"<ol {name}>{''.join(entries)}</ol>"


@pytest.mark.parametrize(
    "name", ["class=comment-list", "id=disqus_thread", "role=comment", "itemprop=comment"]
)
def test_elements_named_as_comments_below_text_are_comments(name: str) -> None:
    assert comments(page(listed(name))) == [False] * 3 + [True] * 3


@pytest.mark.parametrize("name", ["class=has-comments", "class=remarks"])
def test_elements_with_similar_names_are_not_comments(name: str) -> None:
    assert not any(comments(page(listed(name))))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no text"),
        pytest.param(f"<p>{'word ' * 12}</p>", id="a line"),
        pytest.param(TEXT.replace("story", "first-message"), id="a text that is named as a post"),
    ],
)
def test_comments_without_text_above_are_discussion_posts(text: str) -> None:
    assert not any(comments(page(listed(), text)))


def test_comments_with_only_boilerplate_above_are_discussion_posts() -> None:
    assert not any(comments(page(listed()), content=False))


@pytest.mark.parametrize("kind", ["DiscussionForumPosting", "QAPage", "Product"])
def test_schema_org_discussion_types_keep_posts_as_content(kind: str) -> None:
    assert not any(comments(page(listed(), kind=kind)))
    assert any(comments(page(listed(), kind="BlogPosting")))


def test_posts_styled_like_first_post_belong_to_discussion() -> None:
    first = f"<div><div class=narrow>{prose('first')}</div></div>"
    replies = "".join(
        f"<div itemprop=comment><div class=narrow>{prose('reply', number)}</div></div>"
        for number in range(3)
    )
    assert not any(comments(page(replies, first)))
    assert sum(comments(page(replies, first.replace("narrow", "story")))) == 3


def test_comment_section_followed_by_more_text_is_content() -> None:
    more = "".join(f"<p>{prose('more', number)}" for number in range(2))
    section = f"<section id=responses><p>{prose('responses')}</section>"
    assert sum(comments(page(section))) == 1
    assert not any(comments(page(section + more)))


@pytest.mark.parametrize(
    ("heading", "lines", "are_comments"),
    [
        ("2 Comments", ENTRIES, True),
        ("Kommentare", ["Ada, 3. März 2012", "Ben, 4.3.2012"], True),
        ("Comments", ["Ada", "Ben"], False),
        ("Comments", ENTRIES[:1], False),
        ("Editions", ENTRIES, False),
    ],
)
def test_dated_entries_below_comments_heading_are_comments(
    heading: str, lines: list[str], are_comments: bool
) -> None:
    below = f"<h3>{heading}</h3>" + "".join(
        f"<p>{prose(line)}</p><p class=posted>{line}</p>" for line in lines
    )
    found = comments(page(below + "<h2>About</h2><p>Me"))
    assert found[3:-2] == [are_comments] * (1 + 2 * len(lines))
    assert not any(found[:3] + found[-2:])


def test_page_without_text_has_no_comments() -> None:
    assert comments(Page.from_html("")) == []
