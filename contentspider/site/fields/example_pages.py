"""Collects the pages of a user's examples while the pages of a site are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.site.fields.own_learning import learn_own_fields
from contentspider.site.fields.stated_learning import learn_stated_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.page import Page
    from contentspider.site.fields.own_fields import OwnKnowledge


class ExamplePages:
    """Collects the pages of the examples in *file* while the pages of a site are read. Own fields
    are learned from them.
    """

    def __init__(self, file: FieldsFile) -> None:
        self._file = file
        self._pages: dict[str, Page] = {}

    @property
    def digest(self) -> str:
        """The digest of the examples."""
        return self._file.examples_digest

    def watch(self, pages: Iterable[Page]) -> Iterable[Page]:
        """Return *pages*; the pages of examples are collected while these are read."""
        return self._watched(pages) if self._file.with_examples else pages

    def _watched(self, pages: Iterable[Page]) -> Iterator[Page]:
        for page in pages:
            if url := self._file.example_url(page.url):
                self._pages[url] = page
            yield page

    def learn(
        self, sample: Sequence[Page], site: str, slot_of: Callable[[str], str]
    ) -> dict[str, OwnKnowledge]:
        """Return the learned knowledge of own fields by name: from examples (`learn_own_fields`),
        and from the pages of the *sample* where selectors find them (`learn_stated_fields`).
        """
        file = self._file
        learned = learn_stated_fields(file.learning, sample, slot_of)
        return learned | learn_own_fields(file.with_examples, self._pages, sample, site, slot_of)
