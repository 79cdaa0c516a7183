"""The data set: its columns, its rows, and the files that they are written to."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from researching import run
from test_featuresets import rendered

from contentspider.ground.errors import ContentSpiderError
from contentspider_research.dataset.dataset import read_records, write_dataset
from contentspider_research.dataset.records import COLUMNS
from contentspider_research.dataset.sources import find_sources
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider_research.dataset.records import Record

RAW = (
    "site url title meta_description doc_dom_depth ancestors_names ancestors_ids ancestors_classes"
    " siblings_names siblings_ids siblings_classes nearest_header normalized_top normalized_bottom"
    " is_middle is_leftmost is_rightmost num_siblings distance_to_root tag_name element_id"
    " class_name children_names children_ids children_classes image_url image_alt rect_size"
    " num_child_elements dom_subtree_depth inner_text child_text"
).split()
DERIVED = (
    "is_desc_a is_sib_a is_sib_input is_sib_img is_desc_nav is_desc_ad is_desc_comment is_desc_main"
    " is_desc_footer is_desc_wrapper is_desc_aside is_nav is_ad is_comment is_main is_footer"
    " is_wrapper is_aside contains_rights_reserved contains_like contains_share inner_text_length"
    " child_text_length has_children is_link is_uppermost_or_bottommost is_on_side is_thumbnail"
).split()
OURS = (
    "words words_in_links links density words_per_link link_ratio stop_word_ratio"
    " under_noise_header slot cluster relevance contrast prior vote label label_source"
).split()


def of_page(folder: Path, html: str, **options: str) -> list[Record]:
    (folder / "page.html").write_text(html, encoding="utf-8")
    return list(read_records(find_sources(folder), **options))


def find(records: list[Record], **known: object) -> Record:
    (found,) = [
        record for record in records if all(record[name] == value for name, value in known.items())
    ]
    return found


def test_dataset_columns_are_thesis_derived_and_own_columns(tmp_path: Path) -> None:
    names = list(COLUMNS)
    assert names[: len(RAW)] == RAW
    derived = names[len(RAW) : -len(OURS)]
    assert [name for name in derived if name in DERIVED] == DERIVED
    assert set(derived) - set(DERIVED) == {
        *("is_sib_p", "is_desc_cookies", "is_cookies", "is_desc_section", "is_section"),
        *("has_child_a", "has_child_img", "has_child_p"),
    }
    assert names[-len(OURS) :] == OURS
    for record in of_page(tmp_path, "<h1>Tea</h1><p>Tea is made of leaves."):
        assert list(record) == names


def test_dataset_row_matches_example_of_thesis(tmp_path: Path) -> None:
    html = (
        "<body><div id=comments-section><div class=comment><div class=comment-header><ul>"
        "<li>Author name.</li></ul></div></div></div></body>"
    )
    record = find(of_page(tmp_path, html), tag_name="li")
    assert record["ancestors_names"] == "div,div,div,ul"
    assert record["ancestors_ids"] == "comments-section,,,"
    assert record["ancestors_classes"] == ",comment,comment-header,"
    assert (record["is_desc_comment"], record["is_desc_cookies"]) == (1, 0)
    assert record["inner_text_length"] == 2


HTML = (
    "<html lang=en><title>Tea - Example</title><meta name=description content='All of tea'>"
    "<body><h1>Tea</h1><div id=main class='b  a'><h2>Leaves</h2><p class=lead id=first>Tea is <i>of"
    "</i> <a href=/x>green leaves</a><img></p><input><!-- no element --><p>More</p></div>"
    "<div><h3>Related</h3><ul><li><a href=/y>All of it</a><li>Share</ul></div>"
)


def test_dataset_row_describes_surroundings_of_element(tmp_path: Path) -> None:
    records = of_page(tmp_path, HTML)
    assert [record["tag_name"] for record in records] == (
        ["h1", "div", "h2", "p", "p", "div", "h3", "ul", "li", "li"]
    )
    first = find(records, element_id="first")
    assert {name: first[name] for name in RAW if first[name] is not None} == {
        "site": tmp_path.name,
        "url": "page.html",
        "title": "Tea - Example",
        "meta_description": "All of tea",
        "doc_dom_depth": 5,
        "ancestors_names": "div",
        "ancestors_ids": "main",
        "ancestors_classes": "b a",
        "siblings_names": "h2,input,p",
        "siblings_ids": ",,",
        "siblings_classes": ",,",
        "nearest_header": "Tea",
        "num_siblings": 3,
        "distance_to_root": 3,
        "tag_name": "p",
        "element_id": "first",
        "class_name": "lead",
        "children_names": "i,a,img",
        "children_ids": ",,",
        "children_classes": ",,",
        "num_child_elements": 3,
        "dom_subtree_depth": 1,
        "inner_text": "Tea is of green leaves",
        "child_text": "Tea is",
    }
    yes = {name for name, kind in COLUMNS.items() if kind == "truth" and first[name] == 1}
    assert yes == {
        *("is_sib_input", "is_sib_p", "is_desc_main", "has_child_a", "has_child_img"),
        "has_children",
    }
    assert [first[name] for name in OURS[:8]] == [5, 2, 1, 0.384615, 2, 0.4, 0.4, 0]


def test_dataset_rows_know_noise_sections_links_and_nested_elements(tmp_path: Path) -> None:
    records = of_page(tmp_path, HTML)
    listed = find(records, tag_name="ul")
    assert listed["under_noise_header"] == 3
    assert find(records, tag_name="h3")["under_noise_header"] == 0
    assert find(records, inner_text="Related All of it Share")["under_noise_header"] == 0
    assert (listed["inner_text_length"], listed["child_text"], listed["cluster"]) == (4, None, None)
    link, share = (record for record in records if record["tag_name"] == "li")
    assert (link["is_link"], link["link_ratio"], link["contains_share"]) == (1, 1, 0)
    assert (share["is_link"], share["contains_share"], share["is_sib_a"]) == (0, 1, 0)
    assert listed["contains_share"] == 1
    assert share["cluster"] is not None


@pytest.mark.parametrize(
    ("html", "of", "header"),
    [
        ("<h1>a</h1><div><p>x</p></div>", "x", "a"),
        ("<h1>a</h1><p>x</p>", "x", None),  # it is as deep
        ("<h1>a</h1><div>y</div><h2>b</h2><div><p>x</p></div>", "x", "b"),
        ("<div><h1>a</h1><div><div><h2>b</h2></div><p>x</p></div></div>", "x", "a"),
        ("<div><p>x</p></div><h1>a</h1>", "x", "a"),
        ("<p>x</p>", "x", None),
    ],
)
def test_nearest_header_is_less_deeply_nested(html, of, header, tmp_path: Path) -> None:
    assert find(of_page(tmp_path, html), inner_text=of, tag_name="p")["nearest_header"] == header


def test_stop_word_ratio_is_computed_for_english_only(tmp_path: Path) -> None:
    (record,) = of_page(tmp_path, "<html lang=de><p>Der Tee ist in der Kanne")
    assert record["stop_word_ratio"] is None


def test_dataset_lists_are_limited(tmp_path: Path) -> None:
    records = of_page(tmp_path, "<ul>" + "<li>x" * 500 + "</ul>" + "<div>" * 300 + "y")
    listed, middle, deep = records[0], records[300], records[-1]
    assert str(listed["children_names"]).count(",") == 99
    assert (str(middle["siblings_names"]).count(","), middle["num_siblings"]) == (99, 499)
    assert str(deep["ancestors_names"]).count(",") <= 99


def test_dataset_units_may_be_blocks(tmp_path: Path) -> None:
    records = of_page(tmp_path, "<div>a b<p>c</p>d</div>", units="blocks")
    assert [(record["inner_text"], record["tag_name"]) for record in records] == [
        ("a b", "div"),
        ("c", "p"),
        ("d", "div"),
    ]


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Return a folder with a corpus of gold text that is hard to write as CSV."""
    folder = tmp_path / "corpora" / "tea"
    (folder / "html").mkdir(parents=True)
    gold = []
    for number in range(6):
        texts = [prose(number, line) for line in range(3)]
        texts += [
            'He said "tea", she: "milk";\n new line',
            "茶は葉から、作られる。",
            "=SUM(A1:A2)",
            "NA",
        ]
        body = "".join(f"<p>{text}</p>" for text in texts)
        (folder / "html" / f"{number}.html").write_text(
            f"<title>Tea {number}</title><nav><a href=/>Home</a></nav><main>{body}<pre>a\n  b\r\nc"
            "</pre></main>",
            encoding="utf-8",
        )
        if number:
            text = "\n".join([*texts, "a b c"])
            gold.append(json.dumps({"path": f"{number}.html", "text": text}))
    (folder / "gold.jsonl").write_text("\n".join(gold))
    (folder / "site.json").write_text('{"language": "en", "base_url": "https://tea.example/"}')
    return folder.parent


def written(value: object) -> str:
    return "" if value is None else str(value)


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_csv_dataset_is_read_back_unchanged(name: str, corpora: Path, tmp_path: Path) -> None:
    records = list(read_records(find_sources(corpora)))
    assert write_dataset(records, tmp_path / name) == len(records)
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{key: written(value) for key, value in row.items()} for row in records]
    texts = {row["inner_text"] for row in rows}
    assert {'He said "tea", she: "milk"; new line', "茶は葉から、作られる。", "a\n  b\nc"} <= texts
    raw = (tmp_path / name).read_bytes()
    lines = gzip.decompress(raw) if name.endswith(".gz") else raw
    assert lines.count(b"\r\n") == len(records) + 1


def test_pandas_reads_csv_dataset_unchanged(corpora: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    records = list(read_records(find_sources(corpora)))
    write_dataset(records, tmp_path / "rows.csv")
    table = pandas.read_csv(tmp_path / "rows.csv", keep_default_na=False, dtype=str)
    assert list(table.columns) == list(COLUMNS)
    assert table.to_numpy().tolist() == [list(map(written, row.values())) for row in records]


def test_parquet_dataset_is_read_back_unchanged(corpora: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    records = list(read_records(find_sources(corpora)))
    write_dataset(records, tmp_path / "rows.parquet")
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == records


def test_excel_option_escapes_formulas_as_text(corpora: Path, tmp_path) -> None:
    records = list(read_records(find_sources(corpora)))
    for excel, text in ((False, "=SUM(A1:A2)"), (True, "'=SUM(A1:A2)")):
        write_dataset(records, tmp_path / "rows.csv", excel=excel)
        with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert text in {row["inner_text"] for row in rows}
        assert {float(row["contrast"]) for row in rows}  # a number below 0 is no formula


def test_dataset_labels_come_from_gold_votes_paper_or_none(corpora: Path) -> None:
    sources = find_sources(corpora)

    def labels(method: str) -> dict[object, tuple[object, object]]:
        return {
            record["inner_text"]: (record["label"], record["label_source"])
            for record in read_records(sources, method)
            if record["url"] == "1.html"
        }

    gold = labels("gold")
    assert gold == labels("")
    assert (gold["Home"], gold["=SUM(A1:A2)"]) == ((0, "gold"), (1, "gold"))
    assert {source for _, source in labels("votes").values()} == {"votes"}
    assert labels("votes")["Home"] == (0, "votes")
    assert {source for _, source in labels("paper").values()} == {"paper"}
    assert set(labels("none").values()) == {(None, None)}
    (unknown,) = {
        (record["label"], record["label_source"])
        for record in read_records(sources, "gold")
        if record["url"] == "0.html"
    }
    assert unknown == (None, None)


def test_element_is_main_if_half_of_its_words_are(corpora: Path) -> None:
    records = list(read_records(find_sources(corpora), "gold"))
    main = [record for record in records if record["url"] == "2.html"]
    assert find(main, tag_name="main")["label"] == 1
    assert find(main, tag_name="nav")["label"] == 0


def test_rendered_pages_have_box_columns(tmp_path: Path) -> None:
    path = tmp_path / "example.jsonl"
    path.write_text("".join(json.dumps(rendered(number)) + "\n" for number in range(3)))
    records = [record for record in read_records(find_sources(path)) if record["child_text"]]
    assert {record["site"] for record in records} == {"example"}
    assert {record["label_source"] for record in records} == {"votes"}
    home = records[0]
    assert (home["inner_text"], home["tag_name"], home["class_name"]) == ("Home", "a", "c-a")
    assert (home["normalized_top"], home["normalized_bottom"]) == (0.666667, 1)
    assert (home["is_leftmost"], home["is_middle"], home["is_on_side"]) == (1, 0, 1)
    assert home["rect_size"] == 1600
    wide = next(record for record in records if record["rect_size"] == 12800)
    assert (wide["is_middle"], wide["is_leftmost"], wide["is_on_side"]) == (1, 0, 0)


def test_invalid_dataset_sources_and_formats_raise_errors(tmp_path: Path, corpora: Path) -> None:
    with pytest.raises(ContentSpiderError, match="neither corpora nor HTML files"):
        (tmp_path / "empty").mkdir()
        find_sources(tmp_path / "empty")
    with pytest.raises(ContentSpiderError, match="no such file"):
        find_sources(tmp_path / "missing")
    with pytest.raises(ContentSpiderError, match="no gold text here"):
        list(read_records(find_sources(corpora / "tea" / "html"), "gold"))
    with pytest.raises(ContentSpiderError, match="names no format"):
        write_dataset([], tmp_path / "rows.xlsx")
    assert not (tmp_path / "rows.xlsx").exists()


def test_dataset_command_writes_file(corpora: Path, tmp_path: Path) -> None:
    done = run("dataset", "corpora", "-o", "rows.csv", "--units", "blocks", cwd=tmp_path)
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["site"] for row in rows} == {"tea"}
    assert f"{len(rows)} rows -> rows.csv" in done.stderr


PICTURED = (
    "<body><main><h1>Tea</h1><p>Tea is of leaves <img src=/leaf-300x200.jpg alt='A  leaf'></p>"
    "<figure class=ad-box><a href=/big><img data-src=/big.jpg src=data:x width=100 height=50px></a>"
    "</figure></main><aside><img><a href=/x><img src=/icon.png> Home</a></aside>"
)


def test_pictures_are_rows_with_what_is_around_them(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PICTURED, encoding="utf-8")
    sources = find_sources(tmp_path)
    records = list(read_records(sources, "votes", images=True))
    assert [list(record) for record in records] == [list(COLUMNS)] * len(records)
    pictures = [record for record in records if record["tag_name"] == "img"]
    assert len(pictures) == 3, "one has no address"
    assert [record for record in records if record not in pictures] == list(
        read_records(sources, "votes")
    )
    leaf, big, icon = pictures
    assert (leaf["image_url"], leaf["image_alt"]) == ("/leaf-300x200.jpg", "A leaf")
    assert [record["rect_size"] for record in pictures] == [60000, 5000, None]
    assert [record["is_thumbnail"] for record in pictures] == [0, 1, 0]
    assert [record["is_desc_a"] for record in pictures] == [0, 1, 1]
    assert [record["is_desc_aside"] for record in pictures] == [0, 0, 1]
    assert (big["is_desc_ad"], big["ancestors_names"]) == (1, "main,figure,a")
    assert big["image_url"] == "/big.jpg"
    # A picture has the label of the innermost element with text around it.
    labels = {str(record["tag_name"]): record["label"] for record in records}
    assert (leaf["label"], icon["label"]) == (labels["p"], labels["aside"])
    assert leaf["inner_text"] is None and leaf["normalized_top"] is None


def test_corpus_has_geometry_of_its_rendered_pages(tmp_path: Path) -> None:
    """Boxes come from the record of the file; texts and elements from the file itself."""
    (tmp_path / "tea" / "html").mkdir(parents=True)
    html = (
        "<body><main><p>Tea is <i>of leaves</i>.</p><p hidden>None</p></main>"
        "<img src=/a.png><img src=/b.png><img src=/a.png><img data-src=/c.png>"
    )
    for name in ("1.html", "2.html"):
        (tmp_path / "tea" / "html" / name).write_text(html)
    (tmp_path / "tea" / "gold.jsonl").write_text('{"path": "1.html", "text": "Tea is of leaves."}')

    def entry(text: str, box: tuple[int, int, int, int], **more: str) -> dict[str, object]:
        bound = dict(zip(("left", "top", "width", "height"), box, strict=True))
        step = {"name": "p", "id": "", "classes": []}
        return {"selector": [step], "text": [text], "computed": {}, "bound": bound, **more}

    record = {
        "url": "1.html",
        "titles": [],
        "descriptions": [],
        "body": {
            "bound": {"left": 0, "top": 0, "width": 1000, "height": 500},
            "scroll": {"left": 0, "top": 100},
        },
        "texts": [entry("Tea is of leaves.", (100, -50, 200, 60))],
        "images": [
            entry("", (0, 0, 20, 30), src="/a.png"),
            entry("", (0, 300, 40, 10), src="/a.png"),
            entry("", (600, 100, 400, 50), src="/b.png"),
        ],
    }
    with gzip.open(tmp_path / "tea" / "rendered.jsonl.gz", "wt") as file:
        file.write(json.dumps(record))
    records = list(read_records(find_sources(tmp_path), images=True))
    first = [each for each in records if each["url"] == "1.html"]
    place = {name: find(first, tag_name="main")[name] for name in ("normalized_top", "rect_size")}
    assert place == {"normalized_top": round(50 / 600, 6), "rect_size": 12000}
    assert find(first, tag_name="main")["label"] == 1
    pictures = [each for each in first if each["tag_name"] == "img"]
    assert [each["image_url"] for each in pictures] == ["/a.png", "/b.png", "/a.png", "/c.png"]
    assert [each["rect_size"] for each in pictures] == [600, 20000, 400, None]
    assert [each["normalized_top"] for each in pictures] == [
        *(round(top / 600, 6) for top in (100, 200, 400)),
        None,
    ]
    second = [each for each in records if each["url"] == "2.html"]
    assert second and all(each["normalized_top"] is None for each in second)


def test_rendered_pages_have_labels_of_their_gold(tmp_path: Path) -> None:
    path = tmp_path / "example.jsonl.gz"
    record = rendered(0)
    texts = [" ".join(entry["text"]) for entry in record["texts"]]
    longest = max(texts, key=len)
    with gzip.open(path, "wt") as file:
        file.write(json.dumps(record))
    gold = {"url": record["url"], "text": longest}
    (tmp_path / "example.gold.jsonl").write_text(json.dumps(gold))
    blocks = list(read_records(find_sources(tmp_path), units="blocks"))
    assert {each["label_source"] for each in blocks} == {"gold"}
    assert [each["inner_text"] for each in blocks if each["label"]] == [longest]


def test_pictures_of_rendered_pages_have_boxes(tmp_path: Path) -> None:
    def picture(tags: list[str], left: int, top: int, size: int) -> dict[str, object]:
        steps = [{"name": tag, "id": "", "classes": ["c-" + tag]} for tag in tags]
        bound = {"left": left, "top": top, "width": size, "height": size}
        return {"selector": steps, "src": f"/{size}.png", "alt": "Tea\x00", "bound": bound}

    body = {"bound": {"left": 0, "top": 0, "width": 1000, "height": 1000}}
    images = [
        picture(["div", "div", "img"], 400, 100, 300),
        picture(["div", "b", "a", "img"], 0, 990, 10),
    ]
    path = tmp_path / "example.jsonl"
    path.write_text(
        "".join(
            json.dumps({**rendered(number), "body": body, "images": images}) + "\n"
            for number in range(3)
        )
    )
    records = list(read_records(find_sources(path), images=True))
    pictures = [record for record in records if record["tag_name"] == "img"]
    assert len(pictures) == 6
    large, small = pictures[:2]
    assert (large["image_url"], large["image_alt"]) == ("/300.png", "Tea")
    assert [large["rect_size"], small["rect_size"]] == [90000, 100]
    assert (large["normalized_top"], large["normalized_bottom"]) == (0.1, 0.4)
    assert (large["is_middle"], large["is_leftmost"]) == (1, 0)
    assert (small["is_leftmost"], small["is_uppermost_or_bottommost"]) == (1, 1)
    assert [large["is_thumbnail"], small["is_thumbnail"]] == [0, 1]
    assert small["ancestors_names"] == "div,b,a"
    column = next(
        record
        for record in records
        if (record["tag_name"], record["ancestors_names"]) == ("div", "div")
    )
    assert large["label"] == column["label"] is not None


class ConstantPrior:
    """A prior that gives all blocks of a page one probability."""

    def __init__(self, probability: float) -> None:
        self.probability = probability

    def judge_page(self, page: Page) -> tuple[NDArray[np.float32], bool]:
        return np.full(len(page.content.blocks), self.probability, dtype=np.float32), False


def test_each_site_is_judged_by_its_own_prior(tmp_path: Path) -> None:
    for name in ("tea", "ink"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "page.html").write_text("<p>Tea is made of leaves.</p>")
    sources = [source for name in ("tea", "ink") for source in find_sources(tmp_path / name)]
    priors: Any = {"tea": ConstantPrior(0.25), "ink": ConstantPrior(0.75)}
    records = list(read_records(sources, priors=priors))
    assert [(record["site"], record["prior"]) for record in records] == [
        ("tea", 0.25),
        ("ink", 0.75),
    ]
    with pytest.raises(ContentSpiderError, match="no prior for ink"):
        list(read_records(sources, priors={"tea": priors["tea"]}))


def test_cross_fit_dataset_needs_two_sites(corpora: Path, tmp_path: Path) -> None:
    printed = run(
        *("dataset", str(corpora), "--cross-fit", "-o", "rows.csv"), cwd=tmp_path, check=False
    )
    assert printed.returncode == 1
    assert "two sites at least" in printed.stderr
    assert not (tmp_path / "rows.csv").exists()
