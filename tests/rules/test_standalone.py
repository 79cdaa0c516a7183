"""What applies rules: one file that needs lxml alone."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contentspider.page.input.page import Page
from contentspider.page.tree.tags import FILM_TAGS, INLINE_TAGS, SKIPPED_TAGS
from contentspider.rules import standalone
from contentspider.rules.standalone import Element, Rule, RuleError, Rules

FILE = Path(standalone.__file__)


def parsed(*lines: str) -> Rules:
    """Return rules of lines such as ``keep div#main > p.lead:2``."""

    def element(text: str) -> Element:
        for sign in "#.":
            tag, found, name = text.partition(sign)
            if found:
                return Element(tag, name) if sign == "#" else Element(tag, "", name)
        return Element(text)

    rules = []
    for line in lines:
        action, _, rest = line.partition(" ")
        above, _, own = rest.rpartition(" > ")
        name, _, place = own.partition(":")
        rule = Rule(action, element(name), element(above) if above else None, int(place or 0))
        assert str(rule) == line
        rules.append(rule)
    return Rules(rules)


@pytest.mark.parametrize(
    ("rules", "html", "text"),
    [
        # What no rule holds for is dropped; the innermost element that matches decides.
        (["keep p"], "<h1>a</h1><p>b<p>c<div>d</div>", "b\nc"),
        (
            ["keep div.a", "drop ul", "keep li.b"],
            "<div class='x a'>1<ul>2<li class=b>3<li>4</ul>5</div>6",
            "1\n3\n5",
        ),
        # The most particular of several wins: parent, id, class, place, tag; then the later.
        (["drop div#i", "keep div.c"], "<div id=i class=c>a</div>", ""),
        (["keep main > div", "drop div#i"], "<main><div id=i>a</div></main><div>b</div>", "a"),
        (["keep div.c", "drop div:1"], "<div class=c>a</div><div class=c>b</div>", "a\nb"),
        (["drop div.c", "keep div.d"], "<div class='d c'>a</div>", "a"),
        (["keep div.d", "drop div.c"], "<div class='d c'>a</div>", ""),
        # A place counts the siblings of the tag.
        (["keep td:2"], "<table><tr><td>a<td>b<td>c<tr><td>d<td>e</table>", "b\ne"),
        (["keep div:2"], "<div>a<div>b</div><div>c</div></div><div>d</div>", "c\nd"),
        # What the body says.
        (["keep body", "drop nav"], "a<nav>b</nav><p>c", "a\nc"),
        (["keep body > div"], "<body class=x><div>a<section><div>b</div></section></div>c", "a\nb"),
        # Long numbers match any; short ones are a name.
        (["keep div.post-0"], "<div class=post-123>a</div><div class=post-4>b</div>", "a"),
        # Elements without a tag that ends them.
        (["keep dd"], "<dl><dt>a<dd>b<dt>c<dd>d</dl>e", "b\nd"),
        (["keep p.a"], "<p class=a>b<ul><li>c</ul></p><p>d", "b"),
        # An end tag without a start is none, and one in a cell ends nothing around the table.
        (["keep div.a"], "</div><div class=a>b</p></section>c</div>d", "bc"),
        (["keep div.a", "drop h1"], "<div class=a><table><td>b</div>c</table>d</div>", "bc\nd"),
        (["keep div.a"], "<div class=a><section>b</div>c", "b"),
        # Markup that is none of the page's text.
        (
            ["keep body"],
            "a<script>x<p>'</p>'</script><!-- <p> -->d<SVG><b>e</SVG ><noscript>f</noscript>g",
            "adg",
        ),
        (["keep body"], "a<script><!-- '<script></script>' --></script>b", "ab"),
        (["keep body"], "a<script><!--> '<script></script>b", "ab"),
        (["keep body"], "a<script><!-- '<SCRIPT ></script>' </script>b", "ab"),
        (["keep body"], "a<!-- b", "a"),
        (["keep body"], "a<script>b", "a"),
        (["keep body"], "a<svg/>b<template>c", "ab"),
        (["keep p"], "<p title='a>b' x=c>d</p><p title=it's>e", "d\ne"),
        (["keep p"], '<p>a<p title="b>c</p>d<p>e', "a"),
        (["keep body"], "a<p>b</p></body></html><p>c", "a\nb\nc"),
        (["keep p"], "<p>1 < 2 &lt; 3 &amp; <b>bo</b>ld<br>a\xadb", "1 < 2 < 3 & bold\nab"),
        (["keep body"], "a<!doctype b><?php c ?>d</>e", "ade"),
        # What is hidden.
        (["keep p"], "<div hidden><p>a</div><p style='x;display: none'>b</p><p>c", "c"),
        (["keep p"], "<p>a<span style=display:none>b<i>c</i></span>d", "a\nd"),
        (["keep p"], "<div role=tabpanel hidden=''><p>a</div><p hidden=until-found>b", "a\nb"),
        (["keep p"], "<body style='visibility: hidden'><p>a", "a"),
        # Lines of what is preformatted stay.
        (["keep pre"], "<p>x<pre>\n a\n\n  <b>b</b> \nc</pre>", " a\n\n  b\nc"),
        (["keep div"], "<div>a<pre><xmp></div></xmp></pre></div>", "a\n</div>"),
    ],
)
def test_rules_keep_matching_text(rules: list[str], html: str, text: str) -> None:
    found = parsed(*rules)
    assert found.text(html) == text


def test_unclosed_elements_are_counted() -> None:
    rules = parsed("keep div.a", "drop ul", "keep p")
    reading = rules.read("<div class=a>one<ul>two<p>three</div><div class=a>four")
    assert reading.text == "one\nthree\nfour"
    assert reading.matched == [2, 1, 1]
    assert reading.unbalanced == [1, 1, 0]
    assert reading.chars == [7, 3, 5]
    # An end tag in a script or a comment is none, and one may end what is open inside, too.
    html = "<DIV class=a>one<p>two</DIV><div class=a>x<script>'</div>'</script><!-- </div> -->"
    assert rules.read(html).unbalanced == [1, 0, 0]
    html = "<section><div class=a>one</section><div class=a>two<!--/div-->"
    assert rules.read(html).unbalanced == [2, 0, 0]
    body = parsed("keep body").read("<p>one")
    assert (body.matched, body.unbalanced) == ([1], [0])


@pytest.mark.parametrize(
    ("rule", "html", "text"),
    [
        (
            "keep div.post-0",
            "<p>post-</p><div class='x post-123'>a</div><DIV class=post-4>b</DIV>",
            "a",
        ),
        ("keep div#n0", "<div id=n17>a</div><div id=n1>b</div>", "a"),
        ("keep section", "<SECTION>a<section>b</Section></section><sectional>c", "a\nb"),
        ("keep section.tea", "tea <!-- <section class=tea> --><b title=tea>tea</b>", ""),
        (
            "keep section.tea",
            "<script>'<section class=tea>'</script><section class=tea>a</section>",
            "a",
        ),
        ("keep section.tea", "<section class=tea>a<script></section></script>b</section>c", "ab"),
        ("keep section.tea", "<section title='>' class=tea>a<i title='>'>b</i></section>c", "ab"),
        (
            "keep section.tea",
            "<section class=tea>a</section><section class=tea hidden>b</section>",
            "a",
        ),
        ("keep section.tea", "<section class=teas>a</section><svg class=tea>b</svg>", ""),
        (
            "keep div.b-0",
            "<div class=b-123>a</div><div class=b-0>b</div><div class=b-5>c</div>",
            "a b",
        ),
        ("keep div.b-103", "<div class='x b-103'>a</div><div class=b-104>b</div>", "a"),
        ("keep div#b-103", "<div id=b-103>a</div><div id=b-104>b</div>", "a"),
    ],
)
def test_elements_are_matched_by_tag_class_and_id(rule: str, html: str, text: str) -> None:
    rules = parsed(rule)
    assert rules.text(html).split() == text.split()


def test_bytes_are_decoded_by_declared_encoding() -> None:
    rules = parsed("keep p")
    assert rules.text("<meta charset=koi8-r><p>чай".encode("koi8-r")) == "чай"
    assert rules.text("<p>thé".encode()) == rules.text("<p>thé".encode("cp1252")) == "thé"
    assert rules.text("<p>茶".encode("utf-16")) == "茶"
    assert rules.text("\ufeff<meta charset=no-such><p>茶".encode()) == "茶"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Document is empty"),
        ("<rules", "xml"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><rules schema="1"/>', "document type"),
        ('<site schema="1"/>', "'site'"),
        ('<rules schema="2"/>', "'2'"),
        ('<rules schema="1"><keep tag="a b"/></rules>', "'a b' cannot be in a rule"),
        ('<rules schema="1"><keep class="b"/></rules>', "a tag"),
        ('<rules schema="1"><keep tag="p" id="a" class="b"/></rules>', "an id or a class"),
        ('<rules schema="1"><hold tag="p"/></rules>', "'hold'"),
        ('<rules schema="1"><keep tag="p" xpath="//p"/></rules>', "a rule has xpath"),
        ('<rules schema="1"><keep tag="p" place="2"/></rules>', "place 2 of p"),
        ('<rules schema="1"><keep tag="td" place="x"/></rules>', "invalid literal"),
        ("{", "Expecting property name"),
        ('{"schema": 1}', "rules"),
        ('{"schema": 1, "rules": [3]}', "int"),
        ('{"schema": 1, "rules": 3}', "int"),
    ],
)
def test_invalid_rules_file_raises_rule_error(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "rules.xml").write_text(text)
    with pytest.raises(RuleError) as error:
        Rules.load(tmp_path / "rules.xml")
    assert str(tmp_path) in str(error.value)
    assert said in str(error.value)


def test_standalone_file_needs_only_lxml(tmp_path: Path) -> None:
    program = tmp_path / "copied.py"
    program.write_bytes(FILE.read_bytes())
    (tmp_path / "rules.xml").write_text('<rules schema="1"><keep tag="p"/></rules>')
    (tmp_path / "a.html").write_text("<h1>a</h1><p>tea")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", str(program), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert call("rules.xml", "a.html").stdout == "tea\n"
    assert call("--jsonl", "rules.xml", "a.html").stdout == '{"path": "a.html", "text": "tea"}\n'
    (tmp_path / "b.html").write_text("<div><p>tea")
    (tmp_path / "div.xml").write_text('<rules schema="1"><keep tag="div"/></rules>')
    unended = call("div.xml", "b.html", "a.html")
    assert unended.stdout == "tea\n\n"
    assert unended.stderr.startswith("b.html: ") and "keep div" in unended.stderr
    assert "usage" in call("rules.xml").stderr
    for wrong in (call("none.xml", "a.html"), call("a.html", "a.html")):
        assert wrong.returncode == 1
        assert "Traceback" not in wrong.stderr
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import copied;"
        "print([name for name in ('lxml', 'numpy', 'contentspider') if name in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert loaded.stdout == "['lxml']\n"


def test_standalone_file_knows_same_tags_as_page_reader() -> None:
    assert standalone.INLINE_TAGS == INLINE_TAGS
    # Template and noscript are the page's text at times; where pages are read whole, that is told.
    besides = SKIPPED_TAGS | FILM_TAGS | {"template", "noscript"}
    assert set(standalone.SKIPPED_TAGS) <= besides
    assert besides - set(standalone.SKIPPED_TAGS) - set(standalone.EMPTY_TAGS) <= {
        *("frameset", "col", "colgroup", "progress", "meter", "track", "area", "link", "meta"),
        "param",
    }


PIECES = (
    "<div class=a> <p> <td> <table> <tr> <li> <ul> </div> </p> </table> </td> </li> text <!-- -->"
    " <script> </script> <svg> <b> </b> <pre> </pre> <p\x00> <div hidden> <span hidden> </span>"
    " &amp; &#x110000; &lt < > \" ' = <a\xa0href=' <a=\" <!-- <![CDATA[ ]]> <? \x1e \x1f \ud800"
    " <title> <div:1> <div/class=a> </ <//p> <P CLASS=A> <h1><h2> <dd><dt> <body> </html>".split(
        " "
    )
)
EVERY = parsed("keep div.a", "drop ul", "keep p", "drop table > tr", "keep td:2", "drop body > h1")


def test_malformed_pages_raise_no_errors() -> None:
    rules = [EVERY, parsed("keep div.a", "keep h1"), parsed("keep body", "drop li")]
    for seed in range(1_000):
        draw = random.Random(seed)
        html = "".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 200)))
        html = html[: draw.randrange(len(html) + 1)]
        for some in rules:
            reading = some.read(html)
            assert all(
                0 <= bad <= all_
                for bad, all_ in zip(reading.unbalanced, reading.matched, strict=True)
            ), seed
        whole = Page.from_html(html) if html.strip() else None
        assert whole is None or whole.content is not None


@pytest.mark.large
@pytest.mark.parametrize(
    "piece",
    [
        "<div class=a>",
        "<div><p>",
        "<ul><li>",
        "<p><div></p>",
        "<table><tr><td></div>",
        "<svg>",
        "<!-- ",
        "<script>",
        "<a title=\"<a title='",
        "<a =",
        "<",
        "<p>a</i><i>",
        "<div hidden>",
        "<title>a",
        "<h1><div class=a></h1>",
        "<div id=%d>",
        "<li><div></li>",
        '<div x="',
        "<svg/>",
        "<svg ",
        "<object>",
        "<div style='display:",
        "<tea ",
        "tea",
        "<b title=tea>tea</b>",
        "<section class=tea>",
        "<section class=tea></section>",
        "<section class=tea><style>",
    ],
)
def test_rules_are_applied_in_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        html = "".join(piece.replace("%d", str(n)) for n in range(count)) + "</svg"
        best = 1e9
        for _ in range(3):
            start = time.process_time()
            EVERY.read(html)
            SIMPLE.read(html)
            best = min(best, time.process_time() - start)
        return best

    # Eight times as long in 64 times the time would be quadratic.
    assert seconds(8_000) / max(seconds(1_000), 1e-4) < 32


SIMPLE = parsed("keep div.a", "keep section.tea")
