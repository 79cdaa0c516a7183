"""Own texts in a crawl: they are asked for within bounds, learned from, and do no harm."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Selector

from contentspider.crawl.base.links import MAX_HEAD_LINKS, read_head
from tests.conftest import read_jsonl, run
from tests.sites import article, prose
from tests.whole.test_incomplete import book_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from contentspider.site.own.texts import OwnText
    from tests.conftest import Site

COUNT = 16
HTML, JSON = "text/html; charset=utf-8", "application/json"
LIST, FULL = "/llms.txt", "/llms-full.txt"
API = '<link rel="https://api.w.org/" href=/api/>'
POSTS = "/api/wp/v2/posts"
PAGES = "/api/wp/v2/pages"
OLDER = "/older"


class Publishing:
    """A site of articles with an API of all of them, and of one that nothing links to; its server
    sends an ETag, and nothing that has not changed.
    """

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.head = API
        self.unsent: list[str] = []
        self.answers: dict[str, tuple[int, str, bytes]] = {}
        numbers = [*range(1, COUNT), OLDER]
        self.answers[POSTS] = (200, JSON, json.dumps([self.post(one) for one in numbers]).encode())
        site.answer = self._answer

    def post(self, number: object) -> dict[str, object]:
        text = "".join(f"<p>{prose(number, part)}</p>" for part in (1, 2))
        return {
            "link": f"{self.site.url}/{str(number).strip('/')}",
            "title": {"rendered": f"Page {number}"},
            "content": {"rendered": text},
            "date_gmt": "2026-02-03T04:05:06",
            "modified_gmt": "2026-02-04T04:05:06",
        }

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        path = path.partition("?")[0]
        if path == "/":
            links = "".join(f"<a href=/{number}>Page</a> " for number in range(1, COUNT))
            page = article(0, links)
        elif path == OLDER or path.strip("/") in map(str, range(1, COUNT)):
            page = article(path if path == OLDER else int(path[1:]))  # type: ignore[arg-type]
        else:
            status, kind, body = self.answers.get(path, (404, HTML, b"<p>none</p>"))
            tag = f'"{sha256(body).hexdigest()[:8]}"'
            if self.site.asked.headers.get("If-None-Match") == tag:
                self.unsent.append(path)
                return 304, kind, b""
            return status, f"{kind}\r\nETag: {tag}", body
        return 200, HTML, page.replace("<title>", f"{self.head}<title>").encode()

    def crawl(self, *options: str) -> dict[str, Any]:
        """Crawl, and return the items by their paths, and the stats as ``stats``."""
        run(
            *("crawl", self.site.url, "--own-site", "--stats", "stats.json", *options),
            cwd=self.folder,
        )
        items = read_jsonl(self.folder / "pages.jsonl")
        found: dict[str, Any] = {str(one["url"]).removeprefix(self.site.url): one for one in items}
        found["stats"] = json.loads((self.folder / "stats.json").read_text())["stats"]
        return found

    def texts(self) -> list[OwnText]:
        book = book_of(self.site, self.folder)
        try:
            return book.own_texts.of_site(self.site.url.removeprefix("http://").replace(":", "-"))
        finally:
            book.close()

    def asked(self) -> list[str]:
        """Return what beside pages and what any crawl reads was asked for, since the last call."""
        found = [path.partition("?")[0] for path in self.site.requests]
        self.site.requests.clear()
        pages = {"/", OLDER, "/robots.txt", "/sitemap.xml", *map("/{}".format, range(COUNT))}
        # Re-crawls ask for an address that cannot be.
        return sorted(path for path in found if path not in pages and len(path) != 33)


@pytest.fixture
def publishing(site: Site, tmp_path: Path) -> Publishing:
    return Publishing(site, tmp_path)


def test_own_texts_are_learned_and_kept_between_crawls(
    publishing: Publishing, tmp_path: Path
) -> None:
    found = publishing.crawl()
    assert publishing.asked() == [PAGES, POSTS, LIST]
    texts = publishing.texts()
    assert len(texts) == COUNT
    assert texts[0].text == f"{prose(1, 1)}\n{prose(1, 2)}"
    (manifest,) = (tmp_path / "models").glob("*/manifest.json")
    assert json.loads(manifest.read_text())["quality"]["pages"] == COUNT
    assert found[OLDER]["content"].endswith(prose(OLDER, 2)), "nothing else leads there"
    dates = [found[path]["published_at"] for path in ("/1", OLDER)]
    assert dates == ["2026-02-03T04:05:06+00:00"] * 2
    assert found["/1"]["modified_at"] == "2026-02-04T04:05:06+00:00"
    assert found[""]["published_at"] == "", "nobody states it"
    stats = found["stats"]
    assert stats["contentspider/own_texts/requests"] == 3
    assert stats["contentspider/own_texts/texts"] == COUNT
    assert "contentspider/pages/failed" not in stats, "two of the three are not there"

    again = publishing.crawl("--only", "changed", "--relearn")
    assert publishing.asked() == [PAGES, POSTS, LIST]
    assert publishing.unsent == [POSTS]
    assert publishing.texts() == texts
    assert list(again) == ["stats"], "nothing has changed"

    publishing.answers[POSTS] = (500, HTML, b"<p>busy</p>")
    publishing.crawl("-s", "RETRY_TIMES=0")
    assert publishing.asked() == [PAGES, POSTS, LIST], "once"
    assert publishing.texts() == texts


def test_own_text_requests_are_limited_and_stay_on_site(publishing: Publishing, site: Site) -> None:
    def link(address: str) -> str:
        return f"<link rel=alternate type=text/markdown href={address}>"

    elsewhere = site.url.replace("127.0.0.1", "localhost")
    away = f"{site.url}/away.md"
    site.server.handle_error = lambda *_: None  # type: ignore[method-assign]
    publishing.answers |= {
        "/robots.txt": (200, "text/plain", b"User-agent: *\nDisallow: /secret"),
        POSTS: (200, JSON, b"[" * 6_000_000),
        PAGES: (500, JSON, b"\xff\0 broken"),
        "/away.md": (302, f"{HTML}\r\nLocation: {elsewhere}/led.md", b""),
        "/1.md": (200, "text/markdown", prose(1, 1).encode()),
    }
    wanted = ["/secret.md", away, "/1.md", "/2.md", "/3.md", "/4.md"]
    publishing.head += link(f"{elsewhere}/other.md") + "".join(map(link, wanted))
    options = ("-s", "CONTENTSPIDER_OWN_TEXTS=6", "--max-pages")
    publishing.crawl(*options, "5")
    # What is spent stays so when the crawl goes on.
    found = publishing.crawl(*options, "0", "--resume")
    # What robots.txt forbids, and a list that is missing, cost none of it.
    asked = ["/1.md", "/2.md", "/3.md", PAGES, POSTS, "/away.md", LIST]
    assert publishing.asked() == asked
    assert len(found) == COUNT + 1, "its stats; the page that only the API knows is not found"
    assert "contentspider/pages/failed" not in found["stats"]
    assert [own.url for own in publishing.texts()] == [f"{site.url}/1"]


def test_amp_and_print_versions_are_own_texts_and_not_pages(
    publishing: Publishing, site: Site
) -> None:
    def version(mark: str) -> bytes:
        head = f"<!DOCTYPE html><html {mark}><title>One</title><link rel=canonical href=/1>"
        return f"{head}<p>{prose(1, 1)}<p>{prose(1, 2)}".encode()

    publishing.answers |= {
        "/1/amp": (200, HTML, version("amp")),
        "/print": (200, HTML, version("")),
    }
    publishing.head = "<link rel=amphtml href=/1/amp><link rel=alternate media=print href=/print>"
    found = publishing.crawl()
    assert publishing.asked() == ["/1/amp", LIST, "/print"]
    text = f"{prose(1, 1)}\n{prose(1, 2)}"
    assert sorted((own.url, own.source, own.text) for own in publishing.texts()) == [
        (f"{site.url}/1", "amp", text),
        (f"{site.url}/1", "print", text),
    ]
    assert not {"/1/amp", "/print"} & found.keys()


def test_budget_of_zero_requests_no_own_texts_and_reads_only_feed_links(
    publishing: Publishing, site: Site
) -> None:
    publishing.head += "<link rel=alternate type=application/rss+xml href=/feed>"
    item = f"<item><link>{site.url}{OLDER}</link><description>{prose(OLDER, 1)}</description>"
    feed = f"<rss><channel>{item}<author>Ada Byron</author></item></channel></rss>"
    publishing.answers["/feed"] = (200, "application/rss+xml", feed.encode())
    found = publishing.crawl("-s", "CONTENTSPIDER_OWN_TEXTS=0")
    assert publishing.asked() == ["/feed"]
    assert publishing.texts() == []
    assert found[OLDER]["author"] == []
    # A feed that is read anyway costs nothing.
    publishing.head = publishing.head.replace(API, "")
    found = publishing.crawl("-s", "CONTENTSPIDER_OWN_TEXTS=1")
    assert publishing.asked() == ["/feed", LIST]
    assert [own.url for own in publishing.texts()] == [site.url + OLDER]
    assert found[OLDER]["author"] == ["Ada Byron"]
    assert found["stats"]["contentspider/own_texts/requests"] == 1


def test_feed_with_old_domain_links_matches_pages_by_path_and_title(
    publishing: Publishing, site: Site, tmp_path: Path
) -> None:
    def item(number: int, host: str, title: str) -> str:
        text = f"<p>{prose(number, 1)}</p><p>{prose(number, 2)}</p>".replace("<", "&lt;")
        link = f"<link>http://{host}/{number}</link><title>{title}</title>"
        return f"<item>{link}<description>{text}</description></item>"

    def feed(*items: str) -> tuple[int, str, bytes]:
        body = f"<rss><channel>{''.join(items)}</channel></rss>"
        return 200, "application/rss+xml", body.encode()

    link = "<link rel=alternate type=application/rss+xml href={}>"
    publishing.head = "".join(map(link.format, ("/feed", "/links", "/mixed")))
    numbers = range(1, COUNT)
    old = [item(number, "www.old-teas.test", f"Page {number}") for number in numbers]
    publishing.answers["/feed"] = feed(*old)
    elsewhere = [item(number, f"{number}.test", f"Page {number}") for number in numbers]
    publishing.answers["/links"] = feed(*elsewhere)
    mixed = [item(9, "old-teas.test", "Page 9"), item(8, site.url[7:], "Page 8")]
    publishing.answers["/mixed"] = feed(*mixed)
    found = publishing.crawl()
    assert publishing.asked() == ["/feed", "/links", LIST, "/mixed"], "nothing of another domain"
    kept = Counter(own.source.removeprefix(f"feed {site.url}") for own in publishing.texts())
    assert kept == {"/feed": len(numbers), "/mixed": 1}
    assert len(found) == COUNT + 1
    (manifest,) = (tmp_path / "models").glob("*/manifest.json")
    assert json.loads(manifest.read_text())["quality"]["pages"] == len(numbers)


def test_llms_txt_leads_to_pages_texts_and_markdown_within_budget(
    publishing: Publishing, site: Site
) -> None:
    publishing.head = ""
    links = "".join(f"- [Page]({number}.md)\n" for number in (3, 4))
    far = "- [Far](https://example.org/)\n- [Map](/map.png)\n- [Older](/older): *old*"
    publishing.answers |= {
        LIST: (200, "text/plain", f"# Teas\n\n> All\n\n## Pages\n{links}{far}".encode()),
        FULL: (200, "text/markdown", _full(site.url, (1, 2)).encode()),
        "/3.md": (200, "text/plain", f"# Page 3\n\n{prose(3, 1)}\n\n{prose(3, 2)}".encode()),
    }
    found = publishing.crawl()
    assert publishing.asked() == ["/3.md", FULL, LIST], "three requests"
    assert sorted((own.url, own.text.partition("\n")[2]) for own in publishing.texts()) == [
        (f"{site.url}/{number}", f"{prose(number, 1)}\n{prose(number, 2)}") for number in (1, 2, 3)
    ]
    assert OLDER in found, "nothing else leads there"
    assert len(found) == COUNT + 2, "its stats, too"
    assert found["stats"]["contentspider/own_texts/requests"] == 3


def _full(root: str, numbers: Iterable[int]) -> str:
    return "".join(
        f"# Page {number}\nSource: {root}/{number}\n\n{prose(number, 1)}\n\n{prose(number, 2)}\n\n"
        for number in numbers
    )


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param("text/plain", b"\x89PNG\r\n\x1a\n\0\0](/4000)", id="binary"),
        pytest.param(HTML, b"<!DOCTYPE html><title>Not found</title>[a](/4000)", id="HTML"),
        pytest.param("text/plain", b"- [a](/4000)\n" + b"x" * 5_100_000, id="huge"),
        pytest.param(
            "text/plain",
            b"](\n(" * 400_000 + b"# a\n---\n" * 100_000,
            id="broken",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "text/plain",
            b"".join(b"- [a](http://%d.test/x.md)\n" % number for number in range(100_000)),
            id="other hosts",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_hostile_llms_txt_costs_no_page(publishing: Publishing, kind: str, body: bytes) -> None:
    publishing.head = ""
    publishing.answers |= {LIST: (200, kind, body), FULL: (200, kind, body)}
    found = publishing.crawl()
    assert len(found) == COUNT + 1, "its stats; the page that nothing leads to is not found"
    assert set(publishing.asked()) <= {LIST, FULL}
    assert publishing.texts() == []
    assert "contentspider/pages/failed" not in found["stats"]


def test_announced_links_in_head_are_limited() -> None:
    html = (
        "<meta name=Generator content='Tea 1'><link rel=stylesheet href=/a>"
        "<link rel='Alternate  Nofollow' type=' Text/Markdown' href=a.md><link rel=next>"
    )
    head = read_head(Selector(text=html).root, "http://e.org/")
    assert head.generator == "Tea 1"
    assert head.links == [("alternate nofollow", "text/markdown", "a.md")]
    root = Selector(text="<link rel=x href=/y>" * 900).root
    head = read_head(root, "http://e.org/")
    assert len(head.links) == MAX_HEAD_LINKS
