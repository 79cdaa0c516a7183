#!/usr/bin/env bash
# PyArrow's JSON reader rounds all numbers of a column if one of them needs 64 bits without a sign.
#
# Versions: pyarrow 26.0.1, polars 2.1.0, CPython 3.11.7.
# Guess: `pyarrow.json.read_json` raises an error at an integer beyond int64, or makes the column
#   uint64; smaller numbers stay exact.
# Seen: the whole column is double. 2**63 + 1 loses its last digits, and so does each other number
#   above 2**53 in it: 2**53 + 1 is 2**53. No error, no warning. An explicit schema with uint64 reads
#   all. polars (`read_ndjson`) reads the same lines exactly.
# Who meets it: crawls whose items have fingerprints of 64 bits (simhash, xxHash, hashes of addresses)
#   as numbers: half of all fingerprints are that large. Different pages get one fingerprint, and
#   joins with the exact numbers find nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import io

import polars
import pyarrow
from pyarrow import json

NUMBERS = [2**53 + 1, 2**63 + 1, 2**63 + 2]
LINES = "".join(f'{{"fingerprint": {number}}}\n' for number in NUMBERS).encode()
schema = pyarrow.schema([("fingerprint", pyarrow.uint64())])
told = json.ParseOptions(explicit_schema=schema)
seen = {
    "pyarrow": json.read_json(io.BytesIO(LINES))["fingerprint"].to_pylist(),
    "pyarrow, uint64": json.read_json(io.BytesIO(LINES), parse_options=told)["fingerprint"].to_pylist(),
    "polars": polars.read_ndjson(LINES)["fingerprint"].to_list(),
}
print(seen)
assert seen["pyarrow"] == [2.0**53, 2.0**63, 2.0**63], seen
assert seen["pyarrow, uint64"] == seen["polars"] == NUMBERS, seen
PYTHON
