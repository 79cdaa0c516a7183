"""Annotation: what is read, what is labelled, and what is left behind."""

from __future__ import annotations

import csv
import importlib.util
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contentspider.ground.errors import ContentSpiderError, FieldsError
from contentspider.page.input.fields_file import FieldsFile
from contentspider.page.input.page import Page
from contentspider.site.scores import text_score
from contentspider.web.annotate.files import (
    MAIN_CLASS,
    add_main_class,
    read_blocks,
    start_tags,
    write_blocks,
)
from contentspider.web.annotate.frame import Frame
from contentspider.web.annotate.labels import Label, LabelError
from contentspider.web.annotate.session import Session, add_selector, find_exact_selector
from contentspider.web.annotate.sources import SitePages, collect
from tests.conftest import CORPORA, read_jsonl, run
from tests.sites import prose

HEADLESS = '<div class="text{more}"><p>{first}</p><p>{second}</p></div><p class=ad>{advert}</p>'


def body(number: int) -> str:
    text = HEADLESS.format(
        more=" wide" * (number % 2), first=prose(number), second=prose(number, 2), advert="Buy now!"
    )
    return f"<title>Page {number}</title><body><nav><a href=/>Home</a></nav>{text}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "example.org"
    pages.mkdir()
    for number in range(12):
        (pages / f"{number}.html").write_text(body(number))
    return pages


def session(folder: Path, tmp_path: Path) -> Session:
    collected = collect(str(folder), tmp_path / "annotations", 100)
    return Session(collected, tmp_path / "models" / collected.site, tmp_path / "fields.toml")


def number_of(one: Session, page: int, text: str) -> int:
    return next(n for n, row in enumerate(one.state(page)["blocks"]) if text in row["text"])


# Labels, and what is said of a place on the whole site


def test_place_label_applies_to_whole_site_and_corrects_model(folder: Path, tmp_path: Path) -> None:
    one = session(folder, tmp_path)
    advert = number_of(one, 0, "Buy")
    one.finish(1)
    said = one.label_place(0, advert, Label("main"))
    assert said == "12 blocks on 12 pages: main; keep p.ad"
    for page in range(12):
        assert one.state(page)["blocks"][number_of(one, page, "Buy")]["label"] == "main"
    overrides = tmp_path / "models" / "example.org" / "overrides.toml"
    assert overrides.read_text() == 'keep = ["p.ad"]\n'
    [gold] = read_jsonl(one.folder / "gold.jsonl")
    assert gold["text"].endswith("Buy now!"), "what was saved before is saved again"
    one.undo()
    assert not overrides.exists()
    assert one.state(5)["blocks"][number_of(one, 5, "Buy")]["label"] == "noise"
    assert not read_jsonl(one.folder / "gold.jsonl")[0]["text"].endswith("Buy now!")


def test_exact_selector_selects_only_labelled_blocks() -> None:
    page = b"<div id=a><p class=x>One two<p>Three<div><p class=x>Four</div></div><p class=x>Five"
    blocks = [block.text for block in Page.from_html(page).content.blocks]
    assert blocks == ["One two", "Three", "Four", "Five"]
    assert find_exact_selector("body/div#a/p.x", [(page, {0})]) == "div#a > p.x"
    assert find_exact_selector("body/div#a/p.x", [(page, {0, 2})]) == "div#a p.x"
    assert find_exact_selector("body/div#a/p.x", [(page, {1})]) == ""
    assert find_exact_selector("body", [(page, {0})]) == ""
    numbered = b"<p class=b-103>One two<p class=b-104>Three"
    assert find_exact_selector("body/p.b-103", [(numbered, {0})]) == "p.b-103"
    assert find_exact_selector("body/p.b-0", [(numbered, {0})]) == "", "any number"


def test_comments_in_overrides_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "overrides.toml"
    path.write_text('# mine\ndrop = [".ad"]  # all\n\n[[rule]]\npattern = "/a/*"\nkeep = [".b"]\n')
    first = add_selector(tmp_path, "p.x", "keep")
    add_selector(tmp_path, "p.x", "drop")
    add_selector(tmp_path, "p.x", "drop")
    text = path.read_text()
    assert "# mine" in text and 'drop = [".ad", "p.x"]  # all' in text and "keep = []" in text
    assert not first.undo()
    assert path.read_text() == text, "it was changed since"
    assert replace(first, after=text.encode()).undo()
    assert path.read_bytes() == first.before
    path.write_text("keep = 1")
    with pytest.raises(ContentSpiderError, match=r"overrides\.toml"):
        add_selector(tmp_path, "p.x", "keep")
    assert path.read_text() == "keep = 1"


def shop(tmp_path: Path) -> Path:
    pages = tmp_path / "shop.org"
    pages.mkdir()
    for number in range(12):
        price = f"<p class=price>Price: {100 + number},50 EUR</p>"
        (pages / f"{number}.html").write_text(body(number) + price)
    return pages


def test_marked_values_become_examples_and_are_shown_on_all_pages(tmp_path: Path) -> None:
    file = tmp_path / "fields.toml"
    file.write_text('# mine\n[shelf]\nmeta = "shelf"  # by a selector\n')
    one = session(shop(tmp_path), tmp_path)
    numbers = [int(one.state(page)["path"].partition(".")[0]) for page in range(12)]
    before = file.read_text()
    one.mark_value(0, "price", "number", f" {100 + numbers[0]},50\n EUR")
    assert file.read_text() == before, "one example teaches nothing"
    assert one.state(0)["fields"] == []
    message = one.mark_value(1, "price", "number", f"{100 + numbers[1]},50 EUR")
    assert "12 of 12" in message
    text = file.read_text()
    assert text.startswith(before)
    written = FieldsFile.load(file).with_examples[0]
    assert (written.kind, {example.url for example in written.examples}) == (
        "number",
        {f"{numbers[0]}.html", f"{numbers[1]}.html"},
    )
    for page in range(12):
        state = one.state(page)
        (shown,) = state["fields"]
        assert (shown["name"], shown["value"]) == ("price", 100.5 + numbers[page])
        assert state["blocks"][shown["block"]]["text"].startswith("Price")
    # A later session shows the values at once. The second value of a page replaces the first.
    again = session(tmp_path / "shop.org", tmp_path)
    assert again.state(5)["field_types"] == {"price": "number"}
    assert len(again.state(5)["fields"]) == 1
    again.mark_value(1, "price", "number", "7 EUR")
    assert len(FieldsFile.load(file).with_examples[0].examples) == 2


def test_examples_are_replaced_however_their_addresses_are_written(tmp_path: Path) -> None:
    folder, file = shop(tmp_path), tmp_path / "fields.toml"
    example = '{{url = "http://shop.org/{0}/", value = "{1},50 EUR"}}'
    examples = ", ".join(example.format(number, 100 + number) for number in (0, 1))
    file.write_text(f'[price]\ntype = "number"\nexamples = [{examples}]\n')
    addresses = {f"{number}.html": f"https://shop.org/{number}" for number in range(12)}
    collected = replace(collect(str(folder), tmp_path / "out", 200, ""), addresses=addresses)
    one = Session(collected, tmp_path / "models", file)
    paths = [one.state(page)["path"] for page in range(12)]
    assert [field["name"] for field in one.state(paths.index("5.html"))["fields"]] == ["price"]
    one.mark_value(paths.index("0.html"), "price", "number", "7 EUR")
    values = {example.url: example.value for example in FieldsFile.load(file).fields[0].examples}
    assert values == {"http://shop.org/0/": "7 EUR", "http://shop.org/1/": "101,50 EUR"}


def test_undo_takes_examples_back_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fields.toml"
    before = b'\xef\xbb\xbf# mine\r\n[shelf]\r\nmeta = "shelf"\r\n'
    file.write_bytes(before)
    one = session(shop(tmp_path), tmp_path)
    one.mark_value(0, "price", "number", "1 EUR")
    one.mark_value(1, "price", "number", "2 EUR")
    first = file.read_bytes()
    one.label(0, [0], Label("unsure"))
    one.mark_value(2, "price", "number", "3 EUR")
    assert file.read_bytes() != first
    assert one.undo()
    assert file.read_bytes() == first
    one.undo()
    assert file.read_bytes() == first, "only the label was undone"
    assert one.state(0)["blocks"][0]["label"] != "unsure"
    one.undo()
    assert file.read_bytes() == before
    assert one.state(0)["field_types"] == {"price": "number"}, "the first example is there"
    one.undo()
    assert one.state(0)["field_types"] == {}
    assert one.undo() == ""
    assert file.read_bytes() == before


def test_undo_keeps_manual_changes_of_fields(tmp_path: Path) -> None:
    file = tmp_path / "fields.toml"
    one = session(shop(tmp_path), tmp_path)
    for page in (0, 1):
        one.mark_value(page, "price", "number", f"{page} EUR")
    text = file.read_text()
    file.write_text(text + "# mine\n")
    assert str(file) in one.undo()
    assert file.read_text() == text + "# mine\n"
    assert one.state(0)["field_types"] == {"price": "number"}
    one.mark_value(2, "price", "number", "2 EUR")
    file.unlink()
    assert str(file) in one.undo(), "the file is not written again"
    assert not file.exists()


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("shelf", "text", "A1"),  # a field by a selector
        ("two words", "text", "A1"),
        ("price", "number", "none"),
        ("price", "colour", "A1"),
    ],
)
def test_value_that_cannot_be_an_example_is_refused(
    tmp_path: Path, name: str, kind: str, value: str
) -> None:
    file = tmp_path / "fields.toml"
    file.write_text('[shelf]\nmeta = "shelf"\n')
    one = session(shop(tmp_path), tmp_path)

    def mark_twice() -> None:
        one.mark_value(0, name, kind, value)
        one.mark_value(1, name, kind, f"{value}2")

    with pytest.raises(FieldsError):
        mark_twice()
    assert file.read_text() == '[shelf]\nmeta = "shelf"\n'


def test_invalid_labels_change_nothing(folder: Path, tmp_path: Path) -> None:
    one = session(folder, tmp_path)
    before = one.state(0)
    for blocks, label in [
        ([99], Label("main")),
        ([-1], Label("main")),
        ([0], Label("good")),
        ([0], Label("noise", 8)),
    ]:
        with pytest.raises(LabelError):
            one.label(0, blocks, label)
    assert one.state(0) == before
    one.undo()  # there is nothing
    assert one.state(0) == before


def test_undo_reverts_changes_one_by_one(folder: Path, tmp_path: Path) -> None:
    one = session(folder, tmp_path)
    names = lambda: [row["label"] for row in one.state(0)["blocks"]]
    first = names()
    one.label(0, [0, 1], Label("unsure"))
    second = names()
    one.label_place(0, number_of(one, 0, "Buy"), Label("main"))
    one.label(0, [1], Label("noise", 2))
    one.undo()
    one.undo()
    assert names() == second
    one.undo()
    assert names() == first


# What is left behind


def test_saved_annotations_form_corpus(folder: Path, tmp_path: Path) -> None:
    one = session(folder, tmp_path)
    for page in range(10):
        one.label(page, [number_of(one, page, "Home")], Label("noise", 2))
        one.label(page, [number_of(one, page, "Buy")], Label("unsure"))
        one.finish(page)
    gold = read_jsonl(one.folder / "gold.jsonl")
    assert len(gold) == 10
    assert {row["optional_text"] for row in gold} == {"Buy now!"}
    done = run("evaluate", "annotations", "-o", "out.jsonl", cwd=tmp_path)
    assert "example.org: 10 pages, F1 1.0000 (1.000 to 1.000)" in done.stderr
    with (one.folder / "blocks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["kind"] for row in rows if row["text"] == "Home"} == {"navigation"}
    marked = (one.folder / "annotated" / gold[0]["path"]).read_bytes()
    assert marked.count(MAIN_CLASS.encode()) == 2
    original = (folder / gold[0]["path"]).read_bytes()
    assert marked.replace(f' class="{MAIN_CLASS}"'.encode(), b"") == original


def test_annotation_score_equals_metric(folder: Path, tmp_path: Path) -> None:
    if not (shared := CORPORA / "score.py").is_file():
        pytest.skip("the shared corpora are not beside the checkout (../shared)")
    spec = importlib.util.spec_from_file_location("score", shared)
    assert spec is not None and spec.loader is not None
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    one = session(folder, tmp_path)
    one.label_place(0, number_of(one, 0, "Buy"), Label("main"))
    for page in range(10):
        one.label(page, [number_of(one, page, prose())] if page > 20 else [0], Label("unsure"))
        one.finish(page)
    run("evaluate", "annotations", "-o", "out.jsonl", cwd=tmp_path)
    texts = {row["path"]: row["text"] for row in read_jsonl(tmp_path / "out.jsonl")}
    differs = False
    for row in read_jsonl(one.folder / "gold.jsonl"):
        given = (texts[row["path"]], row["text"], row["optional_text"])
        assert text_score(*given) == pytest.approx(score.page_score(*given), abs=1e-9)
        differs |= text_score(*given).f1 < 1
    assert differs


def test_saved_annotations_are_restored(folder: Path, tmp_path: Path) -> None:
    one = session(folder, tmp_path)
    one.label(0, [0], Label("noise", 7))
    one.label(0, [1], Label("unsure"))
    one.finish(0)
    path = one.state(0)["path"]
    again = session(folder, tmp_path)
    at = next(page for page in range(12) if again.state(page)["path"] == path)
    assert again.state(at)["blocks"] == one.state(0)["blocks"]
    assert again.done == {at} and again.first == (1 if at == 0 else 0)
    again.undo()
    assert again.state(at)["blocks"] == one.state(0)["blocks"]
    # A page that has changed since is to be looked at again.
    (one.folder / "html" / path).write_text(body(50) + "<p>more")
    assert not session(folder, tmp_path).done
    (one.folder / "blocks.csv").write_text("path,label\r\nx,y\r\n")
    with pytest.raises(ContentSpiderError, match=r"blocks\.csv cannot be read"):
        session(folder, tmp_path)


@pytest.mark.parametrize("text", ["=1+1", "'=1+1", "''-2", "@SUM(1)", "'quoted'"])
def test_annotation_csv_has_no_formulas_and_is_read_back(tmp_path: Path, text: str) -> None:
    row = {"path": "-1.html", "block": 0, "label": "main", "kind": "", "text": text}
    write_blocks(tmp_path / "blocks.csv", [row])
    with (tmp_path / "blocks.csv").open(newline="") as file:
        cells = next(csv.DictReader(file)).values()
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert read_blocks(tmp_path / "blocks.csv") == {"-1.html": [(text, Label("main"))]}


def test_undo_keeps_manual_changes_of_overrides(folder: Path, tmp_path: Path) -> None:
    one = session(folder, tmp_path)
    one.label_place(0, number_of(one, 0, "Buy"), Label("main"))
    overrides = tmp_path / "models" / "example.org" / "overrides.toml"
    overrides.write_text('keep = ["p.ad", ".mine"]\n')
    one.undo()
    assert overrides.read_text() == 'keep = ["p.ad", ".mine"]\n'
    assert one.state(0)["blocks"][number_of(one, 0, "Buy")]["label"] == "noise"


def test_labels_are_restored_only_for_unchanged_blocks(folder: Path, tmp_path: Path) -> None:
    (folder / "0.html").write_text(body(0) + f"<p>{'long ' * 40_000}")
    one = session(folder, tmp_path)
    at = next(page for page in range(12) if one.state(page)["path"] == "0.html")
    one.finish(at)
    assert session(folder, tmp_path).done
    html = one.folder / "html" / "0.html"
    html.write_text(html.read_text().replace("Buy now!", "Buy later!"))
    assert not session(folder, tmp_path).done


def test_page_that_cannot_be_saved_is_not_done(folder: Path, tmp_path: Path) -> None:
    one = session(folder, tmp_path)
    (one.folder / "annotated").write_text("in the way")
    with pytest.raises(ContentSpiderError, match="cannot be written"):
        one.finish(0)
    assert not one.done
    assert not (one.folder / "gold.jsonl").exists()


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (b"<p>One two", b'<p class="@">One two'),
        (b"<P id=x CLASS='a'>One", b"<P id=x CLASS='a @'>One"),
        (b"<p class=a>One", b'<p class="a @">One'),
        (b'<p data-class="b" class="a">One', b'<p data-class="b" class="a @">One'),
        (b'<p title="class=x">One', b'<p class="@" title="class=x">One'),
        (b'<p\n class = "a" >One', b'<p\n class = "a @" >One'),
        (
            b"<!-- <p> --><script>'<p>'</script><p>One",
            b"<!-- <p> --><script>'<p>'</script><p class=\"@\">One",
        ),
        (b"<title>1</title><p>One", b'<title>1</title><p class="@">One'),
        (
            "<meta charset=latin-1><p>Café".encode("latin-1"),
            '<meta charset=latin-1><p class="@">Café'.encode("latin-1"),
        ),
        ("<p>Tea 茶".encode(), '<p class="@">Tea 茶'.encode()),
        ("<p>Tea 茶".encode("utf-16"), '<p class="@">Tea 茶'.encode()),
        (b"<div>One<p>Two</p></div>", b'<div class="@">One<p class="@">Two</p></div>'),
        (b"<![odd <p>One", None),
    ],
)
def test_marking_adds_only_class_attribute(html: bytes, expected: bytes | None) -> None:
    page = Page.from_html(html).content
    found = add_main_class(html, page, np.full(len(page.blocks), fill_value=True))
    wanted = (expected or html).replace(b"$", b' class="@"').replace(b"@", MAIN_CLASS.encode())
    assert found == wanted or expected is None


def test_tag_with_many_attributes_is_marked_quickly() -> None:
    """A pattern of the whole tag took twice as long for each attribute."""
    html = b"<p " + b"a=b/ " * 900 + b">One"
    page = Page.from_html(html).content
    marked = add_main_class(html, page, np.array([True]))
    assert marked == html.replace(b"<p", f'<p class="{MAIN_CLASS}"'.encode())


def test_element_containing_noise_is_not_marked_main() -> None:
    html = b"<div>One<br><br>Two</div><p>Three"
    page = Page.from_html(html).content
    marked = add_main_class(html, page, np.array([True, False, True]))
    assert marked == html.replace(b"<p>", f'<p class="{MAIN_CLASS}">'.encode())


# The frame


def test_preview_frame_shows_styles_without_active_content(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "style.css").write_text("p { color: red }")
    (tmp_path / "a" / "x.png").write_bytes(b"png")
    (tmp_path.parent / "secret.css").write_text("secret")
    html = (
        b"<base href=//evil.org/><link rel=stylesheet href=../style.css>"
        b"<link rel=stylesheet href=../../secret.css><link rel=stylesheet href=//evil.org/x.css>"
        b"<meta http-equiv=refresh content=0><style>p { top: 0 }</style><script>1</script>"
        b"<p style='left: 0' onclick=x()>One <a href=/>two</a><img src=x.png><img src=y.png>"
        b"<img src=http://evil.org/z.png><iframe src=/></iframe><form action=/x><input autofocus>"
    )
    page = Page.from_html(html).content
    shown = Frame(tmp_path).html(html, "a/page.html", page)
    for kept in ("/asset/style.css", "/asset/a/x.png", "top: 0", "left: 0", "One"):
        assert kept in shown
    gone = "evil.org script onclick secret y.png iframe action= autofocus refresh base"
    for each in gone.split():
        assert each not in shown
    remote = Frame(tmp_path, is_remote=True).html(html, "a/page.html", page)
    assert "http://evil.org/z.png" in remote
    frame = Frame(tmp_path)
    assert frame.asset("style.css") == (b"p { color: red }", "text/css")
    for name in ("../secret.css", "a", "a/none.png", "style.css\0", "page.html"):
        assert frame.asset(name) is None
    assert Frame(None).asset("style.css") is None


def test_collected_folder_without_text_raises_error(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "a.html").write_text("<p>")
    with pytest.raises(ContentSpiderError, match="has any text"):
        Session(SitePages("x", tmp_path), tmp_path / "models", tmp_path / "fields.toml")


def test_start_tags_are_not_in_comments_scripts_and_values() -> None:
    text = (
        "<!DOCTYPE html><html><p class='a > b'>1<!-- <p> --><!--><P/><SCRIPT>'<p>'</Script ><br"
        '\nid="x>y" =><style><p></style><?x <p?>2 < 3<p a=b>c</p><a "<b>d<p'
    )
    tags = ["<p class='a > b'>", "<P/>", '<br\nid="x>y" =>', "<p a=b>", '<a "<b>']
    assert [tag for _, tag in start_tags(text)] == tags
    assert all(text.startswith(tag, offset) for offset, tag in start_tags(text))


@pytest.mark.parametrize("part", ["<", "<a ", "<!--", "<!-- >", "<script>", "<a b='", "<?", "</a "])
def test_unfinished_tags_take_no_time(part: str) -> None:
    begin = time.process_time()
    start_tags(part * 100_000)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("part", [" ", "/", "= "])
def test_long_gaps_in_tags_take_no_time(part: str) -> None:
    tag = f"<a b={part * 50_000}>"
    begin = time.process_time()
    assert start_tags(f"<p>{tag}") == [(0, "<p>"), (3, tag)]
    assert time.process_time() - begin < 1


# Requests


BROKEN = (
    '{"blocks": [0], "label": "main", "kind": 1e999}',
    '{"blocks": [-1e999], "label": "main"}',
    '{"blocks": [0], "label": "\\ud800"}',
    '{"name": "price", "type": "\\ud800", "value": "1"}',
    '{"name": "price", "type": "text", "value": "\\ud800"}',
    '{"blocks": ' + "[" * 60_000,
    "[" * 3_000,
    "1" * 5_000,
    "null",
    "{",
    "\x00",
)


def test_broken_json_is_a_bad_request(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("httpx2")
    from starlette.testclient import TestClient

    from contentspider.web.annotate.app import make_app

    app = make_app(session(folder, tmp_path), Frame(None), ["testserver"])
    with TestClient(app, raise_server_exceptions=False) as client:
        before = client.get("/api/page/0").json()
        for action in ("label", "place", "field"):
            for body in BROKEN:
                answer = client.post(f"/api/page/0/{action}", content=body)
                assert answer.status_code in (400, 404), (action, body[:50])
                assert answer.json()["error"]
        assert client.get("/api/page/0").json() == before
