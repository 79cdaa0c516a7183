"""Own texts in RSS, Atom and JSON feeds, and the addresses of pages in them."""

from __future__ import annotations

import pytest

from contentspider.site.own.readers.feeds import MAX_ENTRIES, Feed, read_entries
from contentspider.site.own.readers.reading import inner_text, mend_ampersands, read_xml
from contentspider.site.own.texts import MAX_CHARS, MAX_TEXTS, OwnText
from tests.owntexts import JSON_FEED, ODD, URL, as_json, atom, rss, texts


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd.isprintable()])
def test_malformed_url_in_feed_drops_only_its_entry(odd: str) -> None:
    body = rss(
        f"<link>{odd}</link><description>No</description>",
        "<link>/a</link><description>Yes</description>",
    )
    assert texts(Feed(), body) == [("https://e.org/a", "Yes")]
    entry = "<summary>Yes</summary><link href='https://e.org/{}'/>"
    bad = "<summary>No</summary><link href='{}'/>"
    body = atom(bad.format(odd), entry.format("a"), bad.format(odd))
    assert texts(Feed(), body) == [("https://e.org/a", "Yes")]


def test_malformed_xml_base_is_ignored() -> None:
    entry = "<link xml:base='http://[x/' href='{}'/><summary>Yes</summary>"
    body = atom(entry.format("a"), entry.format("https://e.org/b"))
    assert texts(Feed(), body) == [("https://e.org/a", "Yes"), ("https://e.org/b", "Yes")]


def test_rss_entries_have_full_text_author_and_date() -> None:
    body = rss(
        "<title>The ferry &amp;amp; the tide</title><link> /ferry#top </link>"
        "<dc:creator>Ada Byron</dc:creator><pubDate>Thu, 31 Oct 2013 12:42:46 +0000</pubDate>"
        "<description>It is back.</description><media:content url='x.png'><media:title>A picture"
        "</media:title></media:content><media:title>Another</media:title><content:encoded>"
        "<![CDATA[<p>The ferry is <b>back</b>.</p><p>Since Monday.</p>]]></content:encoded>"
    )
    assert Feed().read(body, URL) == [
        OwnText(
            "https://e.org/ferry",
            "The ferry is back.\nSince Monday.",
            "feed https://e.org/feed",
            "The ferry & the tide",
            ("Ada Byron",),
            "2013-10-31T12:42:46+00:00",
        )
    ]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("<description>Plain text\n\nof two lines</description>", "Plain text\nof two lines"),
        ("<description>&lt;p&gt;One&lt;/p&gt;&lt;p&gt;two</description>", "One\ntwo"),
        ("<description>2 &lt; 3 &amp; 5 > 4</description>", "2 < 3 & 5 > 4"),
        ("<description><p>Not</p><p>escaped</p></description>", "Not\nescaped"),
        ("<description>caf&eacute; &hellip;</description>", "café …"),
        ("<description>Long teaser</description><content:encoded/>", "Long teaser"),
        (
            "<description>Long teaser</description><content:encoded>&lt;img></content:encoded>",
            "Long teaser",
        ),
        (
            "<description>A long teaser</description><content:encoded>All</content:encoded>",
            "All",
        ),
        ("<summary>Short</summary><description>Longer</description>", "Longer"),
        ("<description>a\x7fb&#8203;c</description>", "a bc"),
    ],
)
def test_rss_entry_text_is_unescaped_and_prefers_full_content(entry: str, expected: str) -> None:
    body = rss(f"<link>/a</link>{entry}")
    assert texts(Feed(), body) == [("https://e.org/a", expected)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<content>a &lt;b&gt; c</content>", "a <b> c"),
        ("<content type='text'>a &lt;b&gt; c</content>", "a <b> c"),
        ("<content type='html'>&lt;p&gt;a&lt;/p&gt;b</content>", "a\nb"),
        ("<content type='text/html'>&lt;p&gt;a&lt;/p&gt;b</content>", "a\nb"),
        (
            "<content type='xhtml'><d xmlns='http://www.w3.org/1999/xhtml'><p>a</p>b<br/>c</d></content>",
            "a\nb c",
        ),
        ("<content src='/elsewhere'/><summary>s</summary>", "s"),
        ("<content>short</content><summary>longer one</summary>", "longer one"),
    ],
)
def test_atom_content_is_converted_to_text(content: str, expected: str) -> None:
    assert texts(Feed(), atom(f"<link href='/a'/>{content}")) == [("https://e.org/a", expected)]


def test_atom_entries_have_authors_and_dates() -> None:
    head = "<author><name>The Editors</name></author>"
    dates = "<published>2024-03-01T08:00:00Z</published><updated>2024-03-02</updated>"
    (text, other) = Feed().read(
        atom(
            f"<title type='html'>&lt;i>Tea&lt;/i></title><link rel='edit' href='/e'/>"
            f"<link href='/a'/><author><name>Ada Byron</name></author>{dates}<summary>s</summary>",
            "<link href='/b'/><summary>s</summary>",
            head=head,
        ),
        URL,
    )
    assert (text.url, text.title, text.author) == ("https://e.org/a", "Tea", ("Ada Byron",))
    assert (text.published_at, text.modified_at) == ("2024-03-01T08:00:00+00:00", "2024-03-02")
    assert (other.author, other.published_at) == (("The Editors",), "")


def test_rss_author_name_is_read_from_mailbox() -> None:
    item = "<link>/a</link><description>x</description><author>{}</author>"
    body = rss(item.format("ada@e.org (Ada Byron)"))
    assert [text.author for text in Feed().read(body, URL)] == [("Ada Byron",)]
    assert [text.author for text in Feed().read(rss(item.format("a@e.org")), URL)] == [()]


def test_rdf_items_beside_channel_are_read() -> None:
    body = (
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        b' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>'
        b"<title>x</title></channel><item><title>T</title><link>/e</link><dc:date>2020-01-02"
        b"</dc:date><description>d</description></item></rdf:RDF>"
    )
    (text,) = Feed().read(body, URL)
    assert (text.url, text.title, text.published_at) == ("https://e.org/e", "T", "2020-01-02")


def test_json_feed_items_are_read() -> None:
    first, second = Feed().read(as_json(JSON_FEED), URL)
    assert first == OwnText(
        "https://e.org/a",
        "One\ntwo",
        "feed https://e.org/feed",
        "Tea",
        ("Ada Byron",),
        "2024-03-01T08:00:00+00:00",
        "2024-03-02T08:00:00+00:00",
    )
    assert (second.text, second.author) == ("a <b> c", ("The Editors",))
    unnamed = as_json({"items": JSON_FEED["items"]})
    assert Feed().read(unnamed, URL) == []
    assert len(Feed().read(unnamed, URL, "application/feed+json; charset=utf-8")) == 2
    # Version 1 had one author.
    feed = {**JSON_FEED, "items": [{"url": "/x", "content_text": "x", "author": {"name": "Cy D"}}]}
    assert [text.author for text in Feed().read(b"\xef\xbb\xbf" + as_json(feed), URL)] == [
        ("Cy D",)
    ]


def test_feed_entries_without_text_are_urls_only() -> None:
    body = rss("<link>/a</link>", "<link>/b</link><description>x</description>", "<title/>")
    assert [entry.url for entry in read_entries(body, URL)] == [
        "https://e.org/a",
        "https://e.org/b",
    ]
    assert texts(Feed(), body) == [("https://e.org/b", "x")]
    assert [entry.text for entry in read_entries(body, URL, texts=0)] == ["", ""]


def test_unclosed_tags_in_feed_lose_no_entries() -> None:
    items = "".join(
        f"<item><link>/{n}</link><guid>{n}</guid><description>x{broken}y</description></item>"
        for n, broken in enumerate(["", "<br>", "", "<br><br>", "", "<p><br><hr>", ""])
    )
    body = f"<rss><channel>{items}</channel></rss>".encode()
    addresses = [entry.url for entry in read_entries(body, URL)]
    assert addresses == [f"https://e.org/{n}" for n in range(7)]
    assert texts(Feed(), body)[:3] == [
        ("https://e.org/0", "xy"),
        ("https://e.org/1", "x y"),
        ("https://e.org/2", "xy"),
    ]


def test_comment_feed_entries_are_not_texts_of_page() -> None:
    body = rss("<link>/a#comment-1</link><description>Nice!</description>")
    assert [entry.url for entry in read_entries(body, URL)] == ["https://e.org/a"]
    assert Feed().read(body, URL) == []


@pytest.mark.large
def test_large_feeds_are_limited_in_entries_and_characters() -> None:
    items = [f"<link>/{n}</link><description>x</description>" for n in range(MAX_ENTRIES + 9)]
    entries = read_entries(rss(*items), URL)
    assert len(entries) == MAX_ENTRIES
    assert sum(bool(entry.text) for entry in entries) == MAX_TEXTS
    assert len(Feed().read(rss(*items), URL)) == MAX_TEXTS
    long = rss(f"<link>/a</link><description>{'w' * 2 * MAX_CHARS}</description>")
    assert len(texts(Feed(), long)[0][1]) == MAX_CHARS


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a=1&b=2", "a=1&b=2"),
        ("a=1&amp;b=2&#38;c=3&#x26;d=4", "a=1&b=2&c=3&d=4"),
        ("a=1&copy=2&eacute=3", "a=1&copy=2&eacute=3"),
        ("<![CDATA[a=1&b=2&amp;c]]>&d", "a=1&b=2&amp;c&d"),
        ("<!-- & <![CDATA[ -->a&b", "a&b"),
        ("&nosuch;&AMP;&", "&nosuch;&&"),
        ("caf&eacute;", "café"),
    ],
)
def test_bare_ampersands_in_xml_are_escaped(written: str, meant: str) -> None:
    root = read_xml(f"<loc>{written}</loc>".encode())
    assert root is not None
    assert inner_text(root) == meant
    wide = read_xml("<?xml version='1.0' encoding='utf-16'?><a>&amp;b</a>".encode("utf-16"))
    assert wide is not None and inner_text(wide) == "&b"


def test_many_bare_ampersands_take_linear_time() -> None:
    body = b"&" * 5_000_000
    assert mend_ampersands(body) is body
    assert len(mend_ampersands(b"<![CDATA[" * 100_000 + b"&")) == 900_001
