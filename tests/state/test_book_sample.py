"""The pages that a book keeps of each site, to learn from."""

from __future__ import annotations

import random
import time
from functools import cache
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.site.learn.sampling import PAGES_PER_TEMPLATE, page_template
from contentspider.site.sample import sample_order
from contentspider.state.book.contents import PAGE, Contents
from contentspider.state.book.database import Database
from contentspider.state.book.sample import PageSample
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
        pages = PageSample(*stored(database), site_pages=5, all_pages=100)
        everything = [(site, address) for site in addresses for address in addresses[site]]
        random.Random(seed).shuffle(everything)
        for site, address in everything:
            pages.offer(site, Page.from_html(HTML, address))
            pages = pages if seed else PageSample(*stored(database), site_pages=5, all_pages=100)
        assert {site: [page.url for page in pages.sample(site)] for site in pages.sites()} == wanted


def stored(database: Database) -> tuple[Database, Contents]:
    return database, Contents(database)


@pytest.mark.parametrize("seed", range(4))
def test_full_sample_drops_last_page_of_largest_site(seed: int) -> None:
    draw = random.Random(seed)
    database = Database(None)
    pages = PageSample(*stored(database), site_pages=4, all_pages=9)
    for _ in range(100):
        site = draw.choice("aaabbcd")
        pages.offer(site, Page.from_html(HTML, f"{site}{draw.randint(0, 40)}"))
        if draw.random() < 0.1:  # a resumed crawl
            pages = PageSample(*stored(database), site_pages=4, all_pages=9)
        kept = {site: [page.url for page in pages.sample(site)] for site in "abcd"}
        sizes = [len(found) for found in kept.values()]
        assert sum(sizes) <= 9 and max(sizes) <= 4
        assert pages.sites() == [site for site, found in kept.items() if found]
    assert sum(sizes) == 9
    assert max(sizes) - min(size for size in sizes) <= 1


def test_sites_share_page_sample_limit(path: Path) -> None:
    database = Database(None)
    pages = PageSample(*stored(database), site_pages=8, all_pages=12)
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


def test_full_sample_accepts_pages_of_many_sites_quickly() -> None:
    pages = PageSample(*stored(Database(None)), all_pages=50)
    start = time.process_time()
    for number in range(600):
        pages.offer(f"{number}.org", Page.from_html(HTML, f"http://{number}.org/"))
    assert time.process_time() - start < 1
    assert len(pages.sites()) == 50


@cache
def of_template(address: str) -> Page:
    """Return a page of one of eight templates, four of which have few pages."""
    number = int(address.rpartition("/")[2])
    depth = number % 4 if number % 10 else 4 + number % 40 // 10
    return Page.from_html("<div>" * (depth + 1) + "Tea is made of leaves", address)


def chosen_by_sorting(addresses: list[str], size: int, preferred: list[str]) -> set[str]:
    """Return the addresses of the pages that stay, by sorting all of them at once."""
    first = sorted(set(addresses) - set(preferred), key=sample_order)[: size - len(preferred)]
    ranked = []
    for template in {page_template(of_template(address)) for address in addresses}:
        of_it = [url for url in addresses if page_template(of_template(url)) == template]
        ordered = sorted(of_it, key=sample_order)[:PAGES_PER_TEMPLATE]
        ranked += [(rank, sample_order(url), url) for rank, url in enumerate(ordered)]
    return {*preferred, *first, *(url for _, _, url in sorted(ranked)[:size])}


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_page_sample_has_first_pages_of_each_template(seed: int, path: Path) -> None:
    draw = random.Random(seed)
    addresses = [f"http://e.org/{number}" for number in range(120)]
    preferred = draw.sample(addresses, seed)
    expected = chosen_by_sorting(addresses, 9, preferred)
    arrivals = draw.choices(addresses, k=90) + addresses
    draw.shuffle(arrivals)
    for portion in range(0, len(arrivals), 70):
        database = Database(path)
        pages = PageSample(*stored(database), site_pages=9)
        for address in arrivals[portion : portion + 70]:
            # The own text of a page may become known after the page.
            has_own_text = address in preferred and portion > 70
            pages.offer("e.org", of_template(address), has_own_text)
            assert len(list(pages.sample("e.org"))) <= 18
        for address in preferred if portion > 70 else ():
            pages.offer("e.org", of_template(address), True)
        database.commit()
        # What a process does after its last commit is lost with it.
        pages.offer("e.org", Page.from_html("<h1>" * 9 + "Lost", "http://e.org/0"))
        database.rollback()
        database.close()
    database = Database(path, read_only=True)
    sample = [page.url for page in PageSample(*stored(database)).sample("e.org")]
    assert len(sample) == len(set(sample))
    assert set(sample) == expected
    others = sorted(set(addresses) - set(preferred), key=sample_order)
    pages = PageSample(*stored(database), site_pages=9)
    uniform = [page.url for page in pages.uniform("e.org")]
    assert uniform == sorted([*preferred, *others[: 9 - len(preferred)]])
    database.close()


def test_sample_with_damaged_rows_is_continued() -> None:
    database = Database(None)
    contents = Contents(database)
    addresses = sorted((f"http://e.org/{n}" for n in range(9)), key=sample_order)
    insert = "INSERT INTO sample VALUES ('e.org', ?, ?, ?)"
    for address in addresses[1:4]:
        number = contents.put(PAGE, of_template(address).to_json())
        database.do(insert, (sample_order(address), address, number))
    for place in (10**12, "text"):
        database.do(insert, (place, "http://e.org/damaged", 99))
    pages = PageSample(database, contents, site_pages=2)
    pages.offer("e.org", of_template(addresses[0]))
    assert addresses[0] in [page.url for page in pages.sample("e.org")]
    assert len(list(pages.sample("e.org"))) <= 4


def test_page_that_is_stored_already_is_not_stored_again() -> None:
    database = Database(None)
    contents = Contents(database)
    page = of_template("http://e.org/1")
    number = contents.put(PAGE, page.to_json())
    PageSample(database, contents).offer("e.org", page, number=number)
    assert database.value("SELECT page FROM sample") == number
    assert database.count("SELECT count(*) FROM contents") == 1
