"""Commands that crawl nothing, and mistakes in any of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider import Page, SiteLearner, cli
from contentspider.cli import main
from contentspider.state.book.book import Book
from contentspider.state.stores.models import ModelStore
from tests.conftest import read_jsonl, run, token_f1
from tests.messages import wording
from tests.sites import small_site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["extract", "nowhere"], "nowhere: " + wording("cli.no-such-file")),
        (["extract", "."], "no HTML files"),
        (["extract", "blank.html"], "no text was found in blank.html"),
        (["models", "show", "example.org"], "no model of 'example.org'; it has: none yet"),
        (["evaluate", ".", "-o", "x"], "has no corpora"),
        (["crawl", "http://127.0.0.1:9/", "-o", "pages.unknown"], "names no format"),
        (
            ["crawl", "http://127.0.0.1:9/", "-o", "notes.txt/a.jsonl"],
            "notes.txt cannot be created",
        ),
        (["evaluate", ".", "-o", "x", "--prior", "none.npz"], "none.npz"),
        (
            ["crawl", "example.org", "-s", "CONTENTSPIDER_LABELS=vote"],
            "use one of 'votes', 'own', 'paper'",
        ),
        (
            ["crawl", "example.org", "-s", "CONTENTSPIDER_SITE_BY=page"],
            "use one of 'domain', 'host'",
        ),
        (["crawl", "example.org", "-s", "CONTENTSPIDER_PRIOR_FILE=none"], "does not exist"),
    ],
)
def test_command_mistakes_print_error_message(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "blank.html").write_text("<title>Tea</title>")
    done = run(*arguments, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert message in done.stderr or arguments[-1] == "none.npz"


def test_evaluate_learns_without_gold_labels(example_corpus: Path, tmp_path: Path) -> None:
    gold = {
        json.loads(line)["path"]: json.loads(line)["text"]
        for line in (example_corpus / "gold.jsonl").read_text().splitlines()
    }
    for arguments in ([], ["--alone"]):
        run("evaluate", str(example_corpus), "-o", "out.jsonl", *arguments, cwd=tmp_path)
        rows = read_jsonl(tmp_path / "out.jsonl")
        assert {row["path"] for row in rows} == set(gold)
        assert sum(token_f1(str(row["text"]), gold[str(row["path"])]) for row in rows) / len(
            rows
        ) >= (0.8 if arguments == ["--alone"] else 0.95)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["serach", "tea"], "search"),
        (["crawl", "--max-pgaes", "3", "https://example.org"], "--max-pages"),
        (["models", "shw", "example.org"], "show"),
        (["extract", "--fromat=md", "-"], "--format"),
    ],
)
def test_misspelled_argument_suggests_closest_match(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert capsys.readouterr().err.endswith(f"; did you mean {meant}?\n")


def test_commands_without_arguments_list_known_sites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = {"models": 0, "report": 2, "changes": 0, "status": 0}  # no report is written
    for command, code in codes.items():
        assert cli.main([command]) == code
        assert capsys.readouterr().out == ""
    state = tmp_path / ".scrapy" / "contentspider"
    (state / "history").mkdir(parents=True)
    for name in ("b.org", "a.org", "a.org.20260101T000000"):
        (state / f"{name}.sqlite").touch()
    (state / "history" / "c.org.sqlite").touch()
    page = Page.from_html("<p>Tea is made of leaves.", "/tea")
    ModelStore(tmp_path / "models").save(SiteLearner("tea.org").fit([page]))
    for command in ("report", "changes"):
        assert cli.main([command]) == codes[command]
        assert capsys.readouterr().out == "a.org\nb.org\nc.org\n"
    assert cli.main(["status", "--json"]) == 0
    sites = json.loads(capsys.readouterr().out)
    names = ["a.org", "b.org", "c.org"]
    assert [(site["site"], site["outcome"]) for site in sites] == [
        (name, "unknown") for name in names
    ], "damaged books are told, too"
    assert cli.main(["models"]) == 0
    assert capsys.readouterr().out == "tea.org\n"


def test_changes_without_crawl_are_those_of_the_only_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    state = tmp_path / ".scrapy" / "contentspider"
    state.mkdir(parents=True)
    for names, output in (("a",), ""), (("a", "b"), "a\nb\n"):
        for name in names:
            Book(state / f"{name}.sqlite").close()
        assert cli.main(["changes"]) == 0
        assert capsys.readouterr().out == output


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="the extra completion is not installed here")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in ("explain", "completion", "status"))


def test_site_has_its_names_in_every_command(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_site(site, 4)
    run("crawl", site.url, "--own-site", "--name", "tea", "--images", "--summary", cwd=tmp_path)
    item = read_jsonl(tmp_path / "pages.jsonl")[-1]
    assert item["summary"] and "images" in item, "as in extract"
    key = str(item["site"])
    said = []
    for name in ("tea", key, site.url):
        for command in (["models", "show"], ["models", "list"], ["fields"]):
            assert main([*command, name]) == 0, (command, name)
            said.append(capsys.readouterr().out)
    assert said[:3] == said[3:6] == said[6:]
    assert "3 pages of its crawl" in said[0] or "4 pages of its crawl" in said[0]
    for name in ("tea", key):
        for command in ("status", "changes", "replay"):
            assert main([command, name, *(["-o", "x.jsonl"] if command == "replay" else [])]) == 0
    assert main(["models", "show", "nothing"]) == 1
