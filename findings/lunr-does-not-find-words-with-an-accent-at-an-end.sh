#!/usr/bin/env bash
# lunr finds no word that begins or ends with an accent, and no word of a query beside a comma.
#
# Versions: lunr 2.3.9 (npm), Node.js 20.
# Guess: what is done to the words of a page is done to the words of a query; a word that stands in a
#   page is found by itself.
# Seen: the trimmer takes all characters but A-Z, a-z, 0-9 and "_" off both ends of the words of pages:
#   "Perú" is stored as "Per". The words of a query only pass the stemmer, so "Perú" stays "Perú" and
#   finds nothing, while "Per" finds the page. For the same reason "tea," and "(tea)" find nothing. An
#   accent inside a word ("Zürich") does no harm.
# Who meets it: English documentation whose search is built on lunr, with names such as Bogotá or
#   Malmö and words such as café; and whoever pastes a piece of a sentence. They see "no results".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund lunr@2.3.9
cat >"$folder/run.mjs" <<'JAVASCRIPT'
import assert from "node:assert";
import lunr from "lunr";

const index = lunr(function () {
  this.ref("id");
  this.field("text");
  this.add({ id: 1, text: "Tea in Perú, Bogotá, Malmö, Ägypten and Zürich, at a café" });
});
const found = (query) => index.search(query).length;
const LOST = ["Perú", "Bogotá", "Malmö", "Ägypten", "café", "tea,", "(tea)"];
const FOUND = ["Per", "Bogot", "caf", "Zürich", "tea"];
const seen = Object.fromEntries([...LOST, ...FOUND].map((word) => [word, found(word)]));
console.log(seen);
assert.ok(LOST.every((word) => seen[word] === 0) && FOUND.every((word) => seen[word] === 1));
JAVASCRIPT
node "$folder/run.mjs"
