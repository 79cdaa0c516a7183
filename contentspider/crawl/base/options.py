"""The settings of a crawl, in one table: defaults, checks, flags, keys and docs are made of it."""

# ruff: noqa: RUF009 - option() returns a field

from __future__ import annotations

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from contentspider.crawl.base.option import Option, SettingError, header
from contentspider.ground.extras import require
from contentspider.state.stores.remote import RemoteError, check_url, is_url

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from contentspider.crawl.base.items import FieldMap
    from contentspider.site.learn.options import LearningOptions
    from contentspider.site.models.record import OptionalFields

PREFIX = "CONTENTSPIDER_"
# The groups of the command's help, in their order.
MOST_USED, PAGES, FILES = "most used", "which pages", "files and folders"
REQUESTS, RUNS = "requests", "runs, settings and logs"


def option(default: Any, text: str, **where: Any) -> Any:
    """Return the field of an option (`Option`): its default, its help, and where it may stand."""
    return field(metadata={"default": default, "help": text, **where})


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The settings of a crawl, checked: ``learn_pages`` is ``CONTENTSPIDER_LEARN_PAGES``."""

    # fmt: off
    enabled: bool = option(True, "Use contentspider; False switches the add-on off.")
    models_dir: str = option(
        "models", "Folder of the sites' models, or a store (s3://..., docs/sharing.md).",
        flags="--models", metavar="DIR", group=MOST_USED, in_sites=True,
    )
    learn_pages: int = option(
        2_000, "Pages of a site that are held until its model is learned, at most. From 500 on it"
        " is tried whether the site is known well enough; a smaller site is learned at the end.",
        minimum=1,
    )
    min_quality: float = option(
        0.85, "Warn of a site (monitor Quality: fail) whose F1 on texts of its own is lower.",
        minimum=0, maximum=1,
    )
    relearn: bool = option(
        False, "Learn the sites anew, even if there are models.", flags="--relearn", group=RUNS
    )
    labels: str = option(
        "votes", "How blocks are labelled: 'votes', 'own' (without the prior), 'paper' (Algorithm"
        " 1), a variant of it (research/docs/experiments.md), or a method of another package.",
        flags="--labels", metavar="METHOD",
    )
    features: list[str] = option(
        ["slots"], "Feature sets of the site's classifier (research/docs/experiments.md).",
        flags="--features", metavar="SET[,SET]",
    )
    classifier: str = option(
        "svm", "The site's classifier: 'svm', or one of another package (docs/extending.md).",
        flags="--classifier", metavar="NAME",
    )
    keep_teasers: bool = option(
        False, "Keep the entries of listing pages in their content.", flags="--keep-teasers"
    )
    prior_file: str = option(
        "", "A prior from 'contentspider-research train-prior' in place of the shipped one."
    )
    site_by: str = option(
        "domain", "What a site is: 'domain' (the registered domain) or 'host' (each subdomain).",
        choices=("domain", "host"),
    )
    own_texts: int = option(
        3, "Requests to each site for what it publishes of its pages without their template (an"
        " API, a search index), beside its feeds; 0: learn from pages only.", minimum=0,
    )
    obey_meta_robots: bool = option(
        True, "Obey noindex and nofollow of pages (meta robots, X-Robots-Tag)."
    )
    obey_directives: bool = option(
        True, "Leave out what its owner marks as not to be indexed: data-nosnippet, googleoff,"
        " noindex and the like (docs/fetching.md; --no-directives: keep it).",
        flags="--no-directives", group=PAGES,
    )
    item_fields: FieldMap = option(
        {}, "Which fields of your own item classes take ours: {'my.Item': {'content': 'body'}}."
    )
    passages: int = option(
        0, "Add the content in passages of at most so many characters (docs/items.md); 0: none.",
        minimum=0, flags="--passages", metavar="CHARS",
    )
    images: bool = option(
        False, "Add the content's pictures to items (docs/items.md).", flags="--images",
    )
    summary: bool = option(
        False, "Add a summary of the content to items (docs/items.md).", flags="--summary",
    )
    private: bool = option(
        True, "Crawl addresses in private networks, if they are the start (--no-private: never).",
        flags="--no-private", group=REQUESTS,
    )
    durable: bool = option(
        False, "Keep all in a ledger, so that a killed crawl can go on (docs/durability.md)."
    )
    crawl: str = option(
        "", "Name of the crawl and its ledger; by default the spider's name, or for the site"
        " spider what it crawls. Two crawls may run at a time under two names.", flags="--name",
        metavar="NAME", group=RUNS,
    )
    resume: bool = option(
        False, "Go on with this crawl if it was not finished; else start anew.", flags="--resume",
        group=MOST_USED,
    )
    contact: str = option(
        "", "Page or mail address of yours, named to the sites (also an environment variable).",
        flags="--contact", metavar="ADDRESS", group=MOST_USED, in_sites=True,
    )
    render: str = option(
        "never", "Load pages in a browser: 'always', 'auto' (where scripts make the text) or"
        " 'learn' (for their looks, while a site is learned); docs/rendering.md.",
        choices=("never", "learn", "auto", "always"), flags="--render", metavar="WHEN",
        group=PAGES, in_sites=True,
    )
    render_hosts: list[str] = option(
        [], "Domains beside the sites' own that pages may load scripts and data from in the"
        " browser; '*': any that is public.", flags="--render-hosts", metavar="DOMAIN[,DOMAIN]",
        group=PAGES, in_sites=True,
    )
    browser: str = option(
        "", "Path of Chromium (default: the system's).", flags="--browser", metavar="PATH",
        group=FILES, in_sites=True,
    )
    headers: dict[str, str] = option(
        {}, "Headers (cookies, authorisation) for the sites that are crawled, and for no others.",
        convert=header, flags="-H --header", metavar="NAME:VALUE", group=REQUESTS,
    )
    max_crawl_delay: float = option(
        30.0, "Seconds between requests to a host, at most, if its robots.txt asks for more"
        " (Crawl-delay); 0: Crawl-delay is not obeyed.", minimum=0,
    )
    redirect_cookies: bool = option(
        True, "Keep the cookies that a site's redirects set, and send them there: some sites answer"
        " only then (docs/fetching.md).",
    )
    state_dir: str = option(
        "", "Folder of ledgers (default: .scrapy/contentspider in the project or current folder).",
        flags="--state-dir", metavar="DIR", group=FILES,
    )
    history: bool = option(
        True, "Keep a history of durable crawls, which tells what has changed (docs/recrawls.md)."
    )
    history_url: str = option(
        "", "A store of histories that machines share (s3://..., docs/sharing.md).",
        flags="--history", metavar="URL", group=FILES, in_sites=True,
    )
    history_mb: int = option(
        1_000, "Megabytes of a history, after which no more whole pages are kept in it.", minimum=0
    )
    conditional: bool = option(
        True, "Ask for known pages only if they have changed (ETag, Last-Modified)."
    )
    only: str = option(
        "", "'changed': give on the items of new and changed pages only.", choices=("", "changed"),
        flags="--only", group=PAGES, in_sites=True,
    )
    due: bool = option(
        False, "Fetch the start pages, new pages, and of known pages those whose next visit is due"
        " by how often they change, the most overdue first (docs/recrawls.md).", flags="--due",
        group=MOST_USED, in_sites=True,
    )
    mean_interval: float = option(
        7.0, "Days between two visits of a page (CONTENTSPIDER_DUE), on the mean.", minimum=0.001
    )
    max_interval: float = option(30.0, "Days after which any known page is due.", minimum=0.04)
    missing_crawls: int = option(
        3, "Complete crawls in a row without a link after which a page is gone; 0: no.", minimum=0
    )
    frontier: str = option(
        "", "PostgreSQL that holds the crawl for several machines (postgresql://HOST/DATABASE,"
        " docs/machines.md).", flags="--frontier", metavar="URL", group=RUNS,
    )
    force: bool = option(
        False, "Take known pages to be gone, however many.", flags="--force", group=RUNS
    )
    index: list[str] = option(
        [], "Search index to bring up to date at the end, such as sqlite:pages.db"
        " (docs/indexing.md); 'default', or the flag alone: one in the folder of ledgers.",
        flags="--index", metavar="ENGINE_URL", const="default", group=MOST_USED, in_sites=True,
    )
    output_file: str = option(
        "", "File for items as JSON lines: whole lines, each item once, whatever ends the crawl."
    )
    warc_file: str = option(
        "", "Append requests and answers to a WARC file (.warc.gz), as they were received.",
        flags="--warc", metavar="FILE", group=FILES,
    )
    outage_secs: float = option(
        300.0, "Seconds to wait for a host that is down, when nothing else is left to fetch; then"
        " the crawl ends, and can go on later.", minimum=0,
    )
    progress_secs: float = option(
        10.0, "Seconds between progress lines in a log (in a terminal 1); 0: none.", minimum=0
    )
    monitor_min_kept: float = option(
        0.1, "Monitors: alarm if a smaller share of the text was kept.", minimum=0, maximum=1
    )
    monitor_max_low_confidence: float = option(
        0.25, "Monitors: alarm if more pages had low confidence or no filter.", minimum=0, maximum=1
    )
    monitor_max_empty: float = option(
        0.1, "Monitors: alarm if more pages lost all of their text.", minimum=0, maximum=1
    )
    monitor_max_doubtful: float = option(
        0.1, "Monitors: alarm if more of a site's pages are of doubtful templates.", minimum=0,
        maximum=1,
    )
    monitor_max_failed: float = option(
        0.1, "Monitors: alarm if more pages could not be read or filtered.", minimum=0, maximum=1
    )
    # fmt: on

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Return a crawl's options; the `SettingError` that is raised names what is wrong."""
        from contentspider.crawl.base.items import FieldMap

        values = {one.name: one.read_setting(settings.get(one.setting)) for one in SETTINGS}
        for name in settings:
            if name.startswith(PREFIX) and name not in DEFAULTS:
                near = get_close_matches(name, DEFAULTS, 1, cutoff=0)[0]
                raise SettingError(f"contentspider has no setting {name}; did you mean {near}?")
        try:
            values["item_fields"] = FieldMap(values["item_fields"])
        except (ValueError, TypeError) as error:
            raise SettingError(str(error)) from error
        found = cls(**values)
        found._check()
        if any("spidermon" in str(name) for name in settings.getdict("EXTENSIONS")):
            require("monitors", "Spidermon, which EXTENSIONS names,")
        return found

    @property
    def learning(self) -> LearningOptions:
        """How sites are learned; raises `SettingError` if a value of it cannot work."""
        from contentspider.site.learn.options import LearningOptions, OptionError

        try:
            return LearningOptions(
                self.labels,
                self.features,
                self.classifier,
                self.keep_teasers,
                self.prior_file,
                self.obey_directives,
            )
        except OptionError as error:
            raise SettingError(str(error.renamed(PREFIX + error.option.upper()))) from error

    @property
    def optional_fields(self) -> OptionalFields:
        """The optional fields of items."""
        from contentspider.site.models.record import OptionalFields

        return OptionalFields(self.passages, self.images, self.summary)

    def _check_frontier(self) -> None:
        """Raise `SettingError` if other options keep several machines from sharing the crawl."""
        if not self.durable:
            raise SettingError(f"{PREFIX}FRONTIER cannot be used: it needs {PREFIX}DURABLE=True")
        for name in ("due", "index"):
            if getattr(self, name) and not self.history_url:
                raise SettingError(
                    f"{PREFIX}{name.upper()} needs the history of all machines: give one that"
                    " they share (--history s3://..., docs/sharing.md)"
                )

    def _check(self) -> None:
        """Raise `SettingError` if values do not go together."""
        assert self.learning
        if self.frontier:
            self._check_frontier()
        if not (self.durable and self.history):
            for name in ("due", "index", "history_url"):
                if getattr(self, name):
                    raise SettingError(
                        f"{PREFIX}{name.upper()} cannot be used: it needs the history, and so"
                        " CONTENTSPIDER_DURABLE=True and CONTENTSPIDER_HISTORY=True"
                    )
        for name in ("models_dir", "history_url"):
            if is_url(url := getattr(self, name)):
                try:
                    check_url(url)
                except RemoteError as error:
                    raise SettingError(f"{PREFIX}{name.upper()}: {error}") from error
        if self.history_url and not is_url(self.history_url):
            raise SettingError(
                f"CONTENTSPIDER_HISTORY_URL={self.history_url!r} cannot be used: give a URL such as"
                " 's3://bucket/histories', or 'file:///folder'"
            )


NAMES = {one.name: one.metadata for one in fields(CrawlOptions)}
SETTINGS = tuple(Option(name=one, setting=PREFIX + one.upper(), **NAMES[one]) for one in NAMES)
DEFAULTS: dict[str, Any] = {one.setting: one.default for one in SETTINGS}
