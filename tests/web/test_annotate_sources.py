"""What is annotated: folders, WARC files, and addresses that are asked for."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files.warc import Exchange, WarcFile
from contentspider.web.annotate.sources import collect, file_name_for
from tests.conftest import run, serve
from tests.messages import wording
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://e.org", "index.html"),
        ("https://e.org/a/", "a/index.html"),
        ("https://e.org/a/b.htm", "a/b.htm.html"),
        ("https://e.org/a", "a.html"),
        ("https://e.org/a.html", "a.html.html"),
        ("https://e.org/index.html", "index.html.html"),
        ("https://e.org/a/b.php", "a/b.php.html"),
        ("https://e.org/../../etc/passwd", "etc/passwd-af98cccd.html"),
        ("https://e.org/%2e%2e/%2e%2e/x", "x-520ea056.html"),
        ("https://e.org/" + "x" * 500, "x" * 91 + "-52d7adc8.html"),
    ],
)
def test_each_url_is_saved_as_file_below_folder(url: str, name: str) -> None:
    assert file_name_for(url) == name


def test_different_urls_are_saved_in_different_files() -> None:
    paths = ("/a", "/a.html", "/a.htm", "/a/", "/a/index", "/a/index.html", "/a//", "//a", "/a/b")
    paths += (
        "/a%2Fb",
        "/a\\b",
        "/a_b",
        "/a/./b",
        "/./a",
        "/",
        "/index",
        "/index.html",
        "/a?x",
        "/?x",
    )
    names = [file_name_for(f"https://e.org{path}") for path in paths]
    assert len(set(names)) == len(paths)
    assert not any(name.startswith("/") or ".." in name.split("/") for name in names)


def test_urls_with_different_queries_are_saved_in_different_files() -> None:
    assert len({file_name_for(f"https://e.org/a?page={number}") for number in range(20)}) == 20


def test_listed_urls_are_fetched_as_robots_txt_allows(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("contentspider.web.annotate.sources.SECS_BETWEEN", 0)
    said: list[str] = []
    with serve() as site:
        site.add("/robots.txt", "User-agent: *\nDisallow: /no", kind="text/plain")
        for path in ("/1", "/2?a=b", "/no/3"):
            site.add(path, article(1))
        listed = tmp_path / "list.txt"
        lines = [f"{site.url}{path}" for path in ("/1", "/2?a=b", "/no/3", "/gone")]
        listed.write_text("\n".join(["# mine", "", *lines, "ftp://e.org/"]))
        found = collect(
            str(listed), tmp_path / "out", 10, is_private_allowed=True, report=said.append
        )
        assert site.requests == ["/robots.txt", "/1", "/2?a=b", "/gone"]
    assert sorted(path.name for path in (found.folder / "html").iterdir()) == [
        "1.html",
        file_name_for("http://e.org/2?a=b"),
    ]
    assert [line.rpartition(": ")[2] for line in said[:2]] == [
        "robots.txt forbids it",
        "the server answered 404",
    ]
    with pytest.raises(ContentSpiderError, match="no page could be read"):
        collect(str(listed), tmp_path / "other", 10, report=said.append)
    assert "--allow-private" in said[-1] or "address of a page" in said[-1]


def test_crawled_pages_are_collected_from_warc_or_index(tmp_path: Path) -> None:
    with serve() as site:
        site.add("/", article(0, "<a href=/1>one</a> <a href=/picture.png>two</a>"))
        site.add("/1", article(1))
        site.add("/picture.png", b"\x89PNG", kind="image/png")
        state = ["--name", "mine", "--state-dir", "state"]
        warc = ["--own-site", "-o", "out.jsonl", "--warc", "pages.warc.gz"]
        run("crawl", site.url, *warc, *state, cwd=tmp_path)
        given = ("mine", tmp_path / "again", 10, str(tmp_path / "state"))
        again = collect(*given, is_private_allowed=True)
    found = collect(str(tmp_path / "pages.warc.gz"), tmp_path / "out", 10)
    assert sorted(path.name for path in (found.folder / "html").iterdir()) == [
        "1.html",
        "index.html",
    ]
    assert found.site == again.site and found.site.startswith("127.0.0.1")
    for name in ("1.html", "index.html"):
        asked = again.folder / "html" / name
        assert asked.read_bytes() == (found.folder / "html" / name).read_bytes()


def test_packed_pages_of_folder_and_warc_are_unpacked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    zstd = pytest.importorskip("backports.zstd")  # Python 3.14 has it elsewhere
    page = article(0).encode()
    (tmp_path / "e.org").mkdir()
    (tmp_path / "e.org" / "a.html").write_bytes(gzip.compress(page))
    (tmp_path / "e.org" / "b.html").write_bytes(gzip.compress(page)[:8] + b"?" * 99)
    found = collect(str(tmp_path / "e.org"), tmp_path / "of-folder", 10)
    (file,) = (found.folder / "html").iterdir()
    assert file.read_bytes() == page
    assert "b.html cannot be read" in caplog.text
    warc = WarcFile(tmp_path / "a.warc.gz", "test")
    answer = {"Content-Type": "text/html", "Content-Encoding": "zstd"}
    sent = ("https://e.org/", "GET", "/", [], b"", "200 OK", [*answer.items()])
    warc.write(Exchange(*sent, zstd.compress(page)))
    warc.close()
    found = collect(str(tmp_path / "a.warc.gz"), tmp_path / "of-warc", 10)
    (file,) = (found.folder / "html").iterdir()
    assert file.read_bytes() == page


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty", None, "has no HTML pages"),
        ("a.warc.gz", b"not a WARC file", "is not a WARC file|no page could be read"),
        ("list.txt", b"\xff\xfe\x00", wording("web.not-addresses")),
        ("list.txt", b"# nothing\n", "no page could be read"),
        ("nothing", b"", wording("cli.no-such-file")),
    ],
)
def test_source_without_pages_raises_error(tmp_path: Path, name, content, message) -> None:
    path = tmp_path / name
    if content is None:
        path.mkdir()
    elif content:
        path.write_bytes(content)
    with pytest.raises(ContentSpiderError, match=message):
        collect(str(path), tmp_path / "out", 10, str(tmp_path))
