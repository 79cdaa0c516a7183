"""How the walk over a page's tree treats each tag, and which classes it leaves out."""

from __future__ import annotations

import re

# The names of an element in a path are cut after so many characters.
MAX_STEP_CHARS = 200

# The walk skips these elements with everything in them: they hold no readable text.
SKIPPED_TAGS = frozenset(
    "script style noembed noframes title svg math frameset applet canvas map select datalist"
    " textarea input track area link meta param col colgroup progress meter rp rt rtc".split()
)
# Frames and players. Their address is kept; their content is a fallback for old browsers.
FILM_TAGS = frozenset(["iframe", "object", "audio", "video"])

INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rbc ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p mjx-container mjx-math mjx-assistive-mml".split()
)

# The marks that a span of a block's text can have. The mark of a link is its address.
CODE, BOLD, EMPHASIS, DELETED, HIGHLIGHT = "`", "*", "_", "~", "="
SUBSCRIPT, SUPERSCRIPT, FORMULA, DISPLAYED_FORMULA = ",", "^", "$", "$$"
LINE_BREAK = "\n"  # marks the space that replaces a ``<br>``
STYLES = {CODE, BOLD, EMPHASIS, DELETED, HIGHLIGHT, SUBSCRIPT, SUPERSCRIPT} | {
    FORMULA,
    DISPLAYED_FORMULA,
    LINE_BREAK,
}
# The mark of a formula whose text is not its LaTeX has the LaTeX behind a space.
FORMULAS_AS_TEXT = (f"{FORMULA} ", f"{DISPLAYED_FORMULA} ")
# The mark of a footnote's marker consists of this and the id of its note.
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

# The HTML tags of styles. Code is written by other means.
STYLE_TAGS = {
    BOLD: "strong",
    EMPHASIS: "em",
    DELETED: "del",
    HIGHLIGHT: "mark",
    SUBSCRIPT: "sub",
    SUPERSCRIPT: "sup",
}

# Raised digits and signs as characters of their own: without them 10³ would be 103.
RAISED_SIGNS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ"
RAISED = str.maketrans("0123456789+-\u2212=()n", RAISED_SIGNS)
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
RAISED_TEXT = re.compile(r"[\d+\-\u2212=(), ]*[\dn][\dn+\-\u2212=(), ]*", re.ASCII)

# The quotation marks of languages, and those within a quotation: Unicode's CLDR 48, delimiters.
QUOTE_LANGUAGES = {
    "«»“”": "ast br ca cv el eu it kab kk lij pms pt-AO pt-MZ pt-PT pt-TL sc es-US",
    "„“‚‘": "cs de dsb et hr hsb is lb sk sl",
    "«»‹›": "am fa rm",
    "«»„“": "be ky os ru sah uk",
    "””’’": "fi he se sv yi",
    "«»‘’": "nb nn no",
    "”“’‘": "ar syr ur",
    "«»«»": "fr ht hy oc",
    "„“„“": "bg lt",
    "‘’“”": "fur ia",
    "「」『』": "ja yue zh-Hant zh-TW zh-HK zh-MO",
    "„”«»": "pl ro",
    "„”»«": "hu",
    "„“«»": "ka",
    "„”‘’": "bs",
    "“”«»": "eo",
    "‘’‘’": "nl",
    "„”’’": "sr",
    "“”’‘": "uz",
}
QUOTES = {
    language.lower(): marks
    for marks, names in QUOTE_LANGUAGES.items()
    for language in names.split()
}
ENGLISH_QUOTES = "“”‘’"
QUOTE_SIGNS = frozenset("\"'`«»‹›„‚“”‘’「」『』")

PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp", "plaintext"])

# The kind of each tag, which decides how the walk treats it. All other tags are containers.
KINDS = {
    **dict.fromkeys(SKIPPED_TAGS, "skipped"),
    **dict.fromkeys(INLINE_TAGS, "inline"),
    **dict.fromkeys(PREFORMATTED_TAGS, "preformatted"),
    **dict.fromkeys(FILM_TAGS, "film"),
    **{tag: tag for tag in ("base", "noscript", "template", "table", "button", "script")},
    **{tag: tag for tag in ("embed", "noindex")},
    # The parser treats it as unclosed, and puts the following elements into it.
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

# The text that replaces the checkboxes of task lists.
CHECKED, UNCHECKED = "☑ ", "☐ "
NO_NUMBER = -1_000_000_000  # of an entry whose list is not numbered
# Cloudflare writes e-mail addresses as hexadecimal numbers, and a script shows them.
HIDDEN_EMAILS = "/cdn-cgi/l/email-protection"
MAX_EMAIL_CHARS = 500

# Classes of line numbers beside code, as Pygments, Rouge, Hexo, Hugo (Chroma), highlight.js, Prism
# and GeSHi write them.
GUTTERS = frozenset(
    "gutter gl linenos lineno linenodiv lineno-cell lnt ln line-number line-numbers linenumber"
    " linenumbers line_number line_numbers hljs-ln-numbers blob-num rouge-gutter de1-ln"
    " line-numbers-rows line-numbers-wrapper".split()
)
# Classes of formulas as MathJax renders them. Their LaTeX source is in a script next to them.
SHOWN_FORMULAS = frozenset(
    "MathJax MathJax_Display MathJax_Preview MathJax_SVG MathJax_SVG_Display".split()
)
# A link with only these signs that leads to a place on its own page is left out: it is the
# permalink of a heading, or leads back from a footnote.
SIGNS = frozenset("¶#§🔗⚓↩↑⬆⇧⤴↵↥⌃^⬏☝\ufe0e\ufe0f\u200b\u200d\u2060\ufeff\xa0 ")
# Classes of what edits, copies or folds a part of a page, of messages and names that a style sheet
# hides, and of the numbers of cells: MediaWiki, Dokka, Jupyter, YARD, sphinx-design, docutils,
# ReadMe, Discourse; the markers of lists (LaTeXML); lists of versions (Read the Docs, mike).
CONTROLS = frozenset(
    "mw-editsection copy-popup-wrapper jp-InputPrompt jp-OutputPrompt input_prompt output_prompt"
    " summary_toggle inheritanceTree sd-hide-link-text backrefs callout-icon informations"
    " rst-versions md-version ltx_tag_item".split()
)
PERMALINK = re.compile(
    r"(?:header|heading)-?(?:link|anchor)|perma-?link|hash-?link|anchor-?(?:js|link)", re.IGNORECASE
)
EDIT_LINK = re.compile(r"(?:^|[\s-])edit-?(?:section|link|this|page)", re.IGNORECASE)

HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# Such an element begins and ends a line, with any tag.
BLOCK_STYLE = re.compile(
    r"display\s*:\s*(?:block|flex|grid|flow-root|list-item|table(?:-row|-caption)?)\s*(?:[;!]|$)",
    re.IGNORECASE,
)
EXPRESSION = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}|\$\{[^{}]*\}")


def quote_marks(language: str, depth: int) -> tuple[str, str]:
    """Return the marks around a quotation in a *language* (a BCP 47 tag) that stands within *depth*
    other quotations, as browsers show them.

    >>> quote_marks("de-AT", 0), quote_marks("fr", 1), quote_marks("", 1)
    (('„', '“'), ('«', '»'), ('‘', '’'))
    """
    tag, marks = language.lower().replace("_", "-"), ""
    while tag and not marks:
        marks = QUOTES.get(tag, "")
        tag = tag.rpartition("-")[0]
    first = 2 * min(depth, 1)
    marks = marks or ENGLISH_QUOTES
    return marks[first], marks[first + 1]


def raised(text: str) -> str:
    """Return raised characters for a text, "" if it is not a number or cannot be raised.

    >>> raised("3"), raised("-n"), raised("st")
    ('³', '⁻ⁿ', '')
    """
    return text.translate(RAISED) if RAISED_TEXT.fullmatch(text) else ""


def is_link(mark: str) -> bool:
    """Tell whether a mark is the address of a link."""
    return mark not in STYLES and not mark.startswith((NOTE, *FORMULAS_AS_TEXT))


def is_formula(mark: str) -> bool:
    """Tell whether a mark is that of a formula: ``$``, or ``$ a^{10}`` for the text a^10."""
    return mark in (FORMULA, DISPLAYED_FORMULA) or mark.startswith(FORMULAS_AS_TEXT)


def is_expression(text: str) -> bool:
    """Tell whether *text* consists of template expressions that no script has filled in.

    >>> is_expression("{{ user.name }} ({{ user.role }})"), is_expression("Write {{ name }}")
    (True, False)
    """
    rest = EXPRESSION.sub("", text)
    return rest != text and not any(char.isalnum() for char in rest)


def shown_email(code: str) -> str:
    """Return the e-mail address that Cloudflare has hidden in a *code*: the first byte changes all
    others. Return "" if the code hides none.

    >>> shown_email("2a5e4f4b6a4f04455844")
    'tea@e.orn'
    """
    try:
        key, *codes = bytes.fromhex(code[: 2 * MAX_EMAIL_CHARS])
        text = bytes(code ^ key for code in codes).decode()
    except ValueError:
        return ""
    return text if "@" in text and text.isprintable() else ""
