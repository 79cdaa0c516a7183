"""The files that annotation writes: a corpus with gold text, CSV, and annotated HTML, which has the
class of Yunis (2016) on the elements of main content.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing, writing
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.body import as_utf8, parse
from contentspider.page.tree.blocks import read_tree
from contentspider.page.tree.resolver import Resolver
from contentspider.state.files.formats import cell_text, csv_of
from contentspider.web.annotate.labels import KINDS, LABELS, Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from lxml.etree import _Element

    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.arrays import Bools
    from contentspider.site.models.record import Extraction

GOLD, BLOCKS, IMAGES, ANNOTATED = "gold.jsonl", "blocks.csv", "images.jsonl", "annotated"
# The characters of a block's text in the CSV: the limit of spreadsheets and of Python's reader.
MAX_TEXT = 30_000
COLUMNS = ("path", "block", "label", "kind", "probability", "place", "text")
# The paper prints the class with one underscore in one place, and with two in another.
MAIN_CLASS = "CEML__MAIN__CONTENT"
STAMP = "data-contentspider-tag"
HEAD = frozenset("html head meta title link base script style".split())
NAME = re.compile(r"<[^\s/>]+")
OPENING = re.compile(r"<(?:!--|[!?]|(?P<name>[a-zA-Z][^\s/>]*))")
# Scripts and styles contain text only, up to their end tags.
RAW_ENDINGS = {
    name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in ("script", "style")
}
GAP = re.compile(r"[\s/]*")  # between attributes
# Matches one attribute. A single pattern for a whole tag would never end on some tags.
ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?"""
)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of the file at *path* from the content *before*, None without a file, to *after*."""

    path: Path
    before: bytes | None
    after: bytes

    def undo(self) -> bool:
        """Write the content before, and return True. A file that has changed since stays as it is;
        the result is False then. Raises `ContentSpiderError` if the file cannot be written.
        """
        if read_bytes(self.path) != self.after:
            return False
        if self.before is None:
            with writing(self.path):
                self.path.unlink()
        else:
            with replacing(self.path) as file:
                file.write(self.before)
        return True


def replace_file(path: Path, before: bytes | None, after: str) -> FileChange:
    """Write the text *after* to a file whose content is *before*, and return the change. Raises
    `ContentSpiderError`.
    """
    content = after.encode()
    with replacing(path) as file:
        file.write(content)
    return FileChange(path, before, content)


def read_bytes(path: Path) -> bytes | None:
    """Return the content of a file that will be written; None without a file. Raises
    `ContentSpiderError`.
    """
    with writing(path):
        return path.read_bytes() if path.is_file() else None


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


def start_tags(text: str) -> list[tuple[int, str]]:
    """Return the start tags of a page, each with its offset. Tags of the head are left out, since
    they may declare the encoding.

    It takes linear time. `html.parser` takes hours for some pages with many unfinished tags.
    """
    tags: list[tuple[int, str]] = []
    position = 0
    while opening := OPENING.search(text, position):
        start = opening.start()
        if name := opening["name"]:
            position = _tag_end(text, opening.end())
            if name.lower() not in HEAD and position:
                tags.append((start, text[start:position]))
        else:
            position = _end(text, "-->" if opening[0] == "<!--" else ">", start + 2)
        if position and name and (ending := RAW_ENDINGS.get(name.lower())):
            match = ending.search(text, position)
            position = match.start() if match else 0
        if not position:  # the page ends within a tag, a comment or a script
            break
    return tags


def _end(text: str, ending: str, start: int) -> int:
    """Return the offset behind the next *ending*; 0 if there is none."""
    offset = text.find(ending, start)
    return offset + len(ending) if offset >= 0 else 0


def _tag_end(text: str, position: int) -> int:
    """Return the offset behind a tag whose name ends at a *position*; 0 if the tag never ends."""
    while gap := GAP.match(text, position):
        position = gap.end()
        if text[position : position + 1] in (">", ""):
            break
        attribute = ATTRIBUTE.match(text, position)
        position = attribute.end() if attribute else position + 1
    return position + 1 if position < len(text) else 0


def add_main_class(body: bytes, page: PageBlocks, main: Bools) -> bytes:
    """Return a page's bytes with `MAIN_CLASS` on each element whose own blocks are all *main*.

    Nothing else changes if the tags can be found in the bytes. Otherwise the page is written in
    UTF-8, as the parser read it.
    """
    for text, encoding in ((body.decode("latin-1"), "latin-1"), (as_utf8(body).decode(), "utf-8")):
        tags = start_tags(text)
        if not tags:
            continue
        stamped = _stamp_tags(text, tags)
        elements: list[_Element] = []
        content, _ = read_tree(parse(as_utf8(stamped.encode(encoding))), containers=elements)
        if [block.text for block in content.blocks] == [block.text for block in page.blocks]:
            containers = _main_containers(content, main)
            offsets = {int(elements[container].get(STAMP, "-1")) for container in containers}
            return _add_class(text, offsets, tags).encode(encoding)
    return body


def _main_containers(page: PageBlocks, main: Bools) -> set[int]:
    """Return the containers whose own blocks are all main content."""
    mixed = {
        block.container for block, is_main in zip(page.blocks, main, strict=True) if not is_main
    }
    return {block.container for block in page.blocks} - mixed


def _stamp_tags(text: str, tags: list[tuple[int, str]]) -> str:
    """Return a text with each tag's offset in an attribute of the tag."""
    parts, last = [], 0
    for offset, tag in tags:
        if name := NAME.match(tag):
            end = offset + name.end()
            parts += [text[last:end], f' {STAMP}="{offset}"']
            last = end
    return "".join([*parts, text[last:]])


def _add_class(text: str, offsets: set[int], tags: list[tuple[int, str]]) -> str:
    """Return a text with the class on the tags at some offsets."""
    parts, last = [], 0
    for offset, tag in tags:
        if offset not in offsets:
            continue
        if span := _class_span(tag):
            start, end, is_unquoted = span
            if is_unquoted:  # a space would end the value
                value = f'"{tag[start:end]} {MAIN_CLASS}"'
                parts += [text[last : offset + start], value]
            else:
                parts += [text[last : offset + end], f" {MAIN_CLASS}"]
            last = offset + end
        elif name := NAME.match(tag):
            end = offset + name.end()
            parts += [text[last:end], f' class="{MAIN_CLASS}"']
            last = end
    return "".join([*parts, text[last:]])


def _class_span(tag: str) -> tuple[int, int, bool] | None:
    """Return start and end of the value of a tag's class, and whether the value lacks quotes."""
    name = NAME.match(tag)
    position = name.end() if name else len(tag)
    while attribute := ATTRIBUTE.match(tag, position):
        if attribute[1].lower() == "class" and attribute.lastindex != 1:
            return *attribute.span(attribute.lastindex or 0), attribute.lastindex == 4
        position = attribute.end()
    return None
