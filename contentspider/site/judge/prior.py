"""The prior: a general judge of blocks, trained once on sites with gold text, shipped as data.

It gives each block a probability from its page alone; over a site's pages these are summed as
Algorithm 1 sums relevance (`contentspider.site.vote.votes`).
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from contentspider.ground.errors import DAMAGE, StateError
from contentspider.page.features.extractor import FEATURE_NAMES, FeatureExtractor
from contentspider.site.judge.single_page import decide
from contentspider.site.judge.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page

# What NumPy raises of files that hold no arrays, beside `DAMAGE`.
ODD_ARRAYS = (OSError, BadZipFile, SyntaxError, TokenError, RuntimeError, MemoryError)
# 2: one set of trees; files of 1 had up to three.
SCHEMA = 2
# Features of comments; in a forum what a page is about has them, too.
COMMENT_COLUMNS = [
    index
    for index, name in enumerate(FEATURE_NAMES)
    if name in ("says_comment", "heading_comment", "says_posting", "heading_posting")
    or (
        name.partition("_")[0] in ("own", "near", "far")
        and name.partition("_")[2] in ("comment", "forum", "author")
    )
]
RESOURCE = "prior.npz"
BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Prior:
    """Boosted trees over `FEATURE_NAMES`, and the card that says what they were trained on.

    *digest* is a short name of the trees.

    >>> from contentspider.page.input.page import Page
    >>> page = Page.from_html("<nav><a href=/>Home</a></nav><p>Tea is made of leaves and water.")
    >>> named, unnamed = Prior.shipped().judge([page])
    >>> bool(named[0] < named[1])
    True
    """

    trees: Trees
    card: dict[str, Any]
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        digest = sha256(self.trees.value.tobytes()).hexdigest()[:12]
        object.__setattr__(self, "digest", digest)

    def judge(
        self, pages: Sequence[Page], features: Sequence[NDArray[np.float32]] = ()
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return two arrays with one probability for each block of all *pages*, in their order:
        that the block is content, and the same if no element were named a comment or a forum.

        A block is judged by its own page alone. *features* has an array for each page, with one row
        for each block (`features_of`); without it the features are computed.
        """
        judged = []
        rows: list[NDArray[np.float32]] = []
        # The features of all pages at once would fill the memory: a block's are 1.4 kB.
        for number, found in enumerate(features or features_of(pages), 1):
            rows.append(found)
            if number == len(pages) or sum(map(len, rows)) >= BATCH:
                judged.append(self._judge(rows))
                rows = []
        named, unnamed = zip(*judged, strict=True)
        return np.concatenate(named), np.concatenate(unnamed)

    def judge_page(self, page: Page) -> tuple[NDArray[np.float32], bool]:
        """Return the probabilities of a page by itself, and whether they are a guess."""
        features = FeatureExtractor().features(page.content, page.hints)
        return decide(page, self.trees.probabilities(features), features)

    def _judge(
        self, features: list[NDArray[np.float32]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rows = np.vstack(features)
        named = self.trees.probabilities(rows)
        unnamed = named.copy()
        concerned = rows[:, COMMENT_COLUMNS].any(axis=1)
        if concerned.any():
            neutral = rows[concerned]
            neutral[:, COMMENT_COLUMNS] = 0
            unnamed[concerned] = self.trees.probabilities(neutral)
        return named, unnamed

    def dump(self) -> bytes:
        """Return the prior as an npz file (arrays and one JSON text), for `load`."""
        arrays = self.trees.arrays()
        head = {"schema": SCHEMA, "features": FEATURE_NAMES, "card": self.card}
        arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def load(cls, data: bytes, source: str = "the prior") -> Prior:
        """Read what `dump` wrote; raises `StateError` if it is damaged or for other features."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                head = json.loads(arrays["head"].tobytes())
                if head["schema"] != SCHEMA:
                    raise ValueError(f"its schema is {head['schema']!r}, not {SCHEMA}")
                tables = _for_these_features(dict(arrays), head)
                return cls(Trees.from_arrays(tables), head["card"])
        except (*DAMAGE, *ODD_ARRAYS) as error:
            raise StateError(
                f"{source} cannot be used: {error}; train one with"
                " 'contentspider-research train-prior', or reinstall contentspider"
            ) from error

    @staticmethod
    @cache
    def shipped() -> Prior:
        """Return the prior that comes with the package; it is read once a process."""
        data = files("contentspider.site.judge").joinpath(RESOURCE).read_bytes()
        return Prior.load(data, f"the shipped prior ({RESOURCE})")

    @classmethod
    def chosen(cls, file: str) -> Prior | None:
        """Return the prior saved as *file*, None (use the shipped one) if that is empty."""
        return cls.from_file(Path(file)) if file else None

    @classmethod
    def from_file(cls, path: Path) -> Prior:
        """Return the prior saved at *path*."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StateError(
                f"the prior {str(path)!r} cannot be read: {error.strerror}; give the file that"
                " 'contentspider-research train-prior' wrote"
            ) from error
        return cls.load(data, f"the prior {str(path)!r}")


def features_of(pages: Iterable[Page]) -> Iterator[NDArray[np.float32]]:
    """Yield the features of each page's blocks."""
    extractor = FeatureExtractor()
    return (extractor.features(page.content, page.hints) for page in pages)


def _for_these_features(
    arrays: Mapping[str, NDArray[np.generic]], head: dict[str, Any]
) -> dict[str, NDArray[np.generic]]:
    """Return the *arrays* of trees for rows of `FEATURE_NAMES`, whatever order they had before."""
    columns = {name: column for column, name in enumerate(FEATURE_NAMES)}
    for name in head["features"]:
        if name not in columns:
            raise ValueError(
                f"it was trained for features that this version lacks, such as {name!r}"
            )
    numbers = np.array([-1, *(columns[name] for name in head["features"])], dtype=np.int16)
    features = numbers[np.asarray(arrays["feature"], dtype=np.int64) + 1]
    return {**arrays, "feature": features}
