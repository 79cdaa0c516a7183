"""The data set: a row an element (or block) of sites' pages, with all that is known of it, to look
at our labels in pandas, R or a sheet, or to train something of one's own.

`read_records` gives the rows, `write_dataset` writes them.
"""

from __future__ import annotations

import csv
import gzip
import io
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.ground.atomic import replacing
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.about.hints import squeeze
from contentspider.site.judge.prior import Prior
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.labels import LABELS, VOTES
from contentspider.site.vote.relevance import lcs_lengths
from contentspider.site.vote.votes import vote
from contentspider.state.files.formats import FORMULA_STARTS
from contentspider.state.files.parquet import check_parquet
from contentspider_research.dataset.records import (
    COLUMNS,
    ELEMENTS,
    INTEGER,
    NUMBER,
    TEXT,
    TRUTH,
    Judged,
    page_records,
)
from contentspider_research.training import label_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider_research.dataset.records import Record
    from contentspider_research.dataset.sources import Source

logger = logging.getLogger(__name__)

GOLD, PAPER, NONE = "gold", "paper", "none"
LABELLINGS = (GOLD, VOTES, PAPER, NONE)
ENDINGS = (".csv", ".csv.gz", ".parquet")
# Of a higher level takes twice as long, and files are hardly smaller: they are full of repeats.
GZIP_LEVEL = 3
GROUP_ROWS = 5_000


def read_records(
    sources: Sequence[Source],
    labels: str = "",
    units: str = ELEMENTS,
    images: bool = False,
    priors: Mapping[str, Prior] | None = None,
) -> Iterator[Record]:
    """Yield the records of all pages of *sources*, page by page (`page_records`).

    *labels* is one of `LABELLINGS` ("": gold where a site has it, else votes), *units* one of
    `UNITS`; with *images* pictures are rows, too. *priors* has the prior that judges each site
    (default: the shipped one).

    Memory grows with the largest site, as when it is learned. Raises `ContentSpiderError` if no
    site has the gold that is asked for, or if *priors* lack a site.
    """
    _check_priors(sources, priors)
    if labels == GOLD and not any(source.gold for source in sources):
        raise ContentSpiderError("there is no gold text here: give --labels votes, paper or none")
    for source in sources:
        prior = priors[source.name] if priors else Prior.shipped()
        chosen = labels or (GOLD if source.gold else VOTES)
        for pages in source.batches():
            read_pages = [read.page for read in pages]
            site = gather(read_pages)
            names = source.names(read_pages)
            judged = _judge(source, read_pages, site, chosen, prior)
            for read, of_page in zip(pages, judged, strict=True):
                yield from page_records(
                    read,
                    of_page,
                    site.table,
                    site=source.name,
                    site_names=names,
                    language=source.language,
                    units=units,
                    images=images,
                )
            logger.info("%s: %d pages", source.name, len(pages))


def _check_priors(sources: Sequence[Source], priors: Mapping[str, Prior] | None) -> None:
    """Raise `ContentSpiderError` if *priors* lack a site of *sources*."""
    missing = [source.name for source in sources if priors and source.name not in priors]
    if missing:
        raise ContentSpiderError(
            f"there is no prior for {', '.join(missing)}: only whole sites can be cross-fitted, not"
            " collections of single pages; give the folders of sites alone"
        )


def _judge(
    source: Source, pages: Sequence[Page], site: SiteBlocks, labels: str, prior: Prior
) -> Iterator[Judged]:
    if len(pages) == 1:  # a site of one page has nothing to say of it
        alone = votes = prior.judge_page(pages[0])[0]
    else:
        alone, unnamed = prior.judge(pages)
        votes = vote(site, alone, unnamed)
    found: NDArray[Any] = np.full(len(votes), -1)
    if labels == VOTES:
        found = (votes >= 0.5).astype(int)
    elif labels == PAPER:
        found = (np.asarray(LABELS.load(PAPER)(list(pages), site)) >= 0.5).astype(int)
    start = 0
    for page in pages:
        mine = slice(start, start + len(page.content.blocks))
        start = mine.stop
        own, said = found[mine], labels if labels in (VOTES, PAPER) else ""
        if labels == GOLD and (gold := source.gold.get(page.url)):
            wanted, weights = label_blocks(page, gold)
            # People disagree about blocks that weigh nothing.
            own, said = np.where(weights > 0, wanted.astype(int), -1), GOLD
        yield Judged(
            site.clusters[mine].tolist(),
            _relevance(page),
            site.contrast[mine],
            alone[mine],
            votes[mine],
            own,
            said,
        )


def _relevance(page: Page) -> NDArray[Any]:
    """Return for each block the length of its longest common subsequence with all titles and
    descriptions of its page, joined.
    """
    hints = "".join(squeeze(text) for text in page.hints.texts())
    return lcs_lengths([squeeze(block.text) for block in page.content.blocks], [hints])[:, 0]


def check_output(path: Path) -> None:
    """Raise `ContentSpiderError` if a data set cannot be written to *path*."""
    if not path.name.endswith(ENDINGS):
        raise ContentSpiderError(
            f"-o {path}: its ending names no format of a data set; use one of {', '.join(ENDINGS)}"
        )
    if path.suffix == ".parquet":
        check_parquet()


def write_dataset(records: Iterable[Record], path: Path, *, excel: bool = False) -> int:
    """Write records and return their number; *path*'s ending says the format (`ENDINGS`). What was
    there before stays until all are written.

    CSV is that of RFC 4180, in UTF-8; what is not known is an empty cell. With *excel* a text that
    a spreadsheet would take for a formula has an apostrophe before it.
    """
    check_output(path)
    with replacing(path) as file:
        if path.suffix == ".parquet":
            return _write_parquet(records, file)
        if path.suffix == ".gz":
            # Without name and time: the same data set is the same file.
            with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed:
                return _write_csv(records, packed, excel)
        return _write_csv(records, file, excel)


def _write_csv(records: Iterable[Record], file: BinaryIO | gzip.GzipFile, excel: bool) -> int:
    text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    written = 0
    for record in records:
        values: Iterable[Any] = record.values()
        if excel:
            values = [_not_formula(value) for value in values]
        writer.writerow(values)
        written += 1
    text.flush()
    text.detach()
    return written


def _not_formula(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def _write_parquet(records: Iterable[Record], file: BinaryIO) -> int:
    import pyarrow
    from pyarrow import parquet

    types = {
        TEXT: pyarrow.string(),
        TRUTH: pyarrow.bool_(),
        INTEGER: pyarrow.int64(),
        NUMBER: pyarrow.float64(),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    written = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _groups(records):
            columns = [
                pyarrow.array([_typed(row[name], kind) for row in rows], types[kind])
                for name, kind in COLUMNS.items()
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            written += len(rows)
    return written


def _typed(value: Any, kind: str) -> object:
    if value is None:
        return None
    if kind == TEXT:
        return str(value).encode("utf-8", "replace").decode()
    return bool(value) if kind == TRUTH else value


def _groups(records: Iterable[Record]) -> Iterator[list[Record]]:
    group: list[Record] = []
    for record in records:
        group.append(record)
        if len(group) == GROUP_ROWS:
            yield group
            group = []
    if group:
        yield group
