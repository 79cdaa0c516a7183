"""Writes items to the target, one file per site and shard."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from contentspider.ground.json_text import json_text
from contentspider.site.models.failures import LostProse
from contentspider.site.models.record import page_fields
from contentspider.state.files.formats import WRITERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.archive.target import Target
    from contentspider.page.input.page import Page
    from contentspider.state.stores.knowledge import Knowledge

FLUSH_CHARS = 32_000_000


class Items:
    """Writes the items of pages to files in a *folder*, which `put` copies to the target."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.lost = LostProse()
        self._chars = 0
        self._parts: dict[str, list[bytes]] = defaultdict(list)

    def add(self, name: str, page: Page, site: str, known: Knowledge, date: str) -> None:
        """Add the item of a page to the site's file *name*, if the page has text.

        *known* has the site's model and overrides, and *date* is the time of the fetch.
        """
        if not page.content.blocks:
            return
        extraction = known.extract(page, site)
        if known.model:
            self.lost.note(known.model, extraction)
        fields = page_fields(page, site, extraction, extraction.model_version)
        # The time of the fetch, not of this run: a task that runs again writes the same items.
        fields["crawled_at"] = date
        line = json_text(fields).encode("utf-8", "replace") + b"\n"
        self._parts[f"site={site}/{name}.jsonl"].append(line)
        self.count, self._chars = self.count + 1, self._chars + len(line)
        if self._chars >= FLUSH_CHARS:
            self._flush()

    def _flush(self) -> None:
        """Append the items in memory to their files."""
        for name, lines in self._parts.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            with (self.folder / name).open("ab") as file:
                file.writelines(lines)
        self._parts.clear()
        self._chars = 0

    def put(self, target: Target, form: str) -> None:
        """Write all added items to the target in the format *form*, and delete the local files."""
        self._flush()
        for path in sorted(self.folder.glob("site=*/*.jsonl")):
            output = path
            if form == "parquet":
                output = path.with_suffix(".parquet")
                with output.open("wb") as file:
                    WRITERS["parquet"](partial(_read_lines, path), file)
                path.unlink()
            target.put(output, f"{path.parent.name}/{output.name}")
            output.unlink()


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in a file of JSON lines."""
    with path.open("rb") as file:
        yield from map(json.loads, file)
