"""Compares two versions of a page: their whole text, and their main content."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import chain, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

MIN_CHARS = 20  # the words of a shorter line may be in a page by chance
# Longer texts are compared by their pairs of words: the time for a longest common subsequence grows
# with the square of their length.
MAX_WORDS = 5_000


def text_hash(page: Page) -> str:
    """Return a hash of a page's whole text, 32 hexadecimal digits; it does not need a model."""
    return _hash_of_lines((block.text for block in page.content.blocks), 16)


def layout_hash(page: Page) -> str:
    """Return a hash of the places of a page's text, 16 hexadecimal digits: of all tag paths, and of
    the person's corrections that were found there.
    """
    corrections = [str(page.corrections)] if page.corrections else []
    return _hash_of_lines(chain((block.path for block in page.content.blocks), corrections), 8)


def _hash_of_lines(lines: Iterable[str], size: int) -> str:
    """Return the hash, of *size* bytes, of *lines* with line breaks between them. The lines are
    never in memory together: the paths of a hostile page take a gigabyte.
    """
    digest = blake2b(digest_size=size)
    for number, line in enumerate(lines):
        digest.update(("\n" * bool(number) + line).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def change_ratio(old: str, new: str) -> float:
    """Return the share of two texts that differs, 0 to 1: words outside their longest common
    subsequence. For texts of more than `MAX_WORDS` words each, it is the share of the pairs of
    neighbouring words that only one of the texts has.

    >>> change_ratio("The ferry leaves at nine", "The ferry leaves at ten")
    0.2
    """
    from rapidfuzz.distance import Indel  # readers of books do without it

    first, second = old.split(), new.split()
    is_long = len(first) + len(second) > 2 * MAX_WORDS
    ratio = (_pairs_distance if is_long else Indel.normalized_distance)(first, second)
    # The ratio of different texts is never rounded to 0.
    return max(round(ratio, 4), 0.0001) if first != second else 0.0


def changed_words(old: str, new: str) -> tuple[str, str]:
    """Return the words of two texts between the first and the last difference.

    >>> changed_words("The ferry leaves at nine today", "The ferry leaves at ten sharp today")
    ('nine', 'ten sharp')
    """
    first, second = old.split(), new.split()
    most = min(len(first), len(second))
    start = next((at for at in range(most) if first[at] != second[at]), most)
    left = range(1, most - start + 1)
    end = next((at - 1 for at in left if first[-at] != second[-at]), most - start)
    return " ".join(first[start : len(first) - end]), " ".join(second[start : len(second) - end])


def _pairs_distance(first: list[str], second: list[str]) -> float:
    """Return the share of the pairs of neighbouring words that only one of two lists has."""
    pairs, others = Counter(pairwise(first)), Counter(pairwise(second))
    return 1 - 2 * (pairs & others).total() / (pairs.total() + others.total())


def is_recut(old: Page, old_content: str, new: Page, new_content: str) -> bool:
    """Tell whether two contents differ only because other blocks were kept: each whole page
    has all text of the other page's content.
    """
    before, now = _lines([old_content]), _lines([new_content])
    return (
        before != now
        and now - before <= _lines(block.text for block in old.content.blocks)
        and before - now <= _lines(block.text for block in new.content.blocks)
    )


def own_differences(old: Page, old_content: str, new: Page, new_content: str) -> tuple[str, str]:
    """Return both contents without the lines whose words the other whole page has, too, in the same
    order. A redesign may divide the same text into other blocks.

    The rest differs between the pages, also if a model keeps another part of each.
    """
    return (
        "\n".join(_lines_missing(old_content, new)),
        "\n".join(_lines_missing(new_content, old)),
    )


def _lines_missing(content: str, page: Page) -> Iterator[str]:
    """Yield the lines of a *content* whose words a page does not have, in the same order."""
    texts = [block.text for block in page.content.blocks]
    lines, words = _lines(texts), f" {' '.join(' '.join(texts).split())} "
    for line in cells(content):
        is_found = len(line) >= MIN_CHARS and f" {' '.join(line.split())} " in words
        if not is_found and line not in lines:
            yield line


def without_recut(old: Page, old_content: str, new: Page, new_content: str) -> tuple[str, str]:
    """Return both contents without the lines that both pages have, but only one of the contents."""
    before, now = old_content.splitlines(), new_content.splitlines()
    on_old, on_new = (_lines(block.text for block in page.content.blocks) for page in (old, new))
    return (
        "\n".join(_comparable(before, frozenset(now), on_new)),
        "\n".join(_comparable(now, frozenset(before), on_old)),
    )


def _comparable(
    lines: list[str], other_content: frozenset[str], other_page: set[str]
) -> Iterator[str]:
    """Yield *lines* without the lines that the other page has, but outside of its content."""
    for line in lines:
        if line in other_content or not other_page.issuperset(line.split("\t")):
            yield line


def cells(content: str) -> Iterator[str]:
    """Yield the lines of a content; a table row, which has tabs, is split into its cells."""
    return (cell for line in content.splitlines() for cell in line.split("\t"))


def _lines(texts: Iterable[str]) -> set[str]:
    return {cell for text in texts for cell in cells(text)}


def diff_lines(old: str, new: str, before: str, after: str) -> Iterator[str]:
    """Yield a unified diff of two texts; *before* and *after* are their names."""
    return difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="", n=1)
