from __future__ import annotations

import gzip
import json
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import brotli
import pytest

from contentspider.evaluation.corpora import Corpus, json_lines
from contentspider.extract import extract_paths
from contentspider.page.input.files import html_files, read_pages
from contentspider.page.tree.blocks import MAX_BLOCKS
from contentspider.state.outcome import Outcome
from tests.conftest import run
from tests.messages import wording
from tests.sites import article, prose

with suppress(ImportError):
    from compression import zstd
with suppress(ImportError):
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("beginning", "is_html"),
    [
        ("<!DOCTYPE html>", True),
        ("\ufeff <?xml version='1.0'?> <!-- a - b -- c --> <!----> <html>", True),
        ("<!-- --->\n<head>", True),
        ("<!-- not closed <html>", False),
        ("<htmlx>", False),
        ("text", False),
    ],
)
def test_html_files_are_recognized_by_their_first_characters(
    tmp_path: Path, beginning: str, is_html: bool
) -> None:
    (tmp_path / "page").write_text(beginning, encoding="utf-8")
    assert bool(list(html_files(tmp_path))) == is_html


def test_leading_comments_in_file_are_read_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"<!-- -->" * 120)
    started = time.process_time()
    assert not list(html_files(tmp_path))
    assert time.process_time() - started < 1


def test_files_that_are_not_html_are_skipped_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bodies = {
        "a.html": b"<p>A page with some text that is its own.",
        "b.html": b"%PDF-1.4 (text)",
        "c.html": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
        "d.html": bytes(range(250, 0, -1)) * 9,
        "e.html": b'\xef\xbb\xbf<?xml version="1.0"?><!-- x --><rss><title>Tea</title></rss>',
        "f.html": b' {"name": "Tea", "content": "<p>A tea."}',
        "g.html": b"[" * 100_000,
        "h.html": b"{Tea} and [milk]: <p>a page that begins with signs of JSON.",
    }
    for name, body in bodies.items():
        (tmp_path / name).write_bytes(body)
    pages = {"a.html", "g.html", "h.html"}
    assert {item["url"] for item in extract_paths([tmp_path])} == pages
    for name in sorted(bodies.keys() - pages):
        assert f"{name} is not HTML" in caplog.text


def test_pages_that_were_saved_packed_are_read(tmp_path: Path) -> None:
    raw = zlib.compressobj(wbits=-15)
    packed: dict[str, Callable[[bytes], bytes]] = {
        "a.html": bytes,
        "b.html": gzip.compress,
        "c": gzip.compress,
        "d.html.gz": gzip.compress,
        "e.html": brotli.compress,
        "f.htm.br": brotli.compress,
        "g": zstd.compress,
        "h.html": zlib.compress,
        "i.html": lambda page: raw.compress(page) + raw.flush(),
    }
    folder = tmp_path / "saved"
    folder.mkdir()
    for number, (name, pack) in enumerate(packed.items()):
        (folder / name).write_bytes(pack(article(number).encode()))
    (folder / "notes.txt.gz").write_bytes(gzip.compress(b"no page"))
    done = run("extract", "saved", cwd=tmp_path)
    items = {item["url"]: item for item in map(json.loads, done.stdout.splitlines())}
    assert items.keys() == packed.keys()
    assert all(prose(number, 1) in items[name]["content"] for number, name in enumerate(packed))
    alone = run("extract", "saved/e.html", cwd=tmp_path).stdout
    assert prose(4, 1) in json.loads(alone)["content"]


def test_packed_pages_that_cannot_be_read_are_named_and_counted(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.html").write_text(article(number))
    bomb = b"<html><p>" + bytes(13_000_000)
    (tmp_path / "bomb.html").write_bytes(gzip.compress(bomb, 1))
    (tmp_path / "br.html").write_bytes(brotli.compress(bomb, quality=1))
    (tmp_path / "broken.html.gz").write_bytes(gzip.compress(b"<p>Tea")[:8] + b"?" * 99)
    done = run("extract", str(tmp_path), cwd=tmp_path, check=False)
    assert len(done.stdout.splitlines()) == 3
    assert done.returncode == Outcome.INCOMPLETE
    for name in ("bomb.html", "br.html", "broken.html.gz"):
        assert done.stderr.count(f"{name} ") == 1
    assert "3 files left out" in done.stderr


def test_truncated_page_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "deep.html").write_text("<div>" * 2_100 + "x")
    (page,) = read_pages(tmp_path)
    assert page.content.truncated
    limits = (str(MAX_BLOCKS), "250000", "12000000", "2048")
    assert "deep.html " + wording("page.too-many-blocks", *limits) in caplog.text


def test_json_lines_end_only_at_line_feeds(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be"
    line = f'{{"path": "/p", "text": "{text}"}}'.encode().replace(b"\x0b", b"\\u000b")
    (tmp_path / "gold.jsonl").write_bytes(line + b"\r\n\n" + line)
    assert [number for number, _ in json_lines(tmp_path / "gold.jsonl")] == [1, 3]
    corpus = Corpus(tmp_path, {})
    assert [page.text for page in corpus.gold()] == [text, text]
    assert corpus.gold_paths() == ["/p", "/p"]
