"""Pages that are made to cost: each kind fills a given number of bytes with one thing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def repeat(unit: str, size: int) -> str:
    return unit * (size // len(unit.encode()))


def count(form: str, size: int) -> str:
    """Return *form* with the numbers from 0 on, as often as *size* bytes hold it."""
    return "".join(form % number for number in range(size // len((form % 100_000).encode())))


def words(size: int, alphabet: str = ALPHABET, gap: str = " ") -> str:
    """Return random words of other letters each time."""
    draw = random.Random(alphabet)
    letters = size // len(alphabet[0].encode())
    text = "".join(draw.choices(alphabet, k=letters))
    return gap.join(text[start : start + 7] for start in range(0, letters * 7 // 8, 7))


def scripts(size: int) -> str:
    """Return words of as many scripts as have 20 letters in a row."""
    starts = [0x3B1, 0x430, 0x561, 0x5D0, 0x627, 0x905, 0xE01, 0x10D0, 0x1100, 0x3041, 0x4E00]
    return "".join(
        words(size // len(starts), "".join(map(chr, range(at, at + 20)))) for at in starts
    )


def balanced(opening: str, closing: str, size: int, inside: str = "x") -> str:
    depth = size // len(opening + closing)
    return opening * depth + inside + closing * depth


def table(size: int, attributes: str = "") -> str:
    row = "<tr>" + f"<td{attributes}>x</td>" * 100 + "</tr>"
    return f"<table>{repeat(row, size)}</table>"


def script(kind: str, text: str) -> str:
    return f"<script type='{kind}'>{text}</script>"


def linked_data(size: int, unit: str) -> str:
    return script("application/ld+json", "[" + repeat(unit + ",", size) + unit + "]")


KINDS: dict[str, Callable[[int], str]] = {
    # trees
    "nested divs": lambda size: balanced("<div>", "</div>", size),
    "nested divs with text": lambda size: repeat("<div>a", size),
    "unclosed inline": lambda size: repeat("<b><i><u>", size) + "x",
    "unclosed inline in blocks": lambda size: repeat("<p><b><i><font>x", size),
    "nested links": lambda size: repeat("<a href=x>y", size),
    "nested tables": lambda size: balanced("<table><tr><td>", "</table>", size),
    "nested lists": lambda size: repeat("<ul><li>x", size),
    "nested quotes": lambda size: repeat("<blockquote>x", size),
    "nested frames": lambda size: repeat("<iframe srcdoc='<p>x'>", size),
    "nested templates": lambda size: repeat("<template><p>x", size),
    "nested noscript": lambda size: repeat("<noscript><p>x", size),
    "nested unknown elements": lambda size: count("<x-%d>y", size),
    "tiny elements": lambda size: repeat("<b></b>", size),
    "tiny inline with text": lambda size: repeat("<b>x</b>", size),
    "short blocks": lambda size: repeat("<p>x", size),
    "different short blocks": lambda size: count("<p>word %d", size),
    "blocks of own classes": lambda size: count("<p class=c%d>x", size),
    "blocks of own ids": lambda size: count("<div id=n%d>x</div>", size),
    "containers of own classes": lambda size: count("<div class='a%d b'><p>x y</div>", size),
    "blocks in long paths": lambda size: (
        "".join(f"<div class='{'x' * 90}{n}'>" for n in range(150))
        + count("<p class=c%d>x</p>", size)
    ),
    "blocks of long paths": lambda size: count(
        "".join(f"<div class='{'x' * 90}{n} y%d'>" for n in range(150))
        .replace("%d", "%%d", 149)
        .replace("%%d", "")
        + "<p>x"
        + "</div>" * 150,
        size,
    ),
    "breaks": lambda size: repeat("<br>", size),
    "breaks with text": lambda size: repeat("x<br><br>", size),
    "rules": lambda size: repeat("<hr>", size),
    "headings": lambda size: count("<h2>Heading %d</h2>", size),
    "list items": lambda size: "<ul>" + count("<li>item %d", size),
    "definition lists": lambda size: "<dl>" + count("<dt>a %d<dd>b", size),
    "comments": lambda size: repeat("<!--x-->", size),
    "open comments": lambda size: repeat("<!--", size),
    "end tags": lambda size: repeat("</p>", size),
    "less-than signs": lambda size: repeat("<", size),
    "forms": lambda size: count("<input name=n%d value=x>", size),
    "options": lambda size: "<select>" + count("<option value=%d>x", size),
    "images": lambda size: count("<img src=/%d.png alt=x>", size),
    "pictures": lambda size: count("<figure><img src=/%d.png><figcaption>y</figure>", size),
    "image sets": lambda size: "<img srcset='" + count("/%d.png 1x,", size) + "'>",
    "articles": lambda size: count("<article><h2><a href=/%d>x</a></h2></article>", size),
    "svg": lambda size: "<svg>" + repeat("<path d='M0'/>", size) + "</svg>",
    # tables
    "table": table,
    "table of spans": lambda size: table(size, " rowspan=65534 colspan=65534"),
    "table of one row": lambda size: "<table><tr>" + repeat("<td>x", size),
    "table of rows": lambda size: "<table>" + repeat("<tr><td>x", size),
    "broad and long table": lambda size: (
        "<table><tr>" + repeat("<td>x", size // 2) + repeat("<tr><td>y", size // 2)
    ),
    # attributes
    "attributes": lambda size: "<p " + count("a%d=x ", size) + ">x",
    "attributes each": lambda size: repeat(
        "<p " + "".join(f"a{n}=x " for n in range(900)) + ">x", size
    ),
    "giant attribute": lambda size: f"<p title='{words(size)}'>x",
    "giant class": lambda size: f"<p class='{words(size)}'>x",
    "giant id": lambda size: f"<p id='{words(size, gap='-')}'>x",
    "giant class of many": lambda size: f"<div class='{words(size)}'>" + "<p>x" * 1_000,
    "giant style": lambda size: f"<p style='{repeat('color:red;', size)}'>x",
    "giant address": lambda size: f"<a href='/{words(size, gap='/')}'>x</a>",
    "data address": lambda size: f"<p><img src='data:image/png;base64,{words(size, gap='')}'>x",
    "giant element name": lambda size: f"<{words(size, gap='')}>x",
    "giant base": lambda size: (
        f"<base href='http://x/{words(size, gap='')}'>" + count("<a href=%d>x</a>", size // 2)
    ),
    "large base": lambda size: (
        f"<base href='http://x/{'y' * 1_900}/'>" + count("<a href=%d>x</a>", size)
    ),
    # text
    "words": lambda size: f"<p>{words(size)}",
    "one word": lambda size: "<p>" + repeat("x", size),
    "spaces": lambda size: "<p>x" + repeat(" ", size) + "x",
    "no-break spaces": lambda size: "<p>x" + repeat("\u00a0", size) + "x",
    "line breaks": lambda size: "<p>x" + repeat("\n", size) + "x",
    "preformatted": lambda size: f"<pre>{words(size, gap=chr(10))}</pre>",
    "preformatted spaces": lambda size: "<pre>" + repeat(" \n", size) + "x</pre>",
    "code": lambda size: f"<pre><code>{repeat('if x: y()' + chr(10), size)}</code></pre>",
    "backticks": lambda size: "<code>" + repeat("`", size) + "</code>",
    "different backticks": lambda size: (
        "<code>" + " ".join("`" * n for n in range(int((2 * size) ** 0.5))) + "</code>"
    ),
    "marks of Markdown": lambda size: "<p>" + repeat("*_[]()#~`\\&lt;> ", size),
    "lines of Markdown": lambda size: "<p>" + repeat("1. # - > x<br>", size),
    "entities": lambda size: "<p>" + repeat("&amp;", size),
    "numeric entities": lambda size: "<p>" + repeat("&#x1F600;", size),
    "broken entities": lambda size: "<p>" + repeat("&x", size),
    "unspaced Chinese": lambda size: (
        "<p>" + words(size, "".join(map(chr, range(0x4E00, 0x5E00))), "")
    ),
    "Thai": lambda size: "<p>" + words(size, "".join(map(chr, range(0xE01, 0xE2F))), ""),
    "all scripts": lambda size: "<p>" + scripts(size),
    "emoji": lambda size: "<p>" + repeat("\U0001f600", size),
    "combining marks": lambda size: "<p>e" + repeat("\u0301", size),
    "NUL": lambda size: "<p>x" + repeat("\0", size) + "y",
    "dates": lambda size: "<p>" + count("2024-05-01 12:%d ", size),
    "blocks of dates": lambda size: count("<p>1 May 2024, %d", size),
    "times": lambda size: count("<time datetime=2024-05-01>%d</time> ", size),
    "digits": lambda size: "<p>" + repeat("1", size),
    "dashes": lambda size: "<p>" + repeat("-", size),
    "dots": lambda size: "<p>" + repeat(". ", size),
    "addresses in text": lambda size: "<p>" + count("http://x.org/%d ", size),
    "mail addresses": lambda size: "<p>" + repeat("a@", size),
    "bylines": lambda size: count("<p class=author>By John Smith %d", size),
    "copyright lines": lambda size: count("<p>© 2024 x %d", size),
    # links
    "links": lambda size: count("<a href=/%d>x</a>", size),
    "links in blocks": lambda size: count(
        "<li><a href=/%d>Title of %d</a>".replace("%d</a>", "it</a>"), size
    ),
    "links in one paragraph": lambda size: "<p>" + count("a <a href=/%d>b</a> ", size),
    "links to other hosts": lambda size: count("<a href=http://h%d.org>x</a>", size),
    "empty links": lambda size: count("<a href=/%d></a>", size),
    "anchors": lambda size: count("<a name=n%d></a>", size),
    "areas": lambda size: "<map>" + count("<area href=/%d>", size),
    # what a page says of itself
    "giant title": lambda size: f"<title>{words(size)}</title><h1>x</h1><p>y",
    "titles": lambda size: count("<title>x %d</title>", size),
    "giant description": lambda size: f"<meta name=description content='{words(size)}'><p>x",
    "giant keywords": lambda size: f"<meta name=keywords content='{words(size, gap=',')}'><p>x",
    "descriptions": lambda size: count("<meta name=description content='x %d'>", size),
    "metas": lambda size: count("<meta property=og:%d content=x>", size),
    "link elements": lambda size: count("<link rel=alternate href=/%d>", size),
    "languages": lambda size: count("<link rel=alternate hreflang=de href=/%d>", size),
    "feeds": lambda size: count("<link rel=alternate type=application/rss+xml href=/%d>", size),
    "headlines": lambda size: count("<h1>x %d</h1>", size),
    "giant headline": lambda size: f"<title>x</title><h1>{words(size)}</h1><p>y",
    "deep JSON-LD": lambda size: script("application/ld+json", repeat("[", size)),
    "deep objects in JSON-LD": lambda size: script("application/ld+json", repeat('{"a":', size)),
    "arrays in JSON-LD": lambda size: linked_data(size, "[]"),
    "objects in JSON-LD": lambda size: linked_data(size, "{}"),
    "numbers in JSON-LD": lambda size: linked_data(size, "1"),
    "articles in JSON-LD": lambda size: linked_data(size, '{"@type":"Article","headline":"x"}'),
    "authors in JSON-LD": lambda size: script(
        "application/ld+json",
        '{"@type":"Article","author":[' + repeat('{"name":"x"},', size) + "{}]}",
    ),
    "giant text in JSON-LD": lambda size: script(
        "application/ld+json", f'{{"@type":"Article","articleBody":"{words(size)}"}}'
    ),
    "many scripts of JSON-LD": lambda size: repeat(
        script("application/ld+json", '{"@type":"Article","articleBody":"x y z"}'), size
    ),
    "entity-laden JSON-LD": lambda size: script(
        "application/ld+json", '{"@type":"Article","articleBody":"' + repeat("&lt;p>", size) + '"}'
    ),
    "microdata": lambda size: count(
        "<div itemscope itemtype=http://schema.org/Article><p itemprop=headline>x %d</div>", size
    ),
    "nested microdata": lambda size: repeat("<div itemscope itemprop=author>x", size),
    "RDFa": lambda size: count("<p typeof=Article property=name>x %d", size),
    "crumbs": lambda size: "<ol class=breadcrumb>" + count("<li><a href=/%d>x</a>", size),
    "state in a script": lambda size: script(
        "application/json", '{"a":[' + repeat('{"text":"a b c d"},', size) + "{}]}"
    ),
    "giant text in a script": lambda size: script(
        "application/json", f'{{"text":"{words(size)}"}}'
    ),
    "state as a program": lambda size: (
        "<script>window.__INITIAL_STATE__={" + repeat('"a":[1],', size) + "}</script>"
    ),
    "program": lambda size: f"<script>{repeat('var x = (1);', size)}</script>",
    "style sheet": lambda size: f"<style>{repeat('.a{display:none}', size)}</style>",
    "style rules": lambda size: f"<style>{count('.a%d{display:none}', size)}</style><p class=a1>x",
    "many styles": lambda size: count("<style>.a%d{display:none}</style>", size),
    "hidden": lambda size: count("<div hidden><p>text %d</div>", size),
}


def page(kind: str, size: int) -> bytes:
    """Return a page of a *kind*, of about *size* bytes."""
    return f"<!doctype html><meta charset=utf-8>{KINDS[kind](size)}".encode()
