"""Which pages are one: wrong canonical links lose no page, copies come out once."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.crawl.spider.duplicates import Duplicates, plain_form
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.page import Page
from contentspider.state.book.book import Book
from tests.conftest import TIMEOUT, Site, read_jsonl, run
from tests.processes import Popen
from tests.run.test_site_job import until
from tests.sites import article, prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class BookKeeper:
    """What `Duplicates` asks of a keeper."""

    revisits = None
    guarded = nullcontext()

    def __init__(self, path: Path) -> None:
        self.book = Book(path)


@pytest.fixture
def duplicates(tmp_path: Path) -> Iterator[Duplicates]:
    keeper = BookKeeper(tmp_path / "x.sqlite")
    yield Duplicates(keeper, SiteKeys().key)  # type: ignore[arg-type]
    keeper.book.close()


def claim(
    duplicates: Duplicates, address: str, text: str, canonical: str = "", title: str = "A"
) -> str:
    """Return the path that a page comes out under, empty if it does not."""
    link = f"<link rel=canonical href='{canonical}'>" if canonical else ""
    page = Page.from_html(f"<title>{title}</title>{link}<p>{text}</p>", "https://e.org" + address)
    return address if duplicates.claim(page.url, page, None) else ""


TEXT = [prose(number) for number in range(10)]


def test_wrong_canonical_link_loses_no_page_and_blocks_no_url(duplicates: Duplicates) -> None:
    assert claim(duplicates, "/list?page=2", TEXT[2], "/list") == "/list?page=2"
    assert claim(duplicates, "/list?page=3", TEXT[3], "/list") == "/list?page=3"
    assert claim(duplicates, "/list", TEXT[1], "/list") == "/list"


def test_first_forum_pages_survive_canonicals_of_last_pages(duplicates: Duplicates) -> None:
    for topic in range(3):
        last = f"/topic/{topic}?start=40"
        assert claim(duplicates, last, TEXT[topic], f"/topic/{topic}") == last
    for topic in range(3):
        first = f"/topic/{topic}"
        assert claim(duplicates, first, TEXT[topic + 5], first) == first


def test_url_variants_are_one_page_only_with_same_text(duplicates: Duplicates) -> None:
    forms = ("/a", "/a/", "/a/index.html", "/a?utm_source=x")
    for number, form in enumerate(forms):
        assert claim(duplicates, form, TEXT[number], "/a") == form
    assert claim(duplicates, "/a/?utm_medium=y", TEXT[2], "/a") == ""


def test_url_variants_may_differ_in_counters_but_not_prices(duplicates: Duplicates) -> None:
    assert claim(duplicates, "/a", f"{TEXT[0]}<p>Read 5 times") == "/a"
    assert claim(duplicates, "/a/", f"{TEXT[0]}<p>Read 6 times") == ""
    assert claim(duplicates, "/b", f"{TEXT[0]}<p>Read 7 times") == "/b"
    assert claim(duplicates, "/a/index.html", f"{TEXT[0]}<p>Only 6.50") == "/a/index.html"
    assert claim(duplicates, "/a?gclid=1", f"{TEXT[0]}<p>Only 7.50") == "/a?gclid=1"


def test_pages_with_same_long_text_are_output_once_per_site(duplicates: Duplicates) -> None:
    assert len(TEXT[0]) > 200
    assert claim(duplicates, "/print/1", TEXT[0]) == "/print/1"
    assert claim(duplicates, "/1", TEXT[0], "/1") == ""
    assert claim(duplicates, "/2", TEXT[0], title="B") == "/2", "a title is text of its own"
    page = Page.from_html(f"<title>A</title><p>{TEXT[0]}</p>", "https://other.org/1")
    assert duplicates.claim(page.url, page, None)


def test_short_text_does_not_prove_duplicate(duplicates: Duplicates) -> None:
    assert claim(duplicates, "/1", "No results.") == "/1"
    assert claim(duplicates, "/2", "No results.") == "/2"
    assert claim(duplicates, "/2/index.php", "No results.") == ""
    assert claim(duplicates, "/3", "No results.", "/4") == "/3"
    assert claim(duplicates, "/4", "No results.", "/4") == ""
    assert claim(duplicates, "/5", "", "http://[x") == "/5"


def test_url_variants_have_same_plain_form() -> None:
    same = ["http://www.e.org:80/a/?b=1&c=2", "https://e.org/a/index.html?c=2&b=1&gclid=x&_ga=1"]
    assert {plain_form(one) for one in same} == {"e.org/a?b=1&c=2"}
    assert plain_form("https://e.org/a?ref=1&sid=2") == "e.org/a?ref=1&sid=2"
    assert plain_form("https://e.org:8443/") == "e.org:8443"


def test_crawl_with_wrong_canonicals_keeps_texts_at_their_urls(tmp_path: Path, site: Site) -> None:
    def page(number: int, canonical: str, links: str = "") -> str:
        head = f"<link rel=canonical href='{canonical}'><title>"
        return article(number, links).replace("<title>", head)

    links = "<a href=/list?page=2>2</a><a href=/copy>3</a><a href=/1>1</a>"
    port = site.url.rpartition(":")[2]
    site.add("/", page(0, "/", links))
    site.add("/list?page=2", page(2, "/list", "<a href=/list>first</a>"))
    site.add("/list", page(1, "/list"))
    site.add("/1", article(5, f"<a href=http://127.0.0.1:{port}/1#x>1</a>"))
    site.pages["/copy"] = site.pages["/1"]
    run("crawl", site.url, "--own-site", "--no-sitemaps", cwd=tmp_path)
    items = {
        str(item["url"]).removeprefix(site.url).strip("/"): str(item["content"])
        for item in read_jsonl(tmp_path / "pages.jsonl")
    }
    assert {"", "list?page=2", "list"} == set(items) - {"1", "copy"}
    assert len(items) == 4, "one of the two that are one"
    assert prose(2, 1) in items["list?page=2"]
    assert prose(1, 1) in items["list"]


FORMS = {
    "/z/2/": "/z/2",
    "/y/index.html": "/y/",
    "/x?utm_source=mail": "/x",
    "/v?b=1&a=2": "/v?a=2&b=1",
}


@pytest.mark.parametrize("is_first", [True, False])
def test_url_variants_with_different_texts_are_all_output(
    tmp_path: Path, site: Site, is_first: bool
) -> None:
    addresses = [one for pair in FORMS.items() for one in (pair if is_first else pair[::-1])]
    site.add("/", article(0, "".join(f"<a href={one}>x</a>" for one in addresses)))
    for number, address in enumerate(addresses, 1):
        named = f"<link rel=canonical href='{FORMS.get(address, address)}'><title>"
        site.add(address, article(number).replace("<title>", named))
    found = crawled(tmp_path, site)
    assert set(found) == {"/", *addresses}
    for number, address in enumerate(addresses, 1):
        assert prose(number, 1) in found[address]


def test_url_variant_yields_to_equal_canonical_page(tmp_path: Path, site: Site) -> None:
    """If that can be read and says the same, whether there is a link to it or not."""
    gone = {"/gone/": "/gone", "/moved/": "/moved"}
    site.add("/", article(0, "".join(f"<a href={one}>x</a>" for one in [*FORMS, *gone])))
    for number, (form, named) in enumerate((FORMS | gone).items(), 1):
        head = f"<link rel=canonical href='{named}'><title>"
        site.add(form, article(number).replace("<title>", head))
        if form in FORMS:
            site.pages[named] = site.pages[form]
    site.add("/elsewhere", article(9))
    site.add("/moved", "", 301, "text/html\r\nLocation: /elsewhere")
    found = crawled(tmp_path, site)
    assert set(found) == {"/", *FORMS.values(), *gone, "/elsewhere"}


def test_pages_with_equal_content_and_canonical_are_one_item(tmp_path: Path, site: Site) -> None:
    """Their whole texts differ: each has other related pages beside its content. These are links,
    which no order in which the pages come makes content.
    """

    def form(number: int, address: str) -> str:
        named = article(number).replace("<title>", f"<link rel=canonical href=/{number}><title>")
        first = len(address) % 7
        related = "".join(f"<li><a href=/{one}>{TEXT[one][:50]}</a>" for one in range(first, 10))
        return named.replace("</body>", f"<ul class=related>{related}</ul></body>")

    addresses = [
        *(f"/{number}?view=print" for number in range(1, 12)),
        *(f"/{number}" for number in range(1, 12)),
        "/3?ref=menu",
    ]
    site.add("/", article(0, "".join(f"<a href={address}>x</a>" for address in addresses)))
    for address in addresses:
        site.add(address, form(int(address[1:].partition("?")[0]), address))
    expected = {f"/{number}": [f"/{number}?view=print"] for number in range(1, 12)} | {"": []}
    expected["/3"] = ["/3?ref=menu", "/3?view=print"]
    for change in ("new", "unchanged"):
        crawled(tmp_path, site)
        items: list[Any] = read_jsonl(tmp_path / "pages.jsonl")
        assert {item["change"] for item in items} == {change}
        also_at = {
            item["url"].removeprefix(site.url): [
                address.removeprefix(site.url) for address in item["also_at"]
            ]
            for item in items
        }
        assert also_at == expected


def crawled(folder: Path, site: Site) -> dict[str, str]:
    """Return the contents of a site's pages by their paths."""
    run("crawl", site.url, "--own-site", "--no-sitemaps", cwd=folder)
    return {
        str(item["url"]).removeprefix(site.url) or "/": str(item["content"])
        for item in read_jsonl(folder / "pages.jsonl")
    }


def test_twins_with_other_titles_are_one_item(tmp_path: Path, site: Site) -> None:
    """The AMP and the mobile twin of a page, and its print view by the ``Link`` header."""
    links = "".join(f"<a href=/{number}>{number}</a>" for number in range(1, 6))
    site.add("/", article(0, links))
    for number in range(1, 6):
        page = article(number, f"<a href=/{number}/amp>A</a><a href=/m/{number}>M</a>")
        site.add(
            f"/{number}", page.replace("<title>", f"<link rel=canonical href=/{number}><title>")
        )
        twin = article(number).replace("<title>", f"<link rel=canonical href=/{number}><title>")
        site.add(f"/{number}/amp", twin.replace("</title>", " - AMP</title>"))
        site.add(f"/m/{number}", twin.replace("</title>", " | Mobile News</title>"))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    items = {str(item["url"]): item for item in read_jsonl(tmp_path / "pages.jsonl")}
    paths = {url.removeprefix(site.url) for url in items}
    assert paths == {"", *(f"/{number}" for number in range(1, 6))}
    assert len(items[f"{site.url}/1"]["also_at"]) == 2  # type: ignore[arg-type]


def test_canonical_address_that_nothing_links_to_is_requested(tmp_path: Path, site: Site) -> None:
    names = [f"{number}" for number in range(1, 5)]
    links = "".join(f"<a href='/all/{name}?_pos={name}&from=home'>{name}</a>" for name in names)
    site.add("/", article(0, links))
    for number in range(1, 5):
        head = f"<link rel=canonical href='{site.url}/goods/{number}'><title>"
        page = article(number).replace("<title>", head)
        site.add(f"/goods/{number}", page)
        site.add(f"/all/{number}?_pos={number}&from=home", page)
    # Its canonical address does not exist.
    site.add("/lost", article(9).replace("<title>", "<link rel=canonical href=/none><title>"))
    site.add("/", article(0, links + "<a href=/lost>9</a>"))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    found = {str(item["url"]) for item in read_jsonl(tmp_path / "pages.jsonl")}
    goods = {f"/goods/{name}" for name in names}
    assert found == {site.url + path for path in {"", "/lost", *goods}}
    assert site.requests.count("/all/1?_pos=1&from=home") == 1


def test_pages_beyond_last_one_are_no_items(tmp_path: Path, site: Site) -> None:
    def answer(path: str) -> tuple[int, str, bytes]:
        kind = "text/html; charset=utf-8"
        if path == "/":
            links = "".join(f"<a href=/topic/{topic}/1>{topic}</a>" for topic in (7, 8))
            return 200, kind, article(0, links).encode()
        topic, _, number = path.removeprefix("/topic/").partition("/")
        if not path.startswith("/topic/") or not number.isdigit():
            return 404, kind, b"<p>none"
        shown = int(topic) * 10 + min(int(number), 3)
        page = article(shown, f"<a rel=next href=/topic/{topic}/{int(number) + 1}>Next</a>")
        title = f"Topic {topic}, page {number}"
        return 200, kind, page.replace(f"Page {shown}", title).encode()

    site.answer = answer
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    found = {
        str(item["url"]).removeprefix(site.url) for item in read_jsonl(tmp_path / "pages.jsonl")
    }
    pages = {f"/topic/{topic}/{number}" for topic in (7, 8) for number in (1, 2, 3)}
    assert found == {""} | pages
    assert len([path for path in site.requests if path.startswith("/topic/")]) == 8
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    again = {
        str(item["url"]).removeprefix(site.url) for item in read_jsonl(tmp_path / "pages.jsonl")
    }
    assert again == found


@pytest.mark.parametrize("thing", ["month", "photo"])
def test_gap_in_sequence_does_not_end_it(tmp_path: Path, site: Site, thing: str) -> None:
    menu = f"<nav><p>{prose('menu', 1)}</p><p>{prose('menu', 2)}</p></nav>"
    full = (1, 2, 9) if thing == "month" else (9, 14)

    def answer(path: str) -> tuple[int, str, bytes]:
        kind, (_, folder, *rest) = "text/html; charset=utf-8", path.split("/")
        if path == "/" or folder == "talk":
            return 200, kind, article(path, f"<a href=/{thing}/1>x</a>").encode()
        if folder != thing or not rest[0].isdigit():
            return 404, kind, b"<p>none"
        number = int(rest[0])
        talks = "".join(f"<p><a href=/talk/{number}{x}>{prose(number, x)}</a></p>" for x in "ab")
        body = talks if number in full else "<p>Nothing</p>"
        title = f"{thing} {number}"
        following = f"<a href=/{thing}/{number + 1}>Next</a>" if number < 500 else ""
        html = f"<title>{title}</title>{menu}<main><h1>{title}</h1>{body}</main>{following}"
        return 200, kind, html.encode()

    site.answer = answer
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    found = {
        str(item["url"]).removeprefix(site.url) for item in read_jsonl(tmp_path / "pages.jsonl")
    }
    assert {path for path in found if "talk" in path} == {
        f"/talk/{number}{x}" for number in full for x in "ab"
    }
    assert len([path for path in site.requests if path.startswith(f"/{thing}/")]) < 50


@pytest.mark.parametrize(
    "kind_of_site",
    ["empty", "with sitemap", "shows the last page", "shows the last page, with sitemap"],
)
def test_pages_beyond_last_one_of_listing_are_no_items(
    tmp_path: Path, site: Site, kind_of_site: str
) -> None:
    has_sitemap, shows_last = "with sitemap" in kind_of_site, kind_of_site.startswith("shows")
    shops, sizes = {"tea": 3, "cup": 2}, range(4)

    def answer(path: str) -> tuple[int, str, bytes]:
        kind, (_, folder, *rest) = "text/html; charset=utf-8", re.split("[/=]", path)
        if path == "/":
            return 200, kind, article(0, "".join(f"<a href={x}?p=1>x</a>" for x in shops)).encode()
        if path == "/sitemap.xml" and has_sitemap:
            goods = (f"{site.url}/good/{x}{n}{s}" for x in shops for n in (1, 2, 3) for s in sizes)
            places = "".join(f"<url><loc>{good}</loc></url>" for good in goods)
            return 200, "application/xml", f"<urlset>{places}</urlset>".encode()
        if folder == "good":
            return 200, kind, article(rest[0], f"<p>{prose(rest[0], 4)}</p>").encode()
        shop, number = folder.partition("?")[0], int(rest[0]) if rest else 0
        if shop not in shops:
            return 404, kind, b"<p>none"
        shown = min(number, shops[shop]) if shows_last else number
        cards = "".join(
            f"<p><a href=/good/{shop}{shown}{size}>{prose(shop, shown, size, words=9)}</a></p>"
            for size in (sizes if shown < shops[shop] or not shows_last else [0])
        )
        body = cards if shown <= shops[shop] else "<p>No goods were found.</p>"
        html = f"<title>{shop}, page {number}</title><h1>Shop for {shop}</h1>{body}"
        return 200, kind, f"{html}<a href=?p={number + 1}>Next</a>".encode()

    site.answer = answer
    for _ in range(2):
        run("crawl", site.url, "--own-site", cwd=tmp_path)
        found = {
            str(item["url"]).removeprefix(site.url) for item in read_jsonl(tmp_path / "pages.jsonl")
        }
        lists = {f"/{shop}?p={n + 1}" for shop, count in shops.items() for n in range(count)}
        assert {path for path in found if "good" not in path} == {"", *lists}
        goods = 24 if has_sitemap else 20 - 6 * shows_last
        assert len(found) == 6 + goods


def test_killed_crawl_ends_at_the_last_page_of_a_listing(tmp_path: Path, site: Site) -> None:
    """It is killed behind the last page, and when the first page beyond waits for the next one."""

    def answer(path: str) -> tuple[int, str, bytes]:
        kind, name, number = "text/html; charset=utf-8", *path.partition("=")[::2]
        if path == "/" or path.startswith("/good/"):
            return 200, kind, article(path, "<p><a href=/tea?p=1>All teas</a></p>").encode()
        if name != "/tea?p" or int(number) > 40:
            return 404, kind, b"<p>none"
        cards = "".join(f"<p><a href=/good/{number}{x}>{prose(number, x)}</a></p>" for x in "abc")
        body = cards if int(number) <= 3 else "<p>No goods were found.</p>"
        html = f"<title>tea, page {number}</title><h1>Shop for tea</h1>{body}"
        return 200, kind, f"{html}<a href=?p={int(number) + 1}>Next</a>".encode()

    command = ["crawl", site.url, "--own-site", "--no-sitemaps", "--resume"]
    for number in (4, 5):
        with Popen([sys.executable, "-m", "contentspider", *command], cwd=tmp_path) as process:
            site.answer = killing_at(process, tmp_path, number, answer)
            process.wait(TIMEOUT)
    site.answer, asked = answer, len(site.requests)
    run(*command, cwd=tmp_path)
    items = [
        str(item["url"]).removeprefix(site.url) for item in read_jsonl(tmp_path / "pages.jsonl")
    ]
    goods = [f"/good/{number}{x}" for number in (1, 2, 3) for x in "abc"]
    assert sorted(items) == ["", *goods, *(f"/tea?p={number}" for number in (1, 2, 3))]
    assert len([path for path in site.requests[asked:] if path.startswith("/tea")]) < 30


def killing_at(
    process: Popen, folder: Path, number: int, answer: Callable[[str], tuple[int, str, bytes]]
) -> Callable[[str], tuple[int, str, bytes]]:
    """Return an answer that kills a crawl when it asks for a page of the listing, and its book has
    what it has made of the page before.
    """

    def is_committed() -> bool:
        (path,) = folder.glob(".scrapy/contentspider/*.sqlite")
        query = "SELECT 1 FROM addresses WHERE url LIKE ? AND state NOT IN ('queued', 'taken')"
        with closing(sqlite3.connect(path)) as book:
            return book.execute(query, (f"%p={number - 1}",)).fetchone() is not None

    def answer_or_kill(path: str) -> tuple[int, str, bytes]:
        if path == f"/tea?p={number}":
            until(is_committed)
            process.kill()
        return answer(path)

    return answer_or_kill
