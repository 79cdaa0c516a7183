"""The command ``contentspider fields``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from contentspider.cli.command import MODELS, STATE_DIR, argument, command
from contentspider.cli.models import SITE, known_site, read_model
from contentspider.ground.counts import counted
from contentspider.ground.json_text import json_text
from contentspider.ground.terminal import printable, say

if TYPE_CHECKING:
    import argparse

    from contentspider.state.crawls.field_report import FieldReport

MAX_SHOWN_CHARS = 100  # of a value


@command(
    "fields",
    SITE,
    argument(
        "--fields FILE",
        "the file of your fields; without it, those that pages of the last crawls have",
        default="",
    ),
    argument("--json", "print a JSON line for each field"),
    MODELS,
    STATE_DIR,
)
def fields(options: argparse.Namespace) -> None:
    """Show where the values of a site's fields come from: titles, dates, authors, sections,
    keywords, and fields of your own.
    For each: the pages with a value, the places that were learned, how precise they are, some
    values, and doubts with what to do.
    """
    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.state.crawls.field_report import field_reports, stored_items
    from contentspider.state.stores.models import open_models

    file = FieldsFile.load(options.fields) if options.fields else None
    store = open_models(options.models, options.state_dir)
    options.site = known_site(store, options)
    model = read_model(store, options.site)
    reports = field_reports(model, stored_items(options.site, options.state_dir), file)
    for report in reports:
        if options.json:
            print(json_text(report.to_dict()))
        else:
            print("\n".join(map(printable, _lines(report))))
    if not any(report.pages for report in reports):
        say(f"no crawl here has pages of {options.site}, so that values and pages are not counted")


def _lines(report: FieldReport) -> list[str]:
    """Return the lines for people of a report."""
    name = f"{report.name} (your field)" if report.is_own else report.name
    lines = [f"{name}: {report.with_value:,} of {counted(report.pages, 'pages')} with a value"]
    if report.source == "examples":
        lines.append(f"  learned places fit {report.right} of {counted(report.tested, 'examples')}")
    elif report.stated:
        line = f"  stated by {counted(report.stated, 'pages')} of the sample"
        if report.tested:
            line += f"; learned places are right on {report.right} of {report.tested} held back"
        lines.append(line)
    elif report.is_own:
        lines.append("  read by its selector")
    lines += [f"  place: {place}" for place in report.places]
    lines += [f"  value: {_shown(each.value)}  {each.url}" for each in report.examples]
    return lines + [f"  doubt: {doubt}" for doubt in report.doubts]


def _shown(value: Any) -> str:
    text = " ".join(json.dumps(value, ensure_ascii=False).split())
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
