"""The hybrid paper's rules: start tags of blocks that a classifier keeps, and what they reach."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.evaluation.corpora import GoldPage
from contentspider.page.input.page import Page
from contentspider.rules.standalone import Rules
from contentspider_research.cli import main
from contentspider_research.experiments.hybrid import UnitPage
from contentspider_research.experiments.tagrules import start_tag_rules
from contentspider_research.features.wordcounts import CELLS

if TYPE_CHECKING:
    from pathlib import Path

PROSE = "Tea is made of leaves that somebody picked by hand, of hot water, and of some time."


def units(html: str) -> UnitPage:
    return UnitPage.of(Page.from_html(html, "page"), GoldPage("page", "", ""), CELLS)


def test_rules_are_start_tags_with_id_or_class() -> None:
    first = units(
        "<div class='box menu'>Menu</div><div class='box text'>One two</div>"
        "<div id=foot class=box>Foot</div><div>Bare</div>"
    )
    second = units("<div class='box text'>Three</div><td id=foot>Cell</td>")
    assert first.start_tags == ["div.box.menu", "div.box.text", "div#foot.box", "div"]
    kept = [np.array([False, True, True, True]), np.array([True] * len(second.start_tags))]
    rules, left_out = start_tag_rules([first, second], kept, "tea")
    # The bare start tag would be any div. The class of the menu is not the rule's.
    assert left_out == 1 + ("body" in second.start_tags)
    known = {str(rule): (rule.pages, rule.chars) for rule in rules.rules}
    assert known["keep div.text"] == (2, len("One two") + len("Three"))
    assert known["keep div#foot"] == (1, len("Foot"))
    assert rules.text("<div>Ad</div><div class='text box'>Of <div>all</div></div><p>x") == "Of\nall"


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Two sites of eight pages, whose texts stand in elements of other classes."""
    for name, text, menu in (("one", "story", "top"), ("two", "entry", "nav")):
        folder = tmp_path / "corpora" / name
        (folder / "html").mkdir(parents=True)
        (folder / "site.json").write_text(json.dumps({"id": name, "suite": "sites"}))
        rows = []
        for number in range(8):
            body = f"{PROSE} Page {number}. " * 3
            (folder / "html" / f"{number}.html").write_text(
                f"<div class={menu}><a href=/>Home</a> <a href=/tea>Tea</a></div>"
                f"<div class={text}><p>{body}</div>"
            )
            rows.append(json.dumps({"path": f"{number}.html", "text": body}))
        (folder / "gold.jsonl").write_text("\n".join(rows))
    return tmp_path / "corpora"


@pytest.mark.parametrize("classifier", ["c45", "bayes"])
def test_rules_of_gold_of_others_are_written_and_measured(
    classifier: str, corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export-rules", str(corpora), "-o", str(tmp_path / "rules"), "--from", classifier]
    assert main(command) == 0
    assert "| one | 1.0 | 1.0000 | 1.0000 | 1.0000 | 1.0000 |" in capsys.readouterr().out
    rules = Rules.load(tmp_path / "rules" / "two.xml")
    assert [str(rule) for rule in rules.rules] == ["keep div.entry"]
    assert (rules.site, rules.pages) == ("two", 4)
    html = (corpora / "two" / "html" / "3.html").read_text()
    assert rules.text(html) == f"{PROSE} Page 3. " * 2 + f"{PROSE} Page 3."


def test_half_wrong_rules_have_scores_computed_by_hand(
    corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Pages 1, 3, 5 and 7 are tested.
    for number in range(1, 8, 2):
        path = corpora / "one" / "html" / f"{number}.html"
        path.write_text("<div class=top>a b</div><div class=story>one two three four</div>")
    rows = [json.loads(line) for line in (corpora / "one" / "gold.jsonl").read_text().splitlines()]
    texts = [row | ({"text": "one two b"} if row["path"][0] in "1357" else {}) for row in rows]
    (corpora / "one" / "gold.jsonl").write_text("\n".join(map(json.dumps, texts)))
    assert main(["export-rules", str(corpora), "-o", str(tmp_path / "rules")]) == 0
    # Of 6 words 4 are kept, 3 wanted, 2 both: 2 wrong, 1 missed, 1 rightly dropped.
    assert "| one | 1.0 | 0.5000 | 0.6667 | 0.5714 | 0.5000 |" in capsys.readouterr().out


def test_rules_need_sites_of_two_owners(corpora: Path, tmp_path: Path) -> None:
    assert main(["export-rules", str(corpora / "one"), "-o", str(tmp_path / "rules")]) == 1
    assert not (tmp_path / "rules").exists()
