"""The metadata of a page: dates, author, picture, section, keywords.

It is read from the same elements as the hints (`contentspider.page.about.hints`), and is untrusted:
values are bounded and have no control characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.addresses import MAX_ADDRESS_CHARS
from contentspider.page.about.authors import author_names
from contentspider.page.about.crumbs import read_section
from contentspider.page.about.dates import parse_date
from contentspider.page.about.jsonld import (
    MAX_VALUES,
    follow,
    kinds,
    main_entity,
    strings_at,
    strings_of,
    title_key,
)
from contentspider.page.words.phrases import read_data
from contentspider.page.words.tidy import tidy, unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_NAME_CHARS = 200
MAX_TITLE_CHARS = 500
MAX_KEYWORDS = 50
MAX_KEYWORD_CHARS = 100

# The field that each name of a meta element is for, and how trusted it is: the lowest most.
PLACES = {
    name: (rank, about)
    for about, names in read_data("metadata.json").items()
    for rank, name in enumerate(names)
}

SPLIT_KEYWORDS = re.compile(r"[,;|、，；]")
# A theme's own words for a date, in the classes of its element.
PUBLISHED_CLASS = re.compile(r"datepublished|pubdate|\bpublished\b|\bentry-date\b|\bpost-date\b")
MODIFIED_CLASS = re.compile(r"datemodified|\b(?:updated|modified)\b")
# How many elements may stand between a headline and the date that is its own: a byline, a
# picture, buttons. A comment's date is further away, and so are the dates of other articles.
NEAR_BEFORE, NEAR_AFTER = 15, 40


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a page; missing fields are empty.

    *title* is that of the page's main entity or of Open Graph, *site_name* its site's, *image* an
    address as the page writes it. Dates are ISO 8601. *section* is the way from the front page to
    this one, outermost first.
    """

    title: str = ""
    site_name: str = ""
    published_at: str = ""
    modified_at: str = ""
    author: tuple[str, ...] = ()
    image: str = ""
    section: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


NOTHING = Metadata()


class Mark(NamedTuple):
    """An element that may be a date or an author (*kind*), or the headline: how it is marked
    (*about*: ``itemprop`` and classes), its *text*, and how many elements stand before it.
    """

    kind: str
    about: str
    text: str
    place: int


@dataclass(eq=False)
class Statements:
    """What a page states of itself, as it is written there.

    *title* is its ``<title>``, *named* the contents of its meta elements by their lower-case names,
    *entries* the objects of its JSON-LD, *marks* what is marked in its body in document order,
    *canonical* the address of its canonical link.
    """

    title: str = ""
    named: Mapping[str, list[str]] = field(default_factory=dict)
    entries: Sequence[dict[str, object]] = ()
    marks: Sequence[Mark] = ()
    canonical: str = ""

    @classmethod
    def of(cls, metadata: Metadata) -> Statements:
        """Return the statements that make *metadata*."""
        statements = cls()
        statements.metadata = metadata
        return statements

    @cached_property
    def metadata(self) -> Metadata:
        """The metadata, computed when they are asked for: many pages need none."""
        metadata = read_metadata(self)
        self.named, self.entries, self.marks = {}, (), ()  # they are large
        return metadata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statements) and self.metadata == other.metadata


def read_metadata(stated: Statements) -> Metadata:
    """Return what a page says of itself by what it has *stated*."""
    named, entries, marks = stated.named, stated.entries, stated.marks
    if not (named or entries or marks):
        return NOTHING
    said = _by_field(named)
    known = [stated.title, *named.get("og:title", ())]
    linked = {str(entry["@id"]): entry for entry in entries[:MAX_VALUES] if "@id" in entry}
    about, page = main_entity(entries, known)
    both = [entry for entry in (about, page) if entry]
    published = _first_date(
        *strings_at(both, "datePublished", "uploadDate", "dateCreated"), *said.get("published", ())
    )
    modified = _first_date(*strings_at(both, "dateModified"), *said.get("modified", ()))
    if not published:
        published, marked = _marked_dates(marks)
        modified = modified or marked
    if modified[:10] < published[:10]:
        modified = ""  # a change before the publication: one of the dates is the template's
    site_name = _site_name(said, entries, linked)
    headlines = [*strings_at([about] if about else [], "headline", "name")]
    titles = (*headlines, *named.get("og:title", ()), *named.get("twitter:title", ()))
    return Metadata(
        title=_first(titles, MAX_TITLE_CHARS),
        site_name=site_name,
        published_at=published,
        modified_at=modified,
        author=_author(about, said, marks, linked, site_name),
        image=_image(both, said, linked),
        section=read_section(about, entries, said, known, stated.canonical),
        keywords=_keywords(about, said),
    )


def _by_field(named: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the contents of meta elements by field, most trusted first."""
    found: dict[str, list[list[str]]] = {}
    places = [(*PLACES[name], name) for name in named if name in PLACES]
    for _, about, name in sorted(places):
        found.setdefault(about, []).append(named[name])
    # Names of one author in several elements differ; of several authors each has its own.
    return {
        field: texts[0] if field == "author" else [text for many in texts for text in many]
        for field, texts in found.items()
    }


def _first(texts: Iterable[str], limit: int) -> str:
    return next((found for text in texts if (found := tidy(text, limit))), "")


def _first_date(*texts: str) -> str:
    return next((date for text in texts[:MAX_VALUES] if (date := parse_date(text))), "")


def _marked_dates(marks: Sequence[Mark]) -> tuple[str, str]:
    """Return when the page was published and changed by its ``<time>`` elements: those near the
    headline, or all if they agree on the day.
    """
    dates = [
        (mark, date)
        for mark in marks[:MAX_VALUES]
        if mark.kind == "date" and (date := parse_date(mark.text))
    ]
    headline = _headline(marks)
    near = [(mark, date) for mark, date in dates if _is_near(mark.place, headline)]
    if not near and len({date[:10] for mark, date in dates if not _is_modified(mark)}) == 1:
        near = dates
    modified = [date for mark, date in near if _is_modified(mark)]
    published = [(mark, date) for mark, date in near if not _is_modified(mark)]
    # A theme's own word for the date says more than its place.
    published.sort(key=lambda each: PUBLISHED_CLASS.search(each[0].about) is None)
    return "".join(date for _, date in published[:1]), "".join(modified[:1])


def _is_modified(mark: Mark) -> bool:
    # WordPress marks what was never changed "published updated".
    return bool(MODIFIED_CLASS.search(mark.about)) and not PUBLISHED_CLASS.search(mark.about)


def _author(
    about: Mapping[str, object] | None,
    said: Mapping[str, list[str]],
    marks: Sequence[Mark],
    linked: Mapping[str, Mapping[str, object]],
    site_name: str,
) -> tuple[str, ...]:
    """Return the authors by the most trusted source that names more than the site, if one does."""
    value = about.get("author") or about.get("creator") if about else None
    people = value if isinstance(value, list) else [value]
    stated = [text for person in people[:MAX_VALUES] for text in strings_of(follow(person, linked))]
    site = title_key(site_name)
    site_names: tuple[str, ...] = ()
    for texts in (stated, said.get("author", []), _marked_authors(marks)):
        names = author_names(texts[:MAX_VALUES])
        if any(title_key(name) != site for name in names):
            return names
        site_names = site_names or names
    return site_names


def _marked_authors(marks: Sequence[Mark]) -> list[str]:
    """Return the marked authors near the headline, else the only one on the page."""
    headline = _headline(marks)
    authors = [(mark.place, mark.text) for mark in marks if mark.kind == "author"]
    near = [text for place, text in authors if _is_near(place, headline)]
    # The entries of a list have an author each.
    return near or ([authors[0][1]] if len({text.strip() for _, text in authors}) == 1 else [])


def _headline(marks: Sequence[Mark]) -> int | None:
    return next((mark.place for mark in marks if mark.kind == "headline"), None)


def _is_near(place: int, headline: int | None) -> bool:
    return headline is not None and headline - NEAR_BEFORE <= place <= headline + NEAR_AFTER


def _image(
    entries: Sequence[Mapping[str, object]],
    said: Mapping[str, list[str]],
    linked: Mapping[str, Mapping[str, object]],
) -> str:
    stated: list[str] = []
    for entry in entries:
        for name in ("image", "primaryImageOfPage", "thumbnailUrl"):
            value = entry.get(name)
            for image in value[:1] if isinstance(value, list) else [value]:
                target = follow(image, linked)
                if isinstance(target, dict):
                    target = target.get("contentUrl") or target.get("url")
                stated += strings_of(target)[:1]
    for text in (*said.get("open graph image", ()), *stated, *said.get("image", ())):
        address = "".join(text[: MAX_ADDRESS_CHARS + 1].split())
        if address and len(address) <= MAX_ADDRESS_CHARS and not address.startswith("data:"):
            return tidy(address, MAX_ADDRESS_CHARS)
    return ""


def _keywords(about: Mapping[str, object] | None, said: Mapping[str, list[str]]) -> tuple[str, ...]:
    if not about and "keywords" not in said:
        return ()
    texts = [*said.get("keywords", ()), *strings_at([about] if about else [], "keywords")]
    words: list[str] = []
    for text in texts[:MAX_VALUES]:
        words += SPLIT_KEYWORDS.split(text[: MAX_KEYWORDS * MAX_KEYWORD_CHARS], MAX_KEYWORDS)
    return unique(words, MAX_KEYWORDS, MAX_KEYWORD_CHARS)


def _site_name(
    said: Mapping[str, list[str]],
    entries: Sequence[Mapping[str, object]],
    linked: Mapping[str, Mapping[str, object]],
) -> str:
    sites = [entry for entry in entries[:MAX_VALUES] if "WebSite" in kinds(entry)]
    publishers = (follow(entry.get("publisher"), linked) for entry in entries[:MAX_VALUES])
    names = (text for publisher in publishers for text in strings_of(publisher)[:1])
    texts = (*said.get("site", ()), *strings_at(sites, "name"), *names)
    return _first(texts, MAX_NAME_CHARS)
