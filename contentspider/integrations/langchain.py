"""A document loader for LangChain (the extra ``langchain``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from langchain_core.document_loaders import BaseLoader
    from langchain_core.documents import Document
except ImportError as error:
    raise ImportError(
        "the loader for LangChain needs: pip install 'contentspider[langchain]'"
    ) from error

from contentspider.integrations.documents import read_documents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


class ContentSpiderLoader(BaseLoader):
    """Loads the pages of a crawl, or their *passages*. See `read_documents`
    for the parameters.
    """

    def __init__(
        self, source: str | Path, passages: bool = False, state_dir: str | Path = ""
    ) -> None:
        self.source = source
        self.passages = passages
        self.state_dir = state_dir

    def lazy_load(self) -> Iterator[Document]:
        """Yield the documents; raises `ContentSpiderError` if the source cannot be read."""
        for document in read_documents(self.source, self.passages, self.state_dir):
            yield Document(
                id=document.id, page_content=document.text, metadata=dict(document.metadata)
            )

    async def alazy_load(self) -> AsyncIterator[Document]:
        """Yield the documents, which are read in the thread of the event loop. The method of the
        base class reads in several threads, but a connection of SQLite belongs to one thread.
        """
        for document in self.lazy_load():
            yield document
