#!/usr/bin/env bash
# SQLite's default tokenizer of FTS5, `unicode61`, tears a word at its combining marks.
#
# Versions: SQLite 3.50.4 (of apsw 3.50.4.0), CPython 3.11.7.
# Guess: the default tokenizer of FTS5 keeps a word of any script whole, as its name promises.
# Seen: only letters, digits and private characters belong to words; marks (Mn, Mc) separate them.
#   The Hindi word "नाव" (boat) is stored as "न" and "व", the Arabic "كِتاب" as "ك" and "تاب".
#   `categories 'L* N* Co Mn Mc'` keeps them whole. `ascii` takes every character beyond ASCII for a
#   letter: it suits words that a program has split.
# Who meets it: a search in Hindi, Bengali, Tamil, Thai, or in Arabic and Hebrew with points: a
#   search for one letter finds pages that have no such word, and no error is raised.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet apsw==3.50.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import apsw

OPTIONS = ("unicode61", "unicode61 categories 'L* N* Co Mn Mc'", "ascii")
seen = {}
for option in OPTIONS:
    database = apsw.Connection(":memory:")
    database.execute(f'CREATE VIRTUAL TABLE pages USING fts5(text, tokenize = "{option}")')
    database.execute("CREATE VIRTUAL TABLE words USING fts5vocab(pages, row)")
    database.execute("INSERT INTO pages VALUES ('नाव كِتاب')")
    seen[option] = sorted(word for (word,) in database.execute("SELECT term FROM words"))
print("SQLite", apsw.sqlite_lib_version(), seen)
assert seen[OPTIONS[0]] == ["تاب", "ك", "न", "व"], seen
assert seen[OPTIONS[1]] == seen[OPTIONS[2]] == ["كِتاب", "नाव"], seen
PYTHON
