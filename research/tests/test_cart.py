"""A tree for each type of element: which elements count, what is known of them, what is drawn."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from researching import run

from contentspider.evaluation.corpora import GoldPage
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider_research.corpora import write_gold, write_page
from contentspider_research.experiments.cart import cart_tables, count, grow, judge
from contentspider_research.experiments.elementtypes import (
    COLUMN,
    COLUMNS,
    GEOMETRY_COLUMNS,
    Elements,
    read_elements,
)
from contentspider_research.experiments.experiments import ExperimentSite, read_sites
from contentspider_research.features.geometry import read_boxes
from contentspider_research.rendered import add_visuals

PROSE = "Tea is made of leaves that somebody picked by hand."


def read(html: str, gold: str = "") -> dict[str, Elements]:
    return read_elements(Page.from_html(html, attributes=True), GoldPage("page", gold, ""))


def test_div_counts_only_its_own_words() -> None:
    found = read(
        "<div>One two three.</div><div><p>Four five.</p></div><div><div>Six.</div></div>"
        "<div><section><article><main>Too deep.</main></article></section></div>"
        "<table><tr><th>Seven</th><td><p>Eight.</p></td></tr></table><h3>Nine</h3><p></p>"
    )
    assert {kind: elements.words.tolist() for kind, elements in found.items()} == {
        "div": [3, 1],
        "p": [2, 1],
        "td": [1],
        "h": [1],
    }


def test_each_word_counts_once() -> None:
    found = read(f"<ul><li>Read: <p>{PROSE}</p></li></ul>", PROSE)
    assert found["li"].words.tolist() == [1]
    assert found["p"].words.tolist() == [10]
    assert found["li"].labels.tolist() == found["p"].labels.tolist() == [True]
    assert found["li"].features[0, COLUMN["inner_text_length"]] == 11


@pytest.mark.parametrize(
    ("html", "kind", "vetoed"),
    [
        (f"<p>{PROSE}</p>", "p", False),
        (f"<nav><p>{PROSE}</p></nav>", "p", True),
        (f"<div id=topnav><h2>{PROSE}</h2></div>", "h", True),
        (f"<div class=ad-box><p>{PROSE}</p></div>", "p", True),
        (f"<div class=ad-box><ul><li>{PROSE}</li></ul></div>", "li", True),
        (f"<nav><ul><li>{PROSE}</li></ul></nav>", "li", False),
        (f"<nav><table><tr><td>{PROSE}</table></nav>", "td", True),
        (f"<a href=/><p>{PROSE}</p></a>", "p", True),
        (f"<p><a href=/>{PROSE}</a></p>", "p", True),
        (f"<p><a href=/>Tea</a> {PROSE}</p>", "p", False),
        (f"<p class=nav>{PROSE}</p>", "p", False),  # an ancestor must say it
    ],
)
def test_noise_rules_veto_elements(html: str, kind: str, vetoed: bool) -> None:
    elements = read(html, PROSE)[kind]
    assert elements.vetoed.tolist() == [vetoed]
    assert judge(None, elements).tolist() == [not vetoed]


def test_element_features_describe_surrounding_elements() -> None:
    html = "<div class=comments><p>Share <b>it</b> now.</p><p>Tea.</p><img src=x></div>"
    row = read(html)["p"].features[0]
    named = {name for name, value in zip(COLUMNS, row, strict=True) if value}
    assert named == {
        *("inner_text_length", "child_text_length", "has_children", "is_uppermost_or_bottommost"),
        *("is_desc_comment", "is_desc_tag_div", "is_sib_p", "is_sib_img", "has_child_b"),
        "contains_share",
    }
    assert (row[COLUMN["inner_text_length"]], row[COLUMN["child_text_length"]]) == (3, 2)


def test_confusion_is_counted_by_element_word_and_character() -> None:
    elements = Elements(
        np.zeros((3, len(COLUMNS)), dtype=np.float32),
        np.array([3, 5, 7]),
        np.array([30, 50, 70]),
        np.array([True, True, False]),
        np.zeros(3, dtype=bool),
    )
    found = count(elements, np.array([True, False, True]))
    assert found.tolist() == [[[0, 1], [1, 1]], [[0, 7], [5, 3]], [[0, 70], [50, 30]]]


def test_element_type_that_is_always_content_is_kept() -> None:
    elements = read(f"<pre>{PROSE}</pre>", PROSE)["pre"]
    assert judge(grow(elements, np.zeros(1, dtype=int)), elements).tolist() == [True]


def test_cart_experiment_writes_tables_and_drawings(tmp_path: Path) -> None:
    html = f"<nav><p>Home page of tea</p></nav><div>Menu</div><h1>Tea</h1>{f'<p>{PROSE}</p>' * 3}"
    gold = GoldPage("page", "\n".join(["Tea", *[PROSE] * 3]), "")
    page = Page.from_html(html, "page", attributes=True)
    sites = [
        ExperimentSite(name, name, "sites", [page] * 10, [gold] * 10, [], None)
        for name in ("one", "two", "three")
    ]
    lines = cart_tables(sites, 7, tmp_path / "out.svg")
    assert "| p | sites | elements | 30 | 0 | 0 | 90 | 1.0000 | 1.0000 | 1.0000 | 1.0000 |" in lines
    assert (
        "| all | sites | words | 150 | 0 | 0 | 930 | 1.0000 | 1.0000 | 1.0000 | 1.0000 |" in lines
    )
    assert "Rules made noise of 30 elements, of which 30 are noise to the gold." in lines
    assert "| one | 1.0000 | 0 | 0 |" in lines
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"out-tree-{kind}.svg" for kind in ("p", "div", "h")),
        *("out.svg", "out-splits.svg"),
    }
    assert "F1 by word of other owners" in (tmp_path / "out-tree-p.svg").read_text()


def text(tag: str, words: str, box: tuple[int, int, int, int], above: str = "") -> dict[str, Any]:
    """Return a text of a rendered page in an element, below elements of the tags *above*."""
    steps = [{"name": name, "id": "", "classes": []} for name in [*above.split(), tag]]
    sides = ("left", "top", "width", "height")
    bound = dict(zip(sides, box, strict=True))
    return {"text": [words], "selector": steps, "computed": {}, "bound": bound}


def record(url: str, texts: list[dict[str, Any]], gold: str | None = None) -> dict[str, Any]:
    """Return a rendered page, 1600 pixels wide, in a window 4000 pixels high. Its body is 2000."""
    body = {
        "bound": {"left": 0, "top": 0, "width": 1600, "height": 2000},
        "scroll": {"width": 1600, "height": 4000},
    }
    page = {"url": url, "titles": [], "descriptions": [], "body": body, "texts": texts}
    return page if gold is None else page | {"gold": gold}


def test_box_of_element_is_around_its_blocks() -> None:
    html = "<p>One two.</p><ul><li>Three <p>four</p></li></ul><p>Five six.</p><h2>Seven</h2>"
    page = Page.from_html(html, "page", attributes=True)
    texts = [
        text("p", "One two.", (0, 20, 400, 30)),
        text("li", "Three", (600, 500, 300, 10), "ul"),
        text("p", "four", (700, 520, 400, 80), "ul li"),
        text("h2", "Seven", (1500, 1950, 99, 50)),
    ]
    add_visuals(page.content, record("page", texts))
    derived = read_elements(page, GoldPage("page", "", ""))
    with_boxes = read_elements(page, GoldPage("page", "", ""), with_geometry=True)
    geometry = {
        kind: elements.features[:, len(COLUMNS) :].tolist() for kind, elements in with_boxes.items()
    }
    # Top and bottom in shares of 2000 pixels; middle (800), left, right, side; area; at an edge.
    assert geometry == {
        "p": [
            pytest.approx([0.01, 0.025, 0, 1, 0, 1, 12_000, 1]),
            pytest.approx([0.26, 0.3, 1, 0, 0, 0, 32_000, 0]),
        ],
        # From 600 to 1100, from 500 to 600: the list item's own text and the paragraph in it.
        "li": [pytest.approx([0.25, 0.3, 1, 0, 0, 0, 50_000, 0])],
        "h": [pytest.approx([0.975, 1, 0, 0, 1, 1, 4_950, 1])],
    }
    assert len(geometry["li"][0]) == len(GEOMETRY_COLUMNS)
    # The last paragraph is not shown: it has no area.
    counts = {kind: len(elements.labels) for kind, elements in derived.items()}
    assert counts == {"p": 2, "li": 1, "h": 1}
    assert derived["p"].features.shape == (2, len(COLUMNS))


def test_text_with_own_box_inside_is_matched_by_its_beginning() -> None:
    html = "<p>Tea is made of leaves <span>by hand</span> and of water.</p><p>Coffee is not.</p>"
    page = Page.from_html(html, "page").content
    around = text("p", "", (10, 10, 100, 20))
    around["text"] = ["Tea is made of leaves ", " and of water."]
    texts = [
        around,
        text("span", "by hand", (60, 5, 100, 20), "p"),
        text("p", "Coffee is not.", (10, 40, 100, 20)),
    ]
    add_visuals(page, record("page", texts))
    assert read_boxes(page) == [(10, 5, 160, 30), (10, 40, 110, 60)]


def rendered_page_of(host: str, number: int) -> dict[str, Any]:
    """Return a page of eight paragraphs: every second one stands in the middle and is content."""
    content, noise = (f"{tea} {number}" for tea in (PROSE, PROSE.replace("Tea", "Ink")))
    texts = [
        text("p", content, (600, 200 * row, 600, 150))
        if (row + number) % 2
        else text("p", noise, (0, 200 * row, 600, 150))
        for row in range(8)
    ]
    return record(f"https://{host}/{number}", texts, "\n".join([content] * 4))


def test_command_judges_rendered_pages_with_and_without_geometry(tmp_path: Path) -> None:
    hosts = ("example.net", "www.example.com", "blog.example.com", "example.org")
    rows = [rendered_page_of(host, number) for host in hosts for number in range(6)]
    rows.append(record("https://example.net/9", [text("p", "No gold.", (0, 0, 9, 9))]))
    (tmp_path / "mixed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    printed = run("experiment", "cart", "mixed.jsonl", "-o", "out", cwd=tmp_path)
    assert "mixed example.net: 1 of 7 pages" in printed.stderr
    table = (tmp_path / "out" / "cart.md").read_text()
    derived, geometry = table.split("| CART with geometry: elements |")
    # 24 pages of four paragraphs in the middle and four at the side.
    assert "| p | mixed | elements | 96 | 0 | 0 | 96 | 1.0000 |" in geometry
    assert "| p | mixed | elements | 96 | 0 | 0 | 96 | 1.0000 |" not in derived
    assert "| mixed example.com |" in geometry  # two hosts of one owner
    assert (tmp_path / "out" / "cart.svg").is_file()
    assert (tmp_path / "out" / "cart-with-geometry-tree-p.svg").is_file()


def test_corpus_has_boxes_of_its_rendered_pages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "site"
    for number in range(3):
        write_page(folder, f"{number}.html", f"<p>{PROSE} {number}</p>".encode())
    write_gold(folder, [{"path": f"{number}.html", "text": PROSE} for number in range(3)])
    (folder / "site.json").write_text("{}")
    with gzip.open(folder / "rendered.jsonl.gz", "wt") as file:
        for number in range(2):
            texts = [text("p", f"{PROSE} {number}", (0, 0, 700, 20))]
            file.write(json.dumps(record(f"{number}.html", texts)) + "\n")
    (site,) = read_sites(tmp_path, 40)
    assert [len(page.content.visuals) for page in site.pages] == [1, 1, 0]
    assert site.pages[0].content.extent == (1600, 2000)
    assert "no record of 1 of 3 pages" in caplog.text


def test_trees_need_gold_of_two_owners() -> None:
    page = Page.from_html(f"<p>{PROSE}</p>", "page", attributes=True)
    site = ExperimentSite("one", "one", "sites", [page], [GoldPage("page", PROSE, "")], [], None)
    with pytest.raises(ContentSpiderError, match="two owners"):
        cart_tables([site], 7, Path("unused.svg"))
