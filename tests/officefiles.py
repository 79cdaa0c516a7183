"""Small office files and e-books with the same content: a heading, a text with a link, a table."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE, AUTHOR = "Tea & its leaves", "A. Writer"
CREATED, MODIFIED = "2024-03-01T08:05:00Z", "2024-04-02T09:06:00Z"
HEADING, TEXT = "How tea is made", "Green tea grows in Uji, and is steamed after the harvest."
LINK = "https://e.org/uji"
ROWS = [["Kind", "Minutes"], ["Sencha", "2"], ["Gyokuro", "3"]]

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
OFFICE = "application/vnd.openxmlformats-officedocument."
ODF = "urn:oasis:names:tc:opendocument:xmlns:"
DC = "http://purl.org/dc/elements/1.1/"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
ESCAPED_TITLE = TITLE.replace("&", "&amp;")

MARKDOWN = f"""---
title: "{TITLE}"
author: {AUTHOR}
date: 2024-03-01
lastmod: 2024-04-02
---
# {HEADING}

{TEXT} [More on Uji]({LINK})

| Kind | Minutes |
|------|---------|
| Sencha | 2 |
| Gyokuro | 3 |
""".encode()

Parts = dict[str, str]


def zipped(parts: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP file with some members."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, text in parts.items():
            kind = zipfile.ZIP_STORED if name == "mimetype" else compression
            archive.writestr(name, text, kind)
    return file.getvalue()


def _open_xml(main: str, kind: str, parts: Parts, links: str = "") -> Parts:
    """Return the parts of an Office Open XML file with its *main* part."""
    folder, _, name = main.rpartition("/")
    defaults = {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="{PACKAGE}content-types"><Default'
        ' Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/><Override'
        f' PartName="/{main}" ContentType="{OFFICE}{kind}.main+xml"/></Types>',
        "_rels/.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}relationships">'
        f'<Relationship Id="rId1" Type="{R}/officeDocument" Target="{main}"/>'
        f'<Relationship Id="rId2" Type="{PACKAGE}relationships/metadata/core-properties"'
        ' Target="docProps/core.xml"/></Relationships>',
        "docProps/core.xml": f"{HEAD}<cp:coreProperties"
        f' xmlns:cp="{PACKAGE}metadata/core-properties" xmlns:dc="{DC}" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>{ESCAPED_TITLE}'
        f"</dc:title><dc:creator>{AUTHOR}</dc:creator><cp:keywords>tea, Uji</cp:keywords>"
        f"<dcterms:created>{CREATED}</dcterms:created><dcterms:modified>{MODIFIED}"
        "</dcterms:modified></cp:coreProperties>",
    }
    rels = f'{HEAD}<Relationships xmlns="{PACKAGE}relationships">{links}</Relationships>'
    return {**defaults, f"{folder}/_rels/{name}.rels": rels, **parts}


def docx_parts(text: str = TEXT) -> Parts:
    """Return the parts of a DOCX file."""
    cells = "".join(
        "<w:tr>"
        + "".join(f"<w:tc><w:p><w:r><w:t>{c}</w:t></w:r></w:p></w:tc>" for c in row)
        + "</w:tr>"
        for row in ROWS
    )
    body = (
        f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{HEADING}</w:t></w:r></w:p>'
        f'<w:p><w:r><w:t xml:space="preserve">{text} </w:t></w:r><w:hyperlink r:id="rId9">'
        "<w:r><w:rPr><w:b/></w:rPr><w:t>More on Uji</w:t></w:r></w:hyperlink></w:p>"
        f"<w:tbl>{cells}</w:tbl>"
    )
    style = (
        f'{HEAD}<w:styles xmlns:w="{W}"><w:style w:type="paragraph" w:styleId="Heading1"><w:name'
        ' w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></w:styles>'
    )
    links = (
        f'<Relationship Id="rId9" Type="{R}/hyperlink" Target="{LINK}" TargetMode="External"/>'
        f'<Relationship Id="rId8" Type="{R}/styles" Target="styles.xml"/>'
    )
    document = f'{HEAD}<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>'
    parts = {"word/document.xml": document, "word/styles.xml": style}
    return _open_xml("word/document.xml", "wordprocessingml.document", parts, links)


def xlsx_parts() -> Parts:
    """Return the parts of an XLSX file."""
    rows = "".join(
        f'<row r="{number}">'
        + "".join(
            f'<c r="{column}{number}" t="inlineStr"><is><t>{text}</t></is></c>'
            for column, text in zip("AB", row, strict=True)
        )
        + "</row>"
        for number, row in enumerate([[HEADING, TEXT], *ROWS], 1)
    )
    sheet = f'{HEAD}<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>'
    book = (
        f'{HEAD}<workbook xmlns="{S}" xmlns:r="{R}"><sheets><sheet name="Teas" sheetId="1"'
        ' r:id="rId1"/></sheets></workbook>'
    )
    links = f'<Relationship Id="rId1" Type="{R}/worksheet" Target="worksheets/sheet1.xml"/>'
    parts = {"xl/workbook.xml": book, "xl/worksheets/sheet1.xml": sheet}
    return _open_xml("xl/workbook.xml", "spreadsheetml.sheet", parts, links)


def pptx_parts() -> Parts:
    """Return the parts of a PPTX file with one slide."""

    def shape(kind: str, text: str) -> str:
        return (
            f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}"/>'
            f"</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r>"
            "</a:p></p:txBody></p:sp>"
        )

    slide = (
        f'{HEAD}<p:sld xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1"'
        ' name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
        f"{shape('title', HEADING)}{shape('body', TEXT)}</p:spTree></p:cSld></p:sld>"
    )
    show = (
        f'{HEAD}<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst><p:sldId id="256"'
        ' r:id="rId1"/></p:sldIdLst></p:presentation>'
    )
    links = f'<Relationship Id="rId1" Type="{R}/slide" Target="slides/slide1.xml"/>'
    parts = {"ppt/presentation.xml": show, "ppt/slides/slide1.xml": slide}
    return _open_xml("ppt/presentation.xml", "presentationml.presentation", parts, links)


def _open_document(kind: str, body: str) -> Parts:
    """Return the parts of an OpenDocument file."""
    names = " ".join(
        f'xmlns:{prefix}="{ODF}{name}:1.0"'
        for prefix, name in (
            *(("office", "office"), ("text", "text"), ("table", "table"), ("meta", "meta")),
            *(("draw", "drawing"), ("presentation", "presentation"), ("manifest", "manifest")),
        )
    )
    names += f' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="{DC}"'
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return {
        "mimetype": media_type,
        "META-INF/manifest.xml": f"{HEAD}<manifest:manifest {names}><manifest:file-entry"
        f' manifest:full-path="/" manifest:media-type="{media_type}"/></manifest:manifest>',
        "meta.xml": f"{HEAD}<office:document-meta {names}><office:meta><dc:title>{ESCAPED_TITLE}"
        f"</dc:title><meta:initial-creator>{AUTHOR}</meta:initial-creator><dc:creator>B. Editor"
        f"</dc:creator><meta:creation-date>{CREATED}</meta:creation-date><dc:date>{MODIFIED}"
        "</dc:date><meta:keyword>tea</meta:keyword><meta:keyword>Uji</meta:keyword></office:meta>"
        "</office:document-meta>",
        "content.xml": f"{HEAD}<office:document-content {names}><office:body>{body}</office:body>"
        "</office:document-content>",
    }


def _odf_table(rows: list[list[str]]) -> str:
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p>'
            "</table:table-cell>"
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    return f'<table:table table:name="Teas"><table:table-column/>{cells}</table:table>'


def odt_parts() -> Parts:
    """Return the parts of an ODT file."""
    return _open_document(
        "text",
        f'<office:text><text:h text:outline-level="1">{HEADING}</text:h><text:p>{TEXT} <text:a'
        f' xlink:href="{LINK}">More on Uji</text:a></text:p>{_odf_table(ROWS)}</office:text>',
    )


def ods_parts() -> Parts:
    """Return the parts of an ODS file."""
    table = _odf_table([[HEADING, TEXT], *ROWS])
    return _open_document("spreadsheet", f"<office:spreadsheet>{table}</office:spreadsheet>")


def odp_parts() -> Parts:
    """Return the parts of an ODP file with one slide."""
    frame = (
        '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box>'
        "</draw:frame>"
    )
    frames = frame.format("title", HEADING) + frame.format("outline", TEXT)
    return _open_document(
        "presentation",
        f'<office:presentation><draw:page draw:name="1">{frames}</draw:page></office:presentation>',
    )


def epub_parts() -> Parts:
    """Return the parts of an EPUB file with one chapter."""
    rows = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in ROWS)
    return {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'{HEAD}<container version="1.0"'
        ' xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile'
        ' full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>",
        "OPS/book.opf": f'{HEAD}<package xmlns="http://www.idpf.org/2007/opf" version="3.0"'
        f' unique-identifier="i"><metadata xmlns:dc="{DC}"><dc:identifier id="i">x</dc:identifier>'
        f"<dc:title>{ESCAPED_TITLE}</dc:title><dc:creator>{AUTHOR}</dc:creator><dc:language>en"
        f'</dc:language><dc:date>{CREATED}</dc:date><meta property="dcterms:modified">{MODIFIED}'
        '</meta></metadata><manifest><item id="a" href="a.xhtml"'
        ' media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine>'
        "</package>",
        "OPS/a.xhtml": f'{HEAD}<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title>'
        f'</head><body><h1>{HEADING}</h1><p>{TEXT} <a href="{LINK}">More on Uji</a></p><table>'
        f"{rows}</table></body></html>",
    }


RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title "
    + TITLE
    + r"}{\author "
    + AUTHOR
    + r"}{\creatim\yr2024\mo3\dy1\hr8\min5}{\revtim\yr2024\mo4\dy2\hr9\min6}}"
    + rf"\pard\outlinelevel0\b {HEADING}\b0\par \pard\outlinelevel9 {TEXT}\par "
    + "".join(
        r"\trowd\cellx2000\cellx4000 " + "".join(rf"\intbl {c}\cell " for c in row) + r"\row "
        for row in ROWS
    )
    + r"\pard The end.\par}"
).encode()

PARTS = {
    "docx": docx_parts(),
    "xlsx": xlsx_parts(),
    "pptx": pptx_parts(),
    "odt": odt_parts(),
    "ods": ods_parts(),
    "odp": odp_parts(),
    "epub": epub_parts(),
}
FILES = {kind: zipped(parts) for kind, parts in PARTS.items()} | {"rtf": RTF}
