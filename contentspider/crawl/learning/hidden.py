"""The pages of a crawl that stand for others, because their site hides these."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.crawl.base.known_page import as_known
from contentspider.site.hidden import SiteAnswers
from contentspider.state.crawls.books import HIDDEN_FACT
from contentspider.state.outcome import HIDDEN_STAT

if TYPE_CHECKING:
    from contentspider.crawl.base.state import CrawlState
    from contentspider.ground.sites import SiteKeys
    from contentspider.page.input.page import Page
    from contentspider.site.hidden import Answer, Group

logger = logging.getLogger(__name__)

ANSWERS_FACT = "answers/"  # followed by a site: the answers of its addresses so far
NOTED_EACH = 50  # a run that resumes a killed one may lack so many answers, of large sites only


class HiddenPages:
    """The answers of a crawl's addresses by site, which show whether the site hides its pages."""

    def __init__(self, crawl: CrawlState, keys: SiteKeys) -> None:
        self._crawl = crawl
        self._keys = keys
        self._answers: dict[str, SiteAnswers] = {}

    @property
    def _is_asked(self) -> bool:
        """Whether the crawl leaves pages out that stand for others."""
        crawl = self._crawl
        return not (crawl.options.force or crawl.is_broken or crawl.is_inspection)

    def _of_site(self, key: str) -> SiteAnswers:
        if key not in self._answers:
            stored = self._crawl.book.runs.fact(f"{ANSWERS_FACT}{key}")
            self._answers[key] = SiteAnswers.load(stored) if stored else SiteAnswers()
        return self._answers[key]

    def note(self, url: str, answer: Answer | None) -> None:
        """Note the answer of an address; None for a page that surely has a text of its own."""
        key = self._keys.key(url)
        answers = self._of_site(key)
        if answer is None:
            answers.note_other()
        else:
            answers.note(answer)
        if answers.count < NOTED_EACH or answers.count % NOTED_EACH == 0:
            self._store(key)

    def _store(self, key: str) -> None:
        """Store the answers of a site for a run that resumes this one."""
        with self._crawl.guarded:
            self._crawl.book.runs.set_fact(f"{ANSWERS_FACT}{key}", self._answers[key].dump())

    def may_be(self, page: Page, key: str) -> bool:
        """Tell whether a page of a site may turn out to stand for others."""
        return self._is_asked and self._of_site(key).is_suspect(page)

    def kind_of(self, page: Page, key: str) -> str:
        """Return `SHELL` or `WALL` if a page of a site stands for others that the site hides."""
        answers = self._of_site(key)
        if not self._is_asked or page.is_document:
            return ""
        if as_known(page) is not None and answers.hidden() is None:
            return ""  # the page need not be read
        return answers.kind_of(page)

    def of(self, key: str) -> tuple[str, Group] | None:
        """Return how a site hides pages, and the addresses that give one; None if it does not."""
        return self._of_site(key).hidden() if self._is_asked else None

    def tell(self) -> None:
        """Count the addresses of sites that hide their pages, and store the answers of all."""
        kinds: dict[str, str] = {}
        for key, answers in self._answers.items():
            self._store(key)
            if (found := self.of(key)) is None:
                continue
            kind, group = found
            kinds[key] = kind
            self._crawl.stats.set_value(f"{HIDDEN_STAT}{kind}/{key}", group.count)
            logger.warning(
                "%s: %d of %d addresses give the same page (%s), such as %s",
                *(key, group.count, answers.count, kind, ", ".join(group.named[:3])),
            )
        with self._crawl.guarded:
            self._crawl.book.runs.set_fact(HIDDEN_FACT, kinds)
