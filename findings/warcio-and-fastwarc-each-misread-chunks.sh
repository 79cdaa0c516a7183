#!/usr/bin/env bash
# warcio and FastWARC each read only a part of HTTP's chunked coding, and not the same part.
#
# Versions: warcio 1.8.1, FastWARC 2.0.1, CPython 3.11.7.
# Guess: both readers give the page of a recorded response in any valid chunked coding.
# Seen: warcio gives the trailer fields as the end of the page, without their first two characters,
#   and does not decode "Transfer-Encoding: Chunked", as it compares the name's case: the sizes of the
#   chunks stay in the page. FastWARC reads both, and raises OSError at a chunk extension, which
#   warcio reads. RFC 9112: the names of codings ignore case (7), unknown extensions must be
#   ignored (7.1.1), trailer fields are no part of the content (7.1.2).
# Who meets it: readers of archives by tools that record the bytes of the wire. warcio raises no
#   error, and the text of the page and its hash change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet warcio==1.8.1 FastWARC==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
from io import BytesIO

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

PAGE = b"<p>tea and cake</p>"
CASES = {
    "plain": ("chunked", b"13\r\n%s\r\n0\r\n\r\n"),
    "trailer": ("chunked", b"13\r\n%s\r\n0\r\nX-Leaves: 3\r\n\r\n"),
    "capital": ("Chunked", b"13\r\n%s\r\n0\r\n\r\n"),
    "extension": ("chunked", b"13;cup=1\r\n%s\r\n0\r\n\r\n"),
}


def archive(coding, body):
    file = BytesIO()
    writer = WARCWriter(file, gzip=True)
    fields = [("Content-Type", "text/html"), ("Transfer-Encoding", coding)]
    headers = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
    address = "https://e.example/"
    payload = BytesIO(body % PAGE)
    writer.write_record(writer.create_warc_record(address, "response", payload=payload, http_headers=headers))
    return BytesIO(file.getvalue())


def warcio(file):
    return next(iter(ArchiveIterator(file))).content_stream().read()


def fastwarc(file):
    try:
        return next(iter(FastIterator(file, auto_decode="all"))).reader.read()
    except OSError:
        return OSError


seen = {name: (warcio(archive(*case)), fastwarc(archive(*case))) for name, case in CASES.items()}
for name, (one, other) in seen.items():
    print(f"{name}: warcio {one}, FastWARC {other}")
assert seen == {
    "plain": (PAGE, PAGE),
    "trailer": (PAGE + b"0\r\nLeaves: 3\r\n\r\n", PAGE),
    "capital": (CASES["capital"][1] % PAGE, PAGE),
    "extension": (PAGE, OSError),
}, seen
PYTHON
