"""The design of pages: the elements with an id or a class that most of the pages have.

All templates of a site share such elements. Pages of two sites hardly share any.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.addresses import is_web_address
from contentspider.ground.sites import SiteKeys
from contentspider.page.tree.tags import is_link
from contentspider.site.title import title_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from contentspider.page.input.page import Page

    Steps = Collection[str]

DIGITS = re.compile(r"\d+")
MAX_STEPS = 60
# A page has a design if it has this share of its elements. On 134 sites, 97.5 % of the pages have
# this share of the elements of their own site, and 0.4 % that share of another site's elements.
MIN_SHARED = 0.2
# Pages are of several sites if they name several, each of them on this share of the pages and on
# this many, and if none of them is named by more than `ONE_SITE_SHARE`.
ONE_SITE_SHARE, MIN_NAMING = 0.8, 5


def named_steps(page: Page) -> frozenset[str]:
    """Return the steps of a page's paths that have an id, a class or an attribute, with 0 for each
    number.
    """
    steps = {step for path in set(page.content.paths) for step in path.split("/")}
    return frozenset(
        DIGITS.sub("0", step) for step in steps if "." in step or "#" in step or "[" in step
    )


def design_of(pages: Iterable[Steps]) -> tuple[str, ...]:
    """Return the most frequent of the steps that at least half of the *pages* have; each of these
    has its `named_steps`.
    """
    counts: Counter[str] = Counter()
    size = 0
    for size, steps in enumerate(pages, 1):  # noqa: B007 - the number of pages
        counts.update(steps)
    frequent = sorted(counts.items(), key=lambda step: (-step[1], step[0]))[:MAX_STEPS]
    return tuple(step for step, count in frequent if 2 * count >= size)


def has_design(steps: Steps, design: Steps) -> bool:
    """Tell whether a page with these *steps* may have a *design*. Every page may have a design
    without steps.
    """
    return len(set(steps) & set(design)) >= MIN_SHARED * len(design)


class SitesOfPages(NamedTuple):
    """The sites of the pages of one folder: their *names* with numbers of pages. *by* says in words
    where the pages have the names.
    """

    by: str
    names: Sequence[tuple[str, int]]

    def __str__(self) -> str:
        names = ", ".join(f"{name or 'none'} ({number})" for name, number in self.names)
        return f"{self.by}: {names}"


def sites_of(pages: Sequence[Page]) -> SitesOfPages | None:
    """Return the sites of *pages*; None if the pages seem to belong to one site.

    Pages with canonical addresses of several sites belong to several sites. Pages without a
    canonical address, and pages whose site names, ends of titles or languages differ, belong to
    several sites if their designs differ, too.
    """
    keys = SiteKeys()

    def canonical(page: Page) -> str:
        address = page.hints.canonical
        return keys.key(address) if is_web_address(address) else ""

    hosts = Counter(filter(None, map(canonical, pages)))
    if hosts.total() >= MIN_NAMING and max(hosts.values()) < ONE_SITE_SHARE * hosts.total():
        return SitesOfPages("canonical addresses", hosts.most_common(3))
    signs: dict[str, Callable[[Page], str]] = {
        "canonical addresses": canonical,
        "names of the site": lambda page: page.metadata.site_name,
        "ends of titles": _end_of_title(pages),
        "languages": lambda page: page.hints.language.partition("-")[0],
    }
    sites = [_SiteOfPage(named_steps(page), canonical(page), page) for page in pages]
    for by, sign in signs.items():
        if names := _differing_names(list(map(sign, pages)), sites):
            return SitesOfPages(by, names)
    return None


class _SiteOfPage(NamedTuple):
    """What a page tells of its site: the *steps* of its design, and the site of its canonical
    address ("": it has none).
    """

    steps: Steps
    canonical: str
    page: Page

    def linked(self, keys: SiteKeys) -> set[str]:
        """Return the sites that the page links to."""
        marks = {mark for block in self.page.content.blocks for _, _, mark in block.spans}
        return {keys.key(mark) for mark in marks if is_link(mark) and is_web_address(mark)}


def _differing_names(names: Sequence[str], sites: Sequence[_SiteOfPage]) -> list[tuple[str, int]]:
    """Return the frequent *names* with their numbers of pages, if pages with different names have
    different designs; else an empty list. *names* and *sites* have an entry for each page.

    A site may have a template that lacks a name. So pages without one are of another site than
    those with a name only if they do not link to each other's canonical addresses.
    """
    least = max(MIN_NAMING, (1 - ONE_SITE_SHARE) * len(names))
    counts = [(name, count) for name, count in Counter(names).most_common() if count >= least]
    groups = {
        name: [site for site, other in zip(sites, names, strict=True) if other == name]
        for name, _ in counts
    }
    designs = {name: design_of(site.steps for site in group) for name, group in groups.items()}
    for one, other in combinations(groups, 2):
        if _differ(designs[one], designs[other]) and (
            (one and other) or not _are_linked(groups[one], groups[other])
        ):
            return counts
    return []


def _are_linked(one: Sequence[_SiteOfPage], other: Sequence[_SiteOfPage]) -> bool:
    """Tell whether pages of one group link to the site of the other's canonical addresses."""
    keys = SiteKeys()
    for group, linking in ((one, other), (other, one)):
        own = {site.canonical for site in group if site.canonical}
        if own and any(site.canonical in own or own & site.linked(keys) for site in linking):
            return True
    return False


def _end_of_title(pages: Iterable[Page]) -> Callable[[Page], str]:
    """Return a function that returns the first or the last part of a page's title, "" for a title
    of one part: the one that more of the *pages* have.
    """

    def ends(page: Page) -> list[str]:
        parts = title_parts(page.hints.titles[0]) if page.hints.titles else []
        return [parts[-1], parts[0]] if len(parts) > 1 else []

    counts = Counter(end for page in pages for end in ends(page))
    return lambda page: max(ends(page), key=lambda end: counts[end], default="")


def _differ(one: Steps, other: Steps) -> bool:
    """Tell whether two designs differ; designs without steps cannot be compared."""
    few, many = sorted((one, other), key=len)
    return bool(few) and not has_design(many, few)
