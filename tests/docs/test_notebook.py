"""The notebook runs from top to bottom, and each of its cells ends where ours does it right."""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT

pytest.importorskip("matplotlib")  # contentspider-research needs both
pytest.importorskip("snowballstemmer")


@pytest.mark.thorough
def test_notebook_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    notebook = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 10
    assert not any(cell["outputs"] for cell in cells)  # they would grow old
    names: dict[str, object] = {}
    try:
        for number, cell in enumerate(cells, 1):
            source = "".join(cell["source"])
            assert source.rstrip().splitlines()[-1].startswith("assert "), number
            exec(compile(source, f"cell {number}", "exec"), names)  # noqa: S102 - our own code
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        assert [len(figure.axes) for figure in figures] == [1, 3, 1]  # tags, heatmaps, methods
        for figure in figures:
            figure.canvas.draw()
    finally:
        pyplot.close("all")
    assert "agreement 1.000, truth 0." in capsys.readouterr().out
