"""Pages of documentation, as its generators write them."""

# The markup of the generators keeps its long lines.
# ruff: noqa: E501, ISC004

from __future__ import annotations

import re

import pytest
from lxml import html as lxml_html

from contentspider import extract_html
from contentspider.ground.errors import DAMAGE
from contentspider.page.input.page import Page
from contentspider.page.input.serialization import from_record, to_record
from contentspider.page.tree.resolver import Resolver
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.passages import to_passages
from contentspider.page.write.structure import parts
from tests.written import markdown, markup, text

TITLED = "> [!WARNING]\n> Hot oven\n>\n> Wear gloves.\n>\n> Wait.\n\nNext."
BODY = "<p>Wear gloves.</p><p>Wait.</p>"


@pytest.mark.parametrize(
    "box",
    [
        # Sphinx and MkDocs; Docusaurus; VitePress; Quarto; GitHub; Starlight; mdBook; Rspress
        f'<div class="admonition warning"><p class="admonition-title">Hot oven</p>{BODY}</div>',
        '<div class="theme-admonition theme-admonition-warning admonition_o5H7 alert alert--warning">'
        f'<div class="admonitionHeading_Gvgb">Hot oven</div><div>{BODY}</div></div>',
        f'<div class="warning custom-block"><p class="custom-block-title">Hot oven</p>{BODY}</div>',
        '<div class="callout callout-style-default callout-warning callout-titled">'
        '<div class="callout-header"><div class="callout-icon-container"><i class="callout-icon"></i>'
        '</div><div class="callout-title-container flex-fill"><span class="screen-reader-only">Warning</span>'
        "Hot oven</div></div>"
        f'<div class="callout-body-container callout-body">{BODY}</div></div>',
        '<div class="markdown-alert markdown-alert-warning"><p class="markdown-alert-title"><svg>'
        f"</svg>Hot oven</p>{BODY}</div>",
        '<aside aria-label="Warning" class="starlight-aside starlight-aside--warning">'
        '<p class="starlight-aside__title" aria-hidden="true"><svg></svg>Hot oven</p>'
        f'<div class="starlight-aside__content">{BODY}</div></aside>',
        '<blockquote class="blockquote-tag blockquote-tag-warning"><p class="blockquote-tag-title">'
        f"Hot oven</p>{BODY}</blockquote>",
        '<div class="rspress-directive warning"><div class="rspress-directive-title">Hot oven</div>'
        f'<div class="rspress-directive-content">{BODY}</div></div>',
        '<div class="rp-callout rp-callout--warning"><div class="rp-callout__title">Hot oven</div>'
        f'<div class="rp-callout__content">{BODY}</div></div>',
        # Asciidoctor and Antora, with an icon and with a text as icon
        '<div class="admonitionblock warning"><table><tr><td class="icon"><i class="fa icon-warning"'
        ' title="Warning"></i></td><td class="content"><div class="title">Hot oven</div>'
        '<div class="paragraph"><p>Wear gloves.</p></div><div class="paragraph"><p>Wait.</p></div>'
        "</td></tr></table></div>",
        # Confluence, as a page and as an export; Bootstrap; Doxygen; DocBook; mdbook-admonish
        '<div class="confluence-information-macro confluence-information-macro-warning">'
        '<p class="title">Hot oven</p><div class="confluence-information-macro-body">'
        f"{BODY}</div></div>",
        '<div class="panelMacro"><table class="warningMacro"><tr><td valign="top"><img src="i.gif"'
        f' width="16" height="16"></td><td><b>Hot oven</b><br>{BODY}</td></tr></table></div>',
        f'<div class="alert alert-warning" role="alert"><h4 class="alert-heading">Hot oven</h4>{BODY}'
        "</div>",
        f'<dl class="section warning"><dt>Hot oven</dt><dd>{BODY}</dd></dl>',
        f'<div class="warning"><h3 class="title">Hot oven</h3>{BODY}</div>',
        '<div class="admonition admonish-warning" role="note"><div class="admonition-title">'
        f"<div>Hot oven</div></div><div>{BODY}</div></div>",
        # GitBook; Wiki.js; Obsidian; Nextra
        f'<div class="hint hint-warning"><p>Hot oven</p>{BODY}</div>',
        f'<blockquote class="is-warning"><p>Hot oven</p>{BODY}</blockquote>',
        '<div class="callout" data-callout="warning"><div class="callout-title"><div'
        ' class="callout-icon"><svg></svg></div><div class="callout-title-inner">Hot oven</div></div>'
        f'<div class="callout-content">{BODY}</div></div>',
        '<div class="x:border nextra-callout" data-type="warning"><div class="x:w-full">'
        f"<p>Hot oven</p>{BODY}</div></div>",
        # Mintlify; DITA
        '<div class="callout my-4" data-callout-type="warning"><div><svg></svg></div><div>'
        f"<p>Hot oven</p>{BODY}</div></div>",
        f'<div class="note warning note_warning"><p>Hot oven</p>{BODY}</div>',
    ],
)
def test_boxes_are_alerts_around_their_whole_text(box: str) -> None:
    found = markdown(f"{box}<p>Next.</p>")
    found = re.sub(r"!\[\]\(\S+\)|\*\*", "", found).replace("> \n>\n", "")  # Confluence's icon
    assert (
        found.replace("]\n>\n> Hot", "]\n> Hot") == TITLED
    )  # the title of Confluence is bold text
    tree = lxml_html.fromstring(f"<div>{markup(box + '<p>Next.</p>')}</div>")
    (aside,) = tree.iter("aside")
    assert aside.get("class") == "warning"
    assert aside.text_content().split() == ["Hot", "oven", "Wear", "gloves.", "Wait."]


def test_kind_of_box_without_title_is_told() -> None:
    icon = '<td class="icon"><i class="fa icon-tip" title="Tip"></i></td>'
    body = (
        f'<div class="admonitionblock tip"><table><tr>{icon}<td class="content">Knead twice.</td>'
    )
    assert markdown(f"{body}</tr></table></div>") == "> [!TIP]\n>\n> Knead twice."
    assert markdown("<div class=warning><pre>bake()</pre></div>") == (
        "> [!WARNING]\n>\n> ```\n> bake()\n> ```"
    )


@pytest.mark.parametrize(
    "classes",
    [
        "info",
        "custom-block",
        "example",
        "note-list",
        "box primary",
        "alert",
        "callout-body",
        "hero warning",
    ],
)
def test_other_elements_are_no_boxes(classes: str) -> None:
    assert markdown(f"<div class='{classes}'><p>Rye.</p></div>") == "Rye."


def test_boxes_and_lists_nest() -> None:
    inner = "<div class='admonition tip'><p>Cool it.</p><ol><li>one<li>two</ol></div>"
    assert markdown(f"<ul><li>Bake.{inner}<li>Eat.</ul>") == (
        "- Bake.\n\n    > [!TIP]\n    >\n    > Cool it.\n    >\n    > 1. one\n    > 2. two\n- Eat."
    )
    body = f"<div class='admonition note'><p>Outer.</p>{inner}<p>After.</p></div>"
    assert markdown(body) == (
        "> [!NOTE]\n>\n> Outer.\n>\n> > [!TIP]\n> >\n> > Cool it.\n> >\n> > 1. one\n> > 2. two\n>\n> After."
    )
    assert markup(body).count("<aside") == 2


def test_adjacent_boxes_stay_separate() -> None:
    box = "<div class='admonition note'><p>a</p></div>"
    assert markdown(box + box) == "> [!NOTE]\n>\n> a\n\n> [!NOTE]\n>\n> a"


@pytest.mark.parametrize(
    "plain",
    [
        "Set max_rye_share in oven_config.toml, a__b, and _private to 2*3.",
        "See list[int], dict[str, list] or [1], a -> b, C:\\oven, x < 3.",
        "日本_語_だ",
    ],
)
def test_identifiers_are_not_escaped(plain: str) -> None:
    assert markdown(f"<p>{plain.replace('<', '&lt;')}</p>").replace("\\[", "[") == plain


def test_markup_in_text_is_escaped() -> None:
    for sign in (
        "_a_",
        "__a__",
        "*a*",
        "`a`",
        "[a](b)",
        "![a](b)",
        "<b>",
        "[^1]",
        "\\*",
        "* a",
        "> a",
    ):
        found = markdown(f"<p>{sign.replace('<', '&lt;')} x</p>")
        assert found != f"{sign} x"
        assert found.replace("\\", "") == f"{sign} x".replace("\\", "")


@pytest.mark.parametrize(
    "code",
    [
        # Docusaurus; VitePress; Sphinx with copybutton; GitHub; Hexo; Prism's toolbar
        '<div class="language-py codeBlockContainer_Ckt0"><div class="codeBlockContent_QJqH">'
        '<pre tabindex="0" class="prism-code language-py"><code><span class="token-line">bake()<br>'
        '</span><span class="token-line">eat()<br></span></code></pre><div class="buttonGroup__atx">'
        '<button type="button" aria-label="Copy code to clipboard">Copy</button></div></div></div>',
        '<div class="language-py"><button title="Copy Code" class="copy"></button><span class="lang">py'
        '</span><pre class="shiki"><code><span class="line"><span>bake()</span></span>\n'
        '<span class="line"><span>eat()</span></span></code></pre></div>',
        '<div class="highlight-py notranslate"><div class="highlight"><pre><span></span>bake()\neat()'
        '\n</pre><button class="copybtn o-tooltip--left">Copy</button></div></div>',
        '<figure class="highlight py"><div class="highlight-tools"><div class="code-lang">PY</div>'
        '<div class="copy-notice"></div><i class="fas fa-paste copy-button">Copied</i></div><table><tr>'
        '<td class="gutter"><pre><span class="line">1</span><br></pre></td><td class="code"><pre>'
        '<span class="line">bake()</span><br><span class="line">eat()</span><br></pre></td></tr>'
        "</table></figure>",
        '<div class="code-toolbar"><pre class="language-py"><code class="language-py">bake()\neat()'
        '</code></pre><div class="toolbar"><div class="toolbar-item"><button><span>Copy</span></button>'
        "</div></div></div>",
        # VitePress with line numbers
        '<div class="language-py line-numbers-mode"><pre class="shiki"><code><span class="line">bake()</span>\n'
        '<span class="line">eat()</span></code></pre><div class="line-numbers-wrapper" aria-hidden="true">'
        '<span class="line-number">1</span><br><span class="line-number">2</span><br></div></div>',
        # lines without line feeds: Shiki, Expressive Code, react-syntax-highlighter
        '<pre class="shiki" data-lang="py"><code><span class="line">bake()</span><span class="line">eat()'
        "</span></code></pre>",
        '<pre data-language="py"><code><div class="ec-line"><div class="code"><span>bake()</span></div>'
        '</div><div class="ec-line"><div class="code"><span>eat()</span></div></div></code></pre>',
        '<pre><code class="language-py"><span style="display: block;">bake()</span>'
        '<span style="display: block;">eat()</span></code></pre>',
        # Asciidoctor with CodeRay and Rouge
        '<pre class="CodeRay highlight"><code data-lang="py">bake()\neat()</code></pre>',
        '<pre class="rouge highlight"><code data-lang="py">bake()\neat()</code></pre>',
        # Microsoft's documentation, and a terminal of Expressive Code
        '<div class="codeHeader"><span class="language">Python</span><button class="action"><span>Copy'
        '</span></button></div><pre><code class="lang-py">bake()\neat()</code></pre>',
        '<figure class="frame is-terminal"><figcaption class="header"><span class="title"></span><span'
        ' class="sr-only">Terminal window</span></figcaption><pre data-language="py"><code>bake()\neat()'
        "</code></pre></figure>",
    ],
)
def test_code_has_its_lines_and_language_and_no_controls(code: str) -> None:
    assert markdown(f"<p>a</p>{code}<p>b</p>") == "a\n\n```py\nbake()\neat()\n```\n\nb"
    assert text(code) == "bake()\neat()"


def test_buttons_beside_headings_and_buttons_with_signs_go() -> None:
    heading = "<h2>Bread<button title='Copy'>Copy item path</button></h2>"
    fold = "<p>Rye <button title='Fold'>[<span>&#x2212;</span>]</button> and oats</p>"
    question = "<h3><button>Who bakes?</button></h3><p>I do.</p>"
    assert markdown(heading + fold + question) == (
        "## Bread\n\nRye and oats\n\n### Who bakes?\n\nI do."
    )


@pytest.mark.parametrize(
    ("heading", "kept"),
    [
        ("<button>Who bakes?</button><span>+</span>", "Who bakes?"),
        ("<button>Who bakes?</button><span>Expand</span>", "Who bakes?"),
        ("<span>\u25b6 1.</span> <button>Who bakes?</button>", "Who bakes?"),
        ("<button>Bread</button> <button>Cakes</button>", "Cakes"),
    ],
    ids=["sign", "word", "number", "two"],
)
def test_buttons_with_the_words_of_a_heading_stay(heading: str, kept: str) -> None:
    assert kept in text(f"<p>All about bread.</p><h3>{heading}</h3><p>I do.</p>")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p>Press <button>[+]</button> to add rye.", "Press [+] to add rye."),
        ("<p>Click <button>×</button>, then wait.", "Click ×, then wait."),
        ("<p>Rye <button>×</button>", "Rye"),
        ("<p>Rye <button aria-label=Less>-</button> and oats", "Rye and oats"),
        ("<h3><button>Who bakes?</button><span>Expand</span></h3>", "Who bakes? Expand"),
        ("<h3><button>Rye</button><button>Oats</button></h3>", "Rye Oats"),
    ],
)
def test_buttons_keep_words_apart_and_signs_in_sentences(body: str, shown: str) -> None:
    assert text(f"{body}<p>Bread.") == f"{shown}\nBread."


def test_empty_lines_of_code_stay() -> None:
    lines = "<span class=line>a</span><span class=line></span><span class=line>b</span>"
    assert text(f"<pre><code>{lines}</code></pre>") == "a\n\nb"


def test_buttons_and_words_outside_of_code_stay() -> None:
    prose = "<p>" + "Bread is baked at noon, and eaten at night. " * 5 + "</p>"
    body = f"<div>{prose}<pre>bake()</pre><button>Order bread</button></div>"
    assert "Order bread" in markdown(body)


@pytest.mark.parametrize(
    "tabs",
    [
        # MkDocs; sphinx-design; sphinx-tabs; Docusaurus; Starlight; Quarto; asciidoctor-tabs; Antora
        '<div class="tabbed-set tabbed-alternate" data-tabs="1:2"><input type="radio"><input type="radio">'
        '<div class="tabbed-labels"><label for="a">Rye</label><label for="b">Oats</label></div>'
        '<div class="tabbed-content"><div class="tabbed-block"><p>Bake.</p></div>'
        '<div class="tabbed-block"><p>Boil.</p></div></div></div>',
        '<div class="tabbed-set"><input type="radio"><label for="a">Rye</label>'
        '<div class="tabbed-content"><p>Bake.</p></div><input type="radio"><label for="b">Oats</label>'
        '<div class="tabbed-content"><p>Boil.</p></div></div>',
        '<div class="sd-tab-set docutils"><input type="radio"><label class="sd-tab-label">Rye</label>'
        '<div class="sd-tab-content docutils"><p>Bake.</p></div><input type="radio">'
        '<label class="sd-tab-label">Oats</label><div class="sd-tab-content docutils"><p>Boil.</p></div>'
        "</div>",
        '<div class="sphinx-tabs docutils container"><div role="tablist"><button id="t1" role="tab"'
        ' aria-controls="p1">Rye</button><button id="t2" role="tab" aria-controls="p2">Oats</button></div>'
        '<div aria-labelledby="t1" id="p1" role="tabpanel"><p>Bake.</p></div>'
        '<div aria-labelledby="t2" id="p2" role="tabpanel" hidden="true"><p>Boil.</p></div></div>',
        '<div class="theme-tabs-container tabs-container"><ul role="tablist" class="tabs">'
        '<li role="tab" class="tabs__item">Rye</li><li role="tab" class="tabs__item">Oats</li></ul>'
        '<div class="margin-top--md"><div role="tabpanel"><p>Bake.</p></div>'
        '<div role="tabpanel" hidden=""><p>Boil.</p></div></div></div>',
        '<starlight-tabs><div class="tablist-wrapper"><ul role="tablist"><li role="presentation"'
        ' class="tab"><a role="tab" href="#p0" id="t0">Rye</a></li><li role="presentation" class="tab">'
        '<a role="tab" href="#p1" id="t1">Oats</a></li></ul></div><div id="p0" aria-labelledby="t0"'
        ' role="tabpanel"><p>Bake.</p></div><div id="p1" aria-labelledby="t1" role="tabpanel" hidden>'
        "<p>Boil.</p></div></starlight-tabs>",
        '<div class="panel-tabset"><ul class="nav nav-tabs" role="tablist"><li class="nav-item"'
        ' role="presentation"><a class="nav-link active" id="t1" role="tab" aria-controls="p1" href="">'
        'Rye</a></li><li class="nav-item" role="presentation"><a class="nav-link" id="t2" role="tab"'
        ' aria-controls="p2" href="">Oats</a></li></ul><div class="tab-content"><div id="p1"'
        ' class="tab-pane active" role="tabpanel" aria-labelledby="t1"><p>Bake.</p></div><div id="p2"'
        ' class="tab-pane" role="tabpanel" aria-labelledby="t2"><p>Boil.</p></div></div></div>',
        '<div id="t" class="openblock tabs is-sync"><div class="content"><div class="ulist tablist"><ul>'
        '<li id="t_rye" class="tab"><p>Rye</p></li><li id="t_oats" class="tab"><p>Oats</p></li></ul></div>'
        '<div id="t_rye--panel" class="tabpanel" aria-labelledby="t_rye"><p>Bake.</p></div>'
        '<div id="t_oats--panel" class="tabpanel" aria-labelledby="t_oats"><p>Boil.</p></div></div></div>',
        '<div class="tabset is-loading"><div class="ulist tabs"><ul><li><p><a id="rye"></a>Rye</p></li>'
        '<li><p><a id="oats"></a>Oats</p></li></ul></div><div class="content"><div class="tab-pane"'
        ' aria-labelledby="rye"><p>Bake.</p></div><div class="tab-pane" aria-labelledby="oats">'
        "<p>Boil.</p></div></div></div>",
        # The panels stand after the list: Bootstrap; Hextra
        '<ul class="nav nav-tabs" role="tablist"><li class="nav-item" role="presentation"><button'
        ' id="t1" role="tab" aria-controls="p1">Rye</button></li><li class="nav-item"'
        ' role="presentation"><button id="t2" role="tab" aria-controls="p2">Oats</button></li></ul>'
        '<div class="tab-content"><div id="p1" class="tab-pane active" role="tabpanel"><p>Bake.</p></div>'
        '<div id="p2" class="tab-pane" role="tabpanel"><p>Boil.</p></div></div>',
        '<div class="overflow-x-auto"><div role="tablist"><button role="tab" aria-controls="p1">Rye'
        '</button><button role="tab" aria-controls="p2">Oats</button></div></div><div><div id="p1"'
        ' role="tabpanel"><p>Bake.</p></div><div id="p2" role="tabpanel" hidden><p>Boil.</p></div></div>',
        # Elementor, whose second labels are for narrow screens
        '<div><div role="tablist"><div id="t1" role="tab" aria-controls="p1">Rye</div><div id="t2"'
        ' role="tab" aria-controls="p2">Oats</div></div><div><div role="tab" aria-controls="p1">Rye</div>'
        '<div id="p1" role="tabpanel" aria-labelledby="t1"><p>Bake.</p></div><div role="tab"'
        ' aria-controls="p2">Oats</div><div id="p2" role="tabpanel" aria-labelledby="t2" hidden>'
        "<p>Boil.</p></div></div></div>",
    ],
)
def test_panels_of_tabs_stand_below_their_labels(tabs: str) -> None:
    assert markdown(f"<p>a</p>{tabs}<p>b</p>") == "a\n\nRye\n\nBake.\n\nOats\n\nBoil.\n\nb"
    assert text(tabs) == "Rye\nBake.\nOats\nBoil."


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        # docutils: the type of a parameter
        (
            "<dl><dt><strong>loaves</strong><span class=classifier>int</span></dt><dd>How many.</dl>",
            "**loaves** : int\n: How many.",
        ),
        (
            "<dl><dt>rye <span class=classifier-delimiter>:</span> <span class=classifier>str</span></dt>"
            "<dd>A grain.</dl>",
            "rye : str\n: A grain.",
        ),
        # Sphinx: the number of a formula, and a heading that leads back to the contents
        (
            "<div class=math><span class=eqno>(1)<a class=headerlink href=#e>¶</a></span>\\[a = b\\]</div>",
            "(1) $$a = b$$",
        ),
        (
            '<h2><a class="toc-backref" href="#id1" role="doc-backlink">2. Rye</a>'
            '<a class="headerlink" href="#rye">¶</a></h2>',
            "## 2. Rye",
        ),
        # Asciidoctor: tasks, and a footnote
        (
            '<ul class=checklist><li><p><i class="fa fa-check-square-o"></i> Knead</p></li><li><p>'
            '<i class="fa fa-square-o"></i> Bake</p></li></ul>',
            "- [x] Knead\n- [ ] Bake",
        ),
        (
            '<p>Rye<sup class="footnote">[<a id="r1" class="footnote" href="#d1">1</a>]</sup></p>'
            '<div class="footnote" id="d1"><a href="#r1">1</a>. A grain.</div>',
            "Rye[^1]\n\n[^1]: A grain.",
        ),
        # MediaWiki and GitHub: notes that several places refer to
        (
            '<p>Rye<sup id="c1"><a href="#n1">[1]</a></sup></p><ol><li id="n1"><span'
            ' class="mw-cite-backlink">^ <a href="#c1"><sup><i>a</i></sup></a> <a href="#c2"><sup><i>b</i>'
            "</sup></a></span> <span>A grain.</span></li></ol>",
            "Rye[^1]\n\n[^1]: A grain.",
        ),
        (
            '<p>Rye<sup><a href="#n1">1</a></sup></p><ol><li id="n1"><p>A grain. <a href="#r1">'
            '<g-emoji>↩</g-emoji></a> <a href="#r2"><g-emoji>↩</g-emoji><sup>2</sup></a></p></li></ol>',
            "Rye[^1]\n\n[^1]: A grain.",
        ),
        ("<div role=row><span role=cell>Rye</span><span role=cell>2</span></div>", "Rye 2"),
        # pictures of characters
        ('<p>Rye <img class="emoji" alt="😀" src="/1f600.svg"> bread', "Rye 😀 bread"),
        ("<p>See <a href=#s2>§2</a> of the rules", "See [§2](https://e.example/a#s2) of the rules"),
    ],
)
def test_signs_and_numbers_of_generators_are_read(body: str, shown: str) -> None:
    assert markdown(body) == shown


@pytest.mark.parametrize(
    "poem",
    [
        '<pre class="wp-block-verse">The oven is <em>hot</em>,\n    the bread is not.\n\nWait.</pre>',
        '<div class="verseblock"><pre class="content">The oven is <em>hot</em>,\nthe bread is not.\n\n'
        "Wait.</pre></div>",
        '<pre class="verse">\n<b>The oven is hot,\n</b>the bread is not.\n\n<i>Wait.\n</i></pre>',
        '<pre class="verse">The oven is hot,\n<i>the bread</i> is not.\n\nWait.\n\n</pre>',
        '<pre class="poem"><em>The oven is hot</em>,\n<b></b>the bread is not.\n\nWait.\n</pre>',
    ],
)
def test_poems_are_no_code(poem: str) -> None:
    shown = markdown(poem).replace("*", "")
    assert shown == "The oven is hot,\\\nthe bread is not.\n\nWait."


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ('<pre lang="mermaid"><code>bake</code></pre>', "mermaid"),
        ('<pre lang="go"><code>bake</code></pre>', "go"),
        ('<pre lang="en"><code>bake</code></pre>', ""),
        ('<pre data-syntaxhighlighter-params="brush: java; gutter: false">bake</pre>', "java"),
    ],
)
def test_attributes_name_the_language_of_code(code: str, language: str) -> None:
    assert markdown(code) == f"```{language}\nbake\n```"


def test_numbers_and_signs_that_begin_headings_are_not_escaped() -> None:
    assert markdown("<h2>1. Rye</h2><h3>- Oats #</h3><p>2. Rye") == (
        "## 1. Rye\n\n### - Oats \\#\n\n2\\. Rye"
    )


def test_second_bullets_of_word_are_no_letters() -> None:
    body = "".join(
        f"<p style='mso-list:l0 level{level} lfo1'><span style='mso-list:Ignore'>{sign}</span>{name}</p>"
        for level, sign, name in ((1, "·", "Rye"), (2, "o", "Oats"), (2, "o", "Corn"))
    )
    assert markdown(body) == "- Rye\n    - Oats\n    - Corn"


def test_signature_of_dokka_is_code_without_its_button() -> None:
    body = (
        '<div class="symbol monospace"><span class="token keyword">fun </span><a href="/b.html">bake</a>()'
        '<div class="symbol--copy"><span>Content copied</span></div></div><p>Bakes bread.</p>'
    )
    assert text(body) == "fun bake()\nBakes bread."


def test_code_groups_name_each_block() -> None:
    blocks = "".join(
        f'<div class="language-sh{active}"><button class="copy"></button><span class="lang">sh</span>'
        f'<pre class="shiki"><code><span class="line">{tool} add rye</span></code></pre></div>'
        for tool, active in (("npm", " active"), ("yarn", ""))
    )
    body = (
        '<div class="vp-code-group"><div class="tabs"><input type="radio" checked><label for="a">npm'
        '</label><input type="radio"><label for="b">yarn</label></div>'
        f'<div class="blocks">{blocks}</div></div>'
    )
    assert markdown(body) == ("npm\n\n```sh\nnpm add rye\n```\n\nyarn\n\n```sh\nyarn add rye\n```")


def test_labels_without_panels_stay_apart() -> None:
    body = "<ul role=tablist><li role=tab>Rye</li><li role=tab>Oats</li></ul><p>Bake.</p>"
    assert text(body) == "Rye\nOats\nBake."


FOLDED = "<h2>Bread</h2><details><summary>Hint</summary><p>Knead.</p></details><p>Bake it.</p>"


def test_folded_text_has_its_title_and_ends() -> None:
    assert markdown(FOLDED) == (
        "## Bread\n\n<details>\n<summary>Hint</summary>\n\nKnead.\n\n</details>\n\nBake it."
    )
    assert "<details>\n<summary>Hint</summary>\n<p>Knead.</p>\n</details>\n<p>Bake it.</p>" in (
        markup(FOLDED)
    )
    blocks = Page.from_html(FOLDED).content.blocks
    paths = {
        passage.text.split("\n")[-1]: passage.heading_path
        for passage in to_passages(blocks, "", 40)
    }
    assert paths["Bake it."] == ("Bread",)


def test_heading_in_summary_stays_a_heading() -> None:
    body = "<details open><summary><h4 class=code-header>fn bake()</h4></summary><p>a</p></details><p>b</p>"
    assert markdown(body) == "#### `fn bake()`\n\na\n\nb"


def test_formula_over_line_breaks_is_one() -> None:
    body = "<p>Take<br>$$<br>(a_1,b_1),<br>\\dots,(a_n,b_n)<br>$$<br>where $a_i\\in B$.</p>"
    assert markdown(body) == ("Take\\\n$$(a_1,b_1), \\dots,(a_n,b_n)$$\\\nwhere $a_i\\in B$.")


SIGNATURE = (
    '<dl class="py class"><dt class="sig sig-object py" id="Oven"><em class="property">class </em>'
    '<span class="sig-name descname"><span class="pre">Oven</span></span><span class="sig-paren">(</span>'
    '<em class="sig-param"><span class="n">heat</span></em><span class="sig-paren">)</span>'
    '<a class="reference internal" href="_modules/oven.html"><span class="viewcode-link">[source]</span></a>'
    '<a class="headerlink" href="#Oven">¶</a></dt><dd><p>It bakes.</p><dl class="py method">'
    '<dt class="sig sig-object py" id="Oven.bake"><span class="descname">bake</span>()</dt><dd><p>Bakes.</p>'
    '<dl class="field-list simple"><dt class="field-odd">Parameters<span class="colon">:</span></dt>'
    '<dd class="field-odd"><ul class="simple"><li><p><strong>heat</strong> – hot</p></li><li><p><strong>'
    'time</strong> – long</p></li></ul></dd><dt class="field-even">Return type:</dt><dd class="field-even">'
    "<p>bool</p></dd></dl></dd></dl></dd></dl>"
)


def test_parts_of_an_api_stay_in_each_other() -> None:
    assert markdown(SIGNATURE) == (
        "`class Oven(heat)`\n: It bakes.\n\n  `bake()`\n  : Bakes.\n\n    Parameters:\n"
        "    : - **heat** – hot\n      - **time** – long\n\n    Return type:\n"
        "    : bool"
    )
    html = markup(SIGNATURE).replace("\n", "")
    assert "<dl><dt><code>" in html
    assert html.endswith("<dt>Return type:</dt><dd><p>bool</p></dd></dl></dd></dl></dd></dl>")


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        # Javadoc, Doxygen, pdoc, Sphinx 3, rustdoc
        (
            '<div class="member-signature"><span class="modifiers">public</span>&nbsp;<span'
            ' class="return-type">void</span>&nbsp;<span class="element-name">bake</span>()</div>',
            "`public void bake()`",
        ),
        (
            '<div class="memproto"><table class="memname"><tr><td class="memname">int bake </td><td>(</td>'
            '<td class="paramtype">int </td><td class="paramname"><em>heat</em></td><td>)</td></tr></table>'
            "</div>",
            "`int bake ( int heat )`",
        ),
        (
            '<div class="attr function"><span class="def">def</span> <span class="name">bake</span><span'
            ' class="signature">(heat):</span><label class="view-source-button" for="x"><span>View Source'
            "</span></label></div>",
            "`def bake(heat):`",
        ),
        (
            '<dl class="method"><dt id="bake"><code class="descname">bake</code><span>(</span><em>heat</em>'
            "<span>)</span></dt><dd><p>a</p></dd></dl>",
            "`bake(heat)`\n: a",
        ),
        (
            '<section id="bake"><a class="src rightside" href="../src/oven.rs.html#9">Source</a>'
            '<a href="#bake" class="anchor">§</a><h4 class="code-header">pub fn <a class="fn"'
            ' href="#bake">bake</a>(heat: <a href="u8.html">u8</a>)</h4></section>',
            "#### `pub fn bake(heat: u8)`",
        ),
    ],
)
def test_signatures_are_code(signature: str, expected: str) -> None:
    assert markdown(signature) == expected


def test_short_values_stay_with_their_fields() -> None:
    item = extract_html(
        "<main><h1>Oven</h1>"
        + "<p>The oven is hot at noon, and the baker waits beside it until the bread is done.</p>"
        * 4
        + '<dl class="py attribute"><dt class="sig sig-object py" id="h">heat</dt><dd><p>How hot the oven'
        ' is while the bread is in it.</p><dl class="field-list simple"><dt>Type:</dt><dd><p>'
        '<a class="reference external" href="https://x.example/float">float</a></p></dd></dl></dd></dl>'
        "</main>"
    ).to_dict()
    assert re.search(r"\n  Type:\n  : \[float\]", str(item["content_markdown"]))


def test_labels_of_citations_stay_with_their_text() -> None:
    item = extract_html(
        "<main><h1>Oven</h1>"
        + "<p>The oven is hot at noon, and the baker waits beside it until the bread is done.</p>"
        * 4
        + '<div role="list" class="citation-list"><div class="citation" id="rye99" role="doc-biblioentry">'
        '<span class="label"><span class="fn-bracket">[</span><a role="doc-backlink" href="#id1">Rye99</a>'
        "<span class=fn-bracket>]</span></span><p>A. Baker. The Book of Rye and of the Ovens of the North,"
        " second edition. Quay Press, 1999.</p></div></div></main>"
    ).to_dict()
    assert re.search(r"\[Rye99\]\s+A\. Baker\. The Book", str(item["content"]))


def test_diagrams_are_code() -> None:
    body = "<pre class=mermaid>graph TD;\n  a--&gt;b;</pre><div class=mermaid>flowchart LR\n  a--&gt;b</div>"
    assert markdown(body) == (
        "```mermaid\ngraph TD;\n  a-->b;\n```\n\n```mermaid\nflowchart LR\n  a-->b\n```"
    )


@pytest.mark.parametrize(
    "callouts",
    [
        '<table><tr><td><i class="conum" data-value="1"></i><b>1</b></td><td>Heats.</td></tr><tr><td>'
        '<i class="conum" data-value="2"></i><b>2</b></td><td>Bakes.</td></tr></table>',
        "<ol><li><p>Heats.</p></li><li><p>Bakes.</p></li></ol>",
    ],
)
def test_callouts_of_code_are_a_numbered_list(callouts: str) -> None:
    code = "<pre><code>heat() <i class=conum></i><b>(1)</b>\nbake() <i class=conum></i><b>(2)</b></code></pre>"
    assert markdown(f"{code}<div class='colist arabic'>{callouts}</div>") == (
        "```\nheat() (1)\nbake() (2)\n```\n\n1. Heats.\n2. Bakes."
    )


def test_horizontal_lists_are_definitions() -> None:
    rows = "<tr><td class=hdlist1>rye</td><td class=hdlist2><p>A grain.</p></td></tr>"
    assert markdown(f"<div class=hdlist><table>{rows}{rows}</table></div>") == (
        "rye\n: A grain.\n\nrye\n: A grain."
    )


def test_lines_of_line_blocks_are_not_joined() -> None:
    line = "<div class=line>{}</div>"
    body = f"<div class=line-block>{line.format('Rye,')}<div class=line-block>{line.format('oats,')}</div>"
    body += f"{line.format('bread.')}</div><p>End.</p>"
    assert markdown(body) == "Rye,\\\noats,\\\nbread.\n\nEnd."
    assert "<p>\nRye,\n" in markup(body)
    assert markup(body).count("<br>") == 2


def test_terms_share_their_definition() -> None:
    body = "<dl><dt>rye<dt>oats<dd><p>A grain.</p><p>It is brown.</p><dt>oven<dd>It is hot.</dl>"
    assert markdown(body) == "rye\noats\n: A grain.\n\n  It is brown.\n\noven\n: It is hot."


def test_tables_and_code_stay_in_list_entries() -> None:
    table = "<table><tr><th>Bread<th>Heat<tr><td>Rye<td>hot</table>"
    body = f"<ol><li><p>Heat.</p><pre>heat()</pre><p>Wait.</p>{table}</li><li><pre>bake()</pre></li></ol>"
    assert markdown(body) == (
        "1. Heat.\n\n    ```\n    heat()\n    ```\n\n    Wait.\n\n    | Bread | Heat |\n    | --- | --- |\n"
        "    | Rye | hot |\n2.  ```\n    bake()\n    ```"
    )
    assert "<pre>\nheat()</pre>\n<p>Wait.</p>\n<table>" in markup(body)


def test_formula_of_mediawiki_is_read_once() -> None:
    body = (
        '<p>Take <span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none;">'
        '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">{\\displaystyle x^{2}}'
        '</annotation></semantics></math></span><img src="/svg/1" class="mwe-math-fallback-image-inline"'
        ' alt="{\\displaystyle x^{2}}"></span>.</p>'
    )
    assert markdown(body) == "Take $x^{2}$."


def test_lists_of_word_are_lists() -> None:
    entry = (
        '<p class="MsoListParagraph" style="margin-left:.5in;mso-list:l0 level{} lfo1"><span'
        ' style="mso-list:Ignore">{}<span>&nbsp;&nbsp; </span></span>{}</p>'
    )
    body = "".join(
        entry.format(*values)
        for values in (
            (1, "1.", "Heat."),
            (1, "2.", "Bake."),
            (2, "·", "rye"),
            (2, "·", "oats"),
            (1, "3.", "Eat."),
        )
    )
    assert markdown(f"{body}<p>End.</p>") == (
        "1. Heat.\n2. Bake.\n    - rye\n    - oats\n3. Eat.\n\nEnd."
    )


def test_footnotes_of_texinfo_are_footnotes() -> None:
    body = (
        "<p>Rye bakes<a class=footnote id=DOCF1 href='#FOOT1'><sup>1</sup></a> slowly.</p><div class="
        "footnotes-segment><hr><h4>Footnotes</h4><h5 class=footnote-body-heading><a id=FOOT1 href='#DOCF1'>"
        "(1)</a></h5><p>In the north.</p></div>"
    )
    assert markdown(body).endswith("[^1]: In the north.")
    assert "Rye bakes[^1] slowly." in markdown(body)


def test_signs_of_boxes_to_check_are_left_out() -> None:
    body = (
        '<ul><li><span><input type="checkbox" id="c"><label for="c"><span class="sr-only">&#x25a2;</span>'
        "</label></span><span>1</span> <span>cup</span> <span>rye</span></li></ul>"
    )
    assert markdown(body) == "- 1 cup rye"


def test_containers_survive_serialization() -> None:
    content = Page.from_html(
        SIGNATURE + FOLDED + "<ul><li>a<blockquote>b</blockquote></ul>"
    ).content
    assert from_record(to_record(content)).blocks == content.blocks


def test_records_of_earlier_versions_keep_their_lists_and_quotes() -> None:
    body = "<ul><li>a<ul><li>b</ul><li>c</ul><blockquote>d</blockquote><dl><dt>e<dd>f</dl><table><tr><td>g<td>h"
    record = to_record(Page.from_html(body).content)
    del record["within"], record["within_of"]
    record["details"]["quote"] = [(3, 1)]
    found = write_markdown(parts(from_record(record).blocks, Resolver("")))
    assert found.startswith("- a\n    - b\n- c\n\n> d\n\ne\n: f\n\n| g | h |")


@pytest.mark.parametrize(
    "damage",
    [
        {"within": [(-1, "sofa", 1)]},
        {"within": [(5, "li", 1)]},
        {"within": [(-1, "li", "x")]},
        {"within_of": [7]},
        {"within_of": []},
    ],
)
def test_damaged_containers_are_refused(damage: dict[str, object]) -> None:
    record = to_record(Page.from_html("<ul><li>a</ul>").content) | damage
    with pytest.raises(DAMAGE):
        from_record(record)


PROSE = (
    "<p>" + "The baker heats the oven at noon, and the bread is done before night. " * 3 + "</p>"
)


@pytest.mark.parametrize(
    "notice",
    [
        "<div id=cookie-banner><p>We store cookies on your device.</p><button>Accept</button></div>",
        "<div class='gdpr-popup show'><p>Your privacy matters to the bakery and its partners.</p></div>",
        "<div id=onetrust-banner-sdk><p>Our partners read your device.</p></div>",
        "<div id=x><p>This website uses cookies to count its readers.</p><button>Accept all</button></div>",
        "<div id=x><p>Wir verwenden Cookies.</p><button>Akzeptieren</button></div>",
        "<div class=fb><p>Was this page helpful?</p><button>Yes</button><button>No</button></div>",
        "<div class=fb><h3>War diese Seite hilfreich?</h3><button>Ja</button></div>",
    ],
)
def test_notices_of_a_single_page_are_left_out(notice: str) -> None:
    found = extract_html(f"{notice}<main><h1>Bread</h1>{PROSE}</main>").text
    assert "The baker heats" in found
    assert not re.search("cookie|privacy|device|helpful|hilfreich|Accept", found, re.IGNORECASE)


def test_pages_about_cookies_are_kept() -> None:
    body = (
        "<p>A cookie consent law asks each website for a banner. We use cookies in the oven.</p>"
        * 3
    )
    found = extract_html(
        f"<main class=cookie-consent-info><h1>Cookie consent</h1>{body}</main>"
    ).text
    assert "asks each website" in found


def test_signs_of_loading_are_no_text() -> None:
    shell = "<body><div id=root><div class=spinner>Loading...</div></div><script src=/a.js></script></body>"
    assert extract_html(shell).text == ""


@pytest.mark.parametrize(
    "data",
    [
        '<script id="__NEXT_DATA__" type="application/json">{"props": {"pageProps": {"menu": ["Home", "Our'
        ' shops"], "post": {"title": "Rye", "body": "\\u003cp>%s\\u003c/p>\\u003cp>The end.\\u003c/p>"}}}}</script>',
        '<script type="application/json" id="__NUXT_DATA__">[{"data": {"texts": ["%s", "The end."]}}]</script>',
        # Values that scripts assign: Remix, Apollo, Redux
        '<script>window.__remixContext = {"state": {"loaderData": {"routes/post": {"html": "<p>%s</p><p>The end."'
        "}}}};</script>",
        '<script>var a = 1; window.__APOLLO_STATE__={"Post:1": {"title": "Rye", "body": "<p>%s</p><p>The end."}};'
        "b()</script>",
        "<script>window.__INITIAL_STATE__ = {not: 'JSON'}</script>"
        '<script>window.__STATE__ = {"post": {"texts": ["%s", "The end."]}}</script>',
        # SvelteKit: JSON in JSON
        '<script type="application/json" data-sveltekit-fetched>{"status": 200, "body": "{\\"post\\":'
        '{\\"texts\\":[\\"%s\\",\\"The end.\\"]}}"}</script>',
        # Server components of React
        '<script>self.__next_f.push([1,"1:[\\"$\\",\\"div\\",null,{\\"children\\":[[\\"$\\",\\"p\\",null,'
        '{\\"children\\":\\"%s\\"}],"])</script><script>self.__next_f.push([1,"[\\"$\\",\\"p\\",null,'
        '{\\"children\\":\\"The end.\\"}]]}]\\n"])</script>',
    ],
)
def test_text_for_scripts_is_read_where_the_page_shows_none(data: str) -> None:
    prose = "The baker heats the oven at noon, and the bread is done before night. " * 6
    shell = f"<body><div id=__next><div>Loading</div></div>{data % prose.strip()}</body>"
    assert extract_html(shell).text == f"{prose.strip()}\nThe end."
    shown = f"<body><main><h1>Oats</h1>{'<p>Oats are boiled with milk, and eaten in the morning.</p>' * 9}</main>"
    assert "The baker" not in extract_html(f"{shown}{data % prose.strip()}").text
