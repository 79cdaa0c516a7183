"""What a site says to robots is obeyed: robots.txt, metas, headers and links; feeds are read."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from parsel import Selector
from scrapy.http import HtmlResponse, Response, XmlResponse

from contentspider import links
from contentspider.crawl.base.links import page_links, read_head
from contentspider.crawl.middlewares.robots import robots_directives
from contentspider.crawl.spider.sitemaps import is_feed
from contentspider.site.own.readers.feeds import read_entries
from tests.conftest import Site, read_jsonl, run
from tests.hostile import Exchange, HostileSite, serve_hostile
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def hostile() -> Iterator[HostileSite]:
    with serve_hostile() as made:
        yield made


def paths(folder: Path, url: str) -> list[str]:
    items = read_jsonl(folder / "pages.jsonl")
    return sorted(str(item["url"]).removeprefix(url) or "/" for item in items)


def robots_site(hostile: HostileSite) -> None:
    def meta(number: int, content: str, links: str = "", name: str = "robots") -> str:
        head = f"<meta name={name} content='{content}'><title>"
        return article(number, links).replace("<title>", head)

    hostile.add(
        "/",
        article(
            0,
            "<a href=/noindex>1</a><a href=/nofollow>2</a><a href=/none>3</a><a href=/ours>4</a>"
            "<a href=/header>5</a><a href=/other>6</a><a rel='ugc NoFollow' href=/rel>7</a>"
            "<a href=/passed>8</a><a href=/coming>9</a><a href=/either>10</a>"
            "<a href=/passed-meta>11</a>",
        ),
    )
    hostile.add("/noindex", meta(1, "NOINDEX", "<a href=/from-noindex>x</a>"))
    hostile.add("/from-noindex", article(11))
    hostile.add("/nofollow", meta(2, "noarchive, nofollow", "<a href=/from-nofollow>x</a>"))
    hostile.add("/from-nofollow", article(12))
    hostile.add("/none", meta(3, "none", "<a href=/from-none>x</a>"))
    hostile.add("/from-none", article(13))
    hostile.add("/ours", meta(4, "noindex", name="ContentSpider"))
    hostile.handlers["/header"] = lambda exchange: exchange.send(
        article(5), "X-Robots-Tag: otherbot: nofollow", "X-Robots-Tag: noindex"
    )
    hostile.add("/other", meta(6, "noindex", name="googlebot"))
    # With a date that has passed, and one that has not, but for the other directive.
    passed, coming = "Friday, 25 Jun 2010 15:00:00 GMT", "Sunday, 28 Nov 2055 15:00:00 GMT"
    hostile.handlers["/passed"] = lambda exchange: exchange.send(
        article(8), f"X-Robots-Tag: unavailable_after: {passed}"
    )
    hostile.handlers["/coming"] = lambda exchange: exchange.send(
        article(9), f"X-Robots-Tag: unavailable_after: {coming}"
    )
    hostile.handlers["/either"] = lambda exchange: exchange.send(
        article(10), f"X-Robots-Tag: unavailable_after: {coming}, noindex"
    )
    hostile.add("/passed-meta", meta(15, f"unavailable_after: {passed}"))
    hostile.add("/rel", article(7))


@pytest.mark.parametrize("obey", [True, False])
def test_noindex_and_nofollow_are_obeyed_by_default(
    hostile: HostileSite, tmp_path: Path, obey: bool
) -> None:
    robots_site(hostile)
    setting = ["-s", f"CONTENTSPIDER_OBEY_META_ROBOTS={obey}"]
    done = run("crawl", hostile.url, "--own-site", *setting, "--log-level", "INFO", cwd=tmp_path)
    found = paths(tmp_path, hostile.url)
    if obey:
        assert found == ["/", "/coming", "/from-noindex", "/nofollow", "/other"]
        assert "'contentspider/pages/skipped/noindex': 7" in done.stderr
        assert "/rel" not in hostile.requests
    else:
        assert len(found) == 15


def test_robots_directives_are_parsed_from_metas_and_headers() -> None:
    assert robots_directives([], ["NoIndex , max-snippet:5"]) == {"noindex", "max-snippet:5"}
    assert robots_directives([b"None"], ["a"]) == {"a", "none", "noindex", "nofollow"}
    assert robots_directives([b"unavailable_after: 25 Jun 2030 15:00:00, noindex"]) >= {"noindex"}
    assert "noindex" not in robots_directives([b"googlebot: nofollow, noindex"])
    assert robots_directives([b"googlebot: x, ContentSpider: noindex"]) == {"noindex"}
    assert robots_directives([b"\xff\0:" * 10_000]) == set()


@pytest.mark.parametrize(
    ("value", "is_gone", "others"),
    [
        ("unavailable_after: Sunday, 28 Nov 2055 15:00:00 GMT, nofollow", False, {"nofollow"}),
        ("unavailable_after: Nov 28, 2055 15:00 GMT, nofollow", False, {"nofollow"}),
        ("unavailable_after: Sunday, 28 Nov 2010 15:00:00 GMT, nofollow", True, {"nofollow"}),
        ("nofollow, unavailable_after: Sunday, 28-Nov-10 15:00:00 GMT", True, {"nofollow"}),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", True, set()),
        ("unavailable_after: 2010-06-25T15:00:00+02:00", True, set()),
        ("unavailable_after: 2010-06-25", True, set()),
        ("unavailable_after: 2055-06-25, max-snippet: 5", False, {"max-snippet: 5"}),
        ("unavailable_after: soon, nofollow", False, {"nofollow"}),
    ],
)
def test_date_of_directive_may_have_commas_and_colons_and_pass(
    value: str, is_gone: bool, others: set[str]
) -> None:
    for found in (robots_directives([value.encode()]), robots_directives([], [value])):
        assert ("noindex" in found) is is_gone
        dates = {word for word in found if word.startswith("unavailable_after:")}
        assert found - dates == others | ({"noindex"} if is_gone else set())
        assert len(dates) == 1
    assert robots_directives([f"otherbot: {value}".encode()]) == set()


@pytest.mark.parametrize(("status", "reason"), [("503 Busy", "status_503"), ("", "broken")])
def test_failing_robots_txt_forbids_all_pages_until_it_recovers(
    hostile: HostileSite, tmp_path: Path, status: str, reason: str
) -> None:
    hostile.add("/", article(0, "<a href=/1>1</a>"))
    hostile.add("/1", article(1))

    def fail(exchange: Exchange) -> None:
        if status:
            exchange.send("no", status=status)

    hostile.handlers["/robots.txt"] = fail
    options = ["--own-site", "-s", "RETRY_ENABLED=False", "--resume"]
    done = run("crawl", hostile.url, *options, cwd=tmp_path, check=False)
    assert done.returncode != 0
    assert "(its robots.txt, without which nothing may be fetched for now)" in done.stderr
    assert not {"/", "/1"} & set(hostile.requests)
    assert hostile.requests.count("/robots.txt") == 2, "and once more at the end"
    hostile.handlers["/robots.txt"] = lambda exchange: exchange.send("Disallow: x", status="404 No")
    run("crawl", hostile.url, *options, cwd=tmp_path)
    assert paths(tmp_path, hostile.url) == ["/", "/1"]


def test_robots_txt_recovering_at_end_allows_all_pages(
    hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.add("/", article(0, "<a href=/1>1</a>"))
    hostile.add("/1", article(1))
    hostile.add("/2", article(2))
    hostile.add("/map.xml", f"<urlset><url><loc>{hostile.url}/2</loc></url></urlset>")

    def answer(exchange: Exchange) -> None:
        if hostile.requests.count("/robots.txt") == 1:
            exchange.send("busy", "Retry-After: 1", status="503 Busy")
        else:
            exchange.send("Sitemap: /map.xml", kind="text/plain")

    hostile.handlers["/robots.txt"] = answer
    run("crawl", hostile.url, "--own-site", "-s", "RETRY_ENABLED=False", cwd=tmp_path)
    assert paths(tmp_path, hostile.url) == ["/", "/1", "/2"]
    assert hostile.requests.count("/robots.txt") == 2


def test_all_requests_wait_for_robots_txt(site: Site, tmp_path: Path) -> None:
    site.add("/robots.txt", "User-agent: *\nDisallow: /", kind="text/plain")
    for number in range(12):
        site.add(f"/{number}", article(number))
    starts = [f"{site.url}/{number}" for number in range(12)]

    run("crawl", *starts, "-o", "pages.jsonl", cwd=tmp_path, check=False)

    assert set(site.requests) == {"/robots.txt"}


@pytest.mark.parametrize("obey", [True, False])
def test_robots_txt_is_fetched_once_for_rules_and_sitemaps(
    hostile: HostileSite, tmp_path: Path, obey: bool
) -> None:
    hostile.add("/", article(0))
    hostile.add("/private", article(1))
    hostile.add("/2", article(2))
    places = "".join(f"<url><loc>{hostile.url}/{name}</loc></url>" for name in ("private", "2"))
    hostile.add("/map.xml", f"<urlset>{places}</urlset>")
    rules = "User-agent: *\nDisallow: /private\nSitemap: /map.xml\n"
    hostile.handlers["/robots.txt"] = lambda exchange: exchange.send(rules, kind="text/plain")
    options = ["--own-site", "-s", f"ROBOTSTXT_OBEY={obey}"]
    run("crawl", hostile.url, *options, cwd=tmp_path)
    assert paths(tmp_path, hostile.url) == (["/", "/2"] if obey else ["/", "/2", "/private"])
    assert hostile.requests.count("/robots.txt") == 1


@pytest.mark.parametrize("status", ["201 Created", "203 From elsewhere", "206 Partial"])
def test_other_2xx_responses_are_read_as_pages(
    hostile: HostileSite, tmp_path: Path, status: str
) -> None:
    hostile.add("/", article(0, "<a href=/1>1</a><a href=/2>2</a>"))
    hostile.handlers["/1"] = lambda exchange: exchange.send(article(1), status=status)
    hostile.handlers["/2"] = lambda exchange: exchange.raw(b"HTTP/1.1 204 No\r\n\r\n")
    run("crawl", hostile.url, "--own-site", "--no-sitemaps", cwd=tmp_path)
    assert paths(tmp_path, hostile.url) == ["/", "/1"]


RSS = """<?xml version="1.0"?><rss version="2.0"><channel><link>https://e.org/</link>
<item><title>1</title><link> /a#x </link></item>
<item><guid>https://e.org/b</guid></item>
<item><guid isPermaLink="false">urn:1</guid></item>
<item><link>http://[x</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://e.org/blog/"><link href="/"/>
<entry><link rel="edit" href="edit"/><link href="c"/></entry>
<entry><link rel="alternate" href="/d"/></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
xmlns="http://purl.org/rss/1.0/"><item><link>https://e.org/e</link></item></rdf:RDF>"""


def feed(text: str) -> Response:
    return XmlResponse("https://e.org/feed", body=text.encode())


def read_feed(response: Response) -> list[str]:
    return [entry.url for entry in read_entries(response.body, response.url)]


def test_page_urls_are_read_from_feeds() -> None:
    assert read_feed(feed(RSS)) == ["https://e.org/a", "https://e.org/b"]
    assert read_feed(feed(ATOM)) == ["https://e.org/blog/c", "https://e.org/d"]
    assert read_feed(feed(RDF)) == ["https://e.org/e"]
    assert all(is_feed(feed(text)) for text in (RSS, ATOM, RDF))
    assert not is_feed(feed("<html><title>Of &lt;rss>"))
    for broken in ("", "<rss", "\0", "<rss><item><link>/f</link>", "<?xml encoding='x'?><rss/>"):
        assert read_feed(feed(broken)) in ([], ["https://e.org/f"])


def test_feed_parser_opens_no_files_and_resists_entity_bombs(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("https://e.org/secret")
    doctype = f"<!DOCTYPE rss [<!ENTITY x SYSTEM 'file://{secret}'>]>"
    attack = RSS.replace("<rss", doctype + "<rss").replace(" /a#x ", "&x;")
    assert read_feed(feed(attack)) == ["https://e.org/b"]
    names = "abcdefghij"
    entities = "".join(
        f"<!ENTITY {name} '{f'&{before};' * 10}'>" for before, name in pairwise(names)
    )
    bomb = f"<!DOCTYPE rss [<!ENTITY a '{'x' * 100}'>{entities}]>"
    started = time.process_time()
    for where in (" &j; ", f" /a?{'&j;'} "):
        text = RSS.replace("<rss", bomb + "<rss").replace(" /a#x ", where)
        read_feed(feed(text))
        read_feed(feed(ATOM.replace("<feed", bomb.replace("rss", "feed") + "<feed")))
        read_feed(feed(ATOM.replace("<feed", bomb + "<feed").replace('"c"', '"&j;"')))
    assert time.process_time() - started < 2


def test_crawl_reads_feeds_of_start_page(tmp_path: Path, site: Site) -> None:
    site.add(
        "/",
        article(0, "<a href=/1>1</a>").replace(
            "<title>",
            "<link rel=alternate type=application/rss+xml href=/feed>"
            "<link rel=alternate type='application/atom+xml' href=/atom><title>",
        ),
    )
    head = "<link rel=alternate type=application/rss+xml href=/comments><title>"
    site.add("/1", article(1).replace("<title>", head))
    url = f"<link>{site.url}"
    rss = f"<rss><channel><item>{url}/2</link></item><item>{url}/3</link></item></channel></rss>"
    site.add("/feed", rss, kind="application/rss+xml")
    site.add("/atom", ATOM.replace("https://e.org", site.url), kind="text/html")
    for number, path in enumerate(("/2", "/3", "/blog/c", "/d")):
        site.add(path, article(2 + number))
    found = ["/", "/1", "/2", "/3", "/blog/c", "/d"]
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert paths(tmp_path, site.url) == found
    assert "/comments" not in site.requests
    run("crawl", site.url + "/feed", "--own-site", "--no-sitemaps", cwd=tmp_path)
    assert set(paths(tmp_path, site.url)) >= {"/2", "/3"}


def test_page_head_provides_base_robots_meta_and_feeds() -> None:
    html = """<base href="/b/"><base href="/c/"><meta name=robots content=noindex><meta name=x>
    <link rel=alternate type="application/atom+xml" href=feed><link type="text/css" href=x>
    <a rel=nofollow href=x>1</a><a href=y>2</a><a rel="noopener" href=z>3</a>"""
    root = Selector(text=html).root
    head = read_head(root, "https://e.org/a/")
    assert head[:3] == ("https://e.org/b/", ["noindex"], ["https://e.org/b/feed"])
    everything = [f"https://e.org/b/{name}" for name in "xyz"]
    assert page_links(read_head(root, "https://e.org/a/")) == everything
    assert page_links(read_head(root, "https://e.org/a/"), nofollow=True) == everything[1:]


def test_links_of_response_can_be_followed() -> None:
    body = b"""<a href="javascript:void(0)">1</a><a href="mailto:a@b.c">2</a><a href="tel:1">3</a>
    <a href="http://[x">4</a><a href="/a#b">5</a><a href="  ">6</a><a>7</a><a href="b.zip">8</a>"""
    response = HtmlResponse("https://e.org/", body=body)
    assert links(response) == ["https://e.org/a"]
    assert [request.url for request in response.follow_all(links(response))] == ["https://e.org/a"]
    assert links(HtmlResponse("https://e.org/", body=b"")) == []
    assert links(Response("https://e.org/x.pdf", body=b"%PDF")) == []
