"""Run ``examples/notebook.ipynb`` and store its outputs: ``python examples/run_notebook.py``."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")
SECONDS = 120  # the longest that a cell may take


def executed() -> nbformat.NotebookNode:
    """Return the notebook with the outputs of today; an error of a cell is raised."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        notebook,
        timeout=SECONDS,
        record_timing=False,  # stored outputs differ only where results do
        store_widget_state=False,
        coalesce_streams=True,  # when a kernel sends what it prints is a matter of time
        extra_arguments=["--HistoryManager.enabled=False"],
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
    ).execute()
    # The version of Python and of its shell that ran it would change the file without a reason.
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
