"""The date of a page is not that of a card of another story, of a quoted post or of a comment."""

from __future__ import annotations

import pytest

from contentspider import extract_html
from contentspider.page.input.own_values import typed

PROSE = "".join(
    f"<p>The kettle of harbour {number} was mended by its keeper, who wrote it down in the book of"
    " the quay and went home by the river.</p>"
    for number in range(6)
)
CARD = "<a href=/x><h3>A storm comes</h3><time datetime=2023-01-01>Jan 1, 2023</time></a>"
TICKER = "<div><a href=/x>A storm comes to the quay</a><p>Jan {}, 2023</p></div>"
TWEET = (
    '<blockquote class="twitter-tweet"><p>We open.</p>&mdash; Harbour (@h)'
    ' <a href="https://t.example/1">April 25, 2023</a></blockquote>'
)
HATOM = (
    "<a href=/self><abbr class=published {}title=2011-04-25T00:23:00-04:00>12:23 AM</abbr></a>"
    " <abbr class=updated title=2011-05-26>x</abbr>"
)


def dates(above: str = "", below: str = "", after: str = "", language: str = "en") -> list[str]:
    item = extract_html(
        f"<html lang={language}><head><title>The harbour opens</title></head><body>"
        f"<header><a href=/>Quay</a></header>{above}<main><article><h1>The harbour opens</h1>"
        f"{below}{PROSE}{after}</article></main></body></html>"
    )
    fields = item.to_dict()
    return [str(fields[name])[:10] for name in ("published_at", "modified_at")]


@pytest.mark.parametrize(
    ("above", "below", "day"),
    [
        (f"<section>{CARD}{CARD}</section>", "", ""),
        (f"<section>{CARD}</section><div class=meta><p>May 6, 2024</p></div>", "", "2024-05-06"),
        (f"<ul><li>{CARD}</li></ul>", "<time datetime=2024-05-06>May 6</time>", "2024-05-06"),
        (
            "<div><h4><a href=/x>A storm</a></h4><time datetime=2023-01-01>Jan 1</time></div>",
            "<p>May 6, 2024</p>",
            "2024-05-06",
        ),
        (
            "<a href=/x>A storm comes to the quay <time datetime=2023-01-01>Jan 1</time></a>",
            "<p>May 6, 2024</p>",
            "2024-05-06",
        ),
        (f"<div>{TICKER.format(1)}{TICKER.format(2)}</div>", "", ""),
        (f"<div>{TICKER.format(1)}{TICKER.format(2)}</div>", "<p>May 6, 2024</p>", "2024-05-06"),
        ("", f"<ul><li>{CARD}</li><li>{CARD}</li></ul>", ""),
        ("", TWEET, ""),
        ("", f"{TWEET}<p>Published May 6, 2024</p>", "2024-05-06"),
        ("", "<div class=toot><p>Hi</p><a href=https://m.example>April 25, 2023</a></div>", ""),
        # Dates of the page itself.
        ("<div><a href=/n>News</a> <time datetime=2024-05-06>May 6</time></div>", "", "2024-05-06"),
        ("<div><h2>News</h2><time datetime=2024-05-06>May 6</time></div>", "", "2024-05-06"),
        ("", "<a href=/self>Published on <time datetime=2024-05-06>6/5</time></a>", "2024-05-06"),
        ("", "<ul><li><time datetime=2024-05-06>6/5</time></li><li>News</li></ul>", "2024-05-06"),
    ],
)
def test_date_is_that_of_the_page_and_of_no_other(above: str, below: str, day: str) -> None:
    assert dates(above, below)[0] == day


def test_dates_of_publication_and_change_above_headline_are_both_read() -> None:
    above = "<div><p>Published May 6, 2024</p><p>Updated May 8, 2024</p></div>"
    assert dates(above) == ["2024-05-06", "2024-05-08"]


@pytest.mark.parametrize("more", ["", "itemprop=datePublished "])
def test_date_in_title_of_hatom_abbreviation_is_read(more: str) -> None:
    assert dates(after=f"<p>Posted at {HATOM.format(more)}</p>") == ["2011-04-25", "2011-05-26"]
    assert dates(below="<abbr title='World Harbour Organisation 2011-04-25'>WHO</abbr>") == ["", ""]


def test_dates_in_words_are_read_in_language_of_page() -> None:
    for below in (
        "<time>5. listopada 2020.</time>",
        "<p>Objavljeno 5. listopada 2020.</p>",
        "<meta itemprop=datePublished content='5. listopada 2020.'>",
    ):
        assert dates(below=below, language="hr")[0] == "2020-10-05"
        assert dates(below=below, language="pl")[0] == "2020-11-05"
        assert dates(below=below, language="en")[0] == ""
    assert dates(below="<time>5. marraskuuta 2020</time>", language="fi")[0] == "2020-11-05"


def test_first_name_that_is_a_month_is_a_name() -> None:
    for name in ("Ian Jones", "May Price", "Maja Lis"):
        item = extract_html(
            f"<title>Tea</title><h1>Tea</h1><p class=author>{name}</p><p>May 2020</p>{PROSE}"
        )
        assert item.to_dict()["author"] == [name]


def test_own_date_of_a_selector_is_read_in_language_of_page() -> None:
    assert typed("5. listopada 2020.", "date", language="hr") == "2020-10-05"
    assert typed("5. listopada 2020.", "date", language="pl") == "2020-11-05"
    assert typed("5. listopada 2020.", "date") is None
