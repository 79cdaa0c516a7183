"""The recipes of docs/archives.md give what ``--engine local`` gives.

They need ``pip install ray pyspark``, which takes 700 MB: ``nox -s engines`` does this. Spark needs
Java, too (``apt-get install default-jre-headless``).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.archive.test_archive import archive, items, write_shards
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ENVIRONMENT = {
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def recipe(engine: str) -> str:
    """Return the code in an engine's section."""
    text = (ROOT / "docs" / "archives.md").read_text()
    found = re.search(rf"^### {engine}\n.*?^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found, f"docs/archives.md has no recipe for {engine}"
    return found[1]


@pytest.mark.thorough
@pytest.mark.parametrize(("engine", "module"), [("Spark", "pyspark"), ("Ray", "ray")])
def test_documented_recipe_gives_same_items_as_local_engine(
    tmp_path: Path, engine: str, module: str
) -> None:
    pytest.importorskip(module)
    if engine == "Spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java")
    source = write_shards(tmp_path / "crawl", 3)
    archive(source, tmp_path / "local")
    subprocess.run(
        [sys.executable, "-c", recipe(engine)],
        cwd=tmp_path,
        env=os.environ | ENVIRONMENT | {"HOME": str(tmp_path)},  # Ray writes a token there
        check=True,
        timeout=300,
    )
    assert len(items(tmp_path / "items")) == 25
    assert items(tmp_path / "items") == items(tmp_path / "local")


@pytest.mark.parametrize("engine", ["Spark", "Ray"])
def test_documented_recipe_is_valid_python(engine: str) -> None:
    compile(recipe(engine), engine, "exec")
