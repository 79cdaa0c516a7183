"""Passages of pages beside what splitters of Markdown make of the same content.

    python benchmarks/passages.py CORPORA [SITE...] [--chars 1000] [--pages 30]

Each site is learned from its first pages. Ours are made of the kept blocks; the others split
`content_markdown`: semantic-text-splitter's MarkdownSplitter, alone and of our sections, and
LangChain's MarkdownHeaderTextSplitter followed by its recursive splitter for Markdown (those that
are installed). Columns: pieces, the median of their characters, how many are shorter than a fifth
of the limit, longer than it, have a fence that is not closed or a table without header, end within
a sentence, or are equal to another of their page; the share of pieces that are the same when a
sentence is added to the middle section of a page, of those that have nothing of it; and CPU time.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from contentspider.page.input.files import read_pages
from contentspider.page.tree.blocks import Block
from contentspider.page.tree.resolver import Resolver
from contentspider.page.words.names import HEADINGS
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.passages import Section, sections, to_passages
from contentspider.page.write.structure import parts
from contentspider.site.learn.learner import SiteLearner

try:
    from semantic_text_splitter import MarkdownSplitter
except ImportError:
    MarkdownSplitter = None
try:
    from langchain_text_splitters import (
        Language,
        MarkdownHeaderTextSplitter,
        RecursiveCharacterTextSplitter,
    )
except ImportError:
    Language = None

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # Headings above, and Markdown.
    Piece: TypeAlias = tuple[tuple[str, ...], str]
    Splitter: TypeAlias = Callable[[Sequence[Block], str], list[Piece]]

SITES = (
    "docs-en-django docs-en-flink docs-en-graphqlkotlin docs-ru-18xx book-ja-jsprimer"
    " blog-en-jakevdp blog-de-fachadmin blog-zh-joylau wiki-en-aegisub tutorial-ru-fortran"
).split()
SENTENCE_ENDS = ".!?…؟।。！？｡:：;；\"”»’')]*_`|」』）》"
ROW, RULE = re.compile(r"[> ]*\|.*\|$"), re.compile(r"[> ]*\|( --- \|)+$")
FENCE = re.compile(r"[> ]*(?:- |\d+\. )?(`{3,})")
ADDED = "Another sentence came here. "


def splitters(chars: int) -> dict[str, Splitter]:
    def ours(blocks: Sequence[Block], base: str) -> list[Piece]:
        return [
            (passage.heading_path, passage.markdown) for passage in to_passages(blocks, base, chars)
        ]

    ways: dict[str, Splitter] = {"ours": ours}
    if MarkdownSplitter is not None:
        splitter = MarkdownSplitter(chars)

        def semantic(blocks: Sequence[Block], base: str) -> list[Piece]:
            return [
                ((), text)
                for text in splitter.chunks(write_markdown(parts(blocks, Resolver(base))))
            ]

        def of_sections(blocks: Sequence[Block], base: str) -> list[Piece]:
            return [
                (tuple(heading.text for heading in section.headings), text)
                for section in sections(blocks)
                for _, text in semantic(section.blocks, base)
            ]

        ways |= {"MarkdownSplitter": semantic, "MarkdownSplitter of our sections": of_sections}
    if Language is not None:
        by_heading = MarkdownHeaderTextSplitter(
            [("#" * level, str(level)) for level in range(1, 7)]
        )
        recursive = RecursiveCharacterTextSplitter.from_language(
            Language.MARKDOWN, chunk_size=chars, chunk_overlap=0
        )

        def langchain(blocks: Sequence[Block], base: str) -> list[Piece]:
            headed = by_heading.split_text(write_markdown(parts(blocks, Resolver(base))))
            return [
                (tuple(piece.metadata.values()), piece.page_content)
                for piece in recursive.split_documents(headed)
            ]

        ways["LangChain"] = langchain
    return ways


def has_open_fence(markdown: str) -> bool:
    fence = ""
    for line in markdown.split("\n"):
        marks = FENCE.match(line)
        if not fence and marks:
            fence = marks[1]
        elif fence and line.strip("> ") == fence:
            fence = ""
    return bool(fence)


def has_open_table(markdown: str) -> bool:
    """Tell whether the first row of a table has no rule below it, outside of code."""
    lines = ["", *re.sub(r"(?ms)^[> ]*(`{3,}).*?^[> ]*\1$", "", markdown).split("\n"), ""]
    return any(
        ROW.match(line) and not ROW.match(above) and not RULE.match(below)
        for above, line, below in zip(lines, lines[1:], lines[2:], strict=False)
    )


def letters(text: str) -> str:
    return "".join(re.findall(r"\w", re.sub(r"\\(.)", r"\1", text)))


def last_letters(markdown: str) -> str:
    return letters(markdown.rstrip().split("\n")[-1])[-25:]


def changed(blocks: Sequence[Block]) -> tuple[list[Block], str]:
    """Return the blocks with another sentence in the middle section, and that section's text."""
    every = list(sections(blocks))
    section = every[len(every) // 2] if len(every) > 2 else Section((), [])
    for block in section.blocks:
        if block.tag not in HEADINGS and not block.row:
            new = Block(ADDED + block.text, block.path, block.tag, block.container, item=block.item)
            text = letters(" ".join(each.text for each in section.blocks))
            return [new if each is block else each for each in blocks], text
    return [], ""


def replacement_kind(markdown: str, section: str) -> bool:
    lines = map(letters, re.sub(r"\]\([^)]*\)", "]", markdown).split("\n"))
    return letters(markdown) in section or any(len(line) > 15 and line in section for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("sites", nargs="*", default=SITES)
    parser.add_argument("--chars", type=int, default=1_000)
    parser.add_argument("--pages", type=int, default=30)
    options = parser.parse_args()
    ways = splitters(options.chars)
    counts: dict[str, defaultdict[str, float]] = {name: defaultdict(float) for name in ways}
    sizes: dict[str, list[int]] = {name: [] for name in ways}
    pages = 0
    for site in options.sites:
        read = list(islice(read_pages(options.corpora / site), options.pages))
        model = SiteLearner(site).fit(read)
        for page in read:
            blocks = model.extract(page).blocks
            if not blocks:
                continue
            pages += 1
            ends = {
                last_letters(line)
                for part in parts(blocks, Resolver(page.base))
                for line in write_markdown([part]).split("\n")
            }
            after, section = changed(blocks)
            for name, split in ways.items():
                count = counts[name]
                started = time.process_time()
                pieces = split(blocks, page.base)
                count["ms a page"] += 1_000 * (time.process_time() - started)
                texts = [text for _, text in pieces]
                sizes[name] += map(len, texts)
                count["open code"] += sum(map(has_open_fence, texts))
                count["open tables"] += sum(map(has_open_table, texts))
                count["cut sentences"] += sum(
                    last_letters(text) not in ends and text.rstrip()[-1] not in SENTENCE_ENDS
                    for text in texts
                )
                count["equal"] += len(pieces) - len(set(pieces))
                if after:
                    new = set(split(after, page.base))
                    others = [piece for piece in pieces if not replacement_kind(piece[1], section)]
                    count["others"] += len(others)
                    count["same"] += sum(piece in new for piece in others)
    columns = ("open code", "open tables", "cut sentences", "equal")
    print(
        f"{pages} pages\n| | pieces | median | short | too long |", " | ".join(columns), end=" | "
    )
    print("the same | ms a page |")
    for name, count in counts.items():
        short = sum(size < options.chars / 5 for size in sizes[name])
        long = sum(size > options.chars for size in sizes[name])
        row = [name, len(sizes[name]), round(median(sizes[name])), short, long]
        row += [int(count[column]) for column in columns]
        row += [f"{count['same'] / count['others']:.3f}", f"{count['ms a page'] / pages:.1f}"]
        print("|", " | ".join(map(str, row)), "|")


if __name__ == "__main__":
    main()
