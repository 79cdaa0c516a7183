"""Formulas in MathML and in pictures, read as LaTeX and as a line of text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.page.tree.latex import latex_of

if TYPE_CHECKING:
    from lxml.etree import _Element

TEX = frozenset(["application/x-tex", "application/x-latex", "tex", "latex", "text/x-tex"])
# How MediaWiki wraps a formula.
WRAPPED = re.compile(r"\{\\(?:display|text)style\s+(?P<source>.*)\}\Z", re.DOTALL)
# The operators from U+2061 to U+2064 are invisible ones.
OPERATORS = {"−": "-", "\u2061": "", "\u2062": "", "\u2063": ",", "\u2064": "+"}
# How an element with this many children is written. The first numbers are the children; the numbers
# after them are the same children, in brackets if they are more than a name or number.
FORMS = {
    ("msup", 2): "{0}^{3}",
    ("mover", 2): "{0}^{3}",
    ("msub", 2): "{0}_{3}",
    ("munder", 2): "{0}_{3}",
    ("msubsup", 3): "{0}_{4}^{5}",
    ("munderover", 3): "{0}_{4}^{5}",
    ("mfrac", 2): "{2}/{3}",
    ("mroot", 2): "root({1}, {0})",
}
SEPARATORS = {"mtable": "; ", "mtr": ", "}
MAX_ELEMENTS, MAX_DEPTH = 2_000, 50


# Two words in a row outside of LaTeX's commands for texts: screen readers speak them.
WORDS = re.compile(r"(?<![^\W\d_])(?<![\\{])[^\W\d_]{3,} [^\W\d_]{2,}")
TEXT_COMMAND = re.compile(r"\\(?:text\w*|math\w+|mbox|operatorname\*?)\s?\{[^{}]*\}")
NAME_OF_PICTURE = re.compile(r"\S+\.(?:png|gif|svg|jpe?g|webp)", re.IGNORECASE)
MIN_WORD_CHARS = 4  # shorter texts are names in formulas
# Classes of pictures whose text is LaTeX (of Sphinx, MediaWiki, WordPress and Doxygen).
DISPLAYED_PICTURES = frozenset(["formulaDsp", "mwe-math-fallback-image-display"])
PICTURES = DISPLAYED_PICTURES.union(["math", "tex", "latex", "formulaInl"])
PICTURES |= {"mwe-math-fallback-image-inline"}
DELIMITED = re.compile(r"(?:\$|\\\[|\\\()(?P<source>.*)(?:\$|\\\]|\\\))", re.DOTALL)


def formula_of(math: _Element) -> tuple[str, str, bool]:
    """Return a formula as LaTeX ("": it is too large), as the text of the page, and whether it is
    displayed on a line of its own.

    The text is the LaTeX source if the page has it, else a line of text: ``(a+b)/c``.
    """
    is_displayed = math.get("display") == "block"
    source = math.get("data-latex") or math.get("alttext") or ""  # of MathJax 4, of LaTeXML
    source = "" if _is_spoken(source) else source
    for annotation in math.iter("{*}annotation"):
        if (annotation.get("encoding") or "").lower() in TEX and annotation.text:
            source = annotation.text
    if source := _without_wrapping(source):
        return source, source, is_displayed
    return latex_of(math), _linear(math, [MAX_ELEMENTS], MAX_DEPTH), is_displayed


def formula_in_picture(classes: str, text: str) -> tuple[str, bool]:
    """Return the LaTeX of a formula that a picture with this *text* shows ("": it shows none), and
    whether it is displayed on a line of its own.
    """
    names = PICTURES.intersection(classes.split())
    if not names or _is_spoken(text) or NAME_OF_PICTURE.fullmatch(text.strip()):
        return "", False
    if delimited := DELIMITED.fullmatch(text.strip()):
        text = delimited["source"]
    return _without_wrapping(text), not names.isdisjoint(DISPLAYED_PICTURES)


def _is_spoken(text: str) -> bool:
    r"""Tell whether a text is one for screen readers, not LaTeX. ``ABCD`` is a formula.

    >>> [_is_spoken(text) for text in ("half of it", "Circle", "ABCD", r"x \text{ for all } y")]
    [True, True, False, False]
    """
    word = text.strip()
    is_word = word.isalpha() and len(word) >= MIN_WORD_CHARS and word[1:].islower()
    return is_word or WORDS.search(TEXT_COMMAND.sub("", text)) is not None


def _without_wrapping(source: str) -> str:
    source = " ".join(source.split())
    wrapped = WRAPPED.match(source)
    return wrapped["source"].strip() if wrapped else source


def _linear(element: _Element, left: list[int], depth: int) -> str:
    """Return an element as text: ``x^2``, ``(a+b)/c``.

    *left* has one number, how many more elements may be read; *depth* is how many more levels.
    """
    left[0] -= 1
    if left[0] < 0 or depth < 0 or not isinstance(element.tag, str):
        return ""
    tag = element.tag.rpartition("}")[2]
    if tag in ("annotation", "annotation-xml"):
        return ""
    if not len(element):
        text = "".join((element.text or "").split())
        return OPERATORS.get(text, text)
    parts = [_linear(child, left, depth - 1) for child in element]
    form = FORMS.get((tag, len(parts)))
    if form:
        return form.format(*parts, *map(_grouped, parts))
    inside = SEPARATORS.get(tag, "").join(parts)
    return f"sqrt({inside})" if tag == "msqrt" else inside


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"
