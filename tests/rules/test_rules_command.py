"""``contentspider rules``: rules are written, and applied."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import main
from contentspider.rules.standalone import Rules
from contentspider.state.stores.models import ModelStore
from tests.messages import wording
from tests.rules.test_extraction_rules import html, site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., tuple[str, str]]


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a site's pages, in the folder where commands are run."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "e.org"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02}.html").write_text(html(number))
    return folder


@pytest.fixture
def rules(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return what runs the command and returns what it says on both outputs."""

    def call(*arguments: object, code: int = 0) -> tuple[str, str]:
        assert main(["rules", *map(str, arguments)]) == code
        said = capsys.readouterr()
        return said.out, said.err

    return call


def test_rules_of_folder_are_exported_and_applied(
    pages: Path, rules: Command, tmp_path: Path
) -> None:
    xml, said = rules("export", pages)
    found = Rules.parse(xml)
    assert found.site == "e.org"
    assert f"{found.rules[0]}  (12 pages, " in said
    assert "e.org: no model in models; learning one" in said
    assert "agreement with the model 1.000 on pages that were left out" in said
    rules("export", pages, "-o", "rules.json")
    assert Rules.load(tmp_path / "rules.json").rules == found.rules
    rules("export", pages, "-o", "rules.txt", "--format", "json")
    assert json.loads((tmp_path / "rules.txt").read_text())["schema"] == 1
    text, _ = rules("apply", "rules.json", pages / "03.html")
    assert text == found.text(html(3)) + "\n"
    (pages / "03.html").write_bytes(gzip.compress(html(3).encode()))
    lines, _ = rules("apply", "rules.json", pages)
    row = [json.loads(line) for line in lines.splitlines()][3]
    assert row == {"path": (pages / "03.html").as_posix(), "text": found.text(html(3))}


def test_rules_of_stored_model_are_exported(pages: Path, rules: Command, tmp_path: Path) -> None:
    model, _ = site(12)
    ModelStore(tmp_path / "models").save(model)
    xml, said = rules("export", "e.org")
    assert Rules.parse(xml).model == model.version
    assert "from the model's manifest" in said  # and not from the folder of the same name
    xml, said = rules("export", pages)
    assert Rules.parse(xml).model == model.version
    assert "learned from 12 pages" in said


def test_page_with_unclosed_element_is_reported(
    rules: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.xml").write_text('<rules schema="1"><keep tag="div"/></rules>')
    (tmp_path / "a.html").write_text("<div>tea")
    assert rules("apply", "r.xml", "a.html") == (
        "tea\n",
        "a.html: an element of 'keep div' never ends\n",
    )


def test_rules_command_errors_print_single_line(
    pages: Path, rules: Command, tmp_path: Path
) -> None:
    (tmp_path / "bad.xml").write_text("<rules")
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        (("apply", "bad.xml", pages), "bad.xml " + wording("rules.invalid-rule-file")),
        (("apply", "none.xml", pages), "none.xml: No such file"),
        (("apply", "bad.xml", "nothing"), "bad.xml"),
        (("export", "nothing.org"), wording("state.no-such-file-or-crawl") + " that name"),
        (("export", tmp_path / "empty"), "empty " + wording("cli.no-pages")),
    ):
        _, said = rules(*arguments, code=1)
        assert message in said
    rules("export", pages, "-o", "r.xml")
    assert "nothing: no such file" in rules("apply", "r.xml", "nothing", code=1)[1]
    assert "no HTML files under" in rules("apply", "r.xml", tmp_path / "empty", code=1)[1]


def test_rules_check_reports_matches_and_agreement(
    pages: Path, rules: Command, tmp_path: Path
) -> None:
    rules("export", pages, "-o", "r.xml")
    said, _ = rules("check", "r.xml", pages)
    assert "matches on 12 of 12 pages, never ends on 0, is empty on 0\n" in said
    assert said.endswith(" of e.org: 1.000 on 12 pages (at least 0.95 is required)\n")
    (pages / "03.html").write_text(html(3).replace("</div>", "").replace("class='post", "class='p"))
    (tmp_path / "few.xml").write_text(
        '<rules schema="1"><keep tag="div" class="post"/><keep tag="h5"/></rules>'
    )
    (pages / "04.html").write_text("<div class=post></div><p>empty")
    ModelStore(tmp_path / "models").save(site(12)[0])
    said, errors = rules("check", "few.xml", pages, code=1)
    assert errors == ""
    assert "keep div.post: matches on 11 of 12 pages, never ends on 0, is empty on 1\n" in said
    assert "keep h5: matches on 0 of 12 pages" in said
    assert rules("check", "few.xml", pages, "--min-agreement", "0.5")[0] == said.replace(
        "0.95", "0.5"
    )
    (pages / "05.html").write_text(html(5).replace("</div>", ""))
    assert (
        "keep div.post: matches on 11 of 12 pages, never ends on 1"
        in (rules("check", "few.xml", pages, code=1)[0])
    )
    with pytest.raises(SystemExit):
        main(["rules", "check", "r.xml", str(pages), "--min-agreement", "2"])


def test_rules_export_writes_formats_of_other_tools(
    pages: Path, rules: Command, tmp_path: Path
) -> None:
    rules("export", pages, "-o", "r.css")
    _, include = (tmp_path / "r.css").read_text().split("/* include */\n")
    assert "div.post" in include.splitlines()
    config, _ = rules("export", pages, "--format", "ftr", "--max-rules", 1)
    assert "body: //div[contains(concat(' ', normalize-space(@class), ' '), ' post ')]" in config
