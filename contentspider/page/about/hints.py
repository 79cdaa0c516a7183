"""Hints of a page: titles and descriptions in its head."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.page.about.jsonld import MAX_JSON_LD_CHARS, kinds, read_json_ld
from contentspider.page.about.metadata import Mark, Statements
from contentspider.page.about.stated import stated_texts
from contentspider.page.tree.text import clean_text
from contentspider.page.words.language import language_tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from contentspider.page.about.stated import StatedText
    from contentspider.page.tree.blocks import HintElement

DESCRIPTION_NAMES = (
    *("description", "og:description", "twitter:description", "dc.description"),
    *("dcterms.description", "dcterms.abstract", "sailthru.description"),
)
# What Algorithm 1 compares blocks with (Zhou and Mashuq, 2013, and their code), after the title.
PAPER_TITLES = ("og:title", "twitter:title")
PAPER_DESCRIPTIONS = ("description", "og:description", "twitter:description")
TITLE_NAMES = ("og:title", "twitter:title", "dc.title", "dcterms.title", "sailthru.title")
LANGUAGE_NAMES = ("og:locale", "content-language", "language", "inlanguage")

# What a page says that it is, by types of JSON-LD and, after `og:`, of the Open Graph protocol.
PAGE_KINDS = {
    "news": re.compile(r"NewsArticle$"),
    "article": re.compile(r"(?:Article|BlogPosting)$|^og:article$"),
    "product": re.compile(r"^Product(?:Group)?$|^og:.*product"),
    "forum": re.compile(r"^(?:DiscussionForumPosting|QAPage)$|^og:forum"),
    "listing": re.compile(r"^(?:CollectionPage|ItemList)$|^og:.*group"),
    "faq": re.compile(r"^FAQPage$"),
    "website": re.compile(r"^og:website$"),
}

MAX_HINT_CHARS = 2_000
# Each is compared with every block of the page; product feeds have thousands.
MAX_HINTS = 100


@dataclass(frozen=True, slots=True)
class Hints:
    """Titles and descriptions that a page gives of itself, most trusted first, without repeats.

    *language* is a tag of BCP 47, *canonical* an address as the page writes it, *page_kinds* those
    of `PAGE_KINDS` that it says it is. *stated* are the titles and then the descriptions that the
    published Algorithm 1 takes, with repeats, as written.
    """

    titles: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    language: str = ""
    canonical: str = ""
    page_kinds: tuple[str, ...] = ()
    stated: tuple[str, ...] = field(default=(), compare=False)

    def texts(self) -> tuple[str, ...]:
        """Return every title and description."""
        return self.titles + self.descriptions


def squeeze(text: str) -> str:
    """Return *text* in lower case without white space, as in the paper's section 3.2."""
    return "".join(text.lower().split())


# Types that describe the site or its owner, not the page.
SITE_TYPES = frozenset(
    "WebSite Organization Person BreadcrumbList ImageObject SiteNavigationElement"
    " NewsMediaOrganization SearchAction".split()
)


def _texts(named: dict[str, list[str]], names: tuple[str, ...]) -> list[str]:
    return [text for name in names for text in named.get(name, ())]


def _page_kinds(types: list[list[str]], named: dict[str, list[str]]) -> tuple[str, ...]:
    said = [kind for of_entry in types for kind in of_entry]
    said += [f"og:{text[:100].strip().lower()}" for text in named.get("og:type", ())]
    return tuple(sorted({kind for each in said for kind in _kinds_of(each)}))


@lru_cache(maxsize=500)  # few types make up nearly all
def _kinds_of(said: str) -> tuple[str, ...]:
    return tuple(kind for kind, pattern in PAGE_KINDS.items() if pattern.search(said))


def _clean(text: str) -> str:
    text = text[: 2 * MAX_HINT_CHARS]
    if not text.isascii():
        # JSON can have lone surrogates, which cannot be written.
        text = text.encode("utf-8", "replace").decode()
    return clean_text(text)[:MAX_HINT_CHARS]


def _unique(texts: list[str]) -> tuple[str, ...]:
    found = dict.fromkeys(map(_clean, texts[: 10 * MAX_HINTS]))
    found.pop("", None)
    return tuple(found)[:MAX_HINTS]


def read_head(
    root: _Element, elements: Iterable[HintElement]
) -> tuple[Hints, Statements, tuple[StatedText, ...]]:
    """Return the hints of a page, the statements for its metadata, and its stated texts, of the
    *elements* that `read_tree` found below *root*.
    """
    named: dict[str, list[str]] = {}
    title = ""
    canonical: str | None = None
    entries: list[dict[str, object]] = []
    budget = MAX_JSON_LD_CHARS
    marks: list[Mark] = []
    marked: list[tuple[str, str]] = []
    for kind, about, text, place in elements:
        if kind == "meta":  # most are
            if name := about.strip().lower():
                named.setdefault(name, []).append(text)
        elif kind == "title":
            title = title or text
        elif kind == "link":
            if canonical is None and "canonical" in about.lower().split():
                canonical = text.strip()
        elif kind == "stated":
            marked.append((about, text))
        elif kind != "script":
            marks.append(Mark(kind, about, text, place))
        elif about.strip().lower() == "application/ld+json" and len(text) <= budget:
            budget -= len(text)
            entries += read_json_ld(text)
    titles = [title, *_texts(named, TITLE_NAMES)]
    descriptions = _texts(named, DESCRIPTION_NAMES)
    given = [title, *_texts(named, PAPER_TITLES + PAPER_DESCRIPTIONS)]
    types = [kinds(entry) for entry in entries]
    for entry, of_entry in zip(entries, types, strict=True):
        if not SITE_TYPES.intersection(of_entry):
            for name in ("headline", "name", "description", "abstract"):
                if isinstance(value := entry.get(name), str):
                    (titles if name in ("headline", "name") else descriptions).append(value)
    languages = (
        root.get("lang"),
        root.get("{http://www.w3.org/XML/1998/namespace}lang"),
        *_texts(named, LANGUAGE_NAMES),
    )
    hints = Hints(
        titles=_unique(titles),
        descriptions=_unique(descriptions),
        language=next((tag for text in languages if text and (tag := language_tag(text))), ""),
        canonical=canonical or "",
        page_kinds=_page_kinds(types, named),
        stated=tuple(text[:MAX_HINT_CHARS] for text in given[:MAX_HINTS]),
    )
    statements = Statements(title, named, entries, marks, canonical or "")
    return hints, statements, stated_texts(entries, marked) if entries or marked else ()
