"""Feature sets, rendered pages, and the experiments on them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from researching import run

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.site.judge.featuresets import (
    SiteFeatures,
    needs_attributes,
    parse_feature_sets,
)
from contentspider.site.judge.slots import SlotTable
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.site.scores import text_score
from contentspider_research import EXPERIMENTS
from contentspider_research.experiments.experiments import load_sites, per_site
from contentspider_research.features.sets import ALL_SETS, FEATURE_SETS, spelled_out
from contentspider_research.metric import block_score
from contentspider_research.rendered import read_rendered, rendered_page
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

HTML = (
    '<title>Tea</title><body><nav role=navigation><ul><li class="item first">'
    '<a href="javascript:void(0)" onclick="return share(this)">Share</a></ul></nav>'
    "\n<div class=story id=main><h2>Related</h2><p align=center>See <a href=/x>another one</a>"
    " of the kind, with more of the same words.</p><div class=ad-box>Buy tea</div></div>"
)


def names(feature_set: str, html: str = HTML) -> list[list[str]]:
    page = Page.from_html(html, attributes=True)
    table = SlotTable.of_names({"#main", ".story", ".item", ".first", ".ad-box"})
    rows = SiteFeatures((feature_set,), table).rows(page.content)
    return [[" ".join(feature) for group in row for feature in group] for row in rows]


def test_feature_sets_name_their_features() -> None:
    share, _, text, _ = names("tag-path")
    assert share == ["tags body/nav/ul/li"]
    assert text == ["tags body/div/p"]
    assert names("text-length")[0] != names("text-length")[2]
    assert {"selector div#main", "selector div.story"} <= set(names("selectors")[2])
    assert {"tag li", "above nav", "above ul"} <= set(names("tags")[0])
    assert {"class item", "class first"} <= set(names("classes")[0])
    assert "above class story" in names("classes")[2]
    assert "attribute align=center" in names("attributes")[2]
    assert "above attribute role=navigation" in names("attributes")[0]
    assert {
        "script onclick",
        "script return",
        "script this",
        "script javascript:",
        "script void",
    } <= set(names("scripts")[0])
    assert names("scripts")[2] == []
    assert "link ratio 10" in names("uzun")[0]
    assert "link count 2" in names("uzun")[2]
    derived = [set(row) for row in names("derived")]
    assert {"is_link", "is_desc nav", "says share"} <= derived[0]
    assert {"after header related", "has_child a", "is_sib h2", "is_sib div"} <= derived[2]
    assert "is_desc ad" in derived[3]
    assert "is_link" not in derived[2]
    assert names("visual") == [[], [], [], []]


@pytest.mark.parametrize(
    ("feature_set", "expected"),
    [
        ("tag-path", "tags body/div/p"),
        ("text-length", "chars 12"),
        ("selectors", "selector div#main, selector div.story"),
        ("tags", "tag p, above body, above div"),
        ("classes", "above class story"),
        (
            "attributes",
            ", ".join(
                [
                    *(f"attribute {name}" for name in ("align=center", "data-n", "href", "style")),
                    *(f"attribute {name}" for name in ("title", "type=abcdefghijklmnop", "x")),
                    *(f"above attribute {name}" for name in ("href", "lang=en")),
                ]
            ),
        ),
        ("scripts", "script alert, script onclick, above script javascript:"),
        (
            "uzun",
            # six words of sixteen stand in links
            "words 8, density 19, link count 3, words in links 5, words a link 4, link ratio 4",
        ),
    ],
)
def test_feature_set_gives_complete_row(feature_set, expected) -> None:
    attributes = (
        "align=center class=lead id=first data-n=3 style=color:red title=a x=abcdefghijklmnopq"
        " type=abcdefghijklmnop onclick='alert(share)'"
    )
    # 80 characters in 16 words; 23 characters of them in links
    html = (
        "<h1>One two three four</h1><div class=story id=main lang=en href='JavaScript:share'>"
        f"<p {attributes}>Of all the words here <a href=/>five are in</a> the <a href=/>first of"
        " two</a> links, and not more.</p></div>"
    )
    assert ", ".join(names(feature_set, html)[1]) == expected


@pytest.mark.parametrize(
    ("chars", "name"), [(1, "2"), (2, "3"), (3, "4"), (7, "6"), (100, "13"), (1_000, "19")]
)
def test_text_length_has_two_bins_per_doubling(chars, name) -> None:
    assert names("text-length", f"<p>{'x' * chars}</p>") == [[f"chars {name}"]]


def test_visual_features_are_computed_style_and_box_position() -> None:
    page = Page.from_html("<p>a</p>").content
    page.visuals = [{"color": "red", "box width": "640", "box x": "250.5", "box y": "99"}]
    (row,) = SiteFeatures(("visual",), SlotTable.of_names([])).rows(page)
    assert [feature for group in row for feature in group] == [
        ("css", "color", "red"),
        ("css", "box width", "640"),
        ("box", "x", "2"),
        ("box", "y", "0"),
    ]


def test_geometry_features_describe_box_on_page() -> None:
    page = Page.from_html("<p>a</p><p>b</p>").content
    boxes = [(0, 0, 300, 10), (400, 10, 200, 990)]
    names = ("left", "top", "width", "height")
    page.visuals = [
        {f"box {name}": f"{value}" for name, value in zip(names, box, strict=True)} for box in boxes
    ]
    first, second = SiteFeatures(("geometry",), SlotTable.of_names([])).rows(page)
    assert [name[1:] for group in first for name in group] == [
        *(("top", "0"), ("bottom", "0"), ("size", "23")),
        *(("is_leftmost",), ("is_on_side",), ("is_uppermost_or_bottommost",)),
    ]
    assert ("geometry", "bottom", "10") in [name for group in second for name in group]


def test_geometry_is_relative_to_the_whole_page() -> None:
    # The page is 1000 x 2000: beside the text it has a picture on the right and another below.
    page = Page.from_html("<p>a</p><p>b</p><p>hidden</p>").content
    boxes = [(0, 0, 450, 40), (40, 900, 700, 100)]
    names = ("left", "top", "width", "height")
    page.visuals = [
        {f"box {name}": f"{value}" for name, value in zip(names, box, strict=True)} for box in boxes
    ]
    page.visuals.append({})
    page.extent = (1000.0, 2000.0)
    first, second, hidden = SiteFeatures(("geometry",), SlotTable.of_names([])).rows(page)
    assert {name[1:] for group in first for name in group} == {
        *(("top", "0"), ("bottom", "0"), ("size", "28")),
        *(("is_leftmost",), ("is_on_side",), ("is_uppermost_or_bottommost",)),
    }
    # In the middle of the page, and half down; of the text alone it would be at the end.
    assert {name[1:] for group in second for name in group} == {
        *(("top", "4"), ("bottom", "5"), ("size", "32"), ("is_middle",)),
    }
    assert not any(hidden)


@pytest.mark.parametrize(
    ("body", "extent"),
    [
        ({"bound": {"left": 0, "top": 0, "width": 1600, "height": 900}}, (1600, 900)),
        # A margin of 8 pixels on both sides; the block at the end stands below the body.
        ({"bound": {"left": 8, "top": 8, "width": 1584, "height": 40}}, (1600, 90)),
        ({"bound": {"left": 0, "top": 0, "width": 0}, "scroll": {"width": 9, "height": 5}}, (9, 5)),
        ({}, (0, 0)),
    ],
)
def test_rendered_page_has_extent_of_its_body(body, extent) -> None:
    record = {**rendered(0), "body": body}
    record["texts"] = [
        {**record["texts"][0], "bound": {"left": 3, "top": 50, "width": 20, "height": 40}}
    ]
    assert rendered_page(record).content.extent == extent


def test_boxes_of_a_scrolled_window_count_from_the_page() -> None:
    body = {
        "bound": {"left": 0, "top": -300, "width": 1600, "height": 900},
        "scroll": {"left": 0, "top": 300},
    }
    record = {**rendered(0), "body": body}
    page = rendered_page(record).content
    tops = [entry["bound"]["top"] for entry in record["texts"]]
    assert [float(visual["box top"]) for visual in page.visuals] == [top + 300 for top in tops]
    assert page.extent == (1600, max(900, max(tops) + 300 + record["texts"][-1]["bound"]["height"]))


@pytest.mark.parametrize(
    ("sets", "needed"),
    [
        (["slots"], False),
        (["tags", "uzun"], False),
        (["slots", "attributes"], True),
        (["scripts"], True),
        (["derived"], True),
        (["uzun-cells"], True),
    ],
)
def test_feature_sets_tell_if_they_need_attributes(sets, needed) -> None:
    assert needs_attributes(sets) == needed


def test_all_means_every_feature_set_and_unknown_names_raise() -> None:
    parts = {"selectors-path", "css", "attributes-names", "geometry"}  # of other sets
    assert set(spelled_out(["all"])) == set(ALL_SETS) == set(FEATURE_SETS) - parts
    assert parse_feature_sets(["tags", "slots", "tags"]) == ("slots", "tags")
    with pytest.raises(ValueError, match="'colour' is unknown"):
        parse_feature_sets(["colour"])


def some_pages() -> list[Page]:
    html = (
        "<title>Page {0}</title><body><nav class=menu><ul><li><a href=/>Home</a><li><a href=/a>All"
        " of the articles</a></ul></nav><article class=story><h1>Page"
        " {0}</h1><p>{1}</p><p>{2}</p></article><footer class=legal onclick='go()'>© 2024 All"
        " rights reserved</footer>"
    )
    return [
        Page.from_html(html.format(n, prose(n, 1), prose(n, 2)), str(n), attributes=True)
        for n in range(12)
    ]


@pytest.mark.parametrize("feature_set", ["slots", *FEATURE_SETS])
def test_model_of_any_feature_set_extracts_and_survives_saving(feature_set: str) -> None:
    pages = some_pages()
    model = SiteLearner("example.org", LearningOptions(features=[feature_set])).fit(pages)
    again = SiteModel.parse(model.manifest(), model.dump_weights())
    assert again.features == model.features == parse_feature_sets([feature_set])
    for page in pages:
        assert np.array_equal(again.extract(page).kept, model.extract(page).kept)
    if feature_set not in (
        "visual",
        "css",
        "geometry",
        "attributes",
        "attributes-names",
        "scripts",
    ):  # which these pages hardly have
        assert model.extract(pages[3]).text.endswith(pages[3].content.blocks[-2].text)
        assert "rights reserved" not in model.extract(pages[3]).text


def rendered(number: int) -> dict[str, Any]:
    def text(words: str, tags: list[str], size: str, width: int) -> dict[str, Any]:
        steps = [{"name": tag, "id": "", "classes": ["c-" + tag]} for tag in tags]
        return {
            "text": [words],
            "path": tags,
            "selector": steps,
            "computed": {"font-size": size},
            "bound": {"width": width, "height": 20, "left": 0, "top": 40},
        }

    story = [prose(number, line) for line in range(3)]
    texts = [
        text("Home", ["div", "a"], "12px", 80),
        text("News of the day", ["div", "a"], "12px", 80),
    ]
    texts += [text(words, ["div", "div"], "16px", 640) for words in story] + [
        text(prose(number, 9), ["div", "div"], "11px", 300)
    ]
    return {
        "url": f"http://example.org/{number}",
        "titles": [f"Page {number}"],
        "descriptions": [story[0]],
        "texts": texts,
    }


@pytest.fixture
def rendered_file(tmp_path: Path) -> Path:
    path = tmp_path / "rendered" / "example.jsonl.gz"
    path.parent.mkdir()
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(rendered(number)) + "\n" for number in range(8))
    return path


def test_rendered_pages_are_clustered_by_style(rendered_file: Path) -> None:
    pages = list(read_rendered(rendered_file))
    assert pages[0].content.visuals[2]["font-size"] == "16px"
    assert [block.tag for block in pages[0].content.blocks] == [
        "a",
        "a",
        "div",
        "div",
        "div",
        "div",
    ]
    assert pages[0].content.blocks[0].path == "body/div.c-div/a.c-a"
    model = SiteLearner("example.org", LearningOptions("paper", ["visual"])).fit(pages)
    # The tag path of the small print is that of the story; only its looks tell them apart.
    for page in pages:
        assert model.extract(page).kept.tolist() == [False, False, True, True, True, False]
    page = Page.load(pages[0].dump())
    assert page == pages[0]


def test_rendered_selectors_are_written_as_block_paths(tmp_path: Path) -> None:
    record = rendered(1)
    record["texts"][0]["selector"][0] |= {"id": "main content", "classes": ["post-2024", "a/b"]}
    path = tmp_path / "page.jsonl"
    path.write_text(json.dumps(record))
    (page,) = read_rendered(path)
    assert page.content.blocks[0].path == "body/div#main-content.post-0.a-b/a.c-a"


def test_malformed_rendered_file_error_names_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps(rendered(1)) + "\n{}\n")
    with pytest.raises(ContentSpiderError, match=r"broken\.jsonl:2: not a rendered page"):
        list(read_rendered(path))


def test_scores_are_computed_by_word_and_by_block() -> None:
    assert text_score("the tea is hot", "the tea is cold") == (0.75, 0.75, 0.75)
    assert text_score("tea by Ann", "tea", "by Ann").f1 == 1
    assert text_score("", "").f1 == 1
    assert text_score("茶", "茶热").recall == 0.5
    score = block_score(np.array([True, True, False]), np.array([True, False, False]))
    assert (score.precision, score.recall) == (0.5, 1)


def test_gold_file_beside_rendered_pages_is_not_read_as_site(rendered_file: Path) -> None:
    (rendered_file.parent / "example.gold.jsonl").write_text('{"url": "u", "text": "gold"}\n')
    assert [site.name for site in load_sites(rendered_file.parent, "paper", 40)] == ["example"]


def test_classifier_on_rendered_pages_agrees_with_its_labels(rendered_file: Path) -> None:
    (site,) = load_sites(rendered_file, "paper", 40)
    (result,) = per_site([site], spelled_out(["all"]), 4)
    assert result.agreement.f1 == 1
    assert result.gold is None


SLOW = {
    name: pytest.param(name, marks=pytest.mark.thorough) for name in ("learning-curve", "features")
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [SLOW.get(name, name) for name in EXPERIMENTS])
def test_every_experiment_writes_table_and_chart(
    name: str, example_corpus: Path, tmp_path: Path
) -> None:
    from example_site import ExampleSite

    ExampleSite(9).write(tmp_path / "corpora" / "other")
    ExampleSite(10).write(tmp_path / "corpora" / "third")
    run(
        "experiment",
        name,
        "corpora",
        "-o",
        "out",
        "--labels",
        "paper",
        "--pages",
        "8",
        "--folds",
        "2",
        "--features",
        "tag-path,text-length",
        cwd=tmp_path,
    )
    table = (tmp_path / "out" / f"{name}.md").read_text()
    assert table.count("|") > 12
    assert "truth" in table
    if name not in ("learning-curve", "baselines", "cart"):
        assert "agreement" in table
    assert (tmp_path / "out" / f"{name}.svg").read_text().startswith("<?xml")


@pytest.mark.thorough
@pytest.mark.corpora
def test_table_1_of_paper_is_reproduced_on_rendered_sites(shared: Path) -> None:
    # The fifth file is no site: pages of many, which tables 2 and 3 are about.
    files = [path for path in (shared / "rendered").glob("*.jsonl.gz") if "chaos" not in path.name]
    sites = [site for path in sorted(files) for site in load_sites(path, "paper", 40)]
    assert len(sites) == 4
    for result in per_site(sites, parse_feature_sets(["visual"]), 4):
        assert result.agreement == (1, 1, 1), result.name
