"""All kinds of WARC records: pages are read, and what is not read is counted and said."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import brotli
import pytest

from contentspider.ground.encodings import PackedError, unpack
from contentspider.state.outcome import Outcome
from tests.archive.test_archive import DATE, archive, html, items
from tests.conftest import Site, read_jsonl, run
from tests.sites import article, small_site

with suppress(ImportError):
    from compression import zstd
with suppress(ImportError):
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = "application/http; msgtype=response"


def http(body: str, status: str = "200 OK", kind: str = "text/html") -> str:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\n{body}"


def record(kind: str, number: int, block: str, content_type: str = ANSWER, **more: str) -> bytes:
    """Return the record of a page of a.example; *more* are headers, without the prefix WARC-."""
    headers = {
        "Type": kind,
        "Record-ID": f"<urn:test:{number}>",
        "Date": DATE,
        "Target-URI": f"https://a.example/{number}",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    lines = [f"WARC-{name}: {value}" for name, value in headers.items() if value]
    lines += [f"Content-Type: {content_type}", f"Content-Length: {len(block.encode())}"]
    head = "\r\n".join(["WARC/1.1", *lines, "", ""])
    return gzip.compress(f"{head}{block}\r\n\r\n".encode())


def urls(folder: Path) -> list[str]:
    found = [json.loads(line)["url"] for line in items(folder)]
    return sorted(url.removeprefix("https://a.example/") for url in found)


@pytest.mark.parametrize("long", ["", f"X-Long: {'y' * 100_000}\r\n"], ids=["strict", "lenient"])
def test_pages_of_all_kinds_of_records_are_read_or_reported(tmp_path: Path, long: str) -> None:
    page = html("a", 1)
    records = [
        # After a long header, warcio reads the rest of the file.
        record("response", 1, http(page).replace("\r\n\r\n", f"\r\n{long}\r\n", 1)),
        record("", 2, http(page)),
        record("", 3, http(page, "404 Not Found")),
        record("", 4, "GET / HTTP/1.1\r\n\r\n", "application/http; msgtype=request"),
        record("", 5, page, "text/html"),
        record("resource", 6, page, "text/html"),
        record("resource", 7, "body {}", "text/css"),
        record("resource", 8, page, "text/html", Target_URI="file:///home/page.html"),
        record("conversion", 9, "Tea", "text/plain"),
        record("continuation", 10, page),
        record("metadata", 11, "via: x", "application/warc-fields"),
        record("tea", 12, page, "text/html"),
        record("tea", 13, "x", "text/css"),
        record("revisit", 14, http("", "304 Not Modified"), Refers_To="<urn:test:99>"),
        record("revisit", 15, http("", kind="image/png"), Refers_To="<urn:test:99>"),
        record("revisit", 16, http("", "404 Not Found"), Refers_To="<urn:test:99>"),
    ]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(records))
    done = archive(str(tmp_path / "a.warc.gz"), tmp_path / "out", check=False)
    assert urls(tmp_path / "out") == ["1", "2", "5", "6"]
    assert done.returncode == Outcome.INCOMPLETE
    for number, count in (("8", 1), ("9", 1), ("10", 1), ("12", 1), ("14", 1), ("15", 0)):
        address = "file:///home/page.html" if number == "8" else f"https://a.example/{number}"
        assert done.stderr.count(f"{address}: ") == count
    assert "5 records cannot be read" in done.stderr


def test_code_tells_lost_pages_from_archives_without_pages(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(record("response", 1, http(html("a", 1))))
    (tmp_path / "b.warc.gz").write_bytes(record("conversion", 2, "Tea", "text/plain"))
    done = archive(f"{tmp_path}/*.warc.gz", tmp_path / "out")
    assert "1 record cannot be read" in done.stderr
    done = archive(f"{tmp_path}/b.warc.gz", tmp_path / "none", check=False)
    assert done.returncode == Outcome.NOTHING_READ


def test_revisits_are_pages_wherever_their_content_is(tmp_path: Path) -> None:
    digest = {"Payload_Digest": "sha1:AAAA"}
    first = [
        record("revisit", 1, http(""), Refers_To="<urn:test:11>"),
        record(
            "revisit",
            2,
            http("", "304 Not Modified"),
            Refers_To_Target_URI="https://a.example/12",
            Refers_To_Date=DATE,
        ),
        record("revisit", 3, "", **digest),
        record("revisit", 4, http(""), Refers_To="<urn:test:14>"),
        record("response", 11, http(html("a", 11))),
    ]
    second = [
        record("response", 12, http(html("a", 12))),
        record("response", 13, http(html("a", 13)), **digest),
        record("revisit", 5, http(""), Refers_To="<urn:test:11>", Date="2025-01-01T00:00:00Z"),
    ]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(first))
    (tmp_path / "b.warc.gz").write_bytes(b"".join(second))
    out = tmp_path / "out"
    done = archive(f"{tmp_path}/*.warc.gz", out, check=False)
    assert urls(out) == ["1", "11", "12", "13", "2", "3", "5"]
    contents = {item["url"]: item["content"] for item in map(json.loads, items(out))}
    for revisit, page in ((1, 11), (2, 12), (3, 13), (5, 11)):
        address = "https://a.example/{}".format
        assert contents[address(revisit)] == contents[address(page)]
    dates = {item["url"]: item["crawled_at"] for item in map(json.loads, items(out))}
    assert dates["https://a.example/5"] == "2025-01-01T00:00:00Z"
    assert done.returncode == Outcome.INCOMPLETE
    assert "https://a.example/4: " in done.stderr

    (tmp_path / "c.warc.gz").write_bytes(record("response", 14, http(html("a", 14))))
    archive(f"{tmp_path}/*.warc.gz", out)
    assert urls(out) == sorted([*"12345", *map(str, range(11, 15))])


@pytest.mark.parametrize(("encoding", "pack"), [("br", brotli.compress), ("zstd", zstd.compress)])
def test_warc_of_crawl_of_packing_server_is_read(
    tmp_path: Path, site: Site, encoding: str, pack: object
) -> None:
    small_site(site, 6)
    site.add("/", article(0, "".join(f"<a href=/{number}>{number}</a>" for number in range(1, 6))))
    sent = site.answer

    def answer(path: str) -> tuple[int, str, bytes]:
        status, kind, body = sent(path)
        return status, f"{kind}\r\nContent-Encoding: {encoding}", pack(body)  # type: ignore[operator]

    site.answer = answer
    given = ("--own-site", "--no-sitemaps", "--warc", "crawl.warc.gz")
    run("crawl", site.url, *given, cwd=tmp_path)
    crawled = {item["url"] for item in read_jsonl(tmp_path / "pages.jsonl")}
    archive(str(tmp_path / "crawl.warc.gz"), tmp_path / "out")
    assert {json.loads(line)["url"] for line in items(tmp_path / "out")} == crawled
    assert len(crawled) >= 5


@pytest.mark.parametrize("pack", [brotli.compress, zstd.compress, gzip.compress])
def test_bombs_are_unpacked_up_to_limit(pack: object) -> None:
    encoding = {brotli.compress: "br", zstd.compress: "zstd"}.get(pack, "gzip")
    packed = pack(b"<p>" + bytes(3_000_000))  # type: ignore[operator]
    assert unpack(packed, encoding, 1_000) == b"<p>" + bytes(997)
    for damaged in (b"?" * 40, packed[:3]):
        with pytest.raises(PackedError):
            unpack(damaged, encoding, 1_000)


def test_revisits_of_later_crawls_are_pages_of_the_version_that_was_asked_about(
    tmp_path: Path,
) -> None:
    """The records are in the files of two crawls, and name no date."""
    old, new = (http(html("a", n)).replace("\r\n\r\n", "\r\n{}\r\n\r\n", 1) for n in (1, 2))
    time = "Tue, 01 Oct 2024 10:00:00 GMT"
    earlier = [
        record("response", 1, old.format('ETag: "old"')),
        record("response", 1, new.format('ETag: "new"'), Record_ID="<urn:test:9>"),
        record("response", 3, old.format(f"Last-Modified: {time}")),
        record("response", 4, old.format('ETag: "other"')),
    ]
    refers = {"Refers_To_Target_URI": "https://a.example/1"}
    unsent = "HTTP/1.1 304 Not Modified\r\n\r\n"
    date = "2026-01-01T00:00:00Z"
    later = [
        record("revisit", 1, unsent, **refers, Etag='"x", "new"', Record_ID="<u:1>", Date=date),
        record(
            "revisit", 3, unsent, Last_Modified=time, Refers_To_Target_URI="https://a.example/3",
            Record_ID="<u:3>", Date=date,
        ),
        record("revisit", 5, unsent, **refers, Etag='"other"', Record_ID="<u:5>"),
    ]  # fmt: skip
    (tmp_path / "a.warc.gz").write_bytes(b"".join(earlier))
    (tmp_path / "b.warc.gz").write_bytes(b"".join(later))
    out = tmp_path / "out"
    done = archive(f"{tmp_path}/*.warc.gz", out, check=False)
    found = {(item["url"], item["crawled_at"]): item for item in map(json.loads, items(out))}
    second = {item["content"] for item in found.values() if item["url"].endswith("/1")}
    assert ("https://a.example/3", date) in found and ("https://a.example/1", date) in found
    newest = found["https://a.example/1", date]["content"]
    assert newest in second and "2" in newest.split("\n")[0]
    assert "https://a.example/5: " in done.stderr
