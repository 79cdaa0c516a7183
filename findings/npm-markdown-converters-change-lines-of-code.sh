#!/usr/bin/env bash
# Four converters from HTML to Markdown change the lines of code, or end the list around it.
#
# Versions: turndown 7.2.5, dom-to-semantic-markdown 1.5.0, node-html-markdown 2.0.0 (npm, jsdom
#   29.1.1, Node.js 20); markdownify 1.2.3 (PyPI, CPython 3.11.7).
# Guess: of all text, that in `<pre><code>` reaches the Markdown letter by letter.
# Seen: Turndown and dom-to-semantic-markdown drop each `<br>` in code and join the two lines.
#   node-html-markdown drops the empty lines of code in a list's item, and adds two spaces to the end
#   of each line; markdownify adds them where a `<br>` stands (a backslash before them continues no
#   line). dom-to-semantic-markdown writes the code of an item without indentation, so that the list
#   ends. It and node-html-markdown number a list with start=3 from 1.
# Who meets it: readers of instructions that were stored as Markdown, and models that are fed with
#   them: commands run together, scripts that do not run, "see step 4" of a list without a fourth step.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund \
  turndown@7.2.5 dom-to-semantic-markdown@1.5.0 node-html-markdown@2.0.0 jsdom@29.1.1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet markdownify==1.2.3
cat >"$folder/run.mjs" <<'JAVASCRIPT'
import assert from "node:assert";
import { convertHtmlToMarkdown } from "dom-to-semantic-markdown";
import { JSDOM } from "jsdom";
import { NodeHtmlMarkdown } from "node-html-markdown";
import TurndownService from "turndown";

const overrideDOMParser = new (new JSDOM().window.DOMParser)();
const turndown = (html) => new TurndownService({ codeBlockStyle: "fenced" }).turndown(html);
const semantic = (html) => convertHtmlToMarkdown(html, { overrideDOMParser });
const node = (html) => NodeHtmlMarkdown.translate(html);

const BREAK = "<pre><code>fill pot<br>boil pot</code></pre>";
const ITEM = "<ol><li><p>Run it</p><pre><code>fill\n\nboil</code></pre></li><li><p>Pour</p></li></ol>";
const START = "<ol start='3'><li>Fill</li><li>Boil</li></ol>";
const seen = {
  "turndown, br": turndown(BREAK),
  "dom-to-semantic-markdown, br": semantic(BREAK),
  "node-html-markdown, item": node(ITEM),
  "dom-to-semantic-markdown, item": semantic(ITEM),
  "node-html-markdown, start": node(START),
  "dom-to-semantic-markdown, start": semantic(START),
};
console.log(seen);
assert.deepEqual(Object.values(seen), [
  "```\nfill potboil pot\n```",
  "```\nfill potboil pot\n```",
  "1. Run it  \n```  \nfill  \nboil  \n```\n2. Pour",
  "1. Run it\n\n```\nfill\n\nboil\n```\n2. Pour",
  "1. Fill\n2. Boil",
  "1. Fill\n2. Boil",
]);
JAVASCRIPT
node "$folder/run.mjs"
"$folder/venv/bin/python" - <<'PYTHON'
from markdownify import markdownify

seen = markdownify("<pre><code>fill \\<br>  --hot</code></pre>").strip()
print("markdownify, br", ascii(seen))
assert seen == "```\nfill \\  \n  --hot\n```", ascii(seen)
PYTHON
