"""Names of a page's authors, read from bylines and metadata."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.page.tree.text import without_marks
from contentspider.page.words.tidy import tidy, unique

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_AUTHORS = 20
MAX_AUTHOR_CHARS = 100

# What parts a person from a parent of the same name.
GENERATION = re.compile(r"(?:jr|sr|i{2,3}|iv)\.?", re.IGNORECASE)
BYLINE = re.compile(
    r"(?:(?:(?:written|posted|published|reviewed) )?by|(?:(?:geschrieben|verfasst) )?von"
    r"|(?:(?:écrit|publié) )?par|(?:(?:escrito|publicado) )?por|di|(?:scritto|pubblicato) da"
    r"|a cura di|(?:geschreven )?door|(?:skrevet |skriven )?av|автор)"
    r"(?:\s*:\s*|\s+|$)",
    re.IGNORECASE,
)
SEPARATOR = re.compile(r"\s*[;|]\s*")
# "Ada Byron, Bob Frank, and Cy Doe" are three names. "Ada Byron, MD" and "Ada Byron, Head of
# Research and Development" are one name: in an enumeration each name has at least two words.
JOINT = re.compile(r"\s*,?\s+(?:and|und|et|y|e|en|och|og|и|&)\s+")
COMMA = re.compile(r"\s*,\s*")
NO_PERSON = re.compile(
    r"\b(?:of|the|for|at|in|from|staff|senior|sr|junior|chief|head|lead|editor\w*|writer|author|reporter"
    r"|correspondent|contributor|columnist|critic|producer|photographer|director|manager|officer|president"
    r"|founder|co-founder|partner|professor|prof|doctor|dr|phd|md|rd|cfp|expert|specialist|engineer|scientist"
    r"|analyst|consultant|coach|nurse|attorney|lawyer|team|press|news\w*|times|post|journal|magazine|media"
    r"|agency|agence|agentur|university|college|institute|school|center|centre|society|association|inc|ltd"
    r"|llc|gmbh|s\.r\.o|company|group|department|office|bureau|service|staff|redaktion\w*|redactie|redaction"
    r"|rédaction|redacción|redazione|redakcja|editions?|m\.a|b\.a|m\.d|ph\.d|journalist\w*|periodista|giornalista|journaliste)\b|\d",
    re.IGNORECASE,
)
NAME = re.compile(r"[^\W\d_][\w.'’-]*(?:\s+[\w.'’-]+){1,3}")


def author_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in *texts*, each once, without the word "By", addresses and account names.

    At most `MAX_AUTHORS` names are returned, each with at most `MAX_AUTHOR_CHARS` characters.

    >>> author_names(["By Ada Byron and Bob Frank", "https://social.example/ada", "Cy Doe, MD"])
    ('Ada Byron', 'Bob Frank', 'Cy Doe, MD')
    """
    names: list[str] = []
    for text in texts:
        for part in filter(None, SEPARATOR.split(tidy(text, MAX_AUTHORS * MAX_AUTHOR_CHARS))):
            byline = BYLINE.match(part)
            enumeration = part[byline.end() :] if byline else part
            names += filter(_is_name, _split_enumeration(enumeration))
        if len(names) >= 2 * MAX_AUTHORS:
            break
    return unique(names, MAX_AUTHORS, MAX_AUTHOR_CHARS)


def in_order(text: str) -> str:
    """Return the name of a person as it is spoken, where libraries put the family name first.

    Two names of two words each may be those of two persons.

    >>> in_order("Byron, Ada"), in_order("Doe, Cy, MD"), in_order("Cy Doe, Jr.")
    ('Ada Byron', 'Doe, Cy, MD', 'Cy Doe, Jr.')
    >>> in_order("de la Cruz, Eva"), in_order("Ada Byron, Cy Doe")
    ('Eva de la Cruz', 'Ada Byron, Cy Doe')
    """
    family, comma, given = text.strip().partition(",")
    is_name = comma and "," not in given and given.strip() and not NO_PERSON.search(text)
    is_name = is_name and not GENERATION.fullmatch(given.strip())
    is_name = is_name and min(len(family.split()), len(given.split())) < 2
    return f"{given.strip()} {family.strip()}" if is_name else text


def with_all(names: tuple[str, ...], shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the authors that a page shows if they are all *names* and more, else *names*.

    Metadata often have only the account that published the page, and a learned place one link.

    >>> with_all(("Ada Byron",), ("Bob Frank", "Ada Byron")), with_all(("Ada Byron",), ("Bob",))
    (('Bob Frank', 'Ada Byron'), ('Ada Byron',))
    """
    return shown if set(names_key(names)) < set(names_key(shown)) else names


@lru_cache(maxsize=4_096)  # the pages of a site have the same names
def name_key(text: str) -> tuple[str, ...]:
    """Return the names in a text for comparison: in lower case and sorted; () without a name.

    >>> name_key("Von Ada Byron und Bob Frank") == name_key("By Bob Frank and Ada Byron")
    True
    """
    return names_key(author_names([text]))


def names_key(names: Iterable[str]) -> tuple[str, ...]:
    """Return names for comparison: in lower case and sorted."""
    return tuple(sorted(name.casefold() for name in names))


def _split_enumeration(text: str) -> list[str]:
    """Return the names that *text* enumerates; *text* itself if it is not a list of names."""
    parts = [name for part in JOINT.split(text) for name in COMMA.split(part)]
    if not all(NAME.fullmatch(without_marks(part)) and not part[0].islower() for part in parts):
        return [text]
    # Without an "and", a comma may separate a name from a job title, a degree or an employer.
    if not JOINT.search(text) and any(NO_PERSON.search(part) for part in parts):
        return [text]
    return parts


def _is_name(text: str) -> bool:
    return "@" not in text and "://" not in text and any(map(str.isalpha, text))
