"""The notebook runs from top to bottom, and the outputs that it stores are those of today."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

for _library in ("nbclient", "ipykernel", "matplotlib", "pandas", "trafilatura"):
    pytest.importorskip(_library)

NUMBER = re.compile(r"\d+\.\d+|\d+%")
TAGS = re.compile(r"<style.*?</style>|<[^<>]*>", re.DOTALL)
# Of a score from 0 to 1, between versions of scikit-learn and trafilatura.
TOLERANCE = 0.03
# Where this machine keeps things, and where an object is in memory.
OF_THIS_RUN = re.compile(r"0x[0-9a-f]{6}|(?<![:/\w.])/(?:tmp|home|root|usr|work|Users)/")


def told(cell: Any) -> list[tuple[str, str]]:
    """Return the kinds of a cell's outputs, with what each says in words; "" for a picture.

    What is written to standard error is of the machine, such as that a cache of fonts is made.
    """
    outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return [_words(output) for output in outputs]


def _words(output: Any) -> tuple[str, str]:
    data = output.get("data", {})
    if "image/png" in data:
        return "image/png", ""
    if "text/html" in data:
        return "text/html", " ".join(unescape(TAGS.sub(" ", data["text/html"])).split())
    return "text", " ".join(output.get("text", data.get("text/plain", "")).split())


def scores(outputs: list[tuple[str, str]]) -> list[float]:
    found = NUMBER.findall(str(outputs))
    return [float(each[:-1]) / 100 if each.endswith("%") else float(each) for each in found]


def test_stored_outputs_of_notebook_are_those_of_today(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from run_notebook import NOTEBOOK, executed

    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp(name)))
    stored = nbformat.read(NOTEBOOK, as_version=4)
    kinds = set()
    for old, new in zip(stored.cells, executed().cells, strict=True):
        if old.cell_type != "code":
            continue
        was, now = told(old), told(new)
        mend = f"{old.id}: python examples/run_notebook.py stores the outputs of today"
        assert NUMBER.sub("#", str(was)) == NUMBER.sub("#", str(now)), mend
        assert scores(was) == pytest.approx(scores(now), abs=TOLERANCE), mend
        assert not OF_THIS_RUN.search(str(was)) and not old.metadata.get("execution"), old.id
        assert all(output.get("name") != "stderr" for output in old.outputs), old.id
        kinds |= {kind for kind, _ in was}
    assert kinds == {"text", "text/html", "image/png"}
