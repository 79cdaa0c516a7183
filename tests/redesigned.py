"""A site in an old and in a new design: the same articles in other templates."""

from __future__ import annotations

from tests.sites import WRITERS, prose

CITIES = "Aarhus Bergen Cork Delft Espoo Faro Ghent Hull Izmir Jena Kiel Lyon".split()


def old_page(number: int, first: str = "", price: str = "") -> str:
    """Return an article in the old design. *first* is its first paragraph, if it is another."""
    first = first or prose(number, 1)
    price = price or f"{number + 5}.50"
    return (
        f"<html><head><title>Page {number}</title></head><body><div id=top><a href=/>Home</a>"
        f" <a href=/1>News</a></div><div id=main><h1>Page {number}</h1>"
        f"<p class=meta>By {WRITERS[number % 4]} on {number % 28 + 1} May 2024</p>"
        f"<p>{first}</p><p>{prose(number, 2)}<br>{prose(number, 3)}</p>"
        f"<p class=price>A ticket costs € {price}.</p>"
        f"<p class=place>Where: {CITIES[number % 12]}</p>"
        "</div><div id=foot>© 2024 All rights reserved</div></body></html>"
    )


def new_page(number: int, first: str = "", price: str = "") -> str:
    """Return the same article in the new design: the byline has other words, there is a time to
    read it, and paragraphs are divided in another way.
    """
    first = first or prose(number, 1)
    price = price or f"{number + 5}.50"
    return (
        f"<html><head><title>Page {number}</title></head><body><header><nav><a href=/>Start</a>"
        f" <a href=/1>News</a> <a href=/2>Events</a></nav></header><main><section class=story>"
        f"<h1>Page {number}</h1><div class=byline><span>Written by {WRITERS[number % 4]}</span>"
        f" <time>2024-05-{number % 28 + 1:02}</time></div><div class=length>{number % 9 + 2}"
        f" minutes to read</div><div class=text><p>{first}</p><p>{prose(number, 2)}</p>"
        f"<p>{prose(number, 3)}</p></div><div class=facts><p>A ticket costs € {price}.</p>"
        f"<p>Where: {CITIES[number % 12]}</p></div></section></main>"
        "<footer>© 2024 All rights reserved. Made in Kiel.</footer></body></html>"
    )
