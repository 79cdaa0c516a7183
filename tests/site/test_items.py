from __future__ import annotations

import csv
import itertools
from dataclasses import asdict
from hashlib import sha256
from io import BytesIO, StringIO

import pytest
from scrapy.exporters import CsvItemExporter, XmlItemExporter
from w3lib.url import canonicalize_url

from contentspider.crawl.base.items import ContentItem, FieldMap
from contentspider.ground.addresses import parameter_order
from contentspider.page.input.page import Page
from contentspider.site.models.identity import page_id
from contentspider.site.models.record import absolute_url, page_fields, text_sample

HTML = """<html lang="en"><head><title>Ferry | Harbour</title>
<meta property="article:published_time" content="2024-03-01"><meta name="keywords" content="a,b">
<meta name="author" content="Ada"></head><body><h1>Ferry</h1><p>It is back.<h2>Times</h2>"""


def values() -> dict[str, object]:
    page = Page.from_html(HTML, "https://harbour.example/ferry")
    return page_fields(page, "harbour.example", None, "")


def test_page_fields_fill_every_item_field() -> None:
    of_crawls = {"also_at", "change", "change_ratio", "first_seen", "changed_at"}
    assert set(values()) == set(ContentItem.__dataclass_fields__) - of_crawls


@pytest.mark.parametrize("wanted", [["content"], ["title"], ["content_html"], ["language", "url"]])
def test_expensive_fields_are_computed_only_if_wanted(wanted: list[str]) -> None:
    page, whole = Page.from_html(HTML, "https://harbour.example/ferry"), values()
    found = page_fields(page, "harbour.example", None, "", wanted=wanted)
    assert set(wanted) <= found.keys() < whole.keys()
    assert all(found[name] == whole[name] for name in found.keys() - {"crawled_at"})
    assert "content_markdown" not in found
    assert ("author" in found) is ("title" in wanted)
    assert {"id", "content_hash", "model_version"} <= found.keys(), "comparisons need them"


def test_unfilled_item_has_only_its_url() -> None:
    lists = "passages images records headings author section keywords also_at".split()
    filled = {"url": "https://harbour.example/ferry", **{name: [] for name in lists}}
    filled |= {"confidence": 0.0, "change_ratio": 0.0, "fields": {}}
    empty = dict.fromkeys(ContentItem.__dataclass_fields__, "")
    assert asdict(ContentItem("https://harbour.example/ferry")) == empty | filled


def test_item_fields_describe_page() -> None:
    page = Page.from_html(
        HTML + "<p>See <a href=/tides>tides</a>.", "https://harbour.example/ferry"
    )
    found = page_fields(page, "harbour.example", None, "")
    assert found["content"] == "Ferry\nIt is back.\nTimes\nSee tides."
    assert "[tides](https://harbour.example/tides)" in found["content_markdown"]
    assert 'href="https://harbour.example/tides"' in found["content_html"]
    assert {name: found[name] for name in ("page_type", "model_version", "confidence")} == {
        "page_type": "other",
        "model_version": "unfiltered",
        "confidence": 0.0,
    }
    assert (len(found["id"]), len(found["content_hash"])) == (32, 32)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/tides", "https://harbour.example/tides"),
        (" tides#low ", "https://harbour.example/tides"),
        ("//cdn.example/a.jpg", "https://cdn.example/a.jpg"),
        ("ftp://harbour.example/a.jpg", ""),
        ("mailto:ada@harbour.example", ""),
        ("http://[::1", ""),
        ("/a\nb", ""),
        ("", ""),
        ("https://a.example/" + "x" * 1_982, "https://a.example/" + "x" * 1_982),
        ("https://a.example/" + "x" * 1_983, ""),
        ("/" + "x" * 1_990, ""),
    ],
)
def test_item_urls_are_absolute_web_urls_of_limited_length(address, expected) -> None:
    page = Page.from_html(HTML, "https://harbour.example/ferry")
    assert absolute_url(page, address) == expected


def test_language_sample_excludes_code_and_is_limited() -> None:
    german = "Die Fähre fährt heute wieder, und das Wetter ist gut genug für alle."
    page = Page.from_html(f"<pre>{'if the for and with this that ' * 30}</pre><p>{german}</p>")
    assert text_sample(page.content.blocks) == german
    # the first 600 characters are enough
    page = Page.from_html("".join(f"<p>{letter * 400}</p>" for letter in "abc"))
    assert text_sample(page.content.blocks) == "a" * 400 + "\n" + "b" * 400


def test_page_ids_distinguish_order_of_parameters() -> None:
    ids = [page_id(f"https://e.org/?{query}") for query in ("a=1&b=2", "b=2&a=1", "b=%32&a=1")]
    assert ids[0] != ids[1] == ids[2]


@pytest.mark.parametrize("start", ["https://harbour.example", "HTTP://Harbour.example:80"])
def test_page_id_is_hash_of_canonical_url(start: str) -> None:
    pieces = "/ /a /A-b_c. .. ~u %7Eu %e9 é ; : @ + ?a=1&b=2 ?x= ? #f #!f //".split()
    for parts in itertools.product(pieces, repeat=2):
        url = f"{start}/p{''.join(parts)}"
        digest = sha256((canonicalize_url(url) + parameter_order(url)).encode()).hexdigest()
        assert page_id(url) == digest[:32]


def test_filled_item_keeps_its_own_url() -> None:
    item = ContentItem("https://harbour.example/mine", title="mine")
    FieldMap({}).fill(item, values())
    assert (item.url, item.id, item.title) == (
        "https://harbour.example/mine",
        values()["id"],
        "Ferry",
    )


def test_user_items_are_filled_by_field_mapping() -> None:
    item: dict[str, object] = {"link": "https://harbour.example/mine"}
    mapping = {"url": "link", "published_at": "date", "headings": "toc", "keywords": "tags"}
    FieldMap({"dict": mapping}).fill(item, values())
    assert item == {
        "link": "https://harbour.example/mine",
        "date": "2024-03-01",
        "toc": ["# Ferry", "## Times"],
        "tags": ["a", "b"],
    }
    with pytest.raises(ValueError, match="published_at, modified_at, author"):
        FieldMap({"dict": {"date": "date"}})


def test_items_do_not_share_lists() -> None:
    first, second = ContentItem("a"), ContentItem("b")
    first.keywords.append("x")
    assert second.keywords == []


def test_item_lists_are_exported_to_csv_and_xml() -> None:
    item = ContentItem(url="")
    FieldMap({}).fill(item, values())
    file = BytesIO()
    exporter = CsvItemExporter(file, fields_to_export=list(asdict(item)))
    exporter.export_item(item)
    exporter.stream.flush()
    row = next(csv.DictReader(StringIO(file.getvalue().decode())))
    assert (row["headings"], row["keywords"]) == ("# Ferry,## Times", "a,b")
    file = BytesIO()
    xml = XmlItemExporter(file)
    xml.start_exporting()
    xml.export_item(item)
    xml.finish_exporting()
    assert b"<headings><value># Ferry</value><value>## Times</value></headings>" in file.getvalue()


def test_unknown_mapped_fields_raise_value_error() -> None:
    with pytest.raises(ValueError, match="maps \\['text'\\]"):
        FieldMap({"my.Item": {"text": "body"}})
