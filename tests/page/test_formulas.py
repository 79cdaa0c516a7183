"""Formulas are LaTeX in Markdown, whatever form the page has; the text stays one to read."""

from __future__ import annotations

import random
import re

import lxml.html
import pytest

from contentspider.page.input.page import Page
from contentspider.page.input.serialization import from_record, to_record
from contentspider.page.tree.latex import WRITERS, latex_of
from contentspider.page.write.passages import to_passages
from tests.written import ADDRESS, markdown, markup, text

SUM = "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>"
HALF = "<mfrac><mi>a</mi><mn>2</mn></mfrac>"


@pytest.mark.parametrize(
    ("math", "latex"),
    [
        ("<msub><mi>x</mi><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msub>", "x_{i+1}"),
        ("<msubsup><mi>x</mi><mi>i</mi><mo>′</mo></msubsup>", "x_i'"),
        ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "{a+b}^2"),
        (f"{SUM}<msqrt><mi>i</mi></msqrt>", r"\sum_{i=1}^n\sqrt{i}"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", r"\sqrt[3]{x}"),
        (f"<mrow><mo>(</mo>{HALF}<mo>)</mo></mrow>", r"\left(\frac{a}{2}\right)"),
        ("<mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>", "(x)"),
        (f"<mfenced open='[' close=']'>{HALF}<mi>b</mi></mfenced>", r"\left[\frac{a}{2},b\right]"),
        ("<mfenced open=⟨ close=⟩><mi>b</mi></mfenced>", r"\left\langle b\right\rangle"),
        ("<mfenced separators=''><mi>α</mi><mi>b</mi></mfenced>", r"\left(\alpha b\right)"),
        ("<mi>a</mi><mspace width=1.2.3em></mspace><mi>b</mi>", "ab"),
        (
            "<mrow><mo>(</mo><mfrac linethickness=0><mi>n</mi><mi>k</mi></mfrac><mo>)</mo></mrow>",
            r"\binom{n}{k}",
        ),
        ("<mstyle displaystyle=true><mfrac><mn>1</mn><mi>n</mi></mfrac></mstyle>", r"\dfrac{1}{n}"),
        ("<mi>α</mi><mo>≤</mo><mi>sin</mi><mi>x</mi>", r"\alpha\leq\sin x"),
        (
            "<mi mathvariant='double-struck'>R</mi><mi>𝐱</mi><mi>Ω</mi>",
            r"\mathbb{R}\mathbf{x}\Omega",
        ),
        ("<mi>gap</mi><mo>mod</mo><mn>2</mn>", r"\operatorname{gap}\bmod2"),
        ("<munder><mi>lim</mi><mi>n</mi></munder>", r"\lim_n"),
        ("<mover><mi>x</mi><mo>^</mo></mover>", r"\hat{x}"),
        ("<mover><mrow><mi>A</mi><mi>B</mi></mrow><mo>→</mo></mover>", r"\overrightarrow{AB}"),
        ("<mover><mi>A</mi><mtext>def</mtext></mover>", r"\overset{\text{def}}{A}"),
        (
            (
                "<mo>{</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mtext>if 5% is</mtext></mtd>"
                "</mtr><mtr><mtd><mn>0</mn></mtd><mtd><mtext>else</mtext></mtd></mtr></mtable><mo></mo>"
            ),
            r"\begin{cases}1 & \text{if 5\% is} \\ 0 & \text{else}\end{cases}",
        ),
        (
            "<mo>[</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr></mtable><mo>]</mo>",
            r"\begin{bmatrix}a\end{bmatrix}",
        ),
        (
            (
                "<mtable columnalign='right left'><mtr><mtd><mi>a</mi></mtd><mtd><mo>=</mo>"
                "<mi>b</mi></mtd></mtr></mtable>"
            ),
            r"\begin{aligned}a & =b\end{aligned}",
        ),
        (
            (
                "<mmultiscripts><mi>X</mi><mi>b</mi><none></none><mprescripts></mprescripts>"
                "<mi>c</mi><mi>d</mi></mmultiscripts>"
            ),
            "{}_c^dX_b",
        ),
        (
            "<mi>a</mi><mspace width=1em></mspace><mphantom><mi>b</mi></mphantom>",
            r"a\quad \phantom{b}",
        ),
        ("<menclose notation='box'><mi>b</mi></menclose>", r"\boxed{b}"),
        (
            "<semantics><mi>b</mi><annotation encoding='text/plain'>bee</annotation></semantics>",
            "b",
        ),
    ],
)
def test_mathml_without_source_is_latex(math: str, latex: str) -> None:
    assert markdown(f"<p>so <math>{math}</math> is</p>") == f"so ${latex}$ is"
    assert markdown(f"<p><math display=block>{math}</math></p>") == f"$${latex}$$"


def test_text_of_formula_without_source_stays_readable() -> None:
    body = f"<p>so <math><mi>π</mi><mo>≈</mo>{HALF}</math> is</p>"
    assert text(body) == "so π≈a/2 is"
    assert markup(body) == r"<p>so $\pi\approx\frac{a}{2}$ is</p>"
    linked = markdown("<p><a href='/x'>the <math><mi>π</mi></math></a> of $rye</p>")
    assert linked == "[the $\\pi$](https://e.example/x) of $rye"
    page = Page.from_html(body, ADDRESS).content
    assert from_record(to_record(page)).blocks == page.blocks


@pytest.mark.parametrize(
    ("body", "latex", "shown"),
    [
        # MathJax 4 keeps the source; MathJax 3 does not
        (
            (
                "<mjx-container><mjx-assistive-mml><math data-latex='x^{2}'><msup><mi>x</mi>"
                "<mn>2</mn></msup></math></mjx-assistive-mml></mjx-container>"
            ),
            "$x^{2}$",
            "x^{2}",
        ),
        (
            (
                "<mjx-container display=true><mjx-math aria-hidden=true></mjx-math>"
                f"<mjx-assistive-mml><math display=block>{HALF}</math></mjx-assistive-mml>"
                "</mjx-container>"
            ),
            r"$$\frac{a}{2}$$",
            "a/2",
        ),
        # LaTeXML's text is LaTeX, others' is for screen readers
        ("<math alttext='\\frac{a}{2}'><mi>a</mi></math>", r"$\frac{a}{2}$", r"\frac{a}{2}"),
        (f"<math alttext='half the rye'>{HALF}</math>", r"$\frac{a}{2}$", "a/2"),
        # pictures of formulas, and one that is none
        ("<img class=math src=a.png alt='x_1 + 2'>", "$x_1 + 2$", "x_1 + 2"),
        ("<img class='latex wide' src=a.png alt='\\frac12'>", r"$\frac12$", r"\frac12"),
        ("<img class=formulaDsp src=a.png alt='\\[ x_1 \\]'>", "$$x_1$$", "x_1"),
        (
            "<img class=mwe-math-fallback-image-inline src=a.svg alt='{\\displaystyle x^{2}}'>",
            "$x^{2}$",
            "x^{2}",
        ),
        (
            "<img class=math src=a.png alt='x \\text{ for all } y'>",
            r"$x \text{ for all } y$",
            r"x \text{ for all } y",
        ),
        ("<img class=math src=a.png alt='ABCD'>", "$ABCD$", "ABCD"),
        ("<img class=math src=a.png alt='Circle'>", "![Circle](https://e.example/a.png)", ""),
        ("<img class=math src=a.png alt='a.svg'>", "![a.svg](https://e.example/a.png)", ""),
        (
            "<img class=math src=a.png alt='Площадь круга'>",
            "![Площадь круга](https://e.example/a.png)",
            "",
        ),
        (
            "<img class=math src=a.png alt='a pupil of maths'>",
            "![a pupil of maths](https://e.example/a.png)",
            "",
        ),
    ],
)
def test_source_of_formula_is_found(body: str, latex: str, shown: str) -> None:
    assert markdown(f"<p>So {body} is.</p>") == f"So {latex} is."
    assert text(f"<p>So {body} is.</p>").split() == f"So {shown} is.".split()


def test_formulas_side_by_side_are_two() -> None:
    tex = "<script type='math/tex; mode=display'>{}</script>"
    assert markdown(f"<p>{tex.format('a_1')}{tex.format('b_1')}</p>") == "$$a_1$$ $$b_1$$"
    assert markdown("<p>\\[a_1\\]\\[b_1\\] and</p>") == "$$a_1$$ $$b_1$$ and"


def test_formula_that_is_cut_between_passages_is_written_once() -> None:
    row = "<mi>π</mi><mo>+</mo>" * 150
    body = f"<p>Rye is a grain. <math>{row}</math> and so is oat.</p>"
    passages = to_passages(Page.from_html(body, ADDRESS).content.blocks, ADDRESS, 200)
    written = "".join(passage.markdown for passage in passages)
    assert written.count("π") + written.count("\\pi") == 150


def test_any_mathml_is_written() -> None:
    draw = random.Random(7)
    words = ["x", "(", ")", "{", "|", "∑", "→", "lim", "é", "", "$", "\\", "𝐱", "²"]
    attributes = [
        "",
        "stretchy=false",
        "linethickness=0",
        "mathvariant=bold",
        "open=''",
        "width=1em",
    ]

    def element(depth: int) -> str:
        tag = draw.choice([*WRITERS, "mrow"])
        inside = draw.choice(words)
        if depth:
            inside = "".join(element(depth - 1) for _ in range(draw.randint(0, 4)))
        return f"<{tag} {draw.choice(attributes)}>{inside}</{tag}>"

    for _ in range(300):
        math = lxml.html.fragment_fromstring(f"<math>{element(draw.randint(1, 4))}</math>")
        written = latex_of(math)
        braces = re.sub(r"\\[{}\\]", "", written)
        assert braces.count("{") == braces.count("}"), written


def test_formula_of_any_size_is_text() -> None:
    assert markdown(f"<p>a <math>{'<mi>x</mi>' * 3_000}</math></p>").startswith("a xxx")
