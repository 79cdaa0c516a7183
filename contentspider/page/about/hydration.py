"""Reads the text of a page that its scripts would show, from the data that the page has for them
(``__NEXT_DATA__`` of Next.js, ``__NUXT_DATA__``, and other JSON in the markup or in scripts).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from contentspider.page.about.stated_texts import MAX_TEXT_CHARS, StatedText, plain_text
from contentspider.page.tree.text import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

HYDRATION = "hydration data"
MAX_JSON_CHARS, MAX_VALUES, MAX_DEPTH = 5_000_000, 100_000, 60
# A string is prose, rather than a value for scripts, if it has this many words and few other signs.
MIN_WORDS = 8
# A text of HTML, or with the signs of sentences.
PROSE = re.compile(r"<(?:p|h[1-6]|li|div|blockquote)\b|[.!?。！？]\s|[.!?。！？]\Z")
NO_PROSE = re.compile(r"[{};]\s*\n|function\s*\(|^(?:https?:|data:|/)")
# Before JSON in a script: a global name as frameworks call theirs, and Next.js's pieces of a page.
ASSIGNED = re.compile(r"\b__\w+\s*=\s*(?=[{\[])")
PUSHED = re.compile(r"\b__next_f\.push\(\[1,\s*(?=\")")
MAX_ASSIGNED = 20
JSON = json.JSONDecoder()
# The texts of a page have the same last name, below the same first names.
FIRST_NAMES = 3


def hydration_text(root: _Element) -> StatedText | None:
    """Return the text in the data for a page's scripts, None if there is none.

    The strings of JSON are grouped by their names, and the group with the most prose is the text,
    in order. All else (labels, teasers of other pages) is left out.
    """
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for data in _data(root):
        for names, text in _strings(data):
            groups[(*names[:FIRST_NAMES], names[-1] if names else "")].append(text)
    best = max(groups.values(), key=_prose, default=[])
    if not _prose(best):
        return None
    text = "\n".join(filter(None, map(plain_text, best)))[:MAX_TEXT_CHARS]
    return StatedText(HYDRATION, text) if text else None


def _data(root: _Element) -> Iterator[object]:
    """Yield the JSON values for a page's scripts: elements of JSON, values that a script assigns to
    a global name (``window.__INITIAL_STATE__ = {...}``), and what React's server components push.
    """
    pushed = []
    for script in root.iter("script"):
        text = script.text or ""
        if not text or len(text) > MAX_JSON_CHARS:
            continue
        if (script.get("type") or "").strip().lower() == "application/json":
            yield from _json(text)
        for match in islice(ASSIGNED.finditer(text), MAX_ASSIGNED):
            yield from _json(text, match.end())
        for match in islice(PUSHED.finditer(text), MAX_ASSIGNED):
            pushed += [part for part in _json(text, match.end()) if isinstance(part, str)]
    for line in "".join(pushed)[:MAX_JSON_CHARS].split("\n"):
        yield from _json(line.partition(":")[2])


def _json(text: str, start: int = 0) -> Iterator[object]:
    """Yield the JSON value that begins at a place in a text, nothing if there is none."""
    try:
        yield JSON.raw_decode(text.lstrip() if not start else text, start)[0]
    except (ValueError, RecursionError):
        return


def _prose(texts: list[str]) -> int:
    """Return how many characters of *texts* are prose."""
    return sum(len(text) for text in texts if is_prose(text))


def is_prose(text: str) -> bool:
    """Tell whether a string is a text for readers.

    >>> is_prose("<p>A lamp burns.</p>" * 5), is_prose("/static/lamp.png")
    (True, False)
    """
    if not PROSE.search(text) or NO_PROSE.search(text):
        return False
    return len(tokens(text[:1_000])) >= MIN_WORDS


def _strings(data: object) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the strings in JSON values in their order, each with the names that lead to it."""
    pending: list[tuple[tuple[str, ...], object]] = [((), data)]
    for _ in range(MAX_VALUES):
        if not pending:
            break
        names, value = pending.pop()
        inner = next(_json(value), None) if isinstance(value, str) and value[:1] in "{[" else None
        if isinstance(inner, (dict, list)):
            pending.append((names, inner))  # the body of an answer (SvelteKit)
        elif isinstance(value, str):
            yield names, value
        elif isinstance(value, dict) and len(names) < MAX_DEPTH:
            pending += [((*names, name), inner) for name, inner in reversed(value.items())]
        elif isinstance(value, list):
            pending += [(names, inner) for inner in reversed(value)]
