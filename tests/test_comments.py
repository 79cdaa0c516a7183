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
def test_what_is_named_comments_below_a_text_is_comments(name: str) -> None:
    assert comments(page(listed(name))) == [False] * 3 + [True] * 3


@pytest.mark.parametrize("name", ["class=has-comments", "class=remarks"])
def test_what_is_not_named_comments_is_none(name: str) -> None:
    assert not any(comments(page(listed(name))))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no text"),
        pytest.param(f"<p>{'word ' * 12}</p>", id="a line"),
        pytest.param(TEXT.replace("story", "first-message"), id="a text that is named as a post"),
    ],
)
def test_below_no_text_they_are_the_posts_of_a_discussion(text: str) -> None:
    assert not any(comments(page(listed(), text)))


def test_below_what_is_no_content_they_are_the_posts_of_a_discussion() -> None:
    assert not any(comments(page(listed()), content=False))


@pytest.mark.parametrize("kind", ["DiscussionForumPosting", "QAPage", "Product"])
def test_what_is_discussed_on_a_page_that_says_so_is_its_content(kind: str) -> None:
    assert not any(comments(page(listed(), kind=kind)))
    assert any(comments(page(listed(), kind="BlogPosting")))


def test_posts_that_look_like_the_first_one_are_of_one_discussion() -> None:
    first = f"<div><div class=narrow>{prose('first')}</div></div>"
    replies = "".join(
        f"<div itemprop=comment><div class=narrow>{prose('reply', number)}</div></div>"
        for number in range(3)
    )
    assert not any(comments(page(replies, first)))
    assert sum(comments(page(replies, first.replace("narrow", "story")))) == 3


def test_a_section_that_more_text_follows_is_part_of_it() -> None:
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
def test_entries_with_days_below_a_heading_of_comments_are_comments(
    heading: str, lines: list[str], are_comments: bool
) -> None:
    below = f"<h3>{heading}</h3>" + "".join(
        f"<p>{prose(line)}</p><p class=posted>{line}</p>" for line in lines
    )
    found = comments(page(below + "<h2>About</h2><p>Me"))
    assert found[3:-2] == [are_comments] * (1 + 2 * len(lines))
    assert not any(found[:3] + found[-2:])


def test_a_page_without_text_has_no_comments() -> None:
    assert comments(Page.from_html("")) == []
