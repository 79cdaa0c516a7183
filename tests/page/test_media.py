"""Pictures and films of a page: which file is shown, where, and the links that frames leave."""

from __future__ import annotations

import pytest

from contentspider import Page
from contentspider.page.tree.resolver import Resolver
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.markup import write_html
from contentspider.page.write.structure import parts


def markdown(html: str) -> str:
    """Return the Markdown of all blocks of a page, its paragraphs joined by a bar."""
    page = Page.from_html(html)
    return write_markdown(parts(page.content.blocks, Resolver(page.base))).replace("\n\n", "|")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # The parser puts into a source what follows it.
        (
            (
                "<picture><source srcset=/a.avif><source srcset=/a.webp><img src=/a.png>"
                "</picture><p>Mole</p>"
            ),
            "![](/a.png)|Mole",
        ),
        (
            "<p>The <picture><source srcset=/b><img src=/b.png></picture> mole",
            "The ![](/b.png) mole",
        ),
        (
            "<picture><source srcset='/s.webp 200w, /l.webp 900w'/><img alt=Quay></picture>",
            "![Quay](/l.webp)",
        ),
        (
            (
                "<picture><source media=x><source data-srcset=/l.webp>"
                "<img src='data:image/gif;base64,AA'></picture>"
            ),
            "![](/l.webp)",
        ),
        (
            "<img src=/s.png srcset='/s.png 90w,/l.png 800w, /m.png 300w'>",
            "![](/l.png)",
        ),
        ("<img src=/s.png srcset='/w_9,h_9/l.png 2x'>", "![](/w_9,h_9/l.png)"),
        ("<img src=/s.png srcset='/l.png 2.25x, /m.png 1.5x,,/k.png, /w.png w'>", "![](/l.png)"),
        ("<img src=/s.png srcset='data:image/png;base64,AA 9x, '>", "![](/s.png)"),
        ("<img src=/empty.svg data-srcset='/s.png 1x, /l.png 2x'>", "![](/l.png)"),
        ("<img src=/empty.svg data-src=/l.png>", "![](/l.png)"),
        ("<img src=/s.png data-src='/l_{width}x.png'>", "![](/s.png)"),
    ],
)
def test_largest_of_several_image_sources_is_chosen(html, expected) -> None:
    assert markdown(f"<p>Quay</p>{html}").removeprefix("Quay").removeprefix("|") == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            "<img src=/grey.gif alt=x><noscript><img src=/l.png alt=Lock></noscript><p>Mole",
            "![Lock](/l.png)|Mole",
        ),
        (
            "<p>The <img src='data:,' data-src=/l.png> <noscript><img src=/l.png></noscript> lock",
            "The ![](/l.png) lock",
        ),
        (
            (
                "<div><div><img src='data:,'></div><noscript><picture><source srcset=/l.webp>"
                "<img src=/l.png></picture></noscript></div><p>Mole"
            ),
            "![](/l.png)|Mole",
        ),
        (
            (
                "<iframe src=about:blank></iframe><noscript><iframe src=//e.org/map title=Map>"
                "</iframe></noscript>"
            ),
            "[Map](//e.org/map)",
        ),
        # Trackers, advertisements, and what stands apart from the picture before it.
        ("<script src=/ad></script><noscript><img src=/ad.png width=300 height=90></noscript>", ""),
        ("<noscript><img src=/l.png></noscript><img data-src=/l.png>", "![](/l.png)"),
        ("<img src=/a.png><p>Mole</p><noscript><img src=/t alt=></noscript>", "![](/a.png)|Mole"),
        ("<noscript><img src=/t.php?id=1 alt=Counter></noscript>", ""),
        ("<noscript><iframe src=//e.org/ns width=300 height=300></iframe></noscript>", ""),
        (
            "<p>Quay <img src=/a.png> mole <noscript><img src=/t></noscript>",
            "Quay ![](/a.png) mole",
        ),
    ],
)
def test_noscript_image_replaces_its_placeholder(html, expected) -> None:
    assert markdown(f"<p>Quay</p>{html}").removeprefix("Quay").removeprefix("|") == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            "<iframe src=https://e.org/lock title='The [lock]'></iframe>",
            r"[The \[lock\]](https://e.org/lock)",
        ),
        (
            "<iframe data-src=//e.org/map src=about:blank aria-label=Map></iframe>",
            "[Map](//e.org/map)",
        ),
        ("<iframe src=//www.e.org/map></iframe>", "[www.e.org](//www.e.org/map)"),
        (
            "<iframe src=https://www.youtube-nocookie.com/embed/aB-1?rel=0 title=Lock></iframe>",
            "[Lock](https://www.youtube.com/watch?v=aB-1)",
        ),
        ("<video src=/f/lock.mp4 width=400></video>", "[lock.mp4](/f/lock.mp4)"),
        (
            "<video title=Lock><source src=/lock.webm><p>No film</p></video><p>Mole",
            "[Lock](/lock.webm)|Mole",
        ),
        ("<audio controls src=/f/horn.mp3?x=1></audio>", "[horn.mp3](/f/horn.mp3?x=1)"),
        (
            "<object data=/plan.pdf type=application/pdf title=Plan><p>x</p></object>",
            "[Plan](/plan.pdf)",
        ),
        (
            "<object><param name=movie value=//youtube.com/v/aB1><embed src=//e.org/x></object>",
            "[youtube.com](https://www.youtube.com/watch?v=aB1)",
        ),
        ("<object data=/map.svg type=image/svg+xml aria-label=Map></object>", "![Map](/map.svg)"),
        ("<p>The<embed src=/lock.mov>lock</p>", "The [lock.mov](/lock.mov) lock"),
        (
            "<p><a href=/lock>The lock <video src=/lock.mp4></video>at work</a>",
            "[The lock lock.mp4 at work](/lock)",
        ),
        (
            "<ul><li>Quay<li>Lock <iframe src=//e.org/lock></iframe></ul>",
            "- Quay\n- Lock [e.org](//e.org/lock)",
        ),
    ],
)
def test_videos_and_iframes_become_titled_links(html, expected) -> None:
    assert markdown(f"<p>Quay</p>{html}").removeprefix("Quay").removeprefix("|") == expected


@pytest.mark.parametrize(
    "frame",
    [
        "<iframe></iframe>",
        "<iframe src=about:blank></iframe>",
        "<iframe src='javascript:alert(1)' title=x></iframe>",
        "<iframe src=//e.org/t width=1 height=1></iframe>",
        "<iframe src=//e.org/like height=20></iframe>",
        "<iframe src=//e.org/t style='width:0; height:0px'></iframe>",
        "<iframe src=//e.org/t style='display: none'></iframe>",
        "<iframe src=//e.org/t hidden></iframe>",
        "<div hidden><iframe src=//e.org/t></iframe></div>",
        "<video></video>",
        "<audio src=#></audio>",
        "<embed src=/banner.swf>",
        "<object><param name=wmode value=/x></object>",
    ],
)
def test_invisible_iframes_leave_no_link(frame: str) -> None:
    assert markdown(f"<p>Quay</p>{frame}<p>Mole") == "Quay|Mole"


def test_video_links_are_written_in_html_but_not_in_text() -> None:
    page = Page.from_html("<p>Quay<iframe src=//e.org/lock title='a<b'></iframe><p>Mole")
    assert [block.text for block in page.content.blocks] == ["Quay", "Mole"]
    html = write_html(parts(page.content.blocks, Resolver(page.base)))
    assert html == '<p>Quay <a href="//e.org/lock">a&lt;b</a></p>\n<p>Mole</p>'
    assert Page.load(page.dump()).content == page.content


FIRST, SECOND = "<figure><img src=/1></figure>", "<img src=/2><figcaption>Lock</figcaption>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (f"<p>Quay</p>{FIRST}<figure>{SECOND}</figure>", "Quay|![](/1)|![](/2)|Lock"),
        (f"<figure>{SECOND}</figure>{FIRST}<p>Mole", "![](/2)|Lock|![](/1)|Mole"),
        (f"<div><figure>{SECOND}</figure>{FIRST}</div><p>Mole", "![](/2)|Lock|![](/1)|Mole"),
        (f"<p>Quay</p><figure>{FIRST}{SECOND}</figure>", "Quay|![](/1) ![](/2)|Lock"),
    ],
)
def test_figcaption_stays_with_images_of_its_figure(html, expected) -> None:
    assert markdown(html) == expected


@pytest.mark.parametrize("depth", [1, 30_000])
def test_nested_images_and_frames_take_linear_time(depth: int) -> None:
    for piece in ("<embed>", "<source>", "<noscript><img src=/a>", "<object>", "<picture><source>"):
        Page.from_html(f"<p>Quay {piece * depth}")
    Page.from_html(f"<p>Quay {'<b>' * depth}<img src=/a>{'</b>' * depth}" + "<noscript>" * depth)
