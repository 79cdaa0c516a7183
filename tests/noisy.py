"""Sites whose pages change at each visit in ways that do not matter to a reader, as content
management systems, shops and forums do.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from typing import TYPE_CHECKING

from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Callable

BEGIN = datetime(2026, 11, 29, 9, tzinfo=timezone.utc)
PEOPLE = "Ada Byron|Bob Frank|Cy Doe|Dee Ember|Eve Frost|Fay Gale|Gus Hill|Hal Iven".split("|")
WEATHER = ("Cloudy", "Sunny", "Light rain", "Snow", "Fog")
BANNERS = (
    "Subscribe to our letter today and read all stories first, every single week.",
    "Try our new app for phones and tablets, it is free for all readers of this site.",
)


class NoisySite:
    """A site of a *kind* (see `KINDS`). *day* is the day of the crawl, *edited* the pages that have
    really changed, each with a sentence, a price or a day. Each answer differs from all others.
    """

    def __init__(self, kind: str, pages: int = 14) -> None:
        self.kind, self.pages = kind, pages
        self.language = {"comments": "fr", "questions": "hi"}.get(kind, "en")
        self.day = 0
        self.edited: dict[str, str] = {}
        self.draw = random.Random(kind)

    @property
    def now(self) -> datetime:
        """The server's time."""
        return BEGIN + timedelta(days=self.day, seconds=self.draw.randrange(3000))

    def html(self, path: str) -> str | None:
        """Return the page at a path as it is at a visit, None if there is none."""
        path = path.partition("?")[0]
        number = int(path[1:]) if path[1:].isdigit() else 0
        if path != "/" and not 1 <= number <= self.pages:
            return None
        return KINDS[self.kind](self, number)

    def token(self, length: int = 10) -> str:
        """Return a token that is another at each call."""
        return "".join(self.draw.choice("0123456789abcdef") for _ in range(length))

    def shuffled(self, *texts: str) -> list[str]:
        return self.draw.sample(texts, len(texts))

    def title(self, number: int) -> str:
        return prose(self.kind, "title", number, words=4)[:-1] if number else "Welcome"

    def links(self, query: str = "") -> str:
        """Return the links of the front page."""
        paths = (f"/{n}{query}" for n in range(1, self.pages + 1))
        return "".join(
            f"<p><a href='{path}'>{self.title(n)}</a></p>" for n, path in enumerate(paths, 1)
        )

    def story(self, number: int) -> list[str]:
        """Return the paragraphs of a page, some of which really change if it was edited."""
        edit = self.edited.get(f"/{number}", "")
        price, day = 12 + 7 * number + (edit == "price"), 1 + number + (edit == "day")
        texts = [prose(self.kind, number, i) for i in range(3)]
        if edit == "sentence":
            texts[1] = prose(self.kind, number, "edited")
        return [
            *(f"<p>{text}</p>" for text in texts),
            f"<p>{prose(number, words=2)[:-1]} for ${price}.50</p>",
            f"<p>{prose(number, 'event', words=25)[:-1]}, on {day} May 2031 at eight.</p>",
        ]

    def body(self, number: int) -> str:
        return "".join(self.story(number)) if number else prose(self.kind, "home") + self.links()


def blog(site: NoisySite, number: int) -> str:
    """A weblog: nonces, related posts in any order, ages of comments in hours, shuffled writers."""
    hours = number % 5 + 24 * site.day
    comments = "".join(
        f"<li id=c{number}{i}><b>{PEOPLE[(number + i) % 8]}</b>"
        f" <time>{_ago(hours + 7 * i)}</time><p>{prose('comment', number, i, words=18)}</p>"
        for i in range(3)
    )
    related = "".join(
        f"<li><a href='/{n}'>{site.title(n)}</a> {prose('teaser', n, words=16)}</li>"
        for n in site.draw.sample(range(1, site.pages + 1), 4)
    )
    writers = ", ".join(site.shuffled(*(PEOPLE[(number + i) % 8] for i in range(3))))
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)} – Blog</title>
<script>var nonce = "{site.token()}"</script></head><body class="post postid-{number}">
<header><a href=/>Blog</a></header><main><article data-nonce="{site.token()}">
<h1>{site.title(number)}</h1><p class=byline>By {writers}</p>
<div class=entry-content>{site.body(number)}</div>
<section class=related-posts><h3>Related posts</h3><ul>{related}</ul></section></article>
<section class=comments><h2>3 comments</h2><ol>{comments}</ol>
<form method=post><input type=hidden name=_wpnonce value={site.token()}>
<textarea name=comment></textarea><button>Post comment</button></form></section></main>
<footer>© {site.now.year + site.day} Blog</footer></body></html>
<!-- Cached {site.now.isoformat()} in {site.draw.random():.3f} s, key {site.token(32)} -->"""


def shop(site: NoisySite, number: int) -> str:
    """A shop: how many bought this in the last hour, a random testimonial, a banner of two."""
    bought, seen = site.draw.randrange(3, 90), site.draw.randrange(2, 40)
    quote = prose("testimonial", site.draw.randrange(30), words=16)
    banner = f"<div class=promo data-variant={site.token(4)}>{site.draw.choice(BANNERS)}</div>"
    banner = banner if number else ""
    picture = f"/img/{number}.jpg?v={site.token()}&w=800"
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)} | Shop</title>
<link rel=stylesheet href="/a.{site.token(8)}.css"></head><body>
<nav><a href=/>All products</a></nav><main>{banner}
<h1>{site.title(number)}</h1><img src="{picture}" alt="{site.title(number)}">
<p class=social-proof>{bought} people bought this in the last hour</p>
<p class=viewers>{seen} people are looking at this right now</p>
<div class=description>{site.body(number)}</div><p class=stock>In stock</p>
<form action=/cart method=post><input type=hidden name=csrf value="{site.token(32)}">
<button>Add to cart</button></form>
<blockquote class=testimonial><p>{quote}</p><footer>{site.draw.choice(PEOPLE)}</footer></blockquote>
</main><footer>Shop, 1 High Street</footer></body></html>"""


def portal(site: NoisySite, number: int) -> str:
    """A portal: weather, prices of shares, users online, the server's time."""
    draw = random.Random(site.day)
    sky, degrees = draw.choice(WEATHER), draw.randrange(-5, 30)
    shares = "".join(
        f"<li><b>{name}</b> {site.draw.uniform(90, 110):.2f}"
        f" ({site.draw.uniform(-2, 2):+.1f} %)</li>"
        for name in ("ACME", "Globex", "Initech")
    )
    online = site.draw.randrange(5, 60)
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)}</title></head><body>
<header><a href=/>Portal</a></header><div id=content><h1>{site.title(number)}</h1>
<div class=weather>Weather today: {sky}, {degrees} °C</div>
{site.body(number)}
<div class=markets><h3>Markets</h3><ul>{shares}</ul></div>
<p class=online>Online users: {online}, of them {online // 3} members</p>
<p class=clock>Server time: {site.now:%A, %d %B %Y %H:%M:%S}</p></div>
<footer>Portal</footer></body></html>"""


def forum(site: NoisySite, number: int) -> str:
    """A forum: ages and counters of each post, readers of the thread, a session id in links."""
    posts = "".join(
        f"<div class=post id=p{number}{i}><div class=author>{PEOPLE[(number + i) % 8]}<br>"
        f"Posts: {100 * i + 37 * number + 3 * site.day}</div>"
        f"<div class=date>{_ago(number + 24 * site.day + 3 * i)}</div>"
        f"<div class=text>{text}</div></div>"
        for i, text in enumerate(site.story(number) if number else ())
    )
    guests = site.draw.randrange(0, 9)
    sid = f"?sid={site.token(32)}"
    front = f"<p>{prose('forum')}</p>{site.links(sid)}" if not number else ""
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)} - Forum</title></head>
<body><div class=bar><a href="/{sid}">Board index</a>
<span>It is currently {site.now:%a %b %d, %Y %I:%M %p}</span></div>
<div id=page-body><h2>{site.title(number)}</h2>{front}{posts}
<p class=views>Viewed {900 + 13 * number + 11 * site.day + site.draw.randrange(9)} times</p>
<p class=browsing>Users browsing this forum: {site.draw.choice(PEOPLE)} and {guests} guests</p>
</div>
<div class=copyright>Forum software, {site.draw.random():.3f}s, {site.draw.randrange(9, 30)} queries
</div></body></html>"""


def wiki(site: NoisySite, number: int) -> str:
    """A wiki: a count of accesses, "last updated" of now, time of rendering, a random fact."""
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)} - Wiki</title></head>
<body><div id=content><h1>{site.title(number)}</h1>
<div class=fact><h4>Did you know?</h4>
<p>{prose("fact", site.draw.randrange(12), words=22)}</p></div>
{site.body(number)}
<p class=lastmod>Last updated: {site.now:%d %B %Y, %H:%M:%S}</p>
<p class=hits>This page has been accessed {4000 + 117 * number + 21 * site.day:,} times.</p>
<p class=speed>Page rendered in {site.draw.random():.3f} seconds.</p></div>
<div id=footer>Wiki</div></body></html>"""


def deploy(site: NoisySite, number: int) -> str:
    """A single-page framework: each build has other suffixes of classes, and other assets."""

    def named(name: str) -> str:
        digest = blake2b(f"{name}{site.day}".encode(), digest_size=4).hexdigest()
        return f"{name}__{digest[:5]} css-{digest}"

    paragraphs = site.body(number).replace("<p>", f'<p class="{named("Text_p")}">')
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)}</title>
<link rel=stylesheet href="/_next/{named("main").split("__")[1]}.css">
<meta name=build content={site.token()}></head><body><div id=__next>
<nav class="{named("Nav_bar")}"><a href=/ class="{named("Nav_link")}">Home</a></nav>
<div class="{named("Layout_wrap")}"><div class="{named("Article_root")}">
<h1 class="{named("Article_title")}">{site.title(number)}</h1>
<div class="{named("Article_body")}">{paragraphs}</div></div>
<div class="{named("Newsletter_box")}"><p class="{named("Text_p")}">{BANNERS[0]}</p></div></div>
<div class="{named("Footer_root")}">All rights reserved by the makers</div></div>
<script src="/_next/{site.token(16)}.js"></script></body></html>"""


def numbered(site: NoisySite, number: int) -> str:
    """A site builder: each publication gives other numbers to all classes and ids."""
    first = 100 + 37 * site.day
    paragraphs = site.body(number).replace("<p>", f"<p class=jss{first + 7}>")
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)}</title></head>
<body class="page-{number}"><div class="jss{first} MuiBox" id=comp-{site.token(8)}>
<div class="jss{first + 1}"><a href=/>Home</a></div>
<div class="jss{first + 2} elementor-element-{site.token(7)}">
<h1 class="jss{first + 3}">{site.title(number)}</h1>
<div class="jss{first + 4}" data-id={site.token(7)}>{paragraphs}</div></div>
<div class="jss{first + 5}"><p class=jss{first + 8}>{BANNERS[1]}</p></div></div></body></html>"""


def ads(site: NoisySite, number: int) -> str:
    """A news site: texts of advertisers between the paragraphs, a banner under test."""
    story = [*site.story(number)] if number else [site.body(0)]
    for place in (1, 3):
        name, advert = PEOPLE[site.draw.randrange(8)], site.draw.randrange(25)
        story.insert(
            place,
            f"<div class=slot data-slot={site.token()} id=div-gpt-{site.token(6)}>"
            f"<span>Sponsored</span><p>{prose('advert', advert, words=12)}</p><b>{name}</b></div>",
        )
    head = site.draw.choice(("Become a member", "Join 4,000 readers", "Read without adverts"))
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)} - News</title></head>
<body><header><a href=/>News</a></header><article><h1>{site.title(number)}</h1>
<div class=cta><h4>{head}</h4></div>{"".join(story)}</article>
<footer>News Ltd</footer></body></html>"""


def comments(site: NoisySite, number: int) -> str:
    """Pages in French with comments: ages, likes, readers."""
    written = "".join(
        f"<li><span class=meta>{PEOPLE[(number + i) % 8]}, il y a"
        f" {_french(number + 5 * i + 24 * site.day)}</span>"
        f"<p>{prose('avis', number, i, words=20)}</p>"
        f"<span class=likes>{site.draw.randrange(2, 30) + site.day} J’aime</span></li>"
        for i in range(3)
    )
    return f"""<!DOCTYPE html><html lang=fr><head><title>{site.title(number)}</title></head><body>
<nav><a href=/>Accueil</a></nav><article><h1>{site.title(number)}</h1>
<p class=meta>Publié il y a {_french(50 + 24 * number + 24 * site.day)}
 · Lu {1200 + 17 * number + 5 * site.day} fois</p>{site.body(number)}
<h2>Commentaires</h2><ul class=avis>{written}</ul>
<p class=live>{site.draw.randrange(3, 40)} personnes lisent cet article en ce moment</p></article>
<footer>Tous droits réservés</footer></body></html>"""


def questions(site: NoisySite, number: int) -> str:
    """Pages in Hindi with answers: ages, votes, a list of trending questions with their reads."""
    answers = "".join(
        f"<div class=answer><p>{prose('uttar', number, i, words=24)}</p>"
        f"<div class=by>{PEOPLE[(number + i) % 8]} · {number + i + 1 + site.day} दिन पहले ·"
        f" {site.draw.randrange(2, 99)} वोट</div></div>"
        for i in range(3)
    )
    trending = sorted(range(1, 9), key=lambda n: site.draw.random() + n / 9)[:5]
    listed = "".join(
        f"<li><a href=/{n}>{site.title(n)}</a>"
        f" <i>{site.draw.randrange(100, 900)} बार पढ़ा गया</i></li>"
        for n in trending
    )
    return f"""<!DOCTYPE html><html lang=hi><head><title>{site.title(number)}</title></head><body>
<nav><a href=/>मुखपृष्ठ</a></nav><main><h1>{site.title(number)}</h1>{site.body(number)}
<h2>उत्तर</h2>{answers}<h3>लोकप्रिय</h3><ol class=trend>{listed}</ol></main>
<footer>सर्वाधिकार सुरक्षित</footer></body></html>"""


def store(site: NoisySite, number: int) -> str:
    """A shop: what others bought, with prices; a countdown; banners of own classes, or none."""
    others = site.draw.sample(range(1, site.pages + 1), 4)
    bought = "".join(f"<li><a href=/{n}>{site.title(n)}</a> ${9 + 3 * n}.90</li>" for n in others)
    left = timedelta(days=30) - (site.now - BEGIN)
    test, variant = site.draw.randrange(3), ""
    if test:
        text = prose("test", test, words=14)
        variant = f"<div class='cta variant-{'ab'[test - 1]}'><p>{text}</p></div>"
    story = [*site.story(number), ""] if number else [site.body(0)]
    if number:
        story[2:2] = [
            f"<h2>Customers also bought</h2><ul>{bought}</ul>{variant}",
            f"<p>The sale ends in {left.days} days and {left.seconds // 3600} hours.</p>",
        ]
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)} | Store</title></head>
<body><nav><a href=/>All products</a></nav><main><h1>{site.title(number)}</h1>
<div class=description>{"".join(story)}</div></main><footer>Store Ltd</footer></body></html>"""


def delivery(site: NoisySite, number: int) -> str:
    """A shop: the day of delivery, a countdown, how many are left, sold and rated."""
    day = site.now + timedelta(days=3)
    story = [*site.story(number)] if number else [site.body(0)]
    if number:
        story.insert(
            1,
            f"<p class=eta>Order now and get it by {day:%A}, {day.day} {day:%B}</p>"
            f"<p class=cutoff>Order within {site.draw.randrange(1, 12)} hrs"
            f" {site.draw.randrange(60)} mins</p>"
            f"<p class=left>Only {site.draw.randrange(2, 9)} left in stock</p>"
            f"<p class=rating>4.5 ({1200 + number + 3 * site.day:,} ratings)</p>",
        )
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)} | Shop</title></head>
<body><nav><a href=/>All products</a></nav><main><h1>{site.title(number)}</h1>
<div class=description>{"".join(story)}</div></main><footer>Shop Ltd</footer></body></html>"""


def conference(site: NoisySite, number: int) -> str:
    """A conference: its speakers in any order, on each page."""
    cards = "".join(
        f"<div class=card><h3>{name}</h3><p>{prose('bio', name, words=20)}</p></div>"
        for name in site.shuffled(*PEOPLE[:5])
    )
    story = [*site.story(number)] if number else [site.body(0)]
    return f"""<!DOCTYPE html><html lang=en><head><title>{site.title(number)}</title></head><body>
<nav><a href=/>Programme</a></nav><main><h1>{site.title(number)}</h1>
<div class=description>{story[0]}{cards}{"".join(story[1:])}</div></main>
<footer>The committee</footer></body></html>"""


def _ago(hours: int) -> str:
    if hours < 24:
        return f"{max(hours, 1)} hours ago" if hours > 1 else "an hour ago"
    return "yesterday" if hours < 48 else f"{hours // 24} days ago"


def _french(hours: int) -> str:
    if hours < 24:
        return f"{hours} heures" if hours > 1 else "1 heure"
    return "1 jour" if hours < 48 else f"{hours // 24} jours"


KINDS: dict[str, Callable[[NoisySite, int], str]] = {
    each.__name__: each
    for each in (
        blog,
        shop,
        portal,
        forum,
        wiki,
        deploy,
        numbered,
        ads,
        comments,
        questions,
        store,
        delivery,
        conference,
    )
}
