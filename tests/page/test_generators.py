"""What generators of documentation leave to their style sheets: tables without rows, code without
``pre``, sources that are folded away, headings and labels for screen readers alone.
"""

# The markup of the generators keeps its long lines.
# ruff: noqa: E501, ISC004

from __future__ import annotations

import time

import pytest

from contentspider import extract_html
from tests.written import markdown, text

JAVADOC = (
    '<div class="caption"><span>Fields</span></div><div class="summary-table two-column-summary">\n'
    '<div class="table-header col-first">Field</div>\n<div class="table-header col-last">Description'
    '</div>\n<div class="col-first even-row-color"><code>HEAT</code></div>\n'
    '<div class="col-last even-row-color"><div class="block">How hot.</div></div>\n'
    '<div class="col-constructor-name odd-row-color"><code>Oven()</code></div>\n'
    '<div class="col-last odd-row-color">&nbsp;</div></div><p>Next.'
)


def test_summaries_of_javadoc_are_tables() -> None:
    assert markdown(JAVADOC) == (
        "Fields\n\n| Field | Description |\n| --- | --- |\n| `HEAT` | How hot. |\n| `Oven()` |  |\n\nNext."
    )


def test_tabs_that_filter_one_panel_are_no_labels() -> None:
    tabs = "".join(
        f'<button id="t{number}" role="tab" aria-controls="p">{name}</button>'
        for number, name in enumerate(["All Methods", "Static Methods"])
    )
    panel = '<div id="p" role="tabpanel" aria-labelledby="t0"><p>bake()</p></div>'
    assert markdown(f'<div role="tablist">{tabs}</div>{panel}') == "bake()"


def test_lines_of_doxygen_are_code_without_numbers() -> None:
    listing = (
        '<div class="fragment"><div class="line"><a id="l1" name="l1"></a><span class="lineno">    1</span>'
        ' <span class="keyword">int</span> bake() {</div>\n<div class="line"><span class="lineno"><a'
        ' class="line" href="o.html#a">    2</a></span>  <a class="code" href="o.html">heat</a>();'
        '<div class="ttc" id="x"><div class="ttname">heat</div></div></div>\n'
        '<div class="line"><span class="lineno">    3</span> }</div>\n</div><!-- fragment -->'
    )
    assert markdown(f"<p>See:</p>{listing}<p>Next.") == (
        "See:\n\n```\nint bake() {\n heat();\n}\n```\n\nNext."
    )
    assert text('<div class="fragment"><p>The oven.</p><p>The bread.</p></div>') == (
        "The oven.\nThe bread."
    )


def test_text_between_elements_of_class_line_is_kept() -> None:
    lines = '<div class="line">Oven</div> is hot. <div class="line">Bread</div> is done.'
    assert text(f'<div class="fragment">{lines}</div>').split() == (
        "Oven is hot. Bread is done.".split()
    )


def test_lines_that_doxygen_folds_are_code() -> None:
    listing = (
        '<div class="fragment"><div class="foldopen" id="f1">\n<div class="line"><span class="lineno">'
        '    1</span> int bake() {</div>\n<div class="line"><span class="lineno">    2</span>  heat();'
        '</div>\n</div>\n<div class="line"><span class="lineno">    3</span> }</div>\n</div>'
    )
    assert markdown(listing) == "```\nint bake() {\n heat();\n}\n```"


def test_elements_of_class_summary_table_without_its_cells_are_no_table() -> None:
    oven = (
        '<div class="summary-table wide"><div>The oven.</div><p>The bread.</p><div>End.</div></div>'
    )
    assert text(oven) == "The oven.\nThe bread.\nEnd."
    assert "|" not in markdown(oven)


def test_title_of_doxygen_is_a_heading() -> None:
    title = '<div class="header"><div class="headertitle"><div class="title">{}</div></div></div>'
    assert markdown(title.format("Oven Class Reference")) == "# Oven Class Reference"
    assert markdown('<div class="title">Oven</div>') == "Oven"


def test_heading_over_columns_begins_another_table() -> None:
    members = (
        '<table class="memberdecls"><tr class="heading"><td colspan="2"><h2>Functions</h2></td></tr>'
        "<tr><td>int</td><td>bake()</td></tr><tr><td>void</td><td>wait()</td></tr>"
        '<tr class="heading"><td colspan="2"><h2>Attributes</h2></td></tr>'
        "<tr><td>int</td><td>heat</td></tr></table>"
    )
    assert markdown(members) == (
        "## Functions\n\n| int | bake() |\n| --- | --- |\n| void | wait() |\n\n"
        "## Attributes\n\n| int | heat |\n| --- | --- |"
    )
    # A table that only arranges the page stays none.
    page = f"<tr><td colspan=2><h2>Oven</h2></td></tr><tr><td>a</td><td>{'<p>b</p>' * 9}</td></tr>"
    assert "|" not in markdown(f"<table>{page}</table>")


def test_source_that_pdoc_folds_away_is_left_out() -> None:
    member = (
        '<input id="v" class="view-source-toggle-state" type="checkbox" aria-hidden="true">'
        '<div class="attr function"><span class="def">def</span> <span class="name">bake</span>():'
        '<label class="view-source-button" for="v"><span>View Source</span></label></div>'
        '<div class="pdoc-code codehilite"><pre><span>1</span>def bake(): ...</pre></div>'
        '<div class="docstring"><p>Bakes.</p><div class="pdoc-code codehilite"><pre>bake()</pre></div></div>'
    )
    assert markdown(f"<section>{member}</section>") == "`def bake():`\n\nBakes.\n\n```\nbake()\n```"


def test_many_sources_without_a_box_are_read_in_time() -> None:
    started = time.process_time()
    assert len(text('<div class="pdoc-code">a b</div>' * 40_000)) > 100_000
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        # rustdoc: the language of code
        (
            '<pre class="rust rust-example-rendered"><code>bake();</code></pre>',
            "```rust\nbake();\n```",
        ),
        (
            '<pre class="rust item-decl"><code>pub fn bake()</code></pre>',
            "```rust\npub fn bake()\n```",
        ),
        # rustdoc: what stands before a link to the source
        (
            '<section id="bake"><span class="rightside"><span class="since">1.0.0</span> · <a class="src"'
            ' href="o.rs.html#9">Source</a></span><h4 class="code-header">fn bake()</h4></section>',
            "1.0.0\n\n#### `fn bake()`",
        ),
        # Prism: the parts of a line in a diff
        (
            '<pre class="language-diff"><code><span class="token-line"><span class="token deleted line">'
            '</span><span class="token prefix deleted">-</span><span class="token deleted line"> cold'
            '</span><br></span><span class="token-line"><span class="token prefix inserted">+</span>'
            '<span class="token inserted line"> hot</span><br></span></code></pre>',
            "```diff\n- cold\n+ hot\n```",
        ),
        # Antora: the tool that colours code
        ('<pre class="highlightjs highlight"><code>bake()</code></pre>', "```\nbake()\n```"),
        # hugo-book: the icons that open menus
        (
            '<label for="menu"><img src="/menu.svg" class="book-icon" alt="Menu"></label><strong>Rye</strong>'
            '<p><label for="zoom"><img src="/rye.png" alt="Rye"></label></p>',
            "**Rye**\n\n![Rye](https://e.example/rye.png)",
        ),
        # pydoctor: a signature
        (
            '<div class="functionHeader"><span class="py-keyword">def</span>&#160;<span class="py-defname">bake'
            "</span><span>(heat: <code>int</code>) -&gt; <code>list[<wbr></wbr>str]</code>:</span>"
            '<a class="headerLink" href="#bake">¶</a></div>',
            "`def bake(heat: int) -> list[str]:`",
        ),
        # Asciidoctor: a line through words, a menu
        ('<p>Hot <span class="line-through">cold</span> oven</p>', "Hot ~~cold~~ oven"),
        (
            '<p><span class="menuseq"><b class="menu">File</b>&#160;<i class="fa fa-angle-right caret"></i>'
            ' <b class="menuitem">Save</b></span></p>',
            "**File** › **Save**",
        ),
        # remark, GitHub: the heading of footnotes is for screen readers
        (
            '<p>Rye<sup><a href="#n1" data-footnote-ref>1</a></sup></p><section data-footnotes class="footnotes">'
            '<h2 class="anchor sr-only" id="footnote-label">Footnotes</h2><ol><li id="n1"><p>A grain.'
            "</p></li></ol></section>",
            "Rye[^1]\n\n[^1]: A grain.",
        ),
        # GitBook: the number of a note
        (
            '<p>Rye<sup><a href="#fn_1" id="r1">1</a></sup></p><blockquote id="fn_1"><sup>1</sup>. A grain.'
            '<a href="#r1"> ↩</a></blockquote>',
            "Rye[^1]\n\n[^1]: A grain.",
        ),
        # Starlight: a tree of files
        (
            '<ul><li><span>a.js</span></li><li><details open><summary><span class="sr-only">Folder</span>src'
            "</summary><ul><li>b.js</li></ul></details></li></ul>",
            "- a.js\n- src\n    - b.js",
        ),
        ('<p><span class="sr-only">Folder</span>src', "Folder src"),
        (
            "<ul><li><details><summary>More</summary><p>Text.</p><ul><li>b</li></ul></details></li></ul>",
            "-   <details>\n    <summary>More</summary>\n\n    Text.\n\n    - b\n\n    </details>",
        ),
        # mdBook, nbconvert, DocC, Mintlify: the language of code
        (
            '<div class="highlight hl-ipython3"><pre>bake()</pre></div>',
            "```python\nbake()\n```",
        ),
        (
            '<div class="highlight-ipython3"><pre>bake()</pre></div><div class="highlight-myst-ansi">'
            "<pre>hot</pre></div>",
            "```python\nbake()\n```\n\n```\nhot\n```",
        ),
        (
            '<div class="code-listing" data-syntax="swift"><pre><code>bake()</code></pre></div>',
            "```swift\nbake()\n```",
        ),
        (
            '<pre class="shiki" language="python"><code language="python">bake()</code></pre>',
            "```python\nbake()\n```",
        ),
        # Jupyter: the numbers of cells
        (
            '<div class="jp-InputPrompt jp-InputArea-prompt">In [1]:</div><pre>bake()</pre>'
            '<div class="jp-OutputPrompt jp-OutputArea-prompt">Out[1]:</div><pre>hot</pre>',
            "```\nbake()\n```\n\n```\nhot\n```",
        ),
        # Hugo and YARD: a cell with the numbers of lines, without a class
        (
            '<table style="border-spacing:0"><tr><td><pre tabindex="0"><code><span>1\n</span><span>2\n</span>'
            '</code></pre></td><td><pre><code class="language-go">a := 1\nb := 2\n</code></pre></td></tr></table>',
            "```go\na := 1\nb := 2\n```",
        ),
        (
            '<table class="source_code"><tr><td><pre class="lines">\n\n12\n13</pre></td><td><pre'
            ' class="code"># File\n\ndef bake\nend</pre></td></tr></table>',
            "```\n# File\n\ndef bake\nend\n```",
        ),
        # Expressive Code: the numbers of lines
        (
            '<pre data-language="js"><code><div class="ec-line"><div class="gutter"><div class="ln"'
            ' aria-hidden="true">1</div></div><div class="code">heat()</div></div><div class="ec-line">'
            '<div class="gutter"><div class="ln" aria-hidden="true">2</div></div><div class="code">bake()'
            "</div></div></code></pre>",
            "```js\nheat()\nbake()\n```",
        ),
        # SyntaxHighlighter: lines of code in a table
        (
            '<table><tr><td class="gutter"><div class="line number1 index0 alt2">1</div><div class="line'
            ' number2 index1 alt1">2</div></td><td class="code"><div class="container"><div class="line'
            ' number1 index0 alt2"><code class="js">var</code> <code class="js">heat;</code></div>'
            '<div class="line number2 index1 alt1"><code>bake();</code></div></div></td></tr></table>',
            "```\nvar heat;\nbake();\n```",
        ),
        # Documenter.jl: the output below the input
        (
            '<pre><code class="language-julia-repl hljs">julia&gt; 1 + 1</code><code class="nohighlight'
            ' hljs ansi" style="display:block;">2</code></pre>',
            "```julia-repl\njulia> 1 + 1\n2\n```",
        ),
        # PHP's manual, phpBB: code without pre
        (
            '<div class="phpcode"><code><span>&lt;?php<br>$heat&nbsp;=&nbsp;1;<br></span></code></div>',
            "```\n<?php\n$heat = 1;\n```",
        ),
        # Their authors indent code with no-break spaces; within lines they may mean them.
        (
            "<pre>bake:\n&nbsp; heat\xa0it\n</pre>",
            "```\nbake:\n  heat\xa0it\n```",
        ),
        (
            '<dl class="codebox"><dt>Code: <a href="#" onclick="x()">Select all</a></dt><dd><code>heat();'
            "<br>bake();</code></dd></dl>",
            "Code:\n: ```\n  heat();\n  bake();\n  ```",
        ),
        ("<p><code>heat()<br>bake()</code></p>", "`heat() bake()`"),
        # Sphinx: a signature with a parameter a line, as the parser reads it
        (
            '<dl class="py class"><dt class="sig sig-object py"><em class="property">class </em><span'
            ' class="sig-name descname">Oven</span><span class="sig-paren">(</span><dl><dd><em'
            ' class="sig-param">heat=20</em>,</dd><dd><em class="sig-param">name: str</em>,</dd></dl><span'
            ' class="sig-paren">)</span></dt><dd><p>It bakes.</p></dd></dl>',
            "`class Oven(heat=20, name: str)`\n: It bakes.",
        ),
        # Sphinx: a note that has two links back
        (
            '<p>Rye<a class="footnote-reference brackets" href="#i5" id="i1" role="doc-noteref">1</a> and'
            ' wheat<a class="footnote-reference brackets" href="#i5" id="i3" role="doc-noteref">1</a>.</p>'
            '<aside class="footnote brackets" id="i5" role="doc-footnote"><span class="label"><span>[</span>1'
            '<span>]</span></span><span class="backrefs">(<a href="#i1">1</a>,<a href="#i3">2</a>)</span>'
            "<p>A grain.</p></aside>",
            "Rye[^1] and wheat[^1].\n\n[^1]: A grain.",
        ),
        # Word: notes with names
        (
            '<p>Rye<a href="#_ftn1" name="_ftnref1"><span class="MsoFootnoteReference">[1]</span></a></p>'
            '<div><p class="MsoFootnoteText"><a href="#_ftnref1" name="_ftn1"><span>[1]</span></a> A grain.</p>'
            "</div>",
            "Rye[^1]\n\n[^1]: A grain.",
        ),
        # Haddock, Scaladoc, ExDoc, Texinfo, RDoc: signatures
        (
            '<p class="src"><a id="v:bake" class="def">bake</a> :: Heat -&gt; <a href="#t:B">Bread</a> <a'
            ' href="src/O.html#bake" class="link">Source</a> <a href="#v:bake" class="selflink">#</a></p>',
            "`bake :: Heat -> Bread`",
        ),
        (
            '<div class="signature monospace"><span class="modifiers">def </span><a href="b">bake</a>(heat:'
            " Heat): Unit</div>",
            "`def bake(heat: Heat): Unit`",
        ),
        ('<h2 class="signature" translate="no">bake(heat)</h2>', "## `bake(heat)`"),
        (
            '<dl><dt class="deftypefn" id="i"><span class="category-def">Function: </span><span><code'
            ' class="def-type">int</code> <strong class="def-name">bake</strong> <code>(heat)</code></span>'
            "</dt><dd><p>Bakes.</p></dd></dl>",
            "`Function: int bake (heat)`\n: Bakes.",
        ),
        (
            '<div class="method-heading"><span class="method-name">bake</span><span>(heat)</span></div>',
            "`bake(heat)`",
        ),
        # MediaWiki, YARD, Dokka, sphinx-design, Read the Docs, Discourse: controls and hidden names
        (
            '<div class="mw-heading"><h2 id="O">Oven</h2><span class="mw-editsection"><span>[</span><a'
            ' href="/edit">edit</a><span>]</span></span></div>',
            "## Oven",
        ),
        ('<h2>Oven <small><a href="#" class="summary_toggle">collapse</a></small></h2>', "## Oven"),
        (
            '<p>Oven<span class="copy-popup-wrapper "><span>Link copied to clipboard</span></span></p>',
            "Oven",
        ),
        (
            '<div><p>How to bake.</p><a class="sd-stretched-link sd-hide-link-text" href="g.html">guide</a></div>',
            "How to bake.",
        ),
        (
            '<p>Rye.</p><div class="rst-versions" role="note"><span>v: latest</span><dl><dt>Versions</dt><dd>'
            '<a href="/en/stable/">stable</a></dd></dl></div>',
            "Rye.",
        ),
        (
            '<p><a class="lightbox" href="b.png">oven<span class="informations">80×60 5 KB</span></a></p>',
            "[oven](https://e.example/b.png)",
        ),
        # MyST, Hugo Book, mkdocstrings, JSDoc, phpBB: words that a style sheet parts
        (
            '<details><summary><span class="collapsed">Show code</span><span class="expanded">Hide code</span>'
            "</summary><p>Rye.</p></details>",
            "<details>\n<summary>Show code</summary>\n\nRye.\n\n</details>",
        ),
        (
            "<label><div><span>Expand</span><span>↕</span></div></label><p>Rye.</p>",
            "Expand\n\nRye.",
        ),
        (
            '<h2><span>Oven</span><span class="doc doc-labels"><small><code>frozen</code></small></span></h2>',
            "## Oven `frozen`",
        ),
        (
            '<h4>bake<span class="signature">(heat<span class="signature-attributes">opt</span>)</span></h4>',
            "#### bake(heat opt)",
        ),
        (
            "<blockquote><div><cite>ann wrote: <span>Thu Feb 29</span></cite>It is hot.</div></blockquote>",
            "> ann wrote: Thu Feb 29\\\n> It is hot.",
        ),
        # DocBook: callouts, and the sign of a box
        (
            '<pre>int heat; <img src="images/callouts/1.png" alt="1"></pre><div class="calloutlist"><table>'
            '<tr><td><p><a href="#c"><img src="images/callouts/1.png" alt="1"></a></p></td><td><p>How hot.</p>'
            "</td></tr></table></div>",
            "```\nint heat; (1)\n```\n\n1. How hot.",
        ),
        (
            '<div class="warning"><table><tr><td rowspan="2"><img alt="[Warning]" src="w.png"></td><th>Oven'
            "</th></tr><tr><td><p>It is hot.</p></td></tr></table></div>",
            "> [!WARNING]\n>\n> Oven\n>\n> It is hot.",
        ),
        # Confluence, Notion: tasks, and a list with an entry in each of its elements
        (
            '<ul class="inline-task-list"><li class="checked">Knead</li><li>Bake</li></ul>',
            "- [x] Knead\n- [ ] Bake",
        ),
        (
            '<ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span>Knead</span></li><li>'
            '<div class="checkbox checkbox-off"></div> <span>Bake</span></li></ul>',
            "- [x] Knead\n- [ ] Bake",
        ),
        (
            '<ol start="1"><li>Knead</li></ol><ol start="2"><li>Bake</li></ol>',
            "1. Knead\n2. Bake",
        ),
        ('<ol><li>Knead</li></ol><ol start="7"><li>Bake</li></ol>', "1. Knead\n\n7) Bake"),
        # mandoc: the permalink of a term
        (
            '<dl><dt id="a"><a class="permalink" href="#a"><code>-a</code></a></dt><dd>All.</dd></dl>',
            "`-a`\n: All.",
        ),
        # Mintlify: tabs whose panels are not in the page
        (
            '<div role="tablist"><button id="t1" role="tab">Python</button><button id="t2" role="tab">Node'
            '</button></div><div role="tabpanel" aria-labelledby="t1"><p>bake()</p></div>',
            "Python\n\nbake()",
        ),
        # Editions of poems; CSL and LaTeXML: entries of lists, notes
        (
            '<div class="poem"><div class="stanza"><div>The oven is hot,</div><div>the baker is not.</div></div>'
            "</div>",
            "The oven is hot,\\\nthe baker is not.",
        ),
        (
            '<div class="csl-entry"><div class="csl-left-margin">[1]</div><div class="csl-right-inline">Lee, A.'
            " Bread.</div></div>",
            "[1] Lee, A. Bread.",
        ),
        (
            '<ol><li><span class="ltx_tag ltx_tag_item">1.</span><div><p>Knead.</p></div></li></ol>',
            "1. Knead.",
        ),
        (
            '<p>Rye<span class="ltx_note"><sup class="ltx_note_mark">1</sup><span class="ltx_note_outer"><span'
            ' class="ltx_note_content"><sup class="ltx_note_mark">1</sup>A grain.</span></span></span></p>',
            "Rye¹ A grain.",
        ),
    ],
)
def test_markup_of_generators_is_read(body: str, shown: str) -> None:
    assert markdown(body) == shown


BODY = "<p>It is hot.</p>"


@pytest.mark.parametrize(
    ("box", "kind"),
    [
        # GitBook, Nextra, Notion, TypeDoc, XWiki, Intercom, Fumadocs, ReadMe, DocC
        (f'<div class="rounded-md hint flex bg-warning"><div>{BODY}</div></div>', "WARNING"),
        (f'<div class="nextra-callout flex"><div>🚨</div><div>{BODY}</div></div>', "NOTE"),
        (f'<figure class="callout"><div><span class="icon">💡</span></div>{BODY}</figure>', "NOTE"),
        (f'<div class="tsd-alert tsd-alert-caution">{BODY}</div>', "CAUTION"),
        (f'<div class="box errormessage"><div>{BODY}</div></div>', "ERROR"),
        (f'<div class="intercom-interblocks-callout">{BODY}</div>', "NOTE"),
        (f'<div style="--callout-color:var(--color-fd-info)">{BODY}</div>', "INFO"),
        (
            '<blockquote class="callout callout_info"><h3><span class="callout-icon">📘</span></h3>'
            f"{BODY}</blockquote>",
            "INFO",
        ),
        (f'<aside class="note">{BODY}</aside>', "NOTE"),
    ],
)
def test_boxes_of_generators_are_alerts(box: str, kind: str) -> None:
    assert markdown(f"{box}<p>Next.</p>") == f"> [!{kind}]\n>\n> It is hot.\n\nNext."


@pytest.mark.parametrize(
    "title",
    [
        '<header class="admonition-header">Hot oven</header>',  # Documenter.jl
        '<p class="label">Hot oven</p>',  # DocC
    ],
)
def test_titles_of_boxes_stand_in_their_first_line(title: str) -> None:
    box = f'<div class="admonition warning">{title}<div>{BODY}</div></div>'
    assert markdown(box) == "> [!WARNING]\n> Hot oven\n>\n> It is hot."


def test_first_line_of_quotation_is_title_of_box() -> None:  # Just the Docs
    box = f'<blockquote class="warning-title"><p>Hot oven</p>{BODY}</blockquote>'
    assert markdown(box) == "> [!WARNING]\n> Hot oven\n>\n> It is hot."


def test_numbers_beside_code_in_a_table_of_data_are_kept() -> None:
    row = "<tr><td><pre>{}</pre></td><td><pre>bake()</pre></td></tr>"
    assert "1" in text(f"<table>{row.format(1)}{row.format(2)}</table>")
    assert "7\n9" in text(f"<table>{row.format('7<br>9')}</table>")


def test_notes_in_asides_belong_to_the_text() -> None:
    notes = "".join(
        f'<aside aria-label="{kind}" class="starlight-aside starlight-aside--{kind}"><p'
        f' class="starlight-aside__title" aria-hidden="true">{kind}</p><div'
        f' class="starlight-aside__content"><p>Mind the oven.</p></div></aside>'
        for kind in ("note", "tip", "caution")
    )
    body = "<p>The oven is hot at noon, and the baker waits beside it until the bread is done.</p>"
    page = f"<main><h1>Oven</h1>{body * 3}{notes}{body}</main><aside><p>Mind the oven.</p></aside>"
    item = extract_html(page).to_dict()
    assert str(item["content_markdown"]).count("> Mind the oven.") == 3
    assert str(item["content"]).count("Mind the oven.") == 3


def test_brackets_in_types_are_not_escaped() -> None:
    for plain in (
        "Returns dict[str, list[int]] or Optional[max_heat], as tuple[dict[str, list[int]], ...] is.",
        "a[i][j] is wrong, b[0] is right",
    ):
        assert markdown(f"<p>{plain}</p>") == plain
    assert markdown("<p>See [[Oven]] and [a [b](c) d] there") == (
        "See \\[[Oven]\\] and [a \\[b\\](c) d] there"
    )
    assert markdown("<p>[x] [^1] ![a] [!NOTE] end") == ("\\[x\\] \\[^1\\] !\\[a\\] \\[!NOTE\\] end")


def test_raised_text_that_begins_a_note_is_kept() -> None:
    page = (
        '<p>Text<sup><a href="#f1" id="r1">1</a></sup> goes.</p><ol><li id="f1"><p>{}'
        ' <a href="#r1">↩</a></p></li></ol>'
    )
    assert markdown(page.format("<sup>13</sup>C is carbon.")).endswith("[^1]: ¹³C is carbon.")
    assert markdown(page.format("<sup>1</sup>. Of carbon.")).endswith("[^1]: Of carbon.")
