"""The readers of what comes from outside, each with the inputs that it is given by `test_fuzz.py`.

A kind is a function that gets a folder of its own and returns one that makes an input by a seed and
reads it. What that raises other than `ContentSpiderError` is a fault.
"""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.http import HtmlResponse, XmlResponse

from contentspider import links
from contentspider.crawl.base.items import Bindings
from contentspider.crawl.base.logins import Login, read_logins
from contentspider.crawl.middlewares.login_form import LoginRefusedError, filled, find_form
from contentspider.crawl.middlewares.robots import BoundedRobots, robots_directives
from contentspider.crawl.queue.requests import load_request
from contentspider.crawl.spider.sitemaps import is_feed, read_sitemap
from contentspider.evaluation.corpora import Corpus
from contentspider.ground.compression import pack_text, unpack_text
from contentspider.page.input.document_process import read
from contentspider.page.input.documents import document_html, document_kind
from contentspider.page.input.fields_file import FieldsFile
from contentspider.page.input.overrides import Overrides
from contentspider.page.input.page import Page
from contentspider.run.sitesfile import read_sites
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from contentspider.site.models.folder import MANIFEST
from contentspider.site.models.identity import item_hash
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import OptionalFields, page_fields
from contentspider.site.own.readers.feeds import read_entries
from contentspider.site.own.sources import SOURCES
from contentspider.site.own.texts import MAX_CHARS, MAX_TEXTS, MAX_TITLE_CHARS
from contentspider.state.book.item_json import dump_item, load_item
from contentspider.state.files.warc import Exchange, WarcFile, whole_bytes
from contentspider.state.stores.transfer import WEIGHTS, export_model, import_model
from tests import officefiles
from tests.fuzzed_state import crawls, odd_bytes, odd_rows, sites
from tests.garbling import flipped, garbled, with_odd_values
from tests.owntexts import JSON_FEED, MARKDOWN, as_json, atom, rss
from tests.sites import article, prose

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.fuzzed_state import One

URL = "https://e.org/docs/x.md"
# A page with all that the compiled code has a mind of its own about.
RICH = Path(__file__).with_name("rich.html").read_text(encoding="utf-8")
WIDE = f"<title>T</title>{'<div class=a>' * 60}<p>{prose(1)}{'</div>' * 30}<p>{prose(2)}"
PAGES = [RICH.encode(), RICH.encode("utf-16"), WIDE.encode(), article(1).encode()]
TAGS = (
    b"<p> </p> <div> </div> <table> <tr> <td> </table> <li> </ul> <pre> </pre> <template>"
    b" <noscript> </noscript> <svg> </svg> <form> <body> </body> </html> <br> <img> <base href=//x>"
    b" <a href=x> </a> <script> </script> <plaintext> <title> <math> <select> <option> <frameset>"
    b" hidden class=a-1 id=B:1 itemprop=text style=display:none colspan=999999 rowspan=-1 &nbsp;"
)
OVERRIDES = b"""drop = [".menu", "#comments"]  # everywhere
keep = ["main"]
title = "h1"
date = "time"
[[rule]]
pattern = "/docs/*"
keep = ["p > b", "div:nth-child(2)"]
drop = ["a[href^='/x']"]
[[rule]]
pattern = "re:^https?://e[.]org/"
title = "h2"
"""
FIELDS = b"""preset = ["product", "event", "recipe", "place"]
[title]
css = "h1::text"
[size]
xpath = "//table//td[2]"
type = "number"
many = true
[day]
json = "Article.datePublished"
type = "date"
learn = true
[maker]
examples = [{url = "https://e.org/1", value = "a"}, {url = "https://e.org/2", value = 2}]
"""
SELECTORS = (
    b"* > + ~ :not( :has( :is( ) :nth-child(2n+1) :root :hover ::text [a=b] .a #b , re: (a+)+$ ( \\"
)
LOGIN = b"""[login.wiki]
form = "https://e.org/in?a=1"
fields = {name = "me", password = {env = "PATH"}}
success = "a.me > b"
cookie = "sid"
logout = ["/bye*", "re:out$"]
[login.own]
form = "http://127.0.0.1:8000/"
fields = {word = {env = "HOME"}}
http = false
"""
LOGIN_FORM = b"""<base href=/a/><form action="/in" method=post>
<input type=hidden name=token value=1><input name=name><input type=password name=word>
<select name=where><option>a<option selected>b
</select><input type=radio name=r value=1 checked><textarea name=t>x</textarea>
<button name=go value=1>Log in</button><input type=submit name=also></form>
"""
SITES = b"""[defaults]
interval = "1d"
output = ["{site}.jsonl"]
[defaults.settings]
DOWNLOAD_DELAY = 0.5
[site.tea]
urls = ["https://tea.org/", "example.org"]
max_pages = 10
[site."tea.co.uk"]
urls = "https://tea.co.uk"
interval = "12h"
index = ["sqlite:x.db"]
settings = {LOG_LEVEL = "INFO", CONTENTSPIDER_PASSAGES = 500}
"""
ROBOTS = b"""User-agent: *
Disallow: /private/*
Allow: /private/$
Crawl-delay: 1.5
Request-rate: 1/10s 08:00-09:00
Visit-time: 0600-0845
Sitemap: https://e.org/map.xml

User-agent: contentspider
User-agent: other
Disallow: /*.pdf$
Noindex: /x
"""
SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>https://e.org/1</loc><lastmod>2024-03-01</lastmod><xhtml:link
 rel="alternate" hreflang="de" href="https://e.org/de/1"/></url><url><loc>/2</loc><priority>0.5</priority></url></urlset>"""
POST = {
    "link": "https://e.org/a/",
    "title": {"rendered": "A &amp; B"},
    "content": {"rendered": "<p>One</p><p>two", "protected": False},
    "date_gmt": "2024-03-01T08:00:00",
}
RECORDS: list[Any] = [
    JSON_FEED,
    [POST, POST],
    {"docs": [{"location": "a/#b", "title": "B", "text": "<p>x</p>"}, {"location": "a/"}]},
    [{"documents": [{"i": 1, "t": "T", "u": "/a", "s": "S", "h": "#b"}], "index": {}}] * 3,
]
FEEDS = [
    rss(
        "<title>T</title><link>/a</link><dc:creator>Ada Byron</dc:creator><pubDate>Thu, 31 Oct 2013"
        " 12:42:46 +0000</pubDate><content:encoded><![CDATA[<p>One<p>two]]></content:encoded>",
        "<guid>https://e.org/b</guid><description>&lt;p&gt;x &amp;hellip;</description>",
    ),
    atom(
        "<title type='html'>&lt;i>T</title><link href='a' xml:base='/b/'/><updated>2024-03-01"
        "</updated><content type='xhtml'><p>a</p>b</content>"
    ),
    b"<search><entry><title>T</title><url>/a</url><content><![CDATA[<p>x]]></content></entry></search>",
    MARKDOWN.encode(),
    *map(as_json, RECORDS),
]
TYPES = ["", "text/html", "text/markdown; charset=utf-7", "application/feed+json", "\x00;=\ud800"]
SOURCE_OBJECTS = [SOURCES.load(name)() for name in SOURCES.shipped]


@cache
def model() -> SiteModel:
    pages = [Page.from_html(article(number), f"https://e.org/{number}") for number in range(5)]
    learned = SiteLearner("e.org").fit([*pages, Page.from_html(RICH, "https://e.org/docs/x")])
    # JSON knows no tuples.
    return SiteModel.parse(json.loads(json.dumps(learned.manifest())), learned.dump_weights())


def _page(body: bytes, draw: random.Random, overrides: Overrides | None = None) -> Page:
    kind = draw.choice([None, None, "text/html; charset=utf-8", "text/html; charset=x\udc80"])
    return Page.from_html(body, URL, kind, draw.random() < 0.3, overrides=overrides)


def _use(page: Page, by: SiteModel | None, passage_chars: int = 300) -> None:
    """Do with a page what a crawl does with it."""
    found = by.extract(page, keep_teasers=True) if by else extract_page(page, "e.org")
    fields = page_fields(page, "e.org", found, found.model_version, OptionalFields(passage_chars))
    item_hash(fields)
    json.dumps(fields)


def pages(_: Path) -> One:
    model()  # learned before the memory of the inputs is measured

    def one(draw: random.Random) -> None:
        page = _page(garbled(draw, PAGES, TAGS.split()), draw)
        _use(page, model() if draw.random() < 0.7 else None)
        if draw.random() < 0.2:
            assert Page.load(page.dump()).content.blocks == page.content.blocks
            _use(Page.load(page.dump()), model())

    return one


def links_of_pages(_: Path) -> One:
    def one(draw: random.Random) -> None:
        body = garbled(draw, PAGES, TAGS.split())
        response = HtmlResponse(
            URL, body=body, headers={"Content-Type": "text/html; charset=utf-8"}
        )
        list(links(response))
        is_feed(response)

    return one


def read_own_texts(body: bytes, content_type: str) -> None:
    for source in SOURCE_OBJECTS:
        texts = source.read(body, URL, content_type)
        assert len(texts) <= MAX_TEXTS
        for text in texts:
            assert 0 < len(text.text) <= MAX_CHARS
            assert len(text.title) <= MAX_TITLE_CHARS
            assert text.url.startswith(("http://", "https://"))
            json.dumps(text.to_record(), ensure_ascii=False).encode()
            assert "\0" not in text.text + text.title


def own_texts(_: Path) -> One:
    def one(draw: random.Random) -> None:
        body = garbled(draw, FEEDS)
        if draw.random() < 0.2:
            body = as_json(with_odd_values(draw, draw.choice(RECORDS), 0.15))
        read_own_texts(body, draw.choice(TYPES))
        read_entries(body, URL, texts=0)

    return one


def robots(_: Path) -> One:
    words = (
        b"User-agent: Disallow: Allow: Sitemap: * $ % %2 Crawl-delay: 1e999 inf nan \r \x00".split()
    )

    def one(draw: random.Random) -> None:
        body = garbled(draw, [ROBOTS], words)
        parser = BoundedRobots(body)
        for path in ("", "private/x", "a.pdf", "%ff%00"):
            parser.allowed(f"https://e.org/{path}", b"contentspider")
        list(parser.file.sitemaps)
        robots_directives([body])

    return one


def sitemaps(_: Path) -> One:
    bodies = [SITEMAP, SITEMAP.replace(b"urlset", b"sitemapindex").replace(b"url>", b"sitemap>")]
    packed = [gzip.compress(body) for body in bodies]

    def one(draw: random.Random) -> None:
        body = flipped(draw, draw.choice(packed), packed)
        if draw.random() < 0.8:
            body = garbled(draw, bodies)
        for address, lastmod in read_sitemap(XmlResponse("https://e.org/map.xml", body=body))[0]:
            assert address.startswith(("http://", "https://"))
            assert isinstance(lastmod, str)

    return one


def models(folder: Path) -> One:
    manifest, weights = model().manifest(), json.loads(model().dump_weights())
    path, page = folder / "model.zip", Page.from_html(RICH, URL)
    export_model(model(), path)
    archive = path.read_bytes()

    def stored(draw: random.Random) -> SiteModel:
        if draw.random() < 0.2:
            path.write_bytes(flipped(draw, archive, [archive]))
            return import_model(path)
        chance = draw.choice([0.001, 0.01, 0.1])
        said = with_odd_values(draw, json.loads(json.dumps(manifest)), chance)
        data = json.dumps(with_odd_values(draw, weights, chance)).encode()
        if draw.random() < 0.3:
            data = garbled(draw, [data])
        named = {"weights": WEIGHTS, "sha256": sha256(data).hexdigest()}
        text = json.dumps({**said, **named} if isinstance(said, dict) else said).encode()
        (folder / MANIFEST).write_bytes(garbled(draw, [text]) if draw.random() < 0.2 else text)
        (folder / WEIGHTS).write_bytes(data)
        return SiteModel.load(folder)

    def one(draw: random.Random) -> None:
        found = stored(draw)
        _use(page, found)
        found.is_of(None)
        repr(found)
        found.weights(page, 0)
        json.dumps(found.manifest())

    return one


def priors(_: Path) -> One:
    data, page = Prior.shipped().dump(), Page.from_html(RICH, URL)

    def one(draw: random.Random) -> None:
        found = Prior.load(flipped(draw, data, [data]))
        extract_page(page, "e.org", found)

    return one


def warcs(folder: Path) -> One:
    path = folder / "x.warc.gz"
    exchange = Exchange(URL, "GET", "/", [("Host", "e.org")], b"", "200 OK", [("A", "b")], b"<p>x")
    made = WarcFile(path, "test")
    made.write(exchange)
    made.close()
    whole = path.read_bytes()

    def one(draw: random.Random) -> None:
        path.write_bytes(flipped(draw, whole, [whole]))
        found = WarcFile(path, "test")
        found.write(exchange)
        found.close()
        with path.open("rb") as file:
            assert whole_bytes(file) == path.stat().st_size

    return one


def site_files(folder: Path) -> One:
    path = folder / "sites.toml"
    words = b'[site.a] [[site]] = """ 1979-05-27T07:32:00Z inf 0x {a=1} {site} "s3://x" settings'

    def one(draw: random.Random) -> None:
        path.write_bytes(garbled(draw, [SITES], words.split()))
        read_sites(path)

    return one


def login_files(folder: Path) -> One:
    """Return a reader of ``login.toml``, and of forms in pages."""
    path = folder / "login.toml"
    words = b'[login.a] [[login]] = """ 07:32:00Z {env="PATH"} http = true success = "a[" logout'
    login = Login("https://e.org/in", {"name": "me", "word": "x"}, frozenset(["word"]))
    tags = b"<form <select <option <input type=password type=radio name=name name=word multiple > <"

    def one(draw: random.Random) -> None:
        path.write_bytes(garbled(draw, [LOGIN], words.split()))
        body = garbled(draw, [LOGIN_FORM], tags.split())
        page = HtmlResponse("https://e.org/in", body=body, encoding="utf-8")
        form = find_form(page, login)
        with suppress(LoginRefusedError):
            assert form is None or filled(form, page, login).method == "POST"
        read_logins(str(path))

    return one


def corrections(_: Path) -> One:
    body = RICH.encode()

    def one(draw: random.Random) -> None:
        text = garbled(draw, [OVERRIDES], SELECTORS.split()).decode("utf-8", "replace")
        page = _page(body, draw, Overrides.parse(text))
        _use(page, model())
        _use(Page.load(page.dump()), model())

    return one


def own_fields(_: Path) -> One:
    body = RICH.encode()

    def one(draw: random.Random) -> None:
        text = garbled(draw, [FIELDS], SELECTORS.split()).decode("utf-8", "replace")
        page = Page.from_html(body, URL, fields_file=FieldsFile.parse(text))
        assert Page.load(page.dump()).own == page.own

    return one


class _Spider(Spider):
    name = "fuzz"


def documents(_: Path) -> One:
    """Garble the parts of office files and e-books (and seal them again), the files, and texts."""
    sealed = list(officefiles.PARTS.values())
    files = list(officefiles.FILES.values())
    texts = [officefiles.MARKDOWN, prose(3).encode()]

    def one(draw: random.Random) -> None:
        kind = "office"
        choice = draw.random()
        if choice < 0.6:
            parts: dict[str, str | bytes] = {**draw.choice(sealed)}
            for name in draw.sample(sorted(parts), draw.randint(1, 2)):
                text = parts[name]
                assert isinstance(text, str)
                parts[name] = garbled(draw, [text.encode()])
            body = officefiles.zipped(parts)
        elif choice < 0.9:
            body = (
                garbled(draw, [officefiles.RTF])
                if choice < 0.75
                else flipped(draw, draw.choice(files), files, [b"PK\3\4", b"\0" * 50])
            )
        else:
            kind, body = draw.choice(["markdown", "text"]), garbled(draw, texts)
        document_kind(body, "text/plain", URL)
        document = read(kind, body, draw.choice(["", "text/plain; charset=utf-16"]), 60)
        page = Page.from_html(document_html(document, URL), URL)
        page_fields(page, "e.org", None, "", OptionalFields(passages=300))

    return one


def records(folder: Path) -> One:
    """What a book has as JSON: pages, items, requests; and the lines of a corpus."""
    page = json.loads(unpack_text(Page.from_html(RICH, URL).dump()))
    item = json.loads(dump_item({"url": "u", "tags": ["a"], "when": 1.5, "more": {"a": (1, b"x")}}))
    request = {
        "callback": "parse",
        "meta": {"dict": {"depth": 1, "item": {"item": [json.dumps(item), None, 1]}}},
    }
    request |= {"headers": {"dict": {"A": {"list": [{"bytes": "61"}]}}}}
    gold = {"path": "a.html", "text": "x", "optional_text": "y", "host": "e.org"}
    spider, corpus = _Spider(), Corpus(folder, {})

    def one(draw: random.Random) -> None:
        kind = draw.randrange(4)
        chance = draw.choice([0.002, 0.02, 0.2])
        text = json.dumps(with_odd_values(draw, (page, item, request, gold)[kind], chance))
        if draw.random() < 0.2:
            text = garbled(draw, [text.encode()]).decode("utf-8", "replace")
        if kind == 0:
            _use(Page.load(pack_text(text)), model())
        elif kind == 1:
            load_item(text)
        elif kind == 2:
            load_request(text, URL, 0, spider, Bindings())
        else:
            (folder / "gold.jsonl").write_text(text, encoding="utf-8", errors="replace")
            corpus.gold()

    return one


# By their names, and how many inputs each gets of 1,000,000.
KINDS: dict[str, tuple[Callable[[Path], One], int]] = {
    "pages": (pages, 140_000),
    "links": (links_of_pages, 100_000),
    "own texts": (own_texts, 150_000),
    "robots": (robots, 150_000),
    "sitemaps": (sitemaps, 150_000),
    "models": (models, 40_000),
    "priors": (priors, 5_000),
    "warc": (warcs, 60_000),
    "sites.toml": (site_files, 30_000),
    "login.toml": (login_files, 30_000),
    "corrections": (corrections, 40_000),
    "own fields": (own_fields, 20_000),
    "records": (records, 60_000),
    "documents": (documents, 10_000),
    "book bytes": (crawls(odd_bytes), 10_000),
    "book rows": (crawls(odd_rows), 10_000),
    "history bytes": (sites(odd_bytes), 7_500),
    "history rows": (sites(odd_rows), 7_500),
}
