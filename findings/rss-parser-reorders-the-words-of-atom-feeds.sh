#!/usr/bin/env bash
# rss-parser moves the words of an Atom entry's XHTML, and its title is no string.
#
# Versions: rss-parser 3.13.0 (npm), Node.js 20.
# Guess: `title` is a string, and `content` has the XHTML of the feed with the words in their order.
# Seen: it parses the feed into objects that group the children of an element by name, and builds XHTML
#   from these: "Green <b>tea</b> for <i>us</i> now" is "Green  for  now<b>tea</b><i>us</i>". A title
#   with type="xhtml" is an object. RFC 4287 allows type="xhtml" for titles, summaries and contents.
# Who meets it: readers and indexes of such feeds: paragraphs with links are word salad (the texts of
#   all links come last), and `title.trim()` fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund rss-parser@3.13.0
cat >"$folder/run.mjs" <<'JAVASCRIPT'
import assert from "node:assert";
import Parser from "rss-parser";

const XHTML = '<div xmlns="http://www.w3.org/1999/xhtml">Green <b>tea</b> for <i>us</i> now</div>';
const FEED = `<feed xmlns="http://www.w3.org/2005/Atom"><title>Tea</title><entry>
<id>tag:e.example,2026:1</id><title type="xhtml">${XHTML}</title><content type="xhtml">${XHTML}</content></entry></feed>`;
const [{ title, content }] = (await new Parser().parseString(FEED)).items;
const words = content.replace(/<[^>]*>/g, " ").split(" ").filter(Boolean).join(" ");
console.log(typeof title, content);
assert.equal(typeof title, "object");
assert.equal(words, "Green for now tea us");
JAVASCRIPT
node "$folder/run.mjs"
