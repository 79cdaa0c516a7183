"""How well the fields that a page's metadata give are read, on pages whose gold has them.

    python benchmarks/metadata.py [--wcxb DIR] [--htmldate DIR] [--corpora DIR] [--pages N] [--list]

WCXB is the public benchmark whose single pages the project's are (a folder with ``ground-truth``
and ``html``: titles, authors, dates), htmldate that extractor's evaluation (its ``tests`` folder:
dates); both are repositories to clone. Of *corpora*, unpacked, up to *pages* of a site are counted:
how many have each field. htmldate, trafilatura and extruct answer, too, where they are installed.
*--list* shows where ours differs from the gold.

A date is right if the day is, *beside it* if it is a day off (time zones); an author if all words
of the one are in the other's; a title if its letters and digits are. *Told, no gold* are pages of
which the gold has nothing: it has gaps, too.
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

    # The fields that it gives, and how.
    Reader = tuple[tuple[str, ...], Callable[["Case"], dict[str, str]]]

FIELDS = ("title", "published_at", "author")
SHOWN = ("language", "published_at", "modified_at", "author", "image", "section", "keywords")
SMALL_WORDS = frozenset(["and", "by", "the"])


class Case(NamedTuple):
    """A page, and what its gold says of each field."""

    url: str
    html: bytes
    gold: dict[str, str]


def wcxb(folder: Path) -> Iterator[Case]:
    """Yield the pages of the benchmark's open part."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        record = json.loads(path.read_bytes())
        said = record["ground_truth"]
        gold = {
            "title": said.get("title") or "",
            "published_at": said.get("publish_date") or "",
            "author": said.get("author") or "",
        }
        html = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        yield Case(record.get("url", ""), html, gold)


def htmldate(folder: Path) -> Iterator[Case]:
    """Yield the pages of htmldate's evaluation whose files are there."""
    for name in ("eval_default.json", "eval_mediacloud_2020.json"):
        for url, said in json.loads((folder / name).read_bytes()).items():
            paths = [folder / kind / said["file"] for kind in ("test_set", "cache", "eval")]
            if path := next((path for path in paths if path.is_file()), None):
                yield Case(url, path.read_bytes(), {"published_at": str(said["date"])})


def ours(case: Case) -> dict[str, str]:
    """Return our fields of a page by itself."""
    page = Page.from_html(case.html, case.url)
    found = page_fields(page, "", extract_page(page, ""), "alone")
    return {
        field: ", ".join(value) if isinstance(value, list) else str(value)
        for field, value in found.items()
        if field in FIELDS
    }


def others() -> dict[str, Reader]:
    """Return the other extractors that are installed."""
    found: dict[str, Reader] = {}
    with suppress(ImportError):
        from htmldate import find_date

        def dated(case: Case) -> dict[str, str]:
            return {"published_at": find_date(case.html, url=case.url, original_date=True) or ""}

        found["htmldate"] = (("published_at",), dated)
    with suppress(ImportError):
        from trafilatura.metadata import extract_metadata

        def described(case: Case) -> dict[str, str]:
            said = extract_metadata(case.html, default_url=case.url)
            names = ("title", "date", "author")
            values = [getattr(said, name, None) or "" for name in names]
            return dict(zip(FIELDS, values, strict=True))

        found["trafilatura"] = (FIELDS, described)
    with suppress(ImportError):
        import extruct

        def marked(case: Case) -> dict[str, str]:
            data = extruct.extract(
                case.html,
                case.url,
                syntaxes=["json-ld", "microdata"],
                uniform=True,
                errors="ignore",
            )
            entries = [*data.get("json-ld", ()), *data.get("microdata", ())]
            entries += [part for entry in entries for part in _list(entry.get("@graph"))]
            return {
                "published_at": _first(entries, "datePublished"),
                "author": _first(entries, "author"),
            }

        found["extruct"] = (("published_at", "author"), marked)
    return found


def _list(value: object) -> list[dict[str, object]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _first(entries: list[dict[str, object]], name: str) -> str:
    for entry in entries:
        value = entry.get(name)
        for part in value if isinstance(value, list) else [value]:
            text = part.get("name") if isinstance(part, dict) else part
            if isinstance(text, str) and text:
                return text
    return ""


def verdict(field: str, said: str, gold: str) -> str:
    """Return how what is *said* of a field agrees with the gold."""
    if not said or not gold:
        return "missing" if gold else "told, no gold" if said else "neither"
    if field == "published_at":
        with suppress(ValueError):
            apart = abs((date.fromisoformat(said[:10]) - date.fromisoformat(gold[:10])).days)
            return "right" if not apart else "beside it" if apart == 1 else "another"
        return "another"
    if field == "title":
        return "right" if title_key(said) == title_key(gold) else "another"
    first, second = (
        {word for word in re.findall(r"\w+", text.casefold()) if word not in SMALL_WORDS}
        for text in (said, gold)
    )
    return "right" if first <= second or second <= first else "another"


def compare(name: str, cases: list[Case], shown: bool) -> None:
    """Print a table: each field by each extractor."""
    print(f"\n{name}, {len(cases)} pages\n")
    outcomes = ("right", "beside it", "another", "missing", "told, no gold")
    print(f"| field | read by | gold | {' | '.join(outcomes)} | ms a page |")
    print("|---|---|" + "---|" * (len(outcomes) + 2))
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    spent: Counter[str] = Counter()
    readers: dict[str, Reader] = {"contentspider": (FIELDS, ours), **others()}
    for reader, (fields, read) in readers.items():
        for case in cases:
            started = time.process_time()
            try:
                said = read(case)
            except Exception as error:  # noqa: BLE001 - theirs; said, and a miss
                print(f"{reader}: {case.url}: {error!r}", file=sys.stderr)
                said = {}
            spent[reader] += time.process_time() - started
            for field in set(fields) & set(case.gold):
                found = verdict(field, said.get(field, ""), case.gold[field])
                counts[field, reader][found] += 1
                if shown and reader == "contentspider" and found not in ("right", "neither"):
                    print(
                        f"{found}\t{field}\t{said.get(field)!r}\t{case.gold[field]!r}\t{case.url}"
                    )
    for (field, reader), count in sorted(counts.items()):
        gold = sum(count.values()) - count["neither"] - count["told, no gold"]
        numbers = " | ".join(str(count[outcome]) for outcome in outcomes)
        print(
            f"| {field} | {reader} | {gold} | {numbers} | {1e3 * spent[reader] / len(cases):.1f} |"
        )


def cover(corpora: Path, most: int) -> None:
    """Print how many of the sites' pages have each field."""
    pages = 0
    count: Counter[str] = Counter()
    for site in sorted(path for path in corpora.iterdir() if path.is_dir()):
        files = list(html_files(site))
        said = json.loads((site / "site.json").read_bytes())
        base = said.get("base_url") or f"https://{site.name}.example/"
        for path in files[:: max(1, len(files) // most)][:most]:
            address = base + path.relative_to(site / "html").as_posix()
            page = Page.from_html(path.read_bytes(), address)
            found = page_fields(page, "", extract_page(page, ""), "alone")
            pages += 1
            count.update(field for field in SHOWN if found[field])
    print(
        f"\n{pages} pages of {corpora.name}: "
        + ", ".join(f"{field} {count[field] / max(1, pages):.3f}" for field in SHOWN)
    )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wcxb", type=Path)
    parser.add_argument("--htmldate", type=Path)
    parser.add_argument("--corpora", type=Path, nargs="*", default=[])
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    for folder, read in ((options.wcxb, wcxb), (options.htmldate, htmldate)):
        if folder:
            compare(folder.name, list(read(folder)), options.list)
    for folder in options.corpora:
        cover(folder, options.pages)


if __name__ == "__main__":
    main()
