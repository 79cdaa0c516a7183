"""The vectors of an SQLite index: written for each section of a page, and searched by similarity.

The section S of document N has the number 1000 N + S (`MAX_SECTIONS`). A page without sections has
one vector, with the number 1000 N. Searches compare a query with every vector: results are exact.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.counts import counted
from contentspider.index.embedders import EMBEDDER
from contentspider.index.errors import EmbedderError, EngineDownError, EngineError, Retries
from contentspider.index.schema import MAX_SECTIONS, valid_utf8
from contentspider.index.sqlite_filters import filter_conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from contentspider.index.embedders import NamedEmbedder
    from contentspider.index.engine import Query
    from contentspider.index.schema import Document

    Vector = npt.NDArray[np.float32]
    Vectors = npt.NDArray[np.float32]

TABLES = """
CREATE TABLE vectors (section INTEGER PRIMARY KEY, hash BLOB NOT NULL, vector BLOB NOT NULL);
CREATE INDEX vectors_by_hash ON vectors (hash);
"""
# Models read some 500 to 8,000 tokens, and servers refuse longer texts.
MAX_CHARS = 4_000
# Servers limit the texts of a request, some of them to 32.
MAX_TEXTS = 32
# A batch of documents is embedded before it is written. Small batches lose little after a failure.
MAX_DOCUMENTS = 50
# The pages that a query finds by their meaning.
NEAREST_PAGES = 50
# Vectors in memory during a search.
CHUNK_ROWS = 4_096


class VectorTable:
    """The vectors in an SQLite index, which *embedder* computes. *execute* runs a statement, and
    *query* returns the rows of one.
    """

    def __init__(
        self,
        execute: Callable[[str, Sequence[object]], sqlite3.Cursor],
        query: Callable[[str, Sequence[object]], list[sqlite3.Row]],
        embedder: NamedEmbedder,
    ) -> None:
        self._execute = execute
        self._query = query
        self.embedder = embedder

    @staticmethod
    def texts_of(document: Document) -> list[str]:
        """Return the text to embed of each section of a document, or of the page without sections.

        It has the page's title and the section's headings.
        """
        title, content = document.fields.get("title", ""), document.fields.get("content", "")
        sections = [(section.headings, section.text) for section in document.sections()]
        return [
            valid_utf8("\n".join(dict.fromkeys(filter(None, [title, *headings, text])))[:MAX_CHARS])
            for headings, text in sections or [((), content)]
        ]

    def embed(self, texts: Iterable[str]) -> dict[bytes, bytes]:
        """Return the vectors of texts by the hashes of the texts.

        Only texts without a vector in the table are embedded. Requests are repeated while a server
        is down. Raises `EmbedderError` if the embedder fails.
        """
        vectors: dict[bytes, bytes] = {}
        new_texts: dict[bytes, str] = {}
        for text in filter(None, texts):
            key = _hash(text)
            statement = "SELECT vector FROM vectors WHERE hash = ? LIMIT 1"
            if stored := self._query(statement, [key]):
                vectors[key] = stored[0]["vector"]
            else:
                new_texts[key] = text
        keys, retry = list(new_texts), Retries()
        for start in range(0, len(keys), MAX_TEXTS):
            part = keys[start : start + MAX_TEXTS]
            batch = [new_texts[key] for key in part]
            try:
                rows = retry(partial(self._vectors_of, batch))
            except EngineDownError as error:  # has been repeated long enough
                raise EmbedderError(str(error)) from error
            vectors.update(zip(part, (row.tobytes() for row in rows), strict=True))
        if len({len(vector) for vector in vectors.values()}) > 1:
            raise EmbedderError(
                f"the embedder {self.embedder.name} returned vectors of several lengths"
            )
        return vectors

    def _vectors_of(self, texts: list[str]) -> Vectors:
        """Return the vectors of texts with length 1, as rows. Raises `EmbedderError`."""
        name = self.embedder.name
        try:
            vectors: Vectors = np.array(self.embedder.embedder.embed(texts), dtype="<f4")
        except EngineError:
            raise
        except Exception as error:  # the embedder is the user's, and may fail in any way
            reason = f"{type(error).__name__}: {error}"
            raise EmbedderError(f"the embedder {name} failed: {reason}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EmbedderError(
                f"the embedder {name} returned an array of the shape {vectors.shape} for"
                f" {counted(len(texts), 'texts')}: it needs a row of numbers for each text"
            )
        rows = self._query("SELECT length(vector) AS length FROM vectors LIMIT 1", [])
        lengths_before = {row["length"] // vectors.itemsize for row in rows}
        if lengths_before - {vectors.shape[1]}:
            raise EmbedderError(
                f"the embedder {name} returned vectors of {vectors.shape[1]} numbers, but those in"
                f" the index have {max(lengths_before)}: set {EMBEDDER} to the embedder"
                " of the index, or run 'contentspider index rebuild'"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, 1)
        return vectors

    def insert(self, number: int, texts: Sequence[str], vectors: Mapping[bytes, bytes]) -> None:
        """Write the vectors of the *texts* of the page with a *number*; see `embed`."""
        for section, text in enumerate(texts, number * MAX_SECTIONS):
            if text:
                key = _hash(text)
                self._execute("INSERT INTO vectors VALUES (?, ?, ?)", [section, key, vectors[key]])

    def delete(self, number: int) -> None:
        """Delete the vectors of the page with a *number*."""
        first = number * MAX_SECTIONS
        self._execute(
            "DELETE FROM vectors WHERE section BETWEEN ? AND ?", [first, first + MAX_SECTIONS - 1]
        )

    def nearest(self, query: Query) -> dict[int, int]:
        """Return the numbers of the pages that are nearest in meaning to a query, nearest first.

        Each has the number of its nearest section. There are at most `NEAREST_PAGES`, which match
        the filters of the query. Raises `EmbedderError` or `EngineDownError` if the embedder fails.
        """
        vector = self._vectors_of([valid_utf8(query.words[:MAX_CHARS])])[0]
        sections, similarities = self._similarities(query, vector)
        nearest: dict[int, int] = {}
        for place in np.argsort(-similarities, kind="stable"):
            if len(nearest) == NEAREST_PAGES or similarities[place] <= 0:
                break
            page, section = divmod(sections[place], MAX_SECTIONS)
            nearest.setdefault(page, section)
        return nearest

    def _similarities(self, query: Query, vector: Vector) -> tuple[list[int], Vector]:
        """Return the numbers of all sections that match the filters of a query, and the similarity
        of each to a *vector*. Raises `EmbedderError` if vectors are damaged.
        """
        conditions, values = filter_conditions(query)
        statement = "SELECT section, vector FROM vectors"
        if conditions:
            pages = f"SELECT number FROM documents WHERE {' AND '.join(conditions)}"  # noqa: S608
            statement += f" WHERE section / {MAX_SECTIONS} IN ({pages})"
        statement += " ORDER BY section"
        cursor = self._execute(statement, values)
        sections: list[int] = []
        similarities = [np.zeros(0, np.float32)]
        try:
            while chunk := cursor.fetchmany(CHUNK_ROWS):
                sections += [row["section"] for row in chunk]
                stored = np.frombuffer(b"".join(row["vector"] for row in chunk), dtype="<f4")
                similarities.append(stored.reshape(len(chunk), -1) @ vector)
        except (TypeError, ValueError, sqlite3.DatabaseError) as error:
            raise EmbedderError(
                f"the vectors of the index are damaged ({error}): run 'contentspider index rebuild'"
            ) from error
        return sections, np.concatenate(similarities)


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
