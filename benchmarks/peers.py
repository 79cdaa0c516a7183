"""One job by contentspider and by other crawlers: the CPU time to read a site into clean texts.

    python benchmarks/peers.py CORPUS [--rounds 2] [--python PYTHON] [--case NAME ...]

CORPUS is a site whose pages are linked. It is served on loopback from a process of its own. Each
crawler follows all links of the host and writes a JSON line for each page:

- `ours`: `contentspider crawl`, which learns the site;
- `ours again`: the same crawl a second time, with the stored model and the known pages;
- `scrapy + trafilatura`: a Scrapy spider with LinkExtractor, and trafilatura for the text;
- `scrapy, titles`: the same spider, which writes the titles only;
- `crawlee + trafilatura`: crawlee's ParselCrawler, and trafilatura;
- `crawl4ai`: its breadth-first crawl without a browser, and its pruned Markdown.

The peers run in PYTHON, an interpreter that has their packages (default: this one); a peer whose
packages are missing is left out. CPU time is that of the whole process with its children, the least
of the rounds, and in relation to `ours again`.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

if __package__ is None and "--work" not in sys.argv:
    from corpus_server import CorpusSite

MISSING = 3  # the exit code of a peer whose packages are not installed
MAX_PAGES = 10_000
CONCURRENCY = 16


def ours(url: str, output: str) -> None:
    from contentspider.cli import main as run_contentspider

    code = run_contentspider(["crawl", url, "--own-site", "-o", output])
    if code not in (0, 4):  # 4: the corpora lack pages that others link to
        sys.exit(f"the crawl failed: {code}")


def scrapy_trafilatura(url: str, output: str) -> None:
    import trafilatura

    _scrapy(url, output, lambda html: trafilatura.extract(html, include_comments=False) or "")


def scrapy_titles(url: str, output: str) -> None:
    _scrapy(url, output, None)


def _scrapy(url: str, output: str, extract: object) -> None:
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.http import HtmlResponse
    from scrapy.linkextractors import LinkExtractor

    class Peer(scrapy.Spider):
        name = "peer"
        start_urls = [url]  # noqa: RUF012
        links = LinkExtractor(allow_domains=[urlsplit(url).netloc])

        def parse(self, response):  # type: ignore[no-untyped-def]
            if not isinstance(response, HtmlResponse):
                return
            item = {"url": response.url, "title": response.css("title::text").get()}
            if callable(extract):
                item["text"] = extract(response.text)
            yield item
            for link in self.links.extract_links(response):
                yield scrapy.Request(link.url)

    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
        "DOWNLOAD_DELAY": 0,
        "FEEDS": {output: {"format": "jsonlines", "overwrite": True}},
        "LOG_LEVEL": "ERROR",
    }
    process = AsyncCrawlerProcess(settings)
    process.crawl(Peer)
    process.start()


def crawlee_trafilatura(url: str, output: str) -> None:
    import trafilatura
    from crawlee import ConcurrencySettings
    from crawlee.crawlers import ParselCrawler, ParselCrawlingContext

    async def crawl() -> None:
        limits = ConcurrencySettings(max_concurrency=CONCURRENCY, desired_concurrency=CONCURRENCY)
        crawler = ParselCrawler(
            max_requests_per_crawl=MAX_PAGES, concurrency_settings=limits, max_request_retries=0
        )
        with Path(output).open("w") as file:  # noqa: ASYNC230

            @crawler.router.default_handler
            async def handle(context: ParselCrawlingContext) -> None:
                html = context.selector.get()
                text = trafilatura.extract(html, include_comments=False) or ""
                file.write(json.dumps({"url": context.request.url, "text": text}) + "\n")
                await context.enqueue_links(strategy="same-hostname")

            await crawler.run([url])

    asyncio.run(crawl())


def crawl4ai(url: str, output: str) -> None:
    from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig, HTTPCrawlerConfig
    from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
    from crawl4ai.content_filter_strategy import PruningContentFilter
    from crawl4ai.deep_crawling import BFSDeepCrawlStrategy
    from crawl4ai.markdown_generation_strategy import DefaultMarkdownGenerator

    async def crawl() -> None:
        config = CrawlerRunConfig(
            deep_crawl_strategy=BFSDeepCrawlStrategy(max_depth=50, max_pages=MAX_PAGES),
            markdown_generator=DefaultMarkdownGenerator(content_filter=PruningContentFilter()),
            cache_mode=CacheMode.BYPASS,
            stream=True,
            verbose=False,
        )
        strategy = AsyncHTTPCrawlerStrategy(browser_config=HTTPCrawlerConfig())
        async with AsyncWebCrawler(crawler_strategy=strategy) as crawler:
            with Path(output).open("w") as file:  # noqa: ASYNC230
                async for result in await crawler.arun(url, config=config):
                    if result.success and result.status_code == 200:
                        text = str(result.markdown.fit_markdown)
                        file.write(json.dumps({"url": result.url, "text": text}) + "\n")

    asyncio.run(crawl())


CASES = {
    "ours": ours,
    "ours again": ours,
    "scrapy + trafilatura": scrapy_trafilatura,
    "scrapy, titles": scrapy_titles,
    "crawlee + trafilatura": crawlee_trafilatura,
    "crawl4ai": crawl4ai,
}


def run(case: str, url: str, folder: Path, python: str) -> tuple[float, int] | None:
    """Return the CPU seconds and the pages of one crawl; None if its packages are missing."""
    output = folder / f"{case}.jsonl".replace(" ", "-")
    is_ours = CASES[case] is ours
    environment = {**os.environ, "CRAWLEE_STORAGE_DIR": str(folder / "crawlee")}
    if not is_ours:
        environment.pop("PYTHONPATH", None)
    before = _cpu()
    with (folder / f"{output.stem}.log").open("w") as log:
        done = subprocess.run(
            [sys.executable if is_ours else python, __file__, url, "--work", case],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
        )
    seconds = _cpu() - before
    if done.returncode == MISSING:
        return None
    if done.returncode:
        sys.exit(f"{case} failed ({done.returncode}): {(folder / log.name).read_text()[-2000:]}")
    return seconds, len(output.read_bytes().splitlines())


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def work(case: str, url: str) -> None:
    try:
        CASES[case](url, f"{case}.jsonl".replace(" ", "-"))
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        sys.exit(MISSING)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", metavar="CORPUS", help="the folder of one corpus")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--python", default=sys.executable, help="an interpreter for the peers")
    parser.add_argument("--case", action="append", choices=CASES, help="measure these only")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.corpus)
        return
    import contentspider

    compileall.compile_dir(Path(contentspider.__file__).parent, quiet=2)  # as an installed package
    cases = [case for case in CASES if not options.case or case in options.case]
    found: dict[str, list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for number in range(options.rounds):
            folder = Path(temporary) / str(number)
            folder.mkdir()
            # A server of its own: its address names the crawl and the site.
            with CorpusSite(Path(options.corpus)) as site:
                for case in cases:
                    if cost := run(case, site.urls[0], folder, options.python):
                        found.setdefault(case, []).append(cost)
                        print(f"{case}: {cost[0]:.1f} s, {cost[1]} pages", file=sys.stderr)
                    else:
                        print(f"{case}: its packages are not installed", file=sys.stderr)
    least = {case: min(costs) for case, costs in found.items()}
    base = least.get("ours again", next(iter(least.values())))[0]
    print("| crawler | pages | CPU seconds | ratio |\n|---|---|---|---|")
    for case, (seconds, pages) in least.items():
        print(f"| {case} | {pages} | {seconds:.1f} | {seconds / base:.2f} |")


if __name__ == "__main__":
    main()
