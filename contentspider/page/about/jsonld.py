"""JSON-LD: the objects that a page describes itself with, and which of them it is about."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# JSON-LD beyond this is a product feed, not a page's description.
MAX_JSON_LD_CHARS = 500_000
# Values of one kind that are read; more are a feed, not a page's.
MAX_VALUES = 200
MAX_DEPTH = 4

# Types of JSON-LD that a page can be about, and those that stand for the page itself. Anything else
# (a video, a picture, a comment, an offer, the owner) is a part of it.
ENTITIES = frozenset(
    "BlogPosting LiveBlogPosting SocialMediaPosting DiscussionForumPosting Report Recipe Product"
    " ProductGroup ProductModel IndividualProduct Vehicle Car Event JobPosting Course Book Movie"
    " TVSeries TVEpisode PodcastEpisode HowTo Question Dataset SoftwareApplication"
    " MobileApplication WebApplication SoftwareSourceCode APIReference Guide Review CriticReview"
    " Chapter CreativeWork Game VideoGame MusicAlbum".split()
)
PAGE, ENTITY = 1, 2
MAX_OBJECTS = 100  # in a script or a graph
# Marks of a section of CDATA, comments, and commas before an end, beside strings, which are passed
# over. A string or comment without an end goes to the end of the text.
STRING = r'("(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z))'
CDATA = r"|(?://[ \t]*)?(?:<!\[CDATA\[|\]\]>)|<!--|-->"
COMMENTS = re.compile(STRING + CDATA + r"|/\*(?:.*?\*/|.*)|//[^\n]*", re.DOTALL)
COMMAS = re.compile(STRING + r"|,(?=\s*[\]}])", re.DOTALL)
# What may stand before an object.
START = re.compile(r"([\s;,]*)(?=[{\[])")
DECODER = json.JSONDecoder(strict=False)
NO_LETTERS = re.compile(r"[\W_]+")


def read_json_ld(text: str) -> list[dict[str, object]]:
    """Return the objects on top of a JSON-LD script, in graphs, and main entities. What is broken
    is read as far as `_mended` can.
    """
    try:
        value = json.loads(text, strict=False)
    except ValueError:
        value = _mended(text)
    except RecursionError:
        return []
    return list(_objects(value))


def _mended(text: str) -> list[object]:
    """Return the objects in a script that is nearly JSON: it may have several objects, CDATA marks,
    comments, trailing commas and semicolons. Reading stops where only a guess could go on.

    Libraries for damaged JSON guess (json-repair), or read beyond its end (chompjs 1.4).
    """
    bare = COMMAS.sub(r"\1", COMMENTS.sub(r"\1", text))
    values: list[object] = []
    with suppress(ValueError, RecursionError):
        start = START.match(bare)
        while start and len(values) < MAX_OBJECTS:
            value, end = DECODER.raw_decode(bare, start.end(1))
            values.append(value)
            start = START.match(bare, end)
    return values


def _objects(value: object, depth: int = 0) -> Iterator[dict[str, object]]:
    if depth > 6:
        return
    if isinstance(value, dict):
        yield value
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            if key in value:
                yield from _objects(value[key], depth + 1)
    elif isinstance(value, list):
        for entry in value[:MAX_OBJECTS]:
            yield from _objects(entry, depth + 1)


def kinds(entry: Mapping[str, object]) -> list[str]:
    """Return the types of a JSON-LD object without their vocabulary's address."""
    kind = entry.get("@type")
    if isinstance(kind, str):
        return [_bare(kind)]
    return [_bare(kind) for kind in strings_of(kind)]


@lru_cache(maxsize=500)  # few types make up nearly all, and each object's is asked for repeatedly
def _bare(kind: str) -> str:
    return re.split(r"[/#:]", kind[-100:])[-1]


def title_key(text: str) -> str:
    """Return the letters and digits of *text* in lower case: titles differ in dashes and quotes."""
    return NO_LETTERS.sub("", text.casefold())


def _rank(entry: Mapping[str, object]) -> int:
    names = kinds(entry)
    if any(name in ENTITIES or name.endswith("Article") for name in names):
        return ENTITY
    return PAGE if any(name.endswith("Page") for name in names) else 0


def main_entity(
    entries: Sequence[dict[str, object]], titles: Sequence[str]
) -> tuple[dict[str, object] | None, dict[str, object] | None]:
    """Return what the page is about, and the page itself, of its JSON-LD: what bears its title,
    else the only one there is: by several, as those of a list, a page says nothing of itself.
    """
    if not entries:
        return None, None
    known = [key for key in map(title_key, titles) if key]
    found: dict[int, list[dict[str, object]]] = {ENTITY: [], PAGE: []}
    named: dict[int, dict[str, object]] = {}
    for entry in entries[:MAX_VALUES]:
        if rank := _rank(entry):
            found[rank].append(entry)
            key = title_key("".join(strings_of(entry.get("headline") or entry.get("name"))[:1]))
            if key and rank not in named and any(key in title or title in key for title in known):
                named[rank] = entry
    page = named.get(PAGE) or (found[PAGE][0] if found[PAGE] else None)
    about = named.get(ENTITY) or (found[ENTITY][0] if len(found[ENTITY]) == 1 else None)
    return about or page, page


def strings_of(value: object, depth: int = 0) -> list[str]:
    """Return the strings of a JSON-LD value: itself, a list's, or an object's name or value."""
    if isinstance(value, str):
        # Content systems write entities, which mean nothing here.
        return [unescape(value) if "&" in value else value] if value.strip() else []
    if isinstance(value, bool) or depth > MAX_DEPTH:
        return []
    if isinstance(value, (int, float)):
        return [str(value)]
    if isinstance(value, list):
        return [text for entry in value[:MAX_VALUES] for text in strings_of(entry, depth + 1)]
    if isinstance(value, dict):
        return strings_of(value.get("@value") or value.get("name"), depth + 1)
    return []


def strings_at(entries: Iterable[Mapping[str, object]], *names: str) -> Iterator[str]:
    """Yield the strings of the entries' values of these names, in this order."""
    for entry in entries:
        for name in names:
            yield from strings_of(entry.get(name))


def follow(value: object, linked: Mapping[str, Mapping[str, object]]) -> object:
    """Return the object that *value* names by its ``@id``, if it says nothing else."""
    if isinstance(value, dict) and not (value.get("name") or value.get("url")):
        return linked.get(str(value.get("@id")), value)
    return value
