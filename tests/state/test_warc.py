"""WARC files of a crawl: what is in them, and what a kill and other files do to them."""

from __future__ import annotations

import gzip
import io
import signal
import subprocess
import sys
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files import warc
from contentspider.state.files.warc import Exchange, WarcFile, whole_bytes
from tests.conftest import ROOT, TIMEOUT, Site, run
from tests.processes import Popen
from tests.sites import small_site

if TYPE_CHECKING:
    from pathlib import Path

archive = pytest.importorskip("warcio.archiveiterator")

BODY = gzip.compress(b"<p>caf\xc3\xa9")
EXCHANGE = Exchange(
    "http://e.org/a?b",
    "GET",
    "/a?b",
    [("Host", "e.org"), ("Cookie", "secret"), ("Authorization", "secret")],
    b"",
    "200 OK",
    [
        ("Content-Encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "7"),
        ("Content-Type", "text/html"),
    ],
    BODY,
    "192.0.2.1",
)


def records(path: Path) -> list[tuple[str, str, bytes]]:
    """Return the type, address and decoded body of each record, whose digests are right."""
    with path.open("rb") as file:
        found = []
        for record in archive.ArchiveIterator(file, check_digests="raise"):
            body = record.content_stream().read()
            uri = record.rec_headers.get_header("WARC-Target-URI") or ""
            found.append((record.rec_type, uri, body))
        return found


def write(path: Path, count: int = 1) -> None:
    file = WarcFile(path, "test")
    for _ in range(count):
        file.write(EXCHANGE)
    file.close()


def test_warc_stores_responses_as_received_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    write(path)
    assert [(kind, uri) for kind, uri, _ in records(path)] == [
        ("warcinfo", ""),
        ("response", EXCHANGE.url),
        ("request", EXCHANGE.url),
    ]
    assert records(path)[1][2] == "<p>café".encode()
    plain = gzip.decompress(path.read_bytes())
    assert BODY in plain
    assert f"Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY in plain
    assert b"chunked" not in plain
    assert b"secret" not in plain
    assert b"WARC-IP-Address: 192.0.2.1" in plain
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_warc_records_have_complete_headers(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    file = WarcFile(path, "contentspider test")
    file.write(replace(EXCHANGE, method="POST", request_body=b"asked", address=""))
    file.close()
    with path.open("rb") as opened:
        found = []
        for record in archive.ArchiveIterator(opened):
            found.append((record.rec_headers, record.http_headers, record.content_stream().read()))
    (about, _, text), (response, answered, _), (request, asked, body) = found
    assert about.get_header("WARC-Filename") == path.name
    assert text == b"software: contentspider test\r\nformat: WARC File Format 1.1\r\n"
    assert {headers.protocol for headers in (about, response, request)} == {"WARC/1.1"}
    assert response.get_header("WARC-IP-Address") is None
    assert request.get_header("WARC-Concurrent-To") == response.get_header("WARC-Record-ID")
    assert (answered.protocol, answered.statusline) == ("HTTP/1.1", "200 OK")
    assert answered.headers == [
        *(("Content-Encoding", "gzip"), ("Content-Type", "text/html")),
        ("Content-Length", str(len(BODY))),
    ]
    assert asked.to_str() == "POST /a?b HTTP/1.1\r\nHost: e.org\r\n"
    assert body == b"asked"


def test_answer_that_a_page_is_unmodified_is_a_revisit(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    file = WarcFile(path, "test")
    asked = [("Host", "e.org"), ("If-None-Match", '"v1"')]
    headers = [("ETag", '"v1"')]
    unsent = replace(
        EXCHANGE, request_headers=asked, status="304 Not Modified", response_headers=headers,
        body=b"", is_revisit=True,
    )  # fmt: skip
    file.write(unsent)
    file.close()
    with path.open("rb") as opened:
        found = [(r.rec_headers, r.http_headers) for r in archive.ArchiveIterator(opened)]
    revisit, answered = found[1]
    assert revisit.get_header("WARC-Type") == "revisit"
    assert revisit.get_header("WARC-Profile").endswith("/revisit/server-not-modified")
    assert revisit.get_header("WARC-Refers-To-Target-URI") == EXCHANGE.url
    assert revisit.get_header("WARC-Etag") == '"v1"'
    assert revisit.get_header("WARC-Last-Modified") is None
    assert revisit.get_header("WARC-Payload-Digest") is None, "it has no payload"
    assert answered.get_statuscode() == "304" and answered.headers == headers
    assert found[2][0].get_header("WARC-Concurrent-To") == revisit.get_header("WARC-Record-ID")
    assert [kind for kind, _, _ in records(path)] == ["warcinfo", "revisit", "request"]


def test_file_that_is_not_gzip_is_rejected_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    for content in (b"\x1f\x8bno header of gzip's", b"\x1f\x8d", b"x"):
        path.write_bytes(content)
        with pytest.raises(
            ContentSpiderError, match=rf"{path} is not a compressed WARC file, and was"
        ):
            WarcFile(path, "test")
        assert path.read_bytes() == content
        assert [file.name for file in tmp_path.iterdir()] == [path.name], "its lock is gone"
    path.write_bytes(b"\x1f")
    write(path)
    assert len(records(path)) == 3, "one byte may be what a kill left of a file"
    with pytest.raises(ContentSpiderError, match="cannot be created"):
        warc.check_warc(path / "out.warc.gz")
    warc.check_warc(tmp_path / "new" / "out.warc.gz")
    assert (tmp_path / "new").is_dir()
    with pytest.raises(ContentSpiderError, match="cannot be written: Is a directory"):
        warc.check_warc(tmp_path)


def test_gzip_member_boundaries_are_found_at_any_chunk_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = [gzip.compress(b"tea" * number, mtime=0) for number in range(4)]
    data = b"".join(members)
    for size in range(1, len(data) + 1):
        monkeypatch.setattr(warc, "CHUNK_BYTES", size)
        assert whole_bytes(io.BytesIO(data)) == len(data)
        assert whole_bytes(io.BytesIO(data[:-1])) == len(data) - len(members[-1])
    with pytest.raises(zlib.error):
        whole_bytes(io.BytesIO(data + b"no member"))


def test_truncated_warc_record_is_cut_off_before_appending(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    write(path, 2)
    whole = path.read_bytes()
    for cut in range(1, len(whole), 37):
        path.write_bytes(whole[:-cut])
        left = whole_bytes(io.BytesIO(whole[:-cut]))
        write(path)
        assert path.read_bytes()[:left] == whole[:left]
        kinds = [kind for kind, _, _ in records(path)]
        assert kinds[-3:] == ["warcinfo", "response", "request"]


def test_foreign_or_locked_warc_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    path.write_bytes(b"something of the user's")
    with pytest.raises(ContentSpiderError, match="is not a compressed WARC file"):
        WarcFile(path, "test")
    assert path.read_bytes() == b"something of the user's"
    first = WarcFile(tmp_path / "two.warc.gz", "test")
    with pytest.raises(ContentSpiderError, match="by another crawl"):
        WarcFile(tmp_path / "two.warc.gz", "test")
    first.close()
    with pytest.raises(ContentSpiderError, match="cannot be created"):
        WarcFile(path / "out.warc.gz", "test")


def test_missing_warc_extra_raises_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "warcio", None)
    with pytest.raises(ContentSpiderError, match=r"pip install 'contentspider\[warc\]'"):
        WarcFile(tmp_path / "out.warc.gz", "test")


def test_crawl_writes_fetched_pages_to_warc(site: Site, tmp_path: Path) -> None:
    small_site(site, 4)
    crawl = ["crawl", "--own-site", site.url, "--warc", "out.warc.gz"]
    crawl += ["-H", "Cookie: a=secret", "-H", "X-Api-Key: secret"]
    run(*crawl, cwd=tmp_path)
    found = records(tmp_path / "out.warc.gz")
    pages = {uri: body for kind, uri, body in found if kind == "response"}
    assert {site.url + path for path in ("/robots.txt", "/1", "/2", "/3")} <= set(pages)
    assert b"Page 2" in pages[site.url + "/2"]
    assert b"secret" not in gzip.decompress((tmp_path / "out.warc.gz").read_bytes())
    size = (tmp_path / "out.warc.gz").stat().st_size
    run(*crawl, cwd=tmp_path)
    assert (tmp_path / "out.warc.gz").stat().st_size > size, "nothing is replaced"
    records(tmp_path / "out.warc.gz")


def test_invalid_warc_file_is_reported_before_crawl(site: Site, tmp_path: Path) -> None:
    small_site(site, 2)
    (tmp_path / "out.warc.gz").write_bytes(b"mine")
    done = run("crawl", "--own-site", site.url, "--warc", "out.warc.gz", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "is not a compressed WARC file" in done.stderr


def test_project_with_invalid_warc_file_crawls_nothing(site: Site, tmp_path: Path) -> None:
    small_site(site, 2)
    (tmp_path / "out.warc.gz").write_bytes(b"mine")
    (tmp_path / "own.py").write_text(
        f"""
import scrapy

class Own(scrapy.Spider):
    name = "own"
    start_urls = ["{site.url}/"]
    custom_settings = {{
        "ADDONS": {{"contentspider.Addon": 500}},
        "CONTENTSPIDER_WARC_FILE": "out.warc.gz",
    }}
"""
    )
    done = run("runspider", "own.py", cwd=tmp_path, module="scrapy", check=False)
    assert "is not a compressed WARC file, and was not changed" in done.stderr
    assert not site.requests
    assert (tmp_path / "out.warc.gz").read_bytes() == b"mine"


def test_failed_warc_write_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    file = WarcFile(path, "test")
    real = file._file

    class Full:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def write(self, data: memoryview) -> int:
            if real.tell() - size > 100:
                raise OSError(28, "full")
            return real.write(data[:60])

    size = path.stat().st_size
    file._file = Full()  # type: ignore[assignment]
    with pytest.raises(OSError, match="full"):
        file.write(EXCHANGE)
    assert path.stat().st_size == size
    file._file = real
    file.write(EXCHANGE)
    file.close()
    assert [kind for kind, _, _ in records(path)] == ["warcinfo", "response", "request"]


FULL = """
import resource, sys
from pathlib import Path
from contentspider.state.files.warc import WarcFile
from tests.state.test_warc import EXCHANGE

file = WarcFile(Path(sys.argv[1]), "test")
file.write(EXCHANGE)
size = Path(sys.argv[1]).stat().st_size
# As a disk that is full in the midst of a record.
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, unlimited[1]))
try:
    file.write(EXCHANGE)
except OSError:
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)  # what was cut off made room
    file.close()
    print("full")
"""


def test_full_disk_leaves_only_complete_warc_records(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.stdout == "full\n"
    assert [kind for kind, _, _ in records(path)] == ["warcinfo", "response", "request"]
    with path.open("rb") as file:
        assert whole_bytes(file) == path.stat().st_size
    write(path)
    assert len(records(path)) == 6, "it is gone on with"
    check = [sys.executable, "-m", "warcio.cli", "check", str(path)]
    subprocess.run(check, check=True, capture_output=True, timeout=TIMEOUT)


def test_killed_crawl_resumes_into_complete_warc_file(site: Site, tmp_path: Path) -> None:
    small_site(site, 12)
    answer = site.answer
    crawl = [sys.executable, "-m", "contentspider", "crawl", "--own-site", site.url]
    crawl += ["--warc", "out.warc.gz", "--no-sitemaps", "--resume"]
    process = Popen(crawl, cwd=tmp_path, stderr=subprocess.DEVNULL)

    def killing(path: str) -> tuple[int, str, bytes]:
        if path == "/7":
            process.kill()
        return answer(path)

    site.answer = killing
    assert process.wait(TIMEOUT) == -signal.SIGKILL
    site.answer = answer
    run(*crawl[3:], cwd=tmp_path)
    found = {uri for kind, uri, _ in records(tmp_path / "out.warc.gz") if kind == "response"}
    assert {f"{site.url}/{number}" for number in range(1, 12)} <= found
