"""A reader for LlamaIndex (the extra ``llamaindex``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import Document
except ImportError as error:
    raise ImportError(
        "the reader for LlamaIndex needs: pip install 'contentspider[llamaindex]'"
    ) from error

from contentspider.integrations.documents import read_documents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Metadata that LlamaIndex leaves out of the texts for language models and embedding models.
TECHNICAL = ["anchor", "page_id", "content_hash"]


class ContentSpiderReader(BaseReader):
    """Reads the pages of a crawl, or their passages."""

    def lazy_load_data(
        self,
        source: str | Path,
        passages: bool = False,
        state_dir: str | Path = "",
        **_: Any,
    ) -> Iterator[Document]:
        """Yield the documents. See `read_documents` for the parameters. Raises
        `ContentSpiderError` if the source cannot be read.
        """
        for document in read_documents(source, passages, state_dir):
            yield Document(
                id_=document.id,
                text=document.text,
                metadata=dict(document.metadata),
                excluded_embed_metadata_keys=list(TECHNICAL),
                excluded_llm_metadata_keys=list(TECHNICAL),
            )
