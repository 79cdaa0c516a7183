"""Measures the records of listings by the pages that they lead to.

    python benchmarks/records.py FOLDER ...

Each folder has unpacked sites (``SITE/html/``). Each site is learned from its pages, and then the
records of its listings are read. A record is compared with the page of the site at its address. The
title is right if it is one of that page's titles (the title of its item, or a title in its head).
The day is right if that page states it as data. Records that lead to no page of the folder are only
counted.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from contentspider.ground.errors import NotEnoughTextError
from contentspider.page.about.jsonld import title_key
from contentspider.page.input.files import html_files
from contentspider.page.input.page import Page
from contentspider.site.fields.site_fields import PUBLISHED
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.title import page_title

BASE = "https://example.org/"


def page_key(address: str) -> str:
    """Return an address for comparison: without parameters, fragment, and name of an index."""
    return address.partition("#")[0].partition("?")[0].removesuffix("index.html").rstrip("/")


def site_pages(folder: Path) -> dict[str, Page]:
    """Return the pages of a site by their keys."""
    pages = {}
    for path in html_files(folder):
        url = BASE + path.relative_to(folder).as_posix()
        pages[page_key(url)] = Page.from_html(path.read_bytes(), url)
    return pages


def count_records(pages: dict[str, Page]) -> Counter[str]:
    """Return the numbers of listings and of right and wrong records of a site."""
    counts: Counter[str] = Counter()
    model = SiteLearner().fit(pages.values())
    for page in pages.values():
        extraction = model.extract(page)
        counts["listings"] += extraction.page_type == "listing"
        counts["listings with records"] += bool(extraction.records)
        for record in extraction.records:
            counts["records"] += 1
            target = pages.get(page_key(record["url"]))
            if target is not None:
                counts.update(outcomes(record, target))
    return counts


def outcomes(record: dict[str, str], target: Page) -> Counter[str]:
    """Return what is right of a record that leads to *target*."""
    titles = (page_title(target), target.metadata.title, *target.hints.titles)
    is_titled = title_key(record["title"]) in map(title_key, titles)
    counts = Counter({"compared": 1, "titles right": int(is_titled)})
    day = target.metadata.published_at[:10] if PUBLISHED in target.metadata.stated else ""
    if day and record["published_at"]:
        counts.update({"days": 1, "days right": int(record["published_at"] == day)})
    return counts


def main() -> None:
    """Measure the sites of the folders."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", metavar="FOLDER", type=Path, nargs="+")
    total: Counter[str] = Counter()
    for folder in parser.parse_args().folders:
        for site in sorted(path for path in folder.iterdir() if (path / "html").is_dir()):
            try:
                counts = count_records(site_pages(site / "html"))
            except NotEnoughTextError:
                continue
            total += counts
            print(f"{site.name}: {describe(counts)}", flush=True)
    print(f"all: {describe(total)}")


def describe(counts: Counter[str]) -> str:
    """Return the counts as text."""
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())


if __name__ == "__main__":
    main()
