"""Reads the metadata of a page: title, dates, authors, image, section, keywords.

The metadata come from the same elements as the hints (`contentspider.page.about.hints`). Pages are
untrusted input, so all values are limited in length and number, and control characters are removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.addresses import MAX_ADDRESS_CHARS, split_address
from contentspider.page.about.authors import author_names, in_order, with_all
from contentspider.page.about.breadcrumbs import read_section
from contentspider.page.about.jsonld import (
    MAX_VALUES,
    follow,
    kinds,
    main_entity,
    strings_at,
    strings_of,
    title_key,
)
from contentspider.page.about.written_dates import read_date
from contentspider.page.words.phrases import read_data
from contentspider.page.words.tidy import tidy, unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_NAME_CHARS = 200
MAX_TITLE_CHARS = 500
MAX_KEYWORDS = 50
MAX_KEYWORD_CHARS = 100

# The rank and the field of each name of a meta element. Names with a lower rank are trusted more.
FIELD_RANKS = {
    name: (rank, field_name)
    for field_name, names in read_data("metadata.json").items()
    for rank, name in enumerate(names)
}

# Google Scholar's and Dublin Core's names of meta elements, whose authors are "Byron, Ada".
LIBRARY_NAMES = ("citation_", "dc.", "dcterms.")
SPLIT_KEYWORDS = re.compile(r"[,;|、，；]")
# Classes that themes use for the element of a date.
PUBLISHED_CLASS = re.compile(r"datepublished|pubdate|\bpublished\b|\bentry-date\b|\bpost-date\b")
MODIFIED_CLASS = re.compile(r"datemodified|\b(?:updated|modified)\b")
# The largest number of elements (a byline, an image, buttons) between the headline and the page's
# date. Dates of comments and of other articles are further away.
NEAR_BEFORE, NEAR_AFTER = 15, 40


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a page; missing fields are empty.

    *title* comes from the object of the page's subject or from Open Graph. *site_name* is the
    site's name. *image* is an address as the page writes it. Dates are ISO 8601. *section* has the
    names of the breadcrumbs between the front page and this page, the outermost first.

    *stated* has the name ``published_at`` or ``author``, or both, if JSON-LD or a meta element
    gives this field. *marked_at* and *marked_author* are the day of publication and the authors
    that the markup of the body marks.
    """

    title: str = ""
    site_name: str = ""
    published_at: str = ""
    modified_at: str = ""
    author: tuple[str, ...] = ()
    image: str = ""
    section: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    marked_at: str = ""
    marked_author: tuple[str, ...] = ()


NOTHING = Metadata()


class Mark(NamedTuple):
    """An element that may be a date, an author or the headline.

    *kind* is ``date``, ``author`` or ``headline``, *about* the element's ``itemprop`` and classes,
    and *place* the number of elements before it on the page.
    """

    kind: str
    about: str
    text: str
    place: int


@dataclass(eq=False)
class Statements:
    """The parts of a page's markup that metadata are read from, as the page writes them.

    *title* is the ``<title>``. *meta* has the contents of the meta elements by lower-case name,
    *entries* the objects of the JSON-LD, *marks* the dates, authors and headlines of the body in
    document order. *canonical* is the canonical link's address, *language* the page's language.
    """

    title: str = ""
    meta: Mapping[str, list[str]] = field(default_factory=dict)
    entries: Sequence[dict[str, object]] = ()
    marks: Sequence[Mark] = ()
    canonical: str = ""
    language: str = ""

    @classmethod
    def of(cls, metadata: Metadata) -> Statements:
        """Return statements whose metadata are *metadata*, for a page that was read from a file."""
        statements = cls()
        statements.metadata = metadata
        return statements

    @cached_property
    def metadata(self) -> Metadata:
        """The metadata, computed at first access, since many pages need none.

        The statements are dropped then, to save memory.
        """
        metadata = read_metadata(self)
        self.meta, self.entries, self.marks = {}, (), ()
        return metadata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statements) and self.metadata == other.metadata


def read_metadata(statements: Statements) -> Metadata:
    """Return the metadata that a page's *statements* give."""
    meta, entries, marks = statements.meta, statements.entries, statements.marks
    if not (meta or entries or marks):
        return NOTHING
    meta_texts = _by_field(meta)
    page_titles = [statements.title, *meta.get("og:title", ())]
    linked = {str(entry["@id"]): entry for entry in entries[:MAX_VALUES] if "@id" in entry}
    about, page = main_entity(entries, page_titles)
    main_entries = [entry for entry in (about, page) if entry]
    site_name = _site_name(meta_texts, entries, linked)
    dates = _dates(main_entries, meta_texts, marks, statements.language)
    site = _site_names(site_name, main_entries, linked, statements.canonical)
    authors = _authors(about, meta_texts, linked, site, marks)
    headlines = strings_at([about] if about else [], "headline", "name")
    titles = (*headlines, *meta.get("og:title", ()), *meta.get("twitter:title", ()))
    return Metadata(
        title=_first(titles, MAX_TITLE_CHARS),
        site_name=site_name,
        published_at=dates.published,
        modified_at=dates.modified,
        author=authors.names,
        image=_image(main_entries, meta_texts, linked),
        section=read_section(about, entries, meta_texts, page_titles, statements.canonical),
        keywords=_keywords(about, meta_texts),
        stated=(*dates.stated, *authors.stated),
        marked_at=dates.marked,
        marked_author=authors.marked,
    )


class _Dates(NamedTuple):
    """The days of publication and of the last change, and the day of publication that the body
    marks; "" if unknown. *stated* is as in `Metadata`.
    """

    published: str
    modified: str
    marked: str
    stated: tuple[str, ...]


def _dates(
    entries: Sequence[Mapping[str, object]],
    meta_texts: Mapping[str, list[str]],
    marks: Sequence[Mark],
    language: str,
) -> _Dates:
    """Return the dates of a page. JSON-LD *entries* are trusted most, then meta elements, then
    *marks* in the body.
    """
    created = strings_at(entries, "datePublished", "uploadDate", "dateCreated")
    changed = strings_at(entries, "dateModified")
    published = _first_date(language, *created, *meta_texts.get("published", ()))
    modified = _first_date(language, *changed, *meta_texts.get("modified", ()))
    stated = ("published_at",) if published else ()
    marked, marked_change = _marked_dates(marks, language)
    if not published:
        published, modified = marked, modified or marked_change
    if modified[:10] < published[:10]:
        modified = ""  # a change before the publication: one of them is a date of the template
    return _Dates(published, modified, marked, stated)


class _Authors(NamedTuple):
    """The authors of a page, and the authors that its body marks. *stated* is as in `Metadata`."""

    names: tuple[str, ...]
    marked: tuple[str, ...]
    stated: tuple[str, ...]


def _authors(
    about: Mapping[str, object] | None,
    meta_texts: Mapping[str, list[str]],
    linked: Mapping[str, Mapping[str, object]],
    site: _SiteNames,
    marks: Sequence[Mark],
) -> _Authors:
    """Return the authors of a page: the stated ones, or the marked ones if these are more than the
    stated, or if only the site is stated.
    """
    names = _stated_author(about, meta_texts, linked, site)
    marked = author_names(_marked_authors(marks)[:MAX_VALUES])
    if all(map(site.has, names)):
        return _Authors(marked or names, marked, ())
    return _Authors(with_all(names, marked), marked, ("author",))


def _by_field(meta: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the contents of the meta elements by field, the most trusted first."""
    texts_of: dict[str, list[str]] = {}
    ranked_names = sorted((*FIELD_RANKS[name], name) for name in meta if name in FIELD_RANKS)
    for _, field_name, name in ranked_names:
        # Elements with different names spell one author differently, so only one name is read.
        # Several authors have one element each, all with the same name.
        if field_name != "author":
            texts_of.setdefault(field_name, []).extend(meta[name])
        elif field_name not in texts_of:
            is_of_library = name.startswith(LIBRARY_NAMES)
            texts_of[field_name] = list(map(in_order, meta[name])) if is_of_library else meta[name]
    return texts_of


def _first(texts: Iterable[str], limit: int) -> str:
    """Return the first text that is not empty, with at most *limit* characters."""
    return next(filter(None, (tidy(text, limit) for text in texts)), "")


def _first_date(language: str, *texts: str) -> str:
    """Return the first valid date of *texts* in ISO 8601."""
    dates = (read_date(text, language=language) for text in texts[:MAX_VALUES])
    return next(filter(None, dates), "")


def _marked_dates(marks: Sequence[Mark], language: str) -> tuple[str, str]:
    """Return the dates of publication and of the last change that the body's ``<time>`` elements
    give.
    """
    dates = _dates_of_page(marks, language)
    modified = [date for mark, date in dates if _is_modified(mark)]
    published = [(mark, date) for mark, date in dates if not _is_modified(mark)]
    # An element whose class says that it is the date of publication comes before all others.
    published.sort(key=lambda pair: PUBLISHED_CLASS.search(pair[0].about) is None)
    return "".join(date for _, date in published[:1]), "".join(modified[:1])


def _dates_of_page(marks: Sequence[Mark], language: str) -> list[tuple[Mark, str]]:
    """Return the marks of dates near the headline, or all if these agree on the day of publication
    (without one, on the day of the last change). Other dates may belong to other pages.
    """
    dates = [
        (mark, date)
        for mark in marks[:MAX_VALUES]
        if mark.kind == "date" and (date := read_date(mark.text, language=language))
    ]
    headline = _headline(marks)
    if near := [(mark, date) for mark, date in dates if _is_near(mark.place, headline)]:
        return near
    days = {date[:10] for mark, date in dates if not _is_modified(mark)}
    return dates if len(days or {date[:10] for _, date in dates}) == 1 else []


def _is_modified(mark: Mark) -> bool:
    """Tell whether a mark is the date of a change."""
    # WordPress gives a page that was never changed the classes "published updated".
    return bool(MODIFIED_CLASS.search(mark.about)) and not PUBLISHED_CLASS.search(mark.about)


def _stated_author(
    about: Mapping[str, object] | None,
    meta_texts: Mapping[str, list[str]],
    linked: Mapping[str, Mapping[str, object]],
    site: _SiteNames,
) -> tuple[str, ...]:
    """Return the stated authors from the most trusted source that names anybody but the site.
    Return the site's name if all sources name only the site, and nothing if no source has a name.
    """
    value = about.get("author") or about.get("creator") if about else None
    people = value if isinstance(value, list) else [value]
    json_names: list[str] = []
    for person in people[:MAX_VALUES]:
        json_names += strings_of(follow(person, linked))
    site_names: tuple[str, ...] = ()
    for texts in (json_names, meta_texts.get("author", [])):
        names = author_names(texts[:MAX_VALUES])
        if not all(map(site.has, names)):
            return names
        site_names = site_names or names
    return site_names


def _marked_authors(marks: Sequence[Mark]) -> list[str]:
    """Return the marked authors near the headline, or else the only author marked on the page."""
    headline = _headline(marks)
    authors = [mark for mark in marks if mark.kind == "author"]
    near = [mark.text for mark in authors if _is_near(mark.place, headline)]
    if near:
        return near
    # On a listing each entry has its own author.
    names = {mark.text.strip() for mark in authors}
    return [authors[0].text] if len(names) == 1 else []


def _headline(marks: Sequence[Mark]) -> int | None:
    """Return the place of the first headline; None if the page lacks a headline."""
    return next((mark.place for mark in marks if mark.kind == "headline"), None)


def _is_near(place: int, headline: int | None) -> bool:
    """Tell whether a place is close enough to the headline to belong to the page's own byline."""
    return headline is not None and headline - NEAR_BEFORE <= place <= headline + NEAR_AFTER


def _image(
    entries: Sequence[Mapping[str, object]],
    meta_texts: Mapping[str, list[str]],
    linked: Mapping[str, Mapping[str, object]],
) -> str:
    """Return the address of the page's image, as the page writes it; "" if it names none."""
    json_images: list[str] = []
    for entry in entries:
        for name in ("image", "primaryImageOfPage", "thumbnailUrl"):
            value = entry.get(name)
            for image in value[:1] if isinstance(value, list) else [value]:
                target = follow(image, linked)
                if isinstance(target, dict):
                    target = target.get("contentUrl") or target.get("url")
                json_images += strings_of(target)[:1]
    for text in (
        *meta_texts.get("open graph image", ()),
        *json_images,
        *meta_texts.get("image", ()),
    ):
        address = "".join(text[: MAX_ADDRESS_CHARS + 1].split())
        if address and len(address) <= MAX_ADDRESS_CHARS and not address.startswith("data:"):
            return tidy(address, MAX_ADDRESS_CHARS)
    return ""


def _keywords(
    about: Mapping[str, object] | None, meta_texts: Mapping[str, list[str]]
) -> tuple[str, ...]:
    """Return the keywords of the meta elements and of the JSON-LD object, each once."""
    if not about and "keywords" not in meta_texts:
        return ()
    texts = [*meta_texts.get("keywords", ()), *strings_at([about] if about else [], "keywords")]
    words: list[str] = []
    for text in texts[:MAX_VALUES]:
        words += SPLIT_KEYWORDS.split(text[: MAX_KEYWORDS * MAX_KEYWORD_CHARS], MAX_KEYWORDS)
    return unique(words, MAX_KEYWORDS, MAX_KEYWORD_CHARS)


def _site_name(
    meta_texts: Mapping[str, list[str]],
    entries: Sequence[Mapping[str, object]],
    linked: Mapping[str, Mapping[str, object]],
) -> str:
    """Return the site's name by meta elements, ``WebSite`` objects or publishers; "" if unknown."""
    sites = [entry for entry in entries[:MAX_VALUES] if "WebSite" in kinds(entry)]
    publishers = (follow(entry.get("publisher"), linked) for entry in entries[:MAX_VALUES])
    names = (text for publisher in publishers for text in strings_of(publisher)[:1])
    texts = (*meta_texts.get("site", ()), *strings_at(sites, "name"), *names)
    return _first(texts, MAX_NAME_CHARS)


class _SiteNames(NamedTuple):
    """The keys (`title_key`) of names that are the site and no author. *hosts* has the keys of the
    page's host, with and without the top-level domain.
    """

    keys: set[str]
    hosts: set[str]

    def has(self, name: str) -> bool:
        """Tell whether a name is the site. A name of several words is not the host alone: many
        hosts have the name of the person who writes there.
        """
        key = title_key(name)
        return key in self.keys or (key in self.hosts and len(name.split()) == 1)


def _site_names(
    site_name: str,
    main_entries: Sequence[Mapping[str, object]],
    linked: Mapping[str, Mapping[str, object]],
    address: str,
) -> _SiteNames:
    """Return the site's name, the page's publishers, and the host of its *address*. A person who
    publishes is an author.
    """
    host = (split_address(address).hostname or "").removeprefix("www.")
    hosts = (host, host.rpartition(".")[0])
    names = [site_name]
    for entry in main_entries:
        publisher = follow(entry.get("publisher"), linked)
        if not (isinstance(publisher, dict) and "Person" in kinds(publisher)):
            names += strings_of(publisher)[:MAX_VALUES]
    return _SiteNames(set(map(title_key, names)) - {""}, set(map(title_key, hosts)) - {""})
