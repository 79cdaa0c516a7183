"""Comments below an article, told from the posts of a discussion."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.vote.posts import comment, comment_like, split_comments
from tests.sites import prose, site_of, where


def commented(pages: int, article: int, comments: int = 3, name: str = "comments") -> list[str]:
    """Return pages with *article* paragraphs of 270 characters and as many comments."""
    return [
        f"<h1>{number}</h1><div class=text>"
        + "".join(f"<p>{prose('a', number, part)}</p>" for part in range(article))
        + f"</div><ul class={name}>"
        + "".join(f"<li><p>{prose('c', number, part)}</p></li>" for part in range(comments))
        + "</ul>"
        for number in range(pages)
    ]


def judged(site, name: str = "comments") -> np.ndarray:
    return np.where(where(site, lambda slot: name in slot), 0.2, 0.9).astype(np.float32)


@pytest.mark.parametrize(
    ("paragraphs", "is_comment"), [(4, True), (2, True), (1, False), (0, False)]
)
def test_comments_need_500_characters_of_text_above(paragraphs, is_comment) -> None:
    site = site_of(commented(6, paragraphs))
    comments, discussion = split_comments(site, judged(site))
    below = where(site, lambda slot: "comments" in slot)
    assert comments.tolist() == (below & is_comment).tolist()
    assert discussion.tolist() == (below & (not is_comment)).tolist()
    np.testing.assert_array_equal(comment(site, judged(site)), comments)


@pytest.mark.parametrize(("after", "is_comment"), [(0, True), (1, False)])
def test_comments_followed_by_more_text_are_content(after, is_comment) -> None:
    # a manual's section "Requests and responses"
    site = site_of(
        [
            page
            + "<div class=more>"
            + "".join(f"<p>{prose('m', number, part)}</p>" for part in range(after))
            for number, page in enumerate(commented(6, 4))
        ]
    )
    comments, _ = split_comments(site, judged(site, ".comments"))
    below = where(site, lambda slot: ".comments" in slot)
    assert comments.tolist() == (below & is_comment).tolist()


@pytest.mark.parametrize("name", ["has-comments", "has-post-comment", "no-comments"])
def test_post_with_has_comments_class_is_not_comment(name) -> None:
    site = site_of([page.replace("class=text", f"class={name}") for page in commented(6, 4)])
    comments, discussion = split_comments(site, judged(site, ".comments"))
    np.testing.assert_array_equal(comments, where(site, lambda slot: ".comments" in slot))
    assert not discussion.any()


def page_with_comments(text: list[int], comments: list[int], number: int = 0) -> str:
    """Return a page with paragraphs and comments of these lengths, told apart by their *number*."""

    def paragraphs(lengths: list[int], letter: str) -> str:
        return "".join(
            f"<p>{f'{letter} {number} {place} '.ljust(length, 'x')}</p>"
            for place, length in enumerate(lengths)
        )

    return (
        f"<h1>{number}</h1>{paragraphs(text, 'a')}<div class=comments>{paragraphs(comments, 'c')}"
    )


@pytest.mark.parametrize(
    ("text", "comments", "is_comment"),
    [
        pytest.param([250, 250], [125], True, id="a text of 500 characters"),
        pytest.param([250, 249], [125], False, id="a text of less"),
        pytest.param([60] * 9, [125], True, id="sentences of 60 characters"),
        pytest.param([59] * 9, [125], False, id="no sentences"),
        pytest.param([], [60], False, id="a comment of 60 characters"),
        pytest.param([], [59], True, id="too little to discuss"),
    ],
)
def test_amount_of_text_above_decides_between_comments_and_discussion(
    text, comments, is_comment
) -> None:
    site = site_of([page_with_comments(text, comments, number) for number in range(4)])
    below = where(site, lambda slot: "comments" in slot)
    found = comment(site, np.full(len(site.chars), 0.5, dtype=np.float32))
    assert found.tolist() == (below & is_comment).tolist()


@pytest.mark.parametrize(("paragraphs", "is_comment"), [(4, True), (3, False)])
def test_only_unlinked_text_above_comments_counts(paragraphs, is_comment) -> None:
    # half of 1080 characters, and of 810
    site = site_of(commented(6, paragraphs))
    site.link_share[:] = 0.5
    below = where(site, lambda slot: "comments" in slot)
    site.link_share[below] = 0
    assert comment(site, judged(site)).any() == is_comment


def test_forum_replies_are_posts_even_below_long_text() -> None:
    texts = [[], [], [], [250, 250], [250, 249]]
    site = site_of([page_with_comments(text, [125], page) for page, text in enumerate(texts)])
    comments, discussion = split_comments(site, judged(site))
    assert not comments.any()
    assert set(site.pages[discussion].tolist()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("chars", "commented", "is_comment"),
    [
        pytest.param(60, 3, True, id="half of the texts have comments"),
        pytest.param(59, 3, False, id="next to no text above them"),
        pytest.param(60, 4, False, id="most texts have them"),
    ],
)
def test_comments_on_few_pages_count_below_short_text(chars, commented, is_comment) -> None:
    with_comments = [page_with_comments([chars], [125], number) for number in range(commented)]
    without = [page_with_comments([100], [], number) for number in range(commented, 6)]
    site = site_of(with_comments + without)
    comments, discussion = split_comments(site, np.full(len(site.chars), 0.5, dtype=np.float32))
    below = where(site, lambda slot: "comments" in slot)
    assert comments.tolist() == (below & is_comment).tolist()
    assert discussion.tolist() == (below & (not is_comment)).tolist()


def test_text_rejected_by_prior_is_not_article_above_comments() -> None:
    site = site_of(commented(6, 4))
    comments, discussion = split_comments(site, np.full(len(site.chars), 0.2, dtype=np.float32))
    assert discussion.any()
    assert not comments.any()


def test_repeated_notice_is_not_article_above_comments() -> None:
    notice = "".join(f"<p>{prose('notice', part)}</p>" for part in range(3))
    site = site_of([f"<div>{notice}</div>{body}" for body in commented(6, 0)])
    assert split_comments(site, judged(site))[1].any()


def test_short_comments_are_comments_even_without_text_above() -> None:
    bodies = [f"<h1>{n}</h1><ul class=comments><li>Nice, {n}</ul>" for n in range(6)]
    site = site_of(bodies)
    comments, discussion = split_comments(site, judged(site))
    assert comments.tolist() == where(site, lambda slot: "comments" in slot).tolist()
    assert not discussion.any()


def test_unnamed_sections_are_not_comments() -> None:
    site = site_of(commented(6, 4, name="remarks"))
    assert not np.any(split_comments(site, judged(site, "remarks")))
    # body is called after the page, not after its parts
    site = site_of([f"<body class=comments>{body}" for body in commented(6, 4, name="remarks")])
    assert not comment_like(site).any()


@pytest.mark.parametrize(
    ("name", "is_discussion"),
    [("question", True), ("thread", True), ("Message", True), ("text", False), ("article", False)],
)
def test_long_first_post_named_as_thread_starts_discussion(name, is_discussion) -> None:
    pages = [*commented(6, 4), f"<p>{prose('news')}</p>"]
    site = site_of([page.replace("class=text", f"class={name}") for page in pages])
    comments, discussion = split_comments(site, judged(site))
    below = where(site, lambda slot: "comments" in slot)
    assert (comments.tolist(), discussion.tolist()) == (
        (below & (not is_discussion)).tolist(),
        (below & is_discussion).tolist(),
    )


def test_article_beside_few_threads_has_comments() -> None:
    threads = [page.replace("class=text", "class=thread") for page in commented(2, 4)]
    site = site_of(threads + commented(6, 5))
    assert not split_comments(site, judged(site))[1].any()


@pytest.mark.parametrize(
    ("name", "is_comment"), [("ticket", False), ("bug", False), ("text", True)]
)
def test_comments_of_tickets_are_posts_whatever_else_the_site_has(name, is_comment) -> None:
    # A wiki beside them has most of the site's prose.
    tickets = [page.replace("class=text", f"class={name}") for page in commented(6, 2)]
    wiki = [f"<div class=wiki><p>{prose(n, 'w', words=300)}</p></div>" for n in range(12)]
    site = site_of([*tickets, *wiki])
    comments, discussion = split_comments(site, judged(site))
    below = where(site, lambda slot: "comments" in slot)
    assert comments.tolist() == (below & is_comment).tolist()
    assert discussion.tolist() == (below & (not is_comment)).tolist()


@pytest.mark.parametrize(("heading", "is_comment"), [("3 comments", True), ("3 places", False)])
def test_comments_without_names_are_told_by_their_heading_and_days(heading, is_comment) -> None:
    pages = [
        f"<h1>{page}</h1><div class=b1><p>{prose(page)}</p><p>{prose(page, 2)}</p></div>"
        f"<div class=b2><h2>{heading}</h2>"
        + "".join(
            f"<div><p>{prose(page, 'c', part)}</p><p>Ada, {part} May 2019</p></div>"
            for part in (1, 2, 3)
        )
        + "</div>"
        for page in range(6)
    ]
    site = site_of(pages)
    comments, _ = split_comments(site, judged(site, ".b2"))
    assert comments.tolist() == (where(site, lambda slot: ".b2" in slot) & is_comment).tolist()
