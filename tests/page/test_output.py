from __future__ import annotations

import itertools
import random
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest
from lxml import html
from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from contentspider.page.input.files import read_pages
from contentspider.page.input.page import Page
from contentspider.page.tree.resolver import Resolver
from contentspider.page.write.markdown import TEX, write_markdown
from contentspider.page.write.markup import write_html
from contentspider.page.write.output import to_text
from contentspider.page.write.structure import parts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from contentspider.page.tree.blocks import Block

BASE = "https://e.example/d/p.html"


def to_markdown(blocks: Sequence[Block], base: str = "") -> str:
    return write_markdown(parts(blocks, Resolver(base)))


def to_html(blocks: Sequence[Block], base: str = "") -> str:
    return write_html(parts(blocks, Resolver(base)))


def markdown(html: str, base: str = "") -> str:
    return to_markdown(Page.from_html(html).content.blocks, base)


def markup(html: str, base: str = "") -> str:
    return to_html(Page.from_html(html).content.blocks, base)


def test_markdown_keeps_document_structure() -> None:
    html = (
        "<h1>Tea</h1><p>See <a href='https://e.org/a b'>this</a> and"
        " <code>brew()</code>.</p><ul><li>green<ul><li>sencha</li></ul></li><li>black</li></ul>"
        "<ol><li>boil</li></ol><blockquote><p>Said</p></blockquote><pre>a\n  b</pre>"
        "<table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table><p>end</p>"
    )
    assert (
        markdown(html)
        == "# Tea\n\nSee [this](https://e.org/a%20b) and `brew()`.\n\n- green\n    - sencha\n-"
        " black\n1. boil\n\n> Said\n\n```\na\n  b\n```\n\n| x | y |\n| --- | --- |\n| 1 | 2"
        " |\n\nend"
    )


def test_markdown_escapes_text_and_drops_unsafe_links() -> None:
    assert (
        markdown("<p><a href='javascript:alert(1)'>click</a> *now* [x](y) &lt;b&gt;</p>")
        == r"click \*now\* \[x\](y) \<b>"
    )
    assert markdown("<p># no heading</p><p>1. no list</p>") == "\\# no heading\n\n1\\. no list"


def test_code_fence_is_longer_than_backticks_inside() -> None:
    assert markdown("<pre>```\nx</pre>") == "````\n```\nx\n````"


def test_table_cells_of_row_share_line_in_text() -> None:
    html = "<p>a</p><table><tr><td>b</td><td>c</td></tr><tr><td>d</td></tr></table>"
    assert to_text(Page.from_html(html).content.blocks) == "a\nb\tc\nd"


def test_code_and_link_targets_cannot_break_out_of_markdown() -> None:
    assert markdown("<p><code>a`` &lt;img src=x&gt;</code></p>") == "``` a`` <img src=x> ```"
    assert markdown("<p><a href='/a&#13;b\\'>x</a></p>") == "[x](/ab%5C)"
    assert markdown("<p>~~~</p><p>1.5 metres</p>") == "\\~\\~\\~\n\n1.5 metres"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("q.html", "https://e.example/d/q.html"),
        ("/q", "https://e.example/q"),
        ("//f.example/q", "https://f.example/q"),
        ("#a", "https://e.example/d/p.html#a"),
        ("?a=1&copy;=2", "https://e.example/d/p.html?a=1&copy;=2"),
        ("mailto:a@e.example", "mailto:a@e.example"),
        ("JavaScript:x", ""),
        (" java\tscript:x", ""),
        ("\x01javascript:x", ""),
        ("data:text/html,x", ""),
        ("vbscript:x", ""),
        ("http://[half", ""),
        ("file:///etc/passwd", ""),
    ],
)
def test_links_are_absolute_and_safe(href: str, expected: str) -> None:
    page = Page.from_html(f"<p>y <a href='{href.replace('&', '&amp;')}'>x</a>")
    found = to_markdown(page.content.blocks, BASE)
    tokens = [child for token in MarkdownIt().parse(found) for child in token.children or []]
    links = [token.attrs["href"] for token in tokens if token.type == "link_open"]
    assert links == ([expected] if expected else [])
    links = html.fromstring(to_html(page.content.blocks, BASE)).xpath("//a/@href")
    assert links == ([expected] if expected else [])


@pytest.mark.parametrize(
    "base",
    ["https://e.example/d/p.html", "https://e.example", "https://e.example/a//b/?q=1#z"],
)
def test_relative_urls_are_joined_like_urljoin(base: str) -> None:
    pieces = "a b.html .. . / // ?x=1 ? #f # %20 ~u @c ;p - é (x) ... ..a a.. ./ ../ ?u=http:// &"
    resolver = Resolver(base)
    for pieces_of in itertools.product(pieces.split(), repeat=2):
        address = "".join(pieces_of)
        if not address.startswith("/"):
            assert resolver.resolve(address) == urljoin(base, address)


def test_page_base_is_read_from_base_href() -> None:
    page = Page.from_html("<head><base href='/b/'></head><p><a href=c>x</a>", BASE)
    assert page.base == "https://e.example/b/"
    assert Page.load(page.dump()).base == page.base
    assert Page.from_html("<base href='http://[half'><p>x", BASE).base == BASE
    assert markdown("<p><a href=c>x</a>", "folder/file.html") == "[x](c)"


def test_long_urls_do_not_multiply_output() -> None:
    page = Page.from_html(
        f"<base href='/{'x' * 100_000}/'><a href='/{'y' * 100_000}'>"
        + "<p>z</p>" * 1_000
        + "</a><p>"
        + "<a href=w>v</a> " * 1_000,
        BASE,
    )
    for write in (to_markdown, to_html):
        assert len(write(page.content.blocks, page.base)) < 100_000


def test_images_are_written_in_markdown_and_html() -> None:
    html = (
        "<p>a <img src=i.png alt='an *i*'> b</p><figure><img src=/j.png alt=j></figure><p>c</p>"
        "<ul><li><img src=k.png alt=k><p>d</li></ul>"
    )
    assert markdown(html, BASE) == (
        "a ![an \\*i\\*](https://e.example/d/i.png) b\n\n![j](https://e.example/j.png)\n\nc\n\n"
        "- ![k](https://e.example/d/k.png) d"
    )
    assert '<p>a <img src="https://e.example/d/i.png" alt="an *i*"> b</p>' in markup(html, BASE)
    assert markdown("<p>a<img src='javascript:x' alt=x>") == "a"
    assert markup("<p>a<img src='javascript:x' alt=x>") == "<p>a</p>"


def test_blocks_in_table_cell_stay_in_it() -> None:
    html = (
        "<table><tr><th><p>x</th><th>y</th><th>z</th></tr>"
        "<tr><td><p>1</p><p>2</p></td><td></td><td><ul><li>a|b</li></ul></td></tr></table>"
    )
    assert markdown(html) == "| x | y | z |\n| --- | --- | --- |\n| 1<br>2 |  | - a\\|b |"
    assert markup(html) == (
        "<table>\n<tr><th>x</th><th>y</th><th>z</th></tr>\n"
        "<tr><td><p>1</p>\n<p>2</p></td><td></td><td><ul><li>\n<p>a|b</p>\n</li></ul></td></tr>\n"
        "</table>"
    )
    # The longest row gives the number of columns: readers drop cells beyond it.
    assert markdown("<table><tr><td>a<td>b<tr><td>c<td>d<td>e</table>") == (
        "| a | b |  |\n| --- | --- | --- |\n| c | d | e |"
    )


def test_layout_tables_are_not_written_as_tables() -> None:
    paragraphs = "".join(f"<p>Paragraph {number}.</p>" for number in range(10))
    found = markdown(f"<table><tr><td>menu</td><td>{paragraphs}</td></tr></table>")
    assert "|" not in found
    assert found.count("\n\n") == 10
    assert "|" not in markdown("<table><tr><td>one</td></tr><tr><td>two</td></tr></table>")


@pytest.mark.parametrize("paragraphs", [3, 9])
def test_cells_of_several_paragraphs_are_prose_not_rows(paragraphs: int) -> None:
    """A page in one row of a table, whose cells have `<br><br>` between paragraphs."""
    texts = [f"Paragraph {number} about tea." for number in range(paragraphs)]
    html = f"<table><tr><td>Advert<br>Kettles</td><td>{'<br><br>'.join(texts)}</td></tr></table>"
    page = Page.from_html(html)
    assert to_text(page.content.blocks).split("\n") == ["Advert Kettles", *texts]
    assert "|" not in markdown(html)
    # A row of a layout table whose cells have one text each stays on one line.
    row = f"<tr><td>one</td><td>two</td></tr><tr><td colspan=2><h2>Tea</h2>{texts[0]}</td></tr>"
    page = Page.from_html(f"<table>{row}</table>")
    assert to_text(page.content.blocks).split("\n") == ["one\ttwo", "Tea", texts[0]]


def test_text_after_nested_list_continues_its_item() -> None:
    html = "<ul><li>one<ul><li>two</li></ul>three</li><li>four<pre>code</pre>five</li></ul>"
    assert markdown(html) == (
        "- one\n    - two\n\n    three\n- four\n\n    ```\n    code\n    ```\n\n    five"
    )
    assert markup(html) == (
        "<ul><li>\n<p>one</p>\n<ul><li>\n<p>two</p>\n</li></ul>\n<p>three</p>\n</li><li>\n"
        "<p>four</p>\n<pre>\ncode</pre>\n<p>five</p>\n</li></ul>"
    )


def test_list_items_are_not_nested_deeper_than_existing_lists() -> None:
    html = "<ul><li><ul><li><ul><li>a</li></ul></li><li>b</li></ul></li><li>c</li></ul>"
    assert markdown(html) == "- a\n- b\n- c"


def test_quotes_are_recognized_by_tag() -> None:
    assert markdown("<p class=no-blockquote-style>a</p>") == "a"
    html = "<blockquote><h2>a</h2><p>b</p><ul><li>c</li></ul></blockquote><p>d</p>"
    assert markdown(html) == "> ## a\n>\n> b\n>\n> - c\n\nd"
    assert markup(html) == (
        "<blockquote>\n<h2>a</h2>\n<p>b</p>\n<ul><li>\n<p>c</p>\n</li></ul></blockquote>\n<p>d</p>"
    )
    html = "<ul><li>a<blockquote><p>b</p></blockquote></li></ul>"
    assert markdown(html) == "- a\n\n    > b"


def test_html_output_is_escaped() -> None:
    html = (
        "<p>&lt;script&gt; <b>bold</b> <a href='/x\"y'><code>&amp;amp;</code></a></p>"
        "<pre>\n&lt;</pre>"
    )
    assert markup(html) == (
        "<p>&lt;script&gt; <strong>bold</strong>"
        ' <a href="/x&quot;y"><code>&amp;amp;</code></a></p>\n<pre>\n&lt;</pre>'
    )


TEXTS = (
    "plain|two words|*a*|_b_|`c`|``|[x](y)|![z](w)|<b>|&amp;|&copy;|#|# h|C #|1.|1. x|2)|- a|+ b"
    "|---|===|***|___|_ _ _|~~s~~"
    "|> q|\\|a\\|!|| a | b |,|:---|    four|\u00a0|http://e.org/_a_|<!-- c -->"
    "|\\[|](x|*|日本|9) y"
).split("|")
INLINE = [
    *("b", "code", "i", "a href=/x", "a href='/y(z)'", "strong", "kbd", "a href=javascript:x"),
    *("em", "del", "mark", "sub", "sup", "q", "a href='#n1'", "span id=n1"),
]
BLOCK = [
    *("p", "div", "h2", "h3", "ul", "ol", "li", "blockquote", "pre", "td", "table", "tr", "th"),
    *("dl", "dt", "dd", "ol start=7", "li id=n1", "details", "summary", "button"),
]
HTML_SIGNS = {"<br>"} | {
    f"<{end}{tag}>" for end in ("", "/") for tag in ("strong", "em", "del", "mark", "sub", "sup")
}
KNOWN_TOKENS = {"image", "softbreak", "hardbreak"} | {
    f"{name}_{end}" for name in ("link", "strong", "em", "s") for end in ("open", "close")
}


def tricky(draw: random.Random, depth: int = 0) -> str:
    """Return HTML of nested elements with text that looks like markup."""
    found = []
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        if kind < 0.4 or depth > 5:
            text = draw.choice([*TEXTS, "|", "a | b"])
            found.append(re.sub("[<&]", lambda match: f"&#{ord(match[0])};", text))
            found.append(draw.choice(["", " ", "!", "<br>"]))
        elif kind < 0.45:
            found.append("<img src=/i.png alt='a ] b'>")
        else:
            tag = draw.choice(INLINE if kind < 0.65 else BLOCK)
            end = tag.split()[0]
            found.append(f"<{tag}>{tricky(draw, depth + 1)}</{end}>")
    return "".join(found)


def shown_by_markdown(found: str) -> str:
    """Return what a reader of Markdown shows, without white space."""
    parser = MarkdownIt("commonmark", {"maxNesting": 200}).enable("table").enable("strikethrough")
    parser.use(deflist_plugin).use(footnote_plugin)
    shown: list[str] = []
    for token in parser.parse(found):
        if token.type in ("fence", "code_block"):
            shown.append(token.content if token.type == "fence" else "INDENTED CODE")
        elif token.type == "html_block":  # folded text, and its title
            assert re.match("\\s*</?(?:details|summary)>", token.content), token
            shown.append(html.fromstring(f"<div>{token.content}</div>").text_content())
        for child in token.children or []:
            if child.type in ("text", "code_inline", "text_special"):
                shown.append(child.content)
            elif child.type == "html_inline":
                assert child.content in HTML_SIGNS, child
            else:
                assert child.type in KNOWN_TOKENS, child
    return "".join("".join(shown).split())


def check(blocks: Sequence[Block]) -> None:
    # Markdown has formulas between dollar signs, whatever delimiters the page has.
    delimiters = r"[\\\[\]()$]|" if any(TEX.search(block.text) for block in blocks) else ""
    # In cells, Markdown has the markers of lists and the signs between inner cells as text.
    if any(block.row and (block.item or block.outer) for block in blocks):
        delimiters += r"[-|.\d]|"

    def squeezed(text: str) -> str:
        return re.sub(delimiters + r"\s", "", text)

    wanted = squeezed("".join(block.text for block in blocks))
    found = to_markdown(blocks, BASE)
    assert squeezed(shown_by_markdown(found)) == wanted, found
    found = to_html(blocks, BASE)
    shown = html.fromstring(f"<div>{found}</div>").text_content()
    assert squeezed(shown) == wanted, found


@pytest.mark.parametrize("seed", range(150))
def test_random_markup_renders_same_text_in_markdown_and_html(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(4):
        blocks = Page.from_html(tricky(draw)).content.blocks
        check(blocks)
        check([block for block in blocks if draw.random() < 0.6])


def test_example_pages_render_same_text_in_markdown_and_html(example_corpus: Path) -> None:
    for page in itertools.islice(read_pages(example_corpus / "html"), 30):
        check(page.content.blocks)
