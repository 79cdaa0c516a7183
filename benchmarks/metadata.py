"""Measures how well the titles, dates and authors of single pages are read.

    python benchmarks/metadata.py [--wcxb DIR] [--htmldate DIR] [--fundus DIR] [--corpora DIR ...]
                                  [--pages N] [--list]

Three public repositories have pages with expected values; clone them first:

- WCXB (a folder with ``ground-truth`` and ``html``): titles, authors, dates.
- htmldate (its folder ``tests``): the dates of its own evaluation.
- fundus (its folder ``tests/resources/parser/test_data``): titles, authors and dates as its parsers
  give them. Each parser is written by hand for one news publisher.

Each page is read by itself. htmldate, trafilatura and extruct read the same pages if they are
installed. ``--list`` prints the pages where our value is not the expected one. For ``--corpora``
(unpacked), up to N pages of each site are read, and the share of pages with each field is printed.

A date is right if the day is, and *a day off* if it is the day before or after (time zones). An
author is right if all words of one value are in the other. A title is right if its letters and
digits are. *Not expected* are pages with a value of ours where the data set has none; data sets
have gaps.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.jsonld import title_key
from contentspider.page.input.files import html_files
from contentspider.page.input.page import Page
from contentspider.site.learn.single_page import extract_page
from contentspider.site.models.record import page_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # The names of the fields, and a function that reads them.
    Reader = tuple[tuple[str, ...], Callable[["Case"], dict[str, str]]]

FIELDS = ("title", "published_at", "author")
COUNTED_FIELDS = (
    *("language", "published_at", "modified_at", "author", "image", "section", "keywords"),
)
SMALL_WORDS = frozenset(["and", "by", "the"])
RIGHT, DAY_OFF, WRONG, MISSING = "right", "a day off", "wrong", "missing"
NOT_EXPECTED, NEITHER = "not expected", "neither"
OUTCOMES = (RIGHT, DAY_OFF, WRONG, MISSING, NOT_EXPECTED)


class Case(NamedTuple):
    """A page with the expected values of its fields."""

    url: str
    html: bytes
    expected: dict[str, str]


def wcxb_cases(folder: Path) -> Iterator[Case]:
    """Yield the pages of WCXB's development part."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        record = json.loads(path.read_bytes())
        truth = record["ground_truth"]
        expected = {
            "title": truth.get("title") or "",
            "published_at": truth.get("publish_date") or "",
            "author": truth.get("author") or "",
        }
        html = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        yield Case(record.get("url", ""), html, expected)


def htmldate_cases(folder: Path) -> Iterator[Case]:
    """Yield the pages of htmldate's evaluation whose files are in its repository."""
    for name in ("eval_default.json", "eval_mediacloud_2020.json"):
        for url, entry in json.loads((folder / name).read_bytes()).items():
            paths = [folder / kind / entry["file"] for kind in ("test_set", "cache", "eval")]
            if path := next((path for path in paths if path.is_file()), None):
                yield Case(url, path.read_bytes(), {"published_at": str(entry["date"])})


def fundus_cases(folder: Path) -> Iterator[Case]:
    """Yield the pages of fundus' tests. A publisher has as many pages as its parser has versions,
    in the same order.
    """
    for path in sorted(folder.glob("*/*.json")):
        versions = json.loads(path.read_bytes()).values()
        files = sorted(path.parent.glob(f"{path.stem}_*.html.gz"))
        infos = json.loads((path.parent / "meta.info").read_bytes())
        for file, values in zip(files, versions, strict=True):
            expected = {
                "title": values.get("title") or "",
                "published_at": values.get("publishing_date") or "",
                "author": ", ".join(values.get("authors") or ()),
            }
            yield Case(infos[file.name]["url"], gzip.decompress(file.read_bytes()), expected)


def read_with_contentspider(case: Case) -> dict[str, str]:
    """Return our fields of a page by itself."""
    page = Page.from_html(case.html, case.url)
    values = page_fields(page, "", extract_page(page, ""), "alone")
    return {
        field: ", ".join(value) if isinstance(value, list) else str(value)
        for field, value in values.items()
        if field in FIELDS
    }


def other_readers() -> dict[str, Reader]:
    """Return the other extractors that are installed."""
    readers: dict[str, Reader] = {}
    with suppress(ImportError):
        from htmldate import find_date

        def read_with_htmldate(case: Case) -> dict[str, str]:
            return {"published_at": find_date(case.html, url=case.url, original_date=True) or ""}

        readers["htmldate"] = (("published_at",), read_with_htmldate)
    with suppress(ImportError):
        from trafilatura.metadata import extract_metadata

        def read_with_trafilatura(case: Case) -> dict[str, str]:
            document = extract_metadata(case.html, default_url=case.url)
            names = ("title", "date", "author")
            values = [getattr(document, name, None) or "" for name in names]
            return dict(zip(FIELDS, values, strict=True))

        readers["trafilatura"] = (FIELDS, read_with_trafilatura)
    with suppress(ImportError):
        import extruct

        def read_with_extruct(case: Case) -> dict[str, str]:
            data = extruct.extract(
                case.html,
                case.url,
                syntaxes=["json-ld", "microdata"],
                uniform=True,
                errors="ignore",
            )
            entries = [*data.get("json-ld", ()), *data.get("microdata", ())]
            entries += [part for entry in entries for part in _objects(entry.get("@graph"))]
            return {
                "published_at": _first_value(entries, "datePublished"),
                "author": _first_value(entries, "author"),
            }

        readers["extruct"] = (("published_at", "author"), read_with_extruct)
    return readers


def _objects(value: object) -> list[dict[str, object]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _first_value(entries: list[dict[str, object]], name: str) -> str:
    """Return the first text that one of the *entries* has for a property."""
    for entry in entries:
        value = entry.get(name)
        for part in value if isinstance(value, list) else [value]:
            text = part.get("name") if isinstance(part, dict) else part
            if isinstance(text, str) and text:
                return text
    return ""


def outcome_of(field: str, value: str, expected: str) -> str:
    """Return the outcome of a comparison of a value with the expected one."""
    if not expected:
        return NOT_EXPECTED if value else NEITHER
    if not value:
        return MISSING
    if field == "published_at":
        return _date_outcome(value, expected)
    if field == "title":
        return RIGHT if title_key(value) == title_key(expected) else WRONG
    words, expected_words = _words(value), _words(expected)
    return RIGHT if words <= expected_words or expected_words <= words else WRONG


def _date_outcome(value: str, expected: str) -> str:
    try:
        days = abs((date.fromisoformat(value[:10]) - date.fromisoformat(expected[:10])).days)
    except ValueError:
        return WRONG
    return (RIGHT, DAY_OFF)[days] if days <= 1 else WRONG


def _words(text: str) -> set[str]:
    words = re.findall(r"\w+", text.casefold())
    return {word for word in words if word not in SMALL_WORDS}


def compare(name: str, cases: list[Case], is_list: bool) -> None:
    """Print a table of the outcomes of each field and extractor, after a list of our pages with
    another outcome than `RIGHT` if *is_list* is true.
    """
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    seconds: Counter[str] = Counter()
    own = {"contentspider": (FIELDS, read_with_contentspider)}
    for reader, (fields, read) in {**own, **other_readers()}.items():
        for case in cases:
            started = time.process_time()
            try:
                values = read(case)
            except Exception as error:  # noqa: BLE001 - another extractor's; the page counts as missing
                print(f"{reader}: {case.url}: {error!r}", file=sys.stderr)
                values = {}
            seconds[reader] += time.process_time() - started
            for field in set(fields) & set(case.expected):
                value, expected = values.get(field, ""), case.expected[field]
                outcome = outcome_of(field, value, expected)
                counts[field, reader][outcome] += 1
                if is_list and reader in own and outcome not in (RIGHT, NEITHER):
                    print(f"{outcome}\t{field}\t{value!r}\t{expected!r}\t{case.url}")
    print(f"\n{name}, {len(cases)} pages\n")
    print(f"| field | read by | pages | {' | '.join(OUTCOMES)} | ms a page |")
    print("|---|---|" + "---|" * (len(OUTCOMES) + 2))
    for (field, reader), count in sorted(counts.items()):
        pages = sum(count.values()) - count[NEITHER] - count[NOT_EXPECTED]
        numbers = " | ".join(str(count[outcome]) for outcome in OUTCOMES)
        milliseconds = 1e3 * seconds[reader] / len(cases)
        print(f"| {field} | {reader} | {pages} | {numbers} | {milliseconds:.1f} |")


def count_fields(corpora: Path, max_pages: int) -> None:
    """Print the share of the sites' pages that have each field."""
    pages = 0
    counts: Counter[str] = Counter()
    for site in sorted(path for path in corpora.iterdir() if path.is_dir()):
        files = list(html_files(site))
        base = json.loads((site / "site.json").read_bytes()).get("base_url")
        for path in files[:: max(1, len(files) // max_pages)][:max_pages]:
            address = (base or f"https://{site.name}.example/") + str(
                path.relative_to(site / "html").as_posix()
            )
            page = Page.from_html(path.read_bytes(), address)
            values = page_fields(page, "", extract_page(page, ""), "alone")
            pages += 1
            counts.update(field for field in COUNTED_FIELDS if values[field])
    shares = (f"{field} {counts[field] / max(1, pages):.3f}" for field in COUNTED_FIELDS)
    print(f"\n{pages} pages of {corpora.name}: {', '.join(shares)}")


def main() -> None:
    """Measure the data sets of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wcxb", type=Path)
    parser.add_argument("--htmldate", type=Path)
    parser.add_argument("--fundus", type=Path)
    parser.add_argument("--corpora", type=Path, nargs="*", default=[])
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    sets = (
        ("WCXB", options.wcxb, wcxb_cases),
        ("htmldate", options.htmldate, htmldate_cases),
        ("fundus", options.fundus, fundus_cases),
    )
    for name, folder, read in sets:
        if folder:
            compare(name, list(read(folder)), options.list)
    for folder in options.corpora:
        count_fields(folder, options.pages)


if __name__ == "__main__":
    main()
