"""The health of the server, and its metrics for Prometheus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import create_engine
from contentspider.index.operations import sync
from contentspider.site.own.quality import Quality
from contentspider.testing.engines import document
from tests.indexes import Crawls

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from contentspider.state.stores.models import ModelStore
from contentspider.web.app import Access, make_app

if TYPE_CHECKING:
    from pathlib import Path


def metrics(client: TestClient) -> dict[tuple[str, ...], float]:
    """Return the values of all metrics, by name and the sorted values of their labels."""
    answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    return {
        (sample.name.removeprefix("contentspider_"), *sorted(sample.labels.values())): (
            sample.value
        )
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_metrics_describe_crawls_index_and_models(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'pages.db'}"
    crawls = Crawls(tmp_path)
    crawls.crawl({1: "one", 2: "two", 3: "three"})
    sync(crawls.path, url)
    crawls.crawl({1: "changed", 2: "two"}, gone=[3])
    models = tmp_path / "models"
    (models / "e.org").mkdir(parents=True)
    manifest = {
        "weights": "weights.json",
        "sha256": "0",
        "learned_at": "2026-01-02T03:04:05+00:00",
        "quality": Quality(0.97, 0.96, 0.98, pages=12).to_record(),
    }
    (models / "e.org" / "manifest.json").write_text(json.dumps(manifest))
    (models / "broken.org").mkdir()
    (models / "broken.org" / "manifest.json").write_text("{")
    (tmp_path / "broken.sqlite").write_bytes(b"no history")
    histories = [crawls.path, tmp_path / "broken.sqlite"]
    with TestClient(make_app(url, histories, ModelStore(models), Access(["testserver"]))) as client:
        values = metrics(client)
        assert client.get("/health").json() == {"status": "ok"}
    crawl = crawls.path.stem
    assert values["crawl_pages", crawl] == 2
    assert values["crawl_changes", "changed", crawl] == 2
    assert values["crawl_changes", crawl, "gone"] == 1
    assert values["crawl_ended_timestamp_seconds", crawl] > 1_700_000_000
    assert values["index_up",] == 1
    assert values["index_changes_behind", crawl] == 3
    assert values["model_f1", "e.org", "measured"] == 0.97
    assert values["model_learned_timestamp_seconds", "e.org"] == 1_767_323_045
    assert not any("broken" in label for name in values for label in name)
    kinds = {kind: values["unreadable_files", kind] for kind in ("book", "model")}
    assert kinds == {"book": 1, "model": 1}


def test_index_that_is_down_is_unhealthy(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'none.db'}"
    models = ModelStore(tmp_path)
    access = Access(["testserver"], token="secret")  # noqa: S106
    with TestClient(make_app(url, [], models, access)) as client:
        assert client.get("/health").status_code == 503, "without the token"
        assert client.get("/metrics").status_code == 401
        client.headers["Authorization"] = "Bearer secret"
        assert metrics(client)["index_up",] == 0
        engine = create_engine(url)
        engine.open(is_writer=True)
        engine.upsert([document(1, content="sea"), document(2, content="lake")])
        engine.flush()
        engine.close()
        assert client.get("/health").status_code == 200
        values = metrics(client)
        assert (values["index_up",], values["index_documents", "e.org"]) == (1, 2)


def test_server_without_index_is_healthy_and_has_no_metrics_of_an_index(tmp_path: Path) -> None:
    app = make_app("", [], ModelStore(tmp_path), Access(["testserver"]))
    with TestClient(app) as client:
        assert client.get("/health").status_code == 200
        assert not any(name[0].startswith("index") for name in metrics(client))
