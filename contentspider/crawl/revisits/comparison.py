"""Compares a page with its known version."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from contentspider.recrawl.changes import BY_MODEL, BY_PAGE
from contentspider.recrawl.counters import is_captioned_picture
from contentspider.recrawl.difference import (
    change_ratio,
    is_recut,
    own_differences,
    without_recut,
)
from contentspider.recrawl.judge import NEW_PAGE, Facts
from contentspider.recrawl.places import differences
from contentspider.recrawl.template import differing_lines
from contentspider.site.models.identity import UNFILTERED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.crawl.learning.models import SiteState
    from contentspider.crawl.revisits.knowledge import CrawlKnowledge
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.page.input.page import Page
    from contentspider.state.book.known import KnownPages
    from contentspider.state.book.pages import PageVersion


class PageComparison:
    """Finds how pages differ from their previous versions in a book. With *has_own_fields*
    the crawl has fields of the user, and their values are compared, too.
    """

    def __init__(
        self,
        known: KnownPages,
        refilter: Refilter,
        knowledge: CrawlKnowledge,
        has_own_fields: bool,
    ) -> None:
        self._known = known
        self._refilter = refilter
        self._knowledge = knowledge
        self._has_own_fields = has_own_fields

    def facts(
        self,
        base: PageVersion | None,
        fields: Mapping[str, Any],
        page: Page,
        text_hash: str,
        state: SiteState,
    ) -> Facts:
        """Return how a page differs from the known page *base*, None if the page is new. *fields*
        are the item fields of the page under the site's current model.
        """
        if base is None:
            return NEW_PAGE
        facts = self._content_facts(base, fields, page, text_hash, state)
        if self._has_own_fields:
            facts = replace(facts, fields=self._field_changes(base, fields, page, state))
        return facts

    def _field_changes(
        self, base: PageVersion, fields: Mapping[str, Any], page: Page, state: SiteState
    ) -> tuple[tuple[str, Any, Any], ...]:
        """Return the own fields that had another value on the known page *base*, each with its
        name, its value before and its value now.

        Another model, or another selector, finds other values on the same page. So the known page
        is read by the current model, and pages that other selectors have read are not compared. If
        the book does not keep the page, only items of the current model are compared.
        """
        values, before = fields.get("fields"), self._known.item(base.id).get("fields", {})
        if values is None or values == before:
            return ()
        stored_page = self._known.stored(base.id)
        if stored_page is not None:
            if _selectors_digest(stored_page) != _selectors_digest(page):
                return ()
            before = self._refilter.own_values(state, stored_page)
        elif not before or base.model != fields["model_version"]:
            return ()
        names = dict.fromkeys([*before, *values])
        pairs = ((name, before.get(name), values.get(name)) for name in names)
        return tuple((name, old, new) for name, old, new in pairs if old != new)

    def _content_facts(
        self,
        base: PageVersion,
        fields: Mapping[str, Any],
        page: Page,
        text_hash: str,
        state: SiteState,
    ) -> Facts:
        """Return how the content of a page differs from the content of the known page *base*."""
        is_remodelled = UNFILTERED != base.model != fields["model_version"] or state.is_outdated
        facts = Facts("", is_remodelled=is_remodelled)
        if base.content_hash == fields["content_hash"]:
            return facts
        content = fields["content"]
        previous_content = self._known.content(base.id) or ""
        facts = replace(facts, ratio=change_ratio(previous_content, content))
        if base.text_hash == text_hash:
            return replace(facts, difference=BY_MODEL)
        stored_page = self._known.stored(base.id)
        is_filtered = self._is_only_filtered(base, stored_page, fields, page, state)
        facts = replace(facts, difference=BY_MODEL if is_filtered else BY_PAGE)
        contents = (previous_content, content)
        visits = base.last_seen, str(fields["crawled_at"])
        return self._page_facts(facts, contents, (stored_page, page), fields, state, visits)

    def _page_facts(
        self,
        facts: Facts,
        contents: tuple[str, str],
        pages: tuple[Page | None, Page],
        fields: Mapping[str, Any],
        state: SiteState,
        visits: tuple[str, str],
    ) -> Facts:
        """Add the differences between two *contents* of a page, of the last visit and of this one,
        to its *facts*. A text that the other version of the page has outside of its content does
        not count. *visits* has the times of both visits. With `BY_MODEL` only `recut` is added.
        """
        slot_of = partial(self._refilter.slot_of, state.key)
        language = fields.get("language") or ""
        compare = partial(
            differences, pages=pages, slot_of=slot_of, language=language, visits=visits
        )
        found, recut = compare(contents), set[str]()
        if facts.difference == BY_MODEL:
            return replace(facts, recut=found.slots)
        stored_page, page = pages
        alternating = self._knowledge.of(state.key).alternating
        lines: tuple[str, ...] = ()
        is_ignored = set(found.slots).issubset(alternating) and not found.has_prices
        if not is_ignored and stored_page is not None:
            if facts.is_remodelled:
                contents = own_differences(stored_page, contents[0], page, contents[1])
                if contents == ("", ""):
                    return replace(facts, difference=BY_MODEL, recut=found.slots)
            lines = differing_lines(stored_page, contents[0], page, contents[1], slot_of)
            cut = without_recut(stored_page, contents[0], page, contents[1])
            found_in_cut = compare(cut)
            if set(found_in_cut.slots) < set(found.slots):
                recut = set(found.slots).difference(found_in_cut.slots)
                found = found_in_cut
        return replace(
            facts,
            has_ages=found.has_ages,
            numbered=found.numbered,
            slots=found.slots,
            has_prices=found.has_prices,
            lines=lines if found.slots else (),
            recut=tuple(sorted(recut)),
            is_caption=bool(found.numbered) and is_captioned_picture(page, fields["content"]),
        )

    def _is_only_filtered(
        self,
        base: PageVersion,
        stored_page: Page | None,
        fields: Mapping[str, Any],
        page: Page,
        state: SiteState,
    ) -> bool:
        """Tell whether two versions of a page differ only in the choice of blocks.

        The reason is another model, or other text outside of the content.
        """
        if stored_page is None:
            return False
        if base.model != fields["model_version"]:
            filtered = self._refilter.fields(state, stored_page)
            if filtered["content_hash"] == fields["content_hash"]:
                return True
        previous_content = self._known.content(base.id) or ""
        return is_recut(stored_page, previous_content, page, fields["content"])


def _selectors_digest(page: Page) -> str:
    return page.own.digest if page.own else ""
