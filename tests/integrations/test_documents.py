"""Documents of items: pages and passages of a file, and of a crawl."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.integrations.documents import Document, read_documents
from tests.conftest import ROOT, run
from tests.sites import article, prose

if TYPE_CHECKING:
    from tests.conftest import Site

PAGE_ID = "0c" * 16


def passage(number: int, path: list[str], anchor: str = "") -> dict[str, Any]:
    return {
        "id": f"{PAGE_ID}-{number}a",
        "url": f"https://e.org/ferry{anchor}",
        "title": "The ferry",
        "heading_path": path,
        "markdown": f"The **{number}**.",
        "text": f"The {number}.",
    }


ITEM: dict[str, Any] = {
    "url": "https://e.org/ferry",
    "id": PAGE_ID,
    "title": "The ferry",
    "language": "en",
    "content": "It leaves.",
    "content_markdown": "It *leaves*.",
    "published_at": "2024-03-01",
    "modified_at": "2024-03-02",
    "content_hash": "ab" * 16,
    "crawled_at": "2026-01-01T00:00:00+00:00",
    "author": ["Ann Lee"],
    "passages": [passage(1, []), passage(2, ["Boats", "Times"], "#how%20to")],
}


def write(folder: Path, *items: object) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def test_page_becomes_document_with_flat_metadata(tmp_path: Path) -> None:
    empty = ITEM | {"url": "https://e.org/empty", "content": ""}
    plain = {"url": "https://e.org/plain", "content": "Plain."}
    pages = list(read_documents(write(tmp_path, ITEM, empty, plain)))
    assert pages[0] == Document(
        PAGE_ID,
        "# The ferry\n\nIt *leaves*.",
        {
            "url": "https://e.org/ferry",
            "heading_path": "",
            "anchor": "",
            "page_id": PAGE_ID,
            "title": "The ferry",
            "language": "en",
            "published_at": "2024-03-01",
            "modified_at": "2024-03-02",
            "content_hash": "ab" * 16,
        },
    )
    assert [page.metadata["url"] for page in pages] == [ITEM["url"], "https://e.org/plain"]
    assert (len(pages[1].id), pages[1].text) == (32, "Plain.")
    assert pages[1].metadata.keys() == pages[0].metadata.keys()


def test_passage_becomes_document_that_leads_to_its_section(tmp_path: Path) -> None:
    first, second = read_documents(str(write(tmp_path, ITEM)), passages=True)
    assert (first.id, first.text) == (f"{PAGE_ID}-1a", "The **1**.")
    assert (second.id, second.text) == (f"{PAGE_ID}-2a", "Boats > Times\n\nThe **2**.")
    assert second.metadata == {
        "url": "https://e.org/ferry#how%20to",
        "heading_path": "Boats > Times",
        "anchor": "how%20to",
        "page_id": PAGE_ID,
        "title": "The ferry",
        "language": "en",
        "published_at": "2024-03-01",
        "modified_at": "2024-03-02",
        "content_hash": "2a",
    }


def test_document_of_unchanged_passage_is_equal_after_page_changed(tmp_path: Path) -> None:
    before = list(read_documents(write(tmp_path, ITEM), passages=True))
    changed = ITEM | {
        "content_hash": "cd" * 16,
        "crawled_at": "2026-02-01T00:00:00+00:00",
        "passages": [passage(3, []), ITEM["passages"][1]],
    }
    after = list(read_documents(write(tmp_path, changed), passages=True))
    assert after[1] == before[1]
    assert after[0].id != before[0].id


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[" * 100_000,
        "[]",
        "1",
        "{}",
        '{"url": ""}',
        '{"url": "https://e.org/", "content": "x", "passages": [1]}',
        '{"url": "https://e.org/", "content": "x", "passages": 1}',
        '{"url": "https://e.org/", "content": "x", "passages": [{"heading_path": "x"}]}',
        '{"url": "https://e.org/", "content": "x"}',
    ],
    ids=range(10),
)
def test_broken_line_is_an_error_after_the_documents_before_it(line: str, tmp_path: Path) -> None:
    path = write(tmp_path, ITEM)
    with path.open("a") as file:
        file.write(f"\n{line}\n")
    documents = read_documents(path, passages=True)
    assert len([next(documents), next(documents)]) == 2, "they are read one by one"
    with pytest.raises(ContentSpiderError) as error:
        next(documents)
    assert error.value.code in ("items-file", "no-passages")


def test_missing_source_is_an_error(tmp_path: Path) -> None:
    for source in (tmp_path / "none.jsonl", tmp_path / "none.jl", "example.org"):
        with pytest.raises(ContentSpiderError):
            next(read_documents(source, state_dir=tmp_path))


def test_documents_of_crawl_are_those_of_its_items(site: Site, tmp_path: Path) -> None:
    links = "".join(f"<a href=/{number}>Page</a> " for number in range(1, 6))
    site.add("/", article(0, links))
    for number in range(1, 6):
        site.add(f"/{number}", article(number))
    command = ("crawl", site.url, "--own-site", "-s", "CONTENTSPIDER_PASSAGES=300")
    run(*command, cwd=tmp_path)
    state = tmp_path / ".scrapy" / "contentspider"
    for passages in (False, True):
        of_file = list(read_documents(tmp_path / "pages.jsonl", passages))
        of_crawl = list(read_documents(site.url, passages, state))
        assert sorted(of_crawl, key=lambda one: one.id) == sorted(of_file, key=lambda one: one.id)
        assert any(prose(3, 1) in document.text for document in of_crawl)
    ids = {document.id for document in of_crawl}
    run(*command, cwd=tmp_path)
    again = read_documents(site.url, True, state)
    assert {document.id for document in again} == ids, "the same after a re-crawl"


def test_documents_are_read_without_scrapy(tmp_path: Path) -> None:
    code = (
        "import sys; from contentspider.integrations.documents import read_documents;"
        f"print(len(list(read_documents({str(write(tmp_path, ITEM))!r}))),"
        " {'scrapy', 'twisted', 'sklearn'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 set()\n"
