"""What is written of items, and what of it could harm its reader."""

from __future__ import annotations

import csv
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from contentspider.ground.atomic import replacing
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import SafeFormatter
from contentspider.state.files.formats import PAGE_KINDS, Output, cell_text, page_file
from contentspider.state.files.output import JsonLinesWriter
from tests.messages import raises, wording

HOSTILE = "a\x00b\x1b[2J\x0b\ufffe\ud83d\u2028<b>&amp;</b> \r]]>"
ITEMS: list[dict[str, Any]] = [
    {"url": "https://e.org/1", "title": "One", "content": "=1+1", "content_markdown": "# One"},
    {"url": "https://e.org/2", "title": "Two", "content": HOSTILE, "tags": ["x", "y"]},
    {"url": "https://e.org/3", "title": None, "content": "", "my field": {"a": 1}, "n": -1},
]


def write(name: str, folder: Path, items: list[dict[str, Any]] = ITEMS, **options: str) -> str:
    output = Output.parse(f"{folder}/{name}", **options)
    assert output.write(lambda: items) == len(items)
    return "" if output.is_folder else (folder / name).read_bytes().decode()


def test_xml_output_is_well_formed_for_any_text(tmp_path: Path) -> None:
    root = etree.fromstring(write("out.xml", tmp_path).encode())
    assert [item.findtext("url") for item in root] == [item["url"] for item in ITEMS]
    content = root[1].findtext("content")
    assert content is not None
    assert content.endswith("<b>&amp;</b> \r]]>")
    assert "\x1b" not in content
    assert [entry.text for entry in root[1].iterfind("tags/value")] == ["x", "y"]
    assert root[2].findtext("my_field/a") == "1"


def test_csv_cells_are_escaped_against_formulas(tmp_path: Path) -> None:
    starts = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "plain"]
    write("out.csv", tmp_path, [{"url": start, "n": -1} for start in starts])
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["url"] for row in rows] == [*("'" + start for start in starts[:-1]), "plain"]
    assert {row["n"] for row in rows} == {"-1"}, "a number is none"
    rows = list(csv.DictReader(write("all.csv", tmp_path).splitlines(keepends=True)))
    assert list(rows[0]) == ["url", "title", "content", "content_markdown", "tags", "my field", "n"]


@pytest.mark.parametrize(
    "sign", "\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a\u208c\u2212"
)
def test_signs_that_spreadsheets_read_as_plain_ones_are_escaped(tmp_path: Path, sign: str) -> None:
    write("out.csv", tmp_path, [{"url": f"{sign}1"}, {"url": f"'{sign}2"}, {"url": "a"}])
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows == ["url", f"'{sign}1", f"''{sign}2", "a"]
    assert cell_text(rows[1]) == f"{sign}1"


CONTROLS = "".join(map(chr, [*range(32), *range(0x7F, 0xA0), 0x202E]))


@pytest.mark.parametrize("name", ["out.jsonl", "out.json"])
def test_json_output_escapes_control_characters(tmp_path: Path, name: str) -> None:
    text = write(name, tmp_path, [{"content": CONTROLS}])
    assert not set(CONTROLS) & set(text.replace("\n", ""))
    (item,) = json.loads(text) if name == "out.json" else map(json.loads, text.splitlines())
    assert item["content"] == CONTROLS


def test_json_output_has_no_numbers_that_json_lacks(tmp_path: Path) -> None:
    values = {"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": float("-inf")}}
    item = json.loads(write("out.jsonl", tmp_path, [values]), parse_constant=pytest.fail)
    assert item == {"a": None, "b": [None, 1.5], "c": {"d": None}}


def test_json_output_keeps_all_valid_unicode(tmp_path: Path) -> None:
    expected = [
        {key: value.replace("\ud83d", "?") if isinstance(value, str) else value}
        for item in ITEMS
        for key, value in item.items()
    ]
    for items in (
        json.loads(write("out.json", tmp_path)),
        [json.loads(line) for line in write("out.jsonl", tmp_path).split("\n")[:-1]],
    ):
        assert [{key: value} for item in items for key, value in item.items()] == expected
    assert json.loads(write("none.json", tmp_path, [])) == []


def test_markdown_and_text_output_separate_pages(tmp_path: Path) -> None:
    markdown = write("out.md", tmp_path)
    assert markdown.startswith("<https://e.org/1>\n\n# One\n\n---\n\n<https://e.org/2>\n\n")
    text = write("out.txt", tmp_path)
    assert text.startswith("https://e.org/1\nOne\n\n=1+1\n\n" + "=" * 80 + "\n")
    assert not {"\x1b", "\x00", "\x0b"} & {*markdown, *text}


def read_page(item: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
    """Return the front matter and the text of an item's Markdown file."""
    yaml = pytest.importorskip("yaml")
    output = Output.parse(f"{folder}/pages/")
    output.write(lambda: [item])
    path = folder / "pages" / page_file(str(item.get("url") or ""), "md")
    before, head, text = path.read_text("utf-8").split("---\n", 2)
    assert before == ""
    assert text.startswith("\n")
    return yaml.safe_load(head) or {}, text[1:]


def test_markdown_page_begins_with_front_matter(tmp_path: Path) -> None:
    item = {
        "url": "https://e.org/ferry?a=1#b",
        "title": "Ferries",
        "published_at": "2024-03-01",
        "modified_at": "2024-03-02T10:00:00+01:00",
        "author": ["Ann Lee", "Bo: the second"],
        "description": "When they leave.",
        "language": "en-GB",
        "keywords": ["boat"],
        "content": "Ferries\nAt nine.",
        "content_markdown": "# Ferries\n\nAt nine.",
    }
    assert read_page(item, tmp_path) == (
        {
            "title": "Ferries",
            "source": "https://e.org/ferry?a=1#b",
            "date": "2024-03-01",
            "modified": "2024-03-02T10:00:00+01:00",
            "author": ["Ann Lee", "Bo: the second"],
            "description": "When they leave.",
            "language": "en-GB",
        },
        "# Ferries\n\nAt nine.\n",
    )


@pytest.mark.parametrize(
    "title",
    [
        "no",
        "12:30",
        "2024-03-01",
        "null",
        "---",
        "- one",
        "a: b # c",
        "*bold* &anchor !tag %x @y `z`",
        "'single' \"double\" \\back \\u0041 {{ page }} {% raw %}",
        "[a](b) {c: d}, | > ?",
        "😀 Fährzeiten 船",
        "e\u0301 \u202e \ufeff.",
    ],
)
def test_front_matter_values_equal_item_fields(title: str, tmp_path: Path) -> None:
    item = {"url": "https://e.org/", "title": title, "author": [title], "content": "Nine."}
    head, text = read_page(item, tmp_path)
    assert head == {"title": title, "source": "https://e.org/", "author": [title]}
    assert text.startswith("# ")
    assert text.endswith("\n\nNine.\n")


def test_front_matter_escapes_line_breaks_and_omits_empty_values(tmp_path: Path) -> None:
    item = {
        "title": "Ferries\n---\nx: y\u2028\x85\ud83d\x00",
        "description": "\t",
        "author": [],
        "published_at": "",
        "modified_at": None,
        "content": "Nine.",
    }
    head, text = read_page(item, tmp_path)
    assert head == {"title": "Ferries --- x: y \ufffd\ufffd"}
    assert text.endswith("\n\nNine.\n")
    assert read_page({"content": "Nine."}, tmp_path) == ({}, "Nine.\n")


@pytest.mark.parametrize(
    ("content", "markdown", "begins"),
    [
        ("Nine.", "Nine.", "# Ferry \\*times\\*\n\nNine."),
        ("", "", "# Ferry \\*times\\*\n"),
        ("Home\nFerry  *times*\nNine.", "Home\n\n## Ferry \\*times\\*\n\nNine.", "Home"),
        ("Ferry *times* are here.", "Ferry \\*times\\* are here.", "# Ferry"),
        ("", "## Ferry *times*\n\nNine.", "## Ferry"),
    ],
)
def test_title_missing_from_content_becomes_first_heading(
    content: str, markdown: str, begins: str, tmp_path: Path
) -> None:
    item = {"title": "Ferry *times*", "content": content, "content_markdown": markdown}
    assert read_page(item, tmp_path)[1].startswith(begins)
    assert write("all.md", tmp_path, [item]).startswith(begins), "nor in a file of all pages"


ODD: list[dict[str, Any]] = [
    {
        "url": "https://e.org/a b?c=[1]&d='é'",
        "title": 'Tea & "milk"',
        "language": "en",
        "content": 'Tea & "milk" is served.\nHot.\n',
        "1 x": {"a.b-c": [None, 1.5, True], "é": "\r\x85"},
        "-y": ("=a", "b"),
        "mixed": ["a", 1],
    },
    {"n": 0},
]


def test_xml_keeps_names_of_any_script(tmp_path: Path) -> None:
    fields = {"मूल्य": "12", "किनारा": "13", 'a"b<': "14"}
    root = etree.fromstring(write("out.xml", tmp_path, [fields]).encode())
    assert {each.get("name"): each.text for each in root[0]} == fields


def test_each_format_writes_items_with_special_characters(tmp_path: Path) -> None:
    assert write("out.xml", tmp_path, ODD) == (
        '<?xml version="1.0" encoding="utf-8"?>\n<items>\n'
        "<item><url>https://e.org/a b?c=[1]&amp;d='é'</url><title>Tea &amp; \"milk\"</title>"
        '<language>en</language><content>Tea &amp; "milk" is served.\nHot.\n</content>'
        '<_1_x name="1 x"><a.b-c><value></value><value>1.5</value><value>True</value></a.b-c>'
        '<_ name="é">&#13;\x85</_></_1_x><_-y name="-y"><value>=a</value><value>b</value></_-y>'
        "<mixed><value>a</value><value>1</value></mixed></item>\n<item><n>0</n></item>\n</items>\n"
    )
    assert write("out.csv", tmp_path, ODD) == (
        "url,title,language,content,1 x,'-y,mixed,n\r\n"
        'https://e.org/a b?c=[1]&d=\'é\',"Tea & ""milk""",en,"Tea & ""milk"" is served.\nHot.\n",'
        '"{""a.b-c"": [null, 1.5, true], ""é"": ""\\r\\u0085""}","\'=a, b","[""a"", 1]",\r\n'
        ",,,,,,,0\r\n"
    )
    text = 'Tea & "milk" is served.\nHot.\n'
    head = "https://e.org/a b?c=[1]&d='é'\n\n"
    assert write("out.txt", tmp_path, ODD) == f"{head}{text}\n{'=' * 80}\n\n\n"
    assert write("out.md", tmp_path, ODD) == (
        f"<https://e.org/a%20b?c=[1]&d='%C3%A9'>\n\n# Tea & \"milk\"\n\n{text}\n---\n\n\n"
    )
    assert write("out.json", tmp_path, ODD[1:] * 2) == '[\n{"n": 0},\n{"n": 0}\n]\n'
    assert write("out.JL", tmp_path, ODD[1:] * 2) == '{"n": 0}\n{"n": 0}\n'
    write("lines/", tmp_path, [{"url": "x", "made": Path("a")}], page_kind="json")
    (line,) = (tmp_path / "lines").iterdir()
    assert (line.name[:2], line.read_bytes()) == ("x-", b'{"url": "x", "made": "a"}\n')


def test_html_page_is_built_from_plain_item_text(tmp_path: Path) -> None:
    write("pages/", tmp_path, ODD, page_kind="html")
    empty, page = sorted((tmp_path / "pages").iterdir(), key=lambda path: path.stat().st_size)
    assert empty.name == "page-e3b0c44298fc.html"
    assert empty.read_text("utf-8").startswith("<!DOCTYPE html>\n<html>\n<head>\n")
    assert page.read_text("utf-8") == (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<title>Tea &amp; &quot;milk&quot;</title>\n"
        '<link rel="canonical" href="https://e.org/a b?c=[1]&amp;d=&#x27;é&#x27;">\n'
        "</head>\n<body>\n<p>Tea &amp; &quot;milk&quot; is served.</p>\n<p>Hot.</p>\n<p></p>\n"
        "</body>\n</html>\n"
    )


def test_title_at_start_of_content_is_not_repeated(tmp_path: Path) -> None:
    items = [{"url": "u", "title": "Tea", "content": text} for text in ("Tea is.", "Hot.")]
    found = write("out.txt", tmp_path, items)
    assert found == f"u\n\nTea is.\n\n{'=' * 80}\n\nu\nTea\n\nHot.\n"


@pytest.mark.parametrize("kind", PAGE_KINDS)
def test_folder_output_writes_one_file_per_page_inside_folder(kind: str, tmp_path: Path) -> None:
    urls = [
        "https://e.org/a",
        "https://e.org/a/",
        "https://e.org/A",
        "https://e.org/a?b",
        "https://e.org/../../../etc/passwd",
        "https://e.org/%2e%2e%2f%00x",
        "https://e.org/" + "x" * 3_000,
        "https://e.org/" + "%E4%BD%A0" * 300,
        "../x",
        "..",
        "",
        "con",
        "\ud83d",
        "http://[x",
    ]
    write(
        "pages/",
        tmp_path,
        [{"url": url, "content": f"<script>{url}"} for url in urls],
        page_kind=kind,
    )
    files = list(tmp_path.rglob("*"))
    assert len(files) == 1 + len(urls)
    assert all(file.parent == tmp_path / "pages" for file in files if file.is_file())
    assert all(file.suffix == "." + kind for file in files if file.is_file())
    if kind == "html":
        assert not any("<script" in file.read_text() for file in files if file.is_file())
    before = sorted(files)
    write("pages/", tmp_path, [{"url": urls[0], "content": "new"}], page_kind=kind)
    assert sorted(tmp_path.rglob("*")) == before, "a page has the same file again"


def test_html_page_contains_content_html_of_item(tmp_path: Path) -> None:
    item = {"url": "https://e.org/1", "title": "A<b>", "content_html": "<p>x <code>y</code></p>"}
    write("pages/", tmp_path, [item], page_kind="html")
    (file,) = (tmp_path / "pages").iterdir()
    html = file.read_text()
    assert "<p>x <code>y</code></p>" in html
    assert "<title>A&lt;b&gt;</title>" in html


def test_failed_write_keeps_previous_output(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("yesterday's")

    def broken() -> Any:
        yield ITEMS[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(ContentSpiderError, match="No space left on device"):
        Output.parse(f"{tmp_path}/out.csv").write(broken)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "yesterday's"
    with pytest.raises(KeyError), replacing(tmp_path / "out.csv"):
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.xlsx", "names no format"),
        ("there.txt/out.csv", "there.txt cannot be created"),
        ("folder.csv", "it is a folder"),
        (
            "out",
            wording("state.formats") + " .jsonl, .json, .csv, .xml, .md, .txt, .parquet, .jl,",
        ),
        ("x" * 300, "File name too long"),
        ("a\0b", "null byte"),
    ],
)
def test_invalid_output_path_raises_error(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.txt").touch()
    with pytest.raises(ContentSpiderError, match=message):
        Output.parse(f"{tmp_path}/{name}")


def test_read_only_output_folder_raises_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(ContentSpiderError, match="is read-only for you"):
        Output.parse(f"{tmp_path}/out.csv")


def test_page_file_names_are_stable() -> None:
    assert page_file("https://example.org/a/b?c=1", "md").startswith("example.org-a-b-c-1-")
    for url, name in (
        ("https://e.org/" + "x" * 200, f"e.org-{'x' * 114}-3a9e7cfad18e.md"),
        ("https://e.org/a%20_b.c._d/", "e.org-a-b.c-d-fbeacafaf9ff.md"),
        ("e.org/é\ud83d", "e.org-é-efacc12c12a6.md"),
    ):
        assert page_file(url, "md") == name


def test_log_messages_hide_passwords_and_control_characters() -> None:
    record = logging.makeLogRecord(
        {"msg": "%s \x1b]0;x\x07\x9b2J \u202e", "args": ("http://me:secret@e.org/\x1b[2J",)}
    )
    told = SafeFormatter("%(message)s").format(record)
    assert told == "http://***@e.org/\ufffd[2J \ufffd]0;x\ufffd\ufffd2J \ufffd"


def test_output_is_truncated_to_last_commit_and_lost_file_is_rewritten(
    tmp_path: Path,
) -> None:
    out, partial = tmp_path / "out.jsonl", tmp_path / ".out.jsonl.partial"
    out.write_bytes(b"yesterday")
    writer = JsonLinesWriter(out, None, [])
    writer.write(b"one")
    mark = writer.mark()
    writer.write(b"two")
    writer.mark()
    writer._file.write(b"half of a li")
    writer.close()
    again = JsonLinesWriter(out, mark, [b"one"])
    again.write(b"three")
    again.mark()
    again.close()
    assert partial.read_bytes() == b"one\nthree\n"
    partial.write_bytes(b"")
    last = JsonLinesWriter(out, mark, [b"one"])
    assert out.read_bytes() == b"yesterday", "until the crawl has come to its end"
    last.publish()
    last.close()
    assert out.read_bytes() == b"one\n"
    assert list(tmp_path.iterdir()) == [out]


def test_error_of_full_disk_names_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    writer = JsonLinesWriter(tmp_path / "out.jsonl", None, [])
    writer.write(b"one")
    monkeypatch.setattr("os.fsync", full)
    for step in (writer.sync, writer.publish):
        with pytest.raises(OSError, match="No space left") as raised:
            step()
        assert str(writer.partial) in str(raised.value)
    writer.close()


def test_partial_output_is_resumed_only_if_its_end_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.state.files.output.END_BYTES", 8)
    out, partial = tmp_path / "out.jsonl", tmp_path / ".out.jsonl.partial"
    writer = JsonLinesWriter(out, None, [b"one", b"two", b"six"])
    assert writer.path == out
    mark = writer.mark()
    assert mark[0] == 12 and len(mark[1]) == 32
    writer.write(b"after")
    writer.close()
    for content, expected in (
        (b"ONE\ntwo\nsix\n", b"ONE\ntwo\nsix\nnew\n"),
        (b"one\nTwo\nsix\n", b"all\nnew\n"),
        (b"one\ntwo\nsix", b"all\nnew\n"),
    ):
        partial.write_bytes(content)
        again = JsonLinesWriter(out, mark, [b"all"])
        again.write(b"new")
        again.close()
        assert partial.read_bytes() == expected


def test_output_file_has_one_writer_and_folder_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    writer = JsonLinesWriter(path, None, [])
    with raises(ContentSpiderError, "output-busy", path):
        JsonLinesWriter(path, None, [])
    with ThreadPoolExecutor(1) as thread:
        thread.submit(writer.close).result()
    JsonLinesWriter(path, None, []).close()
    with raises(ContentSpiderError, "output-file", tmp_path, "it is a folder"):
        JsonLinesWriter(tmp_path, None, [])

    def broken() -> Any:
        yield b"one"
        raise OSError(28, "No space left on device")

    with pytest.raises(ContentSpiderError, match=rf"{path} cannot be written: No space left"):
        JsonLinesWriter(path, None, broken())
    JsonLinesWriter(path, None, []).close()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_unwritable_output_folder_raises_error() -> None:
    path = Path("/proc/x.jsonl")
    with pytest.raises(ContentSpiderError, match="no file can be made in /proc"):
        JsonLinesWriter(path, None, [])


def test_output_argument_is_parsed_as_file_or_folder(tmp_path: Path) -> None:
    for name in ("there", "there.md"):
        (tmp_path / name).mkdir()
    for name in ("new/", "there", "there/", "there.md/", "new.csv/"):
        found = Output.parse(f"{tmp_path}/{name}", "txt")
        assert found == Output(tmp_path / name, "txt", is_folder=True)
    assert Output.parse(f"{tmp_path}/a.JSON", "txt") == Output(tmp_path / "a.JSON", "json", False)
    assert Output.parse(f"{tmp_path}/new/").kind == "md"
    output = Output(tmp_path / "none" / "new", "md", is_folder=True)
    with pytest.raises(ContentSpiderError, match="none/new cannot be created: No such file"):
        output.write(list)


def test_missing_output_folder_is_created(tmp_path: Path) -> None:
    for name in ("items/today/out.jsonl", "items/pages/"):
        Output.parse(f"{tmp_path}/{name}")
    assert (tmp_path / "items" / "today").is_dir()
