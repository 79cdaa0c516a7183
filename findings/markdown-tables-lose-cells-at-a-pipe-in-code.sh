#!/usr/bin/env bash
# A "|" in the code of a table's cell survives few pairs of a writer and a reader of Markdown.
#
# Versions: markdownify 1.2.3, html2text 2025.4.15, mistune 3.4.0, Markdown 3.11.3, cmarkgfm
#   2025.10.22 (GitHub's own parser), CPython 3.11.7.
# Guess: a converter writes the cell "a|b" as GitHub's Markdown wishes it (`a\|b`), and each parser
#   with tables reads "a|b" of it.
# Seen: markdownify and html2text write the bare "|". cmarkgfm then ends the cell there: the code is
#   no code, and the last cell of the row is dropped, as it has no column. mistune (plugin "table")
#   and Python-Markdown (extension "tables") keep the backslash of `a\|b` in the code: "a\|b".
# Who meets it: tables of operators, options and regular expressions in documentation that is stored
#   as Markdown. A description is gone in silence, or an expression has another meaning: `a\|b`
#   matches other texts than `a|b`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet \
  markdownify==1.2.3 html2text==2025.4.15 mistune==3.4.0 Markdown==3.11.3 cmarkgfm==2025.10.22
"$folder/venv/bin/python" - <<'PYTHON'
import re

import html2text
import markdown
import mistune
from cmarkgfm import github_flavored_markdown_to_html
from markdownify import markdownify

HTML = (
    "<table><tr><th>sign</th><th>meaning</th></tr>"
    "<tr><td><code>a|b</code></td><td>either</td></tr></table>"
)
ESCAPED = "| sign | meaning |\n| --- | --- |\n| `a\\|b` | either |\n"


def cells(html):
    return re.findall(r"<td>(.*?)</td>", html.replace("<td></td>", ""))


written = {"markdownify": markdownify(HTML), "html2text": html2text.html2text(HTML)}
on_github = {name: cells(github_flavored_markdown_to_html(text)) for name, text in written.items()}
read = {
    "cmarkgfm": cells(github_flavored_markdown_to_html(ESCAPED)),
    "mistune": cells(mistune.create_markdown(plugins=["table"])(ESCAPED)),
    "Markdown": cells(markdown.markdown(ESCAPED, extensions=["tables"])),
}
print(written, on_github, read, sep="\n")
assert all("`a|b`" in text for text in written.values()), written
assert all(found == ["`a", "b`"] for found in on_github.values()), on_github
assert read["cmarkgfm"] == ["<code>a|b</code>", "either"], read
assert read["mistune"] == read["Markdown"] == [r"<code>a\|b</code>", "either"], read
PYTHON
