"""What a crawl costs with contentspider and without: pages per CPU-second of the crawling process.

    python benchmarks/crawl.py [--pages 1000] [--rounds 3] [--folder FOLDER [--follow]]

The same pages are crawled by spiders in processes of their own, in turn:

- `contentspider`: a spider with the add-on, the site learned by a crawl before: filtered from the first page;
- `durable`: the same with every address and item in the ledger (``CONTENTSPIDER_DURABLE``);
- `plain`: the same spider with the same link extraction, without the add-on, yielding dicts;
- `trafilatura`: a spider with Scrapy's LinkExtractor, and trafilatura in a pipeline;
- `site spider`: contentspider's own spider, as `contentspider crawl` runs it.

The generated site is served from a process of its own; FOLDER serves the HTML files below it instead (the
`html` folder of a corpus), each requested once and its links not followed, and leaves the site spider out;
with --follow it is crawled by its links, as the website that it was.
CPU time is that of the process after its imports, the least of the rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import scrapy
from generated_site import GeneratedServer
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse

from contentspider import ContentItem
from contentspider.crawl import project
from contentspider.crawl.links import page_links
from contentspider.crawl.run import OWN_SITE
from contentspider.crawl.spider import SiteSpider
from contentspider.evaluation.corpora import find_corpora
from contentspider.page.files import html_files

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from types import TracebackType

    from scrapy.http import Response
    from typing_extensions import Self


class BenchmarkSpider(scrapy.Spider):
    """Requests the addresses of *job* and, if the job says so, follows all links of their host."""

    name = "benchmark"

    def __init__(self, job: dict[str, Any]) -> None:
        super().__init__()
        self.job = job
        self.host = urlsplit(job["urls"][0]).netloc

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.job["urls"]:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield self.item(response)
        for link in self.links(response):
            if urlsplit(link).netloc == self.host and self.job["follow"]:
                yield scrapy.Request(link)

    def item(self, response: HtmlResponse) -> Any:
        return {"url": response.url}

    def links(self, response: HtmlResponse) -> Iterable[str]:
        return page_links(response.selector.root, response.url)


class ContentSpider(BenchmarkSpider):
    def item(self, response: HtmlResponse) -> Any:
        return ContentItem.from_response(response)


class TrafilaturaSpider(BenchmarkSpider):
    def __init__(self, job: dict[str, Any]) -> None:
        from scrapy.linkextractors import LinkExtractor

        super().__init__(job)
        self.extractor = LinkExtractor(allow_domains=[self.host])

    def item(self, response: HtmlResponse) -> Any:
        return {"url": response.url, "content": response.text}

    def links(self, response: HtmlResponse) -> Iterable[str]:
        return [link.url for link in self.extractor.extract_links(response)]


class TrafilaturaPipeline:
    def __init__(self) -> None:
        import trafilatura

        self.extract = trafilatura.extract

    def process_item(self, item: dict[str, str]) -> dict[str, str]:
        item["content"] = self.extract(item["content"], include_comments=False) or ""
        return item


SPIDERS = {"contentspider": ContentSpider, "durable": ContentSpider, "plain": BenchmarkSpider, "trafilatura": TrafilaturaSpider, "site spider": SiteSpider}


def work(job: dict[str, Any]) -> None:
    """Run one crawl in this process and print its pages and CPU seconds."""
    case = job["case"]
    settings = {name: getattr(project, name) for name in dir(project) if name.isupper() and name not in ("ADDONS", "SPIDER_MODULES")}
    settings |= OWN_SITE | {"ROBOTSTXT_OBEY": False, "LOG_LEVEL": "WARNING", "FEEDS": {job["output"]: {"format": "jsonlines"}}}
    if case in ("contentspider", "durable", "site spider"):
        import contentspider.crawl.addon  # noqa: F401 - not counted

        settings |= {"ADDONS": project.ADDONS, "CONTENTSPIDER_MODELS_DIR": job["models"], "EXTENSIONS": {"contentspider.crawl.progress.Progress": None}}
        settings |= {"CONTENTSPIDER_DURABLE": case != "contentspider"}
    if case == "trafilatura":
        settings["ITEM_PIPELINES"] = {TrafilaturaPipeline: 300}
        import trafilatura  # noqa: F401 - not counted
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SPIDERS[case])
    if case == "site spider":
        process.crawl(crawler, url=job["urls"][0], sitemaps=False)
    else:
        process.crawl(crawler, job=job)
    before = cpu_seconds()
    process.start()
    assert crawler.stats
    print(json.dumps({"pages": crawler.stats.get_value("item_scraped_count", 0), "cpu": cpu_seconds() - before}))


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


SERVE = """
import sys
from pathlib import Path
from contentspider.evaluation.serve import SiteServer
with SiteServer(Path(sys.argv[1]), sys.argv[2:]) as site:
    print(site.url, flush=True)
    sys.stdin.read()
"""


class FolderServer:
    """Serves the HTML files below a folder from a process of its own; *urls* are some of them.

    To *follow* links, the folder is a corpus': they start where its ``site.json`` says, and its addresses are ours.
    """

    def __init__(self, folder: Path, pages: int, follow: bool) -> None:
        self.folder = folder.resolve()
        self.pages = pages
        self.corpus = find_corpora(self.folder.parent)[0] if follow else None

    def __enter__(self) -> Self:
        command = [sys.executable, "-c", SERVE, str(self.folder), *(self.corpus.bases if self.corpus else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        root = self.process.stdout.readline().strip()
        if self.corpus:
            self.urls = [root.rstrip("/") + path for path in self.corpus.start_paths]
            return self
        files = list(html_files(self.folder))
        random.Random(0).shuffle(files)
        self.urls = [root + quote(file.relative_to(self.folder).as_posix()) for file in files[: self.pages]]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.communicate()  # closes its input: it ends


def run(job: dict[str, Any]) -> dict[str, float]:
    """Run one crawl in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--work"], input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=1_000, help="pages of the generated site, or of the folder at most")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="HTML files to serve in place of the generated site")
    parser.add_argument("--follow", action="store_true", help="crawl FOLDER, the html folder of a corpus, by its links")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(json.load(sys.stdin))
        return
    cases = [case for case in SPIDERS if not (options.folder and not options.follow and case == "site spider")]
    with (
        FolderServer(options.folder, options.pages, options.follow) if options.folder else GeneratedServer(options.pages) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        urls = server.urls if options.folder else [server.url]
        jobs = {
            case: {"case": case, "urls": urls, "follow": options.follow or not options.folder, "models": f"{folder}/models", "output": f"{folder}/{case}.jsonl"}
            for case in cases
        }
        run(jobs["contentspider"])  # learns the site
        rounds = [{case: run(job) for case, job in jobs.items()} for _ in range(options.rounds)]
    print("| crawl | pages | CPU ms a page | pages per CPU-second | contentspider's in relation |\n|---|---|---|---|---|")
    rates = {case: max(done[case]["pages"] / done[case]["cpu"] for done in rounds) for case in cases}
    for case, rate in rates.items():
        print(f"| {case} | {rounds[0][case]['pages']} | {1000 / rate:.2f} | {rate:.0f} | {rates['contentspider'] / rate:.2f} |")


if __name__ == "__main__":
    main()
