"""The summary that ``contentspider crawl`` prints at the end of a crawl."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted
from contentspider.recrawl.changes import CHANGES
from contentspider.state.outcome import (
    CAPPED_STAT,
    DOCUMENTS_LEFT_STAT,
    EMPTY_SLOTS,
    EMPTY_STAT,
    ENDLESS_STAT,
    F1_STAT,
    FIELDS_STAT,
    IMPOSSIBLE_STAT,
    LIMITS,
    OUTDATED_STAT,
    PAGES_STAT,
    REVISITS_STAT,
    ROUTES_LEFT_STAT,
    UNFILLED_STAT,
    Ending,
    Outcome,
    Remaining,
    by_kind,
    doubtful_templates,
    hidden_sites,
    is_down,
    items_output,
    known_refused,
    limited_hosts,
    pages_read,
    render_failures,
    skipped_kinds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from contentspider.run.results import SiteResult

# The number of sites whose quality is printed, and of slots that lost text or are doubtful.
MAX_SITES = 5
MAX_SLOTS = 3
# Why an item has less than a sentence of text, by the stat that counts such items.
EMPTY = {
    "dropped": "whose text was all taken for boilerplate",
    "listing": "with a list of others",
    "no_text": "without text",
}
EXPLAINED = "docs/stats.md explains the reasons"
GO_ON = "run the same command with --resume to continue"


def summary(
    stats: Mapping[str, Any],
    outcome: Outcome,
    reasons: Sequence[str],
    remaining: Remaining,
    unread: Sequence[str],
    outputs: Sequence[str],
    models: str,
) -> list[str]:
    """Return the lines of a crawl's summary. *unread*: the start addresses that were not read, each
    with the reason.
    """
    lines = [f"contentspider: {text}" for text in unread]
    if outcome in (Outcome.ERROR, Outcome.OUT_OF_MEMORY):
        lines += [f"contentspider: {reason}" for reason in reasons]
        if stats.get("contentspider/book/failed"):
            lines.append(f"contentspider: the crawl was stopped; once that is fixed, {GO_ON}")
        return lines
    items = items_output(stats)
    has_items = bool(items or stats.get("contentspider/book/unchanged"))
    if has_items:
        lines += _counts(stats, items, outputs, models)
    if outcome is Outcome.COMPLETE:
        lines += _completion(stats, has_items)
    elif outcome is not Outcome.NOTHING_READ:
        lines.append(_shortfall(outcome, reasons, remaining))
    elif not unread:
        lines.append(_nothing_read(stats, reasons))
    return lines


def _nothing_read(stats: Mapping[str, Any], reasons: Sequence[str]) -> str:
    """Return the line of a crawl without items, and why it read none."""
    if skipped := skipped_kinds(stats):
        return f"contentspider: no page was read: {skipped} ({EXPLAINED})"
    if limited_hosts(stats):
        return f"contentspider: no page was read: {'; '.join(reasons)}. {GO_ON.capitalize()} later"
    return (
        "contentspider: no page was read; check that the address is an HTML page, and that"
        " robots.txt allows it. --log-level INFO says more"
    )


def _completion(stats: Mapping[str, Any], has_items: bool) -> list[str]:
    """Return a line if a complete crawl read nothing, or came to a limit of the user's."""
    if not has_items:
        return [_rest(stats)]
    reason = stats.get("finish_reason")
    if stats.get("item_scraped_count") and reason in LIMITS:
        return [f"the crawl was stopped by its limit ({reason}): {GO_ON}"]
    return []


def _rest(stats: Mapping[str, Any]) -> str:
    """Return the line of a run that resumed a crawl without unread pages."""
    read = "the crawl had already read every page that it found"
    if not stats.get("contentspider/models/saved"):
        return f"nothing was left to do: {read}"
    refiltered = stats.get("contentspider/changes/refiltered", 0)
    return (
        f"learned: the run learned what the run before could not; {counted(refiltered, 'pages')}"
        f" with another content by the new models; {read}"
    )


def _shortfall(outcome: Outcome, reasons: Sequence[str], remaining: Remaining) -> str:
    """Return the line about an incomplete crawl: the reasons, and the next step."""
    text = "; ".join(reasons)
    if outcome is Outcome.INTERRUPTED:
        return (
            f"the crawl was stopped ({counted(remaining.queued, 'addresses')} in the queue,"
            f" {counted(remaining.held, 'items')} held): {GO_ON}"
        )
    if outcome is Outcome.INCOMPLETE:
        return f"the crawl is incomplete: {text}. {GO_ON.capitalize()}"
    if outcome is Outcome.MONITOR_FAILED:
        return f"contentspider: {text}; the log above says which"
    return f"contentspider: {text}"


def _counts(stats: Mapping[str, Any], items: int, outputs: Sequence[str], models: str) -> list[str]:
    def count(name: str) -> int:
        return int(stats.get(f"contentspider/{name}", 0))

    kept_chars, dropped_chars = count("chars/kept"), count("chars/dropped")
    share = kept_chars / max(kept_chars + dropped_chars, 1)
    unsent = count("pages/not_modified")
    read = pages_read(stats)
    kinds = by_kind(stats, "contentspider/pages/unread/")
    unmodified = f" ({unsent} of them not sent: not modified)" if unsent else ""
    lines = [
        f"{counted(read, 'pages')} read{unmodified}, {count('pages/failed')} failed"
        + (f" ({kinds})" if kinds else "")
        + f", {counted(count('pages/skipped/duplicate'), 'duplicates')}; {counted(items, 'items')}",
        f"{counted(kept_chars, 'characters')} kept, {dropped_chars:,} dropped ({share:.0%} kept)",
        *_unfilled(stats),
        *_empty(stats),
        *_directives(count("pages/directives")),
        *_documents(stats),
        *_unrendered(render_failures(stats)),
        *_routes(stats.get(ROUTES_LEFT_STAT, 0)),
        *_skipped(skipped_kinds(stats)),
        *_outputs(stats, outputs),
        _models(stats, models),
        *_refused(known_refused(stats)),
        *_quality(stats),
        *_capped(stats),
        *_logins(count("login/hosts"), count("login/renewals"), count("pages/skipped/logout")),
    ]
    changed = [f"{number:,} {kind}" for kind in CHANGES if (number := count(f"changes/{kind}"))]
    if changed:
        lines.append(f"pages:  {', '.join(changed)} (contentspider changes lists them)")
    if ignored := count("changes/ignored"):
        lines.append(
            f"ignored: {ignored:,} unchanged pages differ in ages, counters or alternating texts"
            " (contentspider changes --only unchanged lists them)"
        )
    lines += _broken(count("changes/broken"), count("changes/newly_broken"))
    if unseen := count("changes/kept"):
        lines.append(f"kept:   {counted(unseen, 'known pages')} not read, which stay as before")
    if "contentspider/index/upserted" in stats:
        line = (
            f"{counted(count('index/upserted'), 'documents')} written, {count('index/deleted'):,}"
            " deleted"
        )
        if refused := count("index/refused"):
            line += f", {refused:,} refused (contentspider index verify lists them)"
        if foreign := count("index/foreign"):
            line += f", {foreign:,} left to other crawls (contentspider index verify lists them)"
        lines.append(f"index:  {line}")
    if revisits := stats.get(REVISITS_STAT, 0):
        lines.append(
            f"warc:   {counted(revisits, 'answers')} that pages are unmodified, without their text"
            " (revisit records): the file of the crawl that fetched these pages has it"
        )
    lines += _traps(stats)
    return lines


def _broken(known: int, new: int) -> list[str]:
    """Return a line about the addresses that are known as broken, *new* ones since this crawl."""
    if not known:
        return []
    since = f" ({new:,} of them from now on)" if new else ""
    line = (
        f"broken: {counted(known, 'addresses')} known as broken{since}, which a crawl requests less"
        " and less often, because they fail each time (contentspider status lists them)"
    )
    return [line]


def _refused(sites: Mapping[str, int]) -> list[str]:
    """Return a line about the *sites* whose models are refused in each crawl."""
    if not sites:
        return []
    shown = [f"{site} (in {counted(crawls, 'crawls')})" for site, crawls in sorted(sites.items())]
    more = f" and {len(sites) - MAX_SITES} more" if len(sites) > MAX_SITES else ""
    line = (
        f"refused: the models of {', '.join(shown[:MAX_SITES])}{more} are refused in each crawl,"
        " because they do not learn what the labels say: the pages are judged one by one"
    )
    return [line]


def _documents(stats: Mapping[str, Any]) -> list[str]:
    """Return a line about the documents (PDF, office files, texts) of a crawl, if it has any."""
    skipped = "contentspider/pages/skipped/"
    unread = sum(stats.get(skipped + reason, 0) for reason in ("pdf", "document"))
    counts = [
        (stats.get("contentspider/items/documents"), "read"),
        (unread, "cannot be read"),
        (
            stats.get(DOCUMENTS_LEFT_STAT),
            "not requested (pip install 'contentspider[documents]' reads them)",
        ),
    ]
    parts = [f"{count:,} {what}" for count, what in counts if count]
    return [f"documents: {', '.join(parts)}"] if parts else []


def _unrendered(failures: str) -> list[str]:
    """Return a line about the pages that the browser failed to load. *failures*: how, in words."""
    line = f"render: {failures}: the browser failed, and the pages are as the server sent them"
    return [line] if failures else []


def _routes(count: int) -> list[str]:
    """Return a line about the routes of scripts (`#/...`) that the crawl did not follow, if any."""
    line = (
        f"routes: {counted(count, 'addresses')} such as /#/page not followed, because scripts make"
        " the pages: crawl with --render always (docs/rendering.md)"
    )
    return [line] if count else []


def _outputs(stats: Mapping[str, Any], outputs: Sequence[str]) -> list[str]:
    """Return the line with the crawl's outputs, and whether they replace existing files."""
    if not outputs:
        return []
    line = f"items:  {', '.join(outputs)}"
    if Ending.from_stats(stats).misses_known_pages:
        line += " (files that existed before are unchanged)"
    return [line]


def _skipped(kinds: str) -> list[str]:
    """Return a line about the pages that the crawl skipped. *kinds*: the reasons, in words."""
    return [f"skipped: {kinds} ({EXPLAINED})"] if kinds else []


OTHER_LINKS_STATS = ENDLESS_STAT, DOCUMENTS_LEFT_STAT, ROUTES_LEFT_STAT, IMPOSSIBLE_STAT


def _traps(stats: Mapping[str, Any]) -> list[str]:
    """Return lines about links that were not followed, and about endless address spaces."""
    links = "contentspider/links/"
    kinds = {
        name: count
        for name, count in stats.items()
        if name.startswith(links) and not name.startswith(OTHER_LINKS_STATS)
    }
    lines = []
    folders = [
        (count, name.removeprefix(ENDLESS_STAT))
        for name, count in stats.items()
        if name.startswith(ENDLESS_STAT)
    ]
    if folders:
        largest = sorted(folders, key=lambda folder: (-folder[0], folder[1]))
        shown = ", ".join(f"{folder} ({count:,})" for count, folder in largest[:MAX_SITES])
        more = f" and {len(folders) - MAX_SITES} more" if len(folders) > MAX_SITES else ""
        total = sum(count for count, _ in folders)
        lines.append(f"endless: {counted(total, 'addresses')} of copies left out: {shown}{more}")
    if traps := by_kind(kinds, links):
        lines.append(f"links that looked like traps: {traps} (docs/stats.md explains them)")
    return lines


def _unfilled(stats: Mapping[str, Any]) -> list[str]:
    """Return lines about pages whose items could not be made, and about fields that could not."""
    lines, prefix = [], UNFILLED_STAT + "/"
    if urls := [name.removeprefix(prefix) for name in stats if name.startswith(prefix)]:
        more = f" and {len(urls) - MAX_SITES} more" if len(urls) > MAX_SITES else ""
        lines.append(
            f"errors: no item of {', '.join(urls[:MAX_SITES])}{more} (the log above says why)"
        )
    if fields := by_kind(stats, FIELDS_STAT):
        lines.append(f"fields: empty because of errors: {fields} (the log above says more)")
    return lines


def _empty(stats: Mapping[str, Any]) -> list[str]:
    """Return lines about items with less than a sentence: the number, the reasons, the slots."""
    counts = {kind: stats.get(EMPTY_STAT + kind, 0) for kind in EMPTY}
    if not any(counts.values()):
        return []
    reasons = ", ".join(f"{count:,} {EMPTY[kind]}" for kind, count in counts.items() if count)
    lines = [
        f"empty:  {counted(sum(counts.values()), 'items')} with less than a sentence: {reasons}"
    ]
    lines += [
        f"        {count:,} with most text at {slot} (contentspider report shows pages)"
        for count, slot in _by_slot(stats, EMPTY_SLOTS)
    ]
    return lines


def _directives(pages: int) -> list[str]:
    """Return a line if text of some *pages* was left out because their owners ask for it."""
    line = (
        f"left:   text of {counted(pages, 'pages')} is marked as not to be indexed"
        " (--no-directives keeps it)"
    )
    return [line] if pages else []


def _by_slot(stats: Mapping[str, Any], prefix: str) -> list[tuple[int, str]]:
    """Return the largest counts of a stat with a *prefix*, with the slots that follow it. Slots of
    one site begin with the site's name.
    """
    counts = [
        (count, name.removeprefix(prefix))
        for name, count in stats.items()
        if count and name.startswith(prefix)
    ]
    return sorted(counts, key=lambda slot: (-slot[0], slot[1]))[:MAX_SLOTS]


def _models(stats: Mapping[str, Any], models: str) -> str:
    names = ("sites/learned", "models/loaded", "models/saved")
    learned, loaded, saved = (stats.get(f"contentspider/{name}", 0) for name in names)
    if learned <= saved:
        return f"models: {models}/ ({learned} learned, {loaded} loaded)"
    why = "the crawl was cut short, and the next one will learn from more pages"
    if stats.get("finish_reason") == "finished":
        why = "the log above says why"
        if learned - saved == stats.get("contentspider/models/of_one_page"):
            why = "one page does not show its site's template, and the prior judges it"
    return f"models: {models}/ ({learned} learned for this crawl, {saved} saved: {why})"


def with_record(result: SiteResult, outcome: Outcome, record: Mapping[str, Any]) -> SiteResult:
    """Return a *result* with what the *record* of its crawl (``--stats``) tells."""
    stats = record["stats"]
    quality = next(iter(site_qualities(stats)), None)
    f1, f1_pages = quality[:2] if quality else (None, 0)
    result = replace(
        result,
        items=items_output(stats),
        # A page that stands before others, such as a login, does not count as a page of the site.
        read=max(pages_read(stats) - sum(n for _, n in hidden_sites(stats).values()), 0),
        pages=record["pages"],
        changes={kind: stats.get(f"contentspider/changes/{kind}", 0) for kind in CHANGES},
        f1=f1,
        f1_pages=f1_pages,
        relearned=stats.get("contentspider/sites/relearned", 0),
        doubtful=tuple(doubtful_templates(stats)),
        reasons=tuple(record["reasons"]),
        accepted=record["accepted"],
        warnings=tuple(record["warnings"]),
        indexes=tuple(record["indexes"]),
    )
    if is_down(outcome, stats):
        return replace(result, failures=1, down_since=result.started)
    return result


def site_qualities(stats: Mapping[str, Any]) -> list[tuple[float, int, str]]:
    """Return F1, number of measured pages (0: predicted) and name of each site, the worst first.
    Sites with an outdated model, whose F1 says nothing of the site's pages, are left out, and so
    are sites that hide their pages.
    """
    names = (name.removeprefix(F1_STAT) for name in stats if name.startswith(F1_STAT))
    hidden = hidden_sites(stats)
    sites = [site for site in names if site not in hidden and not stats.get(OUTDATED_STAT + site)]
    return sorted((stats[F1_STAT + site], stats.get(PAGES_STAT + site, 0), site) for site in sites)


def _quality(stats: Mapping[str, Any]) -> list[str]:
    qualities = site_qualities(stats)
    shown = []
    for f1, pages, site in qualities[:MAX_SITES]:
        how = (
            f"measured on {counted(pages, 'pages')} whose text it publishes"
            if pages
            else "predicted"
        )
        shown.append(f"{site} F1 {f1:.3f} ({how})")
    if len(qualities) > MAX_SITES:
        shown.append(f"{len(qualities) - MAX_SITES} more")
    outdated = [
        name.removeprefix(OUTDATED_STAT)
        for name, count in stats.items()
        if count and name.startswith(OUTDATED_STAT)
    ]
    if outdated:
        shown.append(f"unknown for {', '.join(outdated[:MAX_SITES])}: the model is outdated")
    lines = [f"quality: {'; '.join(shown)}"] if shown else []
    doubtful = doubtful_templates(stats)
    lines += [
        f"        doubtful: {template} (contentspider report shows pages)"
        for template in doubtful[:MAX_SLOTS]
    ]
    if len(doubtful) > MAX_SLOTS:
        lines.append(f"        and {counted(len(doubtful) - MAX_SLOTS, 'more templates')}")
    return lines


def _capped(stats: Mapping[str, Any]) -> list[str]:
    """Return a line about hosts that ask for a longer delay than the settings allow."""
    delays = [
        f"{name.removeprefix(CAPPED_STAT)} asks for {seconds:g} s"
        for name, seconds in stats.items()
        if name.startswith(CAPPED_STAT)
    ]
    if not delays:
        return []
    more = f"; {len(delays) - MAX_SITES} more" if len(delays) > MAX_SITES else ""
    hosts = "; ".join(delays[:MAX_SITES]) + more
    return [f"delays: {hosts} between requests, which CONTENTSPIDER_MAX_CRAWL_DELAY limits"]


def _logins(hosts: int, renewals: int, left: int) -> list[str]:
    """Return a line about the *hosts* that the crawl has logged in to, the *renewals* of their
    sessions, and the addresses that were *left* out because they end a session.
    """
    if not hosts:
        return []
    line = f"login:  at {counted(hosts, 'hosts')}, renewed {renewals:,} times"
    return [
        line
        + (f"; {counted(left, 'addresses')} that would end the session left out" if left else "")
    ]
