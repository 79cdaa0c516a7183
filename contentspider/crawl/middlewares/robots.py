"""What a site says to robots: its robots.txt, and what its pages say in their heads and headers."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.httpobj import urlparse_cached

from contentspider.crawl.base.engine import space_out
from contentspider.crawl.base.links import ROBOT_NAMES
from contentspider.crawl.base.meta import SITEMAPS_META_KEY
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.middlewares.failures import why
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.state.crawls.outcome import CAPPED_STAT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

MAX_ROBOTS_BYTES = 512_000  # RFC 9309 asks for 500 KiB at least, Google reads no more
TOO_MANY_REQUESTS = 429
# Directives whose value stands after a colon, as an agent's name stands before one.
VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
MAX_DIRECTIVES_CHARS = 2_000


class RobotsUnreadError(RefusedError):
    """A request to a host whose robots.txt could not be read: it may be sent another day."""


class BoundedRobots(ProtegoRobotParser):
    """Reads the first `MAX_ROBOTS_BYTES` of a robots.txt."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> BoundedRobots:
        """Return the parser of a robots.txt."""
        return cls(robotstxt_body[:MAX_ROBOTS_BYTES], crawler.spider)


class RobotsMiddleware(RobotsTxtMiddleware):
    """Obeys robots.txt as RFC 9309 has it: one that the server fails to give forbids everything for
    now, one that is not there nothing. ``contentspider_sitemaps`` asks for its sitemaps only.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._unread: dict[str, tuple[str, str]] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._max_delay = CrawlOptions.from_settings(crawler.settings).max_crawl_delay
        # The seconds between requests that a host asks for, 0 if it does not.
        self._delays: dict[str, float] = {}
        crawler.signals.connect(self._forget_unread, signal=signals.spider_idle)
        crawler.signals.connect(self._slow_down, signal=signals.request_reached_downloader)

    async def process_request(  # type: ignore[override]  # it may answer; Scrapy's own does not
        self, request: Request, spider: Spider | None = None
    ) -> Response | None:
        """Refuse what robots.txt forbids, and all of a host whose robots.txt could not be read."""
        if request.meta.get(SITEMAPS_META_KEY):
            parser = await self.robot_parser(request)
            self._refuse_unread(request)
            named = parser.rp.sitemaps if isinstance(parser, BoundedRobots) else ()
            body = "".join(f"Sitemap: {address}\n" for address in named).encode()
            # Nothing was fetched for this.
            return TextResponse(request.url, body=body, encoding="utf-8", flags=["cached"])
        await super().process_request(request)
        if not request.meta.get("dont_obey_robotstxt"):
            self._refuse_unread(request)
            await self._read_delay(request)
        return None

    async def _read_delay(self, request: Request) -> None:
        """Note the ``Crawl-delay`` of a request's host."""
        netloc = urlparse_cached(request).netloc
        if netloc not in self._delays:
            parser = await self.robot_parser(request)
            agent = self._robotstxt_useragent or self._default_useragent
            is_known = isinstance(parser, BoundedRobots) and self._max_delay > 0
            asked = float(parser.rp.crawl_delay(agent) or 0) if is_known else 0.0
            self._delays[netloc] = min(asked, self._max_delay)
            if asked:
                logger.info(f"{netloc}: robots.txt asks for {asked:g} s between requests")
            if asked > self._max_delay:
                self._stats.set_value(CAPPED_STAT + netloc, asked)
        if self._delays[netloc]:
            request.meta["autothrottle_dont_adjust_delay"] = True

    def _slow_down(self, request: Request) -> None:
        """Have a host's requests sent as far apart as it asks: its slot may be a new one."""
        if delay := self._delays.get(urlparse_cached(request).netloc):
            space_out(self.crawler, request, delay)

    async def robot_parser(self, request: Request) -> Any:
        """Return the rules of a host. Scrapy 2.19 has them for the first only of the requests that
        wait for them; the others were sent without.
        """
        async with self._asking[urlparse_cached(request).netloc]:
            return await super().robot_parser(request)

    def _forget_unread(self) -> None:
        """Ask again, at the end of the crawl, for what could not be read."""
        for netloc in self._unread:
            self._parsers.pop(netloc, None)
        self._unread.clear()

    def _refuse_unread(self, request: Request) -> None:
        if found := self._unread.get(urlparse_cached(request).netloc):
            kind, reason = found
            reason += " (its robots.txt, without which nothing may be fetched for now)"
            raise RobotsUnreadError(kind, reason)

    def _parse_robots(self, response: Response, netloc: str, *request: Request) -> Any:
        """Read a robots.txt. It returns what Scrapy's own does, which 2.16 does not wait for."""
        status = response.status
        if status == TOO_MANY_REQUESTS or status >= 500:
            self._note(netloc, f"status_{status}", f"the server answered {status}")
        if not 200 <= status < 300:
            response = response.replace(body=b"")  # the page of an error has no rules
        return super()._parse_robots(response, netloc, *request)

    def _robots_error(self, exc: Exception, netloc: str) -> None:
        if not isinstance(exc, IgnoreRequest):  # else it leads where nobody should go: no rules
            self._note(netloc, *why(exc))
        super()._robots_error(exc, netloc)

    def _note(self, netloc: str, kind: str, reason: str) -> None:
        self._unread[netloc] = kind, reason
        logger.warning(
            f"{netloc}: robots.txt could not be read: {reason}. Nothing is fetched there for now:"
            " go on later with --resume (CONTENTSPIDER_RESUME)"
        )


def meta_directives(contents: Iterable[str]) -> set[str]:
    """Return the directives in the contents of a page's metas for robots, in lower case."""
    words = (word for content in contents for word in content[:MAX_DIRECTIVES_CHARS].split(","))
    return {word.strip().lower() for word in words}


def header_directives(values: Iterable[bytes]) -> set[str]:
    """Return the directives in X-Robots-Tag headers that are for every robot, or for us.

    >>> sorted(header_directives([b"noarchive, contentspider: noindex", b"otherbot: nofollow"]))
    ['noarchive', 'noindex']
    """
    found = set()
    for value in values:
        agent = ""
        for word in value[:MAX_DIRECTIVES_CHARS].decode("latin-1").lower().split(","):
            name, colon, rest = word.partition(":")
            if colon and name.strip() not in VALUED:
                agent, word = name.strip(), rest
            if agent in ("", *ROBOT_NAMES):
                found.add(word.strip())
    return found
