"""Objections to lines beside a text: who wrote it and when, and what leads to other pages."""

from __future__ import annotations

import pytest

from contentspider.site.vote import objections
from tests.sites import marked, prose, site_of
from tests.test_objections import even


def replies(line: str, pages: int = 6, dated: int = 2) -> list[str]:
    """A forum: of three posts of each thread so many have the line above."""
    return [
        "".join(
            f"<div class=head>{line.format(post) if post < dated else 'Ada'}</div>"
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
        ("Posted by Ada, 1{} May 2019", 5, True),
        ("Posted by Ada, 1{} May 2019", 4, False),  # too few pages
        ("Version 1.{}", 6, False),  # no day
        ("Posted by Ada, 1{} May 2019" + 174 * "x", 6, False),  # a text
        ("FILE: May 1{}, 2019: Ada pours the tea, as she does each day" + 139 * "x", 6, True),
    ],
)
def test_lines_with_a_day_are_no_text(line: str, pages: int, is_found: bool) -> None:
    site = site_of(replies(line, pages))
    found = marked(site, objections.dated(site, even(site)))
    assert found == ([line.format(0), line.format(1)] if is_found else [])


@pytest.mark.parametrize(
    "pages",
    [
        replies("Posted by Ada, 1{} May 2019", dated=1),  # most such texts have none
        [f"<h2>{number + 1} May 2019</h2><p>{prose(number)}</p>" for number in range(6)],
        [f"<table><tr><td>{number + 1} May 2019</table>" for number in range(6)],
        [f"<ul><li>{n + 1} May 2019: Tea<li>{n + 2} May 2019: Milk</ul>" for n in range(6)],
    ],
    ids=["few", "headings", "tables", "a chronicle"],
)
def test_days_within_a_text_are_text(pages: list[str]) -> None:
    site = site_of(pages)
    assert marked(site, objections.dated(site, even(site))) == []


@pytest.mark.parametrize(
    ("item", "pages", "is_pointer"),
    [
        pytest.param("Next message: <a href=/>Re: {title}</a>", 5, True, id="a label and a link"),
        pytest.param("Siguiente: <a href=/>{title}</a>", 5, True, id="Spanish"),
        pytest.param("Next message: <a href=/>Re: {title}</a>", 4, False, id="four pages"),
        pytest.param("Next message: Re: {title}", 5, False, id="no link"),
        pytest.param("Next {title}: <a href=/>Tea</a>", 5, False, id="a label that differs"),
        pytest.param("Composer: <a href=/>{title}</a>", 5, False, id="a fact"),
    ],
)
def test_a_label_before_another_pages_title_leads_there(item, pages, is_pointer) -> None:
    items = [item.format(title=prose(n, words=4)) for n in range(pages)]
    site = site_of([f"<ul><li>{line}</ul><pre>{prose(n)}</pre>" for n, line in enumerate(items)])
    assert len(marked(site, objections.pointer(site, even(site)))) == pages * is_pointer
