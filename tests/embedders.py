"""An embedder for tests, as ``tests.embedders:vectors``: its vectors count words."""

from __future__ import annotations

import re
from hashlib import md5
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "tests.embedders:vectors"
DIMENSIONS = 256
# Words that mean the same have one dimension.
SYNONYMS = {"car": "automobile", "cars": "automobile"}


class WordVectors:
    """Each word of a text is counted in a dimension. *texts* collects what was embedded. The call
    number *fails_at*, from 0, raises *failure*.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all calls."""
        self.texts: list[str] = []
        self.calls = 0
        self.fails_at = -1
        self.failure: BaseException = RuntimeError("out of memory")
        self.dimensions = DIMENSIONS

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of texts."""
        self.calls += 1
        if self.calls - 1 == self.fails_at:
            raise self.failure
        self.texts += texts
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                name = SYNONYMS.get(word, word)
                digest = md5(name.encode(), usedforsecurity=False).digest()
                row[int.from_bytes(digest[:4], "big") % self.dimensions] += 1
        return rows


vectors = WordVectors()
other = WordVectors()
not_an_embedder = object()
