"""Whatever a site answers, sources of own texts raise nothing, and what they return is bounded: of
large bodies. Many small ones are in `test_fuzz.py`.
"""

from __future__ import annotations

import gzip
import random
import time
import tracemalloc
from itertools import pairwise

import pytest

from contentspider.site.own.readers.feeds import read_entries
from contentspider.site.own.readers.markdown import plain_lines
from contentspider.site.own.sources import Announced
from tests.cpu_time import loop_secs
from tests.fuzzed import FEEDS, SOURCE_OBJECTS, URL, read_own_texts
from tests.owntexts import JSON_FEED, as_json, atom, rss


def bomb(names: str = "abcdefghij") -> str:
    entities = "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in pairwise(names))
    return f"<!DOCTYPE rss [<!ENTITY a '{'x' * 100}'>{entities}]>"


MB = 1_000_000
ITEM = "<item><link>/a</link><description>{}</description></item>"
HOSTILE = {
    "empty": b"",
    "blank": b" \n",
    "null": b"\0" * 1_000,
    "binary": random.Random(1).randbytes(MB),
    "gzip": gzip.compress(FEEDS[0]),
    "UTF-16": FEEDS[0].decode().encode("utf-16"),
    "UTF-16 of JSON": as_json(JSON_FEED).decode().encode("utf-16"),
    "wrong charset": FEEDS[0].replace(b'"1.0"', b'"1.0" encoding="utf-16"'),
    "unknown charset": FEEDS[0].replace(b'"1.0"', b'"1.0" encoding="punycode"'),
    "cut character": FEEDS[0].replace(b"One", b"\xe2\x82"),
    "entity bomb": bomb().encode() + FEEDS[0].replace(b"One<p>two", b"]]>&j;<![CDATA["),
    "entity bomb in a link": bomb().encode() + FEEDS[0].replace(b"/a<", b"/a?&j;<"),
    "quadratic entities": f"<!DOCTYPE rss [<!ENTITY a '{'x' * 100_000}'>]><rss>".encode()
    + ITEM.format("&a;" * 10_000).encode(),
    "parameter entities": b"<!DOCTYPE rss [<!ENTITY % a '<!ENTITY b SYSTEM \"file:///etc/passwd\">'>%a;]>"
    b"<rss><item><link>/a</link><description>&b;</description></item></rss>",
    "deep XML": b"<rss>" + b"<item>" * 100_000,
    "deep HTML": rss("<link>/a</link><description>" + "&lt;div>" * 50_000 + "</description>"),
    "deep XHTML": atom("<link href='/a'/><content type='xhtml'>" + "<p>" * 5_000),
    "deep JSON": b"[" * 200_000,
    "deep objects": b'{"docs":' * 100_000,
    "deep items": b'{"version": "https://jsonfeed.org/version/1", "items": ' + b"[" * 5_000,
    "many entries": rss(*[ITEM[6:-7].format("x")] * 20_000),
    "many children": rss("<link>/a</link>" + "<author>x</author>" * 100_000),
    "many attributes": b"<rss " + b"".join(b"a%d='' " % n for n in range(20_000)) + b"/>",
    "nested texts": atom(*["<link href='/a'/><content type='xhtml'>x" * 120], head="x" * MB),
    "nested authors": b"<feed>" + b"<entry><link href='/a'/><author>x" * 120 + b"x" * 9 * MB,
    "nested entries": b"<rss>" + b"<item><link>/a</link><description>x" * 250,
    "10 MB of text": rss(f"<link>/a</link><description>{'x y ' * 2_500_000}</description>"),
    "10 MB of tags": b"<rss>" + b"<a/>" * 2_500_000,
    "10 MB of items": b"<rss>" + b"<item/>" * 1_400_000,
    "10 MB of arrays": b"[" + b"[]," * 3_300_000,
    "10 MB of objects": b'{"docs": [' + b"{}," * 3_300_000 + b"{}]}",
    "numbers": b"[" + b"1," * 100_000 + b"1]",
    "10 MB of one number": b'{"docs": ' + b"1" * 10_000_000 + b"}",
    "10 MB of a section": as_json({"docs": [{"location": "", "text": "<p>x" * 2_500_000}]}),
    "10 MB of Markdown": b"*a `b [c](d " * 900_000,
    "sections of a page": as_json({"docs": [{"location": "#a", "text": "x"}] * 30_000}),
    "repeated names": b'{"docs": [' + b'{"location": "a/", "text": "x"},' * 10_000 + b"{}]}",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_take_bounded_memory_and_time(name: str) -> None:
    body = HOSTILE[name]
    tracemalloc.start()
    try:
        read_own_texts(body, "text/markdown")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * MB + 12 * len(body)
    started = time.process_time()  # without tracemalloc, which takes two thirds of the time
    read_own_texts(body, "text/markdown")
    assert time.process_time() - started < 30 * loop_secs()
    read_entries(body, URL, texts=0)  # as the crawl does, for links


def test_malformed_announcements_raise_no_errors() -> None:
    odd = [
        "",
        "http://[x/",
        "\ud800",
        "https://e.org/a.md",
        "a" * 100_000,
        "\0",
        "//",
        "?rest_route",
    ]
    rels = ["alternate", "https://api.w.org/", ""]
    kinds = ["text/markdown", "text/plain;x", "application/rss+xml", ";", ""]
    links = tuple((rel, kind, address) for rel in rels for kind in kinds for address in odd)
    for generator in ("mkdocs", "Hexo\0", "docusaurus\ud800", ""):
        for url in odd:
            announced = Announced(url, links, generator)
            for source in SOURCE_OBJECTS:
                assert all(isinstance(address, str) for address in source.addresses(announced))


UNITS = "a ` `` ``` * ** *a _ _a ~ ~~ [ ] ![ [a]( ( ) [( < > <a <!-- --> # - | \\ & &amp;".split()


@pytest.mark.thorough
def test_markdown_conversion_takes_linear_time() -> None:
    started = time.process_time()
    for unit in UNITS:
        for between in ("", " ", "\n"):
            length = 20_000 // len(unit + between)
            for text in ((unit + between) * length, "# " + (unit + between) * length + "!"):
                assert all(isinstance(line, str) for line in plain_lines(text))
    assert time.process_time() - started < 10
