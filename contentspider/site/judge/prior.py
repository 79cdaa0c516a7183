"""The prior: the judge of blocks that is trained once, on sites with gold text, and ships as data.

It gives each block a probability of being content by the block's page alone. The vote sums these
probabilities over the pages of a site, as Algorithm 1 sums relevance
(`contentspider.site.vote.votes`).
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
from contentspider.ground.pickles import pickled
from contentspider.page.features.extractor import FEATURE_NAMES, FeatureExtractor
from contentspider.site.judge._forest import Forest
from contentspider.site.judge.single_page import decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from contentspider.ground.pickles import Pickled
    from contentspider.page.input.page import Page

# The errors, besides `DAMAGE`, that NumPy raises for files without arrays.
ARRAY_ERRORS = (OSError, BadZipFile, SyntaxError, TokenError, RuntimeError, MemoryError)
# Files of schema 2 have one set of trees. Files of schema 1, which are not read, had up to three.
SCHEMA = 2
# The columns of features that mark comments. In a forum the content has these features, too.
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
TABLES = {
    "roots": np.int32,
    "feature": np.int16,
    "threshold": np.float32,
    "left": np.int32,
    "right": np.int32,
    "value": np.float32,
}


@dataclass(frozen=True, slots=True)
class Trees:
    """A binary classifier that consists of boosted trees.

    A row falls into one leaf of each tree. Its probability is the logistic function of the sum of
    these leaves' values and *baseline*.

    The nodes of all trees are in one table; the other arrays have one entry per node. *roots* has
    the number of each tree's first node. A node with *feature* -1 is a leaf with *value*. Any other
    node sends a row to the node *left* if the row's feature is at most *threshold*, and otherwise
    to the node *right*.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]
    baseline: float
    _forest: Forest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forest = Forest(*(np.ascontiguousarray(getattr(self, name)) for name in TABLES))
        object.__setattr__(self, "_forest", forest)

    @classmethod
    def mean(cls, forests: Sequence[Trees]) -> Trees:
        """Return trees whose log odds are the mean of the log odds of all *forests*."""
        tables: list[dict[str, Any]] = [trees.arrays() for trees in forests]
        first = 0
        for table in tables:
            for name in ("roots", "left", "right"):
                table[name] = table[name] + first
            table["value"] = table["value"] / len(forests)
            first += len(table["feature"])
        joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        return cls.from_arrays(joined | {"baseline": joined["baseline"].mean(keepdims=True)})

    def probabilities(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of the positive class for each row, from 0 to 1."""
        scores = np.full(len(rows), self.baseline)
        self._forest.add_values(np.ascontiguousarray(rows), scores)
        return np.asarray(1 / (1 + np.exp(-scores)), dtype=np.float32)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the tables by name, for `from_arrays`."""
        tables = {name: getattr(self, name) for name in TABLES}
        return tables | {"baseline": np.array([self.baseline])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Trees:
        """Return the trees of tables from `arrays`; damaged tables raise KeyError or ValueError."""
        tables = {name: np.asarray(arrays[name], dtype=kind) for name, kind in TABLES.items()}
        return cls(**tables, baseline=float(np.asarray(arrays["baseline"])[0]))


@dataclass(frozen=True, slots=True)
class Prior:
    """Boosted trees over the features `FEATURE_NAMES`.

    *card* describes how they were trained. *digest* is a short hash of the trees.

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
        float32 of the shape (n_blocks,).

        The first is the probability that the block is content. The second is the probability that
        the block would have without the features that mark comments (`COMMENT_COLUMNS`). A block is
        judged by its own page alone.

        *features* has an array for each page, with one row per block (`features_of`). Without it
        the features are computed.
        """
        batches = []
        batch: list[NDArray[np.float32]] = []
        # Features take 1.4 kB per block. The features of all pages would not fit into the memory.
        for number, page_features in enumerate(features or features_of(pages), 1):
            batch.append(page_features)
            if number == len(pages) or sum(map(len, batch)) >= BATCH:
                batches.append(self._judge(batch))
                batch = []
        with_names, without_names = zip(*batches, strict=True)
        return np.concatenate(with_names), np.concatenate(without_names)

    def judge_page(self, page: Page) -> tuple[NDArray[np.float32], bool]:
        """Return the probabilities of a page by itself, and whether they are a guess (`decide`)."""
        features = FeatureExtractor().features(page.content, page.hints)
        return decide(page, self.trees.probabilities(features), features)

    def _judge(
        self, features: list[NDArray[np.float32]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rows = np.vstack(features)
        with_names = self.trees.probabilities(rows)
        without_names = with_names.copy()
        has_names = rows[:, COMMENT_COLUMNS].any(axis=1)
        if has_names.any():
            neutral = rows[has_names]
            neutral[:, COMMENT_COLUMNS] = 0
            without_names[has_names] = self.trees.probabilities(neutral)
        return with_names, without_names

    def dump(self) -> bytes:
        """Return the prior as the bytes of an npz file (arrays and one JSON text), for `load`."""
        arrays = self.trees.arrays()
        head = {"schema": SCHEMA, "features": FEATURE_NAMES, "card": self.card}
        arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def load(cls, data: bytes, source: str = "the prior") -> Prior:
        """Return the prior in the *data* of `dump`; errors name it as *source*.

        Raises `StateError` if the data are damaged, or need features that this version lacks.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                head = json.loads(arrays["head"].tobytes())
                if head["schema"] != SCHEMA:
                    raise ValueError(f"its schema is {head['schema']!r}, not {SCHEMA}")
                tables = _for_these_features(dict(arrays), head)
                return cls(Trees.from_arrays(tables), head["card"])
        except (*DAMAGE, *ARRAY_ERRORS) as error:
            raise StateError(
                f"{source} cannot be used: {error}; train one with"
                " 'contentspider-research train-prior', or reinstall contentspider"
            ) from error

    def __reduce__(self) -> Pickled:
        if self.digest == Prior.shipped().digest:
            return pickled(Prior.shipped)
        return pickled(Prior.load, self.dump())

    @staticmethod
    @cache
    def shipped() -> Prior:
        """Return the prior that ships with the package; each process reads it once."""
        data = files("contentspider.site.judge").joinpath(RESOURCE).read_bytes()
        return Prior.load(data, f"the shipped prior ({RESOURCE})")

    @classmethod
    def chosen(cls, file: str) -> Prior | None:
        """Return the prior in *file*, or None, which stands for the shipped prior, if it is ""."""
        return cls.from_file(Path(file)) if file else None

    @classmethod
    def from_file(cls, path: Path) -> Prior:
        """Return the prior in the file at *path*; raises `StateError` if it cannot be used."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StateError(
                f"the prior {str(path)!r} cannot be read: {error.strerror}; give the file that"
                " 'contentspider-research train-prior' wrote"
            ) from error
        return cls.load(data, f"the prior {str(path)!r}")


def features_of(pages: Iterable[Page]) -> Iterator[NDArray[np.float32]]:
    """Yield for each page the features of its blocks, one row of `FEATURE_NAMES` per block."""
    extractor = FeatureExtractor()
    return (extractor.features(page.content, page.hints) for page in pages)


def _for_these_features(
    arrays: Mapping[str, NDArray[np.generic]], head: dict[str, Any]
) -> dict[str, NDArray[np.generic]]:
    """Return the *arrays* of trees with features numbered as in `FEATURE_NAMES`.

    The file has its own list of feature names, in *head*. Raises ValueError if this version lacks
    one of them.
    """
    columns = {name: column for column, name in enumerate(FEATURE_NAMES)}
    for name in head["features"]:
        if name not in columns:
            raise ValueError(
                f"it was trained for features that this version lacks, such as {name!r}"
            )
    numbers = np.array([-1, *(columns[name] for name in head["features"])], dtype=np.int16)
    features = numbers[np.asarray(arrays["feature"], dtype=np.int64) + 1]
    return {**arrays, "feature": features}
