#!/usr/bin/env bash
# Defuddle drops a short list near the start or the end of an article as "blog metadata".
#
# Versions: defuddle 0.19.4, jsdom 29.1.1, Node.js 20.
# Guess: a list between two paragraphs of an article is content, however short its items are.
# Seen: a `<ul>`, `<ol>` or `<dl>` of few words is removed if fewer than 500 characters of the article
#   stand before or after it (so each such list of a short page), also with `<code>` in its items, or a
#   sentence that announces it. It stays if a heading or a colon stands right before it, if an item
#   ends as a sentence does, or deeper in a long article. `debug: true` says "blog metadata list".
# Who meets it: whoever saves or indexes short instructions and changelogs: "Run these commands."
#   without the commands, "We have two." without their names. The text reads on without a gap.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund defuddle@0.19.4 jsdom@29.1.1
cat >"$folder/run.mjs" <<'JAVASCRIPT'
import assert from "node:assert";
import { Defuddle } from "defuddle/node";
import { JSDOM } from "jsdom";

const TEXT = "<p>The kettle is filled with cold water and stands on the stove until it begins to sing.</p>";

async function kept(inner, paragraphs = 4) {
  const around = TEXT.repeat(paragraphs);
  const article = `<article><h1>Tea</h1>${around}${inner}${around}</article>`;
  const page = new JSDOM(`<!doctype html><title>Tea</title><body>${article}</body>`);
  const { content } = await Defuddle(page, "https://e.example/tea");
  return content.includes("Uji");
}

const LISTS = {
  "ul": "<ul><li>Sencha of Uji</li><li>Bancha</li></ul>",
  "ol": "<ol><li>First the green tea of Uji</li><li>then the black one</li></ol>",
  "dl": "<dl><dt>Sencha</dt><dd>of Uji</dd></dl>",
  "code": "<p>Run these commands.</p><ul><li><code>brew Uji</code></li><li><code>pour</code></li></ul>",
  "stop": "<ul><li>Sencha of Uji.</li><li>Bancha</li></ul>",
  "heading": "<h2>Teas</h2><ul><li>Sencha of Uji</li><li>Bancha</li></ul>",
  "colon": "<p>We have two:</p><ul><li>Sencha of Uji</li><li>Bancha</li></ul>",
};
const seen = {};
for (const [name, html] of Object.entries(LISTS)) seen[name] = await kept(html);
seen.deep = await kept(LISTS.ul, 20);
console.log(seen);
assert.deepEqual(Object.values(seen), [false, false, false, false, true, true, true, true]);
JAVASCRIPT
node "$folder/run.mjs"
