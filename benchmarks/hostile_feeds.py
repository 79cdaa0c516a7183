"""Feeds of a site that are wrong, broken or hostile, made from what its feeds truly say, by a seed.

`benchmarks/hear_hostile.py` hears them. Each is the bytes of a feed, as a server sends them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import quote

BASE = "https://example.org/"
HUGE_CHARS = 10_000_000
COMMENTS = (
    "Great post, thank you so much for sharing this with all of us!",
    "I do not agree with what you say there. Who told you so?",
    "First! I have waited for this since last year, please write more of it.",
    "Could you tell me where to buy that? Mine broke last week.",
)
SPAM = "Buy cheap pills and replica watches online today, free shipping, best casino bonus."


@dataclass(frozen=True, slots=True)
class Entry:
    """What a feed says of a page: its *path*, a *title* and *markup*."""

    path: str
    title: str
    markup: str


@dataclass(frozen=True, slots=True)
class Material:
    """What variants are made of: the true entries of a site, another site's, and by path what the
    site's template says on a page, and what its readers do.
    """

    entries: list[Entry]
    foreign: list[Entry]
    template: dict[str, str]
    comments: dict[str, str]


Variant = Callable[[Material, random.Random], bytes]


def feed(entries: list[Entry], encoding: str = "utf-8", declared: str = "utf-8") -> bytes:
    """Return the bytes of an RSS feed."""
    items = "".join(
        f"<item><title>{escape(entry.title)}</title><link>{BASE}{quote(entry.path)}</link>"
        f"<description>{escape(entry.markup)}</description></item>\n"
        for entry in entries
    )
    text = f'<?xml version="1.0" encoding="{declared}"?><rss><channel>{items}</channel></rss>'
    return text.encode(encoding, "xmlcharrefreplace")


def _some(entries: list[Entry], draw: random.Random) -> list[Entry]:
    return draw.sample(entries, draw.randint(1, len(entries)))


def _with_markup(entries: list[Entry], markup: list[str]) -> list[Entry]:
    return [replace(entry, markup=text) for entry, text in zip(entries, markup, strict=True)]


def true(material: Material, draw: random.Random) -> bytes:
    """The true texts, to compare with."""
    return feed(_some(material.entries, draw))


def foreign(material: Material, draw: random.Random) -> bytes:
    """Another site's texts."""
    entries = _some(material.entries, draw)
    return feed(
        _with_markup(entries, [e.markup for e in draw.choices(material.foreign, k=len(entries))])
    )


def half_foreign(material: Material, draw: random.Random) -> bytes:
    """Another site's texts on half of the pages."""
    return feed(
        [
            replace(entry, markup=draw.choice(material.foreign).markup)
            if draw.random() < 0.5
            else entry
            for entry in material.entries
        ]
    )


def shifted(material: Material, draw: random.Random) -> bytes:
    """Each page has the text of the next."""
    texts = [entry.markup for entry in material.entries]
    return feed(_some(_with_markup(material.entries, texts[1:] + texts[:1]), draw))


def same(material: Material, draw: random.Random) -> bytes:
    """All pages have one page's text."""
    entries = _some(material.entries, draw)
    return feed(_with_markup(entries, [draw.choice(entries).markup] * len(entries)))


def template(material: Material, draw: random.Random) -> bytes:
    """Each page has its navigation, sidebar and footer, and nothing else."""
    entries = _some(material.entries, draw)
    return feed(_with_markup(entries, [material.template[entry.path] for entry in entries]))


def template_too(material: Material, draw: random.Random) -> bytes:
    """Each page has its navigation, sidebar and footer behind its text."""
    entries = _some(material.entries, draw)
    return feed(_with_markup(entries, [e.markup + material.template[e.path] for e in entries]))


def spam(material: Material, draw: random.Random) -> bytes:
    """Advertising stands before each text, once or often."""
    entries = _some(material.entries, draw)
    before = f"<p>{SPAM}</p>" * draw.choice((1, 10, 1000))
    return feed(_with_markup(entries, [before + entry.markup for entry in entries]))


def empty(material: Material, draw: random.Random) -> bytes:
    """No page has any text."""
    return feed(
        _with_markup(
            material.entries,
            [draw.choice(("", " ", "<p></p>", "<!-- -->")) for _ in material.entries],
        )
    )


def huge(material: Material, draw: random.Random) -> bytes:
    """One text has 10 MB: the page's own over and over, or one line of noise."""
    entries = _some(material.entries, draw)
    text = draw.choice((entries[0].markup or "a", "<p>" + "".join(draw.choices("abc de", k=1000))))
    long = (text * (HUGE_CHARS // len(text) + 1))[:HUGE_CHARS]
    return feed([replace(entries[0], markup=long), *entries[1:]])


def wrong_charset(material: Material, draw: random.Random) -> bytes:
    """It says that it is in another charset than it is."""
    declared = draw.choice(("iso-8859-1", "windows-1251", "shift_jis", "utf-16", "ascii", "none"))
    return feed(_some(material.entries, draw), declared=declared)


def random_bytes(material: Material, draw: random.Random) -> bytes:
    """Nothing but random bytes, or random bytes in a feed, or half of one."""
    body = bytearray(feed(_some(material.entries, draw)))
    kind = draw.randrange(3)
    if kind == 0:
        return draw.randbytes(draw.randint(0, 100_000))
    if kind == 1:
        return bytes(body[: draw.randrange(len(body))])
    for _ in range(draw.randint(1, max(1, len(body) // 50))):
        body[draw.randrange(len(body))] = draw.randrange(256)
    return bytes(body)


def comments(material: Material, draw: random.Random) -> bytes:
    """Each page has its readers' comments, or what could be."""
    entries = _some(material.entries, draw)
    made = [
        material.comments.get(entry.path)
        or "".join(
            f"<p>{text}</p>" for text in draw.sample(COMMENTS, draw.randint(1, len(COMMENTS)))
        )
        for entry in entries
    ]
    return feed(_with_markup(entries, made))


VARIANTS: dict[str, Variant] = {
    "the true texts, to compare": true,
    "another site's texts": foreign,
    "half of them another site's": half_foreign,
    "the next page's texts": shifted,
    "one text on all pages": same,
    "the page's template only": template,
    "text and template": template_too,
    "spam before each text": spam,
    "empty": empty,
    "10 MB": huge,
    "wrong charset": wrong_charset,
    "random bytes": random_bytes,
    "comments only": comments,
}
