"""What the walk over a tree does with its tags, and what it leaves out."""

from __future__ import annotations

import re

# Subtrees that hold no readable text.
SKIPPED_TAGS = frozenset(
    "script style noembed noframes title svg math frameset applet canvas map select datalist"
    " textarea input track area link meta param col colgroup progress meter".split()
)
# Frames and players: they leave their address, and what is in them is for those that have none.
FILM_TAGS = frozenset(["iframe", "object", "audio", "video"])

INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p".split()
)

# What the text inside an inline element is marked with: links get their address instead.
CODE, BOLD = "`", "*"
MARKS = {"code": CODE, "kbd": CODE, "samp": CODE, "tt": CODE, "b": BOLD, "strong": BOLD}

PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp", "plaintext"])

# What the walk does with a tag; one that is not here is a container.
KINDS = {
    **dict.fromkeys(SKIPPED_TAGS, "skipped"),
    **dict.fromkeys(INLINE_TAGS, "inline"),
    **dict.fromkeys(PREFORMATTED_TAGS, "preformatted"),
    **dict.fromkeys(FILM_TAGS, "film"),
    **{tag: tag for tag in ("base", "noscript", "template", "embed", "noindex")},
    # It has no end: the parser puts what follows into it.
    "source": "inline",
    "a": "link",
    "br": "break",
    "img": "image",
    "tr": "row",
    "td": "cell",
    "th": "cell",
    "li": "item",
}

HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
EXPRESSION = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}|\$\{[^{}]*\}")


def is_expression(text: str) -> bool:
    """Tell whether *text* is nothing but template expressions, which a script was to fill in.

    >>> is_expression("{{ user.name }} ({{ user.role }})"), is_expression("Write {{ name }}")
    (True, False)
    """
    rest = EXPRESSION.sub("", text)
    return rest != text and not any(char.isalnum() for char in rest)
