"""Measures the preset of recipes on the test pages of recipe-scrapers (hhursev/recipe-scrapers).

    python benchmarks/recipes.py RECIPE_SCRAPERS/tests/test_data

Its contributors keep a page of each of hundreds of sites (``SITE/NAME.testhtml``), with the values
that they expect (``SITE/NAME.json``). Prints for each field on how many pages it has a value, and
how many values are right. Of ingredients and steps each entry is counted: it is right if its
letters and digits are in those of the expected entries. Yields are compared by their first number.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from contentspider.page.about.jsonld import title_key
from contentspider.page.input.fields_file import FieldsFile
from contentspider.page.input.page import Page

LISTS = {"ingredients": "ingredients", "steps": "instructions_list"}
DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
MINUTES = (24 * 60, 60, 1, 1 / 60)


def minutes(duration: str) -> float | None:
    """Return the minutes of a duration in ISO 8601 without years, months and weeks."""
    match = DURATION.fullmatch(duration)
    if not match:
        return None
    return sum(int(part or 0) * unit for part, unit in zip(match.groups(), MINUTES, strict=True))


def first_number(text: object) -> str:
    """Return the first number in a text, "" without any."""
    match = re.search(r"\d+", str(text))
    return match[0] if match else ""


def count(counts: Counter[str], values: dict[str, Any], expected: dict[str, Any]) -> None:
    """Count the values of a page."""
    for field, name in LISTS.items():
        counts[f"{field} expected"] += bool(expected.get(name))
        if field in values:
            text = "".join(map(title_key, expected.get(name) or ()))
            counts[f"{field} given"] += 1
            counts[f"{field} entries"] += len(values[field])
            counts[f"{field} right"] += sum(title_key(entry) in text for entry in values[field])
    counts["yield expected"] += bool(expected.get("yields"))
    if "yield" in values:
        counts["yield given"] += 1
        counts["yield entries"] += 1
        counts["yield right"] += first_number(values["yield"]) == first_number(expected["yields"])
    counts["total_time expected"] += bool(expected.get("total_time"))
    if "total_time" in values:
        counts["total_time given"] += 1
        counts["total_time entries"] += 1
        counts["total_time right"] += minutes(values["total_time"]) == expected.get("total_time")


def main() -> None:
    """Print a row for each field of recipes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    file = FieldsFile.of({"preset": "recipe"})
    counts: Counter[str] = Counter()
    for page_file in sorted(parser.parse_args().folder.glob("*/*.testhtml")):
        values_file = page_file.with_suffix(".json")
        if not values_file.is_file():
            continue
        expected = {"yields": "", **json.loads(values_file.read_text("utf-8"))}
        page = Page.from_html(page_file.read_bytes(), "https://example.org/", fields_file=file)
        counts["pages"] += 1
        count(counts, dict(page.own.values) if page.own else {}, expected)
    print(f"{counts['pages']} pages")
    for field in (*LISTS, "yield", "total_time"):
        right, entries = counts[f"{field} right"], counts[f"{field} entries"]
        pages, expected_pages = counts[f"{field} given"], counts[f"{field} expected"]
        print(
            f"{field:12} {pages} pages with a value, {expected_pages} expected;"
            f" {right} of {entries} entries right ({right / max(entries, 1):.3f})"
        )


if __name__ == "__main__":
    main()
