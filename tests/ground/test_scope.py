"""What a crawl was asked for: scope, patterns, names; and what the guard before it lets through."""

from __future__ import annotations

import asyncio
import base64
import os
import sqlite3
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, TextResponse
from scrapy.utils.test import get_crawler

from contentspider.crawl.base.meta import START_META_KEY
from contentspider.crawl.middlewares.guard import GuardMiddleware, RefusedError
from contentspider.crawl.middlewares.headers import HeadersMiddleware
from contentspider.crawl.spider.spider import SiteSpider
from contentspider.ground.addresses import clean_address, network_of
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.fetch import FetchError, check
from contentspider.ground.scope import Scope, crawl_name
from contentspider.ground.sites import SiteKeys
from contentspider.state.crawls.books import HISTORIES, crawl_book, name_of
from tests.conftest import Site, read_jsonl, run, serve
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path


def paths(folder: Path, site: Site) -> list[str]:
    items = read_jsonl(folder / "pages.jsonl")
    return sorted(str(item["url"]).removeprefix(site.url) or "/" for item in items)


def test_sitemap_urls_never_open_local_files(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    host = site.url.removeprefix("http://")
    os.mkfifo(tmp_path / "pipe")
    named = [f"{host}/dev/zero", f"{host}{tmp_path}/pipe", f"{host}/etc/passwd"]
    site.add(
        "/robots.txt",
        "User-agent: *\n"
        + "".join(f"Sitemap: file://{name}\n" for name in named)
        + f"Sitemap: ftp://{host}/x\nSitemap: /good.xml\n",
        kind="text/plain",
    )
    site.add(
        "/good.xml",
        f"<urlset><url><loc>file://{host}/etc/passwd</loc></url>"
        f"<url><loc>{site.url}/9</loc></url></urlset>",
        kind="application/xml",
    )
    site.add("/9", article(9))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert paths(tmp_path, site) == ["/", "/1", "/2", "/9"]
    (book,) = (tmp_path / ".scrapy" / "contentspider").glob("*.sqlite")
    with sqlite3.connect(book) as connection:
        addresses = [url for (url,) in connection.execute("SELECT url FROM addresses")]
    assert all(address.startswith("http://") for address in addresses)


def spider_of(address: str, **arguments: Any) -> SiteSpider:
    crawler = get_crawler(SiteSpider)
    crawler.spider = spider = SiteSpider.from_crawler(crawler, url=address, **arguments)
    return spider


def guard_of(spider: SiteSpider) -> GuardMiddleware:
    guard = GuardMiddleware.from_crawler(spider.crawler)
    guard._opened()
    return guard


INTERNAL = [
    "http://127.0.0.1:6379/",
    "http://localhost/",
    "http://db.localhost./",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::1]/",
    "http://[::ffff:192.168.0.1]/",
    "http://10.0.0.7:9200/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0.0.0.0/",
    "http://100.64.0.1/",
]


@pytest.mark.parametrize("address", INTERNAL)
def test_public_site_cannot_lead_into_private_network(address: str) -> None:
    spider = spider_of("https://example.org/")
    guard = guard_of(spider)
    for meta in ({}, {START_META_KEY: True, "redirect_urls": ["https://example.org/"]}):
        with pytest.raises(RefusedError, match="must not lead to") as refused:
            guard.process_request(Request(address, callback=spider.parse, meta=meta))
        assert refused.value.kind == "private_address"
    own = spider_of(address)
    assert guard_of(own).process_request(Request(address, callback=own.parse)) is None


def test_private_start_allows_only_its_own_kind_of_network() -> None:
    spider = spider_of("http://127.0.0.1:8000/")
    guard = guard_of(spider)
    assert (
        guard.process_request(Request("http://localhost:9000/", meta={START_META_KEY: 1})) is None
    )
    with pytest.raises(RefusedError):
        guard.process_request(Request("http://169.254.169.254/"))


def test_private_network_is_detected_by_response_address() -> None:
    spider = spider_of("https://example.org/")
    guard = guard_of(spider)

    def answer(url: str, address: str, **meta: object) -> None:
        request = Request(url, meta=meta)
        response = TextResponse(url, request=request, ip_address=ip_address(address))
        guard._downloaded(response, request)
        guard.process_response(request, response)

    answer("https://example.org/", "8.8.8.8")
    answer("https://cdn.example.org/", "8.8.4.4")
    answer("https://in.example.org/", "10.0.0.1", proxy="http://10.0.0.1:3128")
    with pytest.raises(RefusedError, match=r"its host is at 10\.0\.0\.1, a private address"):
        answer("https://in.example.org/", "10.0.0.1")
    answer("https://example.org/", "10.0.0.2")  # the start itself is in such a network
    answer("https://in.example.org/", "10.0.0.1")


def test_site_spider_refuses_to_crawl_without_guard_middleware(site: Site, tmp_path: Path) -> None:
    site.add("/", article(1))
    no_guard = '{"contentspider.crawl.middlewares.guard.GuardMiddleware": null}'
    done = run(
        *("crawl", site.url, "--no-sitemaps", "-s", f"DOWNLOADER_MIDDLEWARES={no_guard}"),
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode
    assert "the site spider needs GuardMiddleware" in done.stderr
    assert "Traceback" not in done.stderr
    assert site.requests == []


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://example.org/x", "data:,x"])
def test_only_http_urls_are_fetched(address: str) -> None:
    spider = spider_of("https://example.org/")
    with pytest.raises(RefusedError) as refused:
        guard_of(spider).process_request(Request(address))
    assert refused.value.kind == "scheme"
    assert isinstance(refused.value, IgnoreRequest)
    assert spider.crawler.settings.getdict("DOWNLOAD_HANDLERS")["file"] is None


def test_pages_redirecting_out_of_scope_are_not_fetched(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    with serve() as other:
        small_site(other, 3)
        site.add("/", article(0, "<a href=/1>1</a><a href=/away>2</a><a href=/2>3</a>"))
        site.add("/away", f"<meta http-equiv=refresh content='0; url={other.url}/1'>")
        run("crawl", site.url, "--own-site", cwd=tmp_path)
        assert other.requests == [] or set(other.requests) == {"/robots.txt"}
    assert paths(tmp_path, site) == ["/", "/1", "/2"]


def in_scope(start: str, scope: str, *patterns: list[str]) -> Scope:
    return Scope([start], SiteKeys(), scope, *patterns)


def test_crawl_scopes_select_urls() -> None:
    addresses = [
        "http://www.e.org/docs/a",
        "https://e.org:443/docs",
        "http://e.org/docsx",
        "http://blog.e.org/docs/",
        "http://other.org/docs/",
        "http://[x",
        "ftp://e.org/docs/",
    ]
    start = "https://e.org/docs/index.html"
    assert [
        [in_scope(start, scope).has(one) for one in addresses]
        for scope in ("domain", "subdomains", "host", "path")
    ] == [
        [True, True, True, True, False, False, False],
        [True, True, True, True, False, False, False],
        [True, True, True, False, False, False, False],
        [True, True, False, False, False, False, False],
    ]
    below = in_scope("https://blog.e.org/", "subdomains")
    assert below.has("https://a.blog.e.org/")
    assert not below.has("https://e.org/")
    assert not below.has("https://myblog.e.org/")
    named = in_scope("https://e.org/%C3%BCber", "path")
    assert [named.has(f"https://e.org/{one}") for one in ("über/x", "%c3%bcber", "y")] == [
        True,
        True,
        False,
    ]


def test_redirected_start_extends_scope() -> None:
    scope = in_scope("https://e.org/docs/", "path")
    scope.widen("https://e.org/", moved_from="https://e.org/docs/")
    assert not scope.has("https://e.org/blog/")
    scope.widen("https://e.org/en/docs/", moved_from="https://e.org/docs/")
    scope.widen("https://docs.e.org/", moved_from="https://e.org/docs/")
    assert scope.has("https://e.org/en/docs/a")
    assert scope.has("https://docs.e.org/a")
    assert not scope.has("https://e.org/en/blog")


def test_include_and_exclude_patterns_select_urls() -> None:
    scope = in_scope("https://e.org/", "domain", ["/news/*", r"re:/\d{4}/"], ["*print=1*", "*.cgi"])
    assert [
        path
        for path in ("/", "/news/a", "/news/a?print=1", "/x/2024/", "/news/x.cgi", "/?u=/news/")
        if scope.has("https://e.org" + path)
    ] == ["/news/a", "/x/2024/"]
    for possible in ("/", "*.cgi", "http*/a", "https://e.org/a*", "h*", "re:a"):
        in_scope("https://e.org/", "domain", [possible])
    for wrong in (
        ("planet",),
        ("domain", ["re:("]),
        ("domain", ["news/*"]),
        ("domain", [], ["e.org/news/*"]),
    ):
        with pytest.raises(ContentSpiderError):
            in_scope("https://e.org/", *wrong)


def test_path_crawl_with_patterns_reads_sitemap_of_host(tmp_path: Path, site: Site) -> None:
    links = "".join(f"<a href=/{path}>x</a>" for path in ("docs/a", "docs/b?print=1", "blog/c", ""))
    for number, path in enumerate(("/", "/docs/", "/docs/a", "/docs/b?print=1", "/docs/d")):
        site.add(path, article(number, links))
    for number in range(5):
        site.add(f"/blog/{'abcde'[number]}", article(50 + number))
    site.add(
        "/sitemap.xml",
        "<urlset>"
        + "".join(f"<url><loc>{site.url}/{path}</loc></url>" for path in ("docs/d", "blog/e"))
        + "</urlset>",
    )
    arguments = ["-a", "scope=path", "-a", "exclude=*print=1 /docs/x*"]
    crawl_spider(tmp_path, f"{site.url}/docs/", *arguments)
    assert paths(tmp_path, site) == ["/docs/", "/docs/a", "/docs/d"]
    assert not any(path.startswith("/blog") or "print" in path for path in site.requests)


def crawl_spider(folder: Path, address: str, *arguments: str) -> str:
    """Run ``scrapy crawl site`` in a project of its own; return its log."""
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = contentspider.run.project\n")
    command = ["crawl", "site", "-a", f"url={address}", *arguments, "-O", "pages.jsonl"]
    return run(*command, "-s", "DOWNLOAD_DELAY=0", cwd=folder, module="scrapy").stderr


def test_crawl_name_depends_on_starts_and_options() -> None:
    front = ["https://example.org", "http://www.example.org/", "example.org:443", "EXAMPLE.org"]
    assert {crawl_name([one]) for one in front} == {"example.org"}
    asked: list[tuple[Any, ...]] = [
        (["example.org"],),
        (["blog.example.org"],),
        (["shop.example.org"],),
        (["example.org/docs/"],),
        (["example.org/blog/"],),
        (["example.org/?a=1"],),
        (["example.org"], "host"),
        (["example.org/docs/"], "path"),
        (["example.org"], "domain", ["/a*"]),
        (["example.org"], "domain", [], ["/a*"]),
        (["example.org:8000"],),
        (["example.org", "example.com"],),
        ([f"{'x' * 60}.org/a", f"{'y' * 60}.org"],),
        ([f"{'x' * 60}.org/b", f"{'y' * 60}.org"],),
    ]
    names = [crawl_name(*one) for one in asked]
    assert len(set(names)) == len(names)
    assert all(len(name) < 150 and "/" not in name for name in names)
    assert crawl_name(["b.org", "a.org"]) == crawl_name(["a.org", "b.org"]) == "a.org+b.org"
    assert names[3].startswith("example.org-docs-")
    assert "secret" not in crawl_name(["http://me:secret@example.org/x"])


def test_scrapy_crawl_is_named_by_its_url() -> None:
    def name(settings: dict[str, str], **arguments: str) -> str:
        crawler = Crawler(SiteSpider, settings)
        SiteSpider.from_crawler(crawler, url="https://example.org", **arguments)
        return str(crawler.settings["CONTENTSPIDER_CRAWL"])

    assert name({}) == "example.org"
    assert name({}, scope="host", exclude="/a*") == "example.org"
    assert name({"CONTENTSPIDER_CRAWL": "mine"}) == "mine"


def test_crawl_keeps_name_given_by_earlier_version(tmp_path: Path) -> None:
    scope = ("domain", [], ["/a*"])
    former = crawl_name(["example.org"], *scope)
    folder = str(tmp_path)
    assert name_of(["example.org"], scope, folder) == "example.org" != former
    made = tmp_path / HISTORIES / crawl_book(former, folder).name
    made.parent.mkdir()
    made.touch()
    assert name_of(["example.org"], scope, folder) == former
    assert name_of(["example.org"], ("domain", [], []), folder) == "example.org"
    crawl_book("example.org", folder).touch()
    assert name_of(["example.org"], scope, folder) == "example.org"


def test_exclusion_of_page_names_its_pattern() -> None:
    starts = ["https://e.org/docs/"]
    scope = Scope(starts, SiteKeys("domain"), "path", ["/docs/*"], ["*print=1", "/docs/x*"])
    found = {
        path: (scope.has_place(f"https://e.org{path}"), scope.exclusion(f"https://e.org{path}"))
        for path in ("/docs/a", "/docs/xy", "/docs/a?print=1", "/blog/a")
    }
    assert found == {
        "/docs/a": (True, ""),
        "/docs/xy": (True, "excluded by /docs/x*"),
        "/docs/a?print=1": (True, "excluded by *print=1"),
        "/blog/a": (False, "not included"),
    }


def test_default_port_is_removed_from_url(tmp_path: Path) -> None:
    assert clean_address("http://e.org:80/a:80") == "http://e.org/a:80"
    assert clean_address("https://e.org:443") == "https://e.org"
    assert clean_address("http://e.org:443/") == "http://e.org:443/"
    assert clean_address("http://[::1]:80/x@y#z") == "http://[::1]/x@y"
    assert clean_address("http://e.org:/") == "http://e.org/"


def test_subdomains_of_hosting_services_are_separate_sites() -> None:
    key = SiteKeys().key
    assert key("https://alice.github.io/") == "alice.github.io" != key("https://bob.github.io/")
    assert key("https://github.io/") == "github.io"
    assert not in_scope("https://alice.github.io/", "domain").has("https://bob.github.io/")


def test_password_is_sent_only_to_its_site_and_never_stored(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    token = base64.b64encode("müller:s/cret".encode()).decode()
    asked: list[str | None] = []
    handler = site.server.RequestHandlerClass
    answer = handler.do_GET

    def do_get(self: Any) -> None:
        asked.append(self.headers["Authorization"])
        if self.headers["Authorization"] == f"Basic {token}" and self.path == "/1":
            site.pages["/1"] = (
                503 if self.path not in site.requests else 200,
                *site.pages["/1"][1:],
            )
        if self.headers["Authorization"] == f"Basic {token}":
            answer(self)
        else:
            self.send_error(401)

    handler.do_GET = do_get  # type: ignore[attr-defined]
    address = site.url.replace("://", "://m%C3%BCller:s%2Fcret@") + "/"
    with serve() as other:
        site.add("/", article(0, f"<a href=/1>1</a><a href=/2>2</a><a href={other.url}/>3</a>"))
        done = run("crawl", address, "--own-site", "--log-level", "DEBUG", "--resume", cwd=tmp_path)
    assert paths(tmp_path, site) == ["/", "/1", "/2"]
    assert set(asked) == {f"Basic {token}"}
    secrets = ("s/cret", "s%2Fcret", token)
    assert not any(secret in done.stderr for secret in secrets)
    for path in tmp_path.rglob("*"):
        assert not any(secret in path.name for secret in secrets)
        if path.is_file():
            assert not any(secret.encode() in path.read_bytes() for secret in secrets), path


def test_password_header_is_limited_to_origin_and_removed_after_request() -> None:
    spider = spider_of("http://me:secret@example.org:80/")
    assert spider.start_urls == ["http://example.org/"]
    middleware = HeadersMiddleware.from_crawler(spider.crawler)
    request = Request("http://example.org/a")
    middleware.process_request(request)
    assert request.headers["Authorization"] == b"Basic bWU6c2VjcmV0"
    middleware.process_response(request, HtmlResponse(request.url))
    assert "Authorization" not in request.headers
    middleware.process_request(request)
    middleware.process_exception(request, OSError())
    assert "Authorization" not in request.headers
    for other in ("https://example.org/", "http://example.org:8080/", "http://a.example.org/"):
        request = Request(other)
        middleware.process_request(request)
        assert "Authorization" not in request.headers


def test_password_in_link_is_dropped() -> None:
    spider = spider_of("https://example.org/")
    replaced = guard_of(spider).process_request(Request("https://me:x@example.org/a"))
    assert replaced is not None
    assert replaced.url == "https://example.org/a"


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("[::1]", "loopback"),
        ("::", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::127.0.0.1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("::ffff:169.254.169.254", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b::192.168.0.1", "private"),
        ("64:ff9b:1::8.8.8.8", "private"),
        ("::8.8.8.8", "private"),
        ("::127.0.0.1", "private"),
        ("::ffff:0:8.8.8.8", "private"),
        ("fec0::1", "private"),
        ("fc00::1", "private"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "private"),
        ("2001:db8::1", "private"),
        ("3fff::1", "private"),
        ("5f00::1", "private"),
        ("100::1", "private"),
        ("ff02::1", "private"),
        ("ff0e::1", "private"),
        ("224.0.0.251", "private"),
        ("239.255.255.250", "private"),
        ("100.64.0.1", "private"),
        ("192.0.0.8", "private"),
        ("192.88.99.1", "private"),
        ("198.51.100.1", "private"),
        ("240.0.0.1", "private"),
        ("0300.0250.0.1", "private"),
        ("10.1", "private"),
        ("\uff11\uff12\uff17\u3002\uff10.0.1", "loopback"),
        ("A.LOCALHOST.", "loopback"),
        ("localhost\u3002", "loopback"),
        ("10.0.0.1\uff0e", "private"),
        ("::ffff:8.8.8.8", ""),
        ("64:ff9b::8.8.8.8", ""),
        ("2002:808:808::", ""),
        ("2606:2800:220:1::1", ""),
    ],
)
def test_special_addresses_are_not_public(host: str, network: str) -> None:
    host = host.strip("[]")
    assert network_of(host) == network
    address = f"http://[{host}]/" if ":" in host else f"http://{host}/"
    if not network:
        assert check(address) == host
        return
    with pytest.raises(FetchError, match=f"is a {network} address"):
        check(address)
    guard = guard_of(spider_of("https://example.org/"))
    with pytest.raises(IgnoreRequest, match=f"is a {network} address"):
        guard.process_request(Request(address))
    assert guard.closed_network("example.org.evil", host) == network


def test_private_networks_are_classified_by_ip_address() -> None:
    assert network_of("fe80::1%eth0") == "link-local"
    assert network_of("2a00:1450:4001:81b::200e") == ""
    assert network_of("fd00::1") == network_of("2002:a00:1::") == "private"
    assert network_of("2001:4860:4860::8888") == ""
    assert network_of("") == network_of("example.localhost.org") == ""


def test_start_requests_contain_no_password() -> None:
    spider = spider_of("http://me:secret@example.org/x, https://example.com")

    async def requests() -> list[Request]:
        return [request async for request in spider.start()]

    assert all("secret" not in request.url for request in asyncio.run(requests()))
