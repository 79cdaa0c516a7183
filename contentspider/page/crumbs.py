"""The section of a page: the bread crumbs between the front page and it, or the section's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.page.jsonld import MAX_VALUES, kinds, strings_at, strings_of, title_key
from contentspider.page.text import MAX_ADDRESS_CHARS
from contentspider.page.tidy import unique

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_CRUMBS = 10
MAX_CRUMB_CHARS = 100


def read_section(
    about: Mapping[str, object] | None,
    entries: Sequence[Mapping[str, object]],
    said: Mapping[str, list[str]],
    titles: Sequence[str],
    canonical: str,
) -> tuple[str, ...]:
    """Return the bread crumbs between the front page and this one; else the section's name."""
    for entry in entries[:MAX_VALUES]:
        if "BreadcrumbList" in kinds(entry) and (crumbs := _crumbs(entry, titles, canonical)):
            return unique(crumbs, MAX_CRUMBS, MAX_CRUMB_CHARS)
    stated = strings_at([about] if about else [], "articleSection")
    return unique([*stated, *said.get("section", ())], MAX_CRUMBS, MAX_CRUMB_CHARS)


def _crumbs(entry: Mapping[str, object], titles: Sequence[str], canonical: str) -> list[str]:
    items = entry.get("itemListElement")
    steps: list[tuple[float, str, str]] = []
    for number, item in enumerate(items[:MAX_VALUES] if isinstance(items, list) else [items]):
        if not isinstance(item, dict):
            continue
        target = item.get("item")
        at = target if isinstance(target, dict) else item
        name = strings_of(item.get("name")) or strings_of(at.get("name"))
        address = target if isinstance(target, str) else at.get("@id") or at.get("url") or ""
        position = item.get("position")
        try:
            place = float(position) if isinstance(position, (int, float, str)) else number
        except (ValueError, OverflowError):
            place = number
        if name:
            steps.append((place, name[0], str(address)))
    steps.sort(key=lambda step: step[0])
    # The first is the front page and the last mostly this one: neither is a section.
    if steps and (_is_front(steps[0][2]) or title_key(steps[0][1]) == "home"):
        del steps[0]
    if steps:
        _, last, address = steps[-1]
        key = title_key(last)
        if address in ("", canonical) or any(key in title_key(title) for title in titles):
            del steps[-1]
    return [name for _, name, _ in steps]


def _is_front(address: str) -> bool:
    """Tell whether an address is a site's front page, maybe one of its languages'."""
    path = re.sub(r"^(?:https?:)?//[^/?#]*", "", address[:MAX_ADDRESS_CHARS]).strip("/")
    return len(path) <= len("zh-hans") and (not path or bool(re.fullmatch(r"\w\w(-\w+)?", path)))
