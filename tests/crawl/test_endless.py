"""Address spaces whose pages are copies: the endless ones are left, and no page is lost."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING

import pytest
from scrapy import Request

from contentspider.crawl.spider.copies import (
    MAX_COPIES,
    MAX_COUNT,
    WORN_COUNT,
    Copy,
    TextCounts,
)
from tests.conftest import Site, read_jsonl, run
from tests.crawls import Crawl
from tests.sites import article, prose, small_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# More requests than any of these crawls may need.
ENDLESS = 2_000
PAGES = 30


def requested_paths(crawl: Crawl, answer: Callable[[str], str]) -> list[str]:
    """Crawl a site whose pages *answer* returns by their paths; return the paths in order."""
    scheduler = crawl.scheduler()
    scheduler.enqueue_request(Request("https://e.org/", crawl.spider.parse))
    paths: list[str] = []
    while len(paths) < ENDLESS and (request := scheduler.next_request()) is not None:
        paths.append(request.url.removeprefix("https://e.org"))
        response = crawl.answer(request, answer(paths[-1]))
        crawl.keeper.addresses.received(response, request)
        for output in list(crawl.spider.parse(response)):
            if isinstance(output, Request):
                output.headers["Referer"] = request.url
                scheduler.enqueue_request(output)
        crawl.finish()
    return paths


def links(*addresses: str) -> str:
    return "".join(f"<p><a href='{address}'>Go on</a></p>" for address in addresses)


def page(number: object, *addresses: str) -> str:
    return f"<title>Page</title><h1>{prose(number, words=3)}</h1><p>{prose(number)}</p>" + links(
        *addresses
    )


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def test_crawl_stops_following_error_pages_that_link_to_error_pages(
    site: Site, tmp_path: Path
) -> None:
    small_site(site, 4)
    answer = site.answer
    error = f"<title>Sorry</title><h1>Sorry</h1><p>{prose('nothing is here')}</p>"
    error += "<a href=tea/>Tea</a><a href=cups/>Cups</a>"
    site.add("/1", article(1, "<a href=tea/>Tea</a><a href=cups/>Cups</a>"))
    site.answer = lambda path: (
        answer(path)
        if path in site.pages or path == "/robots.txt"
        else (200, "text/html", error.encode())
    )
    done = run("crawl", site.url, "--own-site", "--stats", "stats.json", cwd=tmp_path)
    assert len(site.requests) < 3 * MAX_COPIES
    addresses = {str(item["url"]).rstrip("/") for item in read_jsonl(tmp_path / "pages.jsonl")}
    assert {site.url, *(f"{site.url}/{number}" for number in (1, 2, 3))} < addresses
    assert len(addresses) == 5, "the error page comes out once"
    stats = json.loads((tmp_path / "stats.json").read_text())["stats"]
    left = {name: value for name, value in stats.items() if "/links/copies/" in name}
    assert {name.rpartition("/")[2] for name in left} == {"tea", "cups"}
    (line,) = re.findall(r"^endless: (\d+) addresses of copies.*$", done.stderr, re.MULTILINE)
    assert int(line) == sum(left.values()) > 0


def test_crawl_stops_following_error_pages_that_show_their_address(crawl: Crawl) -> None:
    def answer(path: str) -> str:
        if path == "/":
            return page(0, "/shop/")
        trail = " / ".join(path.strip("/").split("/"))
        return f"<title>{trail}</title><p>Home / {trail}</p><p>Not found.</p>" + links(
            "tea/", "cup/"
        )

    paths = requested_paths(crawl, answer)
    assert WORN_COUNT < len(paths) < 3 * MAX_COPIES


@pytest.mark.large
def test_crawl_stops_following_pages_that_combine_known_texts(crawl: Crawl) -> None:
    colours = ["red", "green", "blue", "white", "black", "grey", "pink", "brown", "gold"]

    def answer(path: str) -> str:
        chosen = [name for name in path.split("/") if name]
        shown = [name for name in colours if name not in chosen] or colours
        teasers = "".join(f"<p>{prose(name)}</p>" for name in shown)
        return "<h1>Cloth</h1>" + teasers + links(*(f"{path}{name}/" for name in colours))

    assert len(requested_paths(crawl, answer)) < ENDLESS


def test_pages_with_print_views_are_all_read(crawl: Crawl) -> None:
    def answer(path: str) -> str:
        """Print views have the texts of their pages, and link to print views."""
        name, mark, query = path.strip("/").partition("?")
        number = int(name or 0)
        following = [f"/{number + 1}{mark}{query}"] if number < PAGES else []
        return page(number, *following, f"/{number}?print=1")

    assert len(requested_paths(crawl, answer)) == 2 * PAGES + 2, "each, and each print view"


@pytest.mark.large
def test_crawl_of_endless_session_paths_reads_all_pages_and_ends(crawl: Crawl) -> None:
    sessions = count()

    def answer(path: str) -> str:
        """The links of each answer have a session of their own in their path."""
        number = int(path.rpartition("/")[2] or 0)
        session = next(sessions)
        numbers = {1, 2, 3, min(number + 1, PAGES)}
        return page(number, *(f"/session-{session}/{number}" for number in numbers))

    paths = requested_paths(crawl, answer)
    assert {int(path.rpartition("/")[2] or 0) for path in paths} == set(range(PAGES + 1))
    assert len(paths) < ENDLESS


def test_page_in_mirror_is_read(crawl: Crawl) -> None:
    def answer(path: str) -> str:
        """Six mirrors of a site: the last page of the last mirror is nowhere else."""
        mirror, _, name = path.strip("/").partition("/")
        if path == "/":
            return page("home", *(f"/{mirror}/0" for mirror in "abcdef"))
        if int(name) < PAGES:
            return page(name, str(int(name) + 1))
        has_more = mirror == "f" and int(name) == PAGES
        return page(name, *(["/f/999"] if has_more else []))

    paths = requested_paths(crawl, answer)
    assert "/f/999" in paths
    assert len(paths) == 6 * (PAGES + 1) + 2


@pytest.mark.large
def test_listings_without_text_of_their_own_lead_to_all_entries(crawl: Crawl) -> None:
    listing_count = 3 * MAX_COPIES

    def answer(path: str) -> str:
        if path.startswith("/boat/"):
            return page(path)
        number = int(path.partition("=")[2] or 0)
        following = [f"/?page={number + 1}"] if number < listing_count else []
        return "<title>Boats</title><h1>Boats</h1>" + links(f"/boat/{number}", *following)

    paths = requested_paths(crawl, answer)
    assert len(paths) == 2 * (listing_count + 1)


def listed(path: str, address: str, entry: str, size: int = 20, count: int = 400) -> str:
    """Answer with page after page of a listing, which has *size* of *count* entries each."""
    number = int(path.partition("=")[2] or 0)
    entries = range(number * size, min(number * size + size, count))
    following = [f"/?page={number + 1}"] if entries.stop < count else []
    cards = "".join(f"<p><a href='{address}{index}'>{entry}</a></p>" for index in entries)
    return "<title>All</title><h1>All</h1>" + cards + links(*following)


def test_products_that_differ_in_a_number_are_all_read(crawl: Crawl) -> None:
    def answer(path: str) -> str:
        if not path.startswith("/screw/"):
            return listed(path, "/screw/a", "Screw")
        length = int(path.rpartition("a")[2]) % 90
        return f"<title>Screw</title><h1>Screw</h1><p>{prose(1)}</p><p>Length: {length} mm</p>"

    assert len(requested_paths(crawl, answer)) == 400 + 20


@pytest.mark.large
def test_photos_without_text_are_all_read(crawl: Crawl) -> None:
    """The photos also link to the next one, and have no images that the crawler sees."""

    def answer(path: str) -> str:
        if not path.startswith("/photo/"):
            return listed(path, "/photo/", "<img src=/icon.png>")
        number = int(path.rpartition("/")[2])
        following = [f"/photo/{number + 1}"] if number < 399 else []
        return f"<title>Photo {number}</title><p>Photo {number} of 400</p>" + links(*following)

    assert len(requested_paths(crawl, answer)) == 400 + 20


def test_gallery_of_new_images_is_read_to_its_end(crawl: Crawl) -> None:
    letters = "abcdefghij"
    names = [first + second + third for first in "klm" for second in letters for third in letters]

    def answer(path: str) -> str:
        place = names.index(path.strip("/")) if path != "/" else -1
        following = [f"/{names[place + 1]}"] if place + 1 < len(names) else []
        image = f"<img src='/full/{path}.jpg?width=900'>"
        return "<title>Picture</title><h1>Picture</h1>" + image + links(*following)

    assert len(requested_paths(crawl, answer)) == len(names) + 1


def test_crawl_stops_following_error_pages_with_visitor_counter_image(crawl: Crawl) -> None:
    def answer(path: str) -> str:
        image = f"<img src='https://count.org/seen.gif?page={path}'><img src=logo.png>"
        return "<title>Sorry</title><h1>Sorry</h1><p>Not found.</p>" + image + links("a/", "b/")

    assert len(requested_paths(crawl, answer)) < 3 * MAX_COPIES


def test_address_in_doubt_is_requested_if_page_with_text_names_it(crawl: Crawl) -> None:
    spider = crawl.spider
    scheduler = crawl.scheduler()
    for name in ("a", "b"):
        scheduler.enqueue_request(Request(f"https://e.org/{name}", spider.parse))
        spider.copies.doubt(f"https://e.org/{name}", Copy(7, is_worn=True))
    spider.copies._rows[7] = spider.copies._sources[7] = MAX_COPIES
    assert scheduler.next_request() is None, "both are left out"
    assert crawl.stat("pages/skipped/trap") == 2
    (request,) = spider.page_requests("https://e.org/a", 0)
    assert scheduler.enqueue_request(request)
    asked = scheduler.next_request()
    assert asked is not None and asked.url == "https://e.org/a"
    assert scheduler.next_request() is None


def test_text_counts_are_reset_at_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = TextCounts()
    assert [counts.add("tea") for _ in range(MAX_COUNT + 3)][-3:] == [MAX_COUNT] * 3
    assert counts.add("cup") == 0
    monkeypatch.setattr("contentspider.crawl.spider.copies.MAX_TEXTS", 2)
    counts.add("pot")
    assert counts.add("tea") == 0
