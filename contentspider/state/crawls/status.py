"""How a crawl stands, by its ledger: ``contentspider status``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.state.crawls.ending import FINISHED
from contentspider.state.ledger.database import is_in_use
from contentspider.state.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path


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
