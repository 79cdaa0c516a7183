"""A website of any number of pages, each made from the seed when it is asked for.

Sections of articles, products, recipes, forum threads and handbook pages, each with a listing of
its own that is paginated. Every page is 15 to 30 kB, is one of the site's N whatever else is asked,
and is reached by links alone, a few steps from the start page: page numbers lead on to twice their
own. There is no robots.txt and no sitemap. `generated_server.py` serves it.
"""

from __future__ import annotations

import random
import re

SECTIONS = ("news", "shop", "recipes", "forum", "handbook")
PER_LISTING = 24
BLOCK = PER_LISTING + 1  # a listing and the pages that it lists have consecutive numbers
WORDS = 30_000
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
ENDINGS = "n r s t l m nd rt st ng".split()
FUNCTION_WORDS = (
    "the of and a to in is was for it with as on be at by this had not are but from or have an they"
    " which one you were all her she there would their".split()
)
NAMES = (
    "Ida Lund,Tomas Reyes,Mei Okafor,Jonas Brandt,Aylin Moreau,Priya Castell,Owen Hart,Lena Voss"
).split(",")
TITLE, BODY, EXTRAS = range(
    3
)  # what a page's numbers are drawn for: each by itself, so that a teaser needs no page


class GeneratedSite:
    """Pages 0 (the start page) to *pages* - 1 of the site that *seed* makes."""

    def __init__(self, pages: int, seed: int = 1) -> None:
        self.pages = pages
        self.seed = seed
        draw = random.Random(seed)
        coined = dict.fromkeys(
            "".join(draw.choices(SYLLABLES, k=draw.choice((1, 2, 2, 3, 3, 4))))
            + draw.choice(("", draw.choice(ENDINGS)))
            for _ in range(2 * WORDS)
        )
        self.words = FUNCTION_WORDS + sorted(coined, key=len)[:WORDS]
        # What stands on every page is made once.
        self.firsts = [
            number for number in range(0, BLOCK * len(SECTIONS), BLOCK) if number < pages
        ]
        self.menu = self._menu()
        self.popular = "".join(
            f'<li class="popular-item">{self.link(other)}</li>' for other in range(1, min(9, pages))
        )
        self.tags = " ".join(
            f'<a class="tag" href="{self.path(first)}">{self.words[50 + first]}</a>'
            for first in self.firsts
        )
        self.footer = self._footer()

    def draw(self, number: int, part: int) -> random.Random:
        """Return the random numbers of a part of a page."""
        return random.Random((self.seed * 1_000_003 + number) * 4 + part)

    def sentences(self, draw: random.Random, count: int) -> str:
        """Return prose: few words are frequent, most are rare."""
        value, words, size = draw.random, self.words, len(self.words)
        return " ".join(
            " ".join(
                words[int(size * value() ** 6)] for _ in range(int(6 + 16 * value()))
            ).capitalize()
            + "."
            for _ in range(count)
        )

    def section(self, number: int) -> str:
        return SECTIONS[number // BLOCK % len(SECTIONS)]

    def title(self, number: int) -> str:
        draw = self.draw(number, TITLE)
        return " ".join(
            self.words[int(len(self.words) * draw.random() ** 2)] for _ in range(draw.randint(3, 7))
        ).capitalize()

    def lead(self, number: int) -> str:
        return self.sentences(self.draw(number, BODY), 2)

    def path(self, number: int) -> str:
        if number == 0:
            return "/"
        if number % BLOCK == 0:
            return f"/{self.section(number)}/page/{number // BLOCK // len(SECTIONS) + 1}"
        return (
            f"/{self.section(number)}/{'-'.join(self.title(number).lower().split()[:3])}-{number}"
        )

    def number(self, path: str) -> int | None:
        """Return the number of the page at a path, None if there is none."""
        if path == "/":
            return 0
        section, _, rest = path.lstrip("/").partition("/")
        found = re.search(r"(\d+)$", rest)
        if section not in SECTIONS or not found:
            return None
        number = int(found[1])
        if rest.startswith("page/"):
            number = ((number - 1) * len(SECTIONS) + SECTIONS.index(section)) * BLOCK
        return number if number < self.pages and self.path(number) == path else None

    def link(self, number: int, text: str = "") -> str:
        return f'<a href="{self.path(number)}">{text or self.title(number)}</a>'

    def html(self, number: int) -> str:
        """Return a page."""
        section = self.section(number)
        listing = number % BLOCK == 0
        kind = "listing" if listing else section
        title = (
            f"{section.capitalize()}, page {number // BLOCK // len(SECTIONS) + 1}"
            if listing
            else self.title(number)
        )
        draw = self.draw(number, BODY)
        lead = self.sentences(draw, 2)  # as in `lead`
        main = (
            self._listing(number)
            if listing
            else getattr(self, f"_{section}")(number, title, lead, draw)
        )
        description = (
            f'<meta name="description" content="{lead[:150]}"><meta property="og:description"'
            f' content="{lead[:150]}">'
            if number % 4
            else ""
        )
        return (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} | The'
            f' Generated Site</title>{description}<meta property="og:title" content="{title}"><meta'
            ' name="viewport" content="width=device-width"><link rel="canonical"'
            f' href="{self.path(number)}"><link rel="stylesheet"'
            f' href="/static/site.css">{STYLE}{SCRIPT}</head><body class="kind-{kind}'
            f' page-{number}"><div id="cookies"><p>{COOKIES}</p><button>Accept'
            ' all</button><button>Settings</button></div><header class="top"><a class="logo"'
            f' href="/">The Generated Site</a><nav class="menu"><ul>{self.menu}</ul></nav><form'
            ' class="search"><input name="q"'
            ' placeholder="Search"><button>Go</button></form></header><div class="crumbs"><a'
            f' href="/">Home</a> › {section.capitalize()} › <span>{title}</span></div><div'
            ' class="layout"><main'
            f' id="content">{main}</main>{self._sidebar(number)}</div>{self.footer}</body></html>'
        )

    def _menu(self) -> str:
        return "".join(
            '<li class="menu-item"><a'
            f' href="{self.path(first)}">{self.section(first).capitalize()}</a><ul'
            ' class="sub-menu">'
            + "".join(
                f'<li class="menu-item">{self.link(number)}</li>'
                for number in range(first + 1, min(first + 7, self.pages))
            )
            + "</ul></li>"
            for first in self.firsts
        )

    def others(self, number: int) -> list[int]:
        """Return the 14 pages that a page names beside its text."""
        draw = self.draw(number, EXTRAS)
        return [draw.randrange(self.pages) for _ in range(14)]

    def listed(self, number: int) -> list[int]:
        """Return the pages that a listing lists."""
        return list(range(number + 1, min(number + BLOCK, self.pages)))

    def _sidebar(self, number: int) -> str:
        others = self.others(number)
        related = "".join(
            f'<div class="related-card"><img src="/static/{other}.jpg" alt="" width="120"'
            f' height="80"><h4>{self.link(other)}</h4><p'
            f' class="teaser">{self.lead(other)[:110]}…</p></div>'
            for other in others[:6]
        )
        recent = "".join(
            f'<li><span class="date">{other % 28 + 1} May</span> {self.link(other)}</li>'
            for other in others[6:]
        )
        return (
            '<aside class="sidebar"><section class="widget popular"><h3>Most'
            f' read</h3><ol>{self.popular}</ol></section><section class="widget related"><h3>You'
            f' may also like</h3>{related}</section><section class="widget'
            f' recent"><h3>Recently</h3><ul>{recent}</ul></section><section class="widget'
            f' tags"><h3>Topics</h3>{self.tags}</section><section class="widget'
            ' newsletter"><h3>Newsletter</h3><p>Once a week, the best of the site in your inbox.'
            " No spam, and you can leave whenever you"
            " like.</p><button>Subscribe</button></section></aside>"
        )

    def _footer(self) -> str:
        columns = "".join(
            f'<div class="footer-column"><h5>{self.section(first).capitalize()}</h5><ul>'
            + "".join(
                f"<li>{self.link(number)}</li>"
                for number in range(first + 7, min(first + 12, self.pages))
            )
            + "</ul></div>"
            for first in self.firsts
        )
        return (
            f'<footer class="bottom">{columns}<p class="legal">© 2024 The Generated Site. All'
            " rights reserved. Imprint, privacy, terms of use.</p></footer>"
        )

    def _listing(self, number: int) -> str:
        """Return the listed pages, and links to the listings before and after, and further on."""
        cards = "".join(
            f'<div class="card"><h2>{self.link(other)}</h2><div'
            f' class="meta">{NAMES[other % len(NAMES)]}, {other % 28 + 1}'
            f' May</div><p>{self.lead(other)[:160]}…</p><a class="more"'
            f' href="{self.path(other)}">Read more</a></div>'
            for other in self.listed(number)
        )
        place, row = divmod(number // BLOCK, len(SECTIONS))
        others = dict.fromkeys(
            max(other, 0) for other in (place - 1, place + 1, 2 * place + 1, 2 * place + 2)
        )
        steps = [
            (other, (other * len(SECTIONS) + row) * BLOCK) for other in others if other != place
        ]
        pager = "".join(
            f'<a class="page-number" href="{self.path(target)}">{other + 1}</a> '
            for other, target in steps
            if target < self.pages
        )
        return (
            f'<h1>{self.section(number).capitalize()}</h1><div class="cards">{cards}</div><div'
            f' class="pagination">Pages: {pager}</div>'
        )

    def _paragraphs(self, draw: random.Random, low: int, high: int) -> list[str]:
        return [self.sentences(draw, draw.randint(3, 7)) for _ in range(draw.randint(low, high))]

    def _comments(self, draw: random.Random, most: int) -> str:
        entries = "".join(
            f'<li class="comment" id="comment-{draw.randrange(10**6)}"><div class="comment-author">'
            f"{draw.choice(NAMES)} wrote on {draw.randint(1, 28)} May</div>"
            f"<p>{self.sentences(draw, draw.randint(1, 4))}</p><a class='reply'"
            " href='#reply'>Reply</a></li>"
            for _ in range(draw.randint(0, most))
        )
        return (
            f'<section id="comments"><h3>Comments</h3><ol>{entries}</ol><form><h3>Leave a'
            " reply</h3><p>Your address will not be published.</p></form></section>"
        )

    def _news(self, number: int, title: str, lead: str, draw: random.Random) -> str:
        first, *rest = self._paragraphs(draw, 5, 22)
        body = (
            f'<p class="lead">{lead}</p><p>{first}</p><h2>{self.sentences(draw, 1)[:60]}</h2>'
            + "".join(f"<p>{text}</p>" for text in rest)
        )
        return (
            f'<article class="post post-{number}"><h1>{title}</h1><div class="byline">By'
            f" {draw.choice(NAMES)}, {draw.randint(1, 28)} May 2024</div>{SHARE}<figure><img"
            f' src="/static/{number}.jpg"'
            f' alt=""><figcaption>{self.sentences(draw, 1)}</figcaption></figure><div'
            f' class="entry">{body}</div></article>{SHARE}{self._comments(draw, 12)}'
        )

    def _shop(self, number: int, title: str, lead: str, draw: random.Random) -> str:
        rows = "".join(
            f"<tr><th>{self.words[60 + row]}</th><td>{self.words[draw.randrange(200, 3000)]}"
            f" {draw.randint(1, 900)}</td></tr>"
            for row in range(14)
        )
        reviews = "".join(
            f'<div class="review"><b>{draw.choice(NAMES)}</b> <span>{draw.randint(1, 5)} of'
            f" 5</span><p>{self.sentences(draw, 2)}</p></div>"
            for _ in range(draw.randint(2, 12))
        )
        return (
            f'<div class="product" id="product-{number}"><h1>{title}</h1><div'
            f' class="price">{draw.randint(3, 900)}.90 €</div><button>Add to cart</button><p'
            ' class="delivery">Free delivery from 50 €, returns within 30 days.</p><div'
            f' class="description"><p>{lead}</p>'
            + "".join(f"<p>{text}</p>" for text in self._paragraphs(draw, 3, 9))
            + f'</div><table class="specification">{rows}</table></div><div'
            f' class="reviews"><h3>Reviews</h3>{reviews}</div>'
        )

    def _recipes(self, number: int, title: str, lead: str, draw: random.Random) -> str:
        things = "".join(
            f"<li>{draw.randint(1, 9) * 50} g {self.words[draw.randrange(100, 4000)]}</li>"
            for _ in range(draw.randint(6, 14))
        )
        steps = "".join(f"<li>{self.sentences(draw, 3)}</li>" for _ in range(draw.randint(4, 12)))
        return (
            f'<div class="recipe" id="recipe-{number}"><h1>{title}</h1>{SHARE}<p>{lead}</p>'
            + "".join(f"<p>{text}</p>" for text in self._paragraphs(draw, 2, 5))
            + f'<h3>Ingredients</h3><ul class="ingredients">{things}</ul><h3>Method</h3><ol'
            f' class="steps">{steps}</ol></div>{self._comments(draw, 14)}'
        )

    def _forum(self, number: int, title: str, lead: str, draw: random.Random) -> str:
        posts = "".join(
            f'<div class="topic-post" id="post-{number}-{place}"><div'
            f' class="poster"><b>{draw.choice(NAMES)}</b><span>Posts:'
            f' {draw.randint(1, 5000)}</span></div><div class="post-body"><p>{text}</p></div><div'
            ' class="post-tools"><a href="#quote">Quote</a> <a'
            ' href="#report">Report</a></div></div>'
            for place, text in enumerate([lead, *self._paragraphs(draw, 4, 18)])
        )
        return (
            f'<div class="thread"><h1>{title}</h1><div class="thread-tools">Subscribe to this'
            f" topic</div>{posts}</div>"
        )

    def _handbook(self, number: int, title: str, lead: str, draw: random.Random) -> str:
        parts = "".join(
            f'<h2 id="part-{place}">{self.sentences(draw, 1)[:50]}</h2><p>{text}</p>'
            f"<pre><code>{self.words[draw.randrange(3000)]}"
            f" --{self.words[draw.randrange(3000)]}</code></pre>"
            for place, text in enumerate(self._paragraphs(draw, 4, 14))
        )
        around = [other for other in (number - 1, number + 1) if 0 < other < self.pages]
        turn = " | ".join(self.link(other) for other in around)
        return (
            f'<section class="chapter"><h1>{title}</h1><p>{lead}</p>{parts}</section><div'
            f' class="turn">{turn}</div>'
        )


SHARE = (
    '<div class="share-bar"><span>Share</span> <a href="#f">Facebook</a> <a href="#m">Mastodon</a>'
    ' <a href="#e">E-mail</a> <a href="#p">Print</a></div>'
)
COOKIES = (
    "We use cookies to make our website better and to show you advertisements that fit. By going on"
    " you agree to their use and to our privacy policy."
)
STYLE = (
    "<style>"
    + "".join(
        f".box-{n}{{margin:{n}px;padding:{n}px;border:1px solid #cc{n:02d}}}" for n in range(40)
    )
    + "</style>"
)
SCRIPT = (
    "<script>window.layers=["
    + ",".join(f'{{"event":"view","slot":{n}}}' for n in range(40))
    + "];</script>"
)
