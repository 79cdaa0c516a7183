from __future__ import annotations

import json

import pytest
from lxml import etree

from contentspider.page.input.page import Page
from contentspider.site.title import page_title

URL = "https://www.harbour-news.example/2024/05/ferry.html"
LONG = "Ferry - back - in service"


def title(html: str, url: str = URL) -> str:
    return page_title(Page.from_html(html, url))


def json_ld(*values: object) -> str:
    return "".join(
        f'<script type="application/ld+json">{json.dumps(value)}</script>' for value in values
    )


def og(text: str) -> str:
    return f'<meta property="og:title" content="{text}">'


ARTICLE = {"@type": "NewsArticle", "headline": "The ferry is back"}
VIDEO = {"@type": "VideoObject", "name": "Watch: ferry drone footage"}


@pytest.mark.parametrize(
    ("case", "html", "expected"),
    [
        ("h1 in <title>", "<title>Ferry back | Port</title><h1>Ferry back</h1>", "Ferry back"),
        (
            "the h1 is the article's, the title's first part",
            "<title>Ferry back - News - Port</title><h1>Port</h1><h1>Ferry back</h1>",
            "Ferry back",
        ),
        (
            "the site's name is the h1 and links home",
            '<title>Ferry back - Port</title><h1><a href="/">Port</a></h1><h2>Ferry back</h2>',
            "Ferry back",
        ),
        (
            "the same, and no heading is the article's",
            '<title>Ferry back - Port</title><h1><a href="/">Port</a></h1><h2>More</h2>',
            "Ferry back",
        ),
        (
            "the site's name comes first and links home by a relative address",
            '<title>Port :: Ferry back</title><h1><a href="../../index.html">Port</a></h1>',
            "Ferry back",
        ),
        (
            "the site's name is the h1, without a link",
            "<title>Ferry back — Port</title><h1>Port</h1><h2>Ferry back</h2>",
            "Ferry back",
        ),
        (
            "og:site_name tells the site's name",
            '<meta property="og:site_name" content="Port"><title>Port | Ferry back</title>',
            "Ferry back",
        ),
        (
            "the host tells the site's name",
            "<title>Ferry back | Harbour News</title><p>text</p>",
            "Ferry back",
        ),
        ("nothing tells the site's name", "<title>Ferry - Port</title>", "Ferry - Port"),
        (
            "a dash inside the title is no separator of the site's name",
            f"<title>{LONG} | Port</title><h1>{LONG}</h1>",
            LONG,
        ),
        (
            "Open Graph has the headline, <title> a shorter one",
            f"<title>Ferry news</title>{og('The ferry is back')}<h1>The ferry is back</h1>",
            "The ferry is back",
        ),
        (
            "Open Graph without an h1",
            f"<title>The ferry is back - Port</title>{og('The ferry is back')}",
            "The ferry is back",
        ),
        (
            "Open Graph names the site on every page",
            f"<title>Ferry back · Port</title>{og('All about the port')}<h1>Ferry back</h1>",
            "Ferry back",
        ),
        (
            "<title> names the site on every page",
            '<title>Port</title><meta property="og:site_name" content="Port">'
            + og("The ferry is back"),
            "The ferry is back",
        ),
        (
            "a video after the article",
            "<title>The ferry is back - Port</title>" + json_ld(ARTICLE, VIDEO),
            "The ferry is back",
        ),
        (
            "a video alone",
            "<title>The ferry is back</title>" + json_ld(VIDEO),
            "The ferry is back",
        ),
        (
            "parts of the article: pictures, comments, offers",
            "<title>Ferry back: it runs</title>"
            + json_ld(
                [
                    ARTICLE,
                    {"@type": "ImageObject", "name": "A picture"},
                    {"@type": "Comment", "name": "First!"},
                    {"@type": "Offer", "name": "Ten percent"},
                ]
            )
            + "<h1>The ferry is back</h1>",
            "The ferry is back",
        ),
        (
            "a list of articles is not named by one of them",
            "<title>News</title>"
            + json_ld([ARTICLE, {"@type": "NewsArticle", "headline": "Another"}]),
            "News",
        ),
        (
            "an article in a graph, with the page and the site",
            "<title>Ferry - Port</title>"
            + json_ld(
                {
                    "@graph": [
                        {"@type": "WebSite", "name": "Port"},
                        {"@type": "WebPage", "name": "Ferry - Port"},
                        {"@type": ["Article", "x"], "headline": "The ferry - Port"},
                    ]
                }
            )
            + "<h1>The ferry</h1>",
            "The ferry",
        ),
        (
            "a heading's link to itself",
            "<title>Ferry — Port 3.2 documentation</title><h1>Ferry<a href='#f'>¶</a></h1>",
            "Ferry",
        ),
        (
            "quotes and dashes differ",
            "<title>Ferry's back – today | Port</title><h1>Ferry’s back - today</h1>",
            "Ferry’s back - today",
        ),
        (
            "the h1 says more than the title",
            "<title>Ferry back | Port</title><h1>[Update] Ferry back</h1>",
            "[Update] Ferry back",
        ),
        (
            "a quotation at the end",
            "<title>Ferry: «We come back» | Port</title><h2>News</h2>",
            "Ferry: «We come back» | Port",
        ),
        (
            "the first words of the heading are in another element",
            "<title>On board: the ferry | Port</title><div>On board</div><h1>: the ferry</h1>",
            "On board: the ferry | Port",
        ),
        (
            "an h1 a section, one of which mentions the title",
            "<title>Ferry</title><h1>1. What the ferry can carry today</h1><h1>2. Fares</h1>",
            "Ferry",
        ),
        (
            "two headings are parts of the title",
            "<title>Ferry and tides back in port</title><h1>Ferry</h1><h1>Tides back in port</h1>",
            "Tides back in port",
        ),
        (
            "the site's name of four letters links to the front page by its name",
            "<title>Port | Ferry back</title><a href='/index.html'>Port</a>",
            "Ferry back",
        ),
        (
            "the site's name links to a folder above",
            "<title>Port | Ferry back</title><a href='..'>Port</a>",
            "Ferry back",
        ),
        (
            "the site's name links nowhere else",
            "<title>Port | Ferry back</title><a href='.'>Port</a>",
            "Port | Ferry back",
        ),
        ("no title at all", "<h1>The ferry</h1><p>text</p>", "The ferry"),
        ("nothing at all", "<p>text</p>", ""),
        ("only separators", "<title> | - </title><h1></h1>", "-"),
    ],
)
def test_title_is_extracted_without_site_name(case: str, html: str, expected: str) -> None:
    assert title(html) == expected


def test_front_page_title_keeps_site_name() -> None:
    html = "<title>Harbour News</title><h1><a href='/'>Harbour News</a></h1><h2>Ferry</h2>"
    assert title(html, "https://www.harbour-news.example/") == "Harbour News"


def test_titles_of_folder_pages_need_no_host() -> None:
    html = "<title>Ferry - Port</title><h1><a href='../index.html'>Port</a></h1><h2>Ferry</h2>"
    assert title(html, "2024/ferry.html") == "Ferry"
    assert title("<title>Ferry | Port</title><a href='http://[::1'>Port</a>", "") == "Ferry | Port"


@pytest.mark.parametrize(
    ("host", "expected"), [("port", "Ferry back"), ("pie", "Ferry back | Pie")]
)
def test_host_of_four_letters_identifies_site_name_in_title(host, expected) -> None:
    url = f"https://www.{host}.example/2024/ferry.html"
    assert title(f"<title>Ferry back | {host.title()}</title><p>text</p>", url) == expected


@pytest.mark.parametrize("parts", [7, 8, 9])
def test_title_is_split_at_up_to_eight_separators(parts) -> None:
    names = " - ".join(f"part {number}" for number in range(parts))
    whole = f"{names} | Harbour News"
    # behind more of them the site's name is not seen
    assert title(f"<title>{whole}</title><p>text</p>") == (names if parts <= 8 else whole)


def test_title_is_limited_and_on_one_line() -> None:
    assert title("<h1>" + "A" * 100_000 + "</h1>") == "A" * 500
    # libxml2 2.12 drops such characters, later ones leave them to us.
    gap = "" if etree.LIBXML_VERSION < (2, 13) else " "
    assert title("<title>Ferry\x1b[31m\n back\u202e</title>") == f"Ferry{gap}[31m back"
