"""What a crawl costs with contentspider and without: pages per CPU-second of the crawling process.

    python benchmarks/crawl.py [--corpora CORPORA [--single]] [--pages 1000] [--rounds 3]
                               [--case NAME ...]

The same pages are crawled by spiders in processes of their own, in turn:

- `contentspider`: a spider with the add-on, the site learned by a crawl before: filtered from the
  first page;
- `text`: the same, with items that ask for the text alone (``CONTENTSPIDER_ITEM_FIELDS``);
- `durable`: the first with every address and item in a new book
  (``CONTENTSPIDER_DURABLE``);
- `plain`: the same spider with the same link extraction, without the add-on, yielding dicts;
- `trafilatura`: a spider with Scrapy's LinkExtractor, and trafilatura in a pipeline;
- `site spider`: contentspider's own spider, as `contentspider crawl` runs it;
- `indexed`: the same with a new index of tantivy, which is full when it ends (``--index``).

The sites are those of CORPORA whose pages are linked, each crawled by its links as the website that
it was, or with --single each page requested once, its links read and none followed. Without CORPORA
it is a generated site. Each is served from a process of its own. The corpora lack many pages that
theirs link to: a crawl before, which also learns the site, finds out which links are dead, and no
spider follows those.
Pages are answers of status 200: Scrapy's LinkExtractor finds a few more or less than we do. CPU
time is that of the crawling process from when its spider is opened (imports and the making of
components are left out; to load the site's model is not), per page the least of the rounds. In
parentheses: in relation to the first spider, and where it differs the number of pages.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import scrapy
from generated_server import GeneratedServer
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse

from contentspider import ContentItem, bind
from contentspider.crawl.base.links import caching_resolver, page_links, read_head
from contentspider.crawl.spider.spider import SiteSpider
from contentspider.evaluation.corpora import Corpus, find_corpora, json_lines
from contentspider.page.input.files import html_files
from contentspider.run import project
from contentspider.run.run import OWN_SITE
from contentspider_research.corpora import bases, is_crawlable, start_paths

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from types import TracebackType

    from scrapy.http import Response
    from typing_extensions import Self


class BenchmarkSpider(scrapy.Spider):
    """Requests the addresses of *job* and, if the job says so, follows all links of their host, or
    those that are *alive*.
    """

    name = "benchmark"

    def __init__(self, job: dict[str, Any]) -> None:
        super().__init__()
        self.job = job
        self.host = urlsplit(job["urls"][0]).netloc
        self.alive = frozenset(job.get("alive", ()))
        self.resolve = caching_resolver()

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.job["urls"]:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield self.item(response)
        for link in self.links(response):
            if self.job["follow"] and (
                link in self.alive or (not self.alive and urlsplit(link).netloc == self.host)
            ):
                yield scrapy.Request(link)

    def item(self, response: HtmlResponse) -> Any:
        return {"url": response.url}

    def links(self, response: HtmlResponse) -> Iterable[str]:
        return page_links(read_head(response.selector.root, response.url), resolve=self.resolve)


class ContentSpider(BenchmarkSpider):
    def item(self, response: HtmlResponse) -> Any:
        return ContentItem.from_response(response)


class TextSpider(BenchmarkSpider):
    def item(self, response: HtmlResponse) -> Any:
        return bind({"url": response.url}, response)


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


class LivingSiteSpider(SiteSpider):
    alive: frozenset[str] = frozenset()

    def is_own(self, address: str) -> bool:
        return super().is_own(address) and (not self.alive or address in self.alive)


# Spiders that follow links by themselves.
FOLLOWING = ("site spider", "indexed")
SPIDERS = {
    "contentspider": ContentSpider,
    "text": TextSpider,
    "durable": ContentSpider,
    "plain": BenchmarkSpider,
    "trafilatura": TrafilaturaSpider,
    "site spider": LivingSiteSpider,
    "indexed": LivingSiteSpider,
}


def work(job: dict[str, Any]) -> None:
    """Run one crawl in this process and print its pages and CPU seconds."""
    case = job["case"]
    settings = {
        name: getattr(project, name)
        for name in dir(project)
        if name.isupper() and name not in ("ADDONS", "SPIDER_MODULES")
    }
    settings |= OWN_SITE | {
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "WARNING",
        "FEEDS": {job["output"]: {"format": "jsonlines"}},
    }
    if case in ("contentspider", "text", "durable", *FOLLOWING):
        import contentspider.crawl.addon  # noqa: F401 - not counted

        settings |= {
            "ADDONS": project.ADDONS,
            "CONTENTSPIDER_MODELS_DIR": job["models"],
            "EXTENSIONS": {"contentspider.crawl.progress.Progress": None},
        }
        state = tempfile.mkdtemp(dir=Path(job["models"]).parent)
        settings |= {
            "CONTENTSPIDER_DURABLE": case not in ("contentspider", "text"),
            "CONTENTSPIDER_STATE_DIR": state,
        }
        if case == "text":
            settings |= {"CONTENTSPIDER_ITEM_FIELDS": {"dict": {"content": "content"}}}
        if case == "indexed":
            settings |= {"CONTENTSPIDER_INDEX": [f"tantivy:{state}/index"]}
    if case == "trafilatura":
        settings["ITEM_PIPELINES"] = {TrafilaturaPipeline: 300}
        import trafilatura  # noqa: F401 - not counted
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SPIDERS[case])
    started = []

    def opened() -> None:
        started.append(cpu_seconds())

    crawler.signals.connect(opened, signal=signals.spider_opened)
    if case in FOLLOWING:
        LivingSiteSpider.alive = frozenset(job.get("alive", ()))
        process.crawl(crawler, url=" ".join(job["urls"]), sitemaps=False)
    else:
        process.crawl(crawler, job=job)
    process.start()
    assert crawler.stats
    if case == "indexed":
        assert crawler.stats.get_value("contentspider/index/upserted"), "nothing was indexed"
    print(
        json.dumps(
            {
                "pages": crawler.stats.get_value("downloader/response_status_count/200", 0),
                "cpu": cpu_seconds() - started[0],
            }
        )
    )


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


SERVE = """
import sys
from pathlib import Path
from contentspider_research.serve import SiteServer
with SiteServer(Path(sys.argv[1]), sys.argv[2:]) as site:
    print(site.url, flush=True)
    sys.stdin.read()
"""


class CorpusServer:
    """Serves a corpus from a process of its own, by its links as the website that it was, or
    *single* pages; *urls* are where a crawl of it starts.
    """

    def __init__(self, corpus: Corpus, single: bool) -> None:
        self.corpus = corpus
        self.single = single

    def __enter__(self) -> Self:
        folder = self.corpus.folder.resolve() / "html"
        command = [
            sys.executable,
            "-c",
            SERVE,
            str(folder),
            *([] if self.single else bases(self.corpus)),
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        root = self.process.stdout.readline().strip()
        paths = (
            [quote(file.relative_to(folder).as_posix()) for file in html_files(folder)]
            if self.single
            else start_paths(self.corpus)
        )
        self.urls = [root + path.lstrip("/") for path in paths]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.communicate()  # closes its input: it ends


def run(job: dict[str, Any]) -> dict[str, float]:
    """Run one crawl in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--work"],
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(
    server: CorpusServer | GeneratedServer, follow: bool, cases: list[str], rounds: int
) -> dict[str, dict[str, float]]:
    """Return the pages of a site and the CPU seconds that each of *cases* takes to crawl them."""
    with server, tempfile.TemporaryDirectory() as folder:
        urls = [server.url] if isinstance(server, GeneratedServer) else server.urls
        jobs: dict[str, dict[str, Any]] = {
            case: {
                "case": case,
                "urls": urls,
                "follow": follow,
                "models": f"{folder}/models",
                "output": f"{folder}/{case}.jsonl",
            }
            for case in ("contentspider", *cases)
        }
        run(jobs["contentspider"])  # learns the site
        answered = [
            json.loads(line)["url"] for _, line in json_lines(Path(jobs["contentspider"]["output"]))
        ]
        alive = {
            form for url in answered for form in (url, unquote(url))
        }  # pages write them either way
        jobs = {case: job | {"alive": sorted(alive)} for case, job in jobs.items()}
        found = [{case: run(jobs[case]) for case in cases} for _ in range(rounds)]
    return {
        case: min(
            (done[case] for done in found), key=lambda done: done["cpu"] / max(1, done["pages"])
        )
        for case in cases
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--corpora", type=Path, help="corpora, or one, to crawl in place of the generated site"
    )
    parser.add_argument(
        "--single",
        action="store_true",
        help="request each page of the corpora once, and follow no link",
    )
    parser.add_argument("--pages", type=int, default=1_000, help="pages of the generated site")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--case", action="append", choices=SPIDERS, help="measure these spiders only"
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(json.load(sys.stdin))
        return
    cases = options.case or [case for case in SPIDERS if not (options.single and case in FOLLOWING)]
    if options.single and not options.corpora:
        parser.error("--single needs --corpora")
    if options.single and not set(FOLLOWING).isdisjoint(cases):
        parser.error("the site spider follows links: it cannot be measured with --single")
    found = {}
    if options.corpora:
        for corpus in find_corpora(options.corpora):
            if is_crawlable(corpus):
                found[corpus.name] = measure(
                    CorpusServer(corpus, options.single), not options.single, cases, options.rounds
                )
                print(f"{corpus.name}: {found[corpus.name]}", file=sys.stderr)
    else:
        found["generated"] = measure(GeneratedServer(options.pages), True, cases, options.rounds)
    if not found:
        parser.error(
            f"no site of {options.corpora} is crawlable (site.json: crawlable, start_paths)"
        )
    if len(found) > 1:
        found["all"] = {
            case: {key: sum(site[case][key] for site in found.values()) for key in ("pages", "cpu")}
            for case in cases
        }
    print(f"| CPU ms a page | pages | {' | '.join(cases)} |\n|---|---|{'---|' * len(cases)}")
    for name, site in found.items():
        pages, costs = (
            [site[case]["pages"] for case in cases],
            [1000 * site[case]["cpu"] / max(1, site[case]["pages"]) for case in cases],
        )
        cells = [
            f"{cost:.2f}"
            f" ({cost / costs[0]:.2f}{'' if count == pages[0] else f', {count:.0f} pages'})"
            for cost, count in zip(costs, pages, strict=True)
        ]
        print(f"| {name} | {pages[0]:.0f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
