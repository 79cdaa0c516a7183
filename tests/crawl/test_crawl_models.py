"""The models of a crawl: loaded, learned at the second attempt, compared, and saved."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from scrapy import Spider

from contentspider.crawl.base.overrides import check_overrides
from contentspider.crawl.learning import models as models_module
from contentspider.crawl.learning.learn_process import Learned, LearningError, LearningTimeoutError
from contentspider.crawl.learning.models import (
    CrawlModels,
    SiteState,
    learned_sites,
)
from contentspider.ground.errors import NotEnoughTextError, OverridesError
from contentspider.page.input.overrides import OVERRIDES
from contentspider.page.input.page import Page
from contentspider.state.outcome import overrides_to_mend
from tests.conftest import read_jsonl, run
from tests.crawlers import close, open_crawler, parts
from tests.messages import wording
from tests.recrawled import SITE, address
from tests.sites import article, small_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler

    from contentspider.site.models.model import SiteModel
    from tests.conftest import Site


@pytest.fixture
def crawler(tmp_path: Path) -> Iterator[Crawler]:
    made = open_crawler(tmp_path, durable=True)
    yield made
    close(made)


@pytest.fixture
def models(crawler: Crawler) -> CrawlModels:
    return parts(crawler)[1].models


def test_stored_model_is_used_only_with_same_learning_settings(
    models: CrawlModels, model: SiteModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models.load(SITE) is None
    models.store.save(model)
    found = models.load(SITE)
    assert found is not None
    assert found.version == model.version
    for changes in ({"labels": "own"}, {"features": ("tags",)}, {"classifier_name": "other"}):
        other = replace(model, **changes)  # type: ignore[arg-type]
        monkeypatch.setattr(models.store, "load", lambda _, other=other: other)
        assert models.load(SITE) is None


def test_frozen_models_are_used_and_no_site_is_learned(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    models = tmp_path / "models"
    crawl = ("crawl", site.url, "--own-site", "-o", "x.jsonl", "--models-frozen")
    first = run(*crawl, cwd=tmp_path)
    key = site.url.removeprefix("http://").replace(":", "-")
    assert f"{key}: it has no model" in first.stderr and not models.exists()
    contents = [str(item["content"]) for item in read_jsonl(tmp_path / "x.jsonl")]
    assert len(contents) == 6 and not any("Home" in text for text in contents), "by the prior"
    assert run(*crawl, "--relearn", cwd=tmp_path, check=False).returncode
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    before = {path: path.read_bytes() for path in models.rglob("*.json*")}
    (tmp_path / "models").chmod(0o555)
    for number in range(1, 6):  # a redesign, which would be learned again
        page = article(number).replace("<article>", "<main><section class=new>")
        site.add(f"/{number}", page.replace("</article>", "</section></main>"))
    again = run(*crawl, cwd=tmp_path)
    assert "learned" not in again.stderr.replace("0 learned", "")
    assert before == {path: path.read_bytes() for path in models.rglob("*.json*")}
    version = json.loads((models / key / "manifest.json").read_bytes())["version"]
    assert {item["model_version"] for item in read_jsonl(tmp_path / "x.jsonl")} == {version}


def test_loaded_models_are_counted_and_different_prior_is_logged(
    models: CrawlModels,
    model: SiteModel,
    crawler: Crawler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert crawler.stats
    models.store.save(model)
    caplog.set_level(logging.INFO, "contentspider")
    models.load(SITE)
    assert caplog.messages[-1] == f"e.org: loaded model {model.version}, learned from 9 pages"
    assert crawler.stats.get_value("contentspider/models/loaded") == 1
    assert "another prior" not in caplog.text
    other = replace(model, prior="another")
    monkeypatch.setattr(models.store, "load", lambda _: other)
    assert models.load(SITE) is other
    assert "another prior (another)" in caplog.text


def test_broken_prior_stops_only_models_learned_by_votes(
    tmp_path: Path, model: SiteModel, caplog: pytest.LogCaptureFixture
) -> None:
    prior = tmp_path / "prior.npz"
    prior.write_bytes(b"no prior")
    crawler = open_crawler(tmp_path, prior_file=str(prior))
    models = parts(crawler)[1].models
    models.store.save(model)
    assert models.load(SITE) is None
    (message,) = caplog.messages
    assert message.startswith("e.org" + wording("crawl.site-model-without-prior") + " the prior")
    close(crawler)
    crawler = open_crawler(tmp_path, prior_file=str(prior), labels="own")
    models = parts(crawler)[1].models
    models.store.save(replace(model, labels="own"))
    assert models.load(SITE) is not None
    close(crawler)


def named(starts: list[str]) -> Spider:
    """Return a spider that names its sites by their domains only."""
    return Spider("a", allowed_domains=[urlsplit(url).netloc for url in starts])


def test_overrides_that_decide_nothing_are_told(
    models: CrawlModels, crawler: Crawler, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert crawler.stats
    path = tmp_path / "models" / SITE / OVERRIDES
    path.parent.mkdir(parents=True)
    path.write_text(
        'drop = ["footer", ".none"]\n[[rule]]\npattern = "/1"\ntitle = "h9"\n'
        '[[rule]]\npattern = "/never"\ndrop = [".other"]'
    )
    for number in (1, 2):
        url = address(f"/{number}")
        models.note_overrides(Page.from_html(article(number), url, overrides=models.overrides(url)))
    models.tell_idle_overrides()
    assert crawler.stats.get_value("contentspider/overrides/idle") == 2
    assert len(overrides_to_mend(crawler.stats.get_stats())) == 2, "so `run` tells them"
    assert [re.findall(r"'(\S+)'", message) for message in caplog.messages] == [[".none"], ["h9"]]
    assert "2 pages" in caplog.messages[0] and "1 page" in caplog.messages[1]


def test_overrides_are_read_once_and_broken_ones_are_logged(
    models: CrawlModels, crawler: Crawler, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert crawler.stats
    assert models.overrides(address("/1")) is None
    path = tmp_path / "models/broken.org" / OVERRIDES
    path.parent.mkdir(parents=True)
    path.write_text("{")
    for _ in range(2):
        assert models.overrides("http://broken.org/1") is None
    assert crawler.stats.get_value("contentspider/overrides/broken") == 1
    (message,) = caplog.messages
    assert message.startswith(str(path))
    assert "broken.org" in message
    options = parts(crawler)[1].options
    for starts, is_broken in (
        ([address("/1")], False),
        ([address("/1"), "http://broken.org/"], True),
    ):
        for spider in (Spider("a", start_urls=starts), named(starts)):
            with pytest.raises(OverridesError) if is_broken else nullcontext():
                check_overrides(spider, options)
    path.write_text(json.dumps({"drop": ["nav"]}) if path.suffix == ".json" else "")
    assert models.overrides("http://broken.org/2") is None, "it was read already"


class Learner:
    """What *learn_in_process* does, in turn: raise an error, or return what was learned."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.tasks: list[tuple[Any, ...]] = []

        async def run_in_thread(_: Any, *task: Any) -> Any:
            self.tasks.append(task)
            outcome = self.outcomes.pop(0)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(models_module, "run_in_thread", run_in_thread)


@pytest.fixture
def on_disk(crawler: Crawler) -> Any:
    return parts(crawler)[0]


def learned(models: CrawlModels, crawl: Any, **values: Any) -> Learned:
    return asyncio.run(models.learn(crawl, SiteState(SITE), **values))


def test_failed_learning_is_retried_once(
    models: CrawlModels,
    on_disk: Any,
    model: SiteModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    learner = Learner(monkeypatch, LearningError("no memory"), Learned(model))
    assert learned(models, on_disk).model is model
    _, failure, success = caplog.messages
    assert failure.endswith("no memory")
    assert f"model {model.version} from 9 pages" in success
    (path, site, options, seconds, before, _), again = learner.tasks
    assert again == learner.tasks[0]
    assert (path, site) == (on_disk.book.path, SITE)
    assert (options.labels, seconds, before) == ("votes", 300, None)
    learner = Learner(monkeypatch, Learned(model))
    asyncio.run(models.learn(on_disk, SiteState(SITE, held=4), compare=True))
    assert learner.tasks[0][4] == models.store.folder / SITE
    assert "e.org: learning from 4 held items" in caplog.messages


@pytest.mark.parametrize("error", [NotEnoughTextError("none"), LearningTimeoutError("late")])
def test_permanent_learning_errors_are_not_retried(
    error: Exception, models: CrawlModels, on_disk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(monkeypatch, error)
    with pytest.raises(type(error)):
        learned(models, on_disk)
    assert len(learner.tasks) == 1


def test_learning_fails_after_second_error(
    models: CrawlModels, on_disk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(monkeypatch, RuntimeError("no thread"), LearningError("no memory"))
    with pytest.raises(LearningError):
        learned(models, on_disk)
    assert len(learner.tasks) == 2


def test_learners_use_half_of_cpu_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawler = open_crawler(tmp_path)
    holder = parts(crawler)[1]
    for cores, free in ((None, 1), (1, 1), (2, 1), (5, 2), (8, 4)):
        monkeypatch.setattr(models_module.os, "cpu_count", lambda cores=cores: cores)
        assert CrawlModels(holder.options, holder.stats)._learner_slots._value == free
    close(crawler)


def drifted(is_found: bool, is_of_content: bool = True) -> SiteState:
    state = SiteState(SITE)
    watch: Any = SimpleNamespace(
        is_found=is_found, is_of_content=is_of_content, evidence=lambda: "12 strange pages"
    )
    state.watch = watch
    return state


@pytest.mark.parametrize(
    ("score", "before", "is_of_content", "is_better"),
    [
        *((0.9, 0.8, True, True), (0.8, 0.8, True, False), (0.7, 0.8, True, False)),
        *((0.0, None, True, True), (0.79, 0.8, False, True), (0.77, 0.8, False, False)),
    ],
)
def test_relearned_model_replaces_old_one_only_if_better(
    score: float,
    before: float | None,
    is_of_content: bool,
    is_better: bool,
    models: CrawlModels,
    on_disk: Any,
    model: SiteModel,
    crawler: Crawler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert crawler.stats
    learner = Learner(monkeypatch, Learned(model, score, before))
    found = asyncio.run(models.mend(on_disk, drifted(True, is_of_content)))
    assert found is (model if is_better else None)
    assert learner.tasks[0][4] is not None, "they are compared"
    drift, decision = (
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    )
    assert "12 strange pages" in drift
    assert ("discarded" in decision) is not is_better
    assert f"{score:.2f}" in decision
    assert ("unknown" if before is None else f"{before:.2f}") in decision
    assert crawler.stats.get_value("contentspider/sites/drifted") == 1


def test_site_without_drift_is_not_relearned_and_failure_is_logged(
    models: CrawlModels,
    on_disk: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    learner = Learner(monkeypatch, NotEnoughTextError("none"))
    for state in (drifted(False), SiteState(SITE)):
        assert asyncio.run(models.mend(on_disk, state)) is None
    assert not learner.tasks
    assert asyncio.run(models.mend(on_disk, drifted(True))) is None
    assert "(none)" in caplog.messages[-1]


def test_models_are_saved_with_reason_for_relearning(
    models: CrawlModels,
    on_disk: Any,
    model: SiteModel,
    crawler: Crawler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert crawler.stats
    reasons: list[str] = []
    monkeypatch.setattr(models.store, "save", lambda _, reason: reasons.append(reason))
    on_disk.book.runs.set_fact("learned", ["a.org"])
    for state in (SiteState(SITE), drifted(False), drifted(True)):
        models.save(on_disk, state, model, is_cut=False)
        assert state.is_stored
    assert reasons == ["", "", "drift"]
    assert learned_sites(on_disk) == ["a.org", SITE]
    assert crawler.stats.get_value("contentspider/models/saved") == 3
    state = SiteState(SITE, is_stored=True)
    caplog.set_level(logging.INFO, "contentspider")
    models.save(on_disk, state, model, is_cut=True)
    assert not state.is_stored
    assert "not saved" in caplog.messages[-1]

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(models.store, "save", refuse)
    state = SiteState(SITE, is_stored=True)
    models.save(on_disk, state, model, is_cut=False)
    assert not state.is_stored
    assert f"{models.store.folder} (Permission denied)" in caplog.messages[-1]
    assert crawler.stats.get_value("contentspider/models/saved") == 3


@pytest.mark.parametrize(("labels", "is_saved"), [("votes", False), ("own", True)])
def test_model_of_one_page_is_saved_only_if_the_prior_cannot_judge_it(
    labels: str, is_saved: bool, tmp_path: Path, model: SiteModel
) -> None:
    crawler = open_crawler(tmp_path, durable=True, labels=labels)
    keeper, holder = parts(crawler)
    state = SiteState(SITE)
    one = replace(model, pages=1, labels=labels)
    holder.models.save(keeper, state, one, is_cut=False)
    assert [state.is_stored, holder.models.load(SITE) is not None] == [is_saved, is_saved]
    assert crawler.stats
    assert crawler.stats.get_value("contentspider/models/of_one_page", 0) == (not is_saved)
    close(crawler)


def test_site_state_decides_which_pages_wait_for_model(model: SiteModel) -> None:
    state = SiteState(SITE)
    assert (state.version, state.last_url, state.held, state.pages, state.try_at) == (
        "",
        "",
        0,
        0,
        0,
    )
    assert (state.failed, state.is_early, state.is_stored) == (False, False, False)
    page = Page.from_html(article(1), address("/1"))
    assert (state.is_ready, state.is_busy, state.is_drifted) == (False, False, False)
    assert state.must_wait(page)
    state.failed = True
    assert state.is_ready
    assert not state.must_wait(page)
    state = SiteState(SITE)
    state.use(model)
    assert state.is_ready
    assert not state.must_wait(page)
    strange = "".join(f"<section class=x{n}><b>{article(n)}</b></section>" for n in range(9))
    assert state.must_wait(Page.from_html(strange, address("/strange")))
