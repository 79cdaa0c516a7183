#!/usr/bin/env bash
# MiniSearch does not find the word "timeout" in a page that says "set `timeout`" or "timeout=30".
#
# Versions: minisearch 7.2.0 (npm), Node.js 20.
# Guess: a word ends at each character that is no letter, digit or mark, as a tokenizer "by spaces and
#   punctuation" promises.
# Seen: Unicode counts the grave accent, "=", "+", "|", "<", ">", "^", "$" and arrows among its symbols,
#   not its punctuation, so that they are letters of a word: "`timeout`", "timeout=30", "|timeout|",
#   "vector<int>". The query "timeout" finds none of them, also with `prefix: true` if the symbol comes
#   first. "#", "_", "-" and quotation marks do end words: "C#" is found by "C", "C++" is not.
# Who meets it: searches in documentation whose Markdown is indexed as it is: names of options stand in
#   backticks or in the cells of a table, and are the words that people look for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund minisearch@7.2.0
cat >"$folder/run.mjs" <<'JAVASCRIPT'
import assert from "node:assert";
import MiniSearch from "minisearch";

function found(text, query, options) {
  const index = new MiniSearch({ fields: ["text"] });
  index.add({ id: 1, text });
  return index.search(query, options).length;
}

const seen = {
  backticks: found("set `timeout` to 5", "timeout"),
  "backticks, prefix": found("set `timeout` to 5", "timeout", { prefix: true }),
  "cell of a table": found("|timeout|30|", "timeout"),
  assignment: found("pass timeout=30", "timeout"),
  template: found("vector<int>", "vector"),
  "C++": found("C++", "C"),
  "C#": found("C#", "C"),
  "quotation marks": found("set \"timeout\" to 5", "timeout"),
};
console.log(seen);
assert.deepEqual(Object.values(seen), [0, 0, 0, 0, 0, 0, 1, 1]);
JAVASCRIPT
node "$folder/run.mjs"
