"""The scores of `benchmarks/fidelity.py`, and the options of `benchmarks/per_page.py`."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from types import ModuleType

pytest.importorskip("tomllib", reason="the benchmark needs Python 3.11")

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def fidelity() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield import_module("fidelity")
    finally:
        sys.path.remove(str(BENCHMARKS))


def tallies(fidelity: ModuleType, source: str, markdown: str, html: str = "", **site: Any) -> Any:
    """Return the tallies by kind of one page: how many are right, told, and in the source."""
    page = {"url": "https://s.example/b/", "source": "b.md", "markdown": source, "html": html}
    record = {
        "base": "https://s.example/",
        "addresses": {"b.md": "b/index.html", "c/d.md": "c/d.html"},
        "pages": [page],
    }
    results = fidelity.judge({"generator": "", **site}, record, {"ours": [markdown]})
    return {kind: tuple(results["ours", kind][0]) for kind in fidelity.KINDS}


def test_identical_markdown_scores_every_element_as_right(fidelity: ModuleType) -> None:
    markdown = (
        "# Tea\n\nA *green* **leaf**, `steep()`[^1] at [home](https://h.example/x).\n\n"
        "1. Boil\n   - water\n\n> Wait.\n\n| a | b |\n| --- | --- |\n| 1 |  |\n\n"
        "```python\npour(\n    2)\n```\n\n![Pot](/pot.png)\n\n"
        "Term\n: Meaning\n\n$x^2$\n\n[^1]: Note.\n"
    )
    counted = tallies(fidelity, markdown, markdown, formulas=True)
    assert all(right == told == gold > 0 for right, told, gold in counted.values()), counted
    assert counted["cell"] == (4, 4, 4)
    assert counted["item"] == (2, 2, 2)


@pytest.mark.parametrize(
    ("kind", "source", "markdown"),
    [
        ("heading", "## Tea", "### Tea"),
        ("item", "- a\n    - b", "- a\n- b"),
        ("code", "```\na\n  b\n```", "```\na\nb\n```"),
        ("language", "```py\na\n```", "```js\na\n```"),
        ("link", "[a](https://h.example/x)", "[a](https://h.example/y)"),
        ("cell", "| a | b |\n|---|---|\n|  | c |", "| a | b |\n|---|---|\n| c |  |"),
        ("image", "![a](/x.png)", "![a](/y.png)"),
    ],
)
def test_changed_element_is_scored_as_wrong(
    fidelity: ModuleType, kind: str, source: str, markdown: str
) -> None:
    right, told, gold = tallies(fidelity, source, markdown)[kind]
    assert right < told == gold


def test_equivalent_notations_count_as_equal(fidelity: ModuleType) -> None:
    source = "“Tea” -- [more](c/d.md), [here](../c/d.md#x)\n\n```py\na\n```"
    markdown = (
        '"Tea" – [more](https://www.s.org/c/d), [here](https://s.example/c/d.html#x)\n\n'
        "```python\na\n```"
    )
    html = '<link rel="canonical" href="https://www.s.org/b/">'
    counted = tallies(fidelity, source, markdown, html)
    assert counted["paragraph"] == counted["language"] == (1, 1, 1)
    assert counted["link"][0] >= 1
    assert tallies(fidelity, "a", "[a](/x)")["link"] == (0, 1, 0)


@pytest.mark.parametrize(
    "source",
    [
        "!!! note\n\n    Boil it.",
        ":::tip\nBoil it.\n:::",
        "> [!WARNING]\n> Boil it.",
        "```{note}\nBoil it.\n```",
    ],
)
def test_added_note_title_is_not_counted(fidelity: ModuleType, source: str) -> None:
    assert tallies(fidelity, source, "Note\n\nBoil it.")["paragraph"] == (1, 1, 1)
    assert tallies(fidelity, source, "Note\n\nBoil it.\n\nShare")["paragraph"] == (1, 2, 1)
    assert tallies(fidelity, "Boil it.", "Note\n\nBoil it.")["paragraph"] == (1, 2, 1)


def test_front_matter_title_is_heading_if_page_shows_it(fidelity: ModuleType) -> None:
    source = "---\ntitle: Tea\n---\n\nBoil it."
    html = "<h1>Our site</h1><h2>Tea <a>link</a></h2>"
    assert tallies(fidelity, source, "## Tea\n\nBoil it.", html)["heading"] == (1, 1, 1)
    assert tallies(fidelity, source, "Boil it.", "<h1>Our site</h1>")["heading"] == (0, 0, 0)


def test_halves_do_not_depend_on_order_of_sites(fidelity: ModuleType) -> None:
    names = [site["name"] for site in fidelity.sites()]
    assert {fidelity.half(name) for name in names} == {"choosing", "judging"}
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("arguments", "code", "answer"),
    [(["--help"], 0, "usage"), (["no-such-folder"], 2, "no-such-folder is no folder")],
)
def test_per_page_prints_usage_and_names_missing_folder(
    arguments: list[str], code: int, answer: str
) -> None:
    command = [sys.executable, str(BENCHMARKS / "per_page.py"), *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert finished.returncode == code
    assert answer in finished.stdout + finished.stderr
    assert "Traceback" not in finished.stderr
