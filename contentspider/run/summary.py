"""What ``contentspider crawl`` says when a crawl has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.recrawl.changes import CHANGES
from contentspider.state.crawls.outcome import F1_STAT, LIMITS, PAGES_STAT, Left, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Sites whose quality is said.
MAX_SITES = 5
GO_ON = "the same command with --resume goes on with it"


def summary(
    stats: Mapping[str, Any],
    outcome: Outcome,
    reasons: Sequence[str],
    left: Left,
    failures: Mapping[str, str],
    outputs: Sequence[str],
    models: str,
) -> list[str]:
    """Return what is to be said of a crawl, in lines: its counts, and how it came out.

    *failures* are the start addresses that could not be read, with the reason.
    """
    lines = [
        f"contentspider: {address} could not be read: {reason}"
        for address, reason in failures.items()
    ]
    items = stats.get("item_scraped_count", 0)
    if outcome is Outcome.ERROR:
        lines += [f"contentspider: {reason}" for reason in reasons]
        if stats.get("contentspider/ledger/failed"):
            lines.append(
                "contentspider: the crawl was stopped. Once that is mended, the same command with"
                " --resume goes on: nothing is lost"
            )
        return lines
    unchanged = stats.get("contentspider/ledger/unchanged", 0)
    if items or unchanged:
        lines += _counts_of_items(stats, items, outputs, models)
    if outcome is Outcome.NOTHING_READ and not failures:
        lines.append(
            "contentspider: no page was read; is the address that of an HTML page, and does"
            " robots.txt allow it? --log-level INFO says more"
        )
    elif outcome is Outcome.COMPLETE and not items and not unchanged:
        lines.append("nothing was left to do: the crawl had read every page that it found")
    elif outcome is Outcome.INTERRUPTED:
        lines.append(
            f"the crawl was stopped ({left.queued:,} addresses are in the queue, {left.held:,}"
            f" items held): {GO_ON}"
        )
    elif outcome is Outcome.INCOMPLETE:
        lines.append(f"the crawl is incomplete: {'; '.join(reasons)}. {GO_ON.capitalize()}")
    elif outcome is Outcome.MONITOR_FAILED:
        lines.append(f"contentspider: {'; '.join(reasons)}; the log above says which")
    elif items and (reason := stats.get("finish_reason")) in LIMITS:
        lines.append(f"the crawl was stopped by its limit ({reason}): {GO_ON}")
    return lines


def _counts_of_items(
    stats: Mapping[str, Any], items: int, outputs: Sequence[str], models: str
) -> list[str]:
    kept, dropped = (stats.get(f"contentspider/chars/{name}", 0) for name in ("kept", "dropped"))
    reasons = _by_kind(stats, "contentspider/pages/unread/")
    read, failed, copies, unsent = (
        stats.get(f"contentspider/pages/{name}", 0)
        for name in ("tagged", "failed", "skipped/duplicate", "not_modified")
    )
    why = f" ({reasons})" if reasons else ""
    unmodified = f" ({unsent} of them not sent: not modified)" if unsent else ""
    share = kept / max(kept + dropped, 1)
    lines = [
        (
            f"{read + unsent} pages read{unmodified}, {failed} failed{why}, {copies} duplicates;"
            f" {items} items"
        ),
        f"{kept:,} characters kept, {dropped:,} dropped ({share:.0%} kept)",
        f"items:  {', '.join(outputs)}",
        _models(stats, models),
        *_quality(stats),
    ]
    if compared := [
        f"{count:,} {change}"
        for change in CHANGES
        if (count := stats.get(f"contentspider/history/{change}"))
    ]:
        lines.append(f"pages:  {', '.join(compared)} (contentspider changes tells which)")
    if (upserted := stats.get("contentspider/index/upserted")) is not None:
        deleted, refused = (
            stats.get(f"contentspider/index/{name}", 0) for name in ("deleted", "refused")
        )
        lines.append(
            f"index:  {upserted:,} documents in, {deleted:,} out"
            + (f", {refused:,} refused (contentspider index verify tells which)" if refused else "")
        )
    if traps := _by_kind(stats, "contentspider/links/"):
        lines.append(f"links taken for traps: {traps} (docs/stats.md says what these are)")
    return lines


def _models(stats: Mapping[str, Any], models: str) -> str:
    learned, loaded, saved = (
        stats.get(f"contentspider/{name}", 0)
        for name in ("sites/learned", "models/loaded", "models/saved")
    )
    if learned <= saved:
        return f"models: {models}/ ({learned} learned, {loaded} loaded)"
    why = (
        "the log above says why"
        if stats.get("finish_reason") == "finished"
        else "the crawl was cut short, and the next one will learn from more pages"
    )
    return f"models: {models}/ ({learned} learned for this crawl, {saved} saved: {why})"


def _quality(stats: Mapping[str, Any]) -> list[str]:
    """Return how good the sites are by what they publish of their pages, the worst first."""
    found = {
        name.removeprefix(F1_STAT): value
        for name, value in stats.items()
        if name.startswith(F1_STAT)
    }
    said = []
    for site in sorted(found, key=lambda site: found[site])[:MAX_SITES]:
        pages = stats.get(PAGES_STAT + site, 0)
        how = f"measured on {pages} pages whose text it publishes" if pages else "predicted"
        said.append(f"{site} F1 {found[site]:.3f} ({how})")
    more = len(found) - len(said)
    return [f"quality: {'; '.join(said)}" + (f"; {more} more" if more else "")] if said else []


def _by_kind(stats: Mapping[str, Any], prefix: str) -> str:
    """Return the stats that begin with *prefix* in a few words, the largest first."""
    found = {
        name.removeprefix(prefix).replace("_", " "): count
        for name, count in stats.items()
        if name.startswith(prefix)
    }
    return ", ".join(
        f"{count:,} {name}" for name, count in sorted(found.items(), key=lambda pair: -pair[1])
    )
