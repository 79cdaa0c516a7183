#!/usr/bin/env bash
# Python's sqlite3 frees one page for each `PRAGMA incremental_vacuum(N)`, whatever N is.
#
# Versions: CPython 3.11.7 (sqlite3 of the standard library, SQLite 3.40.1), apsw 3.50.4.0.
# Guess: `connection.execute("PRAGMA incremental_vacuum(100)")` gives 100 free pages back.
# Seen: SQLite frees one page for each step of this statement, and the statement has no columns.
#   sqlite3 steps a statement without columns once, then resets it: one page is freed, also if
#   `fetchall` is called. `executescript` steps to the end: 100 pages. apsw steps to the end if the
#   cursor is read to its end: one page after `execute`, 100 after `fetchall`.
# Who meets it: a crawl's state in one SQLite file with auto_vacuum = INCREMENTAL, cleaned in
#   portions: the file never shrinks, no error is raised, and a loop "until freelist_count is 0"
#   takes N times as many calls.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet apsw==3.50.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import sqlite3

import apsw

PAGES = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
SHRINK = "PRAGMA incremental_vacuum(100)"


def freed(connection, shrink):
    for statement in (
        "PRAGMA auto_vacuum = INCREMENTAL",
        "CREATE TABLE t (a)",
        f"{PAGES} INSERT INTO t SELECT zeroblob(3500) FROM n",
        "DELETE FROM t",
    ):
        list(connection.execute(statement))
    before = list(connection.execute("PRAGMA freelist_count"))[0][0]
    shrink(connection)
    return before - list(connection.execute("PRAGMA freelist_count"))[0][0]


def python():
    return sqlite3.connect(":memory:", isolation_level=None)


seen = {
    "sqlite3 execute": freed(python(), lambda c: c.execute(SHRINK)),
    "sqlite3 execute, fetchall": freed(python(), lambda c: c.execute(SHRINK).fetchall()),
    "sqlite3 executescript": freed(python(), lambda c: c.executescript(SHRINK)),
    "apsw execute": freed(apsw.Connection(":memory:"), lambda c: c.execute(SHRINK)),
    "apsw execute, fetchall": freed(
        apsw.Connection(":memory:"), lambda c: c.execute(SHRINK).fetchall()
    ),
}
print("SQLite", sqlite3.sqlite_version, "and", apsw.sqlite_lib_version(), seen)
assert list(seen.values()) == [1, 1, 100, 1, 100], seen
PYTHON
