"""Addresses that are none, wherever a site writes them, cost nothing but themselves."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, XmlResponse
from scrapy.utils.httpobj import urlparse_cached

from contentspider import links
from contentspider.cli import main
from contentspider.crawl.spider.sitemaps import read_sitemap
from contentspider.crawl.spider.spider import SiteSpider
from contentspider.ground.addresses import (
    absolute,
    clean_address,
    is_web_address,
    join,
    split_address,
)
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.scope import SCOPES, Scope, crawl_name, start_problem
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.page import Page
from contentspider.site.models.identity import page_id
from contentspider.site.models.record import page_fields
from contentspider.site.own.readers.feeds import read_entries
from tests.conftest import Site, read_jsonl, run
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

ODD = [
    "http://[x/",
    "http://[::1]x/",
    "http://[vz.]/",
    "http://[::ffff:1.2.3.4%25e]\u202e/",
    "http://e.org:port/",
    "http://e.org:99999/",
    "http://e.org:-1/",
    "http://℀.org/",
    "http://[::1]{http:{@[::1",
    "//[x",
    "http://.",
    "http://../site",
    "http://a..e.org/",
    f"http://{'a' * 64}.e.org/",
]
PIECES = [
    *("http://", "https:", "//", "/", "[", "]", "[::1]", "[v1.a]", "%25", "@", ":", ":0", ":99999"),
    *("#", "?", "&", "=", "\\", "\t", "\0", "\x7f", "\u2028", "\ud800", "ü", "℀", "．", "／", "＠"),
    *("xn--a", "..", "e.org", "127.1", "٣", "a" * 70, "x" * 300, "ſ", "<", "\u202e", " ", ";", "|"),
]
BASE = "https://e.org/a/b"


def escaped(address: str) -> str:
    return address.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def named(address: str) -> list[str]:
    """Return the addresses that are read of a feed, a sitemap and a page that name one."""
    odd = escaped(address)
    feed = (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><entry xml:base="{odd}"><link href="a"/>'
        f'</entry><entry><link href="{odd}"/></entry></feed>'
    )
    sitemap = f"<urlset><url><loc>{odd}</loc></url><url><loc>/1</loc></url></urlset>"
    page = f'<base href="{odd}"><link rel=canonical href="{odd}"><p>a <a href="{odd}">b</a>'
    fields = page_fields(Page.from_html(page, BASE), "e.org", None, "")
    return [
        *(entry.url for entry in read_entries(feed.encode(), BASE)),
        *(place for place, _ in read_sitemap(XmlResponse(BASE, body=sitemap.encode()))[0]),
        *links(HtmlResponse(BASE, body=page.encode(), encoding="utf-8"), scope="web"),
        *filter(None, [str(fields["canonical"])]),
    ]


def check(address: str, scopes: list[Scope]) -> None:
    split_address(address), join(BASE, address), clean_address(address), page_id(address)
    crawl_name([address])
    found = [absolute(BASE, address), absolute(address, "x")]
    if address.isprintable() and len(address) < 500:
        found += named(address)
    if not start_problem(address):
        found.append(address if "://" in address else f"https://{address}")
    for place in filter(None, found):
        assert is_web_address(place)
        parts = urlparse_cached(Request(place))
        assert parts.hostname and parts.port != 0
    for scope in scopes:
        scope.has(address)


@pytest.mark.large
@pytest.mark.parametrize("seed", range(2))
def test_url_functions_never_raise(seed: int) -> None:
    random_ = random.Random(seed)
    scopes = [Scope(["https://e.org/a/"], SiteKeys(), scope) for scope in SCOPES]
    for address in ODD if seed == 0 else ():
        check(address, scopes)
    for _ in range(1_000):
        start = random_.choice(["", "http://", "https://", "https://e.org/"])
        rest = random_.choices(PIECES, k=random_.randint(1, 7))
        check(start + "".join(rest), scopes)


def odd_feed() -> str:
    entries = "".join(
        f"<entry xml:base='{escaped(odd)}'><link href='x'/></entry>"
        f"<entry><link href='{escaped(odd)}'/></entry>"
        for odd in ODD
    )
    good = "".join(f"<entry><link href='/{number}'/></entry>" for number in range(5))
    return f"<feed xmlns='http://www.w3.org/2005/Atom'>{entries}{good}</feed>"


@pytest.mark.parametrize("start", ["/", "/feed"])
def test_site_full_of_malformed_urls_is_crawled(site: Site, tmp_path: Path, start: str) -> None:
    for number in range(8):
        site.add(f"/{number}", article(number))
    anchors = "".join(f'<a href="{escaped(odd)}">x</a>' for odd in ODD)
    head = f"<link rel=alternate type=application/atom+xml href=/feed><base href='{ODD[4]}'>"
    site.add("/", article(9, f"{head}{anchors}<a href={site.url}/6>6</a>"))
    site.add("/feed", odd_feed(), kind="application/atom+xml")
    places = "".join(f"<url><loc>{escaped(odd)}</loc></url>" for odd in ODD)
    site.add(
        "/map.xml",
        f"<urlset>{places}<url><loc>{site.url}/7</loc></url></urlset>",
        kind="application/xml",
    )
    lines = "".join(f"Sitemap: {odd}\nDisallow: {odd}\n" for odd in ODD)
    site.add(
        "/robots.txt", f"User-agent: *\n{lines}Sitemap: {site.url}/map.xml\n", kind="text/plain"
    )
    run("crawl", site.url + start, "--own-site", cwd=tmp_path)
    items = read_jsonl(tmp_path / "pages.jsonl")
    found = {str(item["url"]).removeprefix(site.url) for item in items}
    expected = {f"/{number}" for number in (0, 1, 2, 3, 4, 7)}
    assert found == expected | {"/", "/6"}


@pytest.mark.parametrize(
    "odd", [*ODD[:-1], "", "http://", "http://[::1", "https://\udc80/", "ftp://e.org/"]
)
def test_malformed_start_url_is_rejected_by_command_line(tmp_path: Path, odd: str) -> None:
    done = run("crawl", odd, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "address of a website" in done.stderr


def test_malformed_start_url_is_rejected_by_spider() -> None:
    with pytest.raises(ContentSpiderError, match=r"'http://\[::1\]x/' is not the address"):
        SiteSpider(url="http://[::1]x/")


@pytest.mark.parametrize("given", ["./site", "../{0}/site", "site/", "index.html", "{1}/site"])
def test_local_path_in_place_of_an_address_is_refused_at_once(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "index.html").write_text(article(1))
    path = given.format(tmp_path.name, tmp_path)
    assert main(["crawl", path]) == 2
    assert f"contentspider extract {path}" in capsys.readouterr().err
    (tmp_path / "sites.toml").write_text(f"[site.a]\nurls = ['{path}']\n")
    assert main(["run", "sites.toml"]) == 1
    assert f"contentspider extract {path}" in capsys.readouterr().err
    with pytest.raises(ContentSpiderError, match="contentspider extract"):
        SiteSpider(url=path)


@pytest.mark.parametrize("host", [".", "..", "a..example.org", "a" * 64 + ".example.org"])
def test_impossible_host_is_no_address(host: str) -> None:
    assert main(["crawl", host]) == main(["crawl", f"http://{host}/a"]) == 2
    with pytest.raises(ContentSpiderError):
        SiteSpider(url=f"http://{host}/")


def test_folder_with_the_name_of_a_domain_does_not_hide_its_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.org").mkdir()
    assert not start_problem("example.org")
    assert start_problem("./example.org")


def test_links_and_redirects_to_impossible_hosts_cost_nothing_and_are_counted(
    site: Site, tmp_path: Path
) -> None:
    host = site.url.partition("//")[2]
    site.add("/", article(0, f"<a href=/1>1</a><a href=/2>2</a><a href=http://a..{host}/3>3</a>"))
    site.add("/1", article(1, f"<a href=//a..{host}/3>3</a> <a href=http://../4>4</a>"))
    site.answer = lambda path: site.pages.get(path, (404, "text/html", b"none"))
    run("crawl", site.url, "--scope", "host", "--stats", "stats.json", cwd=tmp_path)
    stats = json.loads((tmp_path / "stats.json").read_text())["stats"]
    assert stats["contentspider/links/impossible"] == 2
    assert "log_count/ERROR" not in stats
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 2
