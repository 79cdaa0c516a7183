#!/usr/bin/env bash
# PDFium's text has U+FFFE in place of a hyphen at the end of a line, and no line break after it.
#
# Versions: pypdfium2 5.15.2 (PDFium 159.0.8149.0), CPython 3.11.7.
# Guess: the text of two lines "a well-" and "known lamp" is "a well-\r\nknown lamp".
# Seen: `get_text_range` gives "a well\ufffeknown lamp". PDFium takes each hyphen at a line's end for
#   a hyphenation, joins the lines, and puts U+0002 (`FPDFText_GetUnicode`), or the noncharacter
#   U+FFFE (the text), in its place, also in words that have the hyphen anywhere.
# Who meets it: whoever searches or indexes such a text. "well-known" and "information" at a line's
#   end are found neither as one word nor as two, since U+FFFE is no space and no hyphen. It is
#   invisible in most fonts. Removing it makes "wellknown".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pypdfium2==5.15.2
"$folder/venv/bin/python" - <<'PYTHON'
import pypdfium2
import pypdfium2.raw as pdfium

CODE = b"BT /F1 12 Tf 72 720 Td (a well-) Tj 0 -14 Td (known lamp, infor-) Tj 0 -14 Td (mation) Tj ET"
OBJECTS = [
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
    b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
    b"<< /Length %d >>\nstream\n%s\nendstream" % (len(CODE), CODE),
]
body, places = b"%PDF-1.4\n", []
for number, content in enumerate(OBJECTS, 1):
    places.append(len(body))
    body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
table = b"".join(b"%010d 00000 n \n" % place for place in places)
start = len(body)
body += b"xref\n0 5\n0000000000 65535 f \n" + table
body += b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start

page = pypdfium2.PdfDocument(body)[0].get_textpage()
text = page.get_text_range()
codes = [pdfium.FPDFText_GetUnicode(page, index) for index in range(page.count_chars())]
print(ascii(text), codes[6])
assert text == "a well\ufffeknown lamp, infor\ufffemation", ascii(text)
assert codes[6] == 2 and 13 not in codes, codes
PYTHON
