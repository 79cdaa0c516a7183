"""Which page of a site a text comes from."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.vote.copies import SHOWN_CHARS, find_sources
from tests.sites import prose, site_of

NONE = np.zeros(0, dtype=np.int64)
MENU = "<ul>" + "".join(f"<li><a href=/{n}>Part {n} of the menu</a>" for n in range(20)) + "</ul>"


def groups(bodies: list[str]) -> list[int]:
    site = site_of(bodies)
    return [int(site.originals[site.pages == page][0]) for page in range(len(bodies))]


def originals(pages, texts, chars, count: int) -> list[int]:
    return find_sources(pages, texts, chars, count)[0].tolist()


def page(number: int, crumb: str = "") -> str:
    text = "".join(f"<p>{prose(number, part)}</p>" for part in range(3))
    return f"{MENU}<p>{crumb}</p><h1>Page {number}</h1>{text}"


def test_identical_pages_under_two_urls_form_one_group() -> None:
    assert groups([page(0), page(1), page(0), page(2), page(1)]) == [0, 1, 0, 3, 1]


def test_pages_differing_in_one_line_are_copies() -> None:
    assert groups([page(0, "Home"), page(0, "Shop, by price"), page(1)]) == [0, 0, 2]


def test_print_version_without_menu_is_copy() -> None:
    printed = [page(number).removeprefix(MENU) for number in range(4)]
    assert groups([page(number) for number in range(4)] + printed) == [0, 1, 2, 3] * 2


@pytest.mark.parametrize("pages", [2, 20])
def test_short_pages_of_one_template_are_not_copies(pages) -> None:
    bodies = [f"{MENU}<p>{prose(number, words=8)}</p>" for number in range(pages)]
    assert groups(bodies) == list(range(pages))


def test_infinite_scroll_pages_are_not_copies() -> None:
    assert groups(["".join(page(n + step) for step in range(4)) for n in range(12)]) == [*range(12)]


def test_pages_without_text_are_never_copies() -> None:
    assert originals(NONE, NONE, NONE.astype(np.float32), 3) == [0, 1, 2]
    # the second of three pages has no block
    pages, texts = np.array([0, 2]), np.array([0, 1])
    assert originals(pages, texts, np.array([9.0, 9.0]), 3) == [0, 1, 2]
    # or the last
    pages, texts = np.array([0, 1]), np.array([0, 0])
    assert originals(pages, texts, np.array([9.0, 9.0]), 3) == [0, 0, 2]


@pytest.mark.parametrize(("own", "is_copy"), [(1, True), (5, False)])
def test_text_on_many_pages_weighs_less_in_copy_detection(own, is_copy) -> None:
    # 100 characters in common count by log(3/2) squared, the own ones by log(3) squared
    pages, texts = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2])
    found = originals(pages, texts, np.array([100.0, own, 100.0, own]), 2)
    assert found == ([0, 0] if is_copy else [0, 1])


def shown(bodies: list[str]) -> list[list[int]]:
    """Return for each page the pages that its texts come from, in their order."""
    site = site_of(bodies)
    return [
        list(dict.fromkeys(site.sources[site.pages == page].tolist()))
        for page in range(len(bodies))
    ]


def test_listing_posts_are_attributed_to_their_own_pages() -> None:
    posts = [page(number) for number in range(4)]
    listing = MENU + "".join(post.removeprefix(MENU) for post in posts)
    assert shown([*posts, page(9), listing]) == [[0], [1], [2], [3], [4], [0, 1, 2, 3]]


def test_shorter_listing_is_not_source_of_shared_post() -> None:
    posts = [page(number).removeprefix(MENU) for number in range(4)]
    listings = [MENU + "".join(posts), MENU + "".join(posts[:2])]
    others = [page(number) for number in range(4, 9)]
    assert shown([*listings, MENU + posts[0], *others])[:3] == [[2, 1, 0], [2, 1], [2]]


def test_infinite_scroll_pages_have_no_source_pages() -> None:
    bodies = ["".join(page(n + step) for step in range(4)) for n in range(12)]
    assert shown(bodies) == [[number] for number in range(12)]


@pytest.mark.parametrize(("less", "is_shown"), [(0, True), (1, False)])
def test_page_with_hardly_any_own_text_has_no_source(less, is_shown) -> None:
    pages, texts = np.array([0, 1, 1, 2, 3]), np.array([0, 0, 1, 2, 3])
    chars = np.where(texts == 0, SHOWN_CHARS - less, 900.0)
    assert find_sources(pages, texts, chars, 5)[1].tolist() == [0, 0 if is_shown else 1, 1, 2, 3]
