"""What a page says comes out as it says it: headings, code, tables, lists, formulas, footnotes."""

from __future__ import annotations

import json
import random
import re

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin

from contentspider import extract_html
from contentspider.ground.errors import DAMAGE
from contentspider.page.input.page import Page
from contentspider.page.input.serialization import from_record, to_record
from contentspider.page.tree.code import code_language
from contentspider.page.tree.resolver import Resolver
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.passages import to_passages
from contentspider.page.write.structure import parts
from tests.written import ADDRESS, markdown, markup, text


@pytest.mark.parametrize(
    "heading",
    [
        '<h2 id="oven">Oven<a class="headerlink" href="#oven" title="Link here">¶</a></h2>',
        '<h2 id="oven">Oven<a class="hash-link" href="#oven" title="Link">&#8203;</a></h2>',
        '<h2><a id="oven" class="anchor" aria-hidden="true" href="#oven"><svg></svg></a>Oven</h2>',
        '<h2 id="oven">Oven <a href="#oven"><span class="sr-only">Link to it</span></a></h2>',
        '<h2 id="oven">Oven<a href="/a#oven"><img src="chain.png" alt="chain"></a></h2>',
        '<h2 id="oven"><a class="header" href="#oven">Oven</a></h2>',
        '<section id="oven"><h2>Oven<a href="#oven">#</a></h2></section>',
        '<h2><a name="oven"></a>Oven</h2>',
        '<a name="oven"></a><h2>Oven</h2>',
        '<h2 id="oven">Oven<span class="mw-editsection">[<a href="/edit">edit</a>]</span></h2>',
        '<div><h2 id="oven">Oven</h2><a href="#oven">Section titled “Oven”</a></div>',
        '<h2 id="oven"><button type="button">Oven</button></h2>',
        '<h2 id="oven"><div>Oven</div></h2>',
    ],
)
def test_heading_text_excludes_permalink_and_keeps_anchor(heading: str) -> None:
    page = Page.from_html(f"<p>Before.</p>{heading}<p>Bread is baked in it.</p>", ADDRESS)
    blocks = page.content.blocks
    assert [block.text for block in blocks] == ["Before.", "Oven", "Bread is baked in it."]
    assert "\n\n## Oven\n\n" in write_markdown(parts(blocks, Resolver(ADDRESS)))
    assert blocks[1].anchor == "oven"


def test_links_from_headings_to_other_places_stay() -> None:
    assert markdown("<h2>See <a href='#b'>the oven</a></h2>") == f"## See [the oven]({ADDRESS}#b)"
    assert markdown("<h2><a href='/b#c'>Oven</a></h2>") == "## [Oven](https://e.example/b#c)"


def test_elements_with_role_heading_become_headings() -> None:
    assert markdown("<h2>a</h2><div role=heading>b</div><p>c</p>") == "## a\n\n## b\n\nc"


def test_backlink_arrows_are_not_text() -> None:
    assert markdown("<p>Salt. <a href='#top'>↑</a></p>") == "Salt."
    assert markdown("<p>Salt. <a href='#salt'>Sea</a></p>") == f"Salt. [Sea]({ADDRESS}#salt)"
    assert "big.jpg" in markdown("<p>Salt <a href='#'><img src=big.jpg alt=Mine></a></p>")


def test_decorative_and_unselectable_text_is_left_out() -> None:
    body = "<p>4 <span aria-hidden=true>*</span><span style='user-select:none'>copy</span>eggs</p>"
    assert text(body) == "4 eggs"


@pytest.mark.parametrize(
    "code",
    [
        '<pre><code class="language-go">a\n  b</code></pre>',
        '<div class="highlight-go notranslate"><div><pre>a\n  b</pre></div></div>',
        '<pre class="brush: go; gutter: true">a\n  b</pre>',
        '<pre data-lang="go"><code>a\n  b</code></pre>',
        '<pre><code class="hljs go">a\n  b</code></pre>',
        # A line is an element (Expressive Code), or an entry (prettify).
        '<pre data-language="go"><code><div class="l">a</div><div class="l">  b</div></code></pre>',
        '<pre class="lang-go"><ol><li>a</li><li>  b</li></ol></pre>',
        # Columns of numbers, and numbers in the lines.
        (
            '<figure class="highlight go"><table><tr><td class="gutter"><pre>1\n2</pre></td>'
            '<td class="code"><pre>a<br>  b</pre></td></tr></table></figure>'
        ),
        (
            '<pre><code class="language-go"><i class="lnt">1</i>a\n<i class="lnt">2</i>  b'
            "</code></pre>"
        ),
        '<pre class="language-go"><button>Copy</button><code>a\n  b</code></pre>',
    ],
)
def test_code_block_keeps_lines_and_language(code: str) -> None:
    assert markdown(f"<p>x</p>{code}") == "x\n\n```go\na\n  b\n```"


@pytest.mark.parametrize(
    "names", ["", "code", "highlight", "language-none", "line-numbers", "wrapper dark", "go"]
)
def test_unrelated_classes_name_no_code_language(names: str) -> None:
    assert code_language([names]) == ""


def test_table_cells_stay_in_their_columns() -> None:
    body = (
        "<table><tr><th></th><th>May</th><th>June</th></tr><tr><td>Rye</td><td></td><td>4</td></tr>"
        "<tr><td></td><td>2</td><td></td></tr></table>"
    )
    assert markdown(body) == ("|  | May | June |\n| --- | --- | --- |\n| Rye |  | 4 |\n|  | 2 |  |")
    assert text(body) == "\tMay\tJune\nRye\t\t4\n\t2"
    assert "<tr><td>Rye</td><td></td><td>4</td></tr>" in markup(body)


def test_spanning_cells_are_repeated_in_markdown() -> None:
    body = (
        "<table><tr><th>Day</th><th colspan=9>Bread</th></tr><tr><td rowspan=2>Monday</td><td>rye"
        "</td><td>4</td></tr><tr><td>spelt</td><td>2</td></tr></table>"
    )
    assert markdown(body) == (
        "| Day | Bread | Bread |\n| --- | --- | --- |\n| Monday | rye | 4 |\n| Monday | spelt | 2 |"
    )
    assert '<th colspan="2">Bread</th>' in markup(body)
    assert '<td rowspan="2">Monday</td>' in markup(body)
    assert "<tr><td>spelt</td><td>2</td></tr>" in markup(body)


def test_full_width_rows_and_long_spanning_cells_are_written_once() -> None:
    body = "<table><tr><td>a<td>b<td>c</tr><tr><td colspan=3>Breads</tr><tr><td rowspan=2>LONG<td>d"
    body += "</tr><tr><td>e<td>f</tr></table>"
    long = "x" * 101
    assert markdown(body.replace("LONG", long)).count(long) == 1
    assert "| Breads |  |  |" in markdown(body)
    assert text(body) == "a\tb\tc\nBreads\nLONG\td\nLONG\te\tf"


@pytest.mark.large
def test_huge_cell_spans_do_not_multiply_output() -> None:
    row = "<td colspan=999999 rowspan=999999>" + "x" * 1_000 + "</td>"
    cells = "<td>y</td>" * 900
    body = f"<table><tr>{cells}</tr>" + f"<tr>{row}</tr>" * 100 + "</table>"
    assert len(markdown(body)) < 2_000_000
    body = "<table>" + "<tr><td rowspan=60000>x<td>y" * 5_000 + "</table>"
    for write in (markdown, markup, text):
        assert len(write(body)) < 500_000
        assert write(body).count("y") == 5_000


def test_ordered_lists_keep_their_numbers() -> None:
    body = "<ol start=4><li>a</li><li value=9>b<ol><li>c</li></ol></li><li>d</li></ol>"
    assert markdown(body) == "4. a\n\n9) b\n    1. c\n10) d"
    assert markup(body).startswith('<ol start="4"><li>')
    assert markdown("<ol reversed><li>a</li><li>b</li></ol>") == "2. a\n\n1) b"
    table = "<table><tr><th>a<th>b<tr><td>1<td>2</table>"
    assert "<table>" in markup(f"<ol start=3>{table}</ol>"), "a list without items"


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("<ol><li>a<li>b</ol><ol start=10><li>c<li>d</ol>", [[1, 2], [10, 11]]),
        ("<ol><li>a<li>b</ol><ol><li>c<li>d</ol>", [[1, 2], [1, 2]]),
        ("<ol><li>a<li value=7>b<li>c</ol>", [[1], [7, 8]]),
        ("<ol reversed><li>a<li>b<li>c</ol>", [[3], [2], [1]]),
        ("<ol start=-1><li>a<li>b<li>c</ol>", [[], [0, 1]]),
        ("<ol start=' 5x'><li>a<li>b</ol>", [[5, 6]]),
        ("<ol start=x><li>a<li>b</ol>", [[1, 2]]),
        ("<ul><li>a<li>b</ul> <ul><li>c</ul>", [[], []]),
        ("<ul><li>a</ul><p>x</p><ul><li>c</ul>", [[], []]),
        ("<ol><li>a<ol><li>b</ol><ol><li>c</ol></ol>", [[1], [1], [1]]),
    ],
)
def test_lists_are_rendered_with_their_numbers(body: str, numbers: list[list[int]]) -> None:
    """HTML, 4.4.8: the ordinal values; a renderer of CommonMark shows the same lists."""
    shown: list[list[int]] = []
    for token in MarkdownIt("commonmark").parse(markdown(body)):
        if token.type in ("ordered_list_open", "bullet_list_open"):
            shown.append([])
        elif token.type == "list_item_open" and token.info:
            shown[-1].append(int(token.info))
    assert shown == numbers


def test_html_has_types_starts_and_order_of_lists() -> None:
    assert markup("<ol type=a><li>a<li>b</ol>").startswith('<ol type="a"><li>')
    assert markup("<ol type=I start=3><li>a</ol>").startswith('<ol type="I" start="3"><li>')
    assert markup("<ol type=x><li>a</ol>").startswith("<ol><li>")
    assert markup("<ol start=-1><li>a<li>b</ol>").startswith('<ol start="-1"><li>')
    assert markup("<ol reversed><li>a<li>b</ol>").startswith('<ol reversed start="2"><li>')
    assert markup("<ul><li>a</ul><ul><li>b</ul>").count("<ul>") == 2
    assert "-1. a" in markdown("<ol start=-1><li>a</ol>")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("<tbody><tr><td rowspan=0>a<td>1<tr><td>2<tbody><tr><td>b<td>3", "a1|a2|b3"),
        ("<tbody><tr><td rowspan=9>a<td>1<tr><td>2<tbody><tr><td>b<td>3", "a1|a2|b3"),
        ("<thead><tr><th rowspan=3>a<th>1<tbody><tr><td>b<td>3", "a1|b3"),
        ("<tr><td rowspan=5>a<td>1<tr><td>2<tbody><tr><td>b<td>3", "a1|a2|b3"),
        ("<tr><td colspan=0>a<td>1<tr><td>b<td>2", "a1|b2"),
        ("<thead><tr><th>a<th>b<tfoot><tr><td>e<td>f<tbody><tr><td>c<td>d", "ab|cd|ef"),
        ("<tfoot><tr><td>e<td>f</tfoot><tr><td>c<td>d", "cd|ef"),
        ("<tbody><tr><td>c<td>d<tfoot><tr><td>e<td>f", "cd|ef"),
    ],
)
def test_tables_have_rows_as_browsers_show_them(rows: str, expected: str) -> None:
    """HTML, 4.9.12.1, "forming a table": cells end with their row group; the foot comes last."""
    lines = markdown(f"<table>{rows}</table>").split("\n")
    cells = [line.strip("| ").replace(" | ", "") for line in lines if "---" not in line]
    assert "|".join(cells) == expected


def test_hidden_email_addresses_are_shown() -> None:
    def hidden(text: str, key: int = 0x2A) -> str:
        return bytes([key, *(byte ^ key for byte in text.encode())]).hex()

    code = hidden("tea@e.example")
    body = (
        f"<p>To <a href=/cdn-cgi/l/email-protection class=__cf_email__ data-cfemail={code}>"
        "[email&#160;protected]</a> or"
        f" <a href='/cdn-cgi/l/email-protection#{code}'>the cook</a> or"
        f" <span class=__cf_email__ data-cfemail={hidden('a@b.example', 0xFF)}>[x]</span>."
    )
    link = "[tea@e.example](mailto:tea@e.example)"
    assert markdown(body) == f"To {link} or [the cook](mailto:tea@e.example) or a@b.example."
    for wrong in ("", "2", "zz", hidden("tea"), hidden("a@\0"), "2a"):
        body = (
            f"<p>To <b data-cfemail='{wrong}'>hidden</b> and <a href=/cdn-cgi/l/email-protection>us"
        )
        assert text(body) == "To hidden and us"


def test_tildes_are_no_marks() -> None:
    """GitHub's Markdown, 6.5: one or two tildes are signs of deleted text."""
    assert markdown("<p>10:00~20:00, 12:00~13:00") == r"10:00\~20:00, 12:00\~13:00"
    assert markdown("<p>~~~") == r"\~\~\~"
    assert markdown("<p><code>~a~</code>") == "`~a~`"


def test_task_lists_keep_their_checkboxes() -> None:
    box = "<input type=checkbox disabled"
    body = f"<ul><li>{box} checked> knead</li><li>{box}> bake</li></ul>"
    assert markdown(body) == "- [x] knead\n- [ ] bake"
    assert markdown("<ul><li><label><input type=checkbox> knead</label></ul>") == "- [ ] knead"
    assert markdown("<ul><li><label><input type=checkbox checked><i></i></label> knead</ul>") == (
        "- [x] knead"
    )
    assert markdown("<ul><li><p><input type=checkbox> knead</ul>") == "- [ ] knead"
    for name, form in ((" name=a", "{}"), ("", "<form>{}</form>")):
        filters = form.format(f"<ul><li><label><input type=checkbox{name}> red</label></ul>")
        assert markdown(filters) == "- red"


def test_definition_terms_stay_with_their_definitions() -> None:
    body = (
        "<dl><dt>Rye</dt><dd>A grain.</dd><dd>A bread.</dd><dt>Oat</dt><dd><p>Other.</p></dd></dl>"
    )
    assert markdown(body) == "Rye\n: A grain.\n: A bread.\n\nOat\n: Other."
    assert "<dl>\n<dt>Rye</dt>\n<dd>" in markup(body)


def test_definitions_end_without_end_tags() -> None:
    body = "<dl><dt>Rye<dd>A grain.<dd>A bread.<dt>Oat<dt>Oats<dd>x<dl><dt>y<dd>z</dl></dl><p>End"
    expected = "Rye\n: A grain.\n: A bread.\n\nOat\nOats\n: x\n\n  y\n  : z\n\nEnd"
    assert markdown(body) == expected


def test_paragraphs_of_definitions_are_no_code_to_parsers_that_know_no_definitions() -> None:
    found = markdown("<dl><dt>Rye</dt><dd><p>A grain.</p><p>A bread.</p></dd></dl>")
    assert "<code>" not in MarkdownIt().render(found)
    known = MarkdownIt().use(deflist_plugin).render(found)
    assert known.index("A bread.") < known.index("</dd>")


def test_addresses_in_texts_are_links_without_backslashes() -> None:
    """GitHub makes links of addresses, with the backslashes before their signs."""
    address = "https://e.example/~ada/*a*_b_"
    assert f"See <{address}c>." in markdown(f"<p>See {address}c.</p>")
    assert markdown("<p>*https://e.example/a*</p>") == r"\*<https://e.example/a>\*"
    assert markdown("<p>&lt;https://e.example/~a&gt;</p>") == r"\<<https://e.example/~a>>"
    assert markdown("<p>https://e.example/a_b</p>") == "https://e.example/a_b"
    linked = markdown(f"<p><a href='/x'>{address}c</a></p>")
    assert MarkdownIt().render(linked).strip() == (
        f'<p><a href="https://e.example/x">{address}c</a></p>'
    )


def test_inline_styles_are_kept() -> None:
    body = (
        "<p><b>a</b> <em>b</em> <del>c</del> <mark>d</mark> H<sub>2</sub>O x<sup>k</sup> "
        "<a href=/y><code>e</code></a></p>"
    )
    assert markdown(body) == (
        "**a** *b* ~~c~~ <mark>d</mark> H<sub>2</sub>O x<sup>k</sup> [`e`](https://e.example/y)"
    )
    assert "<strong>a</strong> <em>b</em> <del>c</del> <mark>d</mark>" in markup(body)
    # Signs within a word beside a letter would be read as text.
    assert markdown("<p>x<b>(a)</b>y</p>") == "x<strong>(a)</strong>y"


def test_line_breaks_within_paragraph_are_kept() -> None:
    body = "<p>Rye is brown<br>Oats are pale<br></p>"
    assert markdown(body) == "Rye is brown\\\nOats are pale"
    assert markup(body) == "<p>Rye is brown<br>Oats are pale</p>"
    assert text(body) == "Rye is brown Oats are pale"


def test_adjacent_blockquotes_stay_separate() -> None:
    body = "<blockquote><p>a</p><p>b</p></blockquote><blockquote><p>c</p></blockquote>"
    assert markdown(body) == "> a\n>\n> b\n\n> c"
    assert markup(body).count("<blockquote>") == 2


@pytest.mark.parametrize(
    "marker",
    [
        '<sup><a href="#n1">1</a></sup>',
        '<sup>[<a href="#n1">1</a>]</sup>',
        '<a class="footnote-ref" href="#n1"><sup>1</sup></a>',
        '<a role="doc-noteref" href="#n1">1</a>',
    ],
)
def test_footnote_markers_are_linked_to_their_notes(marker: str) -> None:
    body = (
        f'<p>The mill grinds rye{marker} all year.</p><ol><li id="n1"><p>Not oats.'
        ' <a href="#back">↩</a></p></li></ol>'
    )
    assert "rye1" not in text(body)
    assert markdown(body) == "The mill grinds rye[^1] all year.\n\n[^1]: Not oats."


def test_footnote_number_before_note_is_written_once() -> None:
    body = (
        "<p>Rye<sup><a href='#n1'>1</a></sup></p><aside id=n1><span>[<a href='#r1'>1</a>]</span>"
        "<p>A grain.</p></aside>"
    )
    assert markdown(body) == "Rye[^1]\n\n[^1]: A grain."


def test_superscript_after_word_is_footnote_marker_but_exponent_is_not() -> None:
    assert text("<p>They sold it<sup>2,3</sup> and left<sup>4</sup>.</p>") == (
        "They sold it²,³ and left 4."
    )
    assert text("<p>5 km<sup>2</sup></p>") == "5 km²"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("some 10<sup>3</sup> sacks", "some 10³ sacks"),
        ("10<sup>-3</sup>, 10<sup>\u221212</sup>", "10⁻³, 10⁻¹²"),
        ("2<sup>n+1</sup> &lt; 10<sup><i>6</i></sup>", "2ⁿ⁺¹ < 10⁶"),
        ("10<sup>1/2</sup>", "10^1/2"),
        ("the 1<sup>st</sup> of <sup>14</sup>C", "the 1st of ¹⁴C"),
        ("<sup>1</sup>/<sub>2</sub> cup, 3<sup>1</sup>/2 cups", "1/2 cup, 3¹/2 cups"),
        ("10<sub>2</sub> is 2<sub>10</sub>", "10₂ is 2₁₀"),
        ("H<sub>2</sub>O, 3<sub>n</sub>", "H2O, 3n"),
    ],
)
def test_raised_number_does_not_join_number_before_it(body: str, shown: str) -> None:
    assert text(f"<p>{body}</p>") == shown
    plain = markdown(f"<p>{body}</p>")
    if "<" not in plain:
        assert plain.replace("\\", "") == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>です", "漢字です"),
        ("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>へ", "東京へ"),
        ("<ruby><rb>北</rb><rb>京</rb><rtc><rt>Běi</rt><rt>jīng</rt></rtc></ruby>", "北京"),
        ("<ruby>麥<rt>ㄇㄞˋ</ruby>田", "麥田"),
        # The elements of Ruby Annotation (2001), and those whose ends HTML lets pages leave out.
        ("<ruby><rbc><rb>旧</rb></rbc><rtc><rt>jiù</rt></rtc><rtc>Old</rtc></ruby>市", "旧市"),
        ("<ruby><rb>漢<rt>かん<rb>字<rt>じ</ruby>です", "漢字です"),
        ("<ruby><rb>漢<rb>字<rp>(<rt>かん<rt>じ<rp>)</ruby>です", "漢字です"),
    ],
)
def test_reading_beside_characters_is_no_text(body: str, shown: str) -> None:
    assert text(f"<p>{body}</p>") == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("She said <q>we bake</q>.", "She said “we bake”."),
        ("<q>He said <q>no</q> <b>twice</b></q>", "“He said ‘no’ twice”"),
        ("<span lang=de><q>Mehl</q></span>, <span lang=fr><q>pain</q></span>", "„Mehl“, «pain»"),
        ("<span lang=ja>彼は<q>はい<q>麦</q></q>と</span>", "彼は「はい『麦』」と"),
        ("<q>“we bake”</q> and “<q>we mill</q>”", "“we bake” and “we mill”"),
        ('<q lang="de">Mehl</q>', "“Mehl”"),  # the language around the quotation counts
    ],
)
def test_quotations_have_the_marks_of_browsers(body: str, shown: str) -> None:
    assert text(f"<p>{body}</p>") == markdown(f"<p>{body}</p>").replace("**", "") == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("麦を\n挽く。", "麦を挽く。"),
        ("磨坊在河邊，\r\n    \t很老。", "磨坊在河邊，很老。"),
        ("麦<b>を\n</b>\n挽く<i>\nこと</i>", "麦を挽くこと"),
        ("用 Word\n写\nWord", "用 Word 写 Word"),
        ("서울\n부산", "서울 부산"),  # Korean has spaces
        ("磨坊 在河", "磨坊 在河"),  # a space is one
        ("磨坊<br>\n在河", "磨坊 在河"),
        ("โรง\nสี", "โรง สี"),
    ],
)
def test_line_break_between_chinese_or_japanese_characters_is_no_space(
    body: str, shown: str
) -> None:
    assert text(f"<p>{body}</p>") == shown
    assert markdown(f"<p><a href=/a>{body}</a></p>").count("](https") == 1


def test_spans_behind_joined_lines_are_in_place() -> None:
    body = "<p>麦を\n挽く<b>水車</b>\nの<a href=/m>小\n屋</a></p>"
    assert markdown(body) == "麦を挽く**水車**の[小屋](https://e.example/m)"


@pytest.mark.parametrize("display", ["block", "flex;", " FLEX !important", "grid", "list-item"])
def test_inline_elements_that_styles_make_blocks_are_lines(display: str) -> None:
    line = f'<span style="color:red;display:{display}">'
    body = f"<p>{line}Rye is brown</span>{line}Oats are pale</span>and dry</p>"
    assert text(body) == "Rye is brown Oats are pale and dry"
    assert markdown(body) == "Rye is brown\\\nOats are pale\\\nand dry"


def test_other_styles_do_not_part_words() -> None:
    for display in ("inline", "inline-block", "inline-flex", "table-cell", "contents"):
        assert text(f'<p>wind<span style="display:{display}">mill</span></p>') == "windmill"


def test_formulas_are_written_as_latex() -> None:
    math = (
        "<math><semantics><msup><mi>x</mi><mn>2</mn></msup>"
        "<annotation encoding='application/x-tex'>x^{2}</annotation></semantics></math>"
    )
    katex = (
        f"<span class=katex-mathml>{math}</span><span class=katex-html aria-hidden=true>x2</span>"
    )
    assert markdown(f"<p>Let <span class=katex>{katex}</span> be.</p>") == "Let $x^{2}$ be."
    assert markdown("<p>a <math><msup><mi>x</mi><mn>2</mn></msup></math></p>") == "a $x^2$"
    assert markdown('<p>a <script type="math/tex; mode=display">y_1*z</script>.</p>') == (
        "a $$y_1*z$$."
    )
    assert markdown(r"<p>a \(x_1*y\) and $z_2*w$ for $5*</p>") == r"a $x_1*y$ and $z_2*w$ for $5\*"


def test_block_details_survive_serialization() -> None:
    body = (
        "<h2 id=a>b</h2><ol start=3><li>c</ol><pre class=language-go>d</pre><blockquote>e"
        "</blockquote><p>f<sup><a href='#n'>1</a></sup><p id=n>g<table><tr><td colspan=2>h<tr><td>i"
        "<td>j</table>"
    )
    content = Page.from_html(body, ADDRESS).content
    assert from_record(to_record(content)).blocks == content.blocks


def test_records_of_earlier_versions_get_table_columns() -> None:
    content = Page.from_html("<table><tr><td>a<td>b<tr><td>c<td>d</table>").content
    record = to_record(content)
    del record["columns"], record["details"]
    record["cells"] = [1, 2, 3, 4]
    assert [block.cell for block in from_record(record).blocks] == [1, 2, 1, 2]


@pytest.mark.parametrize("outer", [[[1, 1, 1, 1]], [[1, 1, 1, 1, 1]] * 5, [["1"] * 5], 7])
def test_damaged_cells_around_tables_are_refused(outer: object) -> None:
    record = to_record(Page.from_html("<table><tr><td>a<td>b</table>").content)
    record["details"]["outer"] = [(0, outer)]
    with pytest.raises(DAMAGE):
        from_record(record)


def test_footnotes_are_content_if_their_markers_are() -> None:
    prose = "The mill was built by monks in the valley and it grinds rye and spelt all year. " * 4
    body = (
        f"<nav><a href=/>Home</a></nav><main><p>{prose}<sup><a href='#n1'>1</a></sup></p>"
        f"<p>{prose}</p></main><footer class=footer><p id=n1>See Ada.</p><p>© 2024</p></footer>"
    )
    extraction = extract_html(body, ADDRESS)
    assert "[^1]: See Ada." in str(extraction.to_dict()["content_markdown"])
    assert "© 2024" not in extraction.text


class RandomTables:
    """Writes tables with random cells, which hold text, lists, code, quotes, breaks and tables.
    Each word is written once.
    """

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.words: list[str] = []

    def word(self) -> str:
        self.words.append(f"w{len(self.words)}x")
        return self.words[-1]

    def table(self, depth: int) -> str:
        draw = self.draw
        width = draw.randint(1, 3)
        rows = []
        if draw.random() < 0.6:
            rows.append("".join(f"<th>{self.word()}</th>" for _ in range(width)))
        for _ in range(draw.randint(1, 3)):
            rows.append("".join(f"<td>{self.cell(depth)}</td>" for _ in range(width)))
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"

    def cell(self, depth: int) -> str:
        kinds = [self.word, self.line, self.list, self.code, self.quote, str]
        if depth < 7:
            kinds.append(lambda: self.table(depth + 1))
        pieces = [self.draw.choice(kinds)() for _ in range(self.draw.choice([1, 1, 1, 2, 3]))]
        return " ".join(pieces)

    def line(self) -> str:
        return f"<p>{self.word()}<br><b>{self.word()}</b></p>"

    def list(self) -> str:
        tag = self.draw.choice(["ul", "ol"])
        entries = f"<li>{self.word()}</li><li>{self.word()}"
        return f"<{tag}>{entries}{self.list() if self.draw.random() < 0.3 else ''}</li></{tag}>"

    def code(self) -> str:
        return f"<pre>{self.word()}\n  {self.word()} | y</pre>"

    def quote(self) -> str:
        return f"<blockquote>{self.word()}</blockquote>"


@pytest.mark.parametrize("seed", range(100))
def test_random_nested_tables_lose_no_word(seed: int) -> None:
    tables = RandomTables(seed)
    body = f"{tables.table(0)}{tables.table(0)}"
    for write in (markdown, markup, text):
        assert re.findall(r"w\d+x", write(body)) == tables.words
    content = Page.from_html(body, ADDRESS).content
    assert from_record(json.loads(json.dumps(to_record(content)))).blocks == content.blocks
    passages = to_passages(content.blocks, ADDRESS, 150)
    pieces = {word for each in passages for word in re.findall(r"w\d+x", each.markdown)}
    assert pieces == set(tables.words)


@pytest.mark.parametrize("seed", range(40))
def test_random_tables_and_code_are_written_completely(seed: int) -> None:
    draw = random.Random(seed)
    lines = [" " * draw.randint(0, 4) + f"x{number} <= y" for number in range(draw.randint(1, 6))]
    escaped = "\n".join(lines).replace("<", "&lt;")
    rows = []
    words = []
    for row in range(draw.randint(2, 5)):
        cells = []
        for cell in range(draw.randint(1, 5)):
            word = f"w{row}c{cell}" if draw.random() < 0.7 else ""
            words.append(word)
            spans = f" colspan={draw.randint(1, 3)} rowspan={draw.randint(1, 3)}"
            cells.append(f"<td{spans if draw.random() < 0.3 else ''}>{word}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = f"<p>a</p><pre><code>{escaped}</code></pre><p>b</p><table>{''.join(rows)}</table>"
    assert "\n".join(line.rstrip() for line in lines).strip("\n") in markdown(body)
    for write in (markdown, markup, text):
        shown = write(body)
        assert all(word in shown for word in words)


@pytest.mark.parametrize(
    "heading",
    [
        '<h2 id="v2"><a href="#v2">2.1.0</a> of May</h2>',
        '<h2 id="v2"><a class="anchor" href="#v2">2.1.0</a> of May</h2>',
        '<h2><a id="v2" href="#v2">2.1.0</a> of May</h2>',
        '<h2>2.1.0 <a class="header-link" href="/other#v2">of May</a></h2>',
        # Each letter or word is moved by a script.
        "<h2 aria-label=All><i aria-hidden=true>2.1.0</i> <i aria-hidden=true>of May</i></h2>",
        '<h2><span aria-hidden="true">2.1.0 of May</span></h2>',
    ],
)
def test_headings_keep_words_in_links_and_moved_anchors(heading: str) -> None:
    blocks = Page.from_html(f"{heading}<p>Bread.</p>", ADDRESS).content.blocks
    assert [block.text for block in blocks] == ["2.1.0 of May", "Bread."]


@pytest.mark.parametrize(
    "body",
    [
        '<p><span style="user-select:none">Rye is a grain.</span></p>',
        '<p><span aria-hidden="true">Rye is a grain.</span></p>',
        '<table><tr><td class="gutter">Rye is a grain.</td><td>1</td></tr></table>',
        '<pre><code><span class="ln">Rye is a grain.</span></code></pre>',
        '<p><span class="MathJax">Rye is a grain.</span></p>',
    ],
)
def test_text_with_decorative_class_or_style_is_kept_if_it_stands_alone(body: str) -> None:
    assert "Rye is a grain." in text(body)


def test_mathjax_preview_is_left_out_beside_formula_source() -> None:
    shown = '<span class="MathJax_Preview">y1</span><span class="MathJax">y1</span>'
    assert text(f"<p>a {shown}<script type='math/tex'>y_1</script></p>") == "a y_1"


def test_video_in_split_section_is_in_one_passage() -> None:
    prose = "".join(f"Sentence {number} of the long section on rye. " for number in range(40))
    body = f"<h2>Rye</h2><p>{prose}<iframe src=/film title='The mill'></iframe>{prose}</p>"
    blocks = Page.from_html(body, ADDRESS).content.blocks
    passages = to_passages(blocks, ADDRESS, 300)
    assert sum("[The mill](https://e.example/film)" in each.markdown for each in passages) == 1


@pytest.mark.parametrize(
    "heading",
    [
        '<h2>Oven <a class="permalink" href="/2024/oven/"><span class="sr-only">#</span></a></h2>',
        '<h2>Oven<a class="header-link visually-hidden" href="/2024/oven">Permalink</a></h2>',
    ],
)
def test_permalinks_of_pages_are_not_in_their_titles(heading: str) -> None:
    assert markdown(f"<article>{heading}<p>Bread.</p></article>") == "## Oven\n\nBread."


def test_links_that_headings_show_stay_in_them() -> None:
    link = "<h2>The <a class='permalink' href='/oven'>oven</a></h2>"
    assert markdown(link) == "## The [oven](https://e.example/oven)"


def test_language_label_beside_code_is_left_out() -> None:
    label = "<div class='language-js'><span class='lang'>js</span><pre><code>f()</code></pre></div>"
    assert markdown(f"<p>Call.</p>{label}") == "Call.\n\n```js\nf()\n```"
    other = "<div class='language-js'><span>oven.js</span><pre><code>f()</code></pre></div>"
    assert "oven.js" in markdown(other)


def test_lines_of_code_that_readers_do_not_see_are_left_out() -> None:
    body = (
        "<pre><code class='language-rust'><span class='boring'>fn main() {\n</span>bake();\n"
        "<span class='boring'>}</span></code></pre><p><b class='boring'>Sunday</b></p>"
    )
    assert markdown(body) == "```rust\nbake();\n```\n\n**Sunday**"


def test_line_numbers_without_class_are_left_out_of_code() -> None:
    row = "<tr><td>{}</td><td>{}\n</td></tr>"
    code = row.format(9, "if hot:") + row.format(10, "    bake(3)")
    assert markdown(f"<pre><code><table>{code}</table></code></pre>") == (
        "```\nif hot:\n    bake(3)\n```"
    )
    alone = "<pre><table><tr><td>9</td></tr><tr><td>10</td></tr></table></pre>"
    assert markdown(alone) == "9\n\n10"


def test_formulas_without_commands_are_formulas() -> None:
    assert markdown("<p>If $a[i] > a[i+1]$, swap.</p>") == "If $a[i] > a[i+1]$, swap."
    assert markdown("<p>From $5 [new] to $7 a * b.</p>") == "From $5 [new] to $7 a * b."


def test_formulas_are_neither_html_nor_links() -> None:
    body = "<p>\\(a_1&lt;img src=x> + [b](javascript:c)\\) $x_1&lt;b$</p>"
    assert markdown(body) == "$a_1< img src=x> + [b] (javascript:c)$ $x_1< b$"


HEADER = "<tr><th>Bread<th>How</tr>"


def test_table_with_header_stays_table_with_long_cells() -> None:
    steps = "".join(f"<p>Step {number}.</p>" for number in range(9))
    long = f"<table>{HEADER}<tr><td>Rye<td>{steps}</tr></table>"
    assert markdown(long).startswith("| Bread | How |\n| --- | --- |\n| Rye | Step 0.<br>Step 1.")
    without = f"<table><tr><td>Rye<td>{steps}</tr></table>"
    assert markdown(without).startswith("Rye\n\nStep 0.")


def test_single_column_below_header_is_table() -> None:
    column = "<table><thead><tr><th>Bread</thead><tbody><tr><td>Rye<tr><td>Oat</table>"
    assert markdown(column) == "| Bread |\n| --- |\n| Rye |\n| Oat |"
    assert markdown("<table><tr><td>Rye<tr><td>Oat</table>") == "Rye\n\nOat"


def test_short_code_stays_in_its_cell() -> None:
    cells = "<td>Rye<td><pre><code class='language-py'>if a:\n    b | c</code></pre>"
    body = f"<table>{HEADER}<tr>{cells}</tr></table>"
    assert markdown(body) == ("| Bread | How |\n| --- | --- |\n| Rye | `if a:`<br>`    b \\| c` |")
    assert '<td><pre><code class="language-py">if a:\n    b | c</code></pre></td>' in markup(body)
    long = body.replace("if a:", "a\n" * 20)
    assert "```py\na\n" in markdown(long)
    titled = f"<table><tr><th>bake.py</tr><tr>{cells[7:]}</tr></table>"
    assert markdown(titled) == "bake.py\n\n```py\nif a:\n    b | c\n```"


def test_lists_in_cells_keep_their_markers() -> None:
    entries = "<ul><li>wild<li><p>sown<ol start=2><li>in May<li>in June</ol></ul>to eat"
    body = f"<table>{HEADER}<tr><td>Rye<td>{entries}</tr></table>"
    assert markdown(body).endswith(
        "| Rye | - wild<br>- sown<br>\u00a0\u00a02. in May<br>\u00a0\u00a03. in June<br>to eat |"
    )
    html = markup(body).replace("\n", "")
    assert '<td><ul><li><p>wild</p></li><li><p>sown</p><ol start="2"><li>' in html
    assert html.endswith("</li></ol></li></ul><p>to eat</p></td></tr></table>")
    assert text(body).endswith("Rye\twild sown in May in June to eat")


def test_lists_and_quotes_around_table_are_not_in_its_cells() -> None:
    body = f"<blockquote><ul><li>a<table>{HEADER}<tr><td>Rye<td>b<p>c</p></table></ul></blockquote>"
    assert ">     | Rye | b<br>c |" in markdown(body)
    assert "<td><p>b</p>\n<p>c</p></td>" in markup(body)


def test_quotes_and_definitions_in_cells_keep_their_elements() -> None:
    cell = "<dl><dt>Rye<dd>A grain.</dl><blockquote>It is brown.</blockquote>"
    html = markup(f"<table>{HEADER}<tr><td>a<td>{cell}</tr></table>").replace("\n", "")
    assert "<dl><dt>Rye</dt><dd><p>A grain.</p></dd></dl><blockquote>" in html


def test_table_in_cell_of_table_with_header_stays_in_its_cell() -> None:
    inner = "<table><caption>Hours</caption><tr><th>May<th>June<tr><td>2<td>4</table>"
    body = f"<table>{HEADER}<tr><td>Rye<td>{inner}baked</tr><tr><td>Oat<td>raw</tr></table>"
    assert markdown(body) == (
        "| Bread | How |\n| --- | --- |\n"
        "| Rye | Hours<br>May \\| June<br>2 \\| 4<br>baked |\n| Oat | raw |"
    )
    html = markup(body).replace("\n", "")
    assert "<p>Hours</p><table><tr><th>May</th><th>June</th></tr>" in html
    assert html.count("<table>") == 2
    assert text(body) == "Bread\tHow\nRye\tHours May June 2 4 baked\nOat\traw"


def test_table_in_layout_table_is_table_of_its_own() -> None:
    inner = "<table><tr><th>May<th>June<tr><td>2<td>4</table>"
    body = f"<table><tr><td>Rye<td>{inner}</tr><tr><td>Oat<td>{inner}</tr></table>"
    table = "| May | June |\n| --- | --- |\n| 2 | 4 |"
    assert markdown(body) == f"Rye\n\n{table}\n\nOat\n\n{table}"


def test_adjacent_tables_are_not_merged() -> None:
    body = f"<table>{HEADER}<tr><td>Rye<td>b</table>" * 2
    table = "| Bread | How |\n| --- | --- |\n| Rye | b |"
    assert markdown(body) == f"{table}\n\n{table}"
    assert markup(body).count("<table>") == 2


@pytest.mark.parametrize("address", [" /rye", "/rye\n", "\t/rye "])
def test_spaces_around_address_of_link_are_removed(address: str) -> None:
    page = Page.from_html(f'<p>The <a href="{address}">rye</a> rises.</p>')
    assert page.content.blocks[0].spans == ((4, 7, "/rye"),)


def test_links_that_copy_the_code_below_are_left_out() -> None:
    code = "<pre><code>bake()</code></pre>"
    action = '<a href="#" onclick="copy(this)">Copy all</a>'
    assert markdown(f"<p>Oven: {action}</p>{code}") == "Oven:\n\n```\nbake()\n```"
    assert markdown(f"<p>{action}</p><div>{code}</div>") == "```\nbake()\n```"
    assert markdown(f"<p>Oven: {action} </p>{code}") == "Oven:\n\n```\nbake()\n```"
    # The line has 60 characters, or 61.
    assert markdown(f"<p>{'o' * 51} {action}</p>{code}") == f"{'o' * 51}\n\n```\nbake()\n```"
    for kept in (
        f"<p>{'o' * 52} {action}</p>{code}",
        f"<p>Oven: {action}<b></b></p>{code}",
        f"<p>{action}</p><p>It bakes.</p>",
        f"<p>Press {action}, or call:</p>{code}",
        f"<p>{'The oven is described at length. ' * 3}{action}</p>{code}",
        f'<p>Oven: <a href="/all">Copy all</a></p>{code}',
    ):
        assert "Copy all" in text(kept)


def test_long_descriptions_of_pictures_are_kept() -> None:
    description = "A drawing of the mill with its wheel. " * 30
    assert f"![{description.strip()}](" in markdown(f"<p>Mill <img src=/m.png alt='{description}'>")
