"""The section of a page: its bread crumbs below the front page, or the section's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.ground.addresses import MAX_ADDRESS_CHARS
from contentspider.page.about.jsonld import MAX_VALUES, kinds, strings_at, strings_of, title_key
from contentspider.page.words.tidy import unique

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_CRUMBS = 10
MAX_CRUMB_CHARS = 100
HOME = frozenset(
    "home homepage start startseite inicio início accueil главная 首页 首頁 ホーム トップ 홈 domů"
    " stronagłówna hem hjem anasayfa".split()
)
# A longer step that is in the page's title is the page itself.
MAX_NAME_KEY = 25
# "You are here:" may stand before the front page.
MAX_LEAD = 3
INDEX = re.compile(r"(?:^|/)(?:index|default)\.\w{3,5}$", re.IGNORECASE)


def read_section(
    about: Mapping[str, object] | None,
    entries: Sequence[Mapping[str, object]],
    said: Mapping[str, list[str]],
    titles: Sequence[str],
    canonical: str,
) -> tuple[str, ...]:
    """Return the bread crumbs between the front page and this one, else the section's name."""
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
    return between([(name, address) for _, name, address in steps], titles, canonical)


def between(steps: Sequence[tuple[str, str]], titles: Sequence[str], canonical: str) -> list[str]:
    """Return the names of *steps* (names and addresses) behind the front page, which is among the
    first, and before the page itself, which is mostly the last: it has one of the *titles*, no
    address, or the *canonical* one.
    """
    fronts = [
        number
        for number, (name, address) in enumerate(steps[:MAX_LEAD])
        if title_key(name) in HOME or (not number and _is_front(address))
    ]
    steps = steps[fronts[-1] + 1 if fronts else 0 :]
    known = [title_key(title) for title in titles]
    for number, (name, _) in enumerate(steps):
        key = title_key(name)
        # Text after the page's own name, such as a button, is not a step.
        if any(
            key in title and (len(key) > MAX_NAME_KEY or len(key) * 2 > len(title))
            for title in known
        ):
            return [name for name, _ in steps[:number]]
    if steps:
        last, address = steps[-1]
        key = title_key(last)
        if address in ("", canonical) or any(key in title for title in known):
            steps = steps[:-1]
    return [name for name, _ in steps]


def _is_front(address: str) -> bool:
    """Tell whether an address is a site's front page, maybe one of its languages'."""
    path = re.sub(r"^(?:https?:)?//[^/?#]*", "", address[:MAX_ADDRESS_CHARS])
    path = INDEX.sub("", path).strip("/")
    return len(path) <= len("zh-hans") and (not path or bool(re.fullmatch(r"\w\w(-\w+)?", path)))
