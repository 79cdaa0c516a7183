"""Reads the JSON-LD objects of a page, and finds the one that describes the page's subject."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import lru_cache
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING

from contentspider.page.tree.tags import is_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# JSON-LD longer than this is a product feed, not the description of a page.
MAX_JSON_LD_CHARS = 500_000
# At most this many values of one kind are read; a page with more contains a feed.
MAX_VALUES = 200
MAX_DEPTH = 4

# Types of objects that can be a page's subject, besides types that end in "Article". Types that end
# in "Page" are the page itself. Any other object (a video, an image, a comment, an offer, the
# owner) is a part of the page.
ENTITIES = frozenset(
    "BlogPosting LiveBlogPosting SocialMediaPosting DiscussionForumPosting Report Recipe Product"
    " ProductGroup ProductModel IndividualProduct Vehicle Car Event JobPosting Course Book Movie"
    " TVSeries TVEpisode PodcastEpisode HowTo Question Dataset SoftwareApplication"
    " MobileApplication WebApplication SoftwareSourceCode APIReference Guide Review CriticReview"
    " Chapter CreativeWork Game VideoGame MusicAlbum".split()
)
PAGE, ENTITY = 1, 2
MAX_OBJECTS = 100  # the most objects that are read from a script or a graph
# These patterns remove CDATA marks, comments and trailing commas. They also match strings, which
# are kept unchanged. A string or comment that is never closed extends to the end of the text.
STRING = r'("[^"\\]*(?:\\(?:.[^"\\]*|\Z))*(?:"|\Z))'
CDATA = r"|(?://[ \t]*)?(?:<!\[CDATA\[|\]\]>)|<!--|-->"
COMMENTS = re.compile(STRING + CDATA + r"|/\*(?:.*?\*/|.*)|//[^\n]*", re.DOTALL)
COMMAS = re.compile(STRING + r"|,(?=\s*[\]}])", re.DOTALL)
# An escape that JSON has, in the first group, or another one: "don\'t".
ESCAPES = re.compile(r'(\\["\\/bfnrtu])|\\')
# The characters that may precede an object or a list. A file that a template includes may begin
# with a byte order mark.
START = re.compile(r"([\s;,\ufeff]*)(?=[{\[])")
DECODER = json.JSONDecoder(strict=False)
NO_LETTERS = re.compile(r"[\W_]+")
# A script's text is raw: what looks like a reference without a semicolon is a part of an address.
REFERENCE = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]\w{1,30});", re.IGNORECASE | re.ASCII)
ADDRESS = re.compile(r"(?:[a-z][a-z\d+.-]*:)?/\S*", re.IGNORECASE | re.ASCII)
SCHEMA = re.compile(r"(?:schema:|https?://(?:www\.)?schema\.org/)")
# Found only in scripts that do not use the plain terms of schema.org.
TERMS = re.compile(rf'"(?:{SCHEMA.pattern}\w+"\s*:|@list"|@set"|@context"\s*:\s*[\[{{])')
LISTS = ("@list", "@set")
NAME_PARTS = ("givenName", "additionalName", "familyName")


def read_json_ld(text: str) -> list[dict[str, object]]:
    """Return the objects at the top level of a JSON-LD script, in its graphs, and their main
    entities. Invalid JSON is read up to the first error that `_parse_leniently` cannot repair.
    """
    try:
        try:
            value = json.loads(text, strict=False)
        except ValueError:
            value = _parse_leniently(text)
        return list(
            _objects(_in_plain_terms(value, _terms(value)) if TERMS.search(text) else value)
        )
    except RecursionError:
        return []


def _terms(value: object) -> dict[str, str]:
    """Return the terms that the contexts of a script define: the property or the keyword of each,
    and "" for a prefix of schema.org.
    """
    terms: dict[str, str] = {}
    for context in _contexts(value):
        for name, meaning in context.items():
            target = meaning.get("@id") if isinstance(meaning, dict) else meaning
            if isinstance(target, str) and (SCHEMA.match(target) or target[:1] == "@"):
                terms[name] = SCHEMA.sub("", target)
    return terms


def _contexts(value: object) -> Iterator[dict[str, object]]:
    """Yield the contexts of the objects at the top of a script, but those at an address."""
    for entry in value[:MAX_OBJECTS] if isinstance(value, list) else [value]:
        found = entry.get("@context") if isinstance(entry, dict) else None
        for context in found if isinstance(found, list) else [found]:
            if isinstance(context, dict):
                yield context


def _in_plain_terms(value: object, terms: Mapping[str, str]) -> object:
    """Return a parsed script with the plain names of schema.org's properties, and with lists in
    place of the objects that hold lists.
    """
    if isinstance(value, list):
        return [_in_plain_terms(entry, terms) for entry in value]
    if not isinstance(value, dict):
        return value
    for name in LISTS:
        if name in value:
            return _in_plain_terms(value[name], terms)
    return {
        _plain_term(name, terms): entry if name == "@context" else _in_plain_terms(entry, terms)
        for name, entry in value.items()
    }


def _plain_term(name: str, terms: Mapping[str, str]) -> str:
    if meaning := terms.get(name):
        return meaning
    prefix, colon, rest = name.partition(":")
    return rest if colon and terms.get(prefix) == "" else SCHEMA.sub("", name)


def _parse_leniently(text: str) -> list[object]:
    """Return the objects in a script that is almost JSON: it may have several objects, CDATA marks,
    comments, trailing commas, semicolons and unknown escapes. Parsing stops at any other error.

    Libraries for damaged JSON guess (json-repair), or read beyond the end (chompjs 1.4).
    """
    json_text = COMMAS.sub(r"\1", COMMENTS.sub(r"\1", ESCAPES.sub(r"\1", text)))
    values: list[object] = []
    with suppress(ValueError, RecursionError):
        start = START.match(json_text)
        while start and len(values) < MAX_OBJECTS:
            value, end = DECODER.raw_decode(json_text, start.end(1))
            values.append(value)
            start = START.match(json_text, end)
    return values


def _objects(value: object, depth: int = 0) -> Iterator[dict[str, object]]:
    """Yield the objects of a parsed script: *value*, list entries, graphs and main entities."""
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
    """Return the types of a JSON-LD object without the address of their vocabulary."""
    kind = entry.get("@type")
    if isinstance(kind, str):
        return [_short_type(kind)]
    return [_short_type(kind) for kind in strings_of(kind)]


# Pages use few types, and the types of an object are read repeatedly.
@lru_cache(maxsize=500)
def _short_type(kind: str) -> str:
    return re.split(r"[/#:]", kind[-100:])[-1]


def title_key(text: str) -> str:
    """Return the letters and digits of *text* in lower case, to compare titles that differ in
    dashes and quotes.
    """
    return NO_LETTERS.sub("", text.casefold())


def _rank(entry: Mapping[str, object]) -> int:
    """Return `ENTITY` if an object can be a page's subject, `PAGE` if it is a page, else 0."""
    names = kinds(entry)
    if any(name in ENTITIES or name.endswith("Article") for name in names):
        return ENTITY
    return PAGE if any(name.endswith("Page") for name in names) else 0


def main_entity(
    entries: Sequence[dict[str, object]], titles: Sequence[str]
) -> tuple[dict[str, object] | None, dict[str, object] | None]:
    """Return the object of a page's subject, and the object of the page itself, of its JSON-LD.

    The subject is the object whose headline or name matches one of the *titles*, or else the only
    candidate: several candidates are the entries of a list. Without a subject both results are the
    page's object; None if the page has no such object.
    """
    if not entries:
        return None, None
    title_keys = [key for key in map(title_key, titles) if key]
    candidates: dict[int, list[dict[str, object]]] = {ENTITY: [], PAGE: []}
    matching: dict[int, dict[str, object]] = {}
    for entry in entries[:MAX_VALUES]:
        if rank := _rank(entry):
            candidates[rank].append(entry)
            if rank not in matching and has_title(entry, title_keys):
                matching[rank] = entry
    page = matching.get(PAGE)
    if page is None and candidates[PAGE]:
        page = candidates[PAGE][0]
    about = matching.get(ENTITY)
    if about is None and len(candidates[ENTITY]) == 1:
        about = candidates[ENTITY][0]
    return about or page, page


def has_title(entry: Mapping[str, object], title_keys: Sequence[str]) -> bool:
    """Tell whether an object's headline or name is part of a title, or contains a title."""
    names = strings_of(entry.get("headline") or entry.get("name"))
    key = title_key(names[0]) if names else ""
    return bool(key) and any(key in title or title in key for title in title_keys)


def strings_of(value: object, depth: int = 0) -> list[str]:
    """Return the strings of a JSON-LD value: a text or number itself, the strings of a list's
    entries, or the ``@value`` or ``name`` of an object, or the parts of a person's name.
    """
    if isinstance(value, str):
        if not value.strip() or ("{" in value and is_expression(value)):
            return []  # also a template's expression that no script has filled in
        return [without_references(value) if "&" in value else value]
    if isinstance(value, bool) or depth > MAX_DEPTH:
        return []
    if isinstance(value, (int, float)):
        return [str(value)]
    if isinstance(value, list):
        return [text for entry in value[:MAX_VALUES] for text in strings_of(entry, depth + 1)]
    if isinstance(value, dict):
        if found := strings_of(value.get("@value") or value.get("name"), depth + 1):
            return found
        parts = [text for name in NAME_PARTS for text in strings_of(value.get(name), depth + 1)[:1]]
        return [" ".join(parts)] if parts else []
    return []


def without_references(text: str) -> str:
    """Return a text without the HTML references that content management systems write into JSON."""
    if ADDRESS.fullmatch(text.strip()):
        return text.replace("&amp;", "&")
    return REFERENCE.sub(_character, text)


def _character(reference: re.Match[str]) -> str:
    """Return the character of a reference, or the reference itself if HTML does not know it."""
    text = reference[0]
    return unescape(text) if text[1] == "#" or text[1:] in html5 else text


def strings_at(entries: Iterable[Mapping[str, object]], *names: str) -> Iterator[str]:
    """Yield the strings of the properties *names* of each entry, in this order."""
    for entry in entries:
        for name in names:
            yield from strings_of(entry.get(name))


def follow(value: object, linked: Mapping[str, Mapping[str, object]]) -> object:
    """Return the object in *linked* that *value* refers to by its ``@id``. Return *value* itself if
    it has a name or address, or refers to an unknown object.
    """
    if isinstance(value, dict) and not (value.get("name") or value.get("url")):
        return linked.get(str(value.get("@id")), value)
    return value
