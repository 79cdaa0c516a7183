#!/usr/bin/env bash
# mammoth, MarkItDown and python-docx read the caption "Figure 3: Tea" as "Figure : Tea".
#
# Versions: mammoth 1.13.0, MarkItDown 0.1.9, python-docx 1.2.0 (writes the file, too), docx2python
#   3.7.1, CPython 3.11.7.
# Guess: what Word shows for a field stands in the file as text. python-docx, which reads the runs of
#   a paragraph, may lack it; mammoth, which converts documents, has it.
# Seen: that holds for fields of several runs (`w:fldChar`). The short form, `w:fldSimple`, which Word
#   writes for the numbers of captions, is dropped with the text in it by all but docx2python. mammoth
#   has a message ("unrecognised element"), which MarkItDown does not show.
# Who meets it: reports as HTML, as Markdown or in an index: no caption has its number, "see page 12"
#   is "see page", and a text of several figures cannot be followed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet \
  "markitdown[docx]==0.1.9" mammoth==1.13.0 python-docx==1.2.0 docx2python==3.7.1
"$folder/venv/bin/python" - "$folder/tea.docx" <<'PYTHON'
import sys

import docx
import mammoth
from docx2python import docx2python
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from markitdown import MarkItDown

path = sys.argv[1]
document = docx.Document()
paragraph = document.add_paragraph("Figure ")
field = OxmlElement("w:fldSimple")
field.set(qn("w:instr"), " SEQ Figure \\* ARABIC ")
field.append(paragraph.add_run("3")._r)
paragraph._p.append(field)
paragraph.add_run(": Tea")
document.save(path)

with open(path, "rb") as file:
    by_mammoth = mammoth.extract_raw_text(file).value.strip()
with docx2python(path) as read:
    by_docx2python = read.text.strip()
seen = {
    "mammoth": by_mammoth,
    "MarkItDown": MarkItDown().convert(path).text_content,
    "python-docx": docx.Document(path).paragraphs[0].text,
    "docx2python": by_docx2python,
}
print(seen)
assert list(seen.values()) == ["Figure : Tea"] * 3 + ["Figure 3: Tea"], seen
PYTHON
