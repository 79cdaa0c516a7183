"""Loaders for LangChain, LlamaIndex and Haystack, with the real packages (``nox -s loaders``)."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.integrations.documents import read_documents
from tests.integrations.test_documents import ITEM, PAGE_ID, passage, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.integrations.documents import Document

# What the packages warn about themselves is not ours.
pytestmark = pytest.mark.filterwarnings("default")
OTHER = ITEM | {"url": "https://e.org/b", "id": "1d" * 16, "title": "B", "passages": []}
LOADERS = {"langchain": "langchain_core", "llamaindex": "llama_index.core", "haystack": "haystack"}


@pytest.fixture
def items(tmp_path: Path) -> str:
    return str(write(tmp_path, ITEM, OTHER | {"content": "", "title": ""}, OTHER))


@pytest.fixture(autouse=True)
def without_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")


def expected(items: str, passages: bool = False) -> list[Document]:
    return list(read_documents(items, passages))


def break_end(items: str) -> None:
    with Path(items).open("a") as file:
        file.write("{\n")


@pytest.mark.parametrize("name", list(LOADERS))
def test_import_without_package_names_pip_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in list(sys.modules):
        if module.startswith(LOADERS[name].partition(".")[0]):
            monkeypatch.delitem(sys.modules, module)
    module = f"contentspider.integrations.{name}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, LOADERS[name].partition(".")[0], None)
    with pytest.raises(ImportError, match=rf"pip install 'contentspider\[{name}\]'"):
        importlib.import_module(module)


def test_langchain_loads_pages_and_passages_lazily(items: str) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.document_loaders import BaseLoader
    from langchain_core.documents import Document

    from contentspider.integrations.langchain import ContentSpiderLoader

    loader = ContentSpiderLoader(items)
    assert isinstance(loader, BaseLoader)
    pages = loader.load()
    assert all(isinstance(page, Document) for page in pages)
    of_loader = [(page.id, page.page_content, page.metadata) for page in pages]
    assert of_loader == [(one.id, one.text, one.metadata) for one in expected(items)]
    assert asyncio.run(loader.aload()) == pages
    break_end(items)
    passages = ContentSpiderLoader(items, passages=True).lazy_load()
    assert next(passages).id == f"{PAGE_ID}-1a", "the broken end is not read yet"
    with pytest.raises(ContentSpiderError):
        loader.load()


def test_langchain_reads_all_documents_in_one_thread(
    items: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_core")
    from contentspider.integrations import langchain

    threads = set()

    def read(*_: object) -> Iterator[Document]:
        for document in expected(items):
            threads.add(get_ident())
            yield document
        threads.add(get_ident())

    monkeypatch.setattr(langchain, "read_documents", read)
    assert len(asyncio.run(langchain.ContentSpiderLoader(items).aload())) == 2
    assert len(threads) == 1, "SQLite allows no other"


def test_langchain_index_adds_only_what_changed(tmp_path: Path) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.indexing import InMemoryRecordManager, index
    from langchain_core.vectorstores import InMemoryVectorStore

    from contentspider.integrations.langchain import ContentSpiderLoader

    records = InMemoryRecordManager("teas")
    records.create_schema()
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))

    def update(*passages: dict[str, Any]) -> tuple[int, int, int]:
        loader = ContentSpiderLoader(write(tmp_path, ITEM | {"passages": passages}), passages=True)
        done = index(loader, records, store, cleanup="full", source_id_key="page_id")
        assert len(store.store) == len(passages)
        return done["num_added"], done["num_skipped"], done["num_deleted"]

    first, second, third = (passage(number, ["Boats"], f"#{number}") for number in (1, 2, 3))
    assert update(first, second) == (2, 0, 0)
    assert update(first, second) == (0, 2, 0)
    assert update(first, third) == (1, 1, 1)
    store.add_documents(ContentSpiderLoader(tmp_path / "items.jsonl", passages=True).load())
    store.add_documents(ContentSpiderLoader(tmp_path / "items.jsonl", passages=True).load())
    assert len(store.store) == 4, "two by the index, two by their own ids, once"


def test_llamaindex_reads_pages_and_passages_lazily(items: str) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import MetadataMode

    from contentspider.integrations.llamaindex import ContentSpiderReader

    reader = ContentSpiderReader()
    assert isinstance(reader, BaseReader)
    pages = reader.load_data(items)
    of_reader = [(page.id_, page.text, page.metadata) for page in pages]
    assert of_reader == [(one.id, one.text, one.metadata) for one in expected(items)]
    embedded = pages[0].get_content(MetadataMode.EMBED)
    assert "The ferry" in embedded and PAGE_ID not in embedded
    break_end(items)
    passages = iter(reader.lazy_load_data(items, passages=True))
    assert next(passages).id_ == f"{PAGE_ID}-1a"
    with pytest.raises(ContentSpiderError):
        reader.load_data(items)


def test_llamaindex_pipeline_updates_pages_that_changed(tmp_path: Path) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.core.vector_stores import SimpleVectorStore

    from contentspider.integrations.llamaindex import ContentSpiderReader

    store = SimpleVectorStore()
    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(), MockEmbedding(embed_dim=8)],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        vector_store=store,
    )

    def update(*items: dict[str, Any]) -> list[str]:
        documents = ContentSpiderReader().load_data(write(tmp_path, *items))
        return [node.metadata["url"] for node in pipeline.run(documents=documents)]

    assert update(ITEM, OTHER) == [ITEM["url"], OTHER["url"]]
    assert update(ITEM | {"crawled_at": "later"}, OTHER) == []
    assert update(ITEM, OTHER | {"content_markdown": "Changed."}) == [OTHER["url"]]
    assert len(store.data.embedding_dict) == 2
    assert update(ITEM) == []
    assert len(store.data.embedding_dict) == 1, "a page that is gone is deleted"


def test_haystack_component_runs_in_pipeline(items: str) -> None:
    pytest.importorskip("haystack")
    from haystack import Pipeline
    from haystack.components.writers import DocumentWriter
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack.document_stores.types import DuplicatePolicy

    from contentspider.integrations.haystack import ContentSpiderReader

    store = InMemoryDocumentStore()
    pipeline = Pipeline()
    pipeline.add_component("reader", ContentSpiderReader(items))
    pipeline.add_component("writer", DocumentWriter(store, DuplicatePolicy.OVERWRITE))
    pipeline.connect("reader.documents", "writer.documents")
    for _ in range(2):
        assert pipeline.run({}) == {"writer": {"documents_written": 2}}
    assert store.count_documents() == 2, "updated, not added"
    written = sorted((page.id, page.content, page.meta) for page in store.filter_documents())
    assert written == sorted((one.id, one.text, one.metadata) for one in expected(items))
    assert pipeline.to_dict()["components"]["reader"] == {
        "type": "contentspider.integrations.haystack.ContentSpiderReader",
        "init_parameters": {"source": items, "passages": False, "state_dir": ""},
    }


def test_haystack_component_reads_passages_lazily(items: str) -> None:
    pytest.importorskip("haystack")
    from contentspider.integrations.haystack import ContentSpiderReader

    break_end(items)
    reader = ContentSpiderReader(items, passages=True)
    documents: Iterator[Any] = reader.lazy_documents()
    assert next(documents).id == f"{PAGE_ID}-1a"
    with pytest.raises(ContentSpiderError):
        reader.run()


def test_metadata_is_json(items: str) -> None:
    for document in expected(items):
        assert json.loads(json.dumps(document.metadata)) == document.metadata
