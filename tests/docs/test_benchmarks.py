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
        "Term\n: Meaning\n\n$x^2$\n\n> [!TIP]\n> Pour.\n\n"
        "<details>\n<summary>More</summary>\n\nSip.\n\n</details>\n\n[^1]: Note.\n"
    )
    counted = tallies(fidelity, markdown, markdown, formulas=True)
    for kind in fidelity.SOUGHT:
        assert counted.pop(kind) == (0, 0, 0)
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


@pytest.mark.parametrize(
    "source",
    [
        '!!! warning "Hot oven"\n    Wear `gloves`.\n\n    - Wait.\n',
        ":::warning[Hot oven]\nWear `gloves`.\n- Wait.\n:::",
        "::: warning Hot oven\nWear `gloves`.\n- Wait.\n:::",
        "```{admonition} Hot oven\n:class: warning\n\nWear `gloves`.\n\n- Wait.\n```",
        "/// warning | Hot oven\nWear `gloves`.\n\n- Wait.\n///",
        '::: {.callout-warning title="Hot oven"}\nWear `gloves`.\n\n- Wait.\n:::',
        "> [!WARNING] Hot oven\n> Wear `gloves`.\n> - Wait.",
    ],
)
def test_box_of_each_dialect_has_kind_title_and_text(fidelity: ModuleType, source: str) -> None:
    right = "> [!WARNING]\n> Hot oven\n>\n> Wear `gloves`.\n>\n> - Wait."
    assert tallies(fidelity, source, right)["admonition"] == (1, 1, 1)
    assert tallies(fidelity, source, right.replace("WARNING", "TIP"))["admonition"] == (0, 1, 1)
    assert tallies(fidelity, source, right.replace("oven\n>\n>", "oven"))["admonition"][0] == 0
    assert tallies(fidelity, source, "Hot oven\n\nWear `gloves`.\n\n- Wait.")["admonition"][0] == 0


@pytest.mark.parametrize(
    ("kind", "source", "right", "wrong"),
    [
        (
            "details",
            '??? note "More"\n    Sip.\n\nEnd.',
            "<details>\n<summary>More</summary>\n\nSip.\n\n</details>\n\nEnd.",
            "## More\n\nSip.\n\nEnd.",
        ),
        (
            "tab",
            '=== "Linux"\n    ```sh\n    a\n    ```\n',
            "Linux\n\n```sh\na\n```",
            "LinuxMac\n\n```sh\na\n```",
        ),
        (
            "tab",
            "::: code-group\n```sh [npm]\na\n```\n:::",
            "**npm**\n\n```sh\na\n```",
            "```sh\na\n```",
        ),
        (
            "signature",
            "```{py:class} Pot(size=1, *, lid: bool = True)\n```",
            "`class tea.Pot(size=1, *, lid: bool = True)`\n: A pot.",
            "class tea.Pot(size=1, *, lid: bool = True)",
        ),
        (
            "citation",
            "```{eval-rst}\n.. [Tea84] A. Leaf, *Pots*,\n   1984.\n```",
            "[Tea84]\n\nA. Leaf, *Pots*, 1984.",
            "A. Leaf, *Pots*, 1984.",
        ),
    ],
)
def test_parts_of_documentation_are_compared(
    fidelity: ModuleType, kind: str, source: str, right: str, wrong: str
) -> None:
    assert tallies(fidelity, source, right)[kind] == (1, 1, 1)
    found, _, gold = tallies(fidelity, source, wrong)[kind]
    assert (found, gold) == (0, 1)


@pytest.mark.parametrize(
    ("kind", "source", "markdown", "expected"),
    [
        # MDX: the text of a panel is indented, and components write what is not in the source.
        (
            "tab",
            '<Tabs>\n <TabItem label="Linux">\n  ```sh\n  a\n    b\n  ```\n </TabItem>\n</Tabs>',
            "Linux\n\n```sh\na\n  b\n```",
            (1, 1, 1),
        ),
        ("paragraph", "a\n\n<Prices\n  of={`x`}\n/>\n\nb", "a\n\n7\n\nb", (2, 2, 2)),
        # Quarto: cells of code, with options
        ("language", "```{python}\n#| label: x\na\n```", "```python\na\n```", (1, 1, 1)),
        ("code", "```{python}\n#| echo: false\na\n```\n", "```\nb\n```", (0, 0, 0)),
        # Cells that span others are repeated.
        (
            "cell",
            "<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
            "| a | b |\n|---|---|\n| a | c |",
            (4, 4, 4),
        ),
        # What a page embeds has no words in the source.
        (
            "details",
            "<details><summary>a</summary>b <iframe src='https://f.io/1'></iframe></details>",
            "<details>\n<summary>a</summary>\n\nb\n\n[f.io](https://f.io/1)\n\n</details>",
            (1, 1, 1),
        ),
        (
            "details",
            "::: details\nb\n:::",
            "<details>\n<summary>Details</summary>\n\nb\n\n</details>",
            (1, 1, 1),
        ),
        # pymdown: keys, and the language of code in a line
        ("inline-code", "++ctrl+c++ `#!py a`", "`Ctrl`+`C` `a`", (3, 3, 3)),
    ],
)
def test_sources_of_generators_are_read(
    fidelity: ModuleType, kind: str, source: str, markdown: str, expected: tuple[int, int, int]
) -> None:
    assert tallies(fidelity, source, markdown)[kind] == expected


def test_asciidoc_is_read_by_way_of_docbook(fidelity: ModuleType) -> None:
    docbook = (
        '<article xmlns="http://docbook.org/ns/docbook"><info><title>Tea</title></info><section>'
        "<title>Pot</title><simpara>A <emphasis role='strong'>hot</emphasis> <literal>pot</literal>"
        ", see <xref linkend='x'/>.</simpara><note><title>Lid</title><simpara>Wait.</simpara>"
        "</note>"
        "<programlisting language='sh'>a <co/></programlisting><variablelist><varlistentry>"
        "<term>T</term><listitem><simpara>D</simpara></listitem></varlistentry></variablelist>"
        "</section></article>"
    )
    html = import_module("fidelity_asciidoc").html_of(docbook.encode())
    assert html == (
        "<h1>Tea</h1><h2>Pot</h2><p>A <strong>hot</strong> <code>pot</code>, see"
        ' <a href="{{page}}">{{title}}</a>.</p><aside class="note"><div>Lid</div><p>Wait.</p>'
        '</aside><pre><code class="language-sh">a (1)</code></pre>'
        "<dl><dt>T</dt><dd><p>D</p></dd></dl>"
    )


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
