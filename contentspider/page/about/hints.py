"""Reads a page's hints: titles, descriptions, language and kinds, from its head and JSON-LD."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.page.about.jsonld import (
    MAX_JSON_LD_CHARS,
    kinds,
    read_json_ld,
    strings_of,
    title_key,
    without_references,
)
from contentspider.page.about.metadata import Mark, Statements
from contentspider.page.about.stated_texts import stated_texts
from contentspider.page.tree.text import clean_text
from contentspider.page.words.language import language_tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from contentspider.page.about.stated_texts import StatedText
    from contentspider.page.tree.blocks import HintElement

DESCRIPTION_NAMES = (
    *("description", "og:description", "twitter:description", "dc.description"),
    *("dcterms.description", "dcterms.abstract", "sailthru.description"),
)
# The meta elements that Algorithm 1 of Zhou and Mashuq (2013) compares blocks with, after the
# title, as in the authors' code.
PAPER_TITLES = ("og:title", "twitter:title")
PAPER_DESCRIPTIONS = ("description", "og:description", "twitter:description")
TITLE_NAMES = ("og:title", "twitter:title", "dc.title", "dcterms.title", "sailthru.title")
LANGUAGE_NAMES = (
    *("og:locale", "content-language", "language", "inlanguage", "dc.language"),
    "dcterms.language",
)
# Dublin Core in RDFa has a colon in its names; in HTML, a full stop.
LIBRARY_PREFIX = re.compile(r"^(dc|dcterms):")

# The kinds that a page can declare, with patterns of JSON-LD types and of Open Graph types, which
# have the prefix "og:".
PAGE_KINDS = {
    "news": re.compile(r"NewsArticle$"),
    "article": re.compile(r"(?:Article|BlogPosting)$|^og:article$"),
    "product": re.compile(r"^Product(?:Group)?$|^og:.*product"),
    "forum": re.compile(r"^(?:DiscussionForumPosting|QAPage)$|^og:forum"),
    "listing": re.compile(r"^(?:CollectionPage|ItemList)$|^og:.*group"),
    "faq": re.compile(r"^FAQPage$"),
    "website": re.compile(r"^og:website$"),
}
# The kind of a page that declares one product as its subject, by JSON-LD or by Open Graph.
ONE_PRODUCT = "one product"
PRODUCT_TYPES = frozenset(("Product", "ProductGroup"))
OFFERS = frozenset(("offers", "hasVariant", "sku"))
META_TYPES = frozenset(("product", "og:product", "product.item"))  # contents of "og:type"
PRICES = frozenset(("product:price:amount", "og:price:amount"))

MAX_HINT_CHARS = 2_000
# Each hint is compared with every block of the page; product feeds have thousands of titles.
MAX_HINTS = 100
MAX_FEEDS = 20


@dataclass(frozen=True, slots=True)
class Hints:
    """A page's titles and descriptions of itself, the most trusted first, without duplicates.

    *language* is a BCP 47 tag, *canonical* an address as the page writes it, and *page_kinds* has
    the names in `PAGE_KINDS` that the page declares, and `ONE_PRODUCT`. *feeds* has the addresses
    of the feeds that the page announces, as it writes them. *stated* has the titles, then the
    descriptions that the published Algorithm 1 uses, as the page writes them, with duplicates.
    """

    titles: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    language: str = ""
    canonical: str = ""
    page_kinds: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    stated: tuple[str, ...] = field(default=(), compare=False)

    def texts(self) -> tuple[str, ...]:
        """Return every title and description."""
        return self.titles + self.descriptions


def squeeze(text: str) -> str:
    """Return *text* in lower case without white space, as in section 3.2 of Zhou and Mashuq."""
    return "".join(text.lower().split())


# Types that describe the site or its owner, not the page.
SITE_TYPES = frozenset(
    "WebSite Organization Person BreadcrumbList ImageObject SiteNavigationElement"
    " NewsMediaOrganization SearchAction".split()
)


def _texts(meta: dict[str, list[str]], names: tuple[str, ...]) -> list[str]:
    """Return the contents of the meta elements with one of *names*, in the order of the names."""
    return [text for name in names for text in meta.get(name, ())]


def _page_kinds(
    entries: list[dict[str, object]], types: list[list[str]], meta: dict[str, list[str]]
) -> tuple[str, ...]:
    """Return the kinds that a page declares by Open Graph, or by the objects of its JSON-LD
    (*entries*, which have the *types*), sorted.
    """
    meta_types = [text[:100].strip().lower() for text in meta.get("og:type", ())]
    declared_types = [kind for entry_types in types for kind in entry_types]
    declared_types += [f"og:{name}" for name in meta_types]
    page_kinds = {kind for name in declared_types for kind in _kinds_of(name)}
    if "product" in page_kinds and "listing" not in page_kinds:
        pairs = zip(entries, types, strict=True)
        products = [entry for entry, names in pairs if not PRODUCT_TYPES.isdisjoint(names)]
        if _is_one_product(products, meta, meta_types):
            page_kinds.add(ONE_PRODUCT)
    return tuple(sorted(page_kinds))


def _is_one_product(
    products: list[dict[str, object]], meta: dict[str, list[str]], meta_types: list[str]
) -> bool:
    """Tell whether a page declares one product, with an offer or a price. Categories of shops
    declare several products, or a product that has only ratings.
    """
    has_offer = any(not OFFERS.isdisjoint(product) for product in products)
    if not has_offer and PRICES.isdisjoint(meta):
        return False
    names = {title_key("".join(strings_of(product.get("name"))[:1])) for product in products}
    return not META_TYPES.isdisjoint(meta_types) or (len(names) == 1 and "" not in names)


@lru_cache(maxsize=500)  # pages use few types
def _kinds_of(declared_type: str) -> tuple[str, ...]:
    """Return the kinds of page that a type of JSON-LD or Open Graph means."""
    return tuple(kind for kind, pattern in PAGE_KINDS.items() if pattern.search(declared_type))


def _clean(text: str) -> str:
    """Return *text* cleaned and cut to `MAX_HINT_CHARS`."""
    text = text[: 2 * MAX_HINT_CHARS]
    if not text.isascii():
        # JSON can contain lone surrogates, which cannot be encoded.
        text = text.encode("utf-8", "replace").decode()
    return clean_text(text)[:MAX_HINT_CHARS]


def _unique(texts: list[str]) -> tuple[str, ...]:
    """Return the cleaned texts without duplicates and empty ones, at most `MAX_HINTS`."""
    cleaned = dict.fromkeys(map(_clean, texts[: 10 * MAX_HINTS]))
    cleaned.pop("", None)
    return tuple(cleaned)[:MAX_HINTS]


class _Head:
    """The hint elements of a page, sorted by kind."""

    def __init__(self, elements: Iterable[HintElement]) -> None:
        self.title = ""
        self.canonical = ""
        self.feeds: list[str] = []
        self.meta: dict[str, list[str]] = {}  # contents of meta elements by lower-case name
        self.entries: list[dict[str, object]] = []  # objects of JSON-LD
        self.marks: list[Mark] = []
        self.rdfa: list[tuple[str, str]] = []  # properties of RDFa and their markup
        self._has_canonical = False
        self._json_chars = 0
        for kind, about, text, place in elements:
            if kind == "meta":  # the most frequent kind comes first
                if name := LIBRARY_PREFIX.sub(
                    r"\1.", about.strip().lower().removeprefix("schema:")
                ):
                    self.meta.setdefault(name, []).append(text)
            elif kind == "title":
                self.title = self.title or text
            elif kind == "link":
                self._add_link(about, text)
            elif kind == "feed":
                self.feeds.append(text[:MAX_HINT_CHARS])
            elif kind == "stated":
                self.rdfa.append((about, text))
            elif kind == "script":
                self._add_script(about, text)
            else:
                self.marks.append(Mark(kind, about, text, place))

    def _add_link(self, relations: str, address: str) -> None:
        """Keep the address of the first canonical link, even if it is empty."""
        if not self._has_canonical and "canonical" in relations.lower().split():
            self.canonical, self._has_canonical = address.strip(), True

    def _add_script(self, media_type: str, text: str) -> None:
        """Read a script of JSON-LD, unless all scripts together would be too long."""
        is_json_ld = media_type.partition(";")[0].strip().lower() == "application/ld+json"
        if is_json_ld and self._json_chars + len(text) <= MAX_JSON_LD_CHARS:
            self._json_chars += len(text)
            self.entries += read_json_ld(text)


def read_head(
    root: _Element, elements: Iterable[HintElement]
) -> tuple[Hints, Statements, tuple[StatedText, ...]]:
    """Return a page's hints, the statements for its metadata, and its stated texts.

    *elements* are the hint elements that `read_tree` found below *root*.
    """
    head = _Head(elements)
    types = [kinds(entry) for entry in head.entries]
    titles = [head.title, *_texts(head.meta, TITLE_NAMES)]
    descriptions = _texts(head.meta, DESCRIPTION_NAMES)
    for entry, entry_types in zip(head.entries, types, strict=True):
        if not SITE_TYPES.intersection(entry_types):
            titles += _strings(entry, "headline", "name")
            descriptions += _strings(entry, "description", "abstract")
    paper_texts = [head.title, *_texts(head.meta, PAPER_TITLES + PAPER_DESCRIPTIONS)]
    hints = Hints(
        titles=_unique(titles),
        descriptions=_unique(descriptions),
        language=_language(root, head.meta),
        canonical=head.canonical,
        page_kinds=_page_kinds(head.entries, types, head.meta),
        feeds=tuple(head.feeds[:MAX_FEEDS]),
        stated=tuple(text[:MAX_HINT_CHARS] for text in paper_texts[:MAX_HINTS]),
    )
    statements = Statements(
        head.title, head.meta, head.entries, head.marks, head.canonical, hints.language
    )
    has_texts = bool(head.entries or head.rdfa)
    return hints, statements, stated_texts(head.entries, head.rdfa) if has_texts else ()


def _strings(entry: dict[str, object], *names: str) -> list[str]:
    """Return the properties *names* of a JSON-LD object that are strings."""
    values = (entry.get(name) for name in names)
    return [without_references(value) for value in values if isinstance(value, str)]


def _language(root: _Element, meta: dict[str, list[str]]) -> str:
    """Return the first valid language that a page declares, as a BCP 47 tag; "" without any."""
    declared = (
        root.get("lang"),
        root.get("{http://www.w3.org/XML/1998/namespace}lang"),
        *_texts(meta, LANGUAGE_NAMES),
    )
    return next(filter(None, map(language_tag, filter(None, declared))), "")
