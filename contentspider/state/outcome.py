"""How a crawl ended: its exit code, the reasons, and whether its output may replace another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from contentspider.ground.counts import counted
from contentspider.site.hidden import SHELL

# Scrapy's reason for a finished crawl, and ours for one that left unread pages or held items.
FINISHED = "finished"
INCOMPLETE = "incomplete"
OUTAGE = "outage"  # only pages of hosts that were down for too long are left
OUT_OF_MEMORY = "out_of_memory"  # the process reached its memory limit
SHUTDOWN, MAX_PAGES, LIMIT_PREFIX = "shutdown", "max_pages", "closespider_"  # ends by the user
LIMITS = (MAX_PAGES, *(LIMIT_PREFIX + what for what in ("timeout", "itemcount", "pagecount")))
FEW = 5  # so many known pages may be lost in any crawl, even of a small site
MAX_GONE_SHARE = 0.3  # the loss of a larger share of the known pages is doubted
MAX_LOST_SHARE = 0.1  # an output is replaced if at most this share is lost: some sites always fail
STATS_PREFIX = "contentspider/book/"
COUNTS = (
    *("items", "queued", "unread", "held", "unchanged", "unseen", "never_read", "unlearned"),
    "hidden",
)


def is_large_loss(count: int, total: int) -> bool:
    """Tell whether *count* of *total* known pages are too many to be lost in one crawl."""
    return count > max(FEW, MAX_GONE_SHARE * total)


class Outcome(IntEnum):
    """How a crawl ended. The value is the exit code (argparse uses 2 for a wrong option)."""

    COMPLETE = 0
    ERROR = 1
    NOTHING_READ = 3
    INCOMPLETE = 4
    INTERRUPTED = 5
    MONITOR_FAILED = 6
    OUT_OF_MEMORY = 7
    GONE_DOUBTED = 8
    INDEX_BEHIND = 9
    OUTPUT_FAILED = 10
    CONTENT_HIDDEN = 11


MEANINGS = {
    Outcome.COMPLETE: "complete: every page that was found was read, up to the limits you set",
    Outcome.ERROR: "error: bad usage, or output or book could not be written",
    Outcome.NOTHING_READ: "nothing read: no page could be read, or none may be",
    Outcome.INCOMPLETE: (
        "incomplete: pages or items were lost to failures that may be temporary, items could not"
        " be made, or a site could not be learned (again); --resume tries again"
    ),
    Outcome.INTERRUPTED: "interrupted: stopped from outside; --resume continues",
    Outcome.MONITOR_FAILED: "monitor failed: the crawl is complete, but a monitor found a problem",
    Outcome.OUT_OF_MEMORY: "out of memory: give the process more; --resume continues",
    Outcome.GONE_DOUBTED: (
        "gone doubted: the crawl is complete, but too many known pages would be gone at once, so"
        " they stay; contentspider changes CRAWL --accept-gone marks them as gone"
    ),
    Outcome.INDEX_BEHIND: (
        "index behind: the crawl is complete, but a search index was not brought up to date, has"
        " refused documents, or may have documents that are old; the log says what to do"
    ),
    Outcome.OUTPUT_FAILED: (
        "output failed: an output that was asked for lacks items, because it could not be written"
        " (the disk is full, for example); contentspider replay writes the items again"
    ),
    Outcome.CONTENT_HIDDEN: (
        "content hidden: pages were read, but they look like empty shells that scripts fill, or"
        " like one page that stands before all others (a consent, a login, a check for robots);"
        " the last lines say what may help"
    ),
}
# The number of outputs (standard output, files, feeds, the WARC file) that could not be written.
OUTPUTS_STAT = "contentspider/outputs/failed"
# The number of answers in the WARC file that pages are unmodified.
REVISITS_STAT = "contentspider/warc/revisits"
# Why the page of a route (`route_of`) has not been read: the crawl has no browser, or it failed.
NOT_RENDERED = "not_rendered"
# Reasons for a failure that may be temporary: network errors, RETRY_HTTP_CODES, a document that
# this machine was too busy to read, and a browser that failed.
RETRIED = (408, 429, 500, 502, 503, 504, 522, 524)
STATUSES = tuple(map("status_{}".format, RETRIED))
TRANSIENT = ("timeout", "unreachable", "broken", "cut_short", "busy", NOT_RENDERED, *STATUSES)
# Kinds of failures that come from a server without an answer, or from one that is broken. All
# others (a refused login, 403, 404, 429, ...) come from a site that is up.
NO_ANSWER = ("timeout", "unreachable", "broken", "cut_short")
SERVER_ERROR = "status_5"
UNREAD_STAT = "contentspider/pages/unread/"
# Followed by a host that answered 429 for longer than the crawl waits: the seconds of the last
# pause that it asked for (0: it named none).
LIMITED_STAT = "contentspider/hosts/limited/"
# Followed by the URL of an index that could not be updated: why, and what to do.
BEHIND_STAT = "contentspider/index/behind/"
# The numbers of addresses of links that are not followed: of documents, and of routes of scripts.
DOCUMENTS_LEFT_STAT = "contentspider/links/documents_left_out"
IMPOSSIBLE_STAT = "contentspider/links/impossible"
ROUTES_LEFT_STAT = "contentspider/links/routes_left_out"
# Followed by the kind (`SHELL`, `WALL`), a slash, and the site that hides its pages so: the number
# of addresses that gave the same page.
HIDDEN_STAT = "contentspider/hidden/"
# The number of known pages that would be gone, but are too many at once.
DOUBTED_STAT = "contentspider/changes/doubted"
# Stats of a site's quality, followed by the site: its F1, the number of pages that the F1 was
# measured on (0: it is predicted), and the number of pages that the site was learned from.
F1_STAT, PAGES_STAT = "contentspider/quality/f1/", "contentspider/quality/pages/"
LEARNED_STAT = "contentspider/quality/learned/"
# Followed by a site whose corrections do not follow its moved pages: what to do.
LEFT_OVERRIDES_STAT = "contentspider/overrides/left/"
IDLE_OVERRIDES_STAT = "contentspider/overrides/idle/"
# Stats of a doubtful template, followed by the site, a slash, and the slot where its pages have
# most of their text: the number of pages, and what to look at (see `DoubtfulTemplate`).
DOUBTFUL_STAT, DOUBT_STAT = "contentspider/quality/doubtful/", "contentspider/quality/doubt/"
# Followed by a slot: pages that have most of their text in the slot, and lost all of their text.
EMPTY_SLOTS = "contentspider/slots/empty/"
# Followed by a host that asks for a longer delay between requests than the settings allow.
CAPPED_STAT = "contentspider/robots/delay_capped/"
# Followed by a host and the first folder of addresses that were left out, because copies of pages
# led to nothing but copies.
ENDLESS_STAT = "contentspider/links/copies/"

# Items that `CONTENTSPIDER_ONLY` left out at the end of the crawl.
LEFT_OUT_STAT = "contentspider/items/left_out"
# The number of items that could not be made because of errors. Followed by a slash and an address:
# one of their pages.
UNFILLED_STAT = "contentspider/items/unfilled"
# Followed by a field, a slash and an error: items whose field is empty because of the error.
FIELDS_STAT = "contentspider/fields/failed/"
# Followed by a site whose model is outdated, because the site could not be learned again.
OUTDATED_STAT = "contentspider/sites/outdated/"
# The name in a book of the sites that were not learned again, or whose new model is not saved.
UNLEARNED_FACT = "unlearned"
# Followed by the reason why a page was skipped; the summary has lines of their own for some.
SKIPPED_STAT = "contentspider/pages/skipped/"
# The reason of an address that is known as broken, and waits or failed again.
KNOWN_BROKEN = "known_broken"
# The reason for a failure of this crawl's own components begins with this text.
OUR_FAILURE = "own failure: "
REPORTED = (KNOWN_BROKEN, "duplicate", "pdf", "document", "logout", "login_form")
# Followed by how the browser failed to load a page.
RENDER_FAILED_STAT = "contentspider/render/failed/"
# The prefix of the stats of logins.
LOGINS_STAT = "contentspider/login/"


@dataclass(frozen=True, slots=True)
class Ending:
    """Scrapy's *reason* for a crawl's end, with the numbers of items and unfinished addresses.

    *unseen*: known pages that the crawl did not read, and that stay in the book. *never_read*:
    unread addresses that no earlier crawl has read either, so that its output does not have them.
    *unlearned*: sites that could not be learned again. *hidden*: addresses that gave a page which
    stands for others (see `site.hidden`), so that the crawl says nothing about known pages.
    """

    reason: str
    items: int
    queued: int = 0
    unread: int = 0
    held: int = 0
    unchanged: int = 0
    unseen: int = 0
    never_read: int = 0
    unlearned: int = 0
    hidden: int = 0

    @classmethod
    def from_stats(cls, stats: Mapping[str, Any]) -> Ending:
        """Return the end of the crawl with these Scrapy *stats*."""
        counts = {name: int(stats.get(STATS_PREFIX + name, 0)) for name in COUNTS}
        return cls(str(stats.get("finish_reason") or ""), **counts)

    def stats(self) -> dict[str, int]:
        """Return the counts as stats, which `from_stats` reads."""
        return {STATS_PREFIX + name: getattr(self, name) for name in COUNTS}

    @property
    def word(self) -> str:
        """Return the reason that the book stores for the run: `FINISHED` if nothing is left."""
        is_left = self.queued or self.unread or self.held or self.unlearned
        return INCOMPLETE if self.reason == FINISHED and is_left else self.reason

    @property
    def is_end(self) -> bool:
        """Tell whether the crawl reached its end, or a limit of the user's."""
        return self.reason in (FINISHED, OUTAGE, MAX_PAGES) or self._is_limited

    @property
    def _is_limited(self) -> bool:
        return self.reason.startswith(LIMIT_PREFIX)

    @property
    def misses_known_pages(self) -> bool:
        """Tell whether too many known pages are unseen: an output would lose them. If the site
        hides its pages, one is too many.
        """
        is_hidden = self.hidden > 0 and self.unseen > 0
        return is_hidden or is_large_loss(self.unseen, self.unseen + self.read)

    @property
    def read(self) -> int:
        """The number of pages that gave an item, or that have not changed."""
        return self.items + self.unchanged

    def may_replace(self, is_there: bool) -> bool:
        """Tell whether the items may be written to an output. *is_there* tells that an output
        exists, and would be replaced: by no part of a crawl, unless the user has set its limits.
        """
        if not self.read:
            return False
        if not is_there or self.reason == MAX_PAGES or self._is_limited:
            return True
        if self.misses_known_pages:
            return False
        lost = self.queued + self.unread - self.never_read + self.held
        return self.reason in (FINISHED, OUTAGE) and lost <= MAX_LOST_SHARE * self.read


def items_output(stats: Mapping[str, Any]) -> int:
    """Return how many items a run has output: those that have passed the pipelines, without those
    of `CONTENTSPIDER_ONLY` whose pages turned out to be unchanged.
    """
    return int(stats.get("item_scraped_count", 0) - stats.get(LEFT_OUT_STAT, 0))


def pages_read(stats: Mapping[str, Any]) -> int:
    """Return how many pages a run has read, including pages that the server did not send, because
    they have not changed, and pages with the same bytes as before.
    """
    count = stats.get
    tagged = count("contentspider/pages/tagged", 0) - count("contentspider/pages/read_again", 0)
    same = count("contentspider/pages/same_body", 0) + count("contentspider/pages/not_modified", 0)
    return int(tagged + same)


def is_down(outcome: Outcome, stats: Mapping[str, Any]) -> bool:
    """Tell whether a run has read no page, because its site did not answer. A site that refuses
    (401, 403, 404, 429, a failed login) is up.
    """
    if outcome not in (Outcome.NOTHING_READ, Outcome.INCOMPLETE) or pages_read(stats):
        return False
    if limited_hosts(stats):
        return False
    kinds = [
        name.removeprefix(UNREAD_STAT)
        for name, count in stats.items()
        if count and name.startswith(UNREAD_STAT)
    ]
    if not all(kind in NO_ANSWER or kind.startswith(SERVER_ERROR) for kind in kinds):
        return False
    is_lost = stats.get(STATS_PREFIX + "unread") or stats.get("contentspider/hosts/down")
    return bool(kinds or is_lost)


def limited_hosts(stats: Mapping[str, Any]) -> dict[str, float]:
    """Return the hosts that answered 429 for longer than the crawl waits, each with the seconds of
    the pause that it asks for (0: it names none).
    """
    names = (name for name in stats if name.startswith(LIMITED_STAT))
    return {name.removeprefix(LIMITED_STAT): stats[name] for name in names}


def _limits(stats: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each host that limits requests."""
    return [
        f"{host} answers 429 (too many requests), and asks for"
        + (f" a pause of {seconds:.0f} s (Retry-After)" if seconds else " no certain pause")
        for host, seconds in limited_hosts(stats).items()
    ]


def by_kind(stats: Mapping[str, Any], prefix: str, without: Collection[str] = ()) -> str:
    """Return the stats that begin with *prefix* as a list in words, the largest first. The kinds in
    *without* are left out.
    """
    kinds = {name.removeprefix(prefix): n for name, n in stats.items() if name.startswith(prefix)}
    counts = sorted((-count, kind) for kind, count in kinds.items() if kind not in without)
    return ", ".join(f"{-count:,} {kind.replace('_', ' ')}" for count, kind in counts)


def hidden_sites(stats: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Return the sites that hide their pages, each with the kind (`SHELL` or `WALL`) and the number
    of addresses.
    """
    sites = {}
    for name, count in stats.items():
        if name.startswith(HIDDEN_STAT) and count:
            kind, _, site = name.removeprefix(HIDDEN_STAT).partition("/")
            sites[site] = kind, int(count)
    return sites


def render_failures(stats: Mapping[str, Any]) -> str:
    """Return how the browser failed to load pages, in words, with the number of pages of each kind;
    "" if it did not fail.
    """
    return by_kind(stats, RENDER_FAILED_STAT)


def skipped_kinds(stats: Mapping[str, Any]) -> str:
    """Return why a crawl skipped pages, in words, with the number of pages of each kind."""
    return by_kind(stats, SKIPPED_STAT, without=REPORTED)


@dataclass(frozen=True, slots=True)
class DoubtfulTemplate:
    """A template of a *site* that the site model may judge wrongly.

    *pages* counts the pages for learning that have most of their text at *slot*. *doubt* is the
    advice for users, with example pages.
    """

    site: str
    slot: str
    pages: int
    doubt: str

    def __str__(self) -> str:
        where = f"{counted(self.pages, 'pages')} of {self.site} with most text at {self.slot}"
        return f"{where}; {self.doubt}"


def doubtful_templates(stats: Mapping[str, Any]) -> list[DoubtfulTemplate]:
    """Return the doubtful templates of a crawl's sites, the one with most pages first."""
    templates = []
    for name, pages in stats.items():
        if name.startswith(DOUBTFUL_STAT) and pages:
            place = name.removeprefix(DOUBTFUL_STAT)
            site, _, slot = place.partition("/")
            doubt = str(stats.get(DOUBT_STAT + place, ""))
            templates.append(DoubtfulTemplate(site, slot, pages, doubt))
    return sorted(templates, key=lambda template: (-template.pages, template.site, template.slot))


@dataclass(frozen=True, slots=True)
class Remaining:
    """The numbers of queued addresses and of held items that a crawl has left in its book."""

    queued: int = 0
    held: int = 0


def decide(
    stats: Mapping[str, Any], remaining: Remaining, crawl: str = "CRAWL"
) -> tuple[Outcome, list[str]]:
    """Return the outcome of a crawl and the reasons, from Scrapy's *stats* and the book. *crawl* is
    its name, for commands that the reasons advise.

    The outcome is the worst problem. The reasons are of all problems, the worst first.
    """
    if reasons := _errors(stats):
        is_memory = stats.get("finish_reason") == OUT_OF_MEMORY
        return Outcome.OUT_OF_MEMORY if is_memory else Outcome.ERROR, reasons
    problems = [(Outcome.OUTPUT_FAILED, _unwritten(stats))]
    ending, hidden = _ending(stats, remaining), (Outcome.CONTENT_HIDDEN, _hidden(stats))
    # A crawl that did not end has read too little to say that the rest is hidden.
    problems += [ending] if ending[0] is Outcome.INTERRUPTED else _told_once(hidden, ending)
    problems += _complete(stats, crawl)
    causes = [(outcome, reasons) for outcome, reasons in problems if reasons]
    if not causes:
        return Outcome.COMPLETE, []
    return causes[0][0], [reason for _, reasons in causes for reason in reasons]


def _ending(stats: Mapping[str, Any], remaining: Remaining) -> tuple[Outcome, list[str]]:
    """Return the outcome of a crawl that did not read all pages, and the reasons, if any."""
    if stats.get("finish_reason") in (SHUTDOWN, None):  # at a second signal Scrapy sets no reason
        return Outcome.INTERRUPTED, [
            (
                f"{counted(remaining.queued, 'addresses')} in the queue,"
                f" {counted(remaining.held, 'items')} held"
            )
        ]
    ending = Ending.from_stats(stats)
    is_resumed = stats.get("contentspider/book/resumed") and (
        ending.read or not (ending.unread or ending.queued)
    )
    read = stats.get("item_scraped_count") or stats.get("contentspider/items/unchanged")
    if not (read or is_resumed or remaining.held):
        skipped = skipped_kinds(stats)
        reasons = _limits(stats) or ["no page was read" + (f" ({skipped})" if skipped else "")]
        return Outcome.NOTHING_READ, reasons
    return Outcome.INCOMPLETE, _lost(stats, remaining)


def _told_once(
    hidden: tuple[Outcome, list[str]], ending: tuple[Outcome, list[str]]
) -> list[tuple[Outcome, list[str]]]:
    """Return the problem of *hidden* pages, and the problem of the *ending*, unless no page was
    read because all are hidden.
    """
    is_why = hidden[1] and ending[0] is Outcome.NOTHING_READ
    return [hidden] if is_why else [hidden, ending]


def _hidden(stats: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each site that hides its pages, with a remedy."""
    is_rendered = bool(stats.get("contentspider/render/pages"))
    is_broken = bool(render_failures(stats))
    return [
        f"{counted(count, 'addresses')} of {site} {_hiding(kind, is_rendered, is_broken)}. Nothing"
        " of it was written; if this is the whole site, --force writes it"
        for site, (kind, count) in sorted(hidden_sites(stats).items())
    ]


def _hiding(kind: str, is_rendered: bool, is_broken: bool) -> str:
    """Return how the addresses of a site hide its pages, and a remedy. *is_rendered*: a browser
    loaded pages; *is_broken*: it should have, and failed.
    """
    if kind == SHELL and not is_rendered:
        remedy = "the browser failed, and the log (--log-level INFO) says why"
        return (
            "give the same page with hardly any text: scripts build the pages in a browser;"
            f" {remedy if is_broken else '--render auto reads them'}"
        )
    page = "the same page, even in a browser" if is_rendered else "the same page"
    wall = (
        "it stands before the others, such as a consent, a form to log in, a check for robots, or a"
        " notice of maintenance. Send the cookie that a browser has behind it (-H 'Cookie:"
        " NAME=VALUE'), log in (--login), or crawl again later"
    )
    if kind == SHELL:
        return (
            f"give {page}, with hardly any text: its scripts get none, such as from hosts that"
            f" they may not ask (--render-hosts), or {wall}"
        )
    return f"give {page}: {wall}"


def _complete(stats: Mapping[str, Any], crawl: str) -> list[tuple[Outcome, list[str]]]:
    """Return the problems, of a crawl that may be complete, that need a person's attention."""
    doubted = stats.get(DOUBTED_STAT, 0)
    failed = stats.get("contentspider/monitors/failed", 0)
    gone = (
        f"{counted(doubted, 'known pages')} would be gone, too many at once (if they really are"
        f" gone: contentspider changes {crawl} --accept-gone)"
    )
    return [
        (Outcome.GONE_DOUBTED, [gone] if doubted else []),
        (Outcome.INDEX_BEHIND, _behind(stats)),
        (Outcome.MONITOR_FAILED, _told([(failed, ("monitors", "failed"))])),
    ]


def overrides_to_mend(stats: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with corrections: they decide nothing, or their pages have moved."""
    kinds = LEFT_OVERRIDES_STAT, IDLE_OVERRIDES_STAT
    return [str(text) for name, text in stats.items() if name.startswith(kinds)]


def _behind(stats: Mapping[str, Any]) -> list[str]:
    """Return the reasons why search indexes differ from the book."""
    kinds = {
        "kept": ("documents", "in search indexes may be old"),
        "refused": ("documents", "refused by search indexes"),
    }
    failed = [str(text) for name, text in stats.items() if name.startswith(BEHIND_STAT)]
    return failed + _told(
        (stats.get(f"contentspider/index/{kind}", 0), what) for kind, what in kinds.items()
    )


def _told(counts: Iterable[tuple[int, tuple[str, str]]]) -> list[str]:
    """Return a phrase for each count that is not zero: the number, the noun, and the predicate."""
    return [f"{counted(count, nouns)} {what}" for count, (nouns, what) in counts if count]


def _errors(stats: Mapping[str, Any]) -> list[str]:
    failure = stats.get("contentspider/book/failed")
    return [str(failure)] if failure else []


def _unwritten(stats: Mapping[str, Any]) -> list[str]:
    """Return the reason why an output lacks items, if one does."""
    failed_feeds = (name for name in stats if name.startswith("feedexport/failed_count"))
    count = stats.get(OUTPUTS_STAT, 0) + sum(stats[name] for name in failed_feeds)
    return _told([(count, ("outputs", "could not be written; the log above says why"))])


# Followed by the reason why an item has less than a sentence; `DROPPED`: its page has prose.
EMPTY_STAT = "contentspider/pages/empty/"
DROPPED = "dropped"
EMPTIED = (
    "items",
    (
        "with less than a sentence, of pages with prose (contentspider report shows what the site's"
        " model drops)"
    ),
)
UNSEEN = "known pages", "not read, which stay as before (--force accepts the loss in the output)"
UNLEARNED = "sites", "could not be learned again, or the new model not be saved"
UNREAD = "pages", "could not be read for reasons that may pass"
REFUSED = "sites", "with a refused model, whose pages were judged one by one"
# Stats that make a crawl incomplete, with the reason that is shown.
REFUSED_STAT = "contentspider/models/refused"
# Followed by a site whose models are known to be refused: the number of crawls in a row before.
KNOWN_REFUSED_STAT = "contentspider/changes/refused/"
LOSSES = {
    "contentspider/sites/failed": ("sites", "not learned, with unfiltered items"),
    "contentspider/overrides/broken": ("sites", "with overrides.toml that could not be used"),
    "contentspider/remote/unsent": (
        "files",
        "of models or books not sent to their store; they are stored on this machine",
    ),
    "spider_exceptions/count": ("pages", "broke the spider"),
    "contentspider/items/lost": ("items", "lost to errors"),
    UNFILLED_STAT: ("items", "could not be made; the book keeps the pages as before"),
    LOGINS_STAT + "failed": ("hosts", "could not be logged in to"),
    "contentspider/hosts/down": (
        "hosts",
        "did not answer, or asked for a pause, for longer than the crawl waits",
    ),
}


def _unseen(stats: Mapping[str, Any]) -> int:
    """Return how many known pages a crawl did not read; 0 if they are few, or with ``--force``."""
    ending = Ending.from_stats(stats)
    count: int = stats.get("contentspider/changes/kept", 0)
    is_loss = ending.unseen and is_large_loss(count, count + ending.read)
    return count if is_loss else 0


def _emptied(stats: Mapping[str, Any]) -> int:
    """Return how many items lost all prose of their pages; 0 if they are few."""
    count: int = stats.get(EMPTY_STAT + DROPPED, 0)
    from contentspider.site.models.failures import MAX_SHARE  # loads how pages are read

    is_large = count > max(FEW, MAX_SHARE * stats.get("item_scraped_count", 0))
    return count if is_large else 0


def known_refused(stats: Mapping[str, Any]) -> dict[str, int]:
    """Return the sites whose models are refused in each crawl, each with the number of crawls in a
    row, including this one.
    """
    return {
        name.removeprefix(KNOWN_REFUSED_STAT): int(count) + 1
        for name, count in stats.items()
        if name.startswith(KNOWN_REFUSED_STAT)
    }


def _refused(stats: Mapping[str, Any]) -> int:
    """Return how many sites' models were refused that are not known for it."""
    count: int = stats.get(REFUSED_STAT, 0)
    return count - len(known_refused(stats))


def _lost(stats: Mapping[str, Any], remaining: Remaining) -> list[str]:
    # The book excludes pages that were read at a second attempt; the stats do not.
    failed = sum(stats.get(UNREAD_STAT + kind, 0) for kind in TRANSIENT)
    unread = stats.get("contentspider/book/unread", failed)
    reason = stats.get("finish_reason")
    unlearned = stats.get(STATS_PREFIX + "unlearned", 0)
    losses = [
        (unlearned, UNLEARNED),
        (unread, UNREAD),
        (_unseen(stats), UNSEEN),
        (_emptied(stats), EMPTIED),
        (_refused(stats), REFUSED),
        *((stats.get(name, 0), what) for name, what in LOSSES.items()),
        (remaining.queued if reason not in LIMITS else 0, ("addresses", "in the queue")),
        (remaining.held, ("items", "held")),
    ]
    reasons = [*_limits(stats), *_told(losses)]
    if reason not in (FINISHED, OUTAGE, *LIMITS):
        reasons.append(f"Scrapy ended it ({reason})")
    return reasons
