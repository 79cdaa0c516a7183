"""One site in the annotation tool: its pages, the least confident first, its saved labels, and the
labels for a slot of the whole site, in ``overrides.toml``.
"""

from __future__ import annotations

import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from contentspider.ground.atomic import writing
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.files import read_pages
from contentspider.page.input.overrides import OVERRIDES, Overrides
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.selectors import selectors
from contentspider.web.annotate import files
from contentspider.web.annotate.files import read_bytes, replace_file
from contentspider.web.annotate.labels import MAIN, MAX_UNDO, UNSURE, Label, Labels
from contentspider.web.annotate.marked_fields import MarkedFields
from contentspider.web.annotate.sources import HTML

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from contentspider.web.annotate.files import FileChange
    from contentspider.web.annotate.sources import SitePages

logger = logging.getLogger(__name__)

CHANGED = "%s has changed since it was annotated: please annotate it again"
# A selector is checked on this many pages with its slot, and as many other pages.
CHECKED_PAGES = 10
NO_SELECTOR = (
    "the blocks are labelled, but no CSS selector matches exactly these blocks, so overrides.toml"
    " does not change"
)
KEEP, DROP = "keep", "drop"


def find_exact_selector(slot: str, pages: Sequence[tuple[bytes, set[int]]]) -> str:
    """Return the shortest selector that matches exactly the blocks of a slot, or "".

    *pages* are tuples of a page's HTML and the numbers of the blocks to match.
    """
    for selector in selectors(slot):
        text = tomlkit.dumps({DROP: [selector]})
        try:
            overrides = Overrides.parse(text)
        except ContentSpiderError:
            continue
        if all(_matched_blocks(body, overrides) == blocks for body, blocks in pages):
            return selector
    return ""


def _matched_blocks(body: bytes, overrides: Overrides) -> set[int] | None:
    """Return the numbers of the blocks that overrides drop, or None if they do not apply."""
    corrections = Page.from_html(body, "", overrides=overrides).corrections
    return set(corrections.dropped) if corrections else None


def add_selector(folder: Path, selector: str, action: str) -> FileChange:
    """Add a selector to an action ("keep" or "drop") in a model folder's ``overrides.toml``.

    The selector is removed from the other action. Comments stay.
    """
    path = folder / OVERRIDES
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
    before = read_bytes(path)
    try:
        record = tomlkit.parse(before or b"")
        for name in (KEEP, DROP):
            lines = record.get(name, [])
            if selector in lines and name != action:
                lines.remove(selector)
            elif selector not in lines and name == action:
                lines.append(selector)
                record[name] = lines
    except (TOMLKitError, UnicodeError, AttributeError, TypeError) as error:
        raise ContentSpiderError(
            f"{selector} cannot be added to {path}: correct the file first ({error})"
        ) from error
    text = tomlkit.dumps(record)
    Overrides.parse(text, str(path))
    return replace_file(path, before, text)


class Session:
    """The pages of a site, with the decisions of a model and the labels that people saved before.

    The model is learned from the pages. Overrides are read from the folder *model_folder*, and
    written there. Examples of own fields are read from *fields_path*, and written there. Raises
    `ContentSpiderError` if no page has text, or if the file of fields cannot be used.
    """

    def __init__(self, site_pages: SitePages, model_folder: Path, fields_path: Path) -> None:
        self.site, self.folder = site_pages.site, site_pages.folder
        self._model_folder = model_folder
        overrides = Overrides.load(model_folder)
        pages = [
            page
            for page in read_pages(self.folder / HTML, overrides=overrides)
            if page.content.blocks
        ]
        model = SiteLearner(self.site).fit(pages)
        self.extractions = sorted(
            (model.extract(page) for page in pages),
            key=lambda extraction: (extraction.confidence, extraction.page.url),
        )
        self.labels = Labels(self.extractions)
        self._slots = [
            [model.slot_of(block.path) for block in extraction.page.content.blocks]
            for extraction in self.extractions
        ]
        self._blocks_by_slot: dict[str, list[tuple[int, int]]] = {}
        for page_number, slots in enumerate(self._slots):
            for number, slot in enumerate(slots):
                self._blocks_by_slot.setdefault(slot, []).append((page_number, number))
        self.fields = MarkedFields(
            fields_path, pages, site_pages.addresses, self.site, model.slot_of
        )
        self.done: set[int] = set()
        # The functions that undo the last changes. Each returns a message for the user, or "".
        self._undo_functions: deque[Callable[[], str]] = deque(maxlen=MAX_UNDO)
        self._restore(files.read_blocks(self.folder / files.BLOCKS))

    def _restore(self, saved: dict[str, list[tuple[str, Label]]]) -> None:
        """Use the saved labels of pages that have not changed since."""
        for page, extraction in enumerate(self.extractions):
            rows = saved.pop(extraction.page.url, [])
            texts = [block.text[: files.MAX_TEXT] for block in extraction.page.content.blocks]
            if rows and [files.as_written(text) for text in texts] != [text for text, _ in rows]:
                logger.warning(CHANGED, extraction.page.url)
            elif rows:
                for number, (_, label) in enumerate(rows):
                    self.labels.put([(page, number)], label)
                self.done.add(page)
        self.labels.clear_history()

    @property
    def first(self) -> int:
        """Return the number of the first page that is not done, or 0 if all pages are done."""
        open_pages = set(range(len(self.extractions))) - self.done
        return min(open_pages, default=0)

    def body(self, page: int) -> bytes:
        """Return the bytes of a page's file; raises `ContentSpiderError` if it cannot be read."""
        path = self.folder / HTML / self.extractions[page].page.url
        try:
            return path.read_bytes()
        except OSError as error:
            raise ContentSpiderError(f"{path} cannot be read ({error.strerror})") from error

    def state(self, page: int) -> dict[str, Any]:
        """Return the state of a page as JSON values: its progress, and its blocks with labels.

        ``same`` counts the blocks of the same slot on all pages of the site. ``fields`` has the
        values of own fields on the page, and ``field_types`` the types of all own fields.
        """
        extraction = self.extractions[page]
        blocks = extraction.page.content.blocks
        rows = zip(
            blocks,
            self.labels.of_page(page),
            self._slots[page],
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
            "field_types": self.fields.names,
            "fields": [value._asdict() for value in self.fields.shown(extraction.page)],
            "blocks": [
                {
                    "text": block.text,
                    "container": block.container,
                    "label": label.name,
                    "kind": label.kind,
                    "probability": round(probability, 2),
                    "same": len(self._blocks_by_slot[slot]),
                }
                for block, label, slot, probability in rows
            ],
        }

    def label(self, page: int, blocks: list[int], label: Label) -> None:
        """Label blocks of a page."""
        changed = self.labels.put([(page, number) for number in blocks], label)
        self._undo_functions.append(self._undo_label)
        self._save_again(changed)

    def mark_value(self, page: int, name: str, kind: str, value: str) -> str:
        """Add an example of an own field on a page, and return a message for the user."""
        message = self.fields.add(self.extractions[page].page, name, kind, value)
        self._undo_functions.append(self.fields.undo)
        return message

    def label_place(self, page: int, number: int, label: Label) -> str:
        """Label all blocks of the site in the slot of a block, and return a message for the user.

        If a CSS selector matches exactly these blocks, it is added to the site's overrides.toml.
        """
        if not 0 <= number < len(self._slots[page]):
            raise ContentSpiderError("this block does not exist")
        slot = self._slots[page][number]
        blocks = self._blocks_by_slot[slot]
        changed = self.labels.put(blocks, label)
        self._undo_functions.append(self._undo_label)
        self._save_again(changed)
        by_page: dict[int, set[int]] = {}
        for other_page, block in blocks:
            by_page.setdefault(other_page, set()).add(block)
        message = (
            f"{counted(len(blocks), 'blocks')} on {counted(len(by_page), 'pages')}: {label.name}"
        )
        if label.name == UNSURE:
            return message
        selector = self._selector_for(slot, page, by_page)
        if not selector:
            return f"{message}; {NO_SELECTOR}"
        action = KEEP if label.name == MAIN else DROP
        change = add_selector(self._model_folder, selector, action)
        self._undo_functions[-1] = partial(self._undo_place, change)
        return f"{message}; {action} {selector}"

    def _selector_for(self, slot: str, page: int, by_page: dict[int, set[int]]) -> str:
        """Return a selector that matches exactly the blocks of a slot, or "".

        It is checked on *page*, on other pages with the slot, and on pages without the slot.
        *by_page* has the blocks of the slot on each page.
        """
        pages_with_slot = sorted(by_page, key=lambda other_page: other_page != page)
        other_pages = [number for number in range(len(self.extractions)) if number not in by_page]
        checked_pages = [*pages_with_slot[:CHECKED_PAGES], *other_pages[:CHECKED_PAGES]]
        bodies = [(self.body(number), by_page.get(number, set())) for number in checked_pages]
        return find_exact_selector(slot, bodies)

    def undo(self) -> str:
        """Undo the last change of labels or of own fields, and its change of overrides.toml or
        fields.toml. Return a message for the user, or "".
        """
        return self._undo_functions.pop()() if self._undo_functions else ""

    def _undo_label(self) -> str:
        self._save_again(self.labels.undo())
        return ""

    def _undo_place(self, change: FileChange) -> str:
        changed = self.labels.undo()
        is_undone = change.undo()
        self._save_again(changed)
        return "" if is_undone else f"{change.path} has changed since, and stays as it is"

    def finish(self, page: int) -> None:
        """Mark a page as done, and save it; raises `ContentSpiderError` if writing fails."""
        self.done.add(page)
        try:
            self._save([page])
        except ContentSpiderError:
            self.done.discard(page)
            raise

    def _save_again(self, changed: set[int]) -> None:
        """Save the changed pages that were saved before."""
        if pages := sorted(changed & self.done):
            self._save(pages)

    def _save(self, changed: list[int]) -> None:
        """Write the HTML of changed pages, and the tables of all pages that are done."""
        done = sorted(self.done, key=lambda page: self.extractions[page].page.url)
        main = {page: self.labels.mask(page, MAIN) for page in done}
        for page in changed:
            extraction = self.extractions[page]
            files.write_annotated(self.folder, extraction.page.url, extraction, main[page])
        rows = (
            row
            for page in done
            for row in files.block_rows(
                self.extractions[page], self.labels.of_page(page), self._slots[page]
            )
        )
        files.write_blocks(self.folder / files.BLOCKS, rows)
        pictures = (
            row for page in done for row in files.images_of(self.extractions[page], main[page])
        )
        files.write_lines(self.folder / files.IMAGES, pictures)
        gold = (
            files.gold_of(self.extractions[page], main[page], self.labels.mask(page, UNSURE))
            for page in done
        )
        files.write_lines(self.folder / files.GOLD, gold)
