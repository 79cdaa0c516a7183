"""What a page shows of itself in its blocks where it states nothing."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from contentspider.page.input.page import Page
from contentspider.site.learn.single_page import extract_page
from contentspider.site.models.record import page_fields

URL = "https://www.harbour.example/news/ferry"
PROSE = "<p>The ferry is back, and nobody knows where it has been for all of those weeks.</p>"


def fields(body: str, head: str = "") -> dict[str, Any]:
    page = Page.from_html(f"<head><title>Ferry</title>{head}</head><body>{body}</body>", URL)
    return page_fields(page, "harbour.example", extract_page(page), "")


@pytest.mark.parametrize(
    ("case", "body", "published", "modified"),
    [
        ("below", "<h1>Ferry</h1><p>Posted on March 1, 2024 by Ada", "2024-03-01", ""),
        ("above", "<p>1. März 2024<h1>Ferry</h1>", "2024-03-01", ""),
        ("another heading", "<h1>The site</h1><h2>Ferry</h2><p>1 mars 2024", "2024-03-01", ""),
        ("a longer heading", "<h1>Ferry news</h1><p>1 mars 2024", "2024-03-01", ""),
        (
            "changed",
            "<h1>Ferry</h1><p>March 1, 2024 (Updated on March 3, 2024)",
            "2024-03-01",
            "2024-03-03",
        ),
        ("only changed", "<h1>Ferry</h1><p>Last updated: March 3, 2024", "", "2024-03-03"),
        ("changed by a person", "<h1>Ferry</h1><p>3 May 2013 updated by Ada", "", "2013-05-03"),
        ("a headline", "<h1>Ferry</h1><p>3 May 2013 Updated rules of the port", "2013-05-03", ""),
        ("a heading of its own", "<h2>Friday, March 1, 2024</h2><h1>Ferry</h1>", "2024-03-01", ""),
        (
            "prose",
            "<h1>Ferry</h1><p>The treaty was signed on 1 March 2024 in the hall by both of them.",
            "",
            "",
        ),
        (
            "prose without spaces",
            "<h1>Ferry</h1><p>条约于2024年3月1日在老市政厅由双方签署。",
            "",
            "",
        ),
        ("a short sentence", "<h1>Ferry</h1><p>Published on 1 March 2024.", "2024-03-01", ""),
        (
            "a long line",
            "<h1>Ferry</h1><p>Talk in 'All the news of the town' started by Ada, 1 March 2024.",
            "2024-03-01",
            "",
        ),
        (
            "a change in a sentence",
            "<h1>Ferry</h1><p>This page of our site was last updated on March 3, 2024.",
            "",
            "2024-03-03",
        ),
        (
            "another's heading",
            "<h1>Ferry</h1><h2>" + "Ships sink " * 5 + "March 1, 2024</h2>",
            "",
            "",
        ),
        (
            "another's link",
            "<h1>Ferry</h1><a href=/s>Ships sink " + "x" * 40 + "1.3.2024</a>",
            "",
            "",
        ),
        ("prose", f"<h1>Ferry</h1><p>On March 1, 2024 {'the ferry came ' * 20}", "", ""),
        ("far below", f"<h1>Ferry</h1>{PROSE * 20}<p>March 1, 2024", "", ""),
        (
            "far below, marked",
            f"<h1>Ferry</h1>{PROSE * 20}<p class=post-date>March 1, 2024",
            "2024-03-01",
            "",
        ),
        (
            "the entries of a list, marked",
            f"<h1>Ferry</h1>{PROSE * 20}<p class=date>March 1, 2024<p class=date>March 2, 2024",
            "",
            "",
        ),
    ],
)
def test_dates_are_read_beside_headline(
    case: str, body: str, published: str, modified: str
) -> None:
    found = fields(body + PROSE * 3)
    assert (found["published_at"], found["modified_at"]) == (published, modified)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Updated March 3, 2024. Published March 1, 2024."),
        ("en", "Published: March 1, 2024 | Last updated at 10:30 a.m. EST, March 3, 2024"),
        ("es", "Actualizado: 3 de marzo de 2024. Publicado: 1 de marzo de 2024"),
        ("pl", "Opublikowano: 1 marca 2024, Aktualizacja: 3 marca 2024"),
        ("sv", "Uppdaterad 3 mars 2024 Publicerad 1 mars 2024"),
        ("fi", "Päivitetty 3.3.2024 klo 10.00 Julkaistu 1.3.2024"),
        ("cs", "Aktualizováno 3. března 2024, vydáno 1. března 2024"),
        ("hu", "Frissítve: 2024. március 3. Megjelent: 2024. március 1."),
        ("el", "Ενημερώθηκε στις 3 Μαρτίου 2024 Δημοσιεύτηκε 1 Μαρτίου 2024"),
        ("uk", "Оновлено 3 березня 2024 Опубліковано 1 березня 2024"),
        ("tr", "Güncelleme: 3 Mart 2024, Yayın: 1 Mart 2024"),
        ("tr", "1 Mart 2024 tarihinde yayınlandı, 3 Mart 2024 tarihinde güncellendi"),
        ("ar", "نشر في 1 مارس 2024 آخر تحديث 3 مارس 2024"),
        ("he", "פורסם 1 במרץ 2024 עודכן: 3 במרץ 2024"),
        ("hi", "प्रकाशित 1 मार्च 2024 अपडेट 3 मार्च 2024"),
        ("id", "Diperbarui 3 Maret 2024, terbit 1 Maret 2024"),
        ("vi", "Cập nhật ngày 3 tháng 3 năm 2024, đăng ngày 1 tháng 3 năm 2024"),
        ("zh", "发布时间：2024-03-01 更新时间：2024-03-03"),
        ("ja", "更新日：2024年3月3日 公開日：2024年3月1日"),
        ("ja", "2024年3月1日公開 2024年3月3日 10:00 更新"),
        ("ja", "2024年3月3日更新 2024年3月1日公開"),
        ("ko", "입력 2024.03.01. 10:00 수정 2024.03.03. 11:00"),
    ],
)
def test_dates_of_changes_are_told_by_their_labels(language: str, text: str) -> None:
    html = f"<html lang={language}><title>Ferry</title><h1>Ferry</h1><p>{text}</p>{PROSE}"
    page = Page.from_html(html, URL)
    found = page_fields(page, "harbour.example", extract_page(page), "")
    assert (found["published_at"], found["modified_at"]) == ("2024-03-01", "2024-03-03")


@pytest.mark.parametrize(
    "text", ["Edited by Ada, March 1, 2024", "The updated edition of March 1, 2024"]
)
def test_words_for_changes_that_are_no_labels_name_no_change(text: str) -> None:
    found = fields(f"<h1>Ferry</h1><p>{text}</p>{PROSE}")
    assert not found["modified_at"]


def test_stated_metadata_take_precedence_over_visible_text() -> None:
    body = f"<h1>Ferry</h1><p class=byline>By Bob Frank, March 1, 2024</p>{PROSE}"
    head = "<meta name=author content='Ada Byron'><meta name=date content=2024-02-01>"
    stated, shown = fields(body, head), fields(body)
    assert (stated["published_at"], stated["author"]) == ("2024-02-01", ["Ada Byron"])
    assert (shown["published_at"], shown["author"]) == ("2024-03-01", ["Bob Frank"])


@pytest.mark.parametrize(
    ("byline", "author"),
    [
        ("<p>By Ada Byron", ["Ada Byron"]),
        ("<p>by Ada Byron | March 1, 2024 | 5 min read", ["Ada Byron"]),
        ("<p>Von Ada Byron und Bob Frank", ["Ada Byron", "Bob Frank"]),
        ("<p>Written by</p><p>Ada Byron</p>", ["Ada Byron"]),
        ("<p class=post-author>Ada Byron", ["Ada Byron"]),
        ("<p class=username>ada77", ["ada77"]),
        ("<p class=author-date>March 2024", []),
        ("<p class=authorized>Authorized Dealer", []),
        ("<p class=author>Author", []),
        ("<p class=author>View all posts", []),
        ("<p>by the sea", []),
        ("<p>By Popular Demand We Have Brought It Back Once More", []),
        ("<p>Sponsored", []),
    ],
)
def test_authors_are_read_beside_headline(byline: str, author: list[str]) -> None:
    assert fields(f"<h1>Ferry</h1>{byline}</p>{PROSE}")["author"] == author


@pytest.mark.parametrize(
    ("byline", "author"),
    [
        ("3. März 2024 von Jörg Grün und Käthe Groß", ["Jörg Grün", "Käthe Groß"]),
        ("Freitag, 1. März 2024, 10:30 Uhr, von Jörg Grün", ["Jörg Grün"]),
        ("March 1, 2024 by Ada Byron in News", ["Ada Byron"]),
        ("Posted on March 1, 2024 at 10:30 | By Ada Byron | 5 min read", ["Ada Byron"]),
        ("Le 1 mars 2024 par Anne Petit", ["Anne Petit"]),
        ("1 de marzo de 2024 por Ana de la Cruz y Luis Gil", ["Ana de la Cruz", "Luis Gil"]),
        ("1 marzo 2024 di Anna Rossi", ["Anna Rossi"]),
        ("1 maart 2024 door Jan de Vries", ["Jan de Vries"]),
        ("1. mars 2024 av Kari Nordmann", ["Kari Nordmann"]),
        ("1 марта 2024, автор: Анна Петрова", ["Анна Петрова"]),
        ("Am 1. März 2024 von Bad Homburg nach Ulm", []),
        ("1. März 2024 von 10 bis 12 Uhr", []),
        ("Delivered by March 1, 2024 by Royal Mail", []),
        ("On March 1, 2024 by order of Ada Byron the harbour was shut", []),
        ("March 1, 2024 by Bus to Bath", []),
        ("March 1, 2024 by the river", []),
        ("Am 1. März 2024 von Anna Grün in Rom eröffnet", []),
        ("The pier was opened on March 1, 2024 by Ada Byron", []),
        ("March 1, 2024 by Ada Byron, Bob Frank and Cy Doe.", []),
        ("1 de marzo de 2024 por la tarde", []),
        ("1 marzo 2024 di Roma", []),
    ],
)
def test_authors_behind_date_are_read_but_no_sentences(byline: str, author: list[str]) -> None:
    assert fields(f"<h1>Ferry</h1><p class=d>{byline}</p>{PROSE}")["author"] == author


LINKS = "<a href=/>Home</a> &gt; <a href=/news/>News</a> &gt; <a href=/news/ships>Ships</a>"


@pytest.mark.parametrize(
    ("crumbs", "section"),
    [
        (f"<div class=breadcrumb>{LINKS} &gt; Ferry</div>", ["News", "Ships"]),
        (f"<div id=Breadcrumbs>You are here: {LINKS}</div>", ["News", "Ships"]),
        (f"<nav class=crumbs>{LINKS} » Ferry » Share</nav>", ["News", "Ships"]),
        # The last vowel is a mark.
        (
            "<nav class=crumbs><a href=/>Home</a> » <a href=/n/>« नदी »</a> » Ferry</nav>",
            ["नदी"],
        ),
        (
            "<ol class=breadcrumb><li><a href=..>Start</a><li><a href=./>News</a><li>Ferry</ol>",
            ["News"],
        ),
        (
            (
                "<ul><li itemprop=itemListElement><a itemprop=item href=/><b itemprop=name>Tea</b>"
                "</a><li itemprop=itemListElement><a itemprop=item href=/n><b>News</b></a>"
                "<li itemprop=itemListElement>Ferry</ul>"
            ),
            ["News"],
        ),
        (
            (
                f"<div class=breadcrumb>{LINKS}</div><p>x</p>"
                "<div class=breadcrumb><a href=/o>Other</a></div>"
            ),
            ["News", "Ships"],
        ),
        ("<div class=breadcrumb>Ferry</div>", []),
        (f"<div class=links>{LINKS}</div>", []),
        ("<div class=breadcrumb>" + "<a href=/a>Aa</a> " * 200 + "</div>", []),
    ],
)
def test_sections_are_read_from_visible_breadcrumbs(crumbs: str, section: list[str]) -> None:
    assert fields(f"{crumbs}<h1>Ferry</h1>{PROSE}")["section"] == section


def test_stated_section_takes_precedence_over_visible_breadcrumbs() -> None:
    head = "<meta property=article:section content=Harbour>"
    body = f"<div class=breadcrumb>{LINKS}</div><h1>Ferry</h1>{PROSE}"
    assert fields(body, head)["section"] == ["Harbour"]


def test_first_content_image_is_used_if_page_states_none() -> None:
    picture = "<img src=/img/ferry.jpg width=600 alt='The ferry'>"
    logo = "<header><a href=/><img src=/logo.png width=99 alt=Logo> Harbour</a></header>"
    body = f"{logo}<h1>Ferry</h1>{PROSE}<p>{PROSE[3:-4]}{picture}</p>{PROSE}"
    assert fields(body)["image"] == "https://www.harbour.example/img/ferry.jpg"
    stated = fields(body, "<meta property=og:image content=/stated.jpg>")
    assert stated["image"] == "https://www.harbour.example/stated.jpg"


def test_dates_and_authors_of_listing_entries_are_not_page_metadata() -> None:
    entry = "<article><h2><a href=/{0}>Ship {0}</a></h2><p>March {0}, 2024</p><p>By Ada Byron</p>"
    body = "".join(entry.format(day) + "<p>It sails.</article>" for day in range(1, 20))
    page = Page.from_html(f"<title>Ships</title><h1>Ships</h1>{body}", URL)
    extraction = replace(extract_page(page), page_type="listing")
    found = page_fields(page, "harbour.example", extraction, "")
    assert (found["published_at"], found["author"]) == ("", [])


@pytest.mark.large
@pytest.mark.parametrize(
    "body",
    [
        "<h1>Ferry</h1>" + "<p class=date>March 1, 2024" * 20_000,
        "<h1>Ferry</h1><p class=author>" + "A b, " * 200_000,
        "<h1>Ferry</h1>" + "<p class=author>By A\x01\u202eda" * 10_000,
        "<div class=breadcrumb>" + "<a href=/a>A</a> &gt; " * 50_000,
        "<div class=breadcrumb>" * 300 + "<a href='http://[::1'>A</a>",
        "<div class=breadcrumb><a href=/a>" + ">" * 1_000_000 + "</a></div>",
        "<h1>" + "Ferry" * 200_000 + "</h1><p>By " + "Ada " * 30,
        "<h1>Ferry</h1><p>" + "1 " * 70 + "<p>" + "2013-" * 30,
    ],
    ids=range(8),
)
def test_hostile_bylines_are_bounded_in_size_and_time(body: str) -> None:
    started = time.process_time()
    page = Page.from_html(f"<title>Ferry</title>{body}", URL)
    found = page_fields(page, "harbour.example", None, "")
    assert time.process_time() - started < 3
    for name in ("author", "section"):
        assert len(found[name]) <= 20
        assert all(len(text) <= 100 and text.isprintable() for text in found[name])
