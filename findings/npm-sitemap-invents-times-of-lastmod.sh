#!/usr/bin/env bash
# The npm package sitemap writes a time that nobody gave, and moves pages to the next day.
#
# Versions: sitemap 9.0.1 (npm), Node.js 20.
# Guess: a lastmod that is a valid W3C date ("2026-03-05", or a time with its offset) is written as given.
# Seen: each value passes JavaScript's Date: "2026-03-05" becomes "2026-03-05T00:00:00.000Z", "2026-03"
#   the first of March at midnight, and the offset of a time is lost. With `lastmodDateOnly` the day
#   is the one in UTC: "2026-03-05T23:30:00-08:00" is 6 March, also where the site's own day is the 5th.
# Who meets it: crawlers that compare lastmod with the time of their last visit. A page that changed
#   in the afternoon of the day on which it was read claims midnight before that, and is not read again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund sitemap@9.0.1
cat >"$folder/run.mjs" <<'JAVASCRIPT'
import assert from "node:assert";
import { SitemapStream, streamToPromise } from "sitemap";

async function written(lastmod, options) {
  const stream = new SitemapStream({ hostname: "https://e.example", ...options });
  stream.end({ url: "/tea", lastmod });
  return /<lastmod>(.*)<\/lastmod>/.exec(await streamToPromise(stream))[1];
}

const EVENING = "2026-03-05T23:30:00-08:00";
const seen = {
  day: await written("2026-03-05"),
  month: await written("2026-03"),
  evening: await written(EVENING),
  "evening, lastmodDateOnly": await written(EVENING, { lastmodDateOnly: true }),
};
console.log(seen);
assert.deepEqual(Object.values(seen), [
  "2026-03-05T00:00:00.000Z",
  "2026-03-01T00:00:00.000Z",
  "2026-03-06T07:30:00.000Z",
  "2026-03-06",
]);
JAVASCRIPT
TZ=America/Los_Angeles node "$folder/run.mjs"
