"""Tells which items get no content, because ``CONTENTSPIDER_ITEM_FIELDS`` lacks their class."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from itemadapter import ItemAdapter

from contentspider.crawl.base.items import class_path
from contentspider.ground.counts import counted

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.items import FieldMap

logger = logging.getLogger(__name__)

# Fields that usually have the text of a page.
TEXT_FIELDS = ("content", "text", "body")


class UnmappedItems:
    """Counts the items of pages that are left as they are. Warns of each class of them: at its
    first item, and with their number at the end of the crawl.
    """

    def __init__(self, field_map: FieldMap, stats: StatsCollector) -> None:
        self._field_map, self._stats = field_map, stats
        self._counts: Counter[str] = Counter()
        self._advice: dict[str, str] = {}

    def note(self, item: object) -> None:
        """Count an item that a callback has yielded for a page, if nothing is said of its class."""
        if self._field_map.has_class(item) or not ItemAdapter.is_item(item):
            return
        path = class_path(type(item))
        self._stats.inc_value("contentspider/items/unmapped")
        self._counts[path] += 1
        if path not in self._advice:
            self._advice[path] = _advice(path, item)
            logger.warning("An item of the class %s gets no content. %s", path, self._advice[path])

    def tell(self) -> None:
        """Log how many items of each class lack content; the first one was logged by `note`."""
        for path, count in self._counts.items():
            if count > 1:
                items = counted(count, "items")
                logger.warning(
                    "%s of the class %s have no content. %s", items, path, self._advice[path]
                )


def _advice(path: str, item: object) -> str:
    """Return what to write into the settings, so that items of a class are filled."""
    names = set(ItemAdapter(item).field_names())
    field = next((name for name in TEXT_FIELDS if name in names), TEXT_FIELDS[0])
    has_field = path == "dict" or field in names
    addition = "" if has_field else f" (and give the class a field {field!r})"
    return (
        f"To fill them, set CONTENTSPIDER_ITEM_FIELDS = {{{path!r}: {{'content': {field!r}}}}}"
        f"{addition} in settings.py, or yield ContentItem; {{{path!r}: {{}}}} if they need none"
    )
