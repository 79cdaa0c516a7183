"""``contentspider run``."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import positive
from contentspider.cli.command import STATE_DIR, argument, command, exit_codes
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.outcome import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from contentspider.run.sitesfile import PlannedSite

MEANINGS = {
    Outcome.COMPLETE: "complete: every crawl is, or no site was due",
    Outcome.ERROR: "error in the file of sites or in an option: nothing was crawled; or the"
    " summary could not be written",
    Outcome.INCOMPLETE: "some crawls are not complete (incomplete, nothing read, an error, out of"
    " memory, killed): the summary says which; the next run resumes what is unfinished",
    Outcome.INTERRUPTED: "interrupted: the run was stopped from outside; the next one resumes",
    Outcome.MONITOR_FAILED: "every crawl is complete, but a monitor failed",
}


@command(
    "run",
    "crawl many sites, or those that are due",
    argument("FILE", "the sites, as TOML (docs/scheduling.md); paths are relative to it", Path),
    argument("--due", "crawl only sites that are due or unfinished, the most overdue first"),
    argument("--only SITE...", "crawl only these sites of the file"),
    argument("--jobs N", "crawls at a time (default: 2)", positive, 2),
    argument("--force", "accept that known pages are gone, however many (with --only SITE)"),
    argument("--summary FILE", "write the outcome of each site, as JSON", Path),
    STATE_DIR,
    epilog=exit_codes(MEANINGS),
)
def run(options: argparse.Namespace) -> int:
    """Crawl the sites of a file, each in its own process. Unfinished crawls are resumed."""
    from contentspider.run.jobs import Jobs, run_outcome, write_summary
    from contentspider.run.sitesfile import read_sites

    started = datetime.now(timezone.utc)
    summary = options.summary.absolute() if options.summary else None
    if summary and not os.access(summary.parent, os.W_OK):
        raise ContentSpiderError(
            f"--summary {options.summary}: {summary.parent} is not a folder that you may write to"
        )
    state_dir = str(Path(options.state_dir).absolute()) if options.state_dir else ""
    file = options.file.absolute()
    if file.parent.is_dir():  # else reading the file says what is wrong
        os.chdir(file.parent)  # a scheduler starts it anywhere
    sites = _chosen(read_sites(file), options)
    jobs = Jobs(options.jobs, options.due, state_dir, options.force)
    results = jobs.run(sites)
    outcome = run_outcome(results, jobs.is_stopped)
    if summary:
        write_summary(summary, results, outcome, started)
    return outcome


def _chosen(sites: Sequence[PlannedSite], options: argparse.Namespace) -> list[PlannedSite]:
    names = [site.name for site in sites]
    for name in options.only or ():
        if name not in names:
            raise ContentSpiderError(
                f"{options.file}: it has no site {name!r}; it has: {', '.join(names)}"
            )
    chosen = [site for site in sites if not options.only or site.name in options.only]
    for site in chosen:
        if options.due and site.interval is None:
            raise ContentSpiderError(
                f"{options.file}: site {site.name!r}: the key 'interval' is missing, which --due"
                ' needs; give one such as "1d" (it may be in [defaults])'
            )
    return chosen
