"""The section of a page: the names in its breadcrumbs below the front page, or a section's name."""

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
# A breadcrumb that occurs in the page's title is the page itself if its key is longer than this.
MAX_NAME_KEY = 25
# The front page is searched in the first breadcrumbs: a text such as "You are on:" may precede it.
MAX_LEAD = 3
INDEX = re.compile(r"(?:^|/)(?:index|default)\.\w{3,5}$", re.IGNORECASE)


def read_section(
    about: Mapping[str, object] | None,
    entries: Sequence[Mapping[str, object]],
    meta_texts: Mapping[str, list[str]],
    titles: Sequence[str],
    canonical: str,
) -> tuple[str, ...]:
    """Return the breadcrumbs between the front page and this page, or else the section's name.

    *about* is the JSON-LD object of the page's subject, *entries* are all its JSON-LD objects, and
    *meta_texts* has the contents of meta elements by field (``section`` is used).
    """
    for entry in entries[:MAX_VALUES]:
        if "BreadcrumbList" in kinds(entry):
            names = trim_breadcrumbs(_read_steps(entry), titles, canonical)
            if names:
                return unique(names, MAX_CRUMBS, MAX_CRUMB_CHARS)
    sections = [*strings_at([about] if about else [], "articleSection")]
    sections += meta_texts.get("section", ())
    return unique(sections, MAX_CRUMBS, MAX_CRUMB_CHARS)


def _read_steps(entry: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the names and addresses in a BreadcrumbList, sorted by their positions."""
    items = entry.get("itemListElement")
    if not isinstance(items, list):
        items = [items]
    steps: list[tuple[float, str, str]] = []
    for number, item in enumerate(items[:MAX_VALUES]):
        if not isinstance(item, dict):
            continue
        target = item.get("item")
        details = target if isinstance(target, dict) else item
        names = strings_of(item.get("name")) or strings_of(details.get("name"))
        if isinstance(target, str):
            address: object = target
        else:
            address = details.get("@id") or details.get("url") or ""
        if names:
            steps.append((_position(item.get("position"), number), names[0], str(address)))
    steps.sort(key=lambda step: step[0])
    return [(name, address) for _, name, address in steps]


def _position(value: object, default: int) -> float:
    """Return a breadcrumb's position as a number, or *default* if it is not a number."""
    if not isinstance(value, (int, float, str)):
        return default
    try:
        return float(value)
    except (ValueError, OverflowError):
        return default


def trim_breadcrumbs(
    steps: Sequence[tuple[str, str]], titles: Sequence[str], canonical: str
) -> list[str]:
    """Return the names of *steps* (names and addresses) without the front page and the page itself.

    The front page is among the first steps. The page itself is usually the last step: its name is
    in one of the *titles*, or its address is empty or the *canonical* address.
    """
    steps = _without_front_page(steps)
    title_keys = [title_key(title) for title in titles]
    for number, (name, _) in enumerate(steps):
        # A text after the page's own name, such as a button, is not a step.
        if _is_title(title_key(name), title_keys):
            return [name for name, _ in steps[:number]]
    if steps:
        last_name, address = steps[-1]
        last_key = title_key(last_name)
        if address in ("", canonical) or any(last_key in title for title in title_keys):
            steps = steps[:-1]
    return [name for name, _ in steps]


def _without_front_page(steps: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return the *steps* after the front page; all steps if the first ones do not name it."""
    start = 0
    for number, (name, address) in enumerate(steps[:MAX_LEAD]):
        if title_key(name) in HOME or (number == 0 and address and _is_front(address)):
            start = number + 1
    return steps[start:]


def _is_title(key: str, title_keys: Sequence[str]) -> bool:
    """Tell whether the *key* of a breadcrumb is most of a page's title, or a long part of it."""
    return any(
        key in title and (len(key) > MAX_NAME_KEY or len(key) * 2 > len(title))
        for title in title_keys
    )


def _is_front(address: str) -> bool:
    """Tell whether an address is a site's front page, or the front page of one of its languages."""
    path = re.sub(r"^(?:https?:)?//[^/?#]*", "", address[:MAX_ADDRESS_CHARS])
    path = INDEX.sub("", path).strip("/")
    return len(path) <= len("zh-hans") and (not path or bool(re.fullmatch(r"\w\w(-\w+)?", path)))
