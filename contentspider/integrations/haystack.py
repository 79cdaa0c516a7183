"""A component for pipelines of Haystack (the extra ``haystack``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from haystack import Document, component
except ImportError as error:
    raise ImportError(
        "the component for Haystack needs: pip install 'contentspider[haystack]'"
    ) from error

from contentspider.integrations.documents import read_documents

if TYPE_CHECKING:
    from collections.abc import Iterator


@component
class ContentSpiderReader:
    """Reads the pages of a crawl, or their *passages*. See `read_documents`
    for the parameters.
    """

    def __init__(self, source: str, passages: bool = False, state_dir: str = "") -> None:
        self.source = source
        self.passages = passages
        self.state_dir = state_dir

    @component.output_types(documents=list[Document])
    def run(self) -> dict[str, list[Document]]:
        """Return all documents under ``documents``; raises `ContentSpiderError` if the source
        cannot be read.
        """
        return {"documents": list(self.lazy_documents())}

    def lazy_documents(self) -> Iterator[Document]:
        """Yield the documents one by one, for sources that do not fit into memory."""
        for document in read_documents(self.source, self.passages, self.state_dir):
            yield Document(id=document.id, content=document.text, meta=dict(document.metadata))
