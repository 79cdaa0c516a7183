from __future__ import annotations

import json
import random
import time
from dataclasses import asdict
from typing import Any

import pytest

from contentspider.page.about.metadata import NOTHING, Metadata
from contentspider.page.input.page import Page
from contentspider.site.models.record import page_fields

URL = "https://www.harbour.example/news/ferry.html"


ADA = ("Ada Byron",)


def read(html: str, url: str = URL) -> Metadata:
    return Page.from_html(html, url).metadata


def fields(html: str, url: str = URL) -> dict[str, Any]:
    return page_fields(Page.from_html(html, url), "harbour.example", None, "")


def json_ld(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


ARTICLE = {
    "@context": "https://schema.org",
    "@type": "NewsArticle",
    "headline": "The ferry is back",
    "datePublished": "2024-03-01T08:00:00+01:00",
    "dateModified": "2024-03-02T09:30:00+01:00",
    "author": [{"@type": "Person", "name": "Ada Byron"}, {"@type": "Person", "name": "B. Frank"}],
    "image": {"@type": "ImageObject", "url": "/img/ferry.jpg"},
    "articleSection": ["Harbour", "Ships"],
    "keywords": "ferry, harbour; Ferry",
    "video": {"@type": "VideoObject", "name": "Drone", "uploadDate": "2001-01-01"},
}


def test_metadata_is_read_from_json_ld_article() -> None:
    found = fields(json_ld(ARTICLE) + "<p>Text of the article")
    assert {name: found[name] for name in asdict(NOTHING) if name in found} == {
        "title": "The ferry is back",
        "published_at": "2024-03-01T08:00:00+01:00",
        "modified_at": "2024-03-02T09:30:00+01:00",
        "author": ["Ada Byron", "B. Frank"],
        "image": "https://www.harbour.example/img/ferry.jpg",
        "section": ["Harbour", "Ships"],
        "keywords": ["ferry", "harbour"],
    }


def test_metadata_is_read_from_meta_elements_and_open_graph() -> None:
    found = read(
        '<meta property="article:published_time" content="2024-03-01T08:00:00Z">'
        '<meta property="og:updated_time" content="2024-03-02">'
        '<meta name="Author" content="By Ada">'
        '<meta property="article:author" content="https://social.example/ada">'
        '<meta property="og:image" content="//cdn.example/a.jpg">'
        '<meta name="keywords" content="a,b">'
        '<meta property="article:section" content="Ships"><meta property="article:tag" content="c">'
        '<meta property="og:site_name" content="Harbour"><meta property="og:title" content="Ferry">'
    )
    assert found == Metadata(
        title="Ferry",
        site_name="Harbour",
        published_at="2024-03-01T08:00:00+00:00",
        modified_at="2024-03-02",
        author=("Ada",),
        image="//cdn.example/a.jpg",
        section=("Ships",),
        keywords=("a", "b", "c"),
        stated=("published_at", "author"),
    )


def test_json_ld_references_within_graph_are_resolved() -> None:
    graph = [
        {"@type": "WebSite", "@id": "#site", "name": "Harbour", "publisher": {"@id": "#org"}},
        {"@type": "WebPage", "@id": "#page", "name": "Ferry", "datePublished": "2024-03-01"},
        {
            "@type": "Article",
            "headline": "Ferry",
            "author": {"@id": "#ada"},
            "image": {"@id": "#i"},
        },
        {"@type": "Person", "@id": "#ada", "name": "Ada Byron"},
        {"@type": "ImageObject", "@id": "#i", "contentUrl": "https://cdn.example/i.jpg"},
    ]
    found = read(json_ld({"@graph": graph}))
    assert (found.author, found.image, found.published_at, found.site_name) == (
        ("Ada Byron",),
        "https://cdn.example/i.jpg",
        "2024-03-01",
        "Harbour",
    )


def test_breadcrumbs_become_sections_without_first_and_last() -> None:
    def crumb(position: object, name: str, address: str) -> dict[str, object]:
        return {"@type": "ListItem", "position": position, "name": name, "item": address}

    items = [
        crumb(3, "The ferry is back", URL),
        crumb("1", "Home", "https://www.harbour.example/"),
        crumb(2, "News", "https://www.harbour.example/news/"),
    ]
    page = "<title>The ferry is back</title>"
    crumbs = {"@type": "BreadcrumbList", "itemListElement": items}
    assert read(page + json_ld(crumbs)).section == ("News",)
    unaddressed = [{"position": 1, "name": "Home"}, {"position": 2, "name": "Ships", "item": "/s"}]
    assert read(page + json_ld({**crumbs, "itemListElement": unaddressed})).section == ("Ships",)
    nested = [{"position": 1, "item": {"@id": "/ships/", "name": "Ships"}}]
    assert read(page + json_ld({**crumbs, "itemListElement": nested})).section == ("Ships",)


@pytest.mark.parametrize(
    ("case", "body", "published", "modified"),
    [
        ("below the headline", "<h1>A</h1><time datetime='2024-03-01'>", "2024-03-01", ""),
        ("above it", "<time datetime='2024-03-01'></time><h1>A</h1>", "2024-03-01", ""),
        (
            "WordPress",
            (
                "<h1>A</h1><time class='entry-date published' datetime='2024-03-01'></time>"
                "<time class='updated' datetime='2024-03-02'></time>"
            ),
            "2024-03-01",
            "2024-03-02",
        ),
        (
            "WordPress, never changed",
            "<h1>A</h1><time class='entry-date published updated' datetime='2024-03-01'></time>",
            "2024-03-01",
            "",
        ),
        (
            "named by the element around it",
            "<h1>A</h1><p class=docLastUpdated>更新: <time datetime='2024-03-02'></time></p>",
            "",
            "2024-03-02",
        ),
        (
            "the last change below a long text",
            "<h1>A</h1>" + "<i></i>" * 99 + "<time class=updated datetime='2024-03-02'></time>",
            "",
            "2024-03-02",
        ),
        (
            "last changes of other pages",
            (
                "<h1>A</h1>" + "<i></i>" * 99 + "<time class=updated datetime='2024-03-02'></time>"
                "<time class=updated datetime='2024-03-03'></time>"
            ),
            "",
            "",
        ),
        (
            "its own class comes first",
            (
                "<h1>A</h1><p class=foot__last-modified>On"
                " <time class=entry-date datetime='2024-03-01'></time></p>"
            ),
            "2024-03-01",
            "",
        ),
        (
            "microdata",
            (
                "<h1>A</h1><span itemprop='dateModified' content='2024-03-02'></span>"
                "<span itemprop='datePublished' content='2024-03-01'>on Friday</span>"
            ),
            "2024-03-01",
            "2024-03-02",
        ),
        (
            "comments far below",
            "<h1>A</h1>"
            + "<p>x" * 100
            + "<time datetime='2024-03-01'></time>" * 1
            + "<time datetime='2024-03-05'></time>",
            "",
            "",
        ),
        (
            "a list of articles",
            "<h2>A</h2><time datetime='2024-03-01'></time><h2>B</h2><time datetime='2024-02-01'>",
            "",
            "",
        ),
        ("one date, no headline", "<p>x</p><time datetime='2024-03-01'>", "2024-03-01", ""),
        ("no date", "<h1>A</h1><time datetime='PT2M'></time><time>soon</time>", "", ""),
    ],
)
def test_dates_are_read_from_body(case: str, body: str, published: str, modified: str) -> None:
    found = read(f"<body>{body}</body>")
    assert (found.published_at, found.modified_at) == (published, modified)


def test_url_date_is_used_for_page_without_other_dates() -> None:
    url = "https://www.harbour.example/2013/10/31/ferry"
    assert fields("<p>text", url)["published_at"] == "2013-10-31"
    assert fields(json_ld(ARTICLE) + "<p>text", url)["published_at"][:10] == "2024-03-01"
    changed = '<meta name="lastmod" content="2001-01-01"><p>text'
    assert fields(changed, url)["modified_at"] == ""


def test_authors_are_read_from_body() -> None:
    assert read("<h1>A</h1><p>By <a rel='author' href='/ada'>Ada Byron</a>").author == ADA
    assert read("<p itemprop='author'>By <b>Ada</b>\n Byron</p>").author == ADA
    both = "<h1>A</h1><a rel='author'>Ada</a> and <a rel='author'>Bob</a>"
    assert read(both).author == ("Ada", "Bob")
    entries = "<h2>A</h2><a rel='author'>Ada</a><h2>B</h2><a rel='author'>Bob</a>"
    assert read(entries).author == ()
    card = "<div itemprop='author'><img><b itemprop='name'>Ada Byron</b> <i>16 points</i></div>"
    assert read(card).author == ADA


def test_site_name_is_author_only_if_page_names_no_other() -> None:
    owner = {"@type": "Organization", "name": "Harbour News"}
    article = json_ld({**ARTICLE, "author": owner, "publisher": owner})
    assert read(article + "<p>text").author == ("Harbour News",)
    assert read(article + "<meta name=author content='Ada Byron'><p>text").author == ADA
    assert read(article + "<h1>A</h1><a rel=author>Ada Byron</a>").author == ADA


def test_publisher_and_host_are_authors_only_if_page_names_no_other() -> None:
    byline = "<h1>A</h1><a rel=author>Ada Byron</a>"
    site = "<meta property='og:site_name' content='Harbour News'>"
    desk = {"@type": "Organization", "name": "HN Media"}
    article = site + json_ld({**ARTICLE, "author": desk, "publisher": desk})
    assert read(article).author == ("HN Media",)
    assert read(article + byline).author == ADA
    host = "<link rel=canonical href='https://www.hn.example/a'><meta name=author content=HN>"
    assert read(site + host).author == ("HN",)
    assert read(site + host + byline).author == ADA
    # A person may publish their own texts.
    bob = {"@type": "Person", "name": "Bob Frank"}
    own = read(site + json_ld({**ARTICLE, "author": bob, "publisher": bob}) + byline)
    assert (own.author, own.stated) == (("Bob Frank",), ("published_at", "author"))
    # Many people write at a host with their name.
    address = "<link rel=canonical href='https://bobfrank.example/a'>"
    host_of_bob = read(address + "<meta name=author content='Bob Frank'>" + byline)
    assert (host_of_bob.author, host_of_bob.stated) == (("Bob Frank",), ("author",))


def test_html_entities_in_json_ld_are_decoded() -> None:
    html = json_ld({**ARTICLE, "author": "Ada &amp; Co. &#8211; B"})
    assert read(html).author == ("Ada & Co. – B",)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://cdn.e.org/i?a=1&section=2&copy=3&region=4", "?a=1&section=2&copy=3&region=4"),
        ("https://cdn.e.org/i?a=1&timestamp=2&lt=3&reg;=4", "?a=1&timestamp=2&lt=3&reg;=4"),
        ("https://cdn.e.org/i?a=1&amp;para=2", "?a=1&para=2"),
    ],
)
def test_addresses_in_json_ld_are_kept(written: str, address: str) -> None:
    """HTML, 4.12.1: the text of a script is raw; JSON has no character references."""
    assert (
        fields(json_ld({**ARTICLE, "image": written}))["image"] == f"https://cdn.e.org/i{address}"
    )
    assert read(json_ld({**ARTICLE, "author": "A&section &copy B"})).author == (
        "A&section &copy B",
    )


@pytest.mark.parametrize(
    ("context", "names"),
    [
        ("https://schema.org", "{}"),
        ({"schema": "https://schema.org/"}, "schema:{}"),
        ({"s": "http://schema.org/"}, "s:{}"),
        ([{"s": {"@id": "https://schema.org/", "@prefix": True}}], "s:{}"),
        ({}, "http://schema.org/{}"),
        ({}, "https://www.schema.org/{}"),
        ({"kind": "@type", **{f"my_{name}": f"schema:{name}" for name in ARTICLE}}, "my_{}"),
    ],
)
def test_json_ld_is_read_whatever_its_terms_and_lists(context: object, names: str) -> None:
    """JSON-LD 1.1, 3.1, 3.2 and 4.3: terms, compact and full IRIs, lists and sets."""

    def name(plain: str) -> str:
        return names.format(plain)

    people = [
        {name("givenName"): "Ada", name("familyName"): "Byron"},
        {name("name"): {"@value": "B. Frank"}},
    ]
    entry = {
        "@context": context,
        "@type": name("NewsArticle") if ":" in names else "NewsArticle",
        name("headline"): ARTICLE["headline"],
        name("datePublished"): ARTICLE["datePublished"],
        name("author"): {"@list": people},
        name("keywords"): {"@set": ["ferry", "harbour"]},
        name("image"): ARTICLE["image"],
    }
    if isinstance(context, dict) and "kind" in context:
        entry["kind"] = entry.pop("@type")
        context |= {f"my_{each}": f"schema:{each}" for each in ("givenName", "familyName", "name")}
    for value in (entry, [entry], {"@graph": [entry], "@context": context}):
        found = read(json_ld(value))
        assert found.title == "The ferry is back"
        assert found.published_at == "2024-03-01T08:00:00+01:00"
        assert found.author == ("Ada Byron", "B. Frank")
        assert found.keywords == ("ferry", "harbour")


@pytest.mark.parametrize("prefix", ["", "schema:", "https://schema.org/"])
def test_date_and_author_are_read_from_rdfa(prefix: str) -> None:
    """RDFa Lite 1.1: vocab, typeof, property and prefix."""
    found = read(
        f"<main vocab='https://schema.org/' typeof='{prefix}NewsArticle'><h1>Ferry</h1>"
        f"<p property='{prefix}author' typeof='{prefix}Person'>By"
        f" <b property='{prefix}name'>Ada Byron</b>, writer</p>"
        f"<time property='{prefix}datePublished' datetime='2024-03-01'>Friday</time>"
        f"<i property='{prefix}dateModified' content='2024-03-02'></i><p>Text</p></main>"
    )
    assert (found.author, found.published_at, found.modified_at) == (
        ADA,
        "2024-03-01",
        "2024-03-02",
    )


def test_modified_date_before_published_date_is_dropped() -> None:
    found = read(json_ld({**ARTICLE, "dateModified": "2020-01-01"}))
    assert (found.published_at[:10], found.modified_at) == ("2024-03-01", "")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/a.jpg", "https://www.harbour.example/a.jpg"),
        ("a b.jpg", "https://www.harbour.example/news/ab.jpg"),
        ("//cdn.example/a.jpg", "https://cdn.example/a.jpg"),
        ("javascript:alert(1)", ""),
        ("data:image/png;base64,AAAA", ""),
        ("file:///etc/passwd", ""),
        ("http://[::1", ""),
        ("\0\1", ""),
        ("https://cdn.example/" + "a" * 5_000, ""),
    ],
)
def test_image_url_is_absolute_or_empty(address: str, expected: str) -> None:
    assert fields(json_ld({**ARTICLE, "image": [address]}))["image"] == expected


def test_metadata_urls_resolve_against_base_href() -> None:
    found = fields(
        '<base href="/en/"><base href="/de/"><link rel="canonical" href="ferry#top">'
        '<meta property="og:image" content="a.jpg"><p>text'
    )
    assert found["canonical"] == "https://www.harbour.example/en/ferry"
    assert found["image"] == "https://www.harbour.example/en/a.jpg"
    page = "<link rel='canonical' href='ferry'><meta property='og:image' content='a.jpg'><p>text"
    in_folder = fields(page, "2024/ferry.html")  # it has no address that others could follow
    assert (in_folder["canonical"], in_folder["image"]) == ("", "")


@pytest.mark.parametrize(
    ("url", "named", "is_kept"),
    [
        ("https://e.org/", "http://127.0.0.1:8000/x", False),
        ("https://e.org/", "http://localhost/x", False),
        ("https://e.org/", "http://[::ffff:10.0.0.1]/x", False),
        ("https://e.org/", "http://169.254.169.254/x", False),
        ("http://127.0.0.1:9000/", "http://localhost/x", True),
        ("http://127.0.0.1:9000/", "http://10.0.0.1/x", False),
        ("http://127.0.0.1:9000/", "http://e.org/x", True),
    ],
)
def test_canonical_url_into_private_network_is_dropped(url: str, named: str, is_kept: bool) -> None:
    found = fields(f"<link rel=canonical href='{named}'><p>text", url)
    assert found["canonical"] == (named if is_kept else "")


def test_headings_field_lists_headings_of_content() -> None:
    assert fields("<h1>Ferry</h1><p>text<h3>Times * prices</h3><h2></h2>")["headings"] == [
        "# Ferry",
        "### Times * prices",
    ]


def test_metadata_survives_serialization_and_is_shared_when_empty() -> None:
    page = Page.from_html(json_ld(ARTICLE) + "<p>text", URL)
    assert Page.load(page.dump()) == page
    bare = Page.from_html("<p>text", URL)
    assert bare.metadata is NOTHING
    assert Page.load(bare.dump()).metadata == NOTHING


WRONG: list[object] = [
    None,
    True,
    1e999,
    -1,
    "",
    "\0\x1b[31m\ud800",
    [],
    [[[[[[]]]]]],
    {},
    {"@id": 1},
]


def check_bounds(found: dict[str, Any]) -> None:
    assert len(found["author"]) <= 20
    assert len(found["title"]) <= 500
    assert len(found["image"]) <= 2_000
    assert len(found["canonical"]) <= 2_000
    assert len(found["section"]) <= 10
    assert len(found["keywords"]) <= 50
    texts = [found[name] for name in ("title", "image", "canonical", "description")]
    lists = [text for name in ("author", "section", "keywords") for text in found[name]]
    for text in (*texts, *lists):
        assert isinstance(text, str)
        assert not text or text.isprintable()
        text.encode()
    assert all(len(text) <= 100 for text in lists)


@pytest.mark.large
def test_random_json_ld_values_give_bounded_fields() -> None:
    draw = random.Random(7)
    names = [*ARTICLE, "@id", "@graph", "name", "publisher", "itemListElement", "position", "item"]
    kinds = ["NewsArticle", "WebPage", "BreadcrumbList", "WebSite", "Person", "VideoObject"]

    def value(depth: int) -> object:
        kind = draw.randrange(6)
        if kind < 2 or depth > 4:
            return draw.choice([*WRONG, "2024-03-01", "Ada", "/a.jpg", "#ada"])
        if kind < 4:
            return [value(depth + 1) for _ in range(draw.randrange(4))]
        entry = {draw.choice(names): value(depth + 1) for _ in range(6)}
        return {**entry, "@type": draw.choice([*kinds, *WRONG])}

    for _ in range(500):
        check_bounds(fields("<title>Ada</title>" + json_ld([value(0), value(0)]) + "<p>text"))


@pytest.mark.parametrize(
    "html",
    [
        json_ld({**ARTICLE, "author": "A" * 400_000}),
        json_ld({**ARTICLE, "keywords": [f"word {number}" for number in range(30_000)]}),
        json_ld({**ARTICLE, "author": [{"name": f"Ada {number}"} for number in range(10_000)]}),
        json_ld([ARTICLE] * 900),
        json_ld({"@graph": [[ARTICLE] * 90] * 10}),
        f'<script type="application/ld+json">{"[" * 240_000}{"]" * 240_000}</script>',
        f'<script type="application/ld+json">{"9" * 400_000}</script>',
        json_ld({**ARTICLE, "datePublished": "9" * 400_000}),
        (
            f'<meta name="author" content="{"A" * 1_000_000}"><meta name="keywords" content="'
            f'{"," * 1_000_000}">'
        ),
        '<meta name="keywords" content="' + "word," * 100_000 + '">',
        '<meta property="article:tag" content="a">' * 20_000,
        '<meta property="og:image" content="\x01java\nscript:alert(1)">',
        "<span itemprop='author'>" * 1_000 + "A" * 1_000_000,
        "<time datetime='2024-03-01'></time>" * 20_000,
        "<title>" + " | " * 100_000 + "</title><h1>A</h1>",
        "<title>" + "A - " * 100_000 + "</title>" + "<h1>A</h1>" * 5_000,
        "<base href='http://[::1'><link rel=canonical href='" + "/" * 100_000 + "'>",
    ],
    ids=range(17),
)
def test_hostile_metadata_is_bounded_in_size_and_time(html: str) -> None:
    started = time.process_time()
    page = Page.from_html("<p>text" + html, URL)
    check_bounds(page_fields(page, "harbour.example", None, ""))
    assert time.process_time() - started < 3


def test_bidirectional_control_characters_are_removed() -> None:
    assert read(json_ld({**ARTICLE, "author": "Ada\u202e\x1b[31m\u0000 Byron"})).author == (
        "Ada [31m Byron",
    )


def test_metadata_is_computed_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def read(*parts: object) -> Metadata:
        asked.append(parts)
        return NOTHING

    monkeypatch.setattr("contentspider.page.about.metadata.read_metadata", read)
    page = Page.from_html(json_ld(ARTICLE) + "<p>text", URL)
    assert page.hints.titles
    assert asked == []
    assert page.metadata is page.metadata is NOTHING
    assert len(asked) == 1


TIME = "<time datetime=2019-02-03>3 February 2019</time>"


@pytest.mark.parametrize(
    "box",
    [
        f"<section id=comments><p>Bob {TIME}</section>",
        f"<div class='post-comments'><div class=entry>{TIME}</div></div>",
        f"<article><h2>Ships</h2>{TIME}</article>",
        f"<aside>{TIME}</aside>",
        f"<blockquote class=twitter-tweet>Ships sink {TIME}</blockquote>",
        f"<div class=related-stories><a href=/s>Ships {TIME}</a></div>",
    ],
)
def test_dates_in_comments_and_related_boxes_are_ignored(box: str) -> None:
    prose = "<p>The ferry is back.</p>"
    html = f"<title>Ferry</title><main><article><h1>Ferry</h1>{{}}{prose}{box}{prose}</article>"
    assert read(html.format("")).published_at == ""
    own = html.format("<time datetime=2024-03-01>1 March</time>")
    assert read(own).published_at == "2024-03-01"


def test_date_in_box_around_headline_belongs_to_page() -> None:
    html = f"<body class=comments><div class='has related'><h1>Ferry</h1>{TIME}</div>"
    assert read(html).published_at == "2019-02-03"
    assert read(f"<article>{TIME}<p>The ferry is back.</article>").published_at == "2019-02-03"


def test_json_ld_is_known_by_its_media_type_whatever_its_parameters() -> None:
    script = json_ld(ARTICLE).replace("ld+json", "ld+json; charset=utf-8")
    assert read(script).author == ("Ada Byron", "B. Frank")


@pytest.mark.parametrize(
    "markup",
    [
        # of libraries
        "<meta name=DC.creator content='Byron, Ada'><meta name=DC.date content=2024-03-01>",
        "<meta property=dc:creator content='Ada Byron'><meta property=dc:date content=2024-03-01>",
        (
            "<meta property=dcterms:creator content='Ada Byron'>"
            "<meta property=dcterms:created content=2024-03-01>"
        ),
        (
            "<meta name=citation_author content='Byron, Ada'>"
            "<meta name=citation_online_date content=2024/03/01>"
        ),
        # microdata and microformats
        (
            "<data itemprop=datePublished value=2024-03-01>Friday</data>"
            "<span itemprop=author>Ada Byron</span>"
        ),
        (
            "<time class=dt-published datetime=2024-03-01>x</time>"
            "<a class='p-author h-card' href=/ada>Ada Byron</a>"
        ),
        (
            "<abbr class=published title=2024-03-01>x</abbr>"
            "<span class='author vcard'>By <b class=fn>Ada Byron</b>, keeper</span>"
        ),
    ],
)
def test_authors_and_dates_are_read_from_each_vocabulary(markup: str) -> None:
    found = read(f"<h1>The ferry</h1>{markup}<p>Text")
    assert (found.author, found.published_at) == (ADA, "2024-03-01")


def test_subjects_of_libraries_are_keywords() -> None:
    head = "<meta name=DC.subject content='tea; leaves'><meta name=citation_keywords content=Uji>"
    assert set(read(f"<head>{head}</head><p>Text").keywords) == {"tea", "leaves", "Uji"}


def test_image_of_microdata_may_be_a_link() -> None:
    assert read("<h1>The ferry</h1><link itemprop=image href=/a.png>").image == "/a.png"


def test_first_breadcrumb_without_address_is_kept() -> None:
    names = [{"@type": "ListItem", "position": n, "name": name} for n, name in enumerate("ABC")]
    crumbs = {"@type": "BreadcrumbList", "itemListElement": names}
    assert read(json_ld(crumbs)).section == ("A", "B")


def test_expressions_of_templates_in_json_ld_are_no_values() -> None:
    template = {"headline": "{{ title }}", "author": "${author}", "datePublished": "2024-03-01"}
    found = read(json_ld({**ARTICLE, **template, "keywords": "How to write {{ name }}"}))
    assert (found.title, found.author, found.published_at) == ("", (), "2024-03-01")
    assert found.keywords == ("How to write {{ name }}",)
