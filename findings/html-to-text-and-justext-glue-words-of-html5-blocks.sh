#!/usr/bin/env bash
# html-to-text, Turndown and jusText glue the last word of a block to the first word of the next one.
#
# Versions: html-to-text 10.0.1, turndown 7.2.5 (npm, Node.js 20), jusText 3.0.2, lxml 6.1.3, CPython
#   3.11.7.
# Guess: a converter from HTML to text puts a space or a line break between any two elements that
#   browsers show as blocks.
# Seen: each has its own list of block elements, and what it lacks is inline. html-to-text lacks `<dt>`,
#   `<dd>`, `<summary>`, `<details>` and `<figcaption>`, and the cells of tables unless told that they
#   are data. Turndown and jusText lack `<summary>`; jusText lacks `<figcaption>`, too.
# Who meets it: definition lists of API references, foldable questions with answers, captions: a
#   search finds neither "kettle" nor "boils" in "kettleboils".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund html-to-text@10.0.1 turndown@7.2.5
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jusText==3.0.2 lxml==6.1.3 lxml_html_clean==0.4.6
cat >"$folder/pages.json" <<'JSON'
{
  "dl": "<dl><dt>kettle</dt><dd>boils</dd></dl>",
  "details": "<details><summary>kettle</summary>boils</details>",
  "figure": "<figure><div>kettle</div><figcaption>boils</figcaption></figure>",
  "caption": "<figure><figcaption>kettle</figcaption></figure>boils",
  "table": "<table><tr><td>kettle</td><td>boils</td></tr></table>"
}
JSON
cat >"$folder/run.mjs" <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { convert } from "html-to-text";
import TurndownService from "turndown";

const pages = Object.entries(JSON.parse(readFileSync(new URL("pages.json", import.meta.url))));
const isGlued = (text) => text.includes("kettleboils");
const glued = (read) => pages.filter(([, html]) => isGlued(read(html))).map(([name]) => name);
console.log("html-to-text", ...glued((html) => convert(html)));
console.log("turndown", ...glued((html) => new TurndownService().turndown(html)));
JAVASCRIPT
cat >"$folder/run.py" <<'PYTHON'
import json
import pathlib

import justext

pages = json.loads(pathlib.Path(__file__).with_name("pages.json").read_text())


def read(html):
    page = f"<html><body>{html}</body></html>".encode()
    return "\n".join(paragraph.text for paragraph in justext.justext(page, frozenset()))


print("jusText", *(name for name, html in pages.items() if "kettleboils" in read(html)))
PYTHON
seen=$(node "$folder/run.mjs" && "$folder/venv/bin/python" "$folder/run.py")
echo "$seen"
[ "$seen" = "html-to-text dl details caption table
turndown details
jusText details caption" ]
