"""Metadata that a page shows its readers, for pages that do not declare metadata for machines.

Dates and authors are read from the blocks beside the headline, the section from the breadcrumbs.
Only short blocks near the beginning of the page are read.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from contentspider.page.about.authors import BYLINE, NAME, NO_PERSON, author_names
from contentspider.page.about.breadcrumbs import MAX_CRUMB_CHARS, MAX_CRUMBS, trim_breadcrumbs
from contentspider.page.about.jsonld import title_key
from contentspider.page.about.written_dates import find_dates, has_year, month_of
from contentspider.page.tree.resolver import Resolver
from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import SIGNS_OF_NAMES, strip_signs, without_marks
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.phrases import read_data
from contentspider.page.words.tidy import unique

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.page.tree.blocks import Block, PageBlocks

# The headline is searched in the first MAX_BLOCKS blocks, and the byline in the BEFORE blocks
# before the headline and the AFTER blocks after it.
MAX_BLOCKS = 300
BEFORE, AFTER = 4, 8
# Cards of other stories above the headline are looked for in this number of blocks before it.
CARD_BLOCKS = 12
MIN_CARDS = 2
# Longer blocks are prose. A date or name in prose can be about anything.
MAX_BYLINE_CHARS = 160
MAX_NAME_CHARS = 60
MAX_LINK_CHARS = 40
MIN_KEY_CHARS = 8

DATE_STEP = re.compile(
    r"(?<![a-z])(?:date|datum|fecha|data|time|published?|pubdate|posted|dateline|byline)(?![a-z])"
    r"|(?:post|entry|article|news|page)[-_]?(?:meta|info|details)|[a-z]Date(?![a-z])"
)

# Path steps of quoted posts, of comments, and of boxes about other pages.
OTHERS_STEP = re.compile(
    r"(?<![a-z])(?:comments?|related|recommended|suggested|tweets?"
    r"|twitter-tweet|toots?|sidebar|most-read|trending)(?![a-z])",
    re.IGNORECASE,
)

_LABELS = read_data("changes.json")
_CHANGED, _PUBLISHED = (
    "|".join(word for language in _LABELS[kind].values() for word in language)
    for kind in ("changed", "published")
)
CLOCK = (
    r"\d{1,2}[:.時时시点點]\s?\d{2}(?:[:.分분]\s?\d{2})?\s?분?(?:\s?[ap]\.?m\.?)?"
    r"(?:\s[A-Z]{2,4}\b)?"
)
# "Updated on ", "Ενημερώθηκε στις ", "Cập nhật lần cuối: ", "Updated at 10:00 AM EST, ": a word for
# a change, up to two short words, and maybe a time, before a date. An editor's name is none.
CHANGED = re.compile(
    rf"(?<![^\W\d_])(?:{_CHANGED})(?:日時?|日期|时间|時間|于|於|일시?|됨)?"
    rf"(?:\s+(?!by\b|von\b|par\b|por\b|da\b)[^\W\d]{{1,5}}\.?){{0,2}}\W*(?:{CLOCK}\W*)?$",
    re.IGNORECASE,
)
# Labels may stand behind their dates: "2013年10月31日 更新", "31 Ekim 2013 tarihinde güncellendi".
# In "3 May 2013 Updated rules of the port" a headline begins with such a word.
BEHIND = re.compile(
    rf"[日일]?[\s)]*(?:{CLOCK}\s*)?(?:に|を|tarihinde\s|को\s|最終|最后|最後)?\s*"
    rf"(?:(?P<changed>{_CHANGED})|(?:{_PUBLISHED}))"
    r"(?!\s*[:：]|\w?\s+(?!(?:by|von|par|por|da|at|um|à|alle)\s)[A-Za-z\u00c0-\u04ff])",
    re.IGNORECASE,
)
# A text with a full stop and at least this many words (or characters, in scripts without spaces) is
# a sentence, not a byline.
SENTENCE_WORDS, SENTENCE_SIGNS = 6, 10
SENTENCE_END = re.compile(r"[.!?。！？…:]['\"”’»)\]]*\s*$")
AUTHOR_STEP = re.compile(r"author(?!i[sz])|byline|(?:user|poster|writer)-?name")
# Path steps of links and counts in an author's card, and of cards of other articles.
OTHER_STEP = re.compile(r"related|comment|share|social|bio\b|avatar|date|time|count")
# The text after an author's name in a byline.
NAME_END = re.compile(r"\s+(?:[|/·•–—-]|on|in|at|am|le|el)\s.*|\s*[|·•–—(].*|,?\s+\d.*", re.DOTALL)
# "Published on Thursday, " before the date of a byline that names its authors behind the date, and
# " at 10:30 | " between them.
LEAD = re.compile(
    rf"\W*(?:(?:{_CHANGED}|{_PUBLISHED}|geschrieben|verfasst|écrit|escrito|scritto)\b\W*)?"
    r"(?:[^\W\d]{1,5}\.?\s+){0,2}(?:[^\W\d]+,\s*)?",
    re.IGNORECASE,
)
GAP = re.compile(rf"\W*(?:(?:[^\W\d]{{2}}\s+)?{CLOCK}(?:\s*(?:Uhr|h)\b)?\W*)?")
SIGN = re.compile(r"\s*[|·•–—(]")
# Words of names without a capital. Behind a date "by" and "von" also begin phrases: "by the river".
PARTICLES = frozenset(
    "van von vom zu der den de del della di da das do dos du la y af av bin".split()
)
# Words that bylines have instead of a name, or at the beginning of a date.
NO_NAME = re.compile(
    r"(?:authors?|admin|staff|date|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|(?:view|see|read|more|all|about|follow|visit|shop)\b.*)\W*",
    re.IGNORECASE,
)
CRUMB_STEP = re.compile(r"[cC]rumb|\[itemListElement\]")
DIGIT = re.compile(r"\d")
MAX_PATHS = 400


def beside_headline(blocks: Sequence[Block], title: str) -> Sequence[Block]:
    """Return the short blocks around the headline; an empty sequence for a page without headline.

    The headline is the heading with the *title*, or else the first ``h1``. Blocks of quoted posts,
    and the dates of cards of other stories are left out.
    """
    headline = _find_headline(blocks[:MAX_BLOCKS], title_key(title))
    if headline is None:
        return ()
    near = [
        *_above(blocks[max(0, headline - CARD_BLOCKS) : headline]),
        *_below(blocks[headline + 1 : headline + 1 + AFTER], title_key(title)),
    ]
    path = blocks[headline].path
    return [
        block
        for block in near
        if len(block.text) <= MAX_BYLINE_CHARS and not _is_of_others(block, path)
    ]


def _above(blocks: Sequence[Block]) -> list[Block]:
    """Return the last blocks above a headline. Only the dates of the last box are kept,
    and no dates of a list of cards: there several blocks with one path have a date, or a heading
    with a link stands before the date.
    """
    days = [len(_days((block,), "")[0]) for block in blocks]
    near: list[Block] = []
    box = ""
    for index in range(len(blocks) - 1, max(0, len(blocks) - BEFORE) - 1, -1):
        block = blocks[index]
        if days[index] or _days((block,), "")[1]:
            box = box or _box(block)
            same = sum(days[at] for at, other in enumerate(blocks) if other.path == block.path)
            is_card = index > 0 and _is_linked_heading(blocks[index - 1])
            if same > 1 or is_card or _box(block) != box:
                continue
        near.insert(0, block)
    return near


def _below(blocks: Sequence[Block], title: str) -> list[Block]:
    """Return the blocks below a headline, whose key is *title*, without the dates of a list of
    cards: several have a heading with a link before the date. One such heading may name the author,
    and the posts of a forum have the title of their topic.
    """
    cards = [
        block
        for before, block in pairwise(blocks)
        if _is_linked_heading(before)
        and any(_days((block,), ""))
        and title_key(before.text) not in title
    ]
    return [block for block in blocks if len(cards) < MIN_CARDS or block not in cards]


def _box(block: Block) -> str:
    return block.path.rpartition("/")[0]


def _is_linked_heading(block: Block) -> bool:
    return block.tag in HEADINGS and block.tag != "h1" and 2 * block.link_chars > len(block.text)


def _is_of_others(block: Block, headline: str) -> bool:
    """Tell whether a block stands in a quoted post or a box about other pages, that is not around
    the *headline* (a path). In a quoted post the date is a link.
    """
    steps, headline_steps = block.path.split("/"), headline.split("/")
    shared = 0
    while shared < min(len(steps), len(headline_steps)) and steps[shared] == headline_steps[shared]:
        shared += 1
    own = steps[shared:]
    is_quoted = block.link_chars > 0 and any(step.startswith("blockquote") for step in own)
    return is_quoted or OTHERS_STEP.search("/".join(own)) is not None


def _find_headline(blocks: Sequence[Block], title: str) -> int | None:
    """Return the index of the heading whose key equals *title*, or else is part of it or contains
    it, or else of the first ``h1``; None if there is no such heading.
    """
    similar = first_h1 = None
    for index, block in enumerate(blocks):
        if block.tag not in HEADINGS:
            continue
        key = title_key(block.text)
        if key and key == title:
            return index
        if similar is None and len(key) >= MIN_KEY_CHARS and (key in title or title in key):
            similar = index
        if first_h1 is None and block.tag == "h1":
            first_h1 = index
    return first_h1 if similar is None else similar


def visible_dates(
    blocks: Sequence[Block], near: Sequence[Block], language: str = ""
) -> tuple[str, str]:
    """Return the days of publication and of the last change that the page shows, in ISO 8601.

    Each is the first day in the blocks beside the headline (*near*). If these blocks lack a day, it
    is the only day in the *blocks* whose classes mark them as dates. A day that the page does not
    show is an empty string. *language* is the page's.
    """
    published, changed = _days(near, language)
    if published or changed:
        return "".join(published[:1]), "".join(changed[:1])
    date_blocks = [
        block
        for block in blocks[:MAX_BLOCKS]
        if len(block.text) <= MAX_BYLINE_CHARS
        and has_year(block.text)
        and DATE_STEP.search("/".join(block.path.rsplit("/", 2)[1:]))
    ]
    published, changed = _days(date_blocks, language)
    if len(set(published)) > 1 or len(set(changed)) > 1:
        return "", ""  # these are the days of a list's entries
    return "".join(published[:1]), "".join(changed[:1])


def _days(blocks: Sequence[Block], language: str) -> tuple[list[str], list[str]]:
    """Return the days of publications and the days of changes that *blocks* name."""
    published: list[str] = []
    changed: list[str] = []
    for block in blocks:
        text = block.text
        # A teaser of another article may have its headline and date in one link.
        if block.link_chars > MAX_LINK_CHARS or not has_year(text):
            continue
        for day, before, after, is_change in _labelled(text, language):
            if not is_change and _is_sentence(before, after):
                break
            if block.tag in HEADINGS and len(before) + len(after) > MAX_LINK_CHARS:
                break
            (changed if is_change else published).append(day)
    return published, changed


def _labelled(text: str, language: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each day in a text, the text before and after it, and whether its label names a change.

    Labels stand before their dates, or all behind them if one stands behind the last date. The text
    before a date begins behind an earlier date of a change.
    """
    days = list(find_dates(text, language=language))
    is_behind = bool(days) and BEHIND.match(text, days[-1].end) is not None
    start = begin = 0
    for day in days:
        if is_behind:
            label = BEHIND.match(text, day.end)
            is_change = label is not None and label["changed"] is not None
        else:
            is_change = CHANGED.search(text[start : day.start]) is not None
        yield day.date, text[begin : day.start], text[day.end :], is_change
        start = day.end
        begin = start if is_change else begin


def _is_sentence(before: str, after: str) -> bool:
    """Tell whether a date is part of a sentence of prose, given the texts before and after it."""
    end = SENTENCE_END.search(after or before)
    if end is None or (end.start() == 0 and before.rstrip().endswith(",")):
        return False  # "Started by Ada, 31 October 2013."
    is_spaced = end[0][0] not in "。！？"
    words = len(before.split()) + len(after.split())
    return words >= SENTENCE_WORDS if is_spaced else len(before + after) >= SENTENCE_SIGNS


def visible_author(near: Sequence[Block]) -> tuple[str, ...]:
    """Return the authors named in the blocks beside a headline, by their classes or after "By"."""
    name_follows = False
    for block in near:
        text = block.text
        if names := _names_behind_date(text):
            return names
        byline = BYLINE.match(text)
        has_author_class = _has_author_class(block.path)
        if byline or name_follows or has_author_class:
            name = _cut_after_name(text[byline.end() :] if byline else text)
            if byline and not name:
                name_follows = True  # "By" and the name are two blocks
                continue
            if _is_name(name, has_author_class):
                return author_names([name])
        name_follows = False
    return ()


def _names_behind_date(text: str) -> tuple[str, ...]:
    """Return the authors in a byline that begins with its date: "6 March 2025 by Ada Byron". Each
    has two words or more, and no other words follow, which would make it a sentence.
    """
    date = next(find_dates(text), None)
    if date is None or SENTENCE_END.search(text) or not LEAD.fullmatch(text[: date.start]):
        return ()
    gap = GAP.match(text, date.end)
    byline = BYLINE.match(text, gap.end() if gap else date.end)
    if byline is None:
        return ()
    names = SIGN.split(text[byline.end() :], maxsplit=1)[0]
    if not _is_capitalised([word for word in names.split() if word not in PARTICLES]):
        return ()
    authors = author_names([_cut_after_name(names)])
    return authors if all(map(_is_whole_name, authors)) else ()


def _is_whole_name(text: str) -> bool:
    """Tell whether *text* is the name of a person, of several words, with a title after a comma."""
    name = text.partition(",")[0]
    words = name.split()
    return (
        _is_name(name, has_author_class=False)
        and not NO_PERSON.search(name)
        and all(word in PARTICLES or not word[0].islower() for word in words)
        and not words[-1].islower()
    )


def _cut_after_name(text: str) -> str:
    """Return the beginning of a byline up to a date or another sign that ends the name."""
    date = next(find_dates(text), None)
    return NAME_END.sub("", text[: date.start] if date else text).strip(" ,")


def _has_author_class(path: str) -> bool:
    """Tell whether the last three steps of a path have an id or class that means an author."""
    steps = "/".join(path.rsplit("/", 3)[1:]).lower()
    # Most paths lack all these words; the patterns alone would take ten times as long.
    if "author" not in steps and "name" not in steps and "byline" not in steps:
        return False
    return bool(AUTHOR_STEP.search(steps)) and not OTHER_STEP.search(steps)


def _is_name(text: str, has_author_class: bool) -> bool:
    """Tell whether *text* looks like a person's name; less strictly if a class marks an author."""
    words = text.split()
    if not words or len(words) > 6 or len(text) > MAX_NAME_CHARS:
        return False
    if text[-1] in "!?:" or NO_NAME.fullmatch(text):
        return False
    if any(map(month_of, words)) and (len(words) == 1 or DIGIT.search(text)):
        return (
            False  # a date without a year, or a part of one; "May Price" and "Ian Jones" are names
        )
    if has_author_class:
        return len(words) == 1 or _is_capitalised(words)  # one word: the name of an account
    return (
        NAME.match(without_marks(text)) is not None
        and not text[0].islower()
        and _is_capitalised(words)
    )


def _is_capitalised(words: Sequence[str]) -> bool:
    """Tell whether all words of four letters or more begin with a capital, like a name."""
    return all(word[0].isupper() or not word[0].isalpha() or len(word) < 4 for word in words)


def visible_section(page: PageBlocks, title: str, base: str, url: str) -> tuple[str, ...]:
    """Return the names in the breadcrumbs that the page at *url* shows, without the names of the
    front page and of the page itself. *base* is the address that resolves the links.
    """
    # One search through all paths takes a tenth of the time of a search in each.
    if not _may_have_breadcrumbs("\n".join(dict.fromkeys(page.paths[:MAX_PATHS]))):
        return ()
    steps = _find_steps(page.blocks[:MAX_BLOCKS])
    if not 0 < len(steps) <= 3 * MAX_CRUMBS:
        return ()
    resolver = Resolver(base)
    resolved = [(name, address and resolver.resolve(address)) for name, address in steps]
    return unique(trim_breadcrumbs(resolved, [title], url), MAX_CRUMBS, MAX_CRUMB_CHARS)


def _find_steps(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    """Return the names and addresses in the first list of breadcrumbs of *blocks*."""
    steps: list[tuple[str, str]] = []
    list_path = ""
    for block in blocks:
        match = CRUMB_STEP.search(block.path) if _may_have_breadcrumbs(block.path) else None
        path = block.path[: match.start()] if match else None
        list_path = list_path or path or ""
        if path == list_path:
            steps += _read_steps(block)
        elif steps:
            break
    return steps


def _may_have_breadcrumbs(path: str) -> bool:
    """Tell whether a path may match `CRUMB_STEP`, faster than the pattern does."""
    return "rumb" in path or "[itemListElement]" in path


def _read_steps(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each name in a block of breadcrumbs with the address of its link, "" without a link."""
    text, end = block.text, 0
    for start, stop, mark in block.spans:
        if start < end or not is_link(mark):
            continue
        yield from _read_step(text[end:start], "")
        yield from _read_step(text[start:stop], mark)
        end = stop
    yield from _read_step(text[end:], "")


def _read_step(text: str, address: str) -> Iterator[tuple[str, str]]:
    """Yield the name in *text* without separators, with its *address*, unless it is empty."""
    if name := strip_signs(text[: 4 * MAX_CRUMB_CHARS], *SIGNS_OF_NAMES):
        yield name, address
