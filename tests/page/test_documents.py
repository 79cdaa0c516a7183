"""Office files, e-books and texts are read as pages, in a process that may fail without harm."""

from __future__ import annotations

import logging
import re
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from contentspider.extract import extract_paths, page_item
from contentspider.ground.children import ChildError, End
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.fetch import Fetched
from contentspider.page.input import documents as reading
from contentspider.page.input import office
from contentspider.page.input.documents import (
    MAX_BYTES,
    document_html,
    document_kind,
    read_document,
)
from contentspider.page.input.page import Page
from contentspider.page.input.properties import Properties, read_properties
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.record import page_fields
from tests import officefiles
from tests.officefiles import (
    AUTHOR,
    FILES,
    HEADING,
    LINK,
    MARKDOWN,
    PARTS,
    ROWS,
    TEXT,
    TITLE,
    docx_parts,
    zipped,
)

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("anydoc")
pytest.importorskip("markdown_it")
from contentspider.page.input.document_process import read

TEXT_TYPE = "text/plain; charset=utf-8"
TABLE = "\n".join("| " + " | ".join(row) + " |" for row in ROWS[1:])


def fields_of(page: Page) -> dict[str, object]:
    return page_fields(page, "e.org", None, "")


def page_of(kind: str, body: bytes, content_type: str = "") -> Page:
    """Read a file in this process, which is faster."""
    html = document_html(read(kind, body, content_type, 60), "https://e.org/a/b.docx")
    return Page.from_html(html, "https://e.org/a/b.docx")


@pytest.mark.parametrize("kind", [*FILES, "md"])
def test_document_has_fields_of_page(kind: str) -> None:
    body = FILES.get(kind, MARKDOWN)
    fields = fields_of(page_of("office" if kind in FILES else "markdown", body))
    assert fields["title"] in (TITLE, HEADING)
    assert fields["author"] == [AUTHOR]
    assert str(fields["published_at"]).startswith("2024-03-01")
    assert str(fields["modified_at"]).startswith("2024-04-02")
    assert HEADING in str(fields["content"])
    assert TEXT in str(fields["content"])
    markdown = str(fields["content_markdown"])
    if kind not in ("pptx", "odp"):
        assert TABLE in markdown
    if kind not in ("xlsx", "ods"):
        assert f"# {HEADING}" in markdown
    if kind in ("docx", "odt", "epub", "md"):
        assert f"]({LINK})" in markdown


def test_file_is_read_in_process_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    page = read_document(FILES["docx"], "https://e.org/a")
    assert page is not None
    assert page.is_document
    assert HEADING in [block.text for block in page.content.blocks]
    restored = Page.load(page.dump())
    assert restored.is_document
    assert not Page.load(Page.from_html("<p>Tea").dump()).is_document


def test_document_without_title_is_named_by_heading_or_file() -> None:
    parts = {name: text for name, text in PARTS["docx"].items() if "core" not in name}
    assert read("office", zipped(parts), "", 60)["title"] == HEADING
    core = PARTS["pptx"]["docProps/core.xml"]
    generic = core.replace(officefiles.ESCAPED_TITLE, "PowerPoint Presentation")
    parts = PARTS["pptx"] | {"docProps/core.xml": generic}
    assert read("office", zipped(parts), "", 60)["title"] == HEADING
    for kind in ("xlsx", "ods"):
        parts = {
            name: text
            for name, text in PARTS[kind].items()
            if name not in ("docProps/core.xml", "meta.xml")
        }
        assert page_of("office", zipped(parts)).hints.titles == ("b.docx",)
    assert page_of("text", b"Tea.").hints.titles == ("b.docx",)


def test_kinds_are_recognised_by_content_and_texts_by_type_and_name() -> None:
    for body in FILES.values():
        for content_type in ("", "text/html", "application/octet-stream"):
            assert document_kind(body, content_type, "https://e.org/x") == "office"
    compressed = BytesIO()
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in reversed(PARTS["epub"].items()):
            archive.writestr(name, text)
    assert document_kind(compressed.getvalue()) == "office"
    assert document_kind(zipped({"a.txt": "tea"})) == ""

    def kind(body: str, content_type: str, path: str) -> str:
        return document_kind(body.encode(), content_type, f"https://e.org/{path}")

    assert kind("Tea.", TEXT_TYPE, "a.txt") == kind("Tea.", TEXT_TYPE, "README") == "text"
    assert kind("# Tea", TEXT_TYPE, "a.md") == kind("# Tea", "text/markdown", "a") == "markdown"
    assert kind("# Tea", "application/octet-stream", "a.md?x=1") == "markdown"
    for path in ("main.c", "log.csv", "x.php"):
        assert kind("int main;", TEXT_TYPE, path) == ""
    assert kind("# Tea", "text/html", "a.md") == ""
    assert kind("<!doctype html><p>Tea", TEXT_TYPE, "a.txt") == ""
    assert kind("\0\1\2\3" * 30, TEXT_TYPE, "a.txt") == ""


def test_lists_notes_and_nested_tables_are_written() -> None:
    html = (
        "<p><a href='b.xhtml#x'>Part two</a></p>"
        "<ul><li>Green<ol><li>Sencha</li></ol></li></ul><p>x<br/>y</p><pre>code</pre>"
        "<table><tr><td><p>A</p><p>B</p></td><td><table><tr><td>C</td></tr></table></td></tr></table>"
    )
    chapter = PARTS["epub"]["OPS/a.xhtml"].replace("<h1>", html + "<h1>")
    page = page_of("office", zipped(PARTS["epub"] | {"OPS/a.xhtml": chapter}))
    content = str(fields_of(page)["content_markdown"])
    assert "- Green\n    1. Sencha" in content
    assert "Part two" in content
    assert "b.xhtml" not in content
    assert "```\ncode\n```" in content
    assert {"A", "B", "C"} <= {block.text for block in page.content.blocks}


def test_footnotes_have_markers() -> None:
    text = "<w:r><w:footnoteReference w:id='2'/></w:r></w:p>"
    w = f'xmlns:w="{officefiles.W}"'
    note = "<w:footnote w:id='2'><w:p><w:r><w:t>See the map.</w:t></w:r></w:p></w:footnote>"
    parts = {**PARTS["docx"], "word/footnotes.xml": f"<w:footnotes {w}>{note}</w:footnotes>"}
    document = parts["word/document.xml"]
    parts["word/document.xml"] = document.replace("</w:hyperlink></w:p>", "</w:hyperlink>" + text)
    rels = "word/_rels/document.xml.rels"
    link = f'<Relationship Id="rId7" Type="{officefiles.R}/footnotes" Target="footnotes.xml"/>'
    parts[rels] = parts[rels].replace("</Relationships>", link + "</Relationships>")
    markdown = str(fields_of(page_of("office", zipped(parts)))["content_markdown"])
    assert "[^1]" in markdown
    assert "[^1]: See the map." in markdown


@pytest.mark.parametrize("kind", ["docx", "odt"])
def test_raised_numbers_are_no_digits_of_the_number_before(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"docx": "word/document.xml", "odt": "content.xml"}[kind]
    raised = {
        "docx": (
            "</w:t></w:r><w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>{}</w:t></w:r>"
            "<w:r><w:t>"
        ),
        "odt": "<text:span text:style-name='Up'>{}</text:span>",
    }[kind]
    text = f"It weighs 10{raised.format('3')} g on the 2{raised.format('nd')} scale."
    document = PARTS[kind][name].replace(TEXT, text)
    document = document.replace(
        "<office:body>",
        f"<office:automatic-styles xmlns:style='{officefiles.ODF}style:1.0'><style:style"
        " style:name='Up' style:family='text'><style:text-properties"
        " style:text-position='super 58%'/></style:style></office:automatic-styles><office:body>",
    )
    file = zipped({**PARTS[kind], name: document, "pictures/a.png": b"x"})
    page = page_of("office", file)
    assert "It weighs 10³ g on the 2nd scale." in str(fields_of(page)["content"])
    assert f"]({LINK})" in str(fields_of(page)["content_markdown"])
    assert not read("office", file, "", 60)["left_out"]
    monkeypatch.setattr("contentspider.page.input.lost_signs.MAX_BYTES", len(document))
    large = read("office", file, "", 60)
    assert "raised numbers" in large["left_out"], "it says what it does not do"
    assert "It weighs 103 g" in large["body"]


def test_non_breaking_hyphens_keep_the_parts_of_a_range_apart() -> None:
    name = "word/document.xml"
    hyphen = "</w:t><w:noBreakHyphen/><w:t>"
    document = PARTS["docx"][name].replace(TEXT, f"See pages 5{hyphen}10 of the e{hyphen}book.")
    page = page_of("office", zipped({**PARTS["docx"], name: document}))
    assert "See pages 5\u201110 of the e\u2011book." in str(fields_of(page)["content"])


def test_ruby_of_word_keeps_its_base_and_hidden_text_is_left_out() -> None:
    ruby = (
        "</w:t></w:r><w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢"
        "</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t>"
        '</w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>字.'
    )
    document = read("office", zipped(officefiles.docx_parts(f"Signs: {ruby}")), "", 60)
    assert "Signs: 漢字." in document["body"]
    assert "kan" not in document["body"]
    assert "hidden" not in document["body"]


def test_comments_and_readings_of_ruby_in_odt_are_left_out() -> None:
    text = (
        "Signs<office:annotation><dc:creator>B</dc:creator><text:p>Remark</text:p>"
        "</office:annotation>: <text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>kan"
        "</text:ruby-text></text:ruby>字."
    )
    parts = {name: part.replace(TEXT, text) for name, part in PARTS["odt"].items()}
    document = read("office", zipped(parts), "", 60)
    assert "Signs: 漢字." in document["body"]
    assert "Remark" not in document["body"]
    assert "kan" not in document["body"]


def test_names_that_programs_write_are_no_authors() -> None:
    for author in ("(anonymous)", "Unknown", "python-docx", "Microsoft Office User"):
        parts = {name: part.replace(AUTHOR, author) for name, part in PARTS["docx"].items()}
        assert read("office", zipped(parts), "", 60)["author"] == ""


def test_signs_of_symbol_fonts_are_characters() -> None:
    def sign(char: str, font: str = "Wingdings") -> str:
        return f"</w:t><w:sym w:font='{font}' w:char='{char}'/><w:t>"

    def run(text: str, font: str, other: str = "") -> str:
        fonts = f"<w:rFonts w:ascii='{font}' w:hAnsi='{other or font}'/>"
        made = f"<w:r><w:rPr>{fonts}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"
        return f"</w:t></w:r>{made}<w:r><w:t xml:space='preserve'>"

    texts = {
        f"Tea {sign('F0FC')}, ale {sign('00FB')}": "Tea ✓, ale ✗",
        f"milk {sign('f0fe')} or {sign('F0A8')}": "milk ☑ or ☐",
        f"Call {sign('F028')} or write {sign('F02A')}": "Call ☎ or write ✉",
        f"Leaf {sign('F0E0')} cup{sign('F0FF')}.": "Leaf → cup.",
        f"Yes {sign('F052', 'Wingdings 2')}": "Yes ☑",
        f"5 {sign('F0B1', 'Symbol')} 1": "5 ± 1",
        f"It costs {sign('zz')}{sign('110000')}{sign('D800')}{sign('0000')}{sign('FFFF')}nothing, "
        f"{sign('2611', 'MS Gothic')} paid{sign('F0FC', 'Bookshelf')}": "It costs nothing, ☑ paid",
        f"Steep {run('&#xF0FC;à ', 'Wingdings')}now": "Steep ✓→ now",
        f"over 80 {run('&#xF0B0;', 'Symbol')}C": "over 80 °C",
        f"a {run('fine cup ', 'Wingdings', 'Arial')}{run('ñ 茶 ', 'Arial')}": "a fine cup ñ 茶",
        f"or {run('茶', 'Wingdings')}": "or 茶",
    }
    name = "word/document.xml"
    document = (
        PARTS["docx"][name]
        .replace(TEXT, "; ".join(texts))
        .replace("<w:t>", "<w:t xml:space='preserve'>")
    )
    page = page_of("office", zipped({**PARTS["docx"], name: document}))
    content = str(fields_of(page)["content"])
    for expected in texts.values():
        assert expected in content, content


def test_text_file_becomes_paragraphs_and_long_files_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = read(
        "text", "Grün\r\nund <b>\r\n\r\nGelb.".encode("cp1252"), "text/plain; charset=cp1252", 60
    )
    assert document["body"] == "<p>Grün und &lt;b&gt;</p><p>Gelb.</p>"
    monkeypatch.setattr("contentspider.page.input.textfiles.MAX_CHARS", 3)
    assert read("text", b"Tea is", "", 60)["left_out"] == "3 characters"
    monkeypatch.setattr(office, "MAX_CHARS", 30)
    document = read("office", FILES["xlsx"], "", 60)
    assert document["left_out"] == "3 blocks or rows"
    assert "Sencha" not in document["body"]


def test_one_long_text_of_an_office_file_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_TEXT_CHARS", 1_000)
    document = read("office", zipped(docx_parts("Long. " * 1_000)), "", 60)
    assert 1_000 <= len(document["body"]) < 2_000
    assert document["left_out"]


def test_headings_of_levels_that_html_lacks_are_headings() -> None:
    parts = docx_parts()
    parts["word/styles.xml"] = parts["word/styles.xml"].replace(
        '<w:outlineLvl w:val="0"/>', '<w:outlineLvl w:val="8"/>'
    )
    parts["word/styles.xml"] = parts["word/styles.xml"].replace("heading 1", "heading 9")
    document = read("office", zipped(parts), "", 60)
    assert f"<h6>{officefiles.HEADING}</h6>" in document["body"]


# Files that are broken or hostile: each ends with a reason in the log, and no page.

BOMB = (
    '<!DOCTYPE x [<!ENTITY a "tea">'
    + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">'
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
)


def with_entities(text: str, place: str) -> str:
    return text.replace(officefiles.HEAD, officefiles.HEAD + BOMB).replace(place, "&i;")


def zip_bomb() -> bytes:
    """Return a DOCX file with 150 MB of spaces in its text."""
    text = PARTS["docx"]["word/document.xml"].replace(TEXT, " " * 150_000_000)
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, part in (PARTS["docx"] | {"word/document.xml": text}).items():
            archive.writestr(name, part)
    return file.getvalue()


def test_hostile_files_are_refused_with_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    encrypted = reading.OLE_MARK + bytes(600) + office.ENCRYPTED_MEMBER + bytes(600)
    assert "encrypted" in read("office", encrypted, "", 60)["problem"]
    for body in (FILES["docx"][:-600], b"PK\3\4" + bytes(600), FILES["odt"][:400]):
        assert read("office", body, "", 60)["problem"]
    assert read_document(zip_bomb(), "https://e.org/a") is None
    assert "https://e.org/a cannot be read" in caplog.text
    caplog.clear()
    assert read_document(reading.ZIP_MARK + b"[Content_Types].xml" + bytes(MAX_BYTES), "x") is None
    assert "more than" in caplog.text


def test_large_file_is_read() -> None:
    page = read_document(
        b"A line of tea.\n\n" * 10_000, "https://e.org/a.txt", 60, content_type=TEXT_TYPE
    )
    assert page is not None
    assert len(page.content.blocks) == 10_000


def test_child_that_fails_has_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    for error, reason in (
        (ChildError(End.DIED, "signal 6", status=-6), "too much memory"),
        (ChildError(End.FAILED, "", kinds=["MemoryError"]), "MemoryError"),
        (ChildError(End.DIED, "it ended with 1", status=1), "ended with 1"),
    ):
        monkeypatch.setattr(reading, "run_child", MagicMock(side_effect=error))
        assert read_document(FILES["docx"], "https://e.org/a") is None
        assert reason in caplog.messages[-1]


@pytest.mark.parametrize("kind", PARTS)
def test_entities_are_not_expanded(kind: str) -> None:
    parts = {
        name: with_entities(text, TEXT if TEXT in text else officefiles.ESCAPED_TITLE)
        for name, text in PARTS[kind].items()
    }
    document = read("office", zipped(parts), "", 60)
    assert len("".join(document.values())) < 5_000


def test_deep_nesting_ends_soon() -> None:
    deep = "<table><tr><td>" * 3_000 + "x" + "</td></tr></table>" * 3_000
    quotes = "<blockquote><ul><li>" * 60 + "y" + "</li></ul></blockquote>" * 60
    for html in (deep, quotes):
        parts = PARTS["epub"] | {
            "OPS/a.xhtml": PARTS["epub"]["OPS/a.xhtml"].replace("<h1>", html + "<h1>")
        }
        document = read("office", zipped(parts), "", 60)
        assert document["problem"] or document["left_out"] or "Uji" in document["body"]


def test_properties_are_read_of_damaged_files() -> None:
    assert read_properties(FILES["docx"][:-30]) == Properties()
    assert read_properties(b"{\\rtf1{\\info{\\title Gr\\'fcner \\u8364?}{\\creatim\\yr2024}}}") == (
        Properties(title="Grüner €")
    )
    broken = PARTS["docx"] | {"docProps/core.xml": "<a><title>Tea</title><b>"}
    assert read_properties(zipped(broken)).title == "Tea"
    assert read_properties(zipped(PARTS["docx"] | {"docProps/core.xml": ""})) == Properties()


def test_documents_are_extracted_without_crawl(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tea.docx").write_bytes(FILES["docx"])
    (tmp_path / "notes.md").write_bytes(MARKDOWN)
    (tmp_path / "broken.odt").write_bytes(FILES["odt"][:300])
    paths = [tmp_path / name for name in ("tea.docx", "broken.odt", "notes.md")]
    items = list(extract_paths(paths))
    assert [item["page_type"] for item in items] == ["document"] * 2
    assert all(TEXT in str(item["content"]) for item in items)
    assert "broken.odt: no text can be read" in caplog.text
    assert items[0]["site"] == tmp_path.name
    fetched = Fetched("https://e.org/tea", FILES["epub"], "application/epub+zip")
    assert TABLE in str(page_item(fetched, LearningOptions())["content_markdown"])
    with pytest.raises(ContentSpiderError):
        page_item(Fetched("", b"\0\1\2" * 99, ""), LearningOptions())


def test_nothing_is_read_without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "can_read", lambda: False)
    assert read_document(FILES["docx"], "x") is None


@pytest.mark.parametrize("is_related", [False, True])
@pytest.mark.parametrize("styles", [None, "", "<w:styles/>"])
def test_headings_of_docx_without_styles_are_headings(styles: str | None, is_related: bool) -> None:
    parts = docx_parts()
    del parts["word/styles.xml"]
    if styles is not None:
        parts["word/styles.xml"] = styles
    if not is_related:
        name = "word/_rels/document.xml.rels"
        parts[name] = re.sub(r'<Relationship Id="rId8"[^>]*>', "", parts[name])
        assert "styles" not in parts[name]
    page = page_of("office", zipped(parts))
    assert [(block.tag, block.text) for block in page.content.blocks][:1] == [("h1", HEADING)]
    assert TEXT in page.content.blocks[1].text
