"""The examples of docs/data-engines.md, with the real engines: each gives what a plain loop gives.

Spark and Ray take 700 MB, and Spark needs Java: ``nox -s engines`` installs and runs them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider import Page, Prior, SiteLearner, SiteModel
from contentspider.site.learn.single_page import extract_page
from contentspider.state.stores.models import ModelStore
from tests.conftest import ROOT
from tests.sites import bylined

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyarrow")

MODULES = {
    "pandas": ("pandas",),
    "Polars": ("polars",),
    "DuckDB": ("duckdb",),
    "Dask": ("dask", "pandas"),
    "Spark": ("pyspark", "pandas"),
    "Ray": ("ray", "pandas"),
    "Learning": ("pyspark", "pandas"),
}
LARGE = {"Spark", "Ray", "Learning"}
FEW, MANY = 150, 2_000
SITES = ("a.example", "b.example", "unknown.example")
ENVIRONMENT = {
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "PYTHONPATH": str(ROOT),
}


def example(heading: str) -> str:
    """Return the code in a section of the page."""
    text = (ROOT / "docs" / "data-engines.md").read_text()
    found = re.search(rf"^## {heading}\n.*?^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found, f"docs/data-engines.md has no example for {heading}"
    return found[1]


def run_example(heading: str, folder: Path) -> None:
    """Run an example in a folder; skips the test without its engine."""
    for module in MODULES[heading]:
        pytest.importorskip(module)
    if "pyspark" in MODULES[heading] and not shutil.which("java"):
        pytest.skip("Spark needs Java")
    (folder / "example.py").write_text(example(heading))
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=folder,
        env=os.environ | ENVIRONMENT | {"HOME": str(folder)},  # Ray writes a token there
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5_000:]


def write_pages(folder: Path, count: int) -> dict[str, str | None]:
    """Write pages of three sites, and some without HTML, to ``pages.parquet``, and models of two of
    the sites. Return the text that a plain loop gives for each address.
    """
    import pyarrow
    from pyarrow import parquet

    htmls: dict[str, str | None] = {
        f"https://{SITES[number % 3]}/{number}": bylined(number, f"by{number % 3}")
        for number in range(count)
    }
    pages = {url: Page.from_html(html or "", url) for url, html in htmls.items()}
    store, judge = ModelStore(folder / "models"), Prior.shipped()
    models: dict[str, SiteModel] = {}
    for site in SITES[:2]:
        of_site = [page for url, page in pages.items() if f"//{site}/" in url]
        models[site] = SiteLearner(site).fit(of_site)
        store.save(models[site])
    texts: dict[str, str | None] = {}
    for url, page in pages.items():
        site = url.split("/")[2]
        known = models.get(site)
        texts[url] = (known.extract(page) if known else extract_page(page, site, judge)).text
    for number in range(3):
        htmls[f"https://a.example/none/{number}"] = texts[f"https://a.example/none/{number}"] = None
    table = pyarrow.table({"url": list(htmls), "html": list(htmls.values())})
    parquet.write_table(table, folder / "pages.parquet", row_group_size=100)
    return texts


def read_texts(folder: Path) -> dict[str, str | None]:
    from pyarrow import parquet

    rows = [
        row
        for path in [*folder.glob("items.parquet"), *folder.glob("items/*.parquet")]
        for row in parquet.ParquetFile(path).read(["url", "content"]).to_pylist()
    ]
    texts = {row["url"]: row["content"] for row in rows}
    assert len(texts) == len(rows), "each page once"
    return texts


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "heading",
    [
        pytest.param(heading, marks=pytest.mark.thorough if heading in LARGE else ())
        for heading in MODULES
        if heading != "Learning"
    ],
)
def test_engine_gives_text_of_plain_loop(tmp_path: Path, heading: str, count: int) -> None:
    expected = write_pages(tmp_path, count)
    run_example(heading, tmp_path)
    assert read_texts(tmp_path) == expected


@pytest.mark.thorough
def test_spark_learns_the_models_of_plain_learner(tmp_path: Path) -> None:
    write_pages(tmp_path, MANY)
    expected = ModelStore(tmp_path / "models")
    versions = {site: expected.read(site).version for site in SITES[:2]}
    shutil.rmtree(tmp_path / "models")
    run_example("Learning", tmp_path)
    store = ModelStore(tmp_path / "models")
    assert store.sites() == list(SITES)
    assert {site: store.read(site).version for site in SITES[:2]} == versions


@pytest.mark.parametrize("heading", list(MODULES))
def test_example_is_short_and_valid_python(heading: str) -> None:
    code = example(heading)
    compile(code, heading, "exec")
    lines = [line for line in code.splitlines() if line and "import" not in line]
    assert len(lines) <= 16
