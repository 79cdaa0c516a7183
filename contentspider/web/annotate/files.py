"""The files that annotation writes: a corpus with gold text, CSV, and annotated HTML."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing, writing
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.tree.resolver import Resolver
from contentspider.state.files.formats import cell_text, csv_of
from contentspider.web.annotate.annotated_html import add_main_class
from contentspider.web.annotate.labels import KINDS, LABELS, Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from contentspider.site.arrays import Bools
    from contentspider.site.models.record import Extraction

GOLD, BLOCKS, IMAGES, ANNOTATED = "gold.jsonl", "blocks.csv", "images.jsonl", "annotated"
# The characters of a block's text in the CSV: the limit of spreadsheets and of Python's reader.
MAX_TEXT = 30_000
COLUMNS = ("path", "block", "label", "kind", "probability", "place", "text")


def gold_of(extraction: Extraction, main: Bools, unsure: Bools) -> dict[str, str]:
    """Return the gold record of a page in the format of corpora.

    *main* and *unsure* tell for each block whether it is labelled main content, or unsure.
    """
    gold = {
        "path": extraction.page.url,
        "title": extraction.title,
        "text": replace(extraction, kept=main).text,
    }
    optional = replace(extraction, kept=unsure).text
    return gold | ({"optional_text": optional} if optional else {})


def images_of(extraction: Extraction, main: Bools) -> list[dict[str, object]]:
    """Return a record for each picture of a page, which tells whether it is in main content."""
    page = extraction.page
    resolve = Resolver(page.base).resolve
    main_urls = {image["url"] for image in replace(extraction, kept=main).images}
    return [
        {
            "path": page.url,
            "src": source,
            "main": resolve(source) in main_urls,
            "width": width,
            "height": height,
        }
        for block in page.content.blocks
        for _, source, _, width, height in block.images
    ]


def block_rows(
    extraction: Extraction, labels: Sequence[Label], places: Sequence[str]
) -> list[dict[str, object]]:
    """Return a row of the CSV for each block of a page; *places* are the slots of the blocks."""
    blocks = extraction.page.content.blocks
    return [
        {
            "path": extraction.page.url,
            "block": number,
            "label": label.name,
            "kind": KINDS[label.kind],
            "probability": round(float(probability), 3),
            "place": place,
            "text": block.text[:MAX_TEXT],
        }
        for number, (block, label, probability, place) in enumerate(
            zip(blocks, labels, extraction.probabilities, places, strict=True)
        )
    ]


def as_written(text: str) -> str:
    """Return a text as a UTF-8 file returns it: with "?" for lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    """Write records as JSON lines."""
    with replacing(path) as file:
        for record in records:
            file.write((json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def write_blocks(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write the table of the blocks as CSV (RFC 4180), without formulas of spreadsheets."""
    with replacing(path) as file:
        file.write(csv_of(COLUMNS, rows))


def read_blocks(path: Path) -> dict[str, list[tuple[str, Label]]]:
    """Read the file of `write_blocks`: texts of blocks with their labels, by the page's path.

    Raises `ContentSpiderError` if the file is damaged.
    """
    pages: dict[str, list[tuple[str, Label]]] = {}
    if not path.is_file():
        return pages
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                label = Label(row["label"], KINDS.index(row["kind"]))
                LABELS.index(label.name)
                pages.setdefault(cell_text(row["path"]), []).append((cell_text(row["text"]), label))
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise ContentSpiderError(
            f"{path} cannot be read ({error}): correct it, or annotate in another folder (-o)"
        ) from error
    return pages


def write_annotated(folder: Path, name: str, extraction: Extraction, main: Bools) -> None:
    """Write a page's HTML with a class on the elements of main content."""
    body = (folder / "html" / name).read_bytes()
    file = folder / ANNOTATED / name
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as output:
        output.write(add_main_class(body, extraction.page.content, main))
