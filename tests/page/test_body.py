from __future__ import annotations

import asyncio
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from lxml import etree
from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from contentspider.crawl.addon import Addon
from contentspider.crawl.middlewares.pages import BodiesMiddleware
from contentspider.page.input.body import (
    EMPTY_HTML,
    as_utf8,
    decode,
    guessed_encoding,
    limit_markup,
    may_be_html,
    page_encoding,
    without_early_ends,
)
from contentspider.page.input.page import Page

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

NO_TEXT = (
    "punycode undefined unicode_escape raw_unicode_escape idna base64_codec hex rot13 utf-7 hz"
)


@pytest.mark.parametrize("encoding", NO_TEXT.split())
def test_unknown_encoding_label_is_replaced_by_detected_encoding(encoding: str) -> None:
    for text in ("<p>naïve œuvre</p>", "<p>日本語</p>"):
        body = text.encode()
        assert text_of(Page.from_html(body, content_type=f"text/html; charset={encoding}")) in text
        assert text_of(Page.from_html(f"<meta charset={encoding}>".encode() + body)) in text
    body = "<p>naïve œuvre</p>".encode("cp1252")
    assert page_encoding(body, f"text/html; charset={encoding}") == "cp1252"


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"<meta charset=utf-16><p>x", None, "utf-8"),
        (b"<meta charset=koi8-r><p>x", "text/html; charset=punycode", "koi8-r"),
        (b"x", "text/html; charset=latin1", "cp1252"),
        (b"x", "text/html; charset=gb2312", "gb18030"),
        (b"x", "text/html; charset=x-sjis", "cp932"),
        (b"x", "text/html; charset=utf-16", "utf-16-le"),
        (b"\xff\xfex\0", "text/html; charset=utf-8", "utf-16-le"),
    ],
)
def test_encoding_labels_resolve_like_in_browsers(
    body: bytes, content_type: str | None, expected: str
) -> None:
    assert page_encoding(body, content_type) == expected


def test_page_that_was_saved_as_utf8_is_not_read_in_its_old_encoding() -> None:
    meta = b"<meta charset=iso-8859-1>"
    converted = meta + ("<p>Fähren über Nacht für Gäste. " * 10).encode()
    assert page_encoding(converted, None) == "utf-8"
    assert page_encoding(converted, "text/html; charset=iso-8859-1") == "cp1252"
    original = meta + ("<p>Fähren über Nacht für Gäste. " * 10).encode("cp1252")
    assert page_encoding(original, None) == "cp1252"
    # These two characters in GB 18030 are valid UTF-8 by chance.
    assert page_encoding(b"<meta charset=gb2312><p>" + "联通".encode("gb18030"), None) == "gb18030"


TEXTS = {
    "cp1251": "Железная дорога соединяет большие города и маленькие посёлки нашей страны. ",
    "koi8-r": "Железная дорога соединяет большие города и маленькие посёлки нашей страны. ",
    "cp932": "鉄道は大きな都市と小さな町をつなぎ、毎日たくさんの人を運んでいます。",
    "euc_jp": "鉄道は大きな都市と小さな町をつなぎ、毎日たくさんの人を運んでいます。",
    "iso2022_jp": "鉄道は大きな都市と小さな町をつなぎ、毎日たくさんの人を運んでいます。",
    "gb18030": "铁路连接着大城市和小城镇，每天运送许多旅客和货物。",
    "big5hkscs": "鐵路連接著大城市和小城鎮，每天運送許多旅客和貨物。",
    "cp949": "철도는 큰 도시와 작은 마을을 이어 주며 매일 많은 사람을 실어 나릅니다. ",
    "cp1256": "تربط السكك الحديدية بين المدن الكبيرة والقرى الصغيرة في بلادنا كل يوم. ",
    "cp1250": "Żelazna kolej łączy duże miasta i małe wsie naszego kraju, także w święta. ",
    "cp1253": "Ο σιδηρόδρομος συνδέει τις μεγάλες πόλεις με τα μικρά χωριά της χώρας. ",
    "cp1252": "Die Fähren fahren über Nacht, und für Gäste gibt es süßes Gebäck. ",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_encoding_that_nothing_declares_is_found_in_the_text(encoding: str) -> None:
    text = TEXTS[encoding]
    page = Page.from_html(f"<title>T</title><p>{text * 4}".encode(encoding))
    assert text_of(page) == (text * 4).strip()
    # Of this text, both have the same letters.
    assert page.guessed_encoding == encoding.replace("koi8-r", "koi8-u")
    header = {"Content-Type": "text/html"}
    body = f"<html><title>T</title><p>{text * 4}".encode(encoding)
    response, stats = counted_pass(HtmlResponse("http://a.example/", headers=header, body=body))
    assert text * 4 in response.text
    assert stats.get_value("contentspider/pages/encoding_guessed") == 1


@pytest.mark.parametrize("head", ["", "<meta charset=koi8-r>", "<?xml encoding='koi8-r'?>"])
def test_pages_that_declare_or_are_utf8_need_no_guess(
    head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "chardetng_py", None)
    monkeypatch.setitem(sys.modules, "chardet", None)
    text = f"{head}<p>{TEXTS['koi8-r']}"
    body = text.encode("koi8-r" if head else "utf-8")
    assert text_of(Page.from_html(body)) == TEXTS["koi8-r"].strip()
    assert not Page.from_html(body).guessed_encoding
    assert not Page.from_html(b"<p>ASCII \x1b$ of a terminal \xc3\xa9").guessed_encoding
    assert text_of(Page.from_html("<p>a “quote”".encode("cp1252"))) == "a “quote”"
    response, stats = counted_pass(HtmlResponse("http://a.example/", body=body))
    assert TEXTS["koi8-r"] in response.text
    assert not stats.get_value("contentspider/pages/encoding_guessed")


def test_without_chardetng_the_other_detector_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def detect(body: bytes, include_encodings: list[str]) -> dict[str, str]:
        asked.append(include_encodings)
        return {"encoding": "EUC-KR"}

    monkeypatch.setitem(sys.modules, "chardetng_py", None)
    monkeypatch.setitem(sys.modules, "chardet", SimpleNamespace(detect=detect))
    assert guessed_encoding(TEXTS["cp949"].encode("cp949")) == "cp949"
    assert "euc-jp" in asked[0]


def test_responses_with_unknown_encoding_are_decoded_like_files() -> None:
    body = b"<html><p>text " * 50_000
    for encoding in NO_TEXT.split():
        header = {"Content-Type": f"text/html; charset={encoding}"}
        response = passed_on(HtmlResponse("http://a.example/", headers=header, body=body))
        assert response.text == body.decode()
        meta = f"<meta charset={encoding}>".encode() + body
        response = passed_on(HtmlResponse("http://a.example/", body=meta))
        assert response.text == meta.decode()


def passed_on(response: Response) -> Response:
    return counted_pass(response)[0]


def counted_pass(response: Response) -> tuple[Response, StatsCollector]:
    crawler = get_crawler()

    async def process() -> Response:
        return await BodiesMiddleware(crawler).process_response(Request(response.url), response)

    result = asyncio.run(process())
    assert crawler.stats
    return result, crawler.stats


def test_bodies_middleware_runs_between_decompression_and_meta_refresh() -> None:
    settings = Settings()
    Addon().update_settings(settings)
    order = {**settings.getwithbase("DOWNLOADER_MIDDLEWARES")}[BodiesMiddleware]
    base = settings["DOWNLOADER_MIDDLEWARES_BASE"]
    name = "scrapy.downloadermiddlewares"
    assert base[f"{name}.redirect.MetaRefreshMiddleware"] < order
    assert order < base[f"{name}.httpcompression.HttpCompressionMiddleware"]


def test_ordinary_responses_pass_unchanged() -> None:
    odd = {"Content-Type": "text/html; charset=punycode"}
    for response in (
        Response("http://a.example/", body=b"<p>x"),
        Response("http://a.example/", headers=odd, body=b"<p>x"),
        HtmlResponse("http://a.example/", headers=odd, body=b"\0\1\2\3" * 99),
        HtmlResponse("http://a.example/", body=b"%PDF-1.4"),
        HtmlResponse("http://a.example/", body=b"<p id=a class=b>" * 50_000),
        HtmlResponse("http://a.example/", body=b"<p>x</body></html>\n"),
        HtmlResponse("http://a.example/", body="<p>日本".encode("utf-16")),
        HtmlResponse("http://a.example/", body="<p>日本".encode("cp932"), encoding="cp932"),
    ):
        assert passed_on(response) is response


EARLY_ENDS = (
    "<head><title>Tea</title></head></html>\n<body><p>Green</p><a href=/y>z</a></body></html>",
    "<body><p>Green</p></body></html><a href=/y>z</a>",
    "<body><div><p>Green</p></BODY>\n</HTML ></div><!-- tea --><a href=/y>z</a></body></html>",
    "<body><p>Green</p><p></html> <a href=/y>z</a></p>",
)


@pytest.mark.parametrize("markup", EARLY_ENDS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_text_and_links_after_the_end_of_the_page_are_read(markup: str, encoding: str) -> None:
    body = markup.encode(encoding)
    content_type = f"text/html; charset={encoding}"
    page = Page.from_html(body, content_type=content_type)
    assert [block.text for block in page.content.blocks] == ["Green", "z"]
    headers = {"Content-Type": content_type}
    response = passed_on(HtmlResponse("http://a.example/", headers=headers, body=body))
    assert response.css("p::text").get() == "Green"
    assert response.css("a::attr(href)").getall() == ["/y"]


def test_page_that_ends_once_is_not_copied() -> None:
    for body in (b"<p>x", b"<html><p>x</body></html>", b"<p>x</html>\n ", b"<p>x</body>y"):
        assert without_early_ends(body) is body


def test_mended_page_does_not_count_as_cut() -> None:
    crawler = get_crawler()
    response = HtmlResponse("http://a.example/", body=EARLY_ENDS[0].encode())
    asyncio.run(BodiesMiddleware(crawler).process_response(Request(response.url), response))
    assert crawler.stats is not None
    assert not crawler.stats.get_value("contentspider/pages/cut")


def test_tags_with_thousands_of_attributes_are_cut_in_responses() -> None:
    markup = f"<p {attributes('a{}=1')}>x<a href=/y>z</a>"
    for encoding in ("utf-8", "utf-16", "iso2022_jp", "cp1252"):
        header = {"Content-Type": f"text/html; charset={encoding}"}
        body = markup.encode(encoding)
        response = passed_on(HtmlResponse("http://a.example/", headers=header, body=body))
        assert len(response.body) < 20_000
        assert response.css("a::attr(href)").getall() == ["/y"]


def test_changes_to_responses_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "contentspider")
    markup = f"<p {attributes('a{}=1')}>x \ud83d".encode("utf-16", "surrogatepass")
    headers = {"Content-Type": "text/html; charset=utf-16"}
    cut = passed_on(HtmlResponse("http://a.example/1", headers=headers, body=markup))
    assert "\ud83d" not in cut.text
    assert cut.encoding == "utf-8"
    odd = {"Content-Type": "text/html; charset=punycode"}
    read = passed_on(HtmlResponse("http://a.example/2", headers=odd, body=b"<p>x"))
    cut_message, encoding_message = caplog.messages
    assert "<200 http://a.example/1> is cut" in cut_message
    assert f"<200 http://a.example/2> is read as {read.encoding}" in encoding_message


def attributes(pattern: str, number: int = 20_000) -> str:
    return " ".join(pattern.replace("{}", str(index)) for index in range(number))


@pytest.mark.parametrize(
    "markup",
    [
        "<p %s>x",
        "<p %s",
        "<p id=%s>x",
        "<P\t%s/>x",
        "<\0p %s>x",
        "<!-- <a b=' --> <p %s>x",
        "<script>'<a b=\"</script><p %s>x",
        '<p title="a>b" %s>x',
    ],
)
@pytest.mark.parametrize(
    "pattern",
    ["a{}=1", "a{}", "a{}='>'", 'a{} = "</p>"', "</a{}", "<a{}", "--!a{}", "a{}=--></b", "/a{}/"],
)
def test_attributes_are_limited_in_linear_time(markup: str, pattern: str) -> None:
    body = (markup % attributes(pattern, 40_000)).encode()
    started = time.process_time()
    etree.fromstring(limit_markup(body), etree.HTMLParser(huge_tree=True, encoding="utf-8"))
    assert time.process_time() - started < 0.5  # uncut they take seconds


@pytest.mark.parametrize(
    ("end", "is_html"), [("<p>", True), ("<!-- <rss> --><p>", True), ("<rss>", False)]
)
def test_comments_before_a_feed_are_read_in_linear_time(end: str, is_html: bool) -> None:
    body = (f"{'<!---->' * 20}<!-- a\n-- b -->{end}").encode()
    started = time.process_time()
    assert may_be_html(body) == is_html
    assert time.process_time() - started < 0.05  # each comment more doubled the time


@pytest.mark.parametrize(
    ("body", "is_html"),
    [
        (b'{"title": "<p>Tea</p>", "size": [1, 2]}\n<script async src=/ads.js></script>\n', False),
        (b'{"a": 1}<script>var page = "longer than the answer of the server"</script>', True),
        (b'{"a": 1, "size": [1, 2]}<p>Tea</p>\n<script></script>', True),
        (b'{{ title }}, {"a": 1, "size": [1, 2]}<script></script>', True),
    ],
)
def test_json_with_script_of_the_host_behind_it_is_no_page(body: bytes, is_html: bool) -> None:
    assert may_be_html(body) == is_html


@pytest.mark.parametrize("letter", ["x", "é", "水", "🙂"])
def test_oversized_page_is_cut_between_characters(letter: str, monkeypatch) -> None:
    size = len(letter.encode())
    for most in range(100, 100 + size):
        monkeypatch.setattr("contentspider.page.input.body.MAX_BYTES", most)
        cut = limit_markup(f"<p>{letter * 200}".encode())
        assert most - size < len(cut) <= most
        assert cut.decode() == f"<p>{letter * ((most - 3) // size)}"
    monkeypatch.setattr("contentspider.page.input.body.MAX_BYTES", 3 + 200 * size)
    assert limit_markup(whole := f"<p>{letter * 200}".encode()) is whole


def test_attributes_within_limit_stay() -> None:
    body = b"<p " + b" ".join(b"a%d=1" % number for number in range(999)) + b">x<p class=y>z"
    assert limit_markup(body * 3) == body * 3
    cut = limit_markup(body.replace(b">x", b" b=2 c=3>x"))
    assert cut == body.replace(b">x", b" b=2 >x")


def test_tag_like_scripts_and_comments_stay_uncut() -> None:
    words = attributes("word{}")
    for html in (
        f"<script>if (a<b) {{ {words} }}</script><p>x",
        f"<!-- a <b {words} --><p>x",
        f'<script type=\'application/ld+json\'>{{"headline": "a <b {words}"}}</script><p>x',
    ):
        body = html.encode()
        assert limit_markup(body) is body


def text_of(page: Page) -> str:
    return page.content.blocks[0].text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"\0\0",
        "\ufeff".encode(),
        "\ufeff\ufeff \0".encode(),
        b"<p>tea",
        b"\x1c\x0b <p>tea\x1f\n",
        b"\0<p>te\0a",
        "<p>thé".encode(),
        "\u3000<p>thé\xa0\n".encode(),
        "\ufeff <p>thé".encode(),
        "\uff1cp>thé".encode(),
        "<p>thé".encode("cp1252"),
        "<p>thé</p>".encode("utf-16"),
        b"<meta charset=utf-8><p>th\xe9, not UTF-8",
        "<meta charset=koi8-r><p>чай".encode("koi8-r"),
        b"<p>cut in a character \xc3",
    ],
)
def test_bytes_and_decoded_text_give_same_utf8(body: bytes) -> None:
    text = decode(body, None).strip()
    expected = text.encode() if text.strip("\0\ufeff") else EMPTY_HTML
    assert as_utf8(body) == expected
    assert as_utf8(decode(body, None)) == expected


def test_utf8_page_is_not_copied() -> None:
    for text in ("<p>tea", "<p>thé"):
        body = text.encode()
        assert as_utf8(body) is body
    assert as_utf8("<p>\ud800") == b"<p>?"
