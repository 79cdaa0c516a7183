"""Chooses title, dates, authors, section and keywords of a page among their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.about.authors import with_all
from contentspider.page.about.visible import visible_section
from contentspider.site.fields.shown import shown_author, shown_dates
from contentspider.site.fields.site_fields import AUTHOR, NO_KNOWLEDGE, PUBLISHED, TITLE
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.site.fields.site_fields import SiteFields


def item_title(page: Page, site_fields: SiteFields | None, is_listing: bool) -> str:
    """Return the title of a page's item.

    If neither a person nor the metadata give a title, the heading in the place of the site's titles
    counts (not on listings). Otherwise, and without such a heading, it is the `page_title`.
    """
    if site_fields is None:
        return page_title(page)
    has_title = page.metadata.title or (page.corrections and page.corrections.title)
    learned = "" if has_title or is_listing else site_fields.title(page)
    return learned or page_title(page, site_fields.of(TITLE).common)


def page_dates(
    page: Page, title: str, site_fields: SiteFields | None, is_listing: bool
) -> tuple[str, str]:
    """Return the days of publication and of the last change, "" if unknown.

    The first source with a day of publication counts:

    1. a person's correction of the page
    2. the page's metadata, unless the site has shown that they are wrong
    3. a place where the site's pages show their day (`SiteFields`)
    4. the general rules (`shown_dates`), without the rules that are wrong on pages of this design

    A listing shows the days of its entries, so only the first two count.
    """
    metadata = page.metadata
    knowledge = site_fields.of(PUBLISHED) if site_fields else NO_KNOWLEDGE
    if page.corrections and page.corrections.published_at:
        return page.corrections.published_at, metadata.modified_at
    if PUBLISHED in metadata.stated and knowledge.trusts_stated:
        return metadata.published_at, metadata.modified_at
    if is_listing:
        return "", metadata.modified_at
    if site_fields and (published := site_fields.published_at(page)):
        return published, metadata.modified_at
    shown = shown_dates(page, title, knowledge.distrusted_on(page))
    return shown.published, metadata.modified_at or shown.modified


def page_author(
    page: Page, title: str, site_fields: SiteFields | None, is_listing: bool
) -> tuple[str, ...]:
    """Return the authors of a page, () if unknown.

    The sources are the same as in `page_dates`. If none of them has an author, the author in the
    metadata counts, although the site has shown that it is wrong. Where a source has only some of
    the authors that the page shows by the general rules, these count.
    """
    metadata = page.metadata
    if page.corrections and page.corrections.author:
        return page.corrections.author
    knowledge = site_fields.of(AUTHOR) if site_fields else NO_KNOWLEDGE
    is_stated = AUTHOR in metadata.stated
    if is_listing:
        return metadata.author if is_stated else ()
    if is_stated and knowledge.trusts_stated:
        names = metadata.author
    else:
        names = site_fields.author(page) if site_fields else ()
    shown = shown_author(page, title, knowledge.distrusted_on(page))
    return with_all(names, shown) if names else shown or metadata.author


def page_section(
    page: Page, title: str, site_fields: SiteFields | None, is_listing: bool
) -> tuple[str, ...]:
    """Return the names of the section of a page, the outermost first; () if unknown.

    The first source with a name counts: the page's metadata, a place where the site's pages show
    their section (not on listings), and the breadcrumbs.
    """
    if page.metadata.section:
        return page.metadata.section
    learned = site_fields.section(page, title) if site_fields and not is_listing else ()
    return learned or visible_section(page.content, title, page.base, page.url)


def page_keywords(
    page: Page, title: str, site_fields: SiteFields | None, is_listing: bool
) -> tuple[str, ...]:
    """Return the keywords in the metadata of a page. Without any, return the keywords in the places
    where the site's pages show them, except on listings.
    """
    if page.metadata.keywords or site_fields is None or is_listing:
        return page.metadata.keywords
    return site_fields.keywords(page, title)
