"""What the walk over a tree does with its tags, and what it leaves out."""

from __future__ import annotations

import re

# Subtrees that hold no readable text.
SKIPPED_TAGS = frozenset(
    "script style noembed noframes title svg math frameset applet canvas map select datalist"
    " textarea input track area link meta param col colgroup progress meter rp".split()
)
# Frames and players: they leave their address, and what is in them is for those that have none.
FILM_TAGS = frozenset(["iframe", "object", "audio", "video"])

INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rt ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p mjx-container mjx-math mjx-assistive-mml".split()
)

# Marks of ranges of a block's text. The mark of a link is its address.
CODE, BOLD, EMPHASIS, DELETED, HIGHLIGHT = "`", "*", "_", "~", "="
SUBSCRIPT, SUPERSCRIPT, FORMULA, DISPLAYED_FORMULA = ",", "^", "$", "$$"
LINE_BREAK = "\n"  # of the space that stands for a ``<br>``
STYLES = {CODE, BOLD, EMPHASIS, DELETED, HIGHLIGHT, SUBSCRIPT, SUPERSCRIPT} | {
    FORMULA,
    DISPLAYED_FORMULA,
    LINE_BREAK,
}
# The mark of a footnote's marker is this and the id of its note.
NOTE = "[^"
MARKS = {
    **dict.fromkeys(["code", "kbd", "samp", "tt"], CODE),
    **dict.fromkeys(["b", "strong"], BOLD),
    **dict.fromkeys(["em", "i"], EMPHASIS),
    **dict.fromkeys(["del", "s", "strike"], DELETED),
    "mark": HIGHLIGHT,
    "sub": SUBSCRIPT,
    "sup": SUPERSCRIPT,
}

# The tags that styles are written with as HTML, code beside them.
STYLE_TAGS = {
    BOLD: "strong",
    EMPHASIS: "em",
    DELETED: "del",
    HIGHLIGHT: "mark",
    SUBSCRIPT: "sub",
    SUPERSCRIPT: "sup",
}

PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp", "plaintext"])

# What the walk does with a tag; one that is not here is a container.
KINDS = {
    **dict.fromkeys(SKIPPED_TAGS, "skipped"),
    **dict.fromkeys(INLINE_TAGS, "inline"),
    **dict.fromkeys(PREFORMATTED_TAGS, "preformatted"),
    **dict.fromkeys(FILM_TAGS, "film"),
    **{tag: tag for tag in ("base", "noscript", "template", "table", "button", "script")},
    **{tag: tag for tag in ("embed", "noindex")},
    # It has no end: the parser puts what follows into it.
    "source": "inline",
    "a": "link",
    "br": "break",
    "img": "image",
    "tr": "row",
    "td": "cell",
    "th": "cell",
    "li": "item",
    "ol": "numbered",
    "blockquote": "quote",
    "math": "formula",
    "input": "field",
}

# The boxes of task lists, as a reader sees them.
CHECKED, UNCHECKED = "☑ ", "☐ "

# Classes of what stands beside lines of code and is none: their numbers, in the markup of
# Pygments, Rouge, Hexo, Hugo (Chroma), highlight.js, Prism and GeSHi.
GUTTERS = frozenset(
    "gutter gl linenos lineno linenodiv lineno-cell lnt ln line-number line-numbers linenumber"
    " linenumbers line_number line_numbers hljs-ln-numbers blob-num rouge-gutter de1-ln"
    " line-numbers-rows".split()
)
# What MathJax shows of a formula, whose source stands beside it in a script.
SHOWN_FORMULAS = frozenset(
    "MathJax MathJax_Display MathJax_Preview MathJax_SVG MathJax_SVG_Display".split()
)
# A link of one of these to a place on its own page is no text: it points at its heading, or back
# from a footnote.
SIGNS = frozenset("¶#§🔗⚓↩↑⬆⇧⤴↵↥⌃^⬏☝\ufe0e\ufe0f\u200b\u200d\u2060\ufeff\xa0 ")
PERMALINK = re.compile(
    r"(?:header|heading)-?(?:link|anchor)|perma-?link|hash-?link|anchor-?(?:js|link)", re.IGNORECASE
)
EDIT_LINK = re.compile(r"(?:^|[\s-])edit-?(?:section|link|this|page)", re.IGNORECASE)

HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
EXPRESSION = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}|\$\{[^{}]*\}")


def is_link(mark: str) -> bool:
    """Tell whether the mark of a range is an address."""
    return mark not in STYLES and not mark.startswith(NOTE)


def is_expression(text: str) -> bool:
    """Tell whether *text* is nothing but template expressions, which a script was to fill in.

    >>> is_expression("{{ user.name }} ({{ user.role }})"), is_expression("Write {{ name }}")
    (True, False)
    """
    rest = EXPRESSION.sub("", text)
    return rest != text and not any(char.isalnum() for char in rest)
