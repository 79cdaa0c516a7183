"""The site spider: crawls whole websites and yields an item for each page."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.datatypes import LocalCache

import contentspider
from contentspider.crawl.base.engine import (
    asked_address,
    end_at_start,
    extension,
    forget_tree,
    is_empty,
    referer_of,
    tree_of,
)
from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.base.links import (
    MAX_LINKS,
    SEQUENCE,
    Head,
    caching_resolver,
    header_links,
    impossible_links,
    link_texts,
    read_head,
    route_links,
)
from contentspider.crawl.base.logins import Logins, read_logins
from contentspider.crawl.base.meta import (
    CHECK_META_KEY,
    ORPHAN_META_KEY,
    PAGE_META_KEY,
    ROW_META_KEY,
    START_META_KEY,
)
from contentspider.crawl.base.outcomes import EMPTY, RENDERED
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.middlewares.conditional import (
    CONDITIONAL_ORDER,
    SAME_BODY_ORDER,
    ConditionalMiddleware,
    SameBodyMiddleware,
    note_answer,
    previous_links,
    replacement_of,
)
from contentspider.crawl.middlewares.failures import SKIPPED_KINDS, UnreadPages, why
from contentspider.crawl.middlewares.guard import CLOSED_SCHEMES, GUARD_ORDER, GuardMiddleware
from contentspider.crawl.middlewares.headers import Credentials, set_user_agent
from contentspider.crawl.middlewares.login import LOGOUT
from contentspider.crawl.middlewares.robots import NOINDEX, noindex_source, robots_directives
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.crawl.revisits.replaced import UNSURE
from contentspider.crawl.spider.budget import PageBudget
from contentspider.crawl.spider.copies import SKIP_REASON, Copy, EndlessCopies
from contentspider.crawl.spider.discovery import DiscoverySpider
from contentspider.crawl.spider.documents import document_links, is_source_of, unread_reason
from contentspider.crawl.spider.duplicates import Duplicates, Repeat, is_form
from contentspider.crawl.spider.hiding import read_answer
from contentspider.crawl.spider.left_links import LeftLinks
from contentspider.crawl.spider.owntexts import OwnTexts
from contentspider.crawl.spider.sitemaps import SitemapReader, is_feed
from contentspider.crawl.spider.traps import Traps
from contentspider.ground.addresses import (
    clean_address,
    join,
    origin_of,
    page_address,
    route_of,
)
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.scope import Scope, several, start_problem, with_scheme
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.documents import can_read
from contentspider.site.models.identity import page_id
from contentspider.state.crawls.books import name_of
from contentspider.state.outcome import (
    DOCUMENTS_LEFT_STAT,
    IMPOSSIBLE_STAT,
    KNOWN_BROKEN,
    NOT_RENDERED,
    ROUTES_LEFT_STAT,
    TRANSIENT,
)

if TYPE_CHECKING:
    from lxml.etree import _Element
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

OPTIONS_FACT = "options"  # the options of the last run
SESSIONS_FACT = "sessions"  # the parameters that a crawl has found to be session ids
DOUBTED_PRIORITY = -1  # pages that are linked only from copies come after all other pages
KNOWN_PRIORITY = -1  # known pages come after new pages and linked pages
MAX_RECENT = 50_000
NOINDEX_ADVICE = (
    ". Such requests are obeyed by default; on a site of your own set"
    " -s CONTENTSPIDER_OBEY_META_ROBOTS=False"
)


class SiteSpider(DiscoverySpider):
    """Crawls the sites of its start addresses: ``scrapy crawl site -a url=https://example.org``.

    Arguments: *url*, addresses separated by commas or spaces, with passwords that are sent to their
    origin only; *scope* (`Scope`); *include* and *exclude*, patterns separated by spaces;
    *max_pages* and *max_depth* (0: no limit); *sitemaps*, whether to read sitemaps and feeds.
    """

    name = "site"
    keys: SiteKeys
    logins: Logins
    holder: ItemHolder
    duplicates: Duplicates
    traps: Traps
    copies: EndlessCopies
    unread: UnreadPages
    left_documents: LeftLinks
    left_routes: LeftLinks
    impossible_links: LeftLinks
    obeys_pages: bool

    def __init__(
        self,
        url: str = "",
        max_pages: int | str = 0,
        max_depth: int | str = 0,
        sitemaps: bool | str = True,
        scope: str = "domain",
        include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        parts = [part for part in re.split(r"\s+|,(?=\s*https?://)", url) if part]
        starts = [with_scheme(part) for part in parts]
        if not starts:
            raise ValueError(
                "the site spider needs an address: scrapy crawl site -a url=https://example.org"
            )
        if problem := next(filter(None, map(start_problem, parts)), ""):
            raise ContentSpiderError(problem)
        self.credentials = Credentials()
        self.start_urls = self.credentials.take(starts)
        self.max_pages = int(max_pages)
        self.budget = PageBudget(self.max_pages)
        self.max_depth = int(max_depth)
        self.sitemaps = str(sitemaps).lower() not in ("0", "false", "no")
        self.scope_arguments = (scope, several(include), several(exclude))
        self.reads_documents = can_read()
        # By start address: why it could not be read, or may not become an item.
        self.failures: dict[str, str] = {}
        self.withheld: dict[str, str] = {}
        self._resolve = caching_resolver()
        # The addresses that were queued lately. Most links lead to one of them.
        self._recent: LocalCache[str, None] = LocalCache(MAX_RECENT)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Enable the spider's middlewares in any project, and close the schemes that are not on the
        web.
        """
        super().update_settings(settings)
        enable = settings.setdefault_in_component_priority_dict
        enable("DOWNLOADER_MIDDLEWARES", GuardMiddleware, GUARD_ORDER)
        enable("DOWNLOADER_MIDDLEWARES", ConditionalMiddleware, CONDITIONAL_ORDER)
        enable("DOWNLOADER_MIDDLEWARES", SameBodyMiddleware, SAME_BODY_ORDER)
        set_user_agent(settings)
        handlers = settings.getdict("DOWNLOAD_HANDLERS") | dict.fromkeys(CLOSED_SCHEMES)
        # At spider priority, as Scrapy applies the project's settings again for each crawler.
        settings.set("DOWNLOADER_MIDDLEWARES", settings["DOWNLOADER_MIDDLEWARES"], "spider")
        settings.set("DOWNLOAD_HANDLERS", handlers, "spider")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> SiteSpider:
        """Return the spider of a crawler. It tells sites apart as the item pipeline does."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        settings = crawler.settings
        spider.keys = SiteKeys(settings.get("CONTENTSPIDER_SITE_BY", "domain"))
        spider.logins = read_logins(settings.get("CONTENTSPIDER_LOGIN", ""))
        spider.follows_alternates = settings.getbool("CONTENTSPIDER_ALTERNATES", False)
        spider.obeys_pages = settings.getbool("CONTENTSPIDER_OBEY_META_ROBOTS", True)
        spider.scope = Scope(spider.start_urls, spider.keys, *spider.scope_arguments)
        spider.traps = Traps(crawler)
        spider.copies = EndlessCopies(crawler)
        if not settings.get("CONTENTSPIDER_CRAWL") and not settings.frozen:
            # Without this, all crawls would share the spider's name and resume one another.
            folder = settings.get("CONTENTSPIDER_STATE_DIR", "")
            name = name_of(spider.start_urls, spider.scope_arguments, folder)
            settings.set("CONTENTSPIDER_CRAWL", name, "spider")
        crawler.signals.connect(spider.opened, signal=signals.spider_opened)
        crawler.signals.connect(spider.request_dropped, signal=signals.request_dropped)
        crawler.signals.connect(spider.idle, signal=signals.spider_idle)
        return spider

    def opened(self) -> None:
        """Connect the spider to the book, and restore the scope of an earlier run."""
        keeper, holder = extension(self.crawler, BookKeeper), extension(self.crawler, ItemHolder)
        if self.crawler.get_downloader_middleware(GuardMiddleware) is None:
            logger.error(
                "the site spider needs GuardMiddleware, which keeps sites from leading it into"
                " private networks: leave it in DOWNLOADER_MIDDLEWARES; nothing is crawled"
            )
            end_at_start(self.crawler, "guard")
            return
        self.keeper, self.holder = keeper, holder
        self.unread = UnreadPages(keeper.stats)
        self.left_documents = LeftLinks(keeper.stats, DOCUMENTS_LEFT_STAT)
        self.left_routes = LeftLinks(keeper.stats, ROUTES_LEFT_STAT)
        self.impossible_links = LeftLinks(keeper.stats, IMPOSSIBLE_STAT)
        self.duplicates = Duplicates(keeper, self.keys.key)
        self.own_texts = OwnTexts(keeper, self.scope, self.keys)
        self.sitemap_reader = SitemapReader(self.crawler, keeper)
        if not holder.options.reads_routes:
            self.left_routes.note(filter(route_of, self.start_urls), self.scope.has)
            self.start_urls = list(dict.fromkeys(map(clean_address, self.start_urls)))
        for address, moved_from in keeper.book.runs.fact("moved") or []:
            self.scope.widen(address, moved_from)
        crawl, names = keeper.book.runs.fact(SESSIONS_FACT) or (0, [])
        if crawl == keeper.book.runs.crawl:
            self.traps.sessions.restore(names)
        self._compare_options()

    def _compare_options(self) -> None:
        """Warn if a resumed crawl has other options than its last run."""
        scope, include, exclude = self.scope_arguments
        options = {"scope": scope, "include": include, "exclude": exclude, "depth": self.max_depth}
        runs = self.keeper.book.runs
        previous = runs.fact(OPTIONS_FACT)
        if isinstance(previous, dict) and previous != options:
            changed = [name for name in options if previous.get(name) != options[name]]
            logger.warning(
                "the crawl continues with other options than before (%s): they apply to pages that"
                " are still to be read; pages that were read stay until the next crawl",
                ", ".join(f"{name} {options[name]}" for name in changed),
            )
        runs.set_fact(OPTIONS_FACT, options)

    def exclusion(self, address: str, is_over: bool) -> str:
        """Return why a known page does not belong to the crawl, "" if it does. Start addresses may
        redirect and so extend the scope. The scope is final when the crawl *is_over*.
        """
        if is_over and not self.failures and not self.scope.has_place(address):
            return "out of the scope"
        return self.scope.exclusion(address)

    async def start(self) -> AsyncIterator[Request]:
        """Yield the start addresses and their sites' robots.txt and sitemaps."""
        for request in self.probe_requests(self.start_urls):
            yield request
        roots = set()
        for address in self.start_urls:
            yield self._page_request(address, 10, {START_META_KEY: True}, dont_filter=True)
            root = join(address, "/")
            if self.sitemaps and root not in roots:
                roots.add(root)
                for request in self.robots_requests(root):
                    yield request

    def reading_key(self, request: Request) -> str:
        """Return a text that changes with the version of this package, and with the options of the
        crawl that may give a page other blocks or links.
        """
        depth = request.meta.get("depth", 0) if self.max_depth else 0
        links = (self.scope_arguments, self.max_depth, depth, self.scope.places())
        return repr((contentspider.__version__, *links, self.obeys_pages, self._reading_options))

    @cached_property
    def _reading_options(self) -> tuple[bool, bool, bool]:
        """The options of the crawl that decide which blocks are read of a page."""
        options = self.holder.options
        return options.obey_directives, options.learning.needs_attributes, self.reads_documents

    def is_page_request(self, request: Request) -> bool:
        """Tell whether a request is for a page, other than a start address."""
        return request.callback == self.parse and START_META_KEY not in request.meta

    def is_out_of_scope(self, request: Request) -> bool:
        """Tell whether a request for a page or for own texts leaves the crawl's scope."""
        if request.callback == self.parse_own_texts:
            return not self.scope.has_site(request.url)
        return self.is_page_request(request) and not self.scope.has(request.url)

    @property
    def is_limited(self) -> bool:
        """Whether the crawl has requested as many pages as it may (``--max-pages``)."""
        return self.budget.is_spent

    def skip_reason(self, request: Request) -> str:
        """Return why a queued request must not be sent any more, "" if it may be sent."""
        if request.callback != self.parse:
            return ""
        login = self.logins.get(origin_of(request.url)) if self.logins else None
        if login is not None and login.ends_session(request.url):
            return LOGOUT
        if self._needs_browser(request.url):
            return NOT_RENDERED
        is_start = START_META_KEY in request.meta
        if self.revisits and not is_start and self.revisits.broken.waits(request.url):
            return KNOWN_BROKEN
        plain = self.traps.sessions.found(request.url)
        if plain and not is_start and not self.traps.sessions.is_tested(request.url):
            assert self.crawler.engine is not None
            self.crawler.engine.crawl(request.replace(url=plain))
            return SKIP_REASON
        return SKIP_REASON if self.copies.skips(request.url) else ""

    def may_send(self, request: Request, row: int) -> bool:
        """Tell whether the budget of pages allows a request. The scheduler asks once for each."""
        is_same_page = request.meta.get("redirect_times") or request.meta.get("retry_times")
        return request.callback != self.parse or bool(is_same_page) or self.budget.reserve(row)

    def idle(self) -> None:
        """End the crawl when the queue has only pages beyond the budget."""
        if self.is_limited:
            raise CloseSpider("max_pages")

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the item of a page, and the requests of the pages that it links to."""
        self.unread.forget(response.meta.get(ROW_META_KEY))
        page, is_start = response.meta.get(PAGE_META_KEY), START_META_KEY in response.meta
        if is_start:
            self._widen_scope(response.url, asked_address(response))
        if (page is None or isinstance(response, TextResponse)) and is_empty(response):
            self._note_empty(response)
            page = None
        elif is_start and is_feed(response):
            yield from self.feed_pages(response)
            self.own_texts.store_now(response)
            self._skip(response, "feed")
            page = None
        elif page is None:
            self._skip(response, unread_reason(response))
        elif not self.scope.has(response.url) and not is_start:
            self._skip(response, "offsite_redirect")
            page = None
        else:
            yield from self._parse_page(response, page)
        if page is None:
            self._note_session(response, None)
        if self.budget.note_answer():
            raise CloseSpider("max_pages")

    def _parse_page(self, response: Response, page: Page) -> Iterator[Any]:
        if isinstance(response, HtmlResponse) and not page.is_document:
            yield from self._parse_html(response, page)
        else:
            yield from self._parse_document(response, page)

    def _parse_html(self, response: HtmlResponse, page: Page) -> Iterator[Any]:
        root = tree_of(response)
        head = read_head(root, response.url) if root is not None else None
        robots = self._directives(response, head)
        self._note_session(response, page, robots)
        is_start = START_META_KEY in response.meta
        if NOINDEX in robots and is_start:
            self._withhold(response, head)
        links = self._links(response, head) if "nofollow" not in robots else {}
        yield from self._note_hiding(response, page, root, has_links=len(links) > 0)
        del root
        forget_tree(response)
        assert response.request is not None
        note_answer(self.keeper, response, links, self.reading_key(response.request))
        repeat = self._repeats(response, page, links)
        if head is not None and head.has_frames and not page.content.blocks:
            self._skip(response, "frames")
        elif repeat in (Repeat.GAP, Repeat.END):
            self._skip(response, "duplicate")
        elif repeat != Repeat.MAYBE or not self._waits_for_next(response, page, robots):
            yield from self._items(response, page, robots)
        follows = self._may_follow(response, robots)
        if head is not None and (is_start or follows):
            yield from self.source_requests(response.url, head, is_start)
        follows = follows and repeat != Repeat.END
        links_to_follow = list(filter(self._is_in_scope, links)) if follows else []
        yield from self._link_requests(response, page, links_to_follow)

    def _may_follow(self, response: Response, robots: Collection[str]) -> bool:
        """Tell whether the crawl follows the links of a page with these *robots* directives."""
        depth = response.meta.get("depth", 0) + 1
        return "nofollow" not in robots and (not self.max_depth or depth <= self.max_depth)

    def _note_session(
        self, response: Response, page: Page | None, robots: Collection[str] = ()
    ) -> None:
        """Note the page of an address that tests a parameter, and for a run that resumes this one
        which parameters are session ids.
        """
        sessions = self.traps.sessions
        if sessions.read(asked_address(response), page, robots):
            with self.keeper.guarded:
                runs = self.keeper.book.runs
                runs.set_fact(SESSIONS_FACT, [runs.crawl, sessions.found_names])

    def _repeats(self, response: Response, page: Page, links: Iterable[str]) -> Repeat:
        """Tell whether a page only repeats the one before it in a sequence."""
        row = response.meta.get(ROW_META_KEY)
        if START_META_KEY in response.meta or row is None:
            return Repeat.NO
        unseen = [link for link in links if link not in self._recent and self.scope.has(link)]
        return self.duplicates.repeats(response.url, referer_of(response), page, row, unseen)

    def _waits_for_next(self, response: Response, page: Page, robots: Collection[str]) -> bool:
        """Have a page wait for the next one of its sequence; tell whether it waits."""
        row = response.meta.get(ROW_META_KEY)
        return NOINDEX not in robots and self.duplicates.defer_for_next(response.url, page, row)

    def _withhold(self, response: HtmlResponse, head: Head | None) -> None:
        """Note which header or tag asks not to index a start page."""
        metas = head.robots if head is not None else ()
        source = noindex_source(response.headers.getlist("X-Robots-Tag"), metas)
        self.withheld[asked_address(response)] = f"{source} asks not to index it{NOINDEX_ADVICE}"

    def _note_hiding(
        self, response: Response, page: Page, root: _Element | None, *, has_links: bool
    ) -> Iterator[Request]:
        """Note the answer of an address. If a start address gave a page that may stand for others,
        yield a request of an address that nobody has.
        """
        if root is None:  # not modified
            self.holder.hidden.note(response.url, None)
            return
        is_start = START_META_KEY in response.meta
        answer = read_answer(response, page, root, is_start=is_start, has_links=has_links)
        if answer is not None:
            self.holder.hidden.note(response.url, answer)
            if is_start and answer.is_suspect:
                yield from self.probe_folder(join(asked_address(response), "/"))

    def _parse_document(self, response: Response, page: Page) -> Iterator[Any]:
        """Yield the item of a document, unless it is the source text of the page that links it."""
        if is_source_of(response.url, referer_of(response)):
            self._skip(response, "duplicate")
            return
        self.holder.hidden.note(response.url, None)
        assert response.request is not None
        note_answer(self.keeper, response, {}, self.reading_key(response.request))
        robots = self._directives(response, None)
        self._note_session(response, page, robots)
        yield from self._items(response, page, robots)

    def _link_requests(
        self, response: Response, page: Page, links: Collection[str]
    ) -> Iterator[Request]:
        """Yield the requests of the pages that a page links to. Its texts are compared with the
        texts of earlier pages only if something depends on it.
        """
        address, source = asked_address(response), referer_of(response)
        followed = self.traps.follow(links, page)
        unknown_links = [
            link for link in followed if link not in self._recent or self.copies.is_doubted(link)
        ]
        is_from_barren = self.traps.is_barren_source(source)
        copy = None
        if unknown_links or is_from_barren or self.copies.is_doubted(address):
            copy = self.copies.read(address, page)
        if copy is not None:
            has_traps = len(followed) < len(links)
            yield from self._doubtful_requests(unknown_links, copy, has_traps)
            return
        if is_from_barren:
            self.traps.note_source(source)
        for link in unknown_links:
            self._recent[link] = None
            sessions = self.traps.sessions
            is_doubted = sessions.is_open(link) and not sessions.is_tested(link)
            yield from self.page_requests(link, DOUBTED_PRIORITY if is_doubted else 0)

    def _doubtful_requests(
        self, links: Iterable[str], copy: Copy, has_traps: bool
    ) -> Iterator[Request]:
        """Yield the requests of the unknown pages that a copy links to, and of pages that were left
        out because of other copies. *has_traps* tells that `Traps` dropped links of the copy.
        """
        is_endless, has_unknown = self.copies.is_endless(copy), has_traps
        for link in links:
            is_doubted = self.copies.is_doubted(link)
            if not is_doubted and (link in self._recent or self.keeper.is_queued(link)):
                continue
            has_unknown = has_unknown or not is_doubted
            if is_endless:
                if not is_doubted:
                    self.copies.leave(link)
                continue
            if not self.copies.is_queued_in_doubt(link):
                self._recent[link] = None
                yield from self.page_requests(link, DOUBTED_PRIORITY)
            self.copies.doubt(link, copy)
        if has_unknown:
            self.copies.note_source(copy)

    def _directives(self, response: Response, head: Head | None) -> set[str]:
        """Return the robots directives of a page in lower case; none if the crawl ignores them."""
        if not self.obeys_pages:
            return set()
        headers = response.headers.getlist("X-Robots-Tag")
        return robots_directives(headers, head.robots if head else ())

    def _items(self, response: Response, page: Page, robots: set[str]) -> Iterator[Any]:
        """Yield the page's item, unless it must not be indexed, is a duplicate, or waits."""
        if NOINDEX in robots:
            self._skip(response, NOINDEX)
            return
        reason = replacement_of(self.keeper, self.holder, response, page)
        if reason == UNSURE and not self.keeper.addresses.is_at_end:
            yield from self.probe_folder(response.url)
            self.duplicates.defer(response.meta.get(ROW_META_KEY), reason)
        elif reason and reason != UNSURE:
            self._skip(response, reason)
        else:
            yield from self._unique_item(response, page)

    def _unique_item(self, response: Response, page: Page) -> Iterator[Any]:
        """Yield the page's item unless the page is a duplicate, or waits for another page. It may
        also yield a request for the page's canonical form.
        """
        row = response.meta.get(ROW_META_KEY)
        url = page_address(response.url)
        if "redirect_urls" in response.meta:
            url = self.traps.sessions.plain(url)  # the server's redirect added the session id
        if plain := self.traps.sessions.found(url):  # while the page was on its way
            yield self._page_request(plain, 0)
            self._skip(response, "duplicate")
            return
        if self.traps.sessions.is_open(url) and self.duplicates.defer_for_session(url, page, row):
            return
        if self.duplicates.defer_known_copy(url, page, row):
            return
        if canonical := self.duplicates.unread_canonical(url, page, row):
            can_wait = is_form(url, canonical) or not self.max_pages
            if (
                can_wait
                and self.scope.has(canonical)
                and self.duplicates.defer_for_canonical(url, canonical, page, row)
            ):
                yield self._page_request(canonical, 1)
                return
        reading = None
        if self.revisits is not None and CHECK_META_KEY in response.meta:
            reading = self.revisits.same_reading(page)
        is_repeated = not self.traps.has_new_text(page, reading)
        if self.duplicates.claim(url, page, row, is_repeated):
            item = ContentItem.from_response(response)
            item.url, item.id = self.duplicates.item_address(url, page), page_id(url)
            yield item
        else:
            self._skip(response, "duplicate")

    def _widen_scope(self, address: str, moved_from: str) -> None:
        """Add the target of a redirected start address to the scope of this and later runs."""
        if address == moved_from:
            return
        self.scope.widen(address, moved_from)
        moves = self.keeper.book.runs.fact("moved") or []
        if [address, moved_from] not in moves:
            self.keeper.book.runs.set_fact("moved", [*moves, [address, moved_from]])

    def _links(self, response: HtmlResponse, head: Head | None) -> Mapping[str, Sequence[str]]:
        """Return the links of a page within the sites of the crawl, with their texts; for status
        304, return the links of its last visit.

        Links that the options of this crawl exclude are returned without texts: the next crawl may
        have other options, and get the status 304 for the page.
        """
        if head is None:
            return previous_links(self.keeper, response)
        if not self.reads_documents:
            self.left_documents.note(document_links(head), self.scope.has)
        is_rendered = RENDERED in response.flags
        if not is_rendered:
            self.left_routes.note(route_links(head), self.scope.has)
        self.impossible_links.note(impossible_links(head), bool)
        head.anchors.extend((address, "", "") for address in self._further_pages(response, head))
        options = self.obeys_pages, self.reads_documents, self._resolve
        links = link_texts(head, *options, routes=is_rendered)
        if len(links) >= MAX_LINKS:
            self.traps.report("cut", response.url, MAX_LINKS)
        return {
            # Links of a page to itself do not describe it.
            link: texts if link != response.url and self._is_in_scope(link) else ()
            for link, texts in links.items()
            if link in self._recent or self.scope.can_have(link)
        }

    def _further_pages(self, response: Response, head: Head) -> Iterator[str]:
        """Yield the addresses that only a ``Link`` header or an ``hreflang`` names."""
        if self.follows_alternates:
            yield from head.alternates
        if b"Link" in response.headers:
            for relation, address, is_language in header_links(response):
                is_alternate = relation == "alternate" and is_language and self.follows_alternates
                if relation in SEQUENCE or is_alternate:
                    yield address

    def _is_in_scope(self, link: str) -> bool:
        return link in self._recent or self.scope.has(link)

    def orphan_request(self, address: str) -> Request | None:
        """Return the request of a known page without links to it; None if it is out of scope."""
        if not self.scope.has(address):
            return None
        # Without a browser, the duplicate filter takes the page ``/#/tea`` for ``/``. It is queued
        # nevertheless, so that `skip_reason` records why it is not read.
        meta, is_unread = {ORPHAN_META_KEY: True}, self._needs_browser(address)
        return self._page_request(address, KNOWN_PRIORITY, meta, dont_filter=is_unread)

    def _needs_browser(self, address: str) -> bool:
        """Tell whether only a browser, which this crawl lacks, can make the page of an address."""
        return bool(route_of(address)) and not self.holder.options.reads_routes

    def page_requests(self, address: str, priority: int) -> Iterator[Request]:
        """Yield the request of a page, unless the page is known and its next visit is not due."""
        is_skipped = self.copies.trust(address)
        if not (self.revisits and self.revisits.is_deferred(address)):
            yield self._page_request(address, priority, dont_filter=is_skipped)

    def _page_request(
        self, address: str, priority: int, meta: dict[str, Any] | None = None, **fields: Any
    ) -> Request:
        fields |= {"callback": self.parse, "errback": self.page_failed}
        return Request(address, priority=priority, meta=meta, **fields)

    def _note_empty(self, response: Response) -> None:
        """Have an address without a body requested again at the end of the crawl. If the body is
        missing again, skip it; a known page counts as unread, and stays as it was.
        """
        row = response.meta.get(ROW_META_KEY)
        is_known = self.revisits is not None and self.revisits.is_known(asked_address(response))
        if is_known or self.keeper.addresses.may_wait:
            self.duplicates.defer(row, EMPTY)
        if is_known:
            self.unread.add(row, EMPTY)
        elif not self.keeper.addresses.may_wait:
            self._skip(response, EMPTY)

    def _skip(self, response: Response, reason: str) -> None:
        """Record that the page of a response is skipped."""
        self._count(f"skipped/{reason}")
        self.keeper.addresses.note(response.meta.get(ROW_META_KEY), "skipped", reason)

    def _count(self, name: str) -> None:
        self.keeper.stats.inc_value(f"contentspider/pages/{name}")

    def page_failed(self, failure: Failure) -> None:
        """Count a page that could not be read, and log the reason for a start address."""
        self._note_failure(failure)
        if self.budget.note_answer():
            raise CloseSpider("max_pages")

    def _note_failure(self, failure: Failure) -> None:
        request = failure.request  # type: ignore[attr-defined]
        self.traps.sessions.read(request.url, None)
        kind, reason = why(failure.value)
        if kind != "other":
            state = "skipped" if kind in SKIPPED_KINDS else "failed"
            row = request.meta.get(ROW_META_KEY)
            self.keeper.addresses.note_unread(row, state, reason, kind in TRANSIENT)
        is_start = START_META_KEY in request.meta
        if kind in SKIPPED_KINDS and not is_start:
            self._count(f"skipped/{kind}")
            return
        if kind in TRANSIENT and self.revisits and self.revisits.broken.is_known(request.url):
            logger.debug("%s is still broken: %s", request.url, reason)
            return
        if is_start:
            self.failures[request.url] = reason
        level = logging.ERROR if is_start else logging.INFO
        logger.log(level, "%s could not be read: %s", request.url, reason)
        self.unread.add(request.meta.get(ROW_META_KEY), kind)

    def request_dropped(self, request: Request) -> None:
        """Count a page that redirects to itself. Scrapy drops its second request silently."""
        if request.callback == self.parse and request.url in request.meta.get("redirect_urls", ()):
            logger.info("%s could not be read: it redirects to itself", request.url)
            self.unread.add(request.meta.get(ROW_META_KEY), "redirects")
        if request.callback == self.parse and request.meta.get("redirect_times"):
            self.budget.note_answer()
