"""Extraction and learning as functions of columns, on batches of any kind of rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from contentspider import Page, Prior, SiteLearner, SiteModel
from contentspider.archive.columns import COLUMNS, ITEM_COLUMNS, extract_lists
from contentspider.ground.errors import ContentSpiderError
from contentspider.site.learn import sampling
from contentspider.state.stores.models import ModelStore
from tests.sites import bylined, prose

if TYPE_CHECKING:
    from pathlib import Path

pa = pytest.importorskip("pyarrow")
from contentspider import extract_column, learn_column, sample_column

SITES = ("a.example", "b.example", "c.example")


def rows(count: int = 12) -> tuple[list[Any], list[Any]]:
    """Return the addresses and the HTML of pages of three sites, mixed."""
    pages = [
        (f"https://{site}/{number}", bylined(number, site[0]))
        for site in SITES
        for number in range(count)
    ]
    random.Random(1).shuffle(pages)
    urls, htmls = zip(*pages, strict=True)
    return list(urls), list(htmls)


def learned(site: str, urls: list[str], htmls: list[str]) -> SiteModel:
    """Return the model of a site as `SiteLearner` learns it from all its pages."""
    pairs = zip(urls, htmls, strict=True)
    return SiteLearner(site).fit(Page.from_html(html, url) for url, html in pairs if site in url)


@pytest.fixture(scope="module")
def models() -> dict[str, SiteModel]:
    """Return the models of two of the three sites."""
    return {site: learned(site, *rows()) for site in SITES[:2]}


def test_each_row_gets_what_a_plain_loop_gets_in_its_order(
    models: dict[str, SiteModel], tmp_path: Path
) -> None:
    urls, htmls = rows()
    for model in models.values():
        ModelStore(tmp_path).save(model)
    as_bytes = {site: model.to_bytes() for site, model in models.items()}
    tables = [extract_column(urls, htmls, models=each) for each in (models, as_bytes, tmp_path)]
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])
    assert tables[0].schema.names == list(COLUMNS)
    assert tables[0].to_pydict() == extract_lists(urls, htmls, models=models)
    for url, html, row in zip(urls, htmls, tables[0].to_pylist(), strict=True):
        site = url.removeprefix("https://").partition("/")[0]
        page = Page.from_html(html, url)
        extraction = models[site].extract(page) if site in models else None
        assert (row["url"], row["site"], row["error"]) == (url, site, None)
        if extraction:
            fields = extraction.to_dict()
            assert {name: row[name] for name in ITEM_COLUMNS} == {
                name: fields[name] for name in ITEM_COLUMNS
            }
            quality = models[site].quality
            assert quality and row["quality"] == quality.f1
        else:
            assert row["model_version"] == Prior.shipped().digest and row["by_prior"]
            assert row["quality"] is None and "All rights reserved" not in row["content"]


def test_broken_rows_have_an_error_and_others_their_content(models: dict[str, SiteModel]) -> None:
    good = bylined(30, "a")
    cases: list[tuple[Any, Any, bool]] = [
        ("https://a.example/1", good, True),
        ("https://a.example/2", good.encode(), True),
        ("https://a.example/3", None, False),
        ("https://a.example/4", "", False),
        ("https://a.example/5", b"", False),
        ("https://a.example/6", float("nan"), False),
        ("https://a.example/7", b"%PDF-1.4 \x00\x01", False),
        ("https://a.example/8", "<p>\ud800" + prose(1), True),
        ("https://a.example/9", b"\x00" * 50, False),
        (None, good, True),
        ("", good, True),
        (float("nan"), good, True),
        ("https://[a.example/10", good, True),
        ("https://a.example/\ud800", good, True),
        ("https://a.example/11", 7, False),
    ]
    urls, htmls, whole = (list(column) for column in zip(*cases, strict=True))
    found = extract_column(urls, htmls, models=models).to_pylist()
    assert [row["error"] is None for row in found] == whole
    for row, is_whole in zip(found, whole, strict=True):
        assert bool(row["content"]) is is_whole
        empty = [name for name in COLUMNS if row[name] is None]
        if not is_whole:
            assert set(empty) >= COLUMNS.keys() - {"url", "site", "error"}
    assert found[0]["content"] == found[1]["content"]
    assert [row["url"] for row in found[9:12]] == [None, "", None]


def test_windows_1252_is_read_by_its_content_type() -> None:
    body = f"<p>Café {prose(1)}".encode("cp1252")
    found = extract_column(
        ["https://e.org/"] * 2, [body] * 2, content_types=["text/html; charset=cp1252", None]
    )
    assert found["content"][0].as_py().startswith("Café")


def test_columns_are_of_any_library_and_of_one_length(models: dict[str, SiteModel]) -> None:
    urls, htmls = rows()
    expected = extract_column(urls, htmls, models=models)
    kinds: list[Any] = [pa.array, lambda values: pa.chunked_array([values[:5], values[5:]])]
    for library in ("numpy", "pandas", "polars"):
        try:
            module = pytest.importorskip(library)
        except pytest.skip.Exception:
            continue
        kinds.append(module.array if library == "numpy" else module.Series)
    for kind in kinds:
        assert extract_column(kind(urls), kind(htmls), models=models).equals(expected), kind
    assert extract_column([], []).schema == expected.schema
    with pytest.raises(ValueError, match="36 rows"):
        extract_column(urls, htmls[:-1])


def test_one_model_or_its_folder_is_for_all_rows(
    models: dict[str, SiteModel], tmp_path: Path
) -> None:
    urls, htmls = rows()
    model = models["a.example"]
    folder = model.save(tmp_path / "a.example")
    found = extract_column(urls, htmls, models=model)
    assert set(found["model_version"].to_pylist()) == {model.version}
    assert set(found["site"].to_pylist()) == {"a.example"}
    assert extract_column(urls, htmls, models=folder).equals(found)


def test_model_that_cannot_be_used_gives_errors_for_its_rows_and_stays(
    models: dict[str, SiteModel], tmp_path: Path
) -> None:
    for model in models.values():
        ModelStore(tmp_path).save(model)
    manifest = tmp_path / "a.example" / "manifest.json"
    manifest.write_text("{")
    found = extract_column(*rows(), models=tmp_path).to_pylist()
    assert {row["site"] for row in found if row["error"]} == {"a.example"}
    assert sum(bool(row["error"]) for row in found) == 12
    assert manifest.read_text() == "{", "other processes read the store, too"
    with pytest.raises(ContentSpiderError):
        extract_column(*rows(), models=tmp_path / "none")


def test_overrides_beside_a_model_are_obeyed(models: dict[str, SiteModel], tmp_path: Path) -> None:
    for model in models.values():
        ModelStore(tmp_path).save(model)
    (tmp_path / "a.example" / "overrides.toml").write_text('drop = ["h1"]\n')
    found = extract_column(*rows(), models=tmp_path).to_pylist()
    plain = extract_column(*rows(), models=models).to_pylist()
    for row, before in zip(found, plain, strict=True):
        dropped = f"{before['title']}\n" if row["site"] == "a.example" else ""
        assert dropped + row["content"] == before["content"]


def test_models_of_a_batch_are_those_of_the_learner() -> None:
    urls, htmls = rows()
    urls += ["https://single.example/", None, "https://a.example/none", "https://a.example/pdf"]
    htmls += [bylined(1), bylined(2), None, b"%PDF-1.4 \x00\x01"]
    found = {row["site"]: row for row in learn_column(urls, htmls).to_pylist()}
    assert list(found) == ["", *SITES, "single.example"]
    for site in SITES:
        row = found[site]
        assert SiteModel.from_bytes(row["model"]).version == learned(site, *rows()).version
        assert (row["pages"], row["error"]) == (12, None)
    assert found["a.example"]["unread"] == 2
    for site in ("", "single.example"):
        assert found[site]["model"] is None and found[site]["error"]


def test_samples_of_batches_merge_in_any_order_to_the_model_of_all_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With pages of rare templates, and pages without text or HTML."""
    monkeypatch.setattr(sampling, "MAX_SAMPLE", 20)
    urls = [f"https://a.example/{number}" for number in range(120)]
    htmls: list[Any] = [bylined(number) for number in range(120)]
    for number in range(0, 120, 15):
        htmls[number] = htmls[number].replace("article>", "section>").replace("<p>", "<p class=x>")
    htmls[7], htmls[8] = "<p>", None
    expected = learn_column(urls, htmls)["model"][0].as_py()
    for parts in (2, 5):
        tables = [sample_column(urls[n::parts], htmls[n::parts]) for n in range(parts)]
        random.Random(parts).shuffle(tables)
        merged = pa.concat_tables(tables)
        assert merged.num_rows < 120 - 20 // parts
        for table in (merged, sample_column(merged["url"], merged["html"])):
            model = learn_column(table["url"], table["html"])["model"][0].as_py()
            assert SiteModel.from_bytes(model).version == SiteModel.from_bytes(expected).version
    assert sample_column(pa.array(urls[:3]), pa.array([b"<p>x"] * 3))["html"].type == pa.binary()
