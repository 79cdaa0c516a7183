from __future__ import annotations

from contentspider.page.document import Page
from contentspider.page.output import to_markdown, to_text


def markdown(html: str) -> str:
    return to_markdown(Page.from_html(html).content.blocks)


def test_structure_survives_in_markdown() -> None:
    html = (
        "<h1>Tea</h1><p>See <a href='https://e.org/a b'>this</a> and"
        " <code>brew()</code>.</p><ul><li>green<ul><li>sencha</li></ul></li><li>black</li></ul>"
        "<ol><li>boil</li></ol><blockquote><p>Said</p></blockquote><pre>a\n "
        " b</pre><table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table><p>end</p>"
    )
    assert (
        markdown(html)
        == "# Tea\n\nSee [this](https://e.org/a%20b) and `brew()`.\n\n- green\n    - sencha\n-"
        " black\n1. boil\n\n> Said\n\n```\na\n  b\n```\n\n| x | y |\n| --- | --- |\n| 1 | 2"
        " |\n\nend"
    )


def test_text_is_escaped_and_dangerous_links_are_text() -> None:
    assert (
        markdown("<p><a href='javascript:alert(1)'>click</a> *now* [x](y) &lt;b&gt;</p>")
        == r"click \*now\* \[x\](y) \<b\>"
    )
    assert markdown("<p># no heading</p><p>1. no list</p>") == "\\# no heading\n\n1\\. no list"


def test_code_fences_are_longer_than_what_they_hold() -> None:
    assert markdown("<pre>```\nx</pre>") == "````\n```\nx\n````"


def test_cells_of_a_row_share_a_line_of_text() -> None:
    assert (
        to_text(
            Page.from_html(
                "<p>a</p><table><tr><td>b</td><td>c</td></tr><tr><td>d</td></tr></table>"
            ).content.blocks
        )
        == "a\nb\tc\nd"
    )


def test_code_and_targets_cannot_break_out() -> None:
    assert markdown("<p><code>a`` &lt;img src=x&gt;</code></p>") == "``` a`` <img src=x> ```"
    assert markdown("<p><a href='/a&#13;b\\'>x</a></p>") == "[x](/a%0Db%5C)"
    assert markdown("<p>~~~</p><p>1.5 metres</p>") == "\\~~~\n\n1.5 metres"
