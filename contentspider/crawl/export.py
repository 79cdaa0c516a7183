"""What a crawl's ledger has, for people and for files: ``contentspider status`` and ``contentspider
replay``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exporters import CsvItemExporter, JsonItemExporter, XmlItemExporter
from scrapy.utils.project import data_path

from contentspider.crawl.keeper import FINISHED
from contentspider.crawl.ledgers import crawl_ledger
from contentspider.errors import ContentSpiderError
from contentspider.storage.database import is_in_use
from contentspider.storage.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Written as the ledger has them.
LINES = (".jsonl", ".jl")
EXPORTERS: dict[str, Callable[..., Any]] = {
    ".json": JsonItemExporter,
    ".csv": CsvItemExporter,
    ".xml": XmlItemExporter,
}


def find_crawl(name: str) -> Path:
    """Return the ledger of a crawl, given by its name or its file; raises `ContentSpiderError` if
    there is none.
    """
    folder = Path(data_path("contentspider"))
    for path in (Path(name), crawl_ledger(name), folder / name):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in folder.glob("*.sqlite"))) or "none"
    raise ContentSpiderError(
        f"{name}: no such file or folder, and no crawl of that name in {folder}; there are: {known}"
    )


def check_format(output: str) -> None:
    """Raise `ContentSpiderError` if the ending of a file names no format."""
    if Path(output).suffix.lower() not in (*LINES, *EXPORTERS):
        raise ContentSpiderError(
            f"-o {output}: its ending names no format; use one of {', '.join((*LINES, *EXPORTERS))}"
        )


def export_items(crawl: Path, output: Path) -> int:
    """Write all released items of a ledger to a file, in the format of its ending, and return their
    number.

    The file is written beside its place and then put there: a failure leaves what was there before.
    """
    check_format(output.name)
    ledger = Ledger(crawl, read_only=True)
    partial = output.with_name(f".{output.name}.partial")
    try:
        written = 0
        with partial.open("wb") as file:
            if output.suffix.lower() in LINES:
                for line in ledger.items.lines():
                    file.write(line + b"\n")
                    written += 1
            else:
                # Not every item has every field, and a CSV's columns are said first.
                columns = list(
                    dict.fromkeys(
                        name for line in ledger.items.lines() for name in json.loads(line)
                    )
                )
                exporter = EXPORTERS[output.suffix.lower()](
                    file, encoding="utf-8", fields_to_export=columns or None
                )
                exporter.start_exporting()
                for line in ledger.items.lines():
                    exporter.export_item(json.loads(line))
                    written += 1
                exporter.finish_exporting()
        partial.replace(output)
    except OSError as error:
        raise ContentSpiderError(f"{output} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
        ledger.close()
    return written


def crawl_status(crawl: Path) -> str:
    """Return what a running or dead crawl has done so far, in lines."""
    is_running = is_in_use(crawl)
    ledger = Ledger(crawl, read_only=True)
    try:
        runs = ledger.runs.all()
        lines = [f"{crawl}"]
        for run in runs:
            if run.ended:
                how = f"ended {run.ended}: {run.reason}"
            elif is_running and run is runs[-1]:
                how = f"is running (process {run.pid})"
            else:
                how = "ended without notice: it was killed, or the power was lost"
            lines.append(f"run {run.number}, started {run.started}, {how}")
        held = ledger.items.held_counts()
        lines += ["", f"items: {ledger.items.count()} out, {sum(held.values())} held"]
        lines += [
            f"  {count} of {site} held until it has been learned" for site, count in held.items()
        ]
        lines += ["addresses:"]
        for state, count in ledger.frontier.states().items():
            lines.append(f"  {count} {state}")
            if state in ("failed", "skipped"):
                lines += [
                    f"    {number} {reason or ''} (such as {url})"
                    for reason, number, url in ledger.frontier.reasons(state)[:10]
                ]
        if runs and not is_running and runs[-1].reason != FINISHED:
            lines += ["", "It is not finished: the same command with --resume goes on with it."]
        return "\n".join(lines)
    finally:
        ledger.close()
