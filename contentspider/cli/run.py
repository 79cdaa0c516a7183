"""``contentspider run``."""

from __future__ import annotations

import argparse
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_state_dir, exit_codes, positive
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.cli.arguments import Commands
    from contentspider.run.sitesfile import PlannedSite

DEFAULT_JOBS = 2
MEANINGS = {
    Outcome.COMPLETE: "complete: every crawl of this run is, or none was due",
    Outcome.ERROR: "error in the file of sites or in an option: nothing was crawled; or the"
    " summary could not be written",
    Outcome.INCOMPLETE: "some crawls are not complete (incomplete, nothing read, an error, killed):"
    " the summary says which; the next run goes on with what is unfinished",
    Outcome.INTERRUPTED: "interrupted: the run was stopped from outside; the next one goes on",
    Outcome.MONITOR_FAILED: "every crawl is complete, and a monitor is not content",
}


def add_to(commands: Commands) -> None:
    """Add the command."""
    run = commands.add_parser(
        "run",
        help="crawl many sites, those that are due",
        description="Crawl the sites of a file, each in a process of its own. Unfinished crawls"
        " are gone on with.",
        epilog=exit_codes(MEANINGS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="the sites, as TOML (docs/scheduling.md); paths in it begin at its folder",
    )
    run.add_argument(
        "--due",
        action="store_true",
        help="crawl only sites whose last finished crawl is older than their interval, or"
        " unfinished: the most overdue first",
    )
    run.add_argument("--only", nargs="+", metavar="SITE", help="crawl only these sites of the file")
    run.add_argument(
        "--jobs",
        type=positive,
        default=DEFAULT_JOBS,
        metavar="N",
        help=f"crawls at a time (default: {DEFAULT_JOBS})",
    )
    run.add_argument(
        "--force",
        action="store_true",
        help="take known pages to be gone, however many (say --only SITE, too)",
    )
    run.add_argument(
        "--summary", type=Path, metavar="FILE", help="write what has become of each site, as JSON"
    )
    add_state_dir(run)
    run.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from contentspider.run.jobs import Jobs, verdict, write_summary
    from contentspider.run.sitesfile import read_sites

    started = datetime.now(timezone.utc)
    summary = options.summary.absolute() if options.summary else None
    if summary and not os.access(summary.parent, os.W_OK):
        raise ContentSpiderError(
            f"--summary {options.summary}: {summary.parent} is no folder that you may write to"
        )
    state_dir = str(Path(options.state_dir).absolute()) if options.state_dir else ""
    file = options.file.absolute()
    if file.parent.is_dir():  # else reading the file says what is wrong
        os.chdir(file.parent)  # a scheduler starts it anywhere
    sites = _chosen(read_sites(file), options)
    jobs = Jobs(options.jobs, options.due, state_dir, options.force)
    results = jobs.run(sites)
    outcome = verdict(results, jobs.is_stopped)
    if summary:
        write_summary(summary, results, outcome, started)
    return outcome


def _chosen(sites: Sequence[PlannedSite], options: argparse.Namespace) -> list[PlannedSite]:
    names = [site.name for site in sites]
    for name in options.only or ():
        if name not in names:
            raise ContentSpiderError(
                f"{options.file}: there is no site {name!r} in it; there are: {', '.join(names)}"
            )
    chosen = [site for site in sites if not options.only or site.name in options.only]
    for site in chosen:
        if options.due and site.interval is None:
            raise ContentSpiderError(
                f"{options.file}: site {site.name!r}: the key 'interval' is missing, without which"
                ' --due cannot tell when it is due; give one such as "1d" (it may be in [defaults])'
            )
    return chosen
