#!/usr/bin/env bash
# firecrawl-anydoc and docx2python drop Word's non-breaking hyphen: "pages 5-10" are "pages 510".
#
# Versions: firecrawl-anydoc 0.2.4, docx2python 3.7.1, mammoth 1.13.0, python-docx 1.2.0 (writes the
#   file, too), CPython 3.11.7.
# Guess: `<w:noBreakHyphen/>`, which Word writes for Ctrl+Shift+_, is U+2011 or "-" in the text.
# Seen: firecrawl-anydoc and docx2python give nothing for it; the two parts become one word, or one
#   number. mammoth gives U+2011, python-docx "-". firecrawl-anydoc drops `<w:sym>` as well: a check
#   mark of Wingdings, which mammoth reads as U+2713, is gone.
# Who meets it: indexes of reports and contracts: ranges ("5-10"), telephone numbers, article numbers
#   and words such as "e-mail", of which authors wish that no line ends in them. No warning is given.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet \
  firecrawl-anydoc==0.2.4 docx2python==3.7.1 mammoth==1.13.0 python-docx==1.2.0
"$folder/venv/bin/python" - "$folder/tea.docx" <<'PYTHON'
import sys

import anydoc
import docx
import mammoth
from docx2python import docx2python
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

path = sys.argv[1]
document = docx.Document()
run = document.add_paragraph("see pages 5").runs[0]
run._r.append(OxmlElement("w:noBreakHyphen"))
run.add_text("10")
mark = OxmlElement("w:sym")
mark.set(qn("w:font"), "Wingdings")
mark.set(qn("w:char"), "F0FC")
document.add_paragraph("done: ").runs[0]._r.append(mark)
document.save(path)

with open(path, "rb") as file:
    body = file.read()
with docx2python(path) as read:
    pairs = read.text.split("\n\n")
with open(path, "rb") as file:
    by_mammoth = mammoth.extract_raw_text(file).value.strip().split("\n\n")
blocks = anydoc.to_document(body).blocks
seen = {
    "anydoc": ["".join(part.text or "" for part in block.content) for block in blocks],
    "docx2python": pairs[:1],
    "mammoth": by_mammoth,
    "python-docx": [docx.Document(path).paragraphs[0].text],
}
print(ascii(seen))
assert seen["anydoc"] == ["see pages 510", "done: "], seen
assert seen["docx2python"] == ["see pages 510"], seen
assert seen["mammoth"] == ["see pages 5\u201110", "done: \u2713"], seen
assert seen["python-docx"] == ["see pages 5-10"], seen
PYTHON
