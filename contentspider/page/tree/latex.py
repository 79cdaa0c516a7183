"""Formulas in MathML, written as LaTeX: for formulas whose source the page does not have."""

from __future__ import annotations

import re
import unicodedata
from html.entities import html5
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lxml.etree import _Element

    Writer = Callable[[_Element, list[str]], str]


def _pairs(text: str) -> dict[str, str]:
    """Return a table that is written as keys and values in turn."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


# Commands that HTML's entities call by the same name: ``&cup;`` is \cup.
SAME_NAMES = """
    alpha beta gamma delta zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon chi
    psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega varpi varrho varsigma aleph beth
    ell hbar wp imath jmath nabla forall pm mp times div oplus ominus otimes odot cap cup sqcap
    sqcup wedge vee wr amalg uplus leq geq ll gg prec succ preceq succeq equiv sim simeq approx
    cong doteq propto perp nmid subset supset subseteq supseteq subsetneq supsetneq sqsubseteq
    sqsupseteq in ni notin vdash dashv bowtie smile frown lesssim gtrsim leqslant geqslant ltimes
    rtimes leftarrow uparrow downarrow leftrightarrow updownarrow mapsto hookrightarrow
    hookleftarrow Leftarrow Rightarrow Uparrow Downarrow Leftrightarrow nearrow searrow swarrow
    nwarrow rightleftharpoons longleftarrow longrightarrow longmapsto Longleftarrow Longrightarrow
    Longleftrightarrow sum prod coprod int oint bigcap bigcup bigvee bigwedge bigoplus bigotimes
    bigsqcup biguplus lfloor rfloor lceil rceil langle rangle angle top bot therefore because
    complement nexists
""".split()
OTHER_NAMES = r"""
    − - ∗ * ∕ / ′ ' ″ '' # \# $ \$ % \% & \& _ \_ { \{ } \} \ \backslash ~ \sim ^ \hat{}
    ∞ \infty ∂ \partial ∃ \exists ¬ \neg ≠ \neq → \to ⋯ \cdots … \ldots ⋮ \vdots ⋱ \ddots ⋅ \cdot
    · \cdot ∬ \iint ∭ \iiint ∅ \emptyset ⌀ \varnothing † \dagger ‡ \ddagger ‖ \| ∥ \parallel
    ∣ \mid ∘ \circ ∙ \bullet • \bullet ⋆ \star ∖ \setminus ϵ \epsilon ε \varepsilon ϕ \phi
    φ \varphi ϑ \vartheta ℜ \Re ℑ \Im △ \triangle □ \square ◻ \square ⊨ \models ⟂ \perp
"""
SYMBOLS = {html5[f"{name};"]: f"\\{name}" for name in SAME_NAMES} | _pairs(OTHER_NAMES)
SYMBOLS |= dict.fromkeys("\u2061\u2062\u2063\u2064\u200b", "")  # invisible operators
FUNCTIONS = frozenset(
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf"
    " limsup ln log max min Pr sec sin sinh sup tan tanh".split()
)
FUNCTION_SIGNS = {"mod": "\\bmod", "lim inf": "\\liminf", "lim sup": "\\limsup"}
# Signs and functions with limits: a displayed formula has them above and below.
LIMITED = re.compile(
    r"\\(?:sum|prod|coprod|i*int|oint|big[a-z]+|lim|liminf|limsup|max|min|sup|inf|det|gcd|Pr"
    r"|(?:under|over)brace\{.*\}|operatorname\*\{.*\})",
    re.DOTALL,
)
FONTS = _pairs("""
    normal mathrm bold mathbf italic mathit bold-italic boldsymbol double-struck mathbb
    script mathcal bold-script mathcal -tex-calligraphic mathcal fraktur mathfrak
    bold-fraktur mathfrak sans-serif mathsf monospace mathtt
""")
TEXT_FONTS = _pairs("bold textbf italic textit monospace texttt")
# The words in the names of Unicode's letters for mathematics, such as 𝐱 and ℝ.
LETTERS = {"BOLD ITALIC": "boldsymbol", "ITALIC": ""} | _pairs("""
    DOUBLE-STRUCK mathbb SCRIPT mathcal FRAKTUR mathfrak BLACK-LETTER mathfrak SANS-SERIF mathsf
    MONOSPACE mathtt BOLD mathbf
""")
ALPHABET = re.compile(rf"\b(?:{'|'.join(LETTERS)})\b")
STYLED_LETTERS = re.compile("[\U0001d400-\U0001d7ff]+")
OVER = _pairs("""
    ^ hat ˆ hat ¯ bar ˉ bar ‾ overline ― overline _ overline ~ tilde ˜ tilde ∼ tilde → vec
    ˙ dot ¨ ddot ˇ check ˘ breve ´ acute ` grave ⏞ overbrace ← overleftarrow
""")
OVER |= {"\u20d7": "vec", "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
UNDER = _pairs("⏟ underbrace _ underline ‾ underline ― underline")
# A command for an accent on one letter, and that for one on more.
WIDE = _pairs("hat widehat tilde widetilde bar overline vec overrightarrow")
ENCLOSED = _pairs("""
    box boxed top overline bottom underline radical sqrt updiagonalstrike cancel
    downdiagonalstrike bcancel
""")
MATRICES = _pairs("""
    () pmatrix [] bmatrix {} Bmatrix || vmatrix ∣∣ vmatrix ‖‖ Vmatrix ∥∥ Vmatrix { cases
""")
FENCES = dict(zip("([{⟨⌊⌈|‖∣∥", ")]}⟩⌋⌉|‖∣∥", strict=True))
BARS = {"∣": "|", "∥": "\\|"}  # as brackets; else they are relations
TALL = re.compile(r"\\(?:[dt]?frac|genfrac|binom|sum|prod|i*int|oint|big|begin|over|under|sqrt)")
FRACTION, ATOP = "\\frac", "\\genfrac{}{}{0pt}{}"
SIZES = {"true": "d", "false": "t"}  # of fractions, by ``displaystyle``
TABLE = re.compile(r"\\begin\{(?:matrix|aligned)\}(.*)\\end\{(?:matrix|aligned)\}", re.DOTALL)
RIGHT = re.compile(r"right left|\bright\b(?!.*\bcenter)")  # of columns: equations
SPACES = ((1.9, "\\qquad "), (0.9, "\\quad "), (0.26, "\\;"), (0.21, "\\:"), (0.1, "\\,"))
EM = re.compile(r"\s*(\d+\.?\d*|\.\d+)em")
# A character, a command, or an escaped sign. With scripts, a base that is no `BASE` needs braces.
ATOM = re.compile(r"[^\\]|\\[A-Za-z]+|\\[^A-Za-z]")
BASE = re.compile(r"[^\\]|\d+|\((?:[^()]|\([^()]*\))*\)|\\[A-Za-z]+(?:\{[^{}]*\})?|\\[^A-Za-z]")
OPEN_COMMAND = re.compile(r"\\[A-Za-z]+\Z")
TEXT_SIGNS = str.maketrans(
    {sign: f"\\{sign}" for sign in "#$%&_{}"}
    | {sign: f"}}{SYMBOLS[sign]}\\text{{" for sign in "\\^~"}
)
GROUPS = frozenset(["mrow", "mstyle", "mpadded"])
MAX_ELEMENTS, MAX_CHARS = 2_000, 10_000


def latex_of(math: _Element) -> str:
    """Return a formula as LaTeX, "" if it is larger than `MAX_ELEMENTS` or `MAX_CHARS`."""
    elements = list(islice(math.iter("*"), MAX_ELEMENTS + 1))
    if len(elements) > MAX_ELEMENTS:
        return ""
    written: dict[_Element, str] = {}
    for element in reversed(elements):  # children before their parents
        parts = [written[child] for child in element.iterchildren("*")]
        text = WRITERS.get(_tag(element), _row)(element, parts)
        if len(text) > MAX_CHARS:
            return ""
        written[element] = text
    return written[math].strip()


def _tag(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _text(element: _Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


def _only(element: _Element) -> _Element:
    """Return the element that stands alone in an element, or in one in it."""
    while len(element) == 1 and _tag(element) in GROUPS:
        element = element[0]
    return element


def _joined(parts: Iterable[str]) -> str:
    """Return the parts in a row: a space ends a command before a letter."""
    row = ""
    for part in parts:
        space = " " if part[:1].isalpha() and OPEN_COMMAND.search(row) else ""
        row += space + part
    return row


def _row(element: _Element, parts: list[str]) -> str:
    """Write the parts of a row. Brackets around tall ones grow with them."""
    children = list(element.iterchildren("*"))
    first, last = (_only(children[0]), _only(children[-1])) if len(children) > 2 else (None, None)
    if first is None or last is None or _tag(first) != "mo" or _tag(last) != "mo":
        return _joined(parts)
    opened, closed = _text(first), _text(last)
    if len(children) == 3 and (whole := _in_brackets(opened + closed, children[1], parts[1])):
        return whole
    is_fixed = "false" in (first.get("stretchy"), last.get("stretchy"))
    if is_fixed or closed != FENCES.get(opened) or not TALL.search("".join(parts[1:-1])):
        return _joined(parts)
    left, right = BARS.get(opened, parts[0]), BARS.get(closed, parts[-1])
    return _joined(["\\left", left, *parts[1:-1], "\\right", right])


def _in_brackets(brackets: str, element: _Element, part: str) -> str:
    """Write a matrix, or a binomial coefficient, in its brackets, "" if it is neither."""
    if part.startswith(ATOP) and brackets == "()":
        return part.replace(ATOP, "\\binom", 1)
    table = TABLE.fullmatch(part) if _tag(_only(element)) == "mtable" else None
    name = MATRICES.get(brackets)
    return f"\\begin{{{name}}}{table[1]}\\end{{{name}}}" if table and name else ""


def _styled(element: _Element, parts: list[str]) -> str:
    """Write ``mstyle``: it says the size of a fraction."""
    if len(parts) == 1 and parts[0].startswith(FRACTION):
        size = SIZES.get(element.get("displaystyle") or "", "")
        return parts[0].replace("\\", f"\\{size}", 1)
    return _row(element, parts)


def _name(element: _Element, parts: list[str]) -> str:
    """Write ``mi``: a variable, or a function of several letters."""
    text = _text(element)
    if text in FUNCTIONS:
        return f"\\{text}"
    command = _font(element) if text.isalnum() else ""
    if command == "mathrm" and len(text) == 1 and not text.isascii():
        command = ""  # Greek capitals are upright, and so are signs
    if not command and len(text) > 1 and text.isalpha() and text.isascii():
        command = "operatorname"
    name = BARS.get(text) or _joined(map(_symbol, text))
    return f"\\{command}{{{name}}}" if command else name


def _font(element: _Element) -> str:
    names = (element.get("data-mjx-variant"), element.get("mathvariant"))
    return next((FONTS[name] for name in names if name in FONTS), "")


def _symbol(sign: str) -> str:
    """Return a character as LaTeX."""
    if sign.isascii() or sign in SYMBOLS:
        return SYMBOLS.get(sign, sign)
    alphabet = ALPHABET.search(unicodedata.name(sign, ""))
    letter = unicodedata.normalize("NFKC", sign)
    if alphabet is None or len(letter) > 1:
        return sign
    command, letter = LETTERS[alphabet[0]], SYMBOLS.get(letter, letter)
    if command == "mathbf" and letter.startswith("\\"):
        command = "boldsymbol"
    return f"\\{command}{{{letter}}}" if command else letter


def _number(element: _Element, parts: list[str]) -> str:
    text, command = _operator(element, parts), _font(element)
    return f"\\{command}{{{text}}}" if command and text else text


def _operator(element: _Element, parts: list[str]) -> str:
    text = _text(element)
    if text in FUNCTIONS or text in FUNCTION_SIGNS:
        return FUNCTION_SIGNS.get(text, f"\\{text}")
    if len(text) > 1 and text.isalpha():
        return f"\\operatorname{{{text}}}"
    if text in BARS and "true" in (element.get("fence"), element.get("stretchy")):
        return BARS[text]
    return _joined(map(_symbol, text))


def _words(element: _Element, parts: list[str]) -> str:
    text = re.sub(r"\s+", " ", "".join(map(str, element.itertext())))
    text = STYLED_LETTERS.sub(lambda letters: unicodedata.normalize("NFKC", letters[0]), text)
    if _tag(element) == "ms":
        text = f'"{text}"'
    if not text.strip():
        return "\\ " if text else ""
    command = TEXT_FONTS.get(element.get("mathvariant") or "", "text")
    return f"\\{command}{{{text.translate(TEXT_SIGNS)}}}"


def _fraction(element: _Element, parts: list[str]) -> str:
    above, below = [*parts, "", ""][:2]
    has_line = element.get("linethickness") not in ("0", "0px", "0pt", "0em")
    return f"{FRACTION if has_line else ATOP}{{{above}}}{{{below}}}"


def _root(element: _Element, parts: list[str]) -> str:
    if _tag(element) == "mroot" and len(parts) == 2:
        return f"\\sqrt[{parts[1]}]{{{parts[0]}}}"
    return f"\\sqrt{{{_joined(parts)}}}"


def _around(element: _Element, parts: list[str]) -> tuple[str, str, str]:
    """Return the base of an element, and what stands below and above it."""
    base, second, third = [*parts, "", "", ""][:3]
    return (base, "", second) if _tag(element) in ("msup", "mover") else (base, second, third)


def _with_scripts(element: _Element, parts: list[str]) -> str:
    return _scripts(*_around(element, parts))


def _scripts(base: str, below: str, above: str) -> str:
    """Write a base with its scripts: those *below* and *above*, each "" for none."""
    if not BASE.fullmatch(base) and not LIMITED.fullmatch(base):
        base = f"{{{base}}}"
    if below:
        base += f"_{_braced(below)}"
    if above and not above.strip("'"):  # x''
        return base + above
    return f"{base}^{_braced(above)}" if above else base


def _braced(text: str) -> str:
    return text if ATOM.fullmatch(text) else f"{{{text}}}"


def _with_limits(element: _Element, parts: list[str]) -> str:
    """Write ``munder``, ``mover`` and ``munderover``: limits, accents, or texts above or below."""
    base, below, above = _around(element, parts)
    accents = OVER if above else UNDER
    if len(parts) == 2 and (accent := accents.get(_text(_only(element[1])))):
        is_wide = not ATOM.fullmatch(base) and element[1].get("stretchy") != "false"
        return f"\\{WIDE.get(accent, accent) if is_wide else accent}{{{base}}}"
    if base.startswith("\\operatorname{"):
        base = base.replace("{", "*{", 1)
    if LIMITED.fullmatch(base):
        return _scripts(base, below, above)
    base = f"\\underset{{{below}}}{{{base}}}" if below else base
    return f"\\overset{{{above}}}{{{base}}}" if above else base


def _with_tensors(element: _Element, parts: list[str]) -> str:
    """Write ``mmultiscripts``: pairs of scripts after the base, then pairs before it."""
    tags = [_tag(child) for child in element.iterchildren("*")]
    cut = tags.index("mprescripts") if "mprescripts" in tags else len(parts)
    after, before = (
        "".join([_scripts("", *pair) for pair in zip(each[::2], each[1::2], strict=False)])
        for each in (parts[1:cut], parts[cut + 1 :])
    )
    return before + "".join(parts[:1]) + after.removeprefix("{}")


def _table(element: _Element, parts: list[str]) -> str:
    """Write rows. Those whose columns are right, then left are equations, whose signs stand below
    each other.
    """
    cell = next(element.iter("{*}mtd"), element)
    sides = (element.get("columnalign"), cell.get("columnalign"), cell.get("class"))
    name = "aligned" if RIGHT.search(" ".join(filter(None, sides))) else "matrix"
    return f"\\begin{{{name}}}" + " \\\\ ".join(parts) + f"\\end{{{name}}}"


def _fenced(element: _Element, parts: list[str]) -> str:
    """Write ``mfenced``: brackets, with commas between the parts."""
    opened, closed = (
        SYMBOLS.get(sign, sign) or "."
        for sign in (element.get("open", "("), element.get("close", ")"))
    )
    separator = element.get("separators", ",")[:1]
    inside = separator.join(parts) if separator else _joined(parts)
    return _joined([f"\\left{opened}", inside, f"\\right{closed}"])


def _space(element: _Element, parts: list[str]) -> str:
    width = EM.match(element.get("width") or "")
    return next((space for em, space in SPACES if width and float(width[1]) > em), "")


def _enclosed(element: _Element, parts: list[str]) -> str:
    command = ENCLOSED.get((element.get("notation") or "").partition(" ")[0])
    inside = _joined(parts)
    return f"\\{command}{{{inside}}}" if command else inside


WRITERS: dict[str, Writer] = {
    "mi": _name,
    "mn": _number,
    "mo": _operator,
    "mfrac": _fraction,
    "mmultiscripts": _with_tensors,
    "mtable": _table,
    "mtr": lambda _, cells: " & ".join(cells),
    "mlabeledtr": lambda _, cells: " & ".join(cells[1:]),
    "mfenced": _fenced,
    "mstyle": _styled,
    "mspace": _space,
    "menclose": _enclosed,
    "mphantom": lambda _, parts: f"\\phantom{{{_joined(parts)}}}",
    **dict.fromkeys(["mtext", "ms"], _words),
    **dict.fromkeys(["msqrt", "mroot"], _root),
    **dict.fromkeys(["msub", "msup", "msubsup"], _with_scripts),
    **dict.fromkeys(["munder", "mover", "munderover"], _with_limits),
    **dict.fromkeys(["semantics", "maction"], lambda _, forms: forms[0] if forms else ""),
    **dict.fromkeys(["annotation", "annotation-xml", "none", "mprescripts"], lambda *_: ""),
}
