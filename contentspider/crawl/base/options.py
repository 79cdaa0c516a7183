"""The options of a crawl in one table. Settings, flags, keys of ``sites.toml`` and the tables in
docs/ are made from it.
"""

# ruff: noqa: RUF009 - option() returns a field

from __future__ import annotations

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.crawl.base.logins import Logins, read_logins
from contentspider.crawl.base.option import Option, SettingError, header
from contentspider.ground.extras import require
from contentspider.state.stores.remote import RemoteError, check_url, is_url

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from contentspider.crawl.base.items import FieldMap
    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.site.learn.options import LearningOptions
    from contentspider.site.models.record import OptionalFields

PREFIX = "CONTENTSPIDER_"
# The groups of options in the help of ``contentspider crawl``, in their order.
MOST_USED, PAGES, FILES = "most used", "which pages", "files and folders"
REQUESTS, RUNS = "requests", "runs, settings and logs"


def option(default: Any, text: str, **where: Any) -> Any:
    """Return the dataclass field of an `Option`: its default, its help, and further attributes."""
    return field(metadata={"default": default, "help": text, **where})


@dataclass(frozen=True)
class CrawlOptions:
    """The checked options of a crawl: ``learn_pages`` is ``CONTENTSPIDER_LEARN_PAGES``."""

    # fmt: off
    enabled: bool = option(True, "Use contentspider; False switches the add-on off.")
    models_dir: str = option(
        "models", "Folder of the sites' models, or a store (s3://..., docs/sharing.md).",
        flags="--models", metavar="DIR", group=MOST_USED, in_sites=True,
    )
    learn_pages: int = option(
        2_000, "Learn a site after this many pages at the latest, a smaller site at the end of the"
        " crawl; until then its items are held (docs/how-it-works.md).",
        minimum=1,
    )
    min_quality: float = option(
        0.85, "Warn of a site whose F1 on its own texts is lower (the monitor Quality fails).",
        minimum=0, maximum=1,
    )
    relearn: bool = option(
        False, "Learn the sites again, even if they have models.", flags="--relearn", group=RUNS
    )
    models_frozen: bool = option(
        False, "Use the models as they are: learn no site and save no model. The prior judges the"
        " pages of sites without a model.",
        flags="--models-frozen", group=RUNS, in_sites=True,
    )
    keep_teasers: bool = option(
        False, "Keep the entries of listing pages in their content.", flags="--keep-teasers"
    )
    site_by: str = option(
        "domain", "How addresses are grouped into sites: by 'domain' (the registered domain) or by"
        " 'host' (each subdomain is a site).",
        choices=("domain", "host"),
    )
    own_texts: int = option(
        3, "Requests to each site for own texts beside its feeds: texts that it publishes without"
        " its template (an API, a search index). 0: learn from pages only.", minimum=0,
    )
    obey_meta_robots: bool = option(
        True, "Obey noindex and nofollow of pages (meta robots, X-Robots-Tag)."
    )
    alternates: bool = option(
        False, "Request pages in other languages that only hreflang names, in pages and sitemaps"
        " (docs/fetching.md)."
    )
    obey_directives: bool = option(
        True, "Leave out text that its owner excludes from search engines, such as data-nosnippet"
        " (docs/fetching.md).",
        flags="--no-directives", group=PAGES, off="Keep text that its owner excludes from search"
        " engines, such as data-nosnippet (docs/fetching.md).",
    )
    item_fields: FieldMap = option(
        {}, "The fields of your own item classes to fill with ours: {'my.Item': {'content':"
        " 'body'}}. The key of plain dicts is 'dict' (docs/own-spiders.md)."
    )
    passages: int = option(
        0, "Add the content in passages of at most this many characters (docs/items.md); 0: no"
        " passages.",
        minimum=0, flags="--passages", metavar="CHARS", group=PAGES,
    )
    images: bool = option(
        False, "Add the images of the content to items (docs/items.md).",
        flags="--images", group=PAGES,
    )
    summary: bool = option(
        False, "Add a summary of the content to items (docs/items.md).",
        flags="--summary", group=PAGES,
    )
    records: bool = option(
        False, "Add the entries of listings to their items (docs/items.md).",
        flags="--records", group=PAGES,
    )
    fields: str = option(
        "", "File of fields of your own, by selectors or by examples (fields.toml, docs/items.md).",
        flags="--fields", metavar="FILE", group=PAGES, in_sites=True,
    )
    site_item: bool = option(
        False, "Add one item for each site: the text that most of its pages share (docs/items.md).",
        flags="--site-item", group=PAGES, in_sites=True,
    )
    private: bool = option(
        True, "Crawl private networks that a start address is in.",
        flags="--no-private", group=REQUESTS,
        off="Never send a request to a private network, even if a start address is in it.",
    )
    durable: bool = option(
        False, "Keep the crawl in a file (its book), so that a killed crawl can be resumed"
        " (docs/durability.md)."
    )
    crawl: str = option(
        "", "Name of the crawl and its book (default: the spider's name; for the site spider the"
        " address it crawls).",
        flags="--name", metavar="NAME", group=RUNS,
    )
    resume: bool = option(
        False, "Resume this crawl if it did not finish; otherwise start it anew.", flags="--resume",
        group=MOST_USED,
    )
    contact: str = option(
        "", "Your web page or mail address, sent to the sites in the User-Agent header (also read"
        " from the environment).",
        flags="--contact", metavar="ADDRESS", group=MOST_USED, in_sites=True,
    )
    render: str = option(
        "never", "Load pages in a browser: 'always', 'auto' (if scripts create the text) or 'learn'"
        " (to see their layout while a site is learned); docs/rendering.md.",
        choices=("never", "learn", "auto", "always"), flags="--render", metavar="WHEN",
        group=PAGES, in_sites=True,
    )
    render_hosts: list[str] = option(
        [], "Other domains from which pages may load scripts and data in the browser; '*': any"
        " public domain.", flags="--render-hosts", metavar="DOMAIN[,DOMAIN]",
        group=PAGES, in_sites=True,
    )
    browser: str = option(
        "", "Path of Chromium (default: the system's).", flags="--browser", metavar="PATH",
        group=FILES, in_sites=True,
    )
    headers: dict[str, str] = option(
        {}, "Headers (cookies, authorisation) to send to the sites that are crawled, and only to"
        " them.",
        convert=header, flags="-H --header", metavar="NAME:VALUE", group=REQUESTS,
        is_secret=True,
    )
    login: str = option(
        "", "File with the forms to log in with (login.toml, docs/fetching.md).",
        flags="--login", metavar="FILE", group=REQUESTS, in_sites=True,
    )
    verify_tls: str = option(
        "secrets", "Verify the certificates of servers: 'secrets' (of those that get headers of"
        " yours, a password or a form), 'always' or 'never' (docs/fetching.md).",
        choices=("secrets", "always", "never"), flags="--verify-tls", metavar="WHEN",
        group=REQUESTS, in_sites=True,
    )
    max_crawl_delay: float = option(
        30.0, "Longest Crawl-delay of a robots.txt that is obeyed, in seconds between requests to a"
        " host; 0: ignore Crawl-delay.", minimum=0,
    )
    state_dir: str = option(
        "", "Folder of books (default: .scrapy/contentspider in the project or current folder).",
        flags="--state-dir", metavar="DIR", group=FILES,
    )
    books_url: str = option(
        "", "A store of books that machines share (s3://..., docs/sharing.md).",
        flags="--books", metavar="URL", group=FILES, in_sites=True,
    )
    book_mb: int = option(
        1_000, "Size of a book in megabytes from which no more whole pages are added to it.",
        minimum=0,
    )
    only: str = option(
        "", "'changed': leave out items of unchanged pages.", choices=("", "changed"),
        flags="--only", group=PAGES, in_sites=True,
    )
    due: bool = option(
        False, "Fetch the start pages, new pages, and the known pages whose next visit is due, by"
        " how often they change (docs/recrawls.md).",
        flags="--due", group=MOST_USED, in_sites=True,
    )
    mean_interval: float = option(
        7.0, "Mean number of days between two visits of a page (for CONTENTSPIDER_DUE).",
        minimum=0.001,
    )
    max_interval: float = option(
        30.0, "Days after which every known page is due.", minimum=0.04
    )
    missing_crawls: int = option(
        3, "A page is gone if no page links to it in this many complete crawls in a row; 0: never.",
        minimum=0,
    )
    force: bool = option(
        False, "Accept that pages are gone, even if they are a large share of the known pages;"
        " write a page that many addresses give, even if it seems to hide others.",
        flags="--force", group=RUNS,
    )
    index: list[str] = option(
        [], "Search index to update at the end of the crawl, such as sqlite:pages.db"
        " (docs/indexing.md); 'default', or the flag alone: an index in the folder of books.",
        flags="--index", metavar="ENGINE_URL", const="default", group=MOST_USED, in_sites=True,
    )
    take_over: bool = option(
        False, "Write pages, too, whose documents in a search index belong to another crawl: once,"
        " if you have renamed the crawl.", flags="--take-over", group=RUNS,
        in_sites=True,
    )
    output_file: str = option(
        "", "File for items as JSON lines. It has whole lines and each item once, even if the crawl"
        " is killed."
    )
    warc_file: str = option(
        "", "Append all requests (without secrets) and responses to a WARC file (.warc.gz).",
        flags="--warc", metavar="FILE", group=FILES,
    )
    outage_secs: float = option(
        300.0, "Seconds to wait for a host that is down when no other requests remain. Then the"
        " crawl ends, and can be resumed later.", minimum=0,
    )
    progress_secs: float = option(
        10.0, "Seconds between progress lines in a log (1 in a terminal); 0: no progress lines.",
        minimum=0,
    )
    monitor_min_kept: float = option(
        0.1, "Monitors: fail if a smaller share of the text is kept as content.", minimum=0,
        maximum=1,
    )
    monitor_max_low_confidence: float = option(
        0.25, "Monitors: fail if a larger share of pages has low confidence or is not filtered.",
        minimum=0, maximum=1,
    )
    monitor_max_empty: float = option(
        0.1, "Monitors: fail if a larger share of pages loses all of its text.", minimum=0,
        maximum=1,
    )
    monitor_max_doubtful: float = option(
        0.1, "Monitors: fail if a larger share of a site's pages has a doubtful template.",
        minimum=0, maximum=1,
    )
    monitor_max_failed: float = option(
        0.1, "Monitors: fail if a larger share of pages could not be read or filtered.", minimum=0,
        maximum=1,
    )
    # For research.
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
        "svm", "The site's classifier: 'svm', or a classifier of another package"
        " (docs/extending.md).",
        flags="--classifier", metavar="NAME",
    )
    prior_file: str = option(
        "", "A prior from 'contentspider-research train-prior' that replaces the shipped prior."
    )
    # fmt: on

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Return the options of a crawl; raises a `SettingError` that names the wrong setting."""
        from contentspider.crawl.base.items import FieldMap

        values: dict[str, Any] = {}
        for option in SETTINGS:
            values[option.name] = option.read_setting(settings.get(option.setting))
        for name in settings:
            if name.startswith(PREFIX) and name not in DEFAULTS:
                nearest = get_close_matches(name, DEFAULTS, 1, cutoff=0)[0]
                raise SettingError(f"contentspider has no setting {name}; did you mean {nearest}?")
        try:
            values["item_fields"] = FieldMap(values["item_fields"])
        except (ValueError, TypeError) as error:
            raise SettingError(str(error)) from error
        options = cls(**values)
        options._check()
        if any("spidermon" in str(name) for name in settings.getdict("EXTENSIONS")):
            require("monitors", "Spidermon, which EXTENSIONS names,")
        return options

    @cached_property
    def learning(self) -> LearningOptions:
        """The options of learning; raises `SettingError` if one of them cannot be used."""
        from contentspider.site.learn.options import LearningOptions, OptionError

        try:
            return LearningOptions(
                self.labels,
                self.features,
                self.classifier,
                self.keep_teasers,
                self.prior_file,
                self.obey_directives,
                str(Path(self.fields).absolute()) if self.fields else "",
            )
        except OptionError as error:
            raise SettingError(str(error.renamed(PREFIX + error.option.upper()))) from error

    @property
    def logins(self) -> Logins:
        """The logins of the file `login`; raises `SettingError` if one of them cannot be used."""
        return read_logins(self.login)

    @property
    def optional_fields(self) -> OptionalFields:
        """The optional fields that items have."""
        from contentspider.site.models.record import OptionalFields

        return OptionalFields(self.passages, self.images, self.summary, self.records)

    @property
    def fields_file(self) -> FieldsFile:
        """The fields that the user wants; raises `FieldsError` if their file cannot be used."""
        return self.learning.own_fields

    def _check(self) -> None:
        """Raise `SettingError` if options contradict each other, and `FieldsError` if the file of
        own fields cannot be used.
        """
        assert self.learning
        assert self.fields_file
        if self.relearn and self.models_frozen:
            raise SettingError("--relearn and --models-frozen exclude each other: choose one")
        if self.logins:
            self._check_logins()
        if not self.durable:
            self._check_no_comparison()
        self._check_stores()

    @property
    def reads_routes(self) -> bool:
        """Whether the crawl reads the pages of routes (`route_of`), which only a browser makes."""
        return self.render in ("auto", "always")

    def _check_logins(self) -> None:
        """Raise `SettingError` if the crawl cannot log in because of other options."""
        if self.render != "never":
            raise SettingError(
                f"{PREFIX}LOGIN does not work with {PREFIX}RENDER: a browser does not get the"
                " session; leave one of them out",
                code="login-unsupported",
            )

    def _check_no_comparison(self) -> None:
        """Raise `SettingError` if an option needs the known pages, which this crawl lacks."""
        for name in ("due", "index", "books_url"):
            if getattr(self, name):
                raise SettingError(
                    f"{PREFIX}{name.upper()} cannot be used: it needs the known pages, and so"
                    " CONTENTSPIDER_DURABLE=True"
                )

    def _check_stores(self) -> None:
        """Raise `SettingError` if the URL of a store cannot be used."""
        for name in ("models_dir", "books_url"):
            if is_url(url := getattr(self, name)):
                try:
                    check_url(url)
                except RemoteError as error:
                    raise SettingError(f"{PREFIX}{name.upper()}: {error}") from error
        if self.books_url and not is_url(self.books_url):
            raise SettingError(
                f"CONTENTSPIDER_BOOKS_URL={self.books_url!r} cannot be used: give a URL such as"
                " 's3://bucket/books', or 'file:///folder'"
            )


SETTINGS = tuple(
    Option(name=each.name, setting=PREFIX + each.name.upper(), **each.metadata)
    for each in fields(CrawlOptions)
)
DEFAULTS: dict[str, Any] = {each.setting: each.default for each in SETTINGS}
