"""Sites whose pages never change, but say their age, count their views, quote another customer at
each visit and name related pages in another order.
"""

from __future__ import annotations

import random
from datetime import timedelta

from babel.dates import format_timedelta

from tests.sites import prose

LANGUAGES = "en de fr es it pt nl sv da fi pl cs hu el ru uk tr ar ja zh".split()
UNITS = ((365, "year"), (30, "month"), (7, "week"), (1, "day"))
WRITERS = ("Ada", "Bob", "Cy", "Dee")


def age(days: int, language: str) -> str:
    """Return an age as CLDR writes it, in the largest unit."""
    if days == 0:
        return {"de": "heute", "fr": "aujourd’hui", "es": "hoy", "ru": "сегодня"}.get(
            language, "today"
        )
    if days == 1 and language == "en":
        return "yesterday"
    unit = next(name for length, name in UNITS if days >= length)
    age = timedelta(days=days)
    # The number of units is cut, not rounded.
    return str(
        format_timedelta(-age, granularity=unit, threshold=1, add_direction=True, locale=language)
    )


class RestlessSite:
    """A site with the *number* of its kind: language, markup and the size of its pool of quotes
    follow from it. *day* is the day of the crawl, *edited* the pages that have really changed, each
    with a sentence, a price or a day.
    """

    def __init__(self, number: int, pages: int = 12) -> None:
        self.number, self.pages = number, pages
        self.language = LANGUAGES[number % len(LANGUAGES)]
        self.quotes = [prose("quote", number, i, words=14) for i in range((6, 20, 100)[number % 3])]
        self.day = 0
        self.edited: dict[str, str] = {}
        self._draw = random.Random(number)

    def html(self, path: str) -> str | None:
        """Return the page at a path as it is at a visit, None if there is none."""
        if path == "/":
            links = "".join(f"<p><a href=/{n}>Page {n}</a>" for n in range(1, self.pages + 1))
            return self._page("Home", f"<p>{prose(self.number, 'home')}</p>{links}")
        number = int(path[1:]) if path[1:].isdigit() else 0
        if not 1 <= number <= self.pages:
            return None
        edited = self.edited.get(path, "")
        sentence = prose(self.number, number, 2, edited == "sentence")
        price, day = 12 + 7 * number + (edited == "price"), 1 + number + (edited == "day")
        parts = [
            self._age(number),
            *(f"<p>{prose(self.number, number, i)}</p>" for i in (0, 1)),
            f"<p>{sentence}</p>",
            f"<p class=price>{prose(number, words=2)[:-1]} for ${price}.50</p>",
            f"<p>{prose(number, 'event', words=25)[:-1]}, on {day} May 2031 at eight.</p>",
            self._quote(),
            self._related(),
        ]
        return self._page(f"Page {number}", "".join(parts))

    def _page(self, title: str, body: str) -> str:
        return (
            f"<html lang={self.language}><title>{title}</title><nav><a href=/>Home</a></nav>"
            f"<main><h1>{title}</h1>{body}</main><footer>All rights reserved</footer>"
        )

    def _age(self, number: int) -> str:
        days = number + self.day if number % 2 else 3 * number + self.day
        text = age(days, self.language)
        views = 37 * number + 11 * self.day + self._draw.randrange(5)
        if self.number % 4 == 1:  # beside each other, in elements of their own
            return f"<ul class=meta><li>{text}</li><li>{views} views</li></ul>"
        if self.number % 4 == 2:
            return f"<p class=meta><time>{text}</time> · <b>{views}</b> views</p>"
        return f"<p class=meta>{text}, by Ada ({views:,} views)</p>"

    def _quote(self) -> str:
        quote, writer = self._draw.choice(self.quotes), self._draw.choice(WRITERS)
        if self.number % 3 == 0:
            return f"<p class=quote>{quote}</p>"
        return f"<blockquote class=quote><p>{quote}</p><cite>{writer}</cite></blockquote>"

    def _related(self) -> str:
        shown = self._draw.sample(range(1, 9), 8 if self.number % 2 else 4)
        items = (
            f"<li><a href=/{n}>{prose('title', self.number, n, words=4)}</a>"
            f" {prose('teaser', self.number, n, words=15)}"
            for n in shown
        )
        return f"<h2>See also</h2><ul class=more>{''.join(items)}</ul>"
