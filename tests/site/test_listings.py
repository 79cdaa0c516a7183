"""Listings that show whole posts, as blogs do: what they repeat is not the template's."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from itertools import compress

import numpy as np
import pytest

from contentspider import SiteLearner
from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider.site.listing_entries import listing_records
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.votes import vote
from tests.sites import prose

POSTS, TAGS, TAGS_A_POST, CATEGORIES, POSTS_A_PAGE = 24, 40, 8, 3, 10

PAGE = (
    "<html><head><title>{title}</title></head><body class='{kind}'><div id=page>"
    "<header id=masthead><h1 class=site-title><a href=/>A blog of things</a></h1>"
    "<nav class=main-navigation><ul><li><a href=/>Home</a><li><a href=/about>About</a></ul></nav>"
    "</header><div id=content class=site-content>{main}</div>"
    "<aside class=widget-area><h3>Recent posts</h3><ul>{recent}</ul></aside>"
    "<footer id=colophon><a href=https://wordpress.org/>Powered by WordPress</a></footer></div>"
)
POST = (
    "<article id='post-{number}' class='post-{number} post type-post status-publish"
    " format-standard hentry {terms}'><h{level} class=entry-title>{title}</h{level}>"
    "<div class=entry-content>{text}</div>"
    "<footer class=entry-footer>Posted in <a href=/category>{category}</a></footer></article>"
)
REPLY = (
    "<div class=comments-area><h3>Leave a reply</h3>"
    "<p>Your email address will not be published.</p></div>"
)


@dataclass(frozen=True)
class Post:
    number: int
    title: str
    paragraphs: list[str]
    tags: list[int]

    @property
    def category(self) -> str:
        return f"category {'abc'[self.number % CATEGORIES]}"

    def html(self, level: int) -> str:
        letters = [f"tag-{chr(97 + tag % 26)}{chr(97 + tag // 26)}" for tag in self.tags]
        return POST.format(
            number=100 + self.number,
            terms=" ".join([self.category.replace(" ", "-"), *letters]),
            level=level,
            title=self.title,
            text="".join(f"<p>{each}</p>" for each in self.paragraphs),
            category=self.category,
        )


@cache
def blog(named_titles: bool = True) -> tuple[list[Post], list[Page]]:
    """Return the posts of a blog, and its pages: each post's own, then the front page and those of
    categories, tags and months, which show whole posts. Of some themes no page's title names it.
    """
    draw = random.Random(5)
    posts = [
        Post(
            number,
            f"On {prose('title', number, words=5)[:-1]}",
            [prose(number, part) for part in range(3)],
            draw.sample(range(TAGS), TAGS_A_POST),
        )
        for number in range(POSTS)
    ]
    recent = "".join(f"<li><a href=/{post.number}>{post.title}</a>" for post in posts[:5])

    def page(url: str, title: str, kind: str, main: str) -> Page:
        title = f"{title} | A blog of things" if named_titles else "A blog of things"
        return Page.from_html(
            PAGE.format(title=title, kind=kind, main=main, recent=recent), f"https://b.test/{url}"
        )

    def listing(url: str, title: str, shown: list[Post]) -> Page:
        main = "".join(post.html(2) for post in shown[:POSTS_A_PAGE])
        return page(url, title, "archive", f"<h1 class=archive-title>{title}</h1>{main}")

    pages = [
        page(str(post.number), post.title, f"single postid-{post.number}", post.html(1) + REPLY)
        for post in posts
    ]
    pages += [
        listing(f"page/{start}", "Posts", posts[start:]) for start in range(0, POSTS, POSTS_A_PAGE)
    ]
    pages += [
        listing(f"month/{start}", f"Month {start}", posts[start : start + 3])
        for start in range(0, POSTS, 3)
    ]
    for category in sorted({post.category for post in posts}):
        chosen = [post for post in posts if post.category == category]
        pages.append(listing(category.replace(" ", "/"), category, chosen))
    for tag in range(TAGS):
        pages.append(listing(f"tag/{tag}", f"Tag {tag}", [p for p in posts if tag in p.tags]))
    return posts, pages


@pytest.mark.parametrize("named_titles", [True, False])
def test_posts_repeated_in_listings_are_kept_by_vote(named_titles) -> None:
    posts, pages = blog(named_titles)
    site = gather(pages)
    found = vote(site, *Prior.shipped().judge(pages)) > 0.5
    for number, post in enumerate(posts):
        here = site.pages == number
        blocks = pages[number].content.blocks
        kept = [block.text for block in compress(blocks, found[here].tolist())]
        assert kept == [post.title, *post.paragraphs]


@pytest.mark.parametrize("objection", OBJECTIONS[:3], ids=lambda each: each.name)
def test_objections_do_not_reject_posts_repeated_in_listings(objection) -> None:
    posts, pages = blog()
    site = gather(pages)
    prior, _ = Prior.shipped().judge(pages)
    against = np.asarray(objection.evidence(site, prior)) > 0
    own = {text for post in posts for text in post.paragraphs}
    texts = [block.text for page in pages for block in page.content.blocks]
    assert not any(text in own for text in compress(texts, against.tolist()))


def test_model_keeps_posts_it_was_not_trained_on() -> None:
    posts, pages = blog()
    model = SiteLearner("b.test").fit(pages[: POSTS // 2] + pages[POSTS:])
    for number in range(POSTS // 2, POSTS):
        post = posts[number]
        assert model.extract(pages[number]).text.split("\n") == [post.title, *post.paragraphs]


ENTRY = (
    "<div class=entry><h2><a href=/posts/{0}?from=list>Post {0}</a></h2>"
    "<time>{0} March 2024</time><img src=/pictures/{0}.jpg width=300 height=200>"
    "<p>A few words about the post of number {0}.</p><a href=/posts/{0}>Read on</a></div>"
)
MENU = "<title>Archive | Harbour</title><nav><a href=/>Home</a> <a href=/a>Archive</a></nav>"


def test_entries_of_listing_are_records() -> None:
    listing = MENU + "<h1>Archive</h1>" + "".join(map(ENTRY.format, range(3, 9)))
    article = f"{MENU}<h1>The ferry</h1>{ENTRY.format(3)}" + "".join(
        f"<p>{prose(random.Random(number), 60)}</p>" for number in range(5)
    )
    pages = [Page.from_html(listing, "https://e.org/archive/"), Page.from_html(article, "/ferry")]
    archive, ferry = (SiteLearner().fit(pages).extract(page) for page in pages)
    assert archive.page_type == "listing"
    assert [record["title"] for record in archive.records] == [f"Post {n}" for n in range(3, 9)]
    assert archive.records[1] == {
        "title": "Post 4",
        "url": "https://e.org/posts/4?from=list",
        "published_at": "2024-03-04",
        "image": "https://e.org/pictures/4.jpg",
        "text": "Post 4\n4 March 2024\nA few words about the post of number 4.\nRead on",
    }
    assert ferry.records == []


def test_records_of_saved_page_have_its_links_as_they_are() -> None:
    page = Page.from_html(MENU + "".join(map(ENTRY.format, range(3, 9))), "archive/index.html")
    record = listing_records(page)[1]
    assert (record["url"], record["image"]) == ("/posts/4?from=list", "/pictures/4.jpg")


def test_records_of_entries_without_link_or_day_have_empty_values() -> None:
    entries = [ENTRY.format(number) for number in range(3, 9)]
    entries += ["<div class=entry><h2>Soon</h2><p>No page yet, come back tomorrow.</p></div>"]
    page = Page.from_html(MENU + "".join(entries), "https://e.org/archive/")
    assert listing_records(page)[-1] == {
        "title": "Soon",
        "url": "",
        "published_at": "",
        "image": "",
        "text": "Soon\nNo page yet, come back tomorrow.",
    }
