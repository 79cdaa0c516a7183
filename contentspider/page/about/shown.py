"""Metadata in a page's text, for pages that state none: dates and authors beside the headline,
bread crumbs above it. Only the first, short blocks are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.page.about.authors import BYLINE, NAME, author_names
from contentspider.page.about.crumbs import MAX_CRUMB_CHARS, MAX_CRUMBS, between
from contentspider.page.about.datetext import MONTHS, find_dates
from contentspider.page.about.jsonld import title_key
from contentspider.page.tree.resolver import Resolver
from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.tidy import unique

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.page.tree.blocks import Block, PageBlocks

# A headline is among the first of so many blocks, and its byline among so many before and after it.
MAX_BLOCKS = 300
BEFORE, AFTER = 4, 8
# Longer blocks are prose, with any dates and names.
MAX_BYLINE_CHARS = 160
MAX_NAME_CHARS = 60
MAX_LINK_CHARS = 40
MIN_KEY_CHARS = 8

DATE_STEP = re.compile(
    r"(?<![a-z])(?:date|datum|fecha|data|time|published?|pubdate|posted|dateline|byline)(?![a-z])"
    r"|(?:post|entry|article|news|page)[-_]?(?:meta|info|details)|[a-z]Date(?![a-z])"
)

CHANGED = re.compile(
    r"(?:updated|modified|reviewed|revised|changed|edited|aktualisiert|geändert|mis à jour|modifié"
    r"|actualizado|modificado|aggiornato|modificato|atualizado|bijgewerkt|обновлено|изменено|更新|수정)"
    r"(?:\s+(?:on|at|am|le|el|il|em|op))?\W*$",
    re.IGNORECASE,
)
# What a byline hardly has: many words, and a full stop.
SENTENCE_WORDS, SENTENCE_SIGNS = 6, 10
SENTENCE_END = re.compile(r"[.!?。！？…:]['\"”’»)\]]*\s*$")
AUTHOR_STEP = re.compile(r"author(?!i[sz])|byline|(?:user|poster|writer)-?name")
# Links and counts in the card of an author, and what cards of other articles have in them.
OTHER_STEP = re.compile(r"related|comment|share|social|bio\b|avatar|date|time|count")
# A name ends where the rest of a byline begins.
NAME_END = re.compile(r"\s+(?:[|/·•–—-]|on|in|at|am|le|el)\s.*|\s*[|·•–—(].*|,?\s+\d.*", re.DOTALL)
# What stands in the place of a name, or begins a date.
NO_NAME = re.compile(
    r"(?:authors?|admin|staff|date|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|(?:view|see|read|more|all|about|follow|visit|shop)\b.*)\W*",
    re.IGNORECASE,
)
CRUMB_STEP = re.compile(r"[cC]rumb|\[itemListElement\]")
CRUMB_MARKS = re.compile(r"^[^\w(]+|[^\w)!?.+#]+$")
MAX_PATHS = 400


def beside_headline(blocks: Sequence[Block], title: str) -> Sequence[Block]:
    """Return the short blocks beside the heading with the *title*, else beside the first ``h1``."""
    at = _headline(blocks[:MAX_BLOCKS], title_key(title))
    if at is None:
        return ()
    near = [*blocks[max(0, at - BEFORE) : at], *blocks[at + 1 : at + 1 + AFTER]]
    return [each for each in near if len(each.text) <= MAX_BYLINE_CHARS]


def _headline(blocks: Sequence[Block], title: str) -> int | None:
    first = alike = None
    for at, block in enumerate(blocks):
        if block.tag not in HEADINGS:
            continue
        key = title_key(block.text)
        if key and key == title:
            return at
        if alike is None and len(key) >= MIN_KEY_CHARS and (key in title or title in key):
            alike = at
        if first is None and block.tag == "h1":
            first = at
    return first if alike is None else alike


def shown_dates(blocks: Sequence[Block], near: Sequence[Block]) -> tuple[str, str]:
    """Return when the page says that it was published, and changed: the first day of each in the
    blocks beside its headline (*near*), else the only one in what is marked as a date by its
    classes; empty if there is none.
    """
    published, changed = _days(near)
    if published or changed:
        return "".join(published[:1]), "".join(changed[:1])
    marked = [
        block
        for block in blocks[:MAX_BLOCKS]
        if len(block.text) <= MAX_BYLINE_CHARS
        and _has_year(block.text)
        and DATE_STEP.search("/".join(block.path.rsplit("/", 2)[1:]))
    ]
    published, changed = _days(marked)
    # The entries of a list have a day each.
    is_one = len(set(published)) <= 1 and len(set(changed)) <= 1
    return ("".join(published[:1]), "".join(changed[:1])) if is_one else ("", "")


def _days(blocks: Sequence[Block]) -> tuple[list[str], list[str]]:
    published: list[str] = []
    changed: list[str] = []
    for block in blocks:
        text, start = block.text, 0
        # Other articles' headlines may have a date beside them, all in one link.
        if block.link_chars > MAX_LINK_CHARS or not _has_year(text):
            continue
        for found in find_dates(text):
            is_change = CHANGED.search(text[start : found.start])
            if not is_change and _is_sentence(text[: found.start], text[found.end :]):
                break
            if block.tag in HEADINGS and found.start + len(text) - found.end > MAX_LINK_CHARS:
                break
            (changed if is_change else published).append(found.date)
            start = found.end
    return published, changed


def _is_sentence(before: str, after: str) -> bool:
    """Tell whether a date stands in a sentence of prose, by what is before and after it."""
    end = SENTENCE_END.search(after or before)
    if end is None or (end.start() == 0 and before.rstrip().endswith(",")):
        return False  # "Started by Ada, 31 October 2013."
    is_spaced = end[0][0] not in "。！？"
    words = len(before.split()) + len(after.split())
    return words >= SENTENCE_WORDS if is_spaced else len(before + after) >= SENTENCE_SIGNS


def _has_year(text: str) -> bool:
    return "20" in text or "19" in text


def shown_author(near: Sequence[Block]) -> tuple[str, ...]:
    """Return the author that blocks beside a headline name, by their classes or behind "By"."""
    follows = False
    for block in near:
        text = block.text
        byline = BYLINE.match(text)
        is_marked = _is_marked(block.path)
        if byline or follows or is_marked:
            name = _without_rest(text[byline.end() :] if byline else text)
            if byline and not name:
                follows = True  # the name is in a block of its own
                continue
            if _is_name(name, is_marked):
                return author_names([name])
        follows = False
    return ()


def _without_rest(text: str) -> str:
    """Return what stands in a byline before a date, and before other marks that end a name."""
    date = next(find_dates(text), None)
    return NAME_END.sub("", text[: date.start] if date else text).strip(" ,")


def _is_marked(path: str) -> bool:
    steps = "/".join(path.rsplit("/", 3)[1:]).lower()
    # Most have none of these, and to look for all costs ten times as much.
    if "author" not in steps and "name" not in steps and "byline" not in steps:
        return False
    return bool(AUTHOR_STEP.search(steps)) and not OTHER_STEP.search(steps)


def _is_name(text: str, is_marked: bool) -> bool:
    words = text.split()
    if not words or len(text) > MAX_NAME_CHARS or len(words) > 6 or text[-1] in "!?:":
        return False
    if NO_NAME.fullmatch(text) or any(word.casefold() in MONTHS for word in words):
        return False
    if is_marked and len(words) == 1:
        return True  # an account's
    is_written = all(word[0].isupper() or not word[0].isalpha() or len(word) < 4 for word in words)
    return is_written and (is_marked or (bool(NAME.match(text)) and not text[0].islower()))


def shown_section(page: PageBlocks, title: str, base: str, url: str) -> tuple[str, ...]:
    """Return the names in the bread crumbs that the page at *url* shows, without the front page's
    and its own; addresses in them are resolved by *base*.
    """
    # To look through all paths at once costs a tenth of looking at each.
    if not _may_have_crumbs("\n".join(dict.fromkeys(page.paths[:MAX_PATHS]))):
        return ()
    steps: list[tuple[str, str]] = []
    list_path = ""
    for block in page.blocks[:MAX_BLOCKS]:
        match = CRUMB_STEP.search(block.path) if _may_have_crumbs(block.path) else None
        list_path = list_path or (block.path[: match.start()] if match else "")
        if match is None or block.path[: match.start()] != list_path:
            if steps:
                break
            continue
        steps += _steps(block)
    if not 0 < len(steps) <= 3 * MAX_CRUMBS:
        return ()
    resolver = Resolver(base)
    whole = [(name, address and resolver.resolve(address)) for name, address in steps]
    return unique(between(whole, [title], url), MAX_CRUMBS, MAX_CRUMB_CHARS)


def _may_have_crumbs(path: str) -> bool:
    return "rumb" in path or "[itemListElement]" in path


def _steps(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the names in a block of bread crumbs, and where each leads ("": nowhere)."""
    text, end = block.text, 0
    for start, stop, mark in block.spans:
        if start < end or not is_link(mark):
            continue
        yield from _step(text[end:start], "")
        yield from _step(text[start:stop], mark)
        end = stop
    yield from _step(text[end:], "")


def _step(text: str, address: str) -> Iterator[tuple[str, str]]:
    if name := CRUMB_MARKS.sub("", text[: 4 * MAX_CRUMB_CHARS]):
        yield name, address
