"""Whatever a site answers, sources of own texts raise nothing, and what they return is bounded."""

from __future__ import annotations

import gzip
import json
import random
import time
import tracemalloc
from itertools import pairwise

import pytest

from contentspider.site.own.readers.markdown import plain_lines
from contentspider.site.own.sources import SOURCES, Announced
from contentspider.site.own.texts import MAX_CHARS, MAX_TEXTS, MAX_TITLE_CHARS
from tests.owntexts import JSON_FEED, MARKDOWN, as_json, atom, rss

SOURCE_OBJECTS = [SOURCES.load(name)() for name in SOURCES.shipped]
URL = "https://e.org/docs/x.md"
TYPES = ["", "text/html", "text/markdown; charset=utf-7", "application/feed+json", "\x00;=\ud800"]

POST = {
    "link": "https://e.org/a/",
    "title": {"rendered": "A &amp; B"},
    "content": {"rendered": "<p>One</p><p>two", "protected": False},
    "date_gmt": "2024-03-01T08:00:00",
}
DOCS = {"docs": [{"location": "a/#b", "title": "B", "text": "<p>x</p>"}, {"location": "a/"}]}
SEARCH = [{"documents": [{"i": 1, "t": "T", "u": "/a", "s": "S", "h": "#b"}], "index": {}}] * 3
HEXO = "<search><entry><title>T</title><url>/a</url><content><![CDATA[<p>x]]></content></entry>"
VALID = [
    rss(
        "<title>T</title><link>/a</link><dc:creator>Ada Byron</dc:creator><pubDate>Thu, 31 Oct 2013"
        " 12:42:46 +0000</pubDate><content:encoded><![CDATA[<p>One<p>two]]></content:encoded>",
        "<guid>https://e.org/b</guid><description>&lt;p&gt;x &amp;hellip;</description>",
    ),
    atom(
        "<title type='html'>&lt;i>T</title><link href='a' xml:base='/b/'/><updated>2024-03-01"
        "</updated><content type='xhtml'><p>a</p>b</content>"
    ),
    as_json(JSON_FEED),
    as_json([POST, POST]),
    as_json(DOCS),
    as_json(SEARCH),
    f"{HEXO}</search>".encode(),
    MARKDOWN.encode(),
]

PIECES = [
    *(bytes([byte]) for byte in b"\x00\x01\x1f\x80\xff<>&\"'{}[]:,#;\n\\*_`!|-"),
    "\ufeff\u2028\u202e💥é".encode(),
    *b"<item> </item> <entry> <![CDATA[ ]]> <!-- --> <?x <!DOCTYPE &x; &#0; &#xd800;".split(),
    *b'null true -1 1e999 NaN \\ud800 \\u0000 [[[[ }}}} {} [] ""'.split(),
    b"http://[x/",
    b"https://e.org:port/",
    b"javascript:x",
    b"encoding='utf-16'",
    b"xml:base='http://[x/'",
    b"xmlns='\xff'",
]


def mutated(random_: random.Random) -> bytes:
    """Return a valid body with some of it cut out, doubled, moved, or replaced by worse."""
    body = bytearray(random_.choice(VALID))
    for _ in range(random_.randint(1, 8)):
        start = random_.randrange(len(body) + 1)
        end = min(len(body), start + random_.choice([0, 1, 3, 20, 200]))
        kind = random_.randrange(4)
        if kind == 0:
            del body[start:end]
        elif kind == 1:
            body[start:start] = body[start:end] * random_.choice([1, 2, 50])
        elif kind == 2:
            body[start:end] = random_.choice(PIECES)
        else:
            other = random_.choice(VALID)
            at = random_.randrange(len(other))
            body[start:start] = other[at : at + random_.choice([5, 50, 500])]
    return bytes(body)


def changed_types(random_: random.Random) -> bytes:
    """Return a valid body of JSON with some of its values replaced by those of another type."""
    odd = [
        None,
        True,
        -1,
        1.5,
        "",
        "\ud800",
        "http://[x/",
        [],
        [[]],
        {},
        {"rendered": []},
        "x" * 99,
    ]

    def change(value: object) -> object:
        if random_.random() < 0.15:
            return random_.choice(odd)
        if isinstance(value, dict):
            return {key: change(one) for key, one in value.items()}
        return [change(one) for one in value] if isinstance(value, list) else value

    return json.dumps(change(random_.choice([JSON_FEED, [POST], DOCS, SEARCH]))).encode()


def check(body: bytes, content_type: str = "") -> int:
    """Read a body with every source, and return how many texts were found."""
    found = 0
    for source in SOURCE_OBJECTS:
        texts = source.read(body, URL, content_type)
        found += len(texts)
        assert len(texts) <= MAX_TEXTS
        for text in texts:
            assert text.text
            assert len(text.text) <= MAX_CHARS
            assert len(text.title) <= MAX_TITLE_CHARS
            assert text.url.startswith(("http://", "https://"))
            json.dumps(text.to_record(), ensure_ascii=False).encode()
            assert "\0" not in text.text + text.title
    return found


@pytest.mark.parametrize("seed", range(4))
def test_mutated_bodies_raise_nothing(seed: int) -> None:
    random_ = random.Random(seed)
    found = 0
    for _ in range(400):
        body = mutated(random_) if random_.random() < 0.8 else changed_types(random_)
        found += check(body, random_.choice(TYPES))
    assert found > 100, "most are still read"


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
    "gzip": gzip.compress(VALID[0]),
    "UTF-16": VALID[0].decode().encode("utf-16"),
    "UTF-16 of JSON": VALID[2].decode().encode("utf-16"),
    "wrong charset": VALID[0].replace(b'"1.0"', b'"1.0" encoding="utf-16"'),
    "unknown charset": VALID[0].replace(b'"1.0"', b'"1.0" encoding="punycode"'),
    "cut character": VALID[0].replace(b"One", b"\xe2\x82"),
    "entity bomb": bomb().encode() + VALID[0].replace(b"One<p>two", b"]]>&j;<![CDATA["),
    "entity bomb in a link": bomb().encode() + VALID[0].replace(b"/a<", b"/a?&j;<"),
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


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_cost_no_more_than_their_size(name: str) -> None:
    body = HOSTILE[name]
    started = time.process_time()
    tracemalloc.start()
    try:
        check(body, "text/markdown")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * MB + 12 * len(body)
    assert time.process_time() - started < 5


def test_what_pages_announce_raises_nothing() -> None:
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


def test_markdown_takes_time_proportional_to_its_length() -> None:
    started = time.process_time()
    for unit in UNITS:
        for between in ("", " ", "\n"):
            length = 20_000 // len(unit + between)
            for text in ((unit + between) * length, "# " + (unit + between) * length + "!"):
                assert all(isinstance(line, str) for line in plain_lines(text))
    assert time.process_time() - started < 10
