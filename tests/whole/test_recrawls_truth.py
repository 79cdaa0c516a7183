"""What change records say of pages that only seem to have changed."""

from __future__ import annotations

from contentspider.page.input.page import Page
from contentspider.recrawl.difference import is_recut, without_recut
from tests.sites import prose

FIRST, SECOND, OTHER = prose(1), prose(2), prose(3)


def test_page_counts_as_refiltered_if_both_versions_contain_all_differing_text() -> None:
    def page(*texts: str) -> Page:
        cells = "<table><tr><td>One</td><td>Two</td></tr></table>"
        return Page.from_html("".join(f"<p>{text}</p>" for text in texts) + cells)

    old, new = page("Home", FIRST, SECOND), page(FIRST, "An advertisement", SECOND, "Home")
    whole = f"{FIRST}\n{SECOND}"
    assert is_recut(old, whole, new, f"Home\n{FIRST}\n{SECOND}")
    assert is_recut(old, whole, new, f"{whole}\nOne\tTwo")
    assert is_recut(old, whole, new, FIRST)
    assert not is_recut(old, whole, new, f"{whole}\nAn advertisement"), "that is new"
    assert not is_recut(old, whole, page(FIRST), FIRST), "that is no more"
    assert not is_recut(old, whole, page(FIRST, OTHER), f"{FIRST}\n{OTHER}")
    assert not is_recut(old, whole, new, f"{SECOND}\n{FIRST}"), "another order is a change"


def test_lines_changed_only_by_filtering_are_removed_before_comparison() -> None:
    old = Page.from_html("<p>Home</p><p>Posts: 1</p><table><tr><td>One<td>Two</table>")
    new = Page.from_html("<p>Home</p><p>Posts: 2</p><table><tr><td>One<td>Two</table>")
    assert without_recut(old, "Posts: 1\nOne\tTwo", new, "Home\nPosts: 2") == (
        "Posts: 1",
        "Posts: 2",
    )
