"""A site that is being annotated: its pages, the least sure first, and what is saved of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.files import read_pages
from contentspider.page.input.overrides import Overrides
from contentspider.site.learn.learner import SiteLearner
from contentspider.web.annotate import files
from contentspider.web.annotate.corrections import DROP, KEEP, add_selector, exact_selector, restore
from contentspider.web.annotate.labels import MAIN, UNSURE, Label, Labels
from contentspider.web.annotate.sources import HTML

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.web.annotate.sources import Collected

logger = logging.getLogger(__name__)

CHANGED = "%s has changed since it was annotated: it is to be looked at again"
# Pages on which a selector is tried before it becomes a correction of the site.
TRIED_PAGES = 10
NOT_A_CORRECTION = "no selector says just that: it is annotated, but is no correction of the site"


class Session:
    """The pages in a collected folder, as the model that is learned of them decides, with what
    people said of them before. Corrections go to the folder *corrections*.

    Raises `ContentSpiderError` if no page has text.
    """

    def __init__(self, collected: Collected, corrections: Path) -> None:
        self.site, self.folder = collected.site, collected.folder
        self._corrections = corrections
        overrides = Overrides.load(corrections)
        pages = [
            page
            for page in read_pages(self.folder / HTML, overrides=overrides)
            if page.content.blocks
        ]
        model = SiteLearner(self.site).fit(pages)
        found = sorted(map(model.extract, pages), key=lambda one: (one.confidence, one.page.url))
        self.extractions = found
        self.labels = Labels(found)
        self._places = [
            [model.slot_of(block.path) for block in one.page.content.blocks] for one in found
        ]
        self._at_place: dict[str, list[tuple[int, int]]] = {}
        for page, places in enumerate(self._places):
            for number, place in enumerate(places):
                self._at_place.setdefault(place, []).append((page, number))
        self.done: set[int] = set()
        # By change: what the corrections were before it, and what it made of them.
        self._files_before: dict[int, tuple[str | None, str]] = {}
        self._changes = 0
        self._restore(files.read_blocks(self.folder / files.BLOCKS))

    def _restore(self, saved: dict[str, list[tuple[str, Label]]]) -> None:
        """Take over what was said before of pages that have not changed."""
        for page, extraction in enumerate(self.extractions):
            rows = saved.pop(extraction.page.url, [])
            shown = [block.text[: files.MAX_TEXT] for block in extraction.page.content.blocks]
            if rows and [files.as_written(text) for text in shown] != [text for text, _ in rows]:
                logger.warning(CHANGED, extraction.page.url)
            elif rows:
                for number, (_, label) in enumerate(rows):
                    self.labels.put([(page, number)], label)
                self.done.add(page)
        self.labels.forget()

    @property
    def first(self) -> int:
        """Return the first page of which nobody has said anything."""
        left = set(range(len(self.extractions))) - self.done
        return min(left, default=0)

    def body(self, page: int) -> bytes:
        """Return a page's bytes; raises `ContentSpiderError` if they are gone."""
        path = self.folder / HTML / self.extractions[page].page.url
        try:
            return path.read_bytes()
        except OSError as error:
            raise ContentSpiderError(f"{path} cannot be read ({error.strerror})") from error

    def state(self, page: int) -> dict[str, Any]:
        """Return what is known of a page, as JSON values."""
        extraction = self.extractions[page]
        blocks = extraction.page.content.blocks
        rows = zip(
            blocks,
            self.labels.of_page(page),
            self._places[page],
            extraction.probabilities.tolist(),
            strict=True,
        )
        return {
            "page": page,
            "pages": len(self.extractions),
            "done": len(self.done),
            "is_done": page in self.done,
            "path": extraction.page.url,
            "title": extraction.title,
            "confidence": round(extraction.confidence, 2),
            "blocks": [
                {
                    "text": block.text,
                    "container": block.container,
                    "label": label.name,
                    "kind": label.kind,
                    "probability": round(probability, 2),
                    "same": len(self._at_place[place]),
                }
                for block, label, place, probability in rows
            ],
        }

    def label(self, page: int, blocks: list[int], label: Label) -> None:
        """Label blocks of a page."""
        changed = self.labels.put([(page, number) for number in blocks], label)
        self._changes += 1
        self._saved(changed)

    def label_place(self, page: int, number: int, label: Label) -> str:
        """Label all blocks of the site at the place of a block, and make it a correction of the
        site's model; return what was done.
        """
        if not 0 <= number < len(self._places[page]):
            raise ContentSpiderError("there is no such block")
        place = self._places[page][number]
        blocks = self._at_place[place]
        changed = self.labels.put(blocks, label)
        self._changes += 1
        self._saved(changed)
        said = f"{len(blocks)} blocks on {len({page for page, _ in blocks})} pages: {label.name}"
        if label.name == UNSURE:
            return said
        by_page: dict[int, set[int]] = {}
        for other, block in blocks:
            by_page.setdefault(other, set()).add(block)
        with_it = sorted(by_page, key=lambda other: other != page)
        without = [other for other in range(len(self.extractions)) if other not in by_page]
        tried = [*with_it[:TRIED_PAGES], *without[:TRIED_PAGES]]
        bodies = [(self.body(other), by_page.get(other, set())) for other in tried]
        if not (selector := exact_selector(place, bodies)):
            return f"{said}; {NOT_A_CORRECTION}"
        action = KEEP if label.name == MAIN else DROP
        self._files_before[self._changes] = add_selector(self._corrections, selector, action)
        return f"{said}; {action} {selector}"

    def undo(self) -> None:
        """Take the last change back, and its correction."""
        if not self.labels.can_undo:
            return
        changed = self.labels.undo()
        if self._changes in self._files_before:
            restore(self._corrections, *self._files_before.pop(self._changes))
        self._changes -= 1
        self._saved(changed)

    def finish(self, page: int) -> None:
        """Save a page as it is labelled; raises `ContentSpiderError` if it cannot be written."""
        self.done.add(page)
        try:
            self._save([page])
        except ContentSpiderError:
            self.done.discard(page)
            raise

    def _saved(self, changed: set[int]) -> None:
        """Save what has changed of pages that were saved."""
        if again := sorted(changed & self.done):
            self._save(again)

    def _save(self, changed: list[int]) -> None:
        done = sorted(self.done, key=lambda page: self.extractions[page].page.url)
        main = {page: self.labels.named(page, MAIN) for page in done}
        for page in changed:
            extraction = self.extractions[page]
            files.write_marked(self.folder, extraction.page.url, extraction, main[page])
        rows = (
            row
            for page in done
            for row in files.block_rows(
                self.extractions[page], self.labels.of_page(page), self._places[page]
            )
        )
        files.write_blocks(self.folder / files.BLOCKS, rows)
        pictures = (
            row for page in done for row in files.images_of(self.extractions[page], main[page])
        )
        files.write_lines(self.folder / files.IMAGES, pictures)
        gold = (
            files.gold_of(self.extractions[page], main[page], self.labels.named(page, UNSURE))
            for page in done
        )
        files.write_lines(self.folder / files.GOLD, gold)
