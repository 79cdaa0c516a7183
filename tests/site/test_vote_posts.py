"""What stands with a post beside its text: who wrote it, and when, its title once more."""

from __future__ import annotations

import pytest

from contentspider.site.vote.posts import dated, post_lines
from tests.sites import marked, prose, site_of


def replies(line: str, pages: int = 6, having: int = 2) -> list[str]:
    """A forum: of three posts of each thread so many have the line above."""
    return [
        "".join(
            f"<div class=head>{line.format(post) if post < having else 'Ada'}</div>"
            f"<p>{prose(3 * number + post)}</p>"
            for post in range(3)
        )
        for number in range(pages)
    ]


@pytest.mark.parametrize(
    ("line", "pages", "is_found"),
    [
        ("ada 2019-04-1{} 17:09 UTC", 6, True),
        ("Re: Green. Submitted by Ada on Fri, 05/1{}/2013 - 14:22", 6, True),
        ("2{}-03-2014, 14h30 (last edit: 19-09-2015, 22h45 by Ada)", 6, True),
        ("Versions 2.0-3{} and 3-2014", 6, False),
        ("Posted by Ada, 1{} May 2019", 5, True),
        ("Posted by Ada, 1{} May 2019", 4, False),  # too few pages
        ("Version 1.{}", 6, False),  # no day
        ("Posted by Ada, 1{} May 2019" + 174 * "x", 6, False),  # a text
        ("FILE: May 1{}, 2019: Ada pours the tea, as she does each day" + 139 * "x", 6, True),
    ],
)
def test_dated_byline_of_post_is_not_text(line: str, pages: int, is_found: bool) -> None:
    site = site_of(replies(line, pages))
    found = marked(site, dated(site))
    assert found == ([line.format(0), line.format(1)] if is_found else [])


@pytest.mark.parametrize(
    "pages",
    [
        replies("Posted by Ada, 1{} May 2019", having=1),  # most such texts have none
        [f"<h2>{number + 1} May 2019</h2><p>{prose(number)}</p>" for number in range(6)],
        [f"<table><tr><td>{number + 1} May 2019</table>" for number in range(6)],
        [f"<ul><li>{n + 1} May 2019: Tea<li>{n + 2} May 2019: Milk</ul>" for n in range(6)],
    ],
    ids=["few", "headings", "tables", "a chronicle"],
)
def test_days_within_text_are_text(pages: list[str]) -> None:
    site = site_of(pages)
    assert marked(site, dated(site)) == []


def threads(post: str, pages: int = 6, posts: int = 3) -> list[str]:
    """A forum, of whose threads each has so many posts of these authors."""
    return [
        f"<title>Tea {number} of the day</title><h1>Tea {number} of the day</h1><ul><li>Forum</ul>"
        + "".join(
            post.format(
                author=f"Ada {(number + turn) % 4}",
                title=f"Tea {number} of the day",
                day=f"{turn + 1}{number} May 2019",
                text=prose(number, turn),
                rare=prose(number, turn, words=3),
            )
            for turn in range(posts)
        )
        for number in range(pages)
    ]


TABLE = (
    "<table><tr><td class=who>{author}<td class=when>Posted: {day} 10:15 pm"
    "<tr><td class=rank>Rank<td class=text>{text}</table>"
)


@pytest.mark.parametrize(
    ("post", "line"),
    [
        (TABLE, "Posted: 10 May 2019 10:15 pm"),
        (TABLE, "Ada 0"),
        (TABLE, "Rank"),
        (
            "<h4>#12 - {author} - {day} 7:05 am</h4><p>{text}</p>",
            "#12 - Ada 0 - 10 May 2019 7:05 am",
        ),
        ("<h3>Re: {title}</h3><address>{day}</address><p>{text}</p>", "Re: Tea 0 of the day"),
        ("<div>{title}</div><address>{day}</address><p>{text}</p>", "Tea 0 of the day"),
        ("<div>{rare}</div><address>{day}</address><p>{text}</p>", "10 May 2019"),
    ],
)
def test_post_lines_rejects_lines_repeated_with_each_post(post: str, line: str) -> None:
    site = site_of(threads(post))
    found = marked(site, post_lines(site))
    assert line in found
    own = {line for line in found if line.startswith(("River", "Forum"))}
    assert not own
    assert not any(len(line) >= 60 for line in found)


@pytest.mark.parametrize(
    "pages",
    [
        threads(TABLE, pages=4),
        threads(TABLE, posts=1),
        threads("<table><tr><td>{author}<td class=when>{day}<tr><td>{text}</table>"),  # no time
        threads("<h4>{day}</h4><p>{text}</p>"),  # a diary
        threads("<p>{author}</p><p>{text}</p>"),  # no day
        threads("<address>{day}</address>"),  # no text
    ],
    ids=["four pages", "one post", "a table", "a diary", "no day", "no text"],
)
def test_post_lines_rejects_no_lines_without_posts(pages: list[str]) -> None:
    site = site_of(pages)
    assert marked(site, post_lines(site)) == []


def test_post_lines_keeps_varying_and_rare_lines() -> None:
    site = site_of(threads("<div>{rare}</div><address>{day}</address><p>{text}</p>"))
    days = [f"{turn}{number} May 2019" for number in range(6) for turn in (1, 2, 3)]
    assert marked(site, post_lines(site)) == days


def test_post_lines_keeps_headlines_shared_by_listings() -> None:
    entry = "<h3>{title}</h3><address>{day}</address><p>{text}</p>"
    listings = [
        f"<title>List {number}</title>"
        + "".join(
            entry.format(title=prose(n, words=4), day=f"1{n} May 2019", text=prose(number, n))
            for n in range(3)
        )
        for number in range(6)
    ]
    found = marked(site_of(listings), post_lines(site_of(listings)))
    assert found == ["10 May 2019", "11 May 2019", "12 May 2019"]


def test_post_lines_rejects_titles_with_reply_prefix() -> None:
    site = site_of(threads("<h3>Re: {rare}</h3><address>{day}</address><p>{text}</p>"))
    found = marked(site, post_lines(site))
    assert sum(line.startswith("Re: ") for line in found) == 18


def test_post_lines_rejects_labelled_lines_but_keeps_title_of_single_post() -> None:
    def post(number: int) -> str:
        names = [prose(number, turn, words=3) for turn in range(2)]
        return (
            f"<h2>Tea {number} of the day</h2><address>1{number} May 2019</address>"
            f"<p>{prose(number)}</p><ul><li>ar: {names[0]}<li>en: {names[1]}</ul>"
        )

    front = [f"<title>Tea</title>{post(n)}{post(n + 1)}{post(n + 2)}" for n in range(6)]
    alone = [f"<title>Tea {n} of the day</title>{post(n)}" for n in range(8)]
    found = marked(site_of(front + alone), post_lines(site_of(front + alone)))
    assert {line[:3] for line in found if line[0] not in "01"} == {"ar:", "en:"}
