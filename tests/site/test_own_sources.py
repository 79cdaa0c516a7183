"""Own texts: what all sources have in common, and those of WordPress."""

from __future__ import annotations

import pytest

from contentspider.ground.addresses import absolute
from contentspider.site.own.readers.feeds import Feed
from contentspider.site.own.readers.reading import join_lines, text_of
from contentspider.site.own.readers.versions import Markdown
from contentspider.site.own.readers.wordpress import WordPress
from contentspider.site.own.sources import SOURCES, Announced
from contentspider.site.own.texts import MAX_CHARS, OwnText
from tests.owntexts import ODD, URL, as_json


@pytest.mark.parametrize("odd", ODD)
def test_malformed_url_becomes_empty_string(odd: str) -> None:
    assert absolute("https://e.org/", odd) == ""
    assert absolute(odd, odd) == ""
    absolute(odd, "/a")


def test_wordpress_api_urls_are_derived_from_announced_root() -> None:
    def addresses(root: str) -> list[str]:
        links = (("stylesheet", "", "https://e.org/x"), ("https://api.w.org/", "", root))
        return list(WordPress().addresses(Announced("https://e.org/", links)))

    query = "per_page=20&_fields=link,title,content,date_gmt,modified_gmt"
    assert addresses("https://e.org/wp-json/") == [
        f"https://e.org/wp-json/wp/v2/posts?{query}",
        f"https://e.org/wp-json/wp/v2/pages?{query}",
    ]
    assert addresses("https://e.org/?rest_route=/") == [
        f"https://e.org/?rest_route=/wp/v2/posts&{query}",
        f"https://e.org/?rest_route=/wp/v2/pages&{query}",
    ]


def test_wordpress_posts_are_read_without_theme() -> None:
    post = {
        "link": "https://e.org/2013/10/ferry/",
        "title": {"rendered": "The ferry &#8217;s back"},
        "content": {
            "rendered": "\n<p>It is back.</p>\n<ul><li>Daily</li></ul>",
            "protected": False,
        },
        "date_gmt": "2013-10-31T12:42:46",
        "modified_gmt": "2013-11-01T00:00:00",
    }
    protected = {
        **post,
        "link": "https://e.org/x/",
        "content": {"rendered": "x", "protected": True},
    }
    assert WordPress().read(as_json([post, protected, post]), URL) == [
        OwnText(
            "https://e.org/2013/10/ferry/",
            "It is back.\nDaily",
            "wordpress https://e.org/feed",
            "The ferry ’s back",
            published_at="2013-10-31T12:42:46+00:00",
            modified_at="2013-11-01T00:00:00+00:00",
        )
    ]
    for odd in (
        {"code": "rest_no_route", "data": {"status": 404}},
        [None, 1, "x", [], {}],
        [{**post, "content": "text"}],
        [{**post, "content": {"rendered": 1}}],
        [{**post, "content": {"rendered": ""}}],
        [{**post, "link": None}],
        [{**post, "link": ["x"]}],
        [{**post, "link": "http://[x/"}],
    ):
        assert WordPress().read(as_json(odd), URL) == []
    plain = {**post, "title": None, "date_gmt": None, "modified_gmt": 1}
    (text,) = WordPress().read(as_json([plain]), URL)
    assert (text.title, text.published_at, text.modified_at) == ("", "", "")


LINKS = (
    ("alternate", "application/rss+xml", "https://e.org/feed"),
    ("alternate", "application/rss+xml", "https://e.org/comments/feed"),
    ("alternate", "application/atom+xml; charset=utf-8", "https://e.org/atom"),
    ("alternate", "application/feed+json", "https://e.org/feed.json"),
    ("alternate", "application/json", "https://e.org/wp-json/wp/v2/pages/2"),
    ("alternate", "text/markdown", "https://e.org/index.md"),
    ("alternate", "text/plain", "https://e.org/b.md"),
    ("alternate", "text/plain", "https://e.org/llms.txt"),
    ("alternate", "text/plain", "http://[x/a.md"),
    ("stylesheet", "text/css", "https://e.org/x.css"),
    ("https://api.w.org/", "", "https://e.org/wp-json/"),
)


def test_sources_find_urls_announced_by_page() -> None:
    announced = Announced("https://e.org/", LINKS, "Hexo")
    assert list(Feed().addresses(announced)) == [
        "https://e.org/feed",
        "https://e.org/atom",
        "https://e.org/feed.json",
    ]
    assert list(Markdown().addresses(announced)) == ["https://e.org/index.md", "https://e.org/b.md"]
    for name in SOURCES.names():
        source = SOURCES.load(name)()
        assert source.name == name
        assert all(map(str.isprintable, source.addresses(announced)))
        assert list(source.addresses(Announced("http://[x/", generator="mkdocs"))) == []


def test_own_texts_contain_no_surrogates_or_control_characters() -> None:
    text = '{"version": "https://jsonfeed.org/version/1", "items": [{"url": "/\\u00e9", "title":'
    text += '"\\ud800", "content_text": "a\\ud800b\\u0000c\\u001b\\u202ed\\n\\u0085e"}]}'
    (found,) = Feed().read(text.encode(), URL)
    assert (found.url, found.title) == ("https://e.org/é", "?")
    assert found.text == "a?b c d\ne"
    assert OwnText.from_record(found.to_record()) == found


def test_markup_is_converted_to_one_line_per_paragraph() -> None:
    assert (
        text_of("<h1>A</h1>b<br>c<p>d\n e<pre>f\n g</pre><script>h</script>") == "A\nb c\nd e\nf g"
    )
    assert text_of(" a\n\nb < c ") == "a\nb < c"
    assert (
        join_lines(["a" * 10, "", " ", "b" * MAX_CHARS]) == f"{'a' * 10}\n{'b' * (MAX_CHARS - 11)}"
    )
