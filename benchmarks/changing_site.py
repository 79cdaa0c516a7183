"""The generated site as it changes from crawl to crawl, and what is true of each of its pages.

`step` makes the next version: pages are edited, added, deleted and moved, some seem to be gone that
are not, a part of the site has another template, another is down for one crawl. Around the text all
is new on every page: advertisements, dates, counters, and which pages are named beside it.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from generated_site import BLOCK, EXTRAS, SECTIONS, GeneratedSite

# What becomes of pages from one version to the next, and of which share of them.
FATES = {
    "small edit": 0.03,
    "big edit": 0.02,
    "404, linked": 0.01,
    "404, unlinked": 0.01,
    "410": 0.01,
    "301, linked by its new address": 0.01,
    "308, linked by its old address": 0.01,
    "301, not linked": 0.01,
    "301 to a 308": 0.01,
    "moved without a redirect": 0.01,
    "soft 404": 0.01,
    "302 to a login": 0.01,
    "login in its place": 0.01,
    "unlinked": 0.01,
}
ADDED, COPIES = 0.03, 0.01
GONE_FATES = ("404, linked", "404, unlinked", "410")
LEAST = 2  # pages of each fate, however small the site is
SOFT_SECTION = "shop"  # what is not there is answered 200 by this part of the site


@dataclass
class Truth:
    """What is true of a version: of each path that changed, how, and where it was before; the
    *same* paths, which did not; those *hidden*, of which nothing can be said; and those of which
    ``changed`` is as true as ``unchanged`` (*either*: listings whose entries are others).
    *pairs* are two addresses of one text, one of which stands for both. *what* says in words what
    happened to a path.
    """

    changes: set[tuple[str, str, str]] = field(default_factory=set)
    same: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    either: set[str] = field(default_factory=set)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    what: dict[str, str] = field(default_factory=dict)


class ChangingSite(GeneratedSite):
    """A `GeneratedSite` in its first version; `step` makes the next."""

    def __init__(self, pages: int, seed: int = 1, down: int = 503) -> None:
        self.version, self.down = 1, down
        self.places: dict[int, str] = {}  # where pages are that have moved
        self.named: dict[int, str] = {}  # addresses by which pages are linked, if not their own
        self.absent: set[int] = set()  # pages that are not there (yet, or any more)
        self.unlinked: set[int] = set()
        self.edits: dict[int, list[tuple[str, int]]] = {}
        self.copies: dict[int, str] = {}
        self.redirects: dict[str, tuple[int, str]] = {}
        self.gone: dict[str, int] = {}
        self.veiled: dict[int, str] = {}
        self.dead: dict[int, str] = {}  # links to what is not there, by the listing that has them
        self.current = 0
        super().__init__(pages, seed)
        self.fates = random.Random(seed)
        self.free = [n for n in range(pages) if n % BLOCK > 12 or (n > 150 and n % BLOCK)]
        self.fates.shuffle(self.free)
        self.free.sort(key=self.is_down)  # what is down is not touched before it is up again
        self.absent.update(self._take(2 * ADDED))
        for number in self._take(COPIES):
            self.copies[number] = "/print" + super().path(number)
        self._rebuild()

    def _take(self, share: float) -> list[int]:
        count = max(LEAST, round(share * self.pages))
        taken, self.free = self.free[:count], self.free[count:]
        if len(taken) < count:
            raise ValueError(f"{self.pages} pages are too few: 400 or more are needed")
        return taken

    def _rebuild(self) -> None:
        self.visible = [n for n in range(self.pages) if self.is_linked(n)]
        self.routes = {self.path(n): n for n in range(self.pages) if n not in self.absent}
        self.routes |= {path: n for n, path in self.copies.items() if n not in self.absent}
        self.menu, self.footer = self._menu(), self._footer()

    def is_linked(self, number: int) -> bool:
        return number not in self.absent and number not in self.unlinked

    def is_down(self, number: int) -> bool:
        """Tell whether a page is in the part that is down in the second version."""
        return self.section(number) == "forum" and number // BLOCK // len(SECTIONS) % 2 == 1

    def has_new_look(self, number: int) -> bool:
        """Tell whether a page has another template from the second version on."""
        return (
            self.version > 1
            and number % BLOCK > 0
            and self.section(number) == "handbook"
            and number > self.pages // 2
        )

    # What pages are made of

    def path(self, number: int) -> str:
        return self.places.get(number) or super().path(number)

    def link(self, number: int, text: str = "") -> str:
        shown = text or self.title(number)
        if not self.is_linked(number):
            return shown
        address = self.named.get(number) or self.path(number)
        return f'<a href="{address}">{shown}</a>'

    def listed(self, number: int) -> list[int]:
        return [other for other in super().listed(number) if self.is_linked(other)]

    def others(self, number: int) -> list[int]:
        draw = self.draw(number * 10 + self.version, EXTRAS)
        return [draw.choice(self.visible) for _ in range(14)]

    def _paragraphs(self, draw: random.Random, low: int, high: int) -> list[str]:
        found = super()._paragraphs(draw, low, high)
        for kind, version in self.edits.get(self.current, ()):
            other = random.Random(f"{self.seed} {self.current} {version}")
            if kind == "small edit":
                found[-1] = f"{found[-1]} {self.sentences(other, 1)}"
            else:
                found[1:] = [self.sentences(other, 5) for _ in found[1:]] or [
                    self.sentences(other, 5)
                ]
        return found

    def _listing(self, number: int) -> str:
        found = super()._listing(number)
        if number in self.dead:
            found = f'{found}<p><a href="{self.dead[number]}">Until last week</a></p>'
        for other in self.listed(number):
            if copy := self.copies.get(other):
                # Which of the two is named first, and by all other pages, is not always the same.
                second = self.path(other) if other in self.named else copy
                found = found.replace(
                    '<div class="pagination">', f'<a href="{second}">Other version</a>$&', 1
                ).replace("$&", '<div class="pagination">')
        return found

    def html(self, number: int) -> str:
        self.current = number
        found = self._around(super().html(number), number)
        if number in self.copies:
            found = re.sub('<link rel="canonical"[^>]*>', "", found)
        if self.has_new_look(number):
            found = found.replace('class="chapter"', 'class="doc-body text-flow"').replace(
                '<main id="content">', '<div class="shell"><main class="doc">'
            )
            found = re.sub(r"</main>(<aside.*</aside>)", r"</main></div>\1", found)
            found = found.replace('class="turn"', 'class="doc-pager"')
            found = re.sub(r'class="(widget|related-card)\b', r'class="side-\1', found)
        return found

    def _around(self, found: str, number: int) -> str:
        """Return a page with what is new on it at each visit of its own."""
        draw = random.Random(f"{self.seed} {number} {self.version}")
        advert = (
            f'<div class="advert"><b>Advertisement</b><p>{self.sentences(draw, 2)}</p><a'
            f' href="https://adverts.example/{draw.randrange(10**6)}">Buy now</a></div>'
        )
        found = found.replace(
            '<section class="widget popular">', advert + "<section class='widget'>"
        )
        found = found.replace(
            '<div class="crumbs">',
            f'<div class="today">{draw.randint(1, 28)} June 202{self.version},'
            f' {draw.randint(2, 900)} visitors online</div><div class="crumbs">',
        )
        found = found.replace(
            '<div class="share-bar">',
            f'<div class="views">Read {draw.randint(10, 9999)} times</div><div class="share-bar">',
            1,
        )
        found = re.sub(r"Posts: \d+", lambda _: f"Posts: {draw.randint(1, 5000)}", found)
        return found.replace("© 2024", f"© 202{3 + self.version}")

    def _plain(self, title: str, main: str) -> str:
        """Return a page that is none of the site's texts, in the site's look."""
        return self._around(
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} | The'
            f' Generated Site</title></head><body class="kind-plain"><header class="top"><a'
            f' class="logo" href="/">The Generated Site</a><nav class="menu"><ul>{self.menu}</ul>'
            f'</nav></header><div class="crumbs"><a href="/">Home</a></div><div class="layout">'
            f'<main id="content">{main}</main>{self._sidebar(0)}</div>{self.footer}</body></html>',
            self.fates.randrange(10**6),
        )

    def error_page(self) -> str:
        return self._plain(
            "Page not found",
            "<h1>Page not found</h1><p>Sorry, the page that you are looking for does not exist, has"
            " been removed, or has another name now.</p><p>Try the search, or go back to the start"
            " page.</p>",
        )

    def login_page(self) -> str:
        return self._plain(
            "Log in",
            '<h1>Log in</h1><p>Please log in to read on.</p><form action="/login" method="post">'
            '<label>E-mail<input name="user"></label><label>Password<input type="password"'
            ' name="password"></label><button>Log in</button></form><p>Forgot your password? No'
            " account yet?</p>",
        )

    def answer(self, path: str) -> tuple[int, str, str, str]:
        """Return what is answered for a path: status, where to, validator, and body."""
        if path in self.redirects:
            return (*self.redirects[path], "", "")
        if path == "/login":
            return 200, "", "", self.login_page()
        number = self.routes.get(path)
        if number is None:
            is_soft = path.startswith(f"/{SOFT_SECTION}/") and path not in self.gone
            return self.gone.get(path, 200 if is_soft else 404), "", "", self.error_page()
        if self.version == 2 and self.is_down(number):
            return self.down, "", "", "<p>Not available</p>"
        veil = self.veiled.get(number)
        if veil == "soft 404":
            return 200, "", "", self.error_page()
        if veil == "302 to a login":
            return 302, "/login", "", ""
        if veil == "login in its place":
            return 200, "", "", self.login_page()
        validator = ""
        if self.section(number) in ("recipes", "handbook") and number % BLOCK:
            # As systems do that know when a text was edited, not what stands around it.
            validator = f'"{number}-{len(self.edits.get(number, ()))}-{self.has_new_look(number)}"'
        return 200, "", validator, self.html(number)

    # What becomes of it

    def first(self) -> Truth:
        """Return what is true of the first version: all is new."""
        pages = [n for n in range(self.pages) if n not in self.absent]
        return self._with_copies(Truth({("new", self.path(n), "") for n in pages}))

    def _with_copies(self, truth: Truth) -> Truth:
        """Leave open which of two copies stands for both."""
        truth.pairs = [(self.path(number), path) for number, path in self.copies.items()]
        for pair in truth.pairs:
            truth.what |= dict.fromkeys(pair, "one text at two addresses")
            truth.same.difference_update(pair)
            truth.changes.difference_update(("new", path, "") for path in pair)
        return truth

    def step(self) -> Truth:
        """Make the next version, and return what is true of it."""
        self.version += 1
        truth = Truth()
        known = {self.path(n): n for n in range(self.pages) if n not in self.absent}
        back = sorted(n for n in self.absent if self.gone.get(self.path(n)) == 410)[::2]
        self.veiled, self.named, self.dead = {}, {}, {}
        if self.version == 2:
            self.named |= self.copies
        before_listed = {n: self.listed(n) for n in range(0, self.pages, BLOCK)}
        for number in back:
            self.absent.discard(number)
            self.unlinked.discard(number)
            self.gone.pop(self.path(number))
            self._tell(truth, number, "new", "back again")
        added = sorted(n for n in self.absent if self.path(n) not in self.gone)
        for number in added[:: 2 if self.version == 2 else 1]:
            self.absent.discard(number)
            self._tell(truth, number, "new", "added")
        for fate, share in FATES.items():
            for number in self._take(share):
                self._befall(truth, number, fate)
        self._rebuild()
        for path, number in known.items():
            if number % BLOCK == 0 and before_listed[number] != self.listed(number):
                truth.either.add(path)
                truth.what[path] = "a listing with other entries"
            elif self.version == 2 and self.is_down(number):
                truth.hidden.add(path)
                truth.what[path] = "down"
            elif path not in truth.what:
                truth.same.add(path)
                if self.has_new_look(number):
                    truth.what[path] = "another template"
        if self.version == 2:
            for number in range(0, self.pages, BLOCK):
                if self.is_down(number):
                    truth.hidden.add(self.path(number))
                    truth.either.discard(self.path(number))
        elif self.version == 3:  # whether it was seen with entries that are no more
            truth.either |= {self.path(n) for n in range(0, self.pages, BLOCK) if self.is_down(n)}
            truth.same -= truth.either
        truth.either.add("/login")
        return self._with_copies(truth)

    def _tell(self, truth: Truth, number: int, change: str, fate: str) -> None:
        truth.changes.add((change, self.path(number), ""))
        truth.what[self.path(number)] = fate

    def _befall(self, truth: Truth, number: int, fate: str) -> None:
        path = self.path(number)
        truth.what[path] = fate
        if fate.endswith("edit"):
            self.edits.setdefault(number, []).append((fate, self.version))
            truth.changes.add(("changed", path, ""))
        elif fate in GONE_FATES:
            self._delete(number, 410 if fate == "410" else 404)
            if fate == "404, linked":
                self.dead[number // BLOCK * BLOCK] = path
            truth.changes.add(("gone", path, ""))
        elif fate == "unlinked":
            self.unlinked.add(number)
            truth.same.add(path)
        elif "301" in fate or "308" in fate or fate.startswith("moved"):
            self._move(truth, number, fate)
        else:
            self.veiled[number] = fate
            truth.hidden.add(path)

    def _delete(self, number: int, status: int) -> None:
        self.gone[self.path(number)] = status
        self.absent.add(number)

    def _move(self, truth: Truth, number: int, fate: str) -> None:
        old = self.path(number)
        new = f"/moved/{self.version}{old}"
        self.places[number] = new
        truth.what[new] = fate
        if fate.startswith("moved"):
            self.gone[old] = 404
            truth.changes |= {("gone", old, ""), ("new", new, "")}
            return
        truth.changes.add(("moved", new, old))
        if fate == "301 to a 308":
            self.redirects[old] = 301, "/way" + old
            self.redirects["/way" + old] = 308, new
        else:
            self.redirects[old] = int(fate[:3]), new
        if "old address" in fate:
            self.named[number] = old
        elif "not linked" in fate:
            self.unlinked.add(number)
