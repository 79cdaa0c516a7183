"""What the add-on does with a page, by part: CPU milliseconds a page of each site.

    python benchmarks/parts.py CORPORA [--rounds 3]

Each site is learned from 60 of its pages, and these are read, filtered and exported one after the
other, as a crawl does it, each call timed by the thread's clock; least of the rounds. Python's
garbage collector is off. "parse" is what every spider pays that looks at its pages.
"""

from __future__ import annotations

import argparse
import gc
import io
import statistics
import time
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exporters import JsonLinesItemExporter
from scrapy.http import HtmlResponse

from contentspider import ContentItem, Page, SiteLearner
from contentspider.crawl.base.items import FieldMap
from contentspider.crawl.middlewares.pages import _make_safe
from contentspider.evaluation.corpora import find_corpora
from contentspider.page.about.hints import read_head
from contentspider.page.input.files import html_files
from contentspider.page.tree.blocks import MAX_BLOCKS, new_walker, read_tree
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.markup import write_html
from contentspider.page.write.output import to_text
from contentspider.page.write.structure import parts
from contentspider.site.models.record import page_fields, page_language
from contentspider.site.title import page_title
from contentspider_research.corpora import is_crawlable

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.site.models.model import SiteModel

Times = dict[str, float]
MAX_PAGES = 60  # of a site


def measure(bodies: list[tuple[str, bytes]], model: SiteModel) -> Times:
    """Return the milliseconds of each part a page."""
    walker, field_map = new_walker(), FieldMap({})
    exporter = JsonLinesItemExporter(io.BytesIO(), encoding="utf-8")
    spent: Times = {}

    def timed(part: str, call: Callable[..., Any], *given: Any) -> Any:
        began = time.thread_time_ns()
        found = call(*given)
        spent[part] = spent.get(part, 0) + (time.thread_time_ns() - began) / 1e6 / len(bodies)
        return found

    for url, body in bodies:
        response = timed("look at the body", _make_safe, HtmlResponse(url, body=body))
        root = timed("parse", attrgetter("selector.root"), response)
        content, elements = timed("blocks", read_tree, root, MAX_BLOCKS, False, walker)
        page = Page(url, content, *timed("hints", read_head, root, elements))
        timed("metadata", attrgetter("metadata"), page)
        extraction = timed("decision, type, confidence", model.extract, page)
        blocks = extraction.blocks
        found = timed("Markdown and HTML: their parts", parts, blocks, page.base)
        timed("Markdown", write_markdown, found)
        timed("HTML", write_html, found)
        timed("text", to_text, blocks)
        timed("title", page_title, page)
        timed("language", page_language, page, blocks)
        item = ContentItem(url)
        values = timed("all fields", page_fields, page, "site", extraction, "version")
        timed("set fields", field_map.fill, item, values)
        timed("line of JSON", exporter.export_item, item)
    named = ("Markdown and HTML: their parts", "Markdown", "HTML", "text", "title", "language")
    spent["other fields"] = max(0.0, spent.pop("all fields") - sum(spent[part] for part in named))
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, help="corpora, or one")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found: dict[str, Times] = {}
    for corpus in find_corpora(options.corpora):
        if not is_crawlable(corpus):
            continue
        bodies = [
            (f"https://{corpus.name}.example/{file.name}", body)
            for file in html_files(corpus.folder / "html")
            if (body := file.read_bytes()).strip()
        ][:MAX_PAGES]
        model = SiteLearner(corpus.name).fit([Page.from_html(body, url) for url, body in bodies])
        gc.collect()
        gc.disable()
        rounds = [measure(bodies, model) for _ in range(options.rounds)]
        gc.enable()
        found[corpus.name] = {part: min(times[part] for times in rounds) for part in rounds[0]}
    own = {
        name: sum(spent for part, spent in times.items() if part != "parse")
        for name, times in found.items()
    }
    worst = max(own, key=lambda name: own[name])
    print(f"| CPU ms a page | median of {len(found)} sites | {worst} |\n|---|---|---|")
    for part in found[worst]:
        middle = statistics.median(times[part] for times in found.values())
        print(f"| {part} | {middle:.3f} | {found[worst][part]:.3f} |")
    print(f"| all but parse | {statistics.median(own.values()):.2f} | {own[worst]:.2f} |")


if __name__ == "__main__":
    main()
