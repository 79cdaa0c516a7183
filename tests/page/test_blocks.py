"""Blocks: the texts of a page in their order, where each stands, and what is marked in it."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

import pytest
from lxml import etree

from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block, element_key, new_walker, read_tree
from tests.sites import blocks, texts


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<div>one<p>two</p>three</div>", ["one", "two", "three"]),
        ("<p>a <b>bold</b> <a href=x>link</a>.</p>", ["a bold link."]),
        ("<ul><li>one<ul><li>two</li></ul></li><li>three</li></ul>", ["one", "two", "three"]),
        ("<table><tr><th>a</th><td>b</td></tr></table>", ["a", "b"]),
        ("<td>first<br>line<br><br>second</td>", ["first line", "second"]),
        ("<p>one<br> <br>two</p>", ["one", "two"]),
        ("<pre>a\n  b\n\nc</pre>", ["a\n  b\n\nc"]),
        ("<pre>a<br>b</pre>", ["a\nb"]),
        ("<p>caf&eacute; &amp; t\u00adea\u200b</p>", ["café & tea"]),
        ("<p>  much\n\t white   space </p>", ["much white space"]),
        (
            (
                "<p>a</p><script>b</script><style>c</style><template>d</template><noscript>e</noscript><!--"
                " f --><p>g</p>"
            ),
            ["a", "g"],
        ),
        ("<p>a<script>x</script>b</p>", ["ab"]),
        (
            (
                "<p hidden>a</p><p style='DISPLAY : none'>b</p><p"
                " style='visibility:hidden'>c</p><p>d</p>"
            ),
            ["d"],
        ),
        ("<div role=tabpanel hidden>panel</div>", ["panel"]),
        ("<dl><dt>term</dt><dd>meaning</dd></dl>", ["term", "meaning"]),
        ("<button>question</button><my-card>answer</my-card>", ["question", "answer"]),
        ("<p>one<p>two", ["one", "two"]),
        ("</div></p>loose <td>cell", ["loose", "cell"]),
        ("<title>t</title><nav>menu</nav><article>text</article>", ["menu", "text"]),
        ("<noembed><a href=x>raw</a></noembed><p>seen</p>", ["seen"]),
    ],
)
def test_text_is_read_in_document_order(html: str, expected: list[str]) -> None:
    assert texts(html) == expected


def test_block_path_describes_its_ancestors() -> None:
    (block,) = blocks(
        '<div id="main-1234" class="post  wide" role="main"><h2 class="t2">x</h2></div>'
    )
    assert block.path == "body/div#main-0.post.wide[main]/h2.t2"
    assert block.tag == "h2"


def test_links_code_and_bold_are_marked_as_spans() -> None:
    (block,) = blocks(
        "<p>See <a href='/a'>the  <b>first</b></a>, then <code>run()</code> or <a"
        " href='/b'>b</a></p>"
    )
    assert block.text == "See the first, then run() or b"
    assert [(block.text[start:end], mark) for start, end, mark in block.spans] == [
        ("the first", "/a"),
        ("first", "*"),
        ("run()", "`"),
        ("b", "/b"),
    ]
    assert (block.link_chars, block.links, block.bold_chars) == (10, 2, 5)


def test_link_within_a_link_counts_once() -> None:
    """Browsers end the first link there; the parser of saved pages does not."""
    html = "<p><a href=/by>By <i><a href=/1>Ada</a>, <a href=/2>Bob</a></i></a> <a href=/3>now</a>"
    (block,) = blocks(html)
    assert block.text == "By Ada, Bob now"
    assert (block.link_chars, block.links) == (len("By Ada, Bob") + len("now"), 2)
    assert [mark for _, _, mark in block.spans if mark != "_"] == ["/by", "/1", "/2", "/3"]
    (same,) = blocks("<p><a href=/by><i><a href=/1>Ada</a></i></a><b>or <i><b>Bob</b></i></b>")
    assert (same.link_chars, same.links, same.bold_chars) == (3, 1, 6)
    around = blocks("<a href=/by><i><a href=/1><p>Ada</p><p>Bob</p></a></i></a>")
    assert [(block.link_chars, block.links) for block in around] == [(3, 1), (3, 1)]


@pytest.mark.parametrize(
    ("address", "is_link"),
    [
        ("/tea.jpg", False),
        ("tea.PNG?size=2#full", False),
        ("https://e.org/a.b/tea.webp", False),
        ("/wiki/File:Tea.jpg", True),  # the page about a picture
        ("/wiki/File%3ATea.jpg", True),
        ("/jpg", True),
        ("/tea.jpg/", True),
        ("/tea.html", True),
        ("#x.jpg", True),
    ],
)
def test_link_to_file_of_picture_does_not_count_as_link(address, is_link) -> None:
    (block,) = blocks(f"<p>Seen: <a href='{address}'>two cups of tea</a></p>")
    assert (block.link_chars, block.links) == ((15, 1) if is_link else (0, 0))
    assert [mark for _, _, mark in block.spans] == [address], "its address stays"


def test_link_around_blocks_counts_as_link_in_each_block() -> None:
    assert [
        (block.text, block.link_chars)
        for block in blocks("<a href=x><h3>title</h3><p>teaser</p></a><p>text</p>")
    ] == [
        ("title", 5),
        ("teaser", 6),
        ("text", 0),
    ]


def test_table_rows_and_list_items_are_numbered() -> None:
    found = blocks("<table><tr><td>a<td>b</tr><tr><td>c</tr></table><ul><li>d<li>e</ul>")
    assert [(block.row, block.item) for block in found] == [(1, 0), (1, 0), (2, 0), (0, 1), (0, 2)]


def test_deeply_nested_markup_does_not_exhaust_stack() -> None:
    assert texts("<div>" * 2_000 + "deep") == ["deep"]
    root = top = etree.Element("body")
    for _ in range(10_000):
        top = etree.SubElement(top, "div")
    top.text = "deeper"
    assert [block.text for block in read_tree(root)[0].blocks] == ["deeper"]
    # libxml2 drops what lies deeper than 2,048 levels (2.12 did not yet); what stands before stays.
    lost = ["lost"] if etree.LIBXML_VERSION < (2, 13) else []
    assert texts("<p>first</p>" + "<div>" * 10_000 + "lost") == ["first", *lost]


@pytest.mark.parametrize(
    "html",
    [
        "<summary><span class=sr-only>a</span>b</summary>",
        "<figcaption><span class=sr-only>a</span>b</figcaption>",
        "<label>b<span>+</span></label>",
        "<div><button>a</button>b</div>",
    ],
)
@pytest.mark.parametrize("is_taken_out", [True, False])
def test_any_element_may_be_the_root(html: str, is_taken_out: bool) -> None:
    root = etree.fromstring(html.replace("class=sr-only", 'class="sr-only"'))
    if is_taken_out:
        parent = etree.Element("section")
        parent.append(root)
        parent.remove(root)
    assert "b" in " ".join(block.text for block in read_tree(root)[0].blocks)


def test_code_with_million_blank_lines_is_read_quickly() -> None:
    started = time.process_time()
    assert texts("<pre>" + "\n" * 500_000 + "x" + "\n" * 500_000 + "</pre>") == ["x"]
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "html",
    [
        "<div>" + "<button>a</button> " * 20_000 + "</div><pre>x = 1</pre>",
        "<pre class=verse>a\nb" * 2_000,
        "<div>" + "<div role=tablist><a role=tab>a</a><a role=tab>b</a></div>" * 2_000 + "</div>",
        "<div class=fragment><div class=line>x</div>" * 40_000,
    ],
)
def test_many_controls_poems_tabs_and_fragments_take_linear_time(html: str) -> None:
    started = time.process_time()
    assert texts(html)
    assert time.process_time() - started < 3


def test_href_of_custom_element_is_read_as_link() -> None:
    (card, after) = blocks("<my-card href=/a>one <b>two</b></my-card>three")
    assert (card.link_chars, card.links, card.spans) == (7, 1, ((0, 7, "/a"), (4, 7, "*")))
    assert (after.text, after.links) == ("three", 0)
    assert [block.links for block in blocks("<my-card href=/a><p>a</p><p>b</p></my-card>")] == [
        1,
        1,
    ]
    assert [block.links for block in blocks("<div href=/a>a</div><my-card>b</my-card>")] == [0, 0]


def test_xml_trees_give_same_text_and_paths_as_lxml_api() -> None:
    xml = """<!DOCTYPE html [<!ENTITY e "E"><!ATTLIST p class CDATA "given">]>
    <html><body>a<![CDATA[<b>]]>&e;c<?pi x?>d
    <p id="x&e;y">e<o:p xmlns:o="urn:o">f</o:p></p>
    <p class="own" xml:id="q">g<script xmlns="urn:s">h</script></p></body></html>"""
    root = etree.fromstring(xml, etree.XMLParser(resolve_entities=False, strip_cdata=False))
    assert [(block.path, block.text) for block in read_tree(root)[0].blocks] == [
        ("body", "a<b>cd"),
        ("body/p#xEy.given", "e"),
        ("body/p#xEy.given/{urn:o}p", "f"),
        ("body/p.own", "g"),
        ("body/p.own/{urn:s}script", "h"),
    ]


def test_cleaned_text_keeps_span_offsets() -> None:
    (block,) = blocks(
        "<p>\u00ad <a href=' /x '>\u3000l\u00adi\u200bnk </a>\n<b>\u00a0bold\u2003</b><a>none</a><a"
        " href=' '>empty</a></p>"
    )
    assert (block.text, block.spans, block.bold_chars) == (
        "link bold noneempty",
        ((0, 4, "/x"), (5, 9, "*")),
        4,
    )


def test_elements_without_text_are_skipped_but_count_in_positions() -> None:
    content = Page.from_html("<div></div><div><p></p><p>a</p><ul></ul></div><div></div>").content
    assert content.tags == ["body", "div", "p"]
    assert content.parents == [-1, 0, 1]
    assert content.positions == [0, 1, 1]
    content = Page.from_html("<b x=1><hr><p y=2><i z=3>a", attributes=True).content
    assert content.attributes == [[("x", "1")], [("y", "2"), ("z", "3")]]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a <img src=/i alt='an  image'> b</p>", [("a b", (1, "/i", "an image"))]),
        ("<p>a</p><p><img src=/i alt=x></p><p>b</p>", [("a", None), ("b", (-1, "/i", "x"))]),
        (
            "<div><p>a</p><figure><img src=/i alt=x></figure></div><p>b</p>",
            [("a", (2, "/i", "x")), ("b", None)],
        ),
        ("<p>a</p><div><img src=/i alt=x><h1>b</h1></div>", [("a", None), ("b", (-1, "/i", "x"))]),
        # Before a box, a quote or a list, not in it.
        *(
            (f"<p>a</p><p><img src=/i alt=x></p>{frame}", [("a", (2, "/i", "x")), ("b", None)])
            for frame in (
                "<div class='admonition note'><p>b</p></div>",
                "<blockquote><p>b</p></blockquote>",
                "<ul><li>b</ul>",
            )
        ),
        ("<p>a<img src=/t width=1 height=1></p>", [("a", None)]),
        ("<p>a<img src=/icon width=16px></p>", [("a", None)]),
        ("<p>a<img src=/i width=16% alt></p>", [("a", (1, "/i", ""))]),
        ("<p>a<img src='data:x' data-src=/late></p>", [("a", (1, "/late", ""))]),
        ("<p>a<img srcset='/s 1x, /l 2x'></p>", [("a", (1, "/l", ""))]),
        ("<p>a<img alt=x><img src=/h alt=x style='display:none'></p>", [("a", None)]),
        ("<pre>a<img src=/i alt=x></pre>", [("a", (2, "/i", "x"))]),
        ("<img src=/i alt=x>", []),
    ],
)
def test_images_belong_to_nearest_text_block(
    html: str, expected: list[tuple[str, tuple[int, str, str] | None]]
) -> None:
    page = Page.from_html(html)
    found = [(block.text, *(image[:3] for image in block.images)) for block in page.content.blocks]
    assert found == [(text, image) if image else (text,) for text, image in expected]
    assert Page.load(page.dump()) == page


def test_images_per_page_are_limited() -> None:
    page = Page.from_html("<p>a</p>" + "<p><img src=/i alt=x></p>" * 30_000 + "<p>b</p>")
    assert sum(len(block.images) for block in page.content.blocks) == 1_000


def test_table_cells_are_numbered_and_base_href_is_read() -> None:
    page = Page.from_html(
        "<head><base href=' /b/ '><base href=/no></head><table><tr><td><p>a<p>b<td>c</table>"
    )
    assert [(block.row, block.cell) for block in page.content.blocks] == [(1, 1), (1, 1), (1, 2)]
    assert page.content.base == "/b/"


def test_blocks_compare_by_fields_and_are_immutable() -> None:
    block = Block("a b", "body/p", "p", 1, links=1, spans=((0, 1, "/x"),))
    assert (
        block
        == Block("a b", "body/p", "p", 1, links=1, spans=((0, 1, "/x"),))
        != Block("a b", "body/p", "p", 2)
    )
    assert (block.link_chars, block.row, block.item, block.bold_chars) == (0, 0, 0, 0)
    assert repr(block).startswith("Block('a b', 'body/p', 'p', 1,")
    with pytest.raises(AttributeError):
        block.text = "c"


def test_compiled_walker_is_checked_at_first_page_not_at_import() -> None:
    program = (
        "from contentspider.page.tree import tags\n"
        "tags.KINDS['p'] = 'inline'\n"
        "from contentspider.page.tree import blocks\n"
        "assert blocks._check_walk.cache_info().currsize == 0\n"
        "try:\n"
        "    blocks.new_walker()\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert "reads nodes wrongly" in done.stdout
    assert "pip install --force-reinstall" in done.stdout


def test_reused_walker_reads_pages_like_new_walker() -> None:
    walker = new_walker()
    pages = [f"<body class=c{n}><p id=p{n} style='display:none'>a<ul><li>{n}" for n in range(3)]
    for html in pages * 2:
        assert Page.from_html(html, walker=walker) == Page.from_html(html)


def test_path_steps_equal_element_keys() -> None:
    values = [
        "",
        " ",
        "a",
        " a\tb  c ",
        "post-1234 x/1",
        "1 22 3",
        "9" * 300,
        "x" * 198 + " 12 345",
    ]
    values += ["n" * 197 + "12 3", "ü 12"]
    top = etree.Element("body")
    asked = []
    for id_, class_, role in itertools.product(values, repeat=3):
        element = etree.SubElement(top, "p", {"id": id_, "class": class_, "role": role})
        element.set("itemprop", class_)
        element.text = "text"
        asked.append(element_key("p", id_, class_, role, class_))
    found = read_tree(top)[0].blocks
    assert [block.path for block in found] == [f"body/{key}" for key in asked]


def test_numbers_are_kept_where_they_name_all_parts_of_a_page() -> None:
    parts = "".join(f"<div class='part-{n} box-{n}'><p class=text-{n}>a" for n in range(100, 105))
    found = Page.from_html(f"<body class=page-17>{parts}").content
    assert found.blocks[0].path == "body.page-17/div.part-100.box-100/p.text-100"
    assert found.paths[found.blocks[1].container] == found.blocks[1].path
    named = "<p class='lead first'>a" * 2
    found = Page.from_html(f"<body class=page-17>{named}{parts}").content
    assert found.blocks[-1].path.endswith("/div.part-0.box-0/p.text-0"), "other names tell parts"
    few = Page.from_html("<body class=page-17><p class=text-123>a").content
    assert few.blocks[0].path == "body.page-0/p.text-0"


def test_metadata_hints_are_found_anywhere_in_tree() -> None:
    elements = (
        "<title>a</title><meta name=m content=b><svg><g><title>c</title></g></svg>"
        "<p hidden><time datetime=2013-10-31>d</time></p><select><option><meta name=n content=e>"
        "</select><h1>f</h1><br><a rel=author>g</a>"
    )
    kinds = ["title", "meta", "title", "date", "meta", "headline", "author"]
    for html in (
        f"<html><head></head><body>{elements}</body></html>",
        f"<html><head></head><body><div>{elements}</div></body></html>",
        f"<div>{elements}</div>",
    ):
        found = read_tree(etree.fromstring(html, etree.HTMLParser()))[1]
        assert [kind for kind, *_ in found] == kinds
        assert [place for *_, place in found] == sorted(place for *_, place in found)
