"""The pages that a ledger keeps of each site, to learn from."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.site.sample import sample_order
from contentspider.state.ledger.database import Database
from contentspider.state.ledger.pages import PageSample
from tests.state.test_storage import HTML

if TYPE_CHECKING:
    from pathlib import Path


def test_page_sample_is_independent_of_arrival_order(path: Path) -> None:
    addresses = {site: [f"http://{site}/{number}" for number in range(30)] for site in "abc"}
    wanted = {
        site: sorted(sorted(every, key=sample_order)[:5]) for site, every in addresses.items()
    }
    for seed in range(3):
        database = Database(None)
        pages = PageSample(database, site_pages=5, all_pages=100)
        everything = [(site, address) for site in addresses for address in addresses[site]]
        random.Random(seed).shuffle(everything)
        for site, address in everything:
            pages.offer(site, Page.from_html(HTML, address))
            pages = pages if seed else PageSample(database, site_pages=5, all_pages=100)
        assert {site: [page.url for page in pages.sample(site)] for site in pages.sites()} == wanted


@pytest.mark.parametrize("seed", range(4))
def test_full_sample_drops_last_page_of_largest_site(seed: int) -> None:
    draw = random.Random(seed)
    database = Database(None)
    pages = PageSample(database, site_pages=4, all_pages=9)
    for _ in range(100):
        site = draw.choice("aaabbcd")
        pages.offer(site, Page.from_html(HTML, f"{site}{draw.randint(0, 40)}"))
        if draw.random() < 0.1:  # a resumed crawl
            pages = PageSample(database, site_pages=4, all_pages=9)
        kept = {site: [page.url for page in pages.sample(site)] for site in "abcd"}
        sizes = [len(found) for found in kept.values()]
        assert sum(sizes) <= 9 and max(sizes) <= 4
        assert pages.sites() == [site for site, found in kept.items() if found]
    assert sum(sizes) == 9
    assert max(sizes) - min(size for size in sizes) <= 1


def test_sites_share_page_sample_limit(path: Path) -> None:
    database = Database(None)
    pages = PageSample(database, site_pages=8, all_pages=12)
    large = [f"http://large/{number}" for number in range(40)]
    for address in large:
        pages.offer("large", Page.from_html(HTML, address))
    for site in "abcd":
        for number in range(2):
            pages.offer(site, Page.from_html(HTML, f"http://{site}/{number}"))
    for address in large:
        pages.offer("large", Page.from_html(HTML, address))
    kept = {site: [page.url for page in pages.sample(site)] for site in pages.sites()}
    assert kept["large"] == sorted(sorted(large, key=sample_order)[:4])
    assert [len(kept[site]) for site in "abcd"] == [2, 2, 2, 2]
