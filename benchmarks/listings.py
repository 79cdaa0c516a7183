"""Listings with their entries (``--keep-teasers``) against entries that XPath names.

    python benchmarks/listings.py SITES [--gold FILE]

SITES has a folder of HTML files a site, as its public repository has them (at most 160 pages of
each were taken). A line of the gold (`listings_gold.jsonl`) names a listing of a site, its entries,
and what in them counts neither way (authors, tags, "read more"); "tuned" are the sites that the
rules were chosen on. Token F1 of a page, mean over a site's pages, mean over sites; beside it
without entries. Sites that are not there are left out.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections import defaultdict
from pathlib import Path
from statistics import mean

from lxml import etree, html

from contentspider.page.input.files import read_pages
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.scores import text_score

GOLD = Path(__file__).with_name("listings_gold.jsonl")


def text_of(elements: list[etree._Element]) -> str:
    parts = [html.tostring(element, encoding="unicode", with_tail=False) for element in elements]
    page = Page.from_html("".join(f"<div>{part}</div>" for part in parts) or "<p>")
    return "\n".join(block.text for block in page.content.blocks)


def entries(body: bytes, wanted: str, optional: str) -> tuple[str, str]:
    """Return the text of a listing's entries, and that in them which counts neither way."""
    tree = html.fromstring(body.decode("utf-8", "replace").replace("<?xml", "<!xml"))
    found = tree.xpath(wanted)
    beside = [each for entry in found for each in (entry.xpath(optional) if optional else [])]
    shown = text_of(beside)
    for each in beside:
        each.drop_tree()
    return text_of(found), shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sites", type=Path)
    parser.add_argument("--gold", type=Path, default=GOLD)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    rows = defaultdict(list)
    for line in options.gold.read_text("utf-8").splitlines():
        row = json.loads(line)
        rows[row["half"], row["site"]].append(row)
    means = defaultdict(list)
    print("| half | site | listings | without entries | with entries |\n|---|---|---|---|---|")
    for (half, site), listed in rows.items():
        folder = options.sites / site
        if not folder.is_dir():
            continue
        pages = {page.url: page for page in read_pages(folder) if page.content.blocks}
        model = SiteLearner(site).fit(pages.values())
        scores = []
        for row in listed:
            body = (folder / row["path"]).read_bytes()
            gold = entries(body, row["entries"], row["optional"])
            found = [model.extract(pages[row["path"]], keeps) for keeps in (False, True)]
            scores.append([text_score(one.text, *gold).f1 for one in found])
        means[half].append([mean(column) for column in zip(*scores, strict=True)])
        shown = " | ".join(f"{value:.3f}" for value in means[half][-1])
        print(f"| {half} | {site} | {len(scores)} | {shown} |", flush=True)
    for half, values in means.items():
        shown = " | ".join(f"{mean(column):.3f}" for column in zip(*values, strict=True))
        print(f"| {half} | mean of {len(values)} | | {shown} |")


if __name__ == "__main__":
    main()
