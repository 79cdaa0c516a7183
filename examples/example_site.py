"""An example website of our own making, as a corpus: pages, gold text, ``site.json``.

About 60 pages in three templates (magazine articles, recipes, handbook chapters) with listings,
comments, related boxes, share bars, a cookie notice, and pages without a description. The same seed
makes the same site. ``python examples/example_site.py FOLDER`` writes it.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

SUBJECTS = (
    "The ferry,The old mill,A gardener,The harbour,The night train,A glassblower,The museum,The"
    " orchard,A beekeeper,The bridge,The lighthouse,A cartographer,The weaver,The reservoir,A"
    " clockmaker,The market hall,The observatory,A violin maker"
).split(",")
VERBS = (
    "carries,repairs,remembers,measures,follows,shelters,replaces,surprises,collects,divides,outlives,supplies,"
    "describes,restores,borrows,avoids,explains,crosses"
).split(",")
OBJECTS = (
    "the winter fog,three generations of visitors,a wall of blue tiles,the spring tide,more maps"
    " than anyone counted,a list of forgotten names,the long way round,several tonnes of apples,a"
    " quarrel about the railway,the last letters of the season,an argument that nobody won,the"
    " sound of the bells,a drawer of brass screws,the smell of cut grass,two hundred wooden boxes"
).split(",")
TAILS = (
    "before the first bus leaves,although the records are incomplete,since the council changed its"
    " mind,while the rest of the town sleeps,as every child here can tell you,without asking for a"
    " fee,if the weather allows it,until the money ran out in the autumn,because the river froze"
    " twice that year,which the guidebooks never mention,whenever the wind turns to the east,as far"
    " as we could find out"
).split(",")
OPENERS = (
    "In those days,By contrast,According to the archive,Some years later,On most mornings,To begin"
    " with,Strangely enough,For the visitor,After the flood,On paper"
).split(",")
NAMES = (
    "Ida Lund,Tomas Reyes,Mei Okafor,Jonas Brandt,Aylin Moreau,Priya Castell,Owen Hart,Lena Voss"
).split(",")
INGREDIENTS = (
    "flour,butter,rhubarb,walnuts,sea salt,brown sugar,cold water,lemon zest,oats,pear"
    " cider,thyme,goat cheese".split(",")
)
SECTIONS = ("stories", "recipes", "handbook")
CHATTER = (
    "Thanks for this, I had no idea.,My grandmother told it differently.,Does anybody know where to"
    " buy it?,Lovely pictures as always!,I was there last week and it was closed.,Please write more"
    " often.,This made my day.,You forgot the most important part."
).split(",")
COOKIES = (
    "We use cookies to make our website better and to show you advertisements that fit. By going on"
    " you agree to their use and to our privacy policy."
)


@dataclass
class Example:
    """One page with gold: its path, title and text, and the description its head gives (or
    none).
    """

    path: str
    title: str
    paragraphs: list[str]
    section: str
    description: str = ""
    gold: list[str] = field(default_factory=list)
    body: str = ""


class ExampleSite:
    """Makes the pages of the site from a seed. A section without pages is not in its menu."""

    def __init__(
        self,
        seed: int = 7,
        articles: int = 24,
        recipes: int = 14,
        chapters: int = 12,
        name: str = "Tidewater Almanac",
    ) -> None:
        self.random = random.Random(seed)
        self.name = name
        self.pages: dict[str, str] = {}
        self.examples: list[Example] = []
        for number in range(articles):
            self.examples.append(self.article(number))
        for number in range(recipes):
            self.examples.append(self.recipe(number))
        for number in range(chapters):
            self.examples.append(self.chapter(number, chapters))
        for example in self.examples:
            self.pages[example.path] = self.page(
                example.title, example.body, example.description, example.section
            )
        self.listings()

    def sentence(self) -> str:
        pick = self.random.choice
        clause = f"{pick(SUBJECTS)} {pick(VERBS)} {pick(OBJECTS)} {pick(TAILS)}"
        if self.random.random() < 0.4:
            clause = f"{pick(OPENERS)}, {clause[0].lower()}{clause[1:]}"
        return clause + "."

    def paragraph(self, low: int = 3, high: int = 6) -> str:
        return " ".join(self.sentence() for _ in range(self.random.randint(low, high)))

    def title(self) -> str:
        pick = self.random.choice
        return f"{pick(SUBJECTS)} and {pick(OBJECTS)}"

    def description(self, paragraphs: list[str], chance: float) -> str:
        return paragraphs[0][:150].rsplit(" ", 1)[0] if self.random.random() < chance else ""

    def share(self) -> str:
        return (
            '<div class="share-bar"><span>Share</span> <a href="#">Facebook</a> <a'
            ' href="#">Mastodon</a> <a href="#">E-mail</a></div>'
        )

    def related(self) -> str:
        known = [example for example in self.examples if example.section == "stories"]
        chosen = self.random.sample(known, min(3, len(known)))
        entries = "".join(
            f'<li><a href="{example.path}">{escape(example.title)}</a><p'
            f' class="teaser">{escape(example.paragraphs[0][:90])}…</p></li>'
            for example in chosen
        )
        return (
            f'<aside class="related-box"><h3>You may also like</h3><ul>{entries}</ul></aside>'
            if entries
            else ""
        )

    def comments(self) -> str:
        entries = "".join(
            f'<li class="comment" id="comment-{self.random.randint(100, 9999)}"><div'
            f' class="comment-author">{self.random.choice(NAMES)}'
            f" wrote</div><p>{self.random.choice(CHATTER)} {self.random.choice(CHATTER)}"
            f" {self.sentence()}</p></li>"
            for _ in range(self.random.randint(0, 5))
        )
        form = (
            "<form class='respond'><h3>Leave a reply</h3><p>Your e-mail address will not be"
            " published.</p><button>Post comment</button></form>"
        )
        return f'<section id="comments"><h2>Comments</h2><ol>{entries}</ol>{form}</section>'

    def article(self, number: int) -> Example:
        title, paragraphs = (
            self.title(),
            [self.paragraph() for _ in range(self.random.randint(4, 8))],
        )
        quote, heading = self.sentence(), self.title()
        inner = f"<p class='lead'>{paragraphs[0]}</p><p>{paragraphs[1]}</p><h2>{heading}</h2>"
        gold = [title, paragraphs[0], paragraphs[1], heading]
        for index, text in enumerate(paragraphs[2:]):
            if index == 1:
                inner += f"<blockquote><p>{quote}</p></blockquote>"
                gold.append(quote)
            inner += f"<p>{text}</p>"
            gold.append(text)
        author = self.random.choice(NAMES)
        body = (
            f'<article class="post post-{1000 + number}"><header><h1>{title}</h1><div'
            f' class="byline">By {author} on {1 + number % 28} May 2024</div></header><div'
            f' class="entry">{inner}</div>{self.share()}</article>{self.related()}{self.comments()}'
        )
        return Example(
            f"/stories/{number + 1}-{'-'.join(title.lower().split()[:4])}.html",
            title,
            paragraphs,
            "stories",
            self.description(paragraphs, 0.7),
            gold,
            body,
        )

    def recipe(self, number: int) -> Example:
        title = (
            f"{self.random.choice(INGREDIENTS).title()} cake from"
            f" {self.random.choice(SUBJECTS).split()[-1]} street"
        )
        paragraphs = [self.paragraph(2, 4)]
        things = [
            f"{self.random.randint(1, 9) * 50} g {name}"
            for name in self.random.sample(INGREDIENTS, 5)
        ]
        steps = [
            f"Take {self.random.choice(INGREDIENTS)} and {self.random.choice(INGREDIENTS)}."
            f" {self.sentence()}"
            for _ in range(4)
        ]
        body = (
            f'<div class="recipe"><h1>{title}</h1><p>{paragraphs[0]}</p><h3>Ingredients</h3><ul'
            ' class="ingredients">'
            + "".join(f"<li>{thing}</li>" for thing in things)
            + '</ul><h3>Method</h3><ol class="steps">'
            + "".join(f"<li>{step}</li>" for step in steps)
            + f"</ol></div>{self.share()}{self.comments()}"
        )
        gold = [title, paragraphs[0], "Ingredients", *things, "Method", *steps]
        return Example(
            f"/recipes/{number + 1}/index.html",
            title,
            paragraphs,
            "recipes",
            self.description(paragraphs, 0.5),
            gold,
            body,
        )

    def chapter(self, number: int, count: int) -> Example:
        title, paragraphs = f"{number + 1}. {self.title()}", [self.paragraph() for _ in range(4)]
        rows = [
            (
                self.random.choice(SUBJECTS),
                str(self.random.randint(10, 99)),
                str(self.random.randint(100, 999)),
            )
            for _ in range(3)
        ]
        code = f"measure --depth {self.random.randint(1, 9)} \\\n    --output table-{number}.csv"
        table = "".join(f"<tr><td>{a}</td><td>{b}</td><td>{c}</td></tr>" for a, b, c in rows)
        following = (
            f'<a href="/handbook/chapter-{number + 2}.html">Next</a>' if number + 1 < count else ""
        )
        body = (
            '<nav class="toc"><ul>'
            + "".join(
                f'<li><a href="/handbook/chapter-{index + 1}.html">Chapter {index + 1}</a></li>'
                for index in range(count)
            )
            + "</ul></nav>"
            '<main class="handbook">'
            f"<h1>{title}</h1><p>{paragraphs[0]}</p><p>{paragraphs[1]}</p>"
            f"<table><tr><th>Place</th><th>Depth</th><th>Width</th></tr>{table}</table>"
            f"<p>{paragraphs[2]}</p><pre><code>{code}</code></pre><p>{paragraphs[3]}</p></main>"
            f'<div class="pager"><a href="/handbook/chapter-{max(number, 1)}.html">Previous</a>'
            f" {following}</div>"
        )
        gold = [
            title,
            paragraphs[0],
            paragraphs[1],
            "Place",
            "Depth",
            "Width",
            *(cell for row in rows for cell in row),
            paragraphs[2],
            code,
            paragraphs[3],
        ]
        return Example(
            f"/handbook/chapter-{number + 1}.html", title, paragraphs, "handbook", "", gold, body
        )

    def page(self, title: str, body: str, description: str, section: str) -> str:
        meta = f'<meta name="description" content="{escape(description)}">' if description else ""
        menu = "".join(
            f'<li><a href="/{name}/">{name.title()}</a></li>'
            for name in SECTIONS
            if any(example.section == name for example in self.examples)
        )
        return (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} |'
            f" {self.name}</title>{meta}"
            f"<script>var section = '{section}';</script><style>p {{ margin: 1em"
            f" }}</style></head><body class='{section} page-{len(self.pages)}'>"
            f'<div id="cookie-notice" role="dialog"><p>{COOKIES}</p><button>Accept</button></div>'
            f'<header class="site-header"><a class="logo" href="/">{self.name}</a><nav><ul'
            f' class="menu">{menu}</ul></nav></header>'
            f'<div id="content" class="column">{body}</div>'
            f'<aside class="sidebar"><h4>Newsletter</h4><p>Every Friday, the best of the week in'
            f" your mailbox.</p><h4>Archive</h4><ul>"
            f"<li><a href='/stories/'>2024</a></li><li><a"
            f" href='/stories/page-2.html'>2023</a></li></ul></aside>"
            f"<footer><p>© 2024 {self.name}. All rights reserved.</p><a"
            f' href="/imprint.html">Imprint</a></footer></body></html>'
        )

    def listings(self) -> None:
        sections = {
            name: [example for example in self.examples if example.section == name]
            for name in SECTIONS
        }
        for name, examples in sections.items():
            for start in range(0, len(examples), 12):
                cards = "".join(
                    f'<div class="card"><h2><a href="{example.path}">{escape(example.title)}</a>'
                    f"</h2><p>{escape(example.paragraphs[0][:120])}…"
                    f' <a class="more" href="{example.path}">Read more</a></p></div>'
                    for example in examples[start : start + 12]
                )
                number = start // 12 + 1
                more = (
                    f'<div class="pager"><a href="/{name}/page-{number + 1}.html">Older</a></div>'
                    if start + 12 < len(examples)
                    else ""
                )
                path = f"/{name}/index.html" if number == 1 else f"/{name}/page-{number}.html"
                self.pages[path] = self.page(
                    name.title(),
                    f'<div class="cards"><h1>{name.title()}</h1>{cards}</div>{more}',
                    "",
                    name,
                )
        latest = "".join(
            f'<li><a href="{example.path}">{escape(example.title)}</a></li>'
            for example in self.examples[:15]
        )
        self.pages["/index.html"] = self.page(
            "Welcome",
            f'<ul class="latest">{latest}</ul>',
            "Stories, recipes and a handbook from the coast.",
            "home",
        )
        self.pages["/imprint.html"] = self.page(
            "Imprint",
            f"<div class='plain'><h1>Imprint</h1><p>{self.name}, 1 Quay Street.</p></div>",
            "",
            "imprint",
        )

    def write(self, folder: Path) -> Path:
        """Write the site as a corpus to *folder* and return it."""
        for path, html in self.pages.items():
            file = folder / "html" / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(html, encoding="utf-8")
        about = {
            "id": folder.name,
            "language": "en",
            "type": "example",
            "suite": "example",
            "crawlable": True,
            "start_paths": ["/index.html"],
        }
        (folder / "site.json").write_text(json.dumps(about), encoding="utf-8")
        lines = [
            json.dumps({"path": example.path, "text": "\n".join(example.gold)})
            for example in self.examples
        ]
        (folder / "gold.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ExampleSite().write(Path(sys.argv[1]))
