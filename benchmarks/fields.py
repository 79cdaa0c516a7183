"""Measures how well the places of titles, dates, authors and own fields are learned.

    python benchmarks/fields.py FOLDER ...

Each folder has unpacked sites (``SITE/html/``). Half of the pages that state a title, a date or an
author as data keep their statements, and the site is learned from all pages. The statements of the
other half are hidden, and serve as the expected values of their items. Prints for each field the
precision and the recall of the items' values, first by the general rules alone, then by the learned
knowledge. The number after ``+`` counts days that are one day off because of time zones. Recall is
the share of the pages that show the stated value in a block or in a marked element.

    python benchmarks/fields.py --lists FOLDER ...

measures sections and keywords in the same way. Keywords are right if the page states all of them.
``names`` counts the right names among the names of the items, and all stated names. Recall is the
share of the pages where the stated section, or any of the keywords, is the text of a block or link.

    python benchmarks/fields.py --own FILE.toml FOLDER ...

learns own fields from three examples each. The file has a table for each site, with fields as in
``fields.toml``. Their selectors give the examples, and the expected values of the other pages.
Prints for each field precision, recall and F1 on the pages that are not examples.

    python benchmarks/fields.py --product FOLDER ...

measures the fields of products in the same way as dates. Recall counts all hidden values, also
values that the page does not show. The last number counts values on pages that state none: nobody
knows whether these are right.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from json import dumps
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from contentspider.page.about.authors import name_key, names_key
from contentspider.page.about.jsonld import title_key
from contentspider.page.about.metadata import Statements
from contentspider.page.input.fields_file import FieldExample, FieldsFile, OwnField
from contentspider.page.input.page import Page
from contentspider.site.fields.choice import (
    item_title,
    page_author,
    page_dates,
    page_keywords,
    page_section,
)
from contentspider.site.fields.name_lists import names_key as list_key
from contentspider.site.fields.own_places import value_key
from contentspider.site.fields.site_fields import (
    AUTHOR,
    KEYWORDS,
    PUBLISHED,
    READERS,
    SECTION,
    TITLE,
    SiteFields,
)
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.record import own_values
from contentspider.site.sample import sample_order
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from contentspider.site.fields.own_fields import OwnKnowledge
    from contentspider.site.models.model import SiteModel

MAX_PAGES = 300
MIN_STATED = 8
OWN_EXAMPLES = 3
FIELDS, LIST_FIELDS = (TITLE, PUBLISHED, AUTHOR), (SECTION, KEYWORDS)


def site_pages(folder: Path, fields_file: FieldsFile | None = None) -> list[Page]:
    """Return up to `MAX_PAGES` pages of a site, in the order of samples."""
    pages = []
    files = [file for file in sorted((folder / "html").rglob("*")) if file.is_file()]
    files.sort(key=lambda file: sample_order(str(file.relative_to(folder))))
    for file in files[:MAX_PAGES]:
        url = f"https://example.org/{file.relative_to(folder / 'html')}"
        pages.append(Page.from_html(file.read_bytes(), url, fields_file=fields_file))
    return [page for page in pages if page.content.blocks]


def stated_key(page: Page, field: str) -> object:
    """Return the key of the value that a page states, None without a statement."""
    if field == TITLE:
        return title_key(page_title(page)) if page.metadata.title else None
    if field not in page.metadata.stated:
        return None
    if field == PUBLISHED:
        return page.metadata.published_at[:10]
    return names_key(page.metadata.author)


def without_statement(page: Page, field: str) -> Page:
    """Return a page with its statement of a field removed."""
    metadata = page.metadata
    stated = tuple(name for name in metadata.stated if name != field)
    hidden = {
        TITLE: replace(metadata, title=""),
        PUBLISHED: replace(metadata, stated=stated, published_at=metadata.marked_at),
        AUTHOR: replace(metadata, stated=stated, author=metadata.marked_author),
        SECTION: replace(metadata, section=()),
        KEYWORDS: replace(metadata, keywords=()),
    }
    return Page(page.url, page.content, page.hints, Statements.of(hidden[field]))


def item_key(page: Page, field: str, fields: SiteFields | None) -> object:
    """Return the key of the value in the item of a page, None without a value."""
    if field == TITLE:
        return title_key(item_title(page, fields, False)) or None
    title = page_title(page)
    if field == PUBLISHED:
        return page_dates(page, title, fields, False)[0][:10] or None
    return names_key(page_author(page, title, fields, False)) or None


def is_shown(page: Page, field: str, key: object) -> bool:
    """Tell whether a block of the page, or an element that is marked, has a value."""
    metadata = page.metadata
    if field == TITLE:
        return any(key == title_key(block.text) for block in page.content.blocks)
    marked = metadata.marked_at[:10] if field == PUBLISHED else names_key(metadata.marked_author)
    if marked == key:
        return True
    key_of = (lambda value: value[:10]) if field == PUBLISHED else name_key
    return any(
        key_of(value) == key for block in page.content.blocks for _, value in READERS[field](block)
    )


def is_day_off(day: object, stated: object) -> bool:
    """Tell whether two values are days that are one day apart, as in two time zones."""
    if not (isinstance(day, str) and isinstance(stated, str)):
        return False
    return abs(date.fromisoformat(day) - date.fromisoformat(stated)).days == 1


def hide_statements(
    folder: Path, fields: Iterable[str], states: Callable[[Page, str], bool]
) -> Iterator[tuple[str, SiteModel, list[tuple[Page, Page]]]]:
    """Hide the statements of every other page that *states* a field.

    Yield for each field its name, the model of the site, and the pages with hidden statements, each
    as it is and as the model sees it. Fields that few pages state are left out.
    """
    pages = site_pages(folder)
    for field in fields:
        stating = [page for page in pages if states(page, field)]
        if len(stating) < MIN_STATED:
            continue
        seen_pages = {page.url: without_statement(page, field) for page in stating[1::2]}
        model = SiteLearner(folder.name).fit(seen_pages.get(page.url, page) for page in pages)
        yield (
            field,
            model,
            [(page, seen_pages[page.url]) for page in pages if page.url in seen_pages],
        )


def judged(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Yield for each field of a site the counts of its hidden statements."""

    def states(page: Page, field: str) -> bool:
        return stated_key(page, field) is not None

    for field, model, pages in hide_statements(folder, FIELDS, states):
        counts: Counter[str] = Counter()
        for page, seen_page in pages:
            key = stated_key(page, field)
            extraction = model.extract(seen_page)
            counts["pages"] += 1
            counts["shown"] += is_shown(page, field, key)
            if extraction.page_type == "listing":
                continue
            for name, fields in (("rules", None), ("site", extraction.site_fields)):
                item_value = item_key(seen_page, field, fields)
                counts[f"{name} given"] += item_value is not None
                counts[f"{name} right"] += item_value == key
                counts[f"{name} beside"] += field == PUBLISHED and is_day_off(item_value, key)
        yield field, counts


def lists_judged(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Yield for sections and keywords the counts of a site's hidden statements."""

    def states(page: Page, field: str) -> bool:
        return bool(getattr(page.metadata, field))

    for field, model, pages in hide_statements(folder, LIST_FIELDS, states):
        counts: Counter[str] = Counter()
        for page, seen_page in pages:
            count_lists(counts, field, list_key(getattr(page.metadata, field)), seen_page, model)
        yield field, counts


def count_lists(
    counts: Counter[str], field: str, stated: tuple[str, ...], page: Page, model: SiteModel
) -> None:
    """Count the section or the keywords of a page's item, by the rules and by the site."""
    extraction = model.extract(page)
    is_listing = extraction.page_type == "listing"
    texts = {
        text
        for block in page.content.blocks
        for text in (block.text, *(block.text[start:end] for start, end, _ in block.spans))
    }
    shown = set(stated) & set(list_key(texts))
    counts["pages"] += 1
    counts["shown"] += bool(shown) if field == KEYWORDS else shown == set(stated)
    counts["stated names"] += len(stated)
    choose = page_section if field == SECTION else page_keywords
    for name, fields in (("rules", None), ("site", extraction.site_fields)):
        names = list_key(choose(page, page_title(page), fields, is_listing))
        right_names = set(names) & set(stated)
        is_right = names == stated if field == SECTION else len(right_names) == len(names)
        counts[f"{name} given"] += bool(names)
        counts[f"{name} right"] += bool(names) and is_right
        counts[f"{name} names"] += len(names)
        counts[f"{name} right names"] += len(right_names)


def own_judged(folder: Path, field: OwnField) -> tuple[Counter[str], Mapping[str, OwnKnowledge]]:
    """Return the counts of a field's values on a site, and the learned knowledge."""
    pages = site_pages(folder, FieldsFile((field,)))
    gold = {page.url: page.own.values[field.name] for page in pages if page.own.values}
    examples: dict[object, FieldExample] = {}
    for url, value in gold.items():
        if len(examples) < OWN_EXAMPLES:
            examples.setdefault(value_key(value), FieldExample(url, str(value)))
    learned_field = OwnField(field.name, field.kind, examples=tuple(examples.values()))
    with NamedTemporaryFile("w", suffix=".toml") as file:
        lines = [
            f"{{url = {dumps(e.url)}, value = {dumps(e.value, ensure_ascii=False)}}}"
            for e in learned_field.examples
        ]
        file.write(f"[{field.name}]\ntype = {dumps(field.kind)}\nexamples = [{', '.join(lines)}]\n")
        file.flush()
        model = SiteLearner(folder.name, LearningOptions(fields=file.name)).fit(pages)
    counts: Counter[str] = Counter()
    for page in pages:
        if any(example.url == page.url for example in learned_field.examples):
            continue
        key = value_key(gold[page.url]) if page.url in gold else None
        shown = own_values(replace(page, own=None), model.extract(page)).get(field.name)
        counts["pages"] += key is not None
        counts["given"] += shown is not None
        counts["right"] += shown is not None and value_key(shown) == key
    return counts, model.own_fields


def product_judged(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Yield the counts of the hidden values of each learned field of products."""
    file = FieldsFile.of({"preset": "product"})
    pages = site_pages(folder, file)
    with NamedTemporaryFile("w", suffix=".toml") as options:
        options.write('preset = "product"')
        options.flush()
        learning = LearningOptions(fields=options.name)
        for field in file.learning:
            stating = [page for page in pages if field.name in page.own.values]
            if len(stating) < MIN_STATED:
                continue
            hidden = {page.url for page in stating[1::2]}
            learned_from = [replace(p, own=None) if p.url in hidden else p for p in pages]
            model = SiteLearner(folder.name, learning).fit(learned_from)
            counts: Counter[str] = Counter()
            for page, shown_page in zip(pages, learned_from, strict=True):
                shown = own_values(shown_page, model.extract(shown_page)).get(field.name)
                if field.name not in page.own.values:
                    counts["unstated"] += shown is not None
                elif page.url in hidden:
                    counts["pages"] += 1
                    counts["given"] += shown is not None
                    counts["right"] += shown is not None and (
                        value_key(shown) == value_key(page.own.values[field.name])
                    )
            yield field.name, counts


def own_row(name: str, counts: Counter[str]) -> str:
    """Return the precision, the recall and the F1 of an own field."""
    right, values, pages = counts["right"], counts["given"], counts["pages"]
    precision, recall = right / max(values, 1), right / max(pages, 1)
    f1 = 2 * right / max(values + pages, 1)
    return (
        f"{name:40} {right:4} of {values:4} given, {pages:4} gold"
        f"  precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}"
    )


def judge_own(file: Path, folders: list[Path]) -> None:
    """Print a row for each own field, and the mean F1."""
    scores = []
    for site, fields in tomllib.loads(file.read_text("utf-8")).items():
        for field in FieldsFile.of(fields, str(file)).fields:
            folder = next(each / site for each in folders if (each / site).is_dir())
            counts, learned = own_judged(folder, field)
            print(own_row(f"{site} {field.name}", counts), flush=True)
            for knowledge in learned.values():
                for doubt in knowledge.doubts:
                    print("   doubt:", doubt)
                for place in knowledge.places:
                    print("   place:", place)
            scores.append(2 * counts["right"] / max(counts["given"] + counts["pages"], 1))
    print(f"mean F1 of {len(scores)} fields: {sum(scores) / len(scores):.3f}")


def table_row(name: str, counts: Counter[str]) -> str:
    """Return the precision and the recall of the rules and of the site."""
    texts = [f"{name:36} {counts['pages']:5} {counts['shown']:5}"]
    for source in ("rules", "site"):
        right, values = counts[f"{source} right"], counts[f"{source} given"]
        beside = counts[f"{source} beside"]
        precision = right / max(values, 1)
        texts.append(f"{source} {right:4} + {beside:2} of {values:4} ({precision:.3f})")
        texts.append(f"recall {right / max(counts['shown'], 1):.3f}")
    return "  ".join(texts)


def main() -> None:
    """Print the table that the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--own", type=Path, help="judge the own fields in this file")
    parser.add_argument("--product", action="store_true", help="judge the fields of products")
    parser.add_argument("--lists", action="store_true", help="judge sections and keywords")
    options = parser.parse_args()
    sites = [site.parent for folder in options.folder for site in sorted(folder.glob("*/html"))]
    if options.product:
        judge_sites(sites, product_judged, product_row)
    elif options.lists:
        judge_sites(sites, lists_judged, list_row)
    elif options.own:
        judge_own(options.own, options.folder)
    else:
        judge_sites(sites, judged, table_row)


def judge_sites(
    sites: list[Path],
    judge: Callable[[Path], Iterable[tuple[str, Counter[str]]]],
    row: Callable[[str, Counter[str]], str],
) -> None:
    """Print a row for each field of each site, and one for all sites."""
    totals: dict[str, Counter[str]] = {}
    for site in sites:
        for field, counts in judge(site):
            print(row(f"{site.name} {field}", counts), flush=True)
            totals.setdefault(field, Counter()).update(counts)
    for field, counts in totals.items():
        print(row(f"all {field}", counts))


def product_row(name: str, counts: Counter[str]) -> str:
    """Return the row of a field of products, with the values on pages that state none."""
    return f"{own_row(name, counts)}  {counts['unstated']} on pages that state none"


def list_row(name: str, counts: Counter[str]) -> str:
    """Return the counts of pages and names as a row."""
    names = "".join(
        f"  {source} names {counts[f'{source} right names']} of {counts[f'{source} names']}"
        for source in ("rules", "site")
    )
    return f"{table_row(name, counts)}{names}, {counts['stated names']} stated"


if __name__ == "__main__":
    main()
