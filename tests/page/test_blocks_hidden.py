"""What a page does not show: which of it is read as text, and where."""

from __future__ import annotations

import pytest

from tests.sites import texts

PROSE = "Tea is made of leaves, and of hot water; it is drunk from cups all over the world. " * 4
NOTICE = "Please enable JavaScript in your browser to see this site as it was meant to be. " * 3


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # the page itself is in it
        (
            f"<section id=main></section><noscript><h1>Tea</h1><p>{PROSE}</p></noscript>",
            "Tea|PROSE",
        ),
        # its one text is elsewhere
        (f"<p>{PROSE}</p><p>b</p><noscript><p>{PROSE}</p></noscript>", "PROSE|b"),
        # it has a text of its own
        (f"<p>{PROSE}</p><noscript><p>2 {PROSE}</p></noscript><p>b</p>", "PROSE|2 PROSE|b"),
        (
            f"<p>{PROSE}</p><noscript><p>2 {PROSE}</p><p>{PROSE}</p></noscript>",
            "PROSE|2 PROSE|PROSE",
        ),
        # links instead of a menu that a script makes
        (f"<p>{PROSE}</p><noscript><a href=/>{PROSE}</a></noscript>", "PROSE"),
        (f"<p>{PROSE}</p><noscript><p>{'a b ' * 40}</p></noscript>", "PROSE"),
        # a picture, a tracker, a notice
        ("<p>a</p><noscript><img src=x alt='A picture'> by me</noscript>", "a"),
        (f"<p>a</p><noscript><iframe src=x></iframe><style>{PROSE}</style></noscript>", "a"),
        (f"<p>a</p><noscript><p>{NOTICE}</p></noscript>", "a"),
        (f"<p>a</p><noscript>{PROSE} <b>Enable JAVASCRIPT.</b></noscript>", "a"),
        (f"<noscript>{NOTICE}<p>{PROSE * 4}</p></noscript>", "NOTICE|PROSE*4"),
        (
            f"<noscript><p>1 {PROSE}</p></noscript><noscript><p>2 {PROSE}</p></noscript>",
            "1 PROSE|2 PROSE",
        ),
        # one within another
        (
            f"<p>{PROSE}</p>{f'<noscript><p>{PROSE}</p>' * 2}</noscript></noscript><p>b</p>",
            "PROSE|b",
        ),
        ("<head><noscript>x</noscript></head><p>a</p>", "a"),
    ],
)
def test_noscript_content_is_read_if_it_is_prose_missing_from_page(html, expected) -> None:
    found = "|".join(texts(html))
    for name, text in (("PROSE*4", PROSE * 4), ("PROSE", PROSE), ("NOTICE", NOTICE)):
        found = found.replace(text.strip(), name)
    assert found == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # in the place of its template, and not where it came
        (
            "<template id='B:0'></template><p>foot</p><div hidden id='S:0'><p>text</p></div>",
            ["text", "foot"],
        ),
        # within another
        (
            (
                "<p>a</p><template id=B:0></template><p>z</p><div hidden id=S:a1>c</div>"
                "<div hidden id=S:0>b<template id=P:a1></template></div>"
            ),
            ["a", "bc", "z"],
        ),
        # without a place, with another name, and twice
        ("<p>a</p><div hidden id='S:0'>b</div>", ["a", "b"]),
        ("<p>a</p><div hidden id='T:0'>b</div><div hidden id='S:x'>c</div>", ["a"]),
        ("<template id=B:1></template>a<template id=B:1></template><p hidden id=S:1>b</p>", ["ba"]),
        ("<div><p>a</p><div hidden id='S:0'>b</div></div>", ["a"]),
        ("<template id=B:0>x</template><p>a</p>", ["a"]),
        ("<template id=':'>x</template><template id=B:>y</template><p>a</p>", ["a"]),
        ("<x-card><template shadowrootmode=open><p>a</p></template><p>b</p></x-card>", ["a", "b"]),
    ],
)
def test_content_moved_by_streaming_scripts_is_read_in_its_target_place(html, expected) -> None:
    assert texts(html) == expected


def test_streamed_segment_containing_its_own_placeholder_terminates() -> None:
    html = "<template id=B:0></template><div hidden id=S:0>a<template id=B:0></template></div>"
    assert texts(html) == ["a"]


@pytest.mark.parametrize(
    ("panel", "is_read"),
    [
        (
            "<h4><button aria-controls=a>Q</button></h4><div id=a hidden>A</div>",
            True,
        ),
        ("<button>Q</button><div style='display: none'>A</div>", True),
        ("<div><span aria-expanded=false>Q</span></div><ul hidden><li>A</li></ul>", True),
        ("<h3>Q</h3><div hidden>A</div><h3>Q</h3><div hidden>A</div><h3>Q</h3>", True),
        ("<dl><dt>Q</dt><dd hidden>A</dd><dt>Q</dt></dl>", True),
        # a heading alone opens nothing
        ("<h3>Q</h3><div hidden>A</div>", False),
        ("<p>Q</p><div hidden>A</div><p>Q</p>", False),
        ("<div hidden>A</div><button>Q</button>", False),
    ],
)
def test_hidden_panel_is_read_if_a_control_before_it_opens_it(panel, is_read) -> None:
    found = texts(f"<p>{PROSE}</p>{panel}<p>End</p>")
    assert ("A" in found) == is_read
    assert "End" in found


@pytest.mark.parametrize(
    ("html", "count"),
    [
        (f"<div style='visibility:hidden'><h1>Tea</h1><p>{PROSE}</p></div>", 2),
        (f"<p>Loading</p><div hidden><p>{PROSE}</p></div>", 2),
        (f"<p>{PROSE}</p><div hidden><p>{PROSE}</p></div>", 1),
        ("<p>a</p><div hidden><p>A menu</p></div>", 1),
    ],
)
def test_page_without_visible_text_is_read_with_its_hidden_text(html, count) -> None:
    assert len(texts(html)) == count


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>{{ title }}</p><p>a</p>", ["a"]),
        ("<p>{% if a %} ${price} - {{b}}</p><p>a</p>", ["a"]),
        ("<p>Write {{ title }}</p>", ["Write {{ title }}"]),
        ("<p><code>{{ title }}</code></p>", ["{{ title }}"]),
        ("<pre>{{ title }}</pre>", ["{{ title }}"]),
        ("<p>{a}</p>", ["{a}"]),
    ],
)
def test_template_expressions_are_not_read_as_text(html, expected) -> None:
    assert texts(html) == expected
