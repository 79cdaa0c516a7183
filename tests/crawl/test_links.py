"""Links: which a page has, and that they cost little, whatever they look like."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import quoteattr

import pytest
from parsel import Selector
from scrapy.http import HtmlResponse, Response

from contentspider.crawl.base import links
from contentspider.crawl.base.links import (
    MAX_TEXT_CHARS,
    caching_resolver,
    header_links,
    link_texts,
    page_links,
    read_head,
    read_refresh,
    resolve_link,
)
from contentspider.crawl.spider import discovery, duplicates, sessions, traps
from contentspider.ground import addresses

PATTERNS = [
    (module, name)
    for module in (discovery, duplicates, links, sessions, traps)
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern)
]
UNITS = ["a", "0", "a0", "-", "/", "?", "&", "&sid=a0", "/(a(", ";jsessionid=a", "utm_", "http:"]


@pytest.mark.parametrize(
    ("module", "name"), PATTERNS, ids=[f"{module.__name__}.{name}" for module, name in PATTERNS]
)
def test_regular_expressions_take_linear_time(module: object, name: str) -> None:
    pattern = getattr(module, name)
    started = time.process_time()
    for unit in UNITS:
        for text in (unit * 5_000, f"https://e.org/{unit * 5_000}\n!"):
            pattern.search(text.encode() if isinstance(pattern.pattern, bytes) else text)
    assert time.process_time() - started < 1


def test_url_functions_take_linear_time() -> None:
    started = time.process_time()
    for unit in UNITS:
        address = f"https://e.org/{unit * 5_000}"
        for function in (
            sessions.without_session,
            traps.has_repeats,
            traps.shape_of,
            addresses.clean_address,
            duplicates.plain_form,
        ):
            function(address)
    assert time.process_time() - started < 2


def test_links_are_read_from_tree_and_resolve_against_base_href() -> None:
    html = """<base href="/b/"><a href="x?a=1#top">1</a><a href=" https://e.org/y ">2</a>
    <a href="//f.org/z">3</a><a href="#top">4</a><a href="mailto:a@b">5</a><a href="pic.JPG">6</a>
    <a href="http://[broken">7</a><a href="x?a=1">8</a><area href="/map"><a>9</a>"""
    root = Selector(text=html).root
    assert page_links(read_head(root, "https://e.org/a/")) == [
        "https://e.org/b/x?a=1",
        "https://e.org/y",
        "https://f.org/z",
        "https://e.org/map",
    ]


def test_links_have_their_texts() -> None:
    html = f"""<a href=/1> Ferries\n<b>to</b> Uji <!-- - --></a><a href=/1><img alt="Boat"></a>
    <a href=/1>Boat</a><a href=/1>3</a><a href=/1>4</a><a href=/3>{"x " * 900}</a>
    <a href=/2><script>a()</script><i>Cup</i><style>b</style></a>
    <map><area href=/4 alt="The isle"></map><a href=/2>Tea\x1f</a>"""
    texts = link_texts(read_head(Selector(text=html).root, "https://e.org/a/"))
    assert {address.rpartition("/")[2]: texts for address, texts in texts.items()} == {
        "1": ["Ferries to Uji", "Boat", "3"],
        "2": ["Cup", "Tea"],
        "3": [("x " * (MAX_TEXT_CHARS // 2)).strip()],
        "4": ["The isle"],
    }


HREFS = [
    "x",
    "?x",
    ";x",
    "",
    ".",
    "../x",
    "/x",
    "//f.org/x",
    "//",
    "//?p=2",
    "http:",
    "https://",
    "http:?p=2",
    "http:x",
    "https:x",
    "&#1;?p=2",
    "/\t/?x",
    "\n?y",
]


@pytest.mark.parametrize(
    "base",
    [
        "http://e.org",
        "http://e.org?a=/b/c",
        "http://e.org/",
        "https://e.org/a/b.html?c=d/e",
        "http://e.org/a/;b?c",
    ],
)
def test_links_resolve_like_urljoin(base: str) -> None:
    known = caching_resolver()
    for href in HREFS:
        root = Selector(text=f'<a href="{href}">1</a>').root
        clean = (root.find(".//a").get("href") or "").strip().replace("\t", "").replace("\n", "")
        parts = urlsplit(address := urljoin(base, clean).partition("#")[0])
        expected = [address] if clean and parts.scheme in ("http", "https") and parts.netloc else []
        found = [
            page_links(read_head(root, base), resolve=resolve)
            for resolve in (resolve_link, known, known)
        ]
        assert found == [expected] * 3, href


def test_overlong_links_are_ignored() -> None:
    root = Selector(
        text=f'<a href="data:,{"x" * 10_000}">1</a><a href="/{"y" * 10_000}">2</a>'
    ).root
    assert page_links(read_head(root, "https://e.org/a/")) == []
    base = "https://e.org/" + "q" * 10_000
    assert page_links(read_head(Selector(text="<a href=?z>1</a>").root, base)) == [base + "?z"]


def test_invalid_base_href_is_ignored() -> None:
    root = Selector(text="<base href='http://[x'><a href=y>1</a>").root
    assert page_links(read_head(root, "https://e.org/a/")) == ["https://e.org/a/y"]


def test_only_html_responses_have_links() -> None:
    fields: Any = {"url": "https://e.org/a/", "body": b"<p><a href=b>x</a> <a href=/c#d>y</a>"}
    assert list(links.links(HtmlResponse(**fields))) == ["https://e.org/a/b", "https://e.org/c"]
    assert links.links(Response(**fields)) == []
    assert links.links(HtmlResponse("https://e.org/a/")) == []


def test_links_stay_within_scope() -> None:
    body = b"""<a href=/a>1</a><a href=https://www.e.org/b>2</a><a href=https://other.org/>3</a>"""
    response = HtmlResponse("https://docs.e.org/", body=body)
    own, sibling, foreign = "https://docs.e.org/a", "https://www.e.org/b", "https://other.org/"
    assert links.links(response) == [own, sibling]
    assert links.links(response, scope="host") == [own]
    assert links.links(response, scope="web") == [own, sibling, foreign]
    with pytest.raises(ValueError, match="'domain', 'host' or 'web'"):
        links.links(response, scope="everything")


@pytest.mark.parametrize(
    ("content", "refresh"),
    [
        ("0; URL = '/b'", (0, "/b")),
        ("0,url=/b", (0, "/b")),
        ("00; /b", (0, "/b")),
        ('5;url="/b" more', (5, "/b")),
        (".5 url=/b ", (0, "/b")),
        ("0.9;urls/b", (0, "urls/b")),
        ("0;url=", None),
        ("300", None),
        ("0url=/b", None),
        ("now; url=/b", None),
        ("9" * 5_000, None),
    ],
)
def test_meta_refresh_is_parsed_like_in_browsers(
    content: str, refresh: tuple[float, str] | None
) -> None:
    assert read_refresh(content) == refresh
    html = f"<meta http-equiv=' Refresh' content={quoteattr(content)}>"
    assert read_head(Selector(text=html).root, "https://e.org/a").refresh == refresh


def test_meta_refresh_inside_noscript_is_ignored() -> None:
    meta = "<meta http-equiv=refresh content='0; url=/b'>"
    head = read_head(Selector(text=f"<noscript>{meta}</noscript>").root, "https://e.org/a")
    assert (head.refresh, page_links(head)) == (None, [])
    head = read_head(Selector(text=meta).root, "https://e.org/a")
    assert page_links(head) == ["https://e.org/b"]


def test_frame_sources_are_links() -> None:
    html = "<frameset><frame src=menu.html><frame src='javascript:x()'></frameset>"
    head = read_head(Selector(text=html).root, "https://e.org/a/")
    assert (head.has_frames, page_links(head)) == (True, ["https://e.org/a/menu.html"])
    html = "<p>Tea<iframe src=/table></iframe><iframe></iframe>"
    head = read_head(Selector(text=html).root, "https://e.org/a/")
    assert (head.has_frames, page_links(head)) == (False, ["https://e.org/table"])


@pytest.mark.parametrize(
    ("value", "relations"),
    [
        # RFC 8288, 3.3: the first relation counts; 3: a quote may be escaped in a title.
        ("</x>; rel=next; rel=canonical", ["next"]),
        (r'</x>; title="a \"b\"; rel=next"; rel=canonical', ["canonical"]),
        ('</x>;; rel="alternate canonical",', ["alternate", "canonical"]),
        # RFC 8288, 3.2: a link with an anchor is not the page's.
        ('</x>; rel=canonical; anchor="/other"', []),
        ('</x>; rel=canonical; anchor="#part", </y>; rel=next', ["next"]),
    ],
)
def test_links_of_headers_are_read_as_rfc_8288_has_them(value: str, relations: list[str]) -> None:
    response = Response("https://e.org/", headers={"Link": value})
    assert [relation for relation, _, _ in header_links(response)] == relations
