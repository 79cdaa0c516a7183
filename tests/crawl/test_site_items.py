"""One item for each site has what all of its pages share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.crawl.learning.site_items import MIN_PAGES, site_page
from contentspider.page.input.page import Page
from contentspider.site.models.identity import SITE_FRAGMENT, page_id
from contentspider.site.models.record import page_fields
from tests.conftest import Site, read_jsonl, run
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

FOOTER = (
    "<footer><p>Tea House</p><ul><li><a href=/map>Elm Street 3</a><li>Phone 12 34</ul></footer>"
)


def pages(count: int, footer: str = FOOTER) -> list[Page]:
    return [
        Page.from_html(
            article(number).replace("</body>", f"{footer}</body>"), f"https://e.org/{number}"
        )
        for number in range(count)
    ]


def test_site_page_has_shared_blocks_in_order_with_links() -> None:
    page = site_page("e.org", pages(MIN_PAGES))
    assert page is not None
    fields = page_fields(page, "e.org", None, "unfiltered")
    assert (fields["url"], fields["title"]) == ("https://e.org/" + SITE_FRAGMENT, "e.org")
    assert str(fields["content"]).endswith("Tea House\nElm Street 3\nPhone 12 34")
    assert "- [Elm Street 3](https://e.org/map)\n- Phone 12 34" in str(fields["content_markdown"])


def test_text_of_half_of_the_pages_is_not_shared() -> None:
    mixed = [*pages(5), *pages(5, "")]
    page = site_page("e.org", mixed)
    assert page is not None
    assert not any("Elm Street" in block.text for block in page.content.blocks)


@pytest.mark.parametrize("given", [pages(MIN_PAGES - 1), []])
def test_few_pages_share_nothing_for_sure(given: list[Page]) -> None:
    assert site_page("e.org", given) is None


def test_pages_without_common_text_share_nothing() -> None:
    given = [Page.from_html(f"<p>{number}", f"https://e.org/{number}") for number in range(9)]
    assert site_page("e.org", given) is None


def test_site_page_and_front_page_have_different_ids() -> None:
    assert page_id("https://e.org/" + SITE_FRAGMENT) != page_id("https://e.org/")
    assert page_id("https://e.org/#top") == page_id("https://e.org/")


def test_crawls_report_when_the_shared_text_changes(site: Site, tmp_path: Path) -> None:
    def crawl(footer: str, *options: str) -> dict[str, dict[str, Any]]:
        links = "".join(f"<a href=/{number}>{number}</a>" for number in range(1, 12))
        for number in range(12):
            html = article(number, links if not number else "")
            site.add(f"/{number or ''}", html.replace("</body>", f"{footer}</body>"))
        run("crawl", site.url, "--own-site", "--no-sitemaps", *options, cwd=tmp_path)
        items: list[dict[str, Any]] = read_jsonl(tmp_path / "pages.jsonl")
        assert len(items) == len({item["id"] for item in items})
        return {item["url"].removeprefix(site.url): item for item in items}

    asked = ("--site-item", "--index")
    assert len(crawl(FOOTER)) == 12, "only if it is wanted"
    first = crawl(FOOTER, *asked)
    assert len(first) == 13
    shared = first["/" + SITE_FRAGMENT]
    assert (shared["page_type"], shared["change"]) == ("site", "new")
    assert "Phone 12 34" in shared["content"]
    assert crawl(FOOTER, *asked)["/" + SITE_FRAGMENT]["change"] == "unchanged"
    moved = FOOTER.replace("Elm Street 3", "Oak Road 9")
    again = crawl(moved, *asked)
    assert again["/" + SITE_FRAGMENT]["change"] == "changed"
    assert {item["change"] for path, item in again.items() if SITE_FRAGMENT not in path} == {
        "unchanged"
    }
    found = run("search", "oak road", cwd=tmp_path).stdout
    assert SITE_FRAGMENT in found
    site.requests.clear()
    assert "/" + SITE_FRAGMENT not in crawl(moved, "--due", "--index")
    assert run("changes", site.url, cwd=tmp_path).stdout.count("gone") == 0
    crawl(moved, "--index")
    changes = map(json.loads, run("changes", site.url, cwd=tmp_path).stdout.splitlines())
    gone = [change["url"] for change in changes if change["change"] == "gone"]
    assert gone == [f"{site.url}/{SITE_FRAGMENT}"]
