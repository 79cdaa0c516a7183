"""E-books are read as XHTML: their blocks, notes, lists and code are those of pages."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest

from contentspider.page.input.documents import document_html
from contentspider.page.input.page import Page
from contentspider.site.models.record import page_fields
from tests.officefiles import AUTHOR, DC, HEAD, PARTS, TITLE, zipped

pytest.importorskip("anydoc")
pytest.importorskip("markdown_it")
from contentspider.page.input.document_process import read

XHTML = 'xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"'


def book(chapters: list[str], guide: str = "", more: dict[str, str] | None = None) -> bytes:
    """Return an e-book with the bodies of its chapters, and a table of contents in its spine."""
    more = more or {}
    manifest = (
        '<item id="toc" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
    )
    spine = '<itemref idref="toc"/>'
    contents = "<nav epub:type='toc'><h1>Contents</h1></nav>"
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": PARTS["epub"]["META-INF/container.xml"],
        "OPS/nav.xhtml": f"<html {XHTML}><body>{contents}</body></html>",
    }
    for number, chapter in enumerate(chapters):
        name = f"text/c%20{number}.xhtml"
        manifest += f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>'
        spine += f'<itemref idref="c{number}"/>'
        parts[f"OPS/text/c {number}.xhtml"] = (
            f"{HEAD}<html {XHTML}><head><title/><link rel='stylesheet' href='x.css'/></head>"
            f"<body>{chapter}</body></html>"
        )
    for name in more:
        kind = "text/css" if name.endswith(".css") else "image/png"
        manifest += f'<item id="{name}" href="{name}" media-type="{kind}"/>'
        parts[f"OPS/{name}"] = more[name]
    parts["OPS/book.opf"] = (
        f'{HEAD}<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata'
        f' xmlns:dc="{DC}"><dc:title>{TITLE.replace("&", "&amp;")}</dc:title><dc:creator>{AUTHOR}'
        f"</dc:creator><dc:language>en</dc:language></metadata><manifest>{manifest}</manifest>"
        f"<spine>{spine}</spine><guide>{guide}</guide></package>"
    )
    return zipped(parts)


def markdown(chapters: list[str], guide: str = "", more: dict[str, str] | None = None) -> str:
    document = read("office", book(chapters, guide, more), "", 60)
    assert not document["problem"]
    page = Page.from_html(document_html(document, "https://e.org/b.epub"), "https://e.org/b.epub")
    return str(page_fields(page, "e.org", None, "")["content_markdown"])


def test_blocks_are_apart_and_code_tasks_terms_and_raised_numbers_stay() -> None:
    chapter = (
        "<div>leaves</div><div>each</div><dl><dt>Tea</dt><dd>A drink</dd></dl>"
        "<pre class='sourceCode python'><code>pour(\n    2)</code></pre>"
        "<ul><li><label><input type='checkbox' checked=''/>steamed</label></li>"
        "<li><input type='checkbox'/>rolled</li><li>☒ dried</li></ul>"
        "<p>10<sup>3</sup> and caf&eacute;&nbsp;tea<a id='x'/> end</p>"
    )
    text = markdown([chapter])
    assert "leaves\n\neach" in text
    assert "Tea\n: A drink" in text
    assert "```python\npour(\n    2)\n```" in text
    assert "- [x] steamed\n- [ ] rolled\n- [x] dried" in text
    assert "10³ and café tea end" in text


NOTE = "<li id='fn{0}'><p>See map {0}.<a href='#r{0}' role='doc-backlink'>back</a></p></li>"
MARKER = "<a href='{1}#fn{0}' id='r{0}' epub:type='noteref'>{0}</a>"


def test_notes_of_the_same_part_and_of_another_part_have_markers() -> None:
    notes = f"<section epub:type='footnotes'><ol>{NOTE.format(1)}</ol></section>"
    for chapters in (
        [f"<p>letters{MARKER.format(1, '')} go on.</p>{notes}"],
        [
            f"<p>letters{MARKER.format(1, 'c%201.xhtml')} go on.</p>",
            notes.replace("'#r", "'c%200.xhtml#r"),
        ],
    ):
        text = markdown(chapters)
        assert "letters[^1] go on." in text
        assert "[^1]: See map 1." in text
        assert "back" not in text
    # The chapters of a book count their notes anew.
    chapter = f"<p>letters{MARKER.format(1, '')}</p>{notes}"
    text = markdown([chapter, chapter.replace("map", "plan")])
    assert "[^note-1]: See map 1." in text
    assert "[^note-2]: See plan 1." in text


def test_title_page_and_contents_are_left_out_and_links_to_parts_are_text() -> None:
    title_page = "<section epub:type='titlepage'><h1>Tea</h1></section>"
    text = markdown([title_page, "<h1>Leaves</h1><p><a href='c%200.xhtml#x'>Part one</a></p>"])
    assert "Contents" not in text
    assert "\n# Tea" not in text
    assert text.endswith("# Leaves\n\nPart one")
    guide = '<reference type="cover" href="text/c%200.xhtml"/>'
    assert "Jacket" not in markdown(["<h1>Jacket</h1>", "<p>Leaves</p>"], guide)
    # The page that the guide calls the table of contents may have a text of its own.
    contents = "<p>A preface</p><ul><li><a href='c%201.xhtml'>Leaves</a></li></ul>"
    text = markdown([contents, "<p>Steam</p>"], guide.replace("cover", "toc"))
    assert "A preface\n\nSteam" in text


def test_pictures_have_their_texts_and_classes_of_style_sheets_are_styles() -> None:
    styles = ".s1 { font-weight:bold }\n.s2{color:red;font-style: italic}"
    chapter = (
        "<p><span class='s1'>Green</span> and <span class='s2'>black</span></p>"
        "<p><img src='../pot.png' alt='A pot of tea'/></p><p><img src='a.png' alt='a.png'/></p>"
        "<figure><img src='b.png' alt='A cup'/><figcaption>A cup</figcaption></figure>"
    )
    text = markdown([chapter], more={"style.css": styles, "pot.png": ""})
    assert "**Green** and *black*" in text
    assert "A pot of tea" in text
    assert "a.png" not in text
    assert text.count("A cup") == 1


def test_part_that_is_not_well_formed_is_read_as_html() -> None:
    assert "after it" in markdown(["<p>One<br>two</p><div><p>after it"])


def test_encrypted_and_damaged_books_say_so() -> None:
    parts = dict(PARTS["epub"])
    reference = '<CipherReference xmlns="http://www.w3.org/2001/04/xmlenc#" URI="{}"/>'
    parts["META-INF/encryption.xml"] = f"<e>{reference.format('OPS/a.xhtml')}</e>"
    assert "encrypted" in read("office", zipped(parts), "", 60)["problem"]
    parts["META-INF/encryption.xml"] = f"<e>{reference.format('OPS/font.otf')}</e>"
    assert not read("office", zipped(parts), "", 60)["problem"]
    del parts["OPS/book.opf"]
    assert read("office", zipped(parts), "", 60)["problem"]


def test_main_title_and_authors_are_the_first_of_several() -> None:
    title = f"<dc:title>{TITLE.replace('&', '&amp;')}</dc:title>"
    creator = f"<dc:creator>{AUTHOR}</dc:creator>"
    more = (
        "<dc:title id='s'>A second title</dc:title><meta refines='#s'"
        " property='title-type'>subtitle</meta>"
        + title.replace("<dc:title>", "<dc:title id='t'>")
        + "<meta refines='#t' property='title-type'>main</meta>"
    )
    people = (
        "<dc:creator id='i'>C. Painter</dc:creator><meta refines='#i' property='role'>ill</meta>"
        + creator.replace("<dc:creator>", "<dc:creator id='a'>")
        + "<meta refines='#a' property='role'>aut</meta>"
    )
    with ZipFile(BytesIO(book(["<p>Text.</p>"]))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    package = parts["OPS/book.opf"].decode().replace(title, more).replace(creator, people)
    document = read("office", zipped({**parts, "OPS/book.opf": package}), "", 60)
    assert (document["title"], document["author"]) == (TITLE, AUTHOR)
