"""The extraction of a page, and the fields of its item (docs/items.md)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.ground.addresses import (
    absolute,
    host_name,
    network_of,
    section_address,
)
from contentspider.ground.counts import counted
from contentspider.ground.pickles import pickled
from contentspider.ground.tables import to_arrow, to_pandas
from contentspider.ground.times import now
from contentspider.page.about.hints import MAX_HINT_CHARS
from contentspider.page.tree.resolver import Resolver
from contentspider.page.tree.tags import PREFORMATTED_TAGS
from contentspider.page.words.language import SAMPLE_CHARS, detect_language, language_of
from contentspider.page.words.tidy import tidy
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.markup import write_html
from contentspider.page.write.notebook import blocks_html
from contentspider.page.write.output import to_text
from contentspider.page.write.passages import to_passages
from contentspider.page.write.places import heading_levels
from contentspider.page.write.structure import parts
from contentspider.page.write.summary import summarise
from contentspider.site.fields.choice import (
    item_title,
    page_author,
    page_dates,
    page_keywords,
    page_section,
)
from contentspider.site.images import page_images
from contentspider.site.listing_entries import listing_records
from contentspider.site.models.identity import UNFILTERED, content_hash, page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from contentspider.ground.pickles import Pickled
    from contentspider.page.input.own_values import OwnValue
    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.fields.site_fields import SiteFields
    from contentspider.site.own.texts import OwnText

    ReportFailure = Callable[[str, Page, Exception], None]

logger = logging.getLogger(__name__)

DOCUMENT = "document"  # the type of pages that are files
# The model version of a page that does not show its text, so that its content is the text that its
# JSON-LD states.
STATED_VERSION = "json-ld"
MAX_HEADINGS = 500
MAX_HEADING_CHARS = 300

FIELDS = (
    "id url site title description summary language content content_markdown content_html passages"
    " headings canonical published_at modified_at author image images records section keywords"
    " fields page_type content_hash confidence model_version crawled_at"
).split()


class OptionalFields(NamedTuple):
    """The item fields that are empty unless they are requested.

    *passages* is the maximum length of a passage in characters (0: no passages). *images*,
    *summary* and *records* tell whether the item has these fields.
    """

    passages: int = 0
    images: bool = False
    summary: bool = False
    records: bool = False


NO_OPTIONAL_FIELDS = OptionalFields()
# The optional fields that an `Extraction` has as properties, and the types of their empty values.
OPTIONAL_FIELDS: Mapping[str, type] = {"images": list, "summary": str, "records": list}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Extraction:
    """The result of filtering a page.

    *kept* tells for each block of ``page.content.blocks`` whether it is content, as an array of
    bool of the shape (n_blocks,). *probabilities* tells how probably it is, from 0 to 1: float32 of
    the same shape. *confidence* is from 0 to 1. *page_type* is article, listing, form, document or
    other. *site* and *model_version* name the site model. *by_prior* tells that the prior judged
    the page, since the model knows too little of such pages. *is_guess* tells that even the prior
    was unsure (`contentspider.site.judge.expected_f1`). *pictures* has the keys of the template's
    pictures. *wrong_languages* are the languages that most pages of the site which state them are
    not in. *site_fields* reads the fields of the site's pages in learned places. Extractions of
    equal pages by one model version are equal if they keep the same.

    >>> from contentspider import Page, SiteLearner
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water. "
    >>> page = Page.from_html(html * 3, "/tea")
    >>> extraction = SiteLearner("example.org").fit([page]).extract(page)
    >>> extraction.title, extraction.kept.tolist()[:2]
    ('Tea', [False, True])
    >>> extraction.to_dict()["url"]
    '/tea'
    """

    page: Page
    kept: Bools
    probabilities: Floats
    confidence: float
    page_type: str
    site: str
    model_version: str
    by_prior: bool = False
    is_guess: bool = False
    pictures: frozenset[str] = frozenset()
    wrong_languages: frozenset[str] = frozenset()
    site_fields: SiteFields | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Extraction):
            return NotImplemented
        return self is other or self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.page, self.model_version))

    def _values(self) -> tuple[object, ...]:
        about = self.site, self.model_version, self.page_type, self.kept.tolist()
        return *about, self.probabilities.tolist(), self.page

    @property
    def blocks(self) -> list[Block]:
        """Return the kept blocks in reading order."""
        return list(compress(self.page.content.blocks, self.kept.tolist()))

    @property
    def images(self) -> list[dict[str, Any]]:
        """Return the pictures of the content (`page_images`)."""
        return page_images(self.page, self.kept, self.probabilities, self.pictures)

    @property
    def summary(self) -> str:
        """Return the summary of the page, which does not depend on other pages of the crawl."""
        hints = self.page.hints
        return summarise(self.blocks, (*hints.titles[:1], *hints.descriptions[:1]))

    @property
    def records(self) -> list[dict[str, str]]:
        """Return the records of a listing (`listing_records`); other pages have none."""
        return listing_records(self.page) if self.page_type == "listing" else []

    @property
    def title(self) -> str:
        """Return the page's title without the site's name."""
        return item_title(self.page, self.site_fields, self.page_type == "listing")

    @property
    def published_at(self) -> str:
        """Return when the page was published, as in ISO 8601, empty if it is unknown."""
        is_listing = self.page_type == "listing"
        return page_dates(self.page, self.title, self.site_fields, is_listing)[0]

    @property
    def authors(self) -> list[str]:
        """Return the names of the page's authors, empty if they are unknown."""
        is_listing = self.page_type == "listing"
        return list(page_author(self.page, self.title, self.site_fields, is_listing))

    @property
    def language(self) -> str:
        """Return the page's language as a tag of BCP 47, empty if it is unknown."""
        return page_language(self.page, self.blocks, self.wrong_languages)

    @property
    def text(self) -> str:
        """Return the kept text, one block a line."""
        return to_text(self.blocks)

    @property
    def markdown(self) -> str:
        """Return the kept blocks as Markdown."""
        return write_markdown(parts(self.blocks, Resolver(self.page.base)))

    @property
    def html(self) -> str:
        """Return the kept blocks as HTML, without the page's template."""
        return write_html(parts(self.blocks, Resolver(self.page.base)))

    def to_dict(self) -> dict[str, object]:
        """Return the fields of a `ContentItem` (docs/items.md) as JSON values.

        *fields* is None if it is empty: Parquet cannot store an object without keys.
        """
        values = page_fields(self.page, self.site, self, self.model_version)
        return values | {"fields": values["fields"] or None}

    def _rows(self) -> list[dict[str, Any]]:
        columns = zip(
            self.page.content.blocks, self.kept.tolist(), self.probabilities.tolist(), strict=True
        )
        return [
            {
                "text": block.text,
                "tag": block.tag,
                "path": block.path,
                "link_share": block.link_chars / max(len(block.text), 1),
                "probability": probability,
                "kept": is_kept,
            }
            for block, is_kept, probability in columns
        ]

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each block: text, tag, path, link_share, probability
        (float, 0 to 1), kept (bool). Raises `MissingExtraError` without pandas.
        """
        return to_pandas(self._rows())

    def to_arrow(self) -> Any:
        """Return the table of `to_pandas` as a pyarrow Table (extra ``parquet``)."""
        return to_arrow(self._rows())

    def _repr_html_(self) -> str:
        """Return all text of the page for notebooks: kept blocks green, dropped ones grey."""
        return blocks_html(repr(self), self.page.content.blocks, self.kept.tolist())

    def __reduce__(self) -> Pickled:
        return pickled(Extraction, *(getattr(self, each.name) for each in fields(self)))

    def __repr__(self) -> str:
        blocks = f"{int(self.kept.sum())} of {counted(len(self.kept), 'blocks')} kept"
        about = f"{self.page_type}, {blocks}, confidence {self.confidence:.2f}"
        return f"<Extraction of {self.page.url!r}: {about}>"


def page_language(
    page: Page, blocks: Sequence[Block], wrong_languages: Collection[str] = ()
) -> str:
    """Return the language of a page as a tag of BCP 47, "" if it is unknown.

    It is the language that the page states, or else the language of its *blocks*. Pages that state
    one of *wrong_languages*, or a language in another script, have the language of their blocks:
    many themes state one language for texts in any.
    """
    stated, sample = page.hints.language, text_sample(blocks)
    if not stated:
        return detect_language(sample)
    if stated.partition("-")[0] in wrong_languages:
        return detect_language(sample) or stated
    return language_of(stated, sample)


def text_sample(blocks: Sequence[Block]) -> str:
    """Return the beginning of the blocks' text, without code."""
    texts: list[str] = []
    size = 0
    for block in blocks:
        if block.tag not in PREFORMATTED_TAGS:
            texts.append(block.text)
            size += len(block.text)
            if size > SAMPLE_CHARS:
                break
    return "\n".join(texts)


def page_headings(blocks: Sequence[Block]) -> list[str]:
    """Return the headings among *blocks* in order, in Markdown: ``## Results``."""
    lines = [
        f"{'#' * level} {block.text[:MAX_HEADING_CHARS]}"
        for block, level in zip(blocks, heading_levels(blocks), strict=True)
        if level
    ]
    return lines[:MAX_HEADINGS]


def absolute_url(page: Page, address: str) -> str:
    """Return an address of the page as an absolute web address; empty if it is invalid."""
    address = address.strip()
    return absolute(page.base, address) if address and address.isprintable() else ""


def _canonical(page: Page) -> str:
    """Return the canonical address, "" if it is in a private network and the page is not."""
    address = absolute_url(page, page.hints.canonical)
    network = network_of(host_name(address))
    return address if network in ("", network_of(host_name(page.url))) else ""


def _first_picture(page: Page, blocks: Sequence[Block]) -> str:
    """Return the address of the first picture in *blocks*, "" if there is none."""
    addresses = (absolute_url(page, image[1]) for block in blocks for image in block.images)
    return next(filter(None, addresses), "")


def _passages(
    page: Page, blocks: Sequence[Block], fields: Mapping[str, object], max_chars: int
) -> list[dict[str, str | list[str]]]:
    if not max_chars:
        return []
    title = str(fields["title"])
    return [
        {
            "id": f"{fields['id']}-{passage.key}",
            "url": section_address(page.url, passage.anchor),
            "title": title,
            "heading_path": list(passage.heading_path),
            "markdown": passage.markdown,
            "text": passage.text,
        }
        for passage in to_passages(blocks, page.base, max_chars)
    ]


def content_of(page: Page, extraction: Extraction | None) -> str:
    """Return the text of an *extraction*, or of the whole page."""
    return to_text(extraction.blocks if extraction else page.content.blocks)


def log_failure(name: str, page: Page, error: Exception) -> None:
    """Log that a field of an item is empty, because an *error* came up while it was made."""
    logger.warning(
        "%s: the field %s is empty, because it cannot be made (%r)", page.url, name, error
    )


class _FieldMaker:
    """Makes the fields of a page that may be empty. A field whose code fails is empty, and costs
    no other field; *report* is called with its name, the page and the error.
    """

    def __init__(self, page: Page, report: ReportFailure) -> None:
        self._page, self._report = page, report

    def make(self, name: str, make: Callable[[], Any], empty: object) -> Any:
        """Return the value of a field, or *empty* if it cannot be made. A library may find no room
        for its files, but without memory no other field can be made either.
        """
        try:
            return make()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - libraries of many fields, each with its errors
            self._report(name, self._page, error)
            return empty


def page_fields(
    page: Page,
    site: str,
    extraction: Extraction | None,
    model_version: str,
    optional_fields: OptionalFields = NO_OPTIONAL_FIELDS,
    wanted: Collection[str] | None = None,
    report: ReportFailure = log_failure,
) -> dict[str, object]:
    """Return the fields of a `ContentItem` for a page, with its *optional_fields*.

    Without an *extraction* the content is the whole text of the page, and the model version is
    `UNFILTERED`. Fields that take long to compute are left out unless their names are in *wanted*
    (None: all fields). Some of these fields are computed together.

    Raises the errors of the content. Any other field that cannot be made is empty: *report* is
    called with its name, the page and the error.
    """
    fields = _basic_fields(page, site, extraction, model_version)
    blocks = extraction.blocks if extraction else page.content.blocks
    requested = frozenset(FIELDS if wanted is None else wanted)
    maker = _FieldMaker(page, report)
    if not METADATA_FIELDS.isdisjoint(requested) or "passages" in requested:
        site_fields = extraction.site_fields if extraction else None
        fields |= _metadata_fields(page, blocks, fields, site_fields, requested, maker)
    fields |= _markup_fields(page, blocks, requested)
    if not DESCRIPTION_FIELDS.isdisjoint(requested):
        fields |= _description_fields(page, blocks, maker)
    if "passages" in requested:
        size = optional_fields.passages
        fields["passages"] = maker.make(
            "passages", lambda: _passages(page, blocks, fields, size), []
        )
    fields |= _extraction_fields(page, blocks, extraction, optional_fields, requested, maker)
    return {name: fields[name] for name in FIELDS if name in fields}


def own_values(page: Page, extraction: Extraction | None) -> dict[str, OwnValue]:
    """Return the values of the user's own fields by name.

    Values by selectors come first, then values in learned places. On listings, places that were
    learned from examples are not read. Places that were learned from statements are read, because
    a product page with many related products looks like a listing.
    """
    selected = dict(page.own.values) if page.own else {}
    if extraction is None or extraction.site_fields is None:
        return selected
    fields = extraction.site_fields
    learned = fields.own_values(page)
    if extraction.page_type == "listing":
        learned = {name: value for name, value in learned.items() if fields.own[name].stated}
    return learned | selected


def _extraction_fields(
    page: Page,
    blocks: Sequence[Block],
    extraction: Extraction | None,
    optional_fields: OptionalFields,
    requested: Collection[str],
    maker: _FieldMaker,
) -> dict[str, object]:
    """Return the *requested* fields that come from an extraction. Without one, images, summary and
    records are empty.
    """
    fields: dict[str, object] = {}
    if "language" in requested:
        fields["language"] = maker.make(
            "language",
            lambda: extraction.language if extraction else page_language(page, blocks),
            "",
        )
    if "fields" in requested:
        fields["fields"] = maker.make("fields", lambda: own_values(page, extraction), {})
    for name, empty in OPTIONAL_FIELDS.items():
        if name in requested:
            is_filled = extraction and getattr(optional_fields, name)
            value = partial(getattr, extraction, name) if is_filled else empty
            fields[name] = maker.make(name, value, empty())
    return fields


def _basic_fields(
    page: Page, site: str, extraction: Extraction | None, model_version: str
) -> dict[str, object]:
    """Return the fields that every item has."""
    if extraction:
        page_type, confidence = extraction.page_type, extraction.confidence
    else:
        page_type, confidence = DOCUMENT if page.is_document else "other", 0.0
    content = content_of(page, extraction)
    return {
        "id": page_id(page.url),
        "url": page.url,
        "site": site,
        "content": content,
        "page_type": page_type,
        "content_hash": content_hash(content),
        "confidence": confidence,
        "model_version": model_version if extraction else UNFILTERED,
        "crawled_at": now(),
    }


def _metadata_fields(
    page: Page,
    blocks: Sequence[Block],
    fields: Mapping[str, object],
    site_fields: SiteFields | None,
    requested: Collection[str],
    maker: _FieldMaker,
) -> dict[str, object]:
    """Return the metadata that a page states, or else shows: title, dates, authors, and the
    others if they are *requested*. *site_fields* reads these in learned places.
    """
    is_listing = fields["page_type"] == "listing"
    title = maker.make("title", lambda: item_title(page, site_fields, is_listing), "")
    shown = (page, title, site_fields, is_listing)
    published, modified = maker.make("published_at", lambda: page_dates(*shown), ("", ""))
    metadata: dict[str, object] = {
        "title": title,
        "published_at": published,
        "modified_at": modified if modified >= published[:10] else "",
        "author": maker.make("author", lambda: list(page_author(*shown)), []),
    }
    if "section" in requested:
        metadata["section"] = maker.make("section", lambda: list(page_section(*shown)), [])
    if "keywords" in requested:
        metadata["keywords"] = maker.make("keywords", lambda: list(page_keywords(*shown)), [])
    if "image" in requested:
        image = maker.make("image", lambda: absolute_url(page, page.metadata.image), "")
        if not image and fields["model_version"] != UNFILTERED:
            image = maker.make("image", lambda: _first_picture(page, blocks), "")
        metadata["image"] = image
    return metadata


def _markup_fields(
    page: Page, blocks: Sequence[Block], requested: Collection[str]
) -> dict[str, object]:
    """Return the content in the *requested* of Markdown and HTML."""
    writers = {name: write for name, write in MARKUP_WRITERS.items() if name in requested}
    content = parts(blocks, Resolver(page.base)) if writers else []
    return {name: write(content) for name, write in writers.items()}


def _description_fields(
    page: Page, blocks: Sequence[Block], maker: _FieldMaker
) -> dict[str, object]:
    """Return the description, the headings and the canonical address."""
    description = "".join(page.hints.descriptions[:1])
    return {
        "description": maker.make("description", lambda: tidy(description, MAX_HINT_CHARS), ""),
        "headings": maker.make("headings", lambda: page_headings(blocks), []),
        "canonical": maker.make("canonical", lambda: _canonical(page), ""),
    }


# Fields that are made together.
METADATA_FIELDS = frozenset("title published_at modified_at author section image keywords".split())
DESCRIPTION_FIELDS = frozenset("description headings canonical".split())
MARKUP_WRITERS = {"content_markdown": write_markdown, "content_html": write_html}


def add_own_text(fields: dict[str, object], own: OwnText) -> None:
    """Set the dates and the author of *fields* from an own text if the page states none."""
    fields["published_at"] = published = str(fields["published_at"] or own.published_at)
    if own.modified_at >= published[:10]:
        fields["modified_at"] = fields["modified_at"] or own.modified_at
    fields["author"] = fields["author"] or list(own.author)
