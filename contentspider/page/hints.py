"""Hints of a page: what it says it is about (titles and descriptions in its head)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.page._hints import hint_elements
from contentspider.page.blocks import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

DESCRIPTION_NAMES = (
    "description",
    "og:description",
    "twitter:description",
    "dc.description",
    "dcterms.description",
    "dcterms.abstract",
    "sailthru.description",
)
TITLE_NAMES = ("og:title", "twitter:title", "dc.title", "dcterms.title", "sailthru.title")

# JSON-LD beyond this is a product feed, not a page's description.
MAX_JSON_LD_CHARS = 500_000
MAX_HINT_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Hints:
    """Titles and descriptions that a page gives of itself, most trusted first, without repeats."""

    titles: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    language: str = ""
    canonical: str = ""

    def texts(self) -> tuple[str, ...]:
        """Return every title and description."""
        return self.titles + self.descriptions


def squeeze(text: str) -> str:
    """Return *text* in lower case without white space, as the paper compares texts (section 3.2)."""
    return "".join(text.lower().split())


def _json_ld_objects(value: object, depth: int = 0) -> Iterator[dict[str, object]]:
    if depth > 6:
        return
    if isinstance(value, dict):
        yield value
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            if key in value:
                yield from _json_ld_objects(value[key], depth + 1)
    elif isinstance(value, list):
        for entry in value[:100]:
            yield from _json_ld_objects(entry, depth + 1)


# Types that describe the site or its owner, not the page.
SITE_TYPES = frozenset(
    [
        "WebSite",
        "Organization",
        "Person",
        "BreadcrumbList",
        "ImageObject",
        "SiteNavigationElement",
        "NewsMediaOrganization",
        "SearchAction",
    ]
)


def _read_json_ld(text: str, titles: list[str], descriptions: list[str]) -> None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return  # half of the web's JSON-LD is broken; the other hints remain
    for entry in _json_ld_objects(value):
        kinds = entry.get("@type")
        if any(
            isinstance(kind, str) and kind in SITE_TYPES
            for kind in (kinds if isinstance(kinds, list) else [kinds])
        ):
            continue
        for names, found in (
            (("headline", "name"), titles),
            (("description", "abstract"), descriptions),
        ):
            found.extend(entry[name] for name in names if isinstance(entry.get(name), str))  # type: ignore[misc]


def _unique(texts: list[str]) -> tuple[str, ...]:
    # JSON can hold half of an emoji, which is no text that could be written anywhere.
    cleaned = (
        clean_text(text[: 2 * MAX_HINT_CHARS].encode("utf-8", "replace").decode())[:MAX_HINT_CHARS]
        for text in texts
    )
    return tuple(dict.fromkeys(text for text in cleaned if text))


def extract_hints(root: _Element) -> Hints:
    """Return the hints in the head of the page (and its JSON-LD, wherever it stands)."""
    named: dict[str, list[str]] = {}
    title = ""
    canonical: str | None = None
    ld_titles: list[str] = []
    ld_descriptions: list[str] = []
    for tag, about, text in hint_elements(root):
        if tag == "title":
            title = title or text
        elif tag == "meta":
            if name := about.strip().lower():
                named.setdefault(name, []).append(text)
        elif tag == "link":
            if canonical is None and "canonical" in about.lower().split():
                canonical = text.strip()
        elif about.strip().lower() == "application/ld+json" and len(text) <= MAX_JSON_LD_CHARS:
            _read_json_ld(text, ld_titles, ld_descriptions)
    titles = [title, *(text for name in TITLE_NAMES for text in named.get(name, ()))]
    descriptions = [text for name in DESCRIPTION_NAMES for text in named.get(name, ())]
    language = (
        root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or ""
    ).strip()
    if not language:
        language = next(
            (
                text
                for name in ("og:locale", "content-language", "language")
                for text in named.get(name, ())
            ),
            "",
        )
    return Hints(
        titles=_unique(titles + ld_titles),
        descriptions=_unique(descriptions + ld_descriptions),
        language=language[:35],
        canonical=canonical or "",
    )
