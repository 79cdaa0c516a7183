"""Items that wait for their site's model: none is lost, and it matters not in which order they
came.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import count
from typing import TYPE_CHECKING

import pytest
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import signals
from scrapy.utils.test import get_crawler

from contentspider import SiteLearner
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.page.input.page import Page
from contentspider.state.outcome import Outcome
from contentspider.state.stores.models import ModelStore
from tests.conftest import TIMEOUT, Site, read_jsonl, run, serve
from tests.messages import wording
from tests.processes import Popen
from tests.site.test_prior import constant
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path


def crawled(folder: Path, name: str = "pages.jsonl") -> dict[str, tuple[object, object]]:
    return {
        str(item["url"]): (item["content_hash"], item["model_version"])
        for item in read_jsonl(folder / name)
    }


@pytest.mark.thorough
def test_page_order_does_not_change_extracted_content(site: Site, tmp_path: Path) -> None:
    """More pages than are learned from, found by links and, backwards, by a sitemap."""
    small_site(site, 230)
    entries = "".join(f"<url><loc>{site.url}/{n}</loc></url>" for n in range(229, 0, -1))
    site.add("/sitemap.xml", f"<urlset>{entries}</urlset>", kind="application/xml")
    options = ["--own-site", "--relearn", "-s", "LOG_LEVEL=ERROR"]
    run("crawl", site.url, *options, "--no-sitemaps", "-o", "a.jsonl", cwd=tmp_path)
    options += ["-s", "CONCURRENT_REQUESTS=1"]
    run("crawl", site.url, *options, "-o", "b.jsonl", cwd=tmp_path)
    one, two = crawled(tmp_path, "a.jsonl"), crawled(tmp_path, "b.jsonl")
    assert len(one) == 230
    assert list(one) != list(two)
    assert one == two


def test_holder_connects_no_handler_to_request_scheduled_signal() -> None:
    """To call one costs each of a page's links more than all else that is done with it."""
    crawler = get_crawler()
    holder = ItemHolder(crawler)
    assert list(liveReceivers(getAllReceivers(crawler, signals.request_scheduled))) == []
    assert holder.sites == {}  # it is alive, and its handlers with it


def test_interrupted_crawl_resumes_with_held_items_of_whole_site(
    site: Site, tmp_path: Path
) -> None:
    small_site(site, 80)
    run("crawl", site.url, "--own-site", "--name", "whole", "-o", "whole.jsonl", cwd=tmp_path)
    answer, numbers = site.answer, count(1)
    command = [sys.executable, "-m", "contentspider", "crawl", site.url, "--own-site", "--relearn"]
    with Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:

        def interrupting(path: str) -> tuple[int, str, bytes]:
            if next(numbers) == 30:
                process.send_signal(signal.SIGINT)
            return answer(path)

        site.answer = interrupting
        _, said = process.communicate(timeout=TIMEOUT)
    site.answer = answer
    assert "items stay held" in said
    assert "--resume" in said
    assert not (tmp_path / "pages.jsonl").exists(), "there is nothing to put in its place"
    run("crawl", site.url, "--own-site", "--relearn", "--resume", cwd=tmp_path)
    assert crawled(tmp_path) == crawled(tmp_path, "whole.jsonl")


def test_limited_crawl_outputs_items_without_saving_model(site: Site, tmp_path: Path) -> None:
    small_site(site, 12)
    done = run("crawl", site.url, "--own-site", "--max-pages", "5", cwd=tmp_path)
    assert len(crawled(tmp_path)) == 5
    assert "saved" in done.stderr
    assert not (tmp_path / "models").exists()


def test_pages_unknown_to_model_are_judged_by_configured_prior(site: Site, tmp_path: Path) -> None:
    (tmp_path / "prior.npz").write_bytes(constant(4.0).dump())
    prior = ["-s", "CONTENTSPIDER_PRIOR_FILE=prior.npz"]
    footer = "All rights reserved"
    small_site(site, 1)
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    (alone,) = read_jsonl(tmp_path / "pages.jsonl")
    assert footer not in str(alone["content"])
    # A crawl saves no model of one page. Earlier versions did, and it knows no other page.
    learner = SiteLearner(site.url.removeprefix("http://").replace(":", "-"))
    page = Page.from_html(article(0), f"{site.url}/")
    ModelStore(tmp_path / "models").save(learner.fit([page]))
    small_site(site, 3)
    for options in ([], ["--relearn", "-s", "CONTENTSPIDER_LEARN_PAGES=1"]):
        done = run("crawl", site.url, "--own-site", *prior, *options, cwd=tmp_path)
        assert f"({int(bool(options))} learned, {int(not options)} loaded)" in done.stderr
        items = read_jsonl(tmp_path / "pages.jsonl")
        assert [footer in str(item["content"]) for item in items] == [True] * 3
    (tmp_path / "prior.npz").write_bytes(b"no prior")
    done = run("crawl", site.url, "--own-site", *prior, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.INCOMPLETE
    assert wording("crawl.model-without-prior") in done.stderr
    assert {item["model_version"] for item in read_jsonl(tmp_path / "pages.jsonl")} == {
        "unfiltered"
    }


SCRIPT = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess
from contentspider import ContentItem
from contentspider.crawl.learning import learn_process, models, pipeline

class MySpider(scrapy.Spider):
    name = "my"
    custom_settings = {"DOWNLOAD_DELAY": 0}
    def parse(self, response):
        yield ContentItem.from_response(response)
        yield from response.follow_all(css="a", errback=self.failed, cb_kwargs={})
    def failed(self, failure):
        yield {"failed": failure.request.url}

settings = {
    "ADDONS": {"contentspider.Addon": 500}, "FEEDS": {"out.jsonl": {"format": "jsonlines"}},
    "REMOTE_CONTROL_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "DEBUG",
}
%s
process = CrawlerProcess(settings)
process.crawl(MySpider, start_urls=[sys.argv[1] + "/"])
process.start()
"""


def script(site: Site, folder: Path, change: str) -> str:
    """Run a spider with a *change* of what it runs in, and return its log and output."""
    (folder / "spider.py").write_text(SCRIPT % change)
    done = run(site.url, cwd=folder, module="spider.py")
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return done.stderr + done.stdout


FAILS_ONCE = """
learn, fails = models.learn_in_process, [True]
def failing(*task):
    if fails.pop() if fails else False:
        raise learn_process.LearningError("no memory")
    return learn(*task)
models.learn_in_process = failing
"""


def test_failed_learner_is_started_again(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    log = script(site, tmp_path, FAILS_ONCE)
    assert "second attempt: no memory" in log
    assert "contentspider/sites/failed" not in log
    assert all(version != "unfiltered" for _, version in crawled(tmp_path, "out.jsonl").values())
    assert "All rights reserved" not in log, "held items are not printed"


BREAKS = """
def breaking(page, *_):
    raise KeyError
pipeline.page_fields = breaking
settings["LOG_LEVEL"] = "INFO"  # at DEBUG the log has the traceback of each page that breaks
"""


def test_items_that_cannot_be_made_are_not_output_and_counted(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    log = script(site, tmp_path, BREAKS)
    assert not (tmp_path / "out.jsonl").read_text()
    assert "'contentspider/pages/failed/KeyError': 7" in log, "the start page comes twice"


UNREADABLE = """
from pathlib import Path
def refuse(*_):
    raise PermissionError(13, "Permission denied")
Path("models").mkdir(); Path("models", "127.0.0.1-" + sys.argv[1].rpartition(":")[2]).mkdir()
Path("models", "127.0.0.1-" + sys.argv[1].rpartition(":")[2], "manifest.json").mkdir()
Path.replace = refuse
"""


def test_unreadable_and_unsaveable_models_lose_no_items(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    log = script(site, tmp_path, UNREADABLE)
    assert len(crawled(tmp_path, "out.jsonl")) == 6
    assert "cannot be renamed (Permission denied)" in log
    assert wording("crawl.model-not-saved") + " models" in log


def test_crawl_without_asyncio_reactor_fails_with_one_message(site: Site, tmp_path: Path) -> None:
    small_site(site, 3)
    reactor = "twisted.internet.selectreactor.SelectReactor"
    log = script(site, tmp_path, f"settings['TWISTED_REACTOR'] = {reactor!r}")
    assert log.count(wording("crawl.needs-asyncio")) == 1
    assert not site.requests


ERRBACK = """
class MySpider(MySpider):
    def parse(self, response):
        item = ContentItem.from_response(response)
        yield response.follow("/gone", self.parse, errback=self.failed, cb_kwargs={"item": item})
    def failed(self, failure):
        yield failure.request.cb_kwargs["item"]
"""


def test_errback_item_waits_for_site_model(site: Site, tmp_path: Path) -> None:
    site.add("/", article(1))
    script(site, tmp_path, ERRBACK)
    ((_, version),) = crawled(tmp_path, "out.jsonl").values()
    assert version != "unfiltered"


@pytest.mark.parametrize("pages", [3, 6])
def test_large_site_is_relearned_from_all_its_pages(pages: int, site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    log = script(site, tmp_path, f"settings['CONTENTSPIDER_LEARN_PAGES'] = {pages}")
    assert len(crawled(tmp_path, "out.jsonl")) == 6
    assert "from 6 pages in" in log, "the model that stays has seen all pages"
    assert "'contentspider/sites/learned': 1" in log


@pytest.mark.parametrize(("least", "early"), [(0.0, 1), (2.0, 0)])
def test_items_of_large_site_are_released_early_if_model_is_good_enough(
    least: float, early: int, site: Site, tmp_path: Path
) -> None:
    small_site(site, 8)
    change = f"models.FIRST_TRY, models.KNOWN_F1 = 3, {least}"
    log = script(site, tmp_path, change)
    assert len(crawled(tmp_path, "out.jsonl")) == 8
    assert log.count("learning from a sample of all pages") == early
    assert "from 8 pages in" in log, "the model that stays has seen all pages"


WATCHED = """
class Watching:
    async def process_spider_output(self, response, result):
        async for found in result:
            if isinstance(found, ContentItem):
                assert found.url == response.url, (found, response)
                print("seen", found.url)
            yield found

settings["SPIDER_MIDDLEWARES"] = {Watching: 543}
"""


def test_held_items_reach_signal_handlers_once_and_are_not_dropped(
    site: Site, tmp_path: Path
) -> None:
    small_site(site, 6)
    log = script(site, tmp_path, WATCHED)
    assert log.count("seen http") == len(read_jsonl(tmp_path / "out.jsonl")) == 7
    assert "item_dropped_count" not in log
    assert "'item_scraped_count': 7" in log
    # What is out is held no longer.
    assert "'contentspider/book/held': 0" in log


def test_scrapy_parse_command_shows_filled_items(site: Site, tmp_path: Path) -> None:
    site.add("/", article(1))
    spider = SCRIPT.partition("\nsettings = {")[0]
    (tmp_path / "spiders.py").write_text(spider)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (tmp_path / "settings.py").write_text(
        "ADDONS = {'contentspider.Addon': 500}\nSPIDER_MODULES = ['spiders']\n"
        "REMOTE_CONTROL_ENABLED = TELNETCONSOLE_ENABLED = False\n"
    )
    done = run("parse", "--spider=my", "--nocolour", site.url, cwd=tmp_path, module="scrapy")
    assert "'title': 'Page 1'" in done.stdout
    assert "'model_version': 'unfiltered'" not in done.stdout, "the prior judges the page"


COUNTING = """
import threading, time
learn, busy, most = models.learn_in_process, [0], [0]
models.os.cpu_count = lambda: 2
def counting(*task):
    with threading.Lock():
        busy[0] += 1
    most[0] = max(most[0], busy[0])
    try:
        return learn(*task)
    finally:
        busy[0] -= 1
        print("at once:", most[0])
models.learn_in_process = counting
"""


def test_two_cores_run_one_learner_at_a_time(site: Site, tmp_path: Path) -> None:
    with serve() as other:
        small_site(other, 4)
        small_site(site, 4)
        site.add("/", article(0, f"<a href={other.url}/>x</a><a href=/1>y</a>"))
        log = script(site, tmp_path, COUNTING)
    assert log.count("at once: 1") == 2
