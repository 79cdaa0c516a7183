"""Numbers with their nouns, in the singular and the plural."""

from __future__ import annotations

ENDINGS = {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "s": ""}


def counted(number: int, nouns: str) -> str:
    """Return a number with its noun, which is given in the plural.

    >>> counted(1, "pages"), counted(1_200, "pages"), counted(0, "copies")
    ('1 page', '1,200 pages', '0 copies')
    >>> [counted(1, nouns) for nouns in ("copies", "addresses", "boxes", "searches", "files")]
    ['1 copy', '1 address', '1 box', '1 search', '1 file']
    """
    if number != 1:
        return f"{number:,} {nouns}"
    ending = next(ending for ending in ENDINGS if nouns.endswith(ending))
    return f"1 {nouns.removesuffix(ending)}{ENDINGS[ending]}"
