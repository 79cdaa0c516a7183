"""The rules of a site for robots: robots.txt, robots meta tags and X-Robots-Tag headers."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.python import to_unicode

from contentspider.crawl.base.engine import space_out
from contentspider.crawl.base.links import ROBOT_NAMES
from contentspider.crawl.base.meta import SITEMAPS_META_KEY, START_META_KEY
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.middlewares.failures import why
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.ground.robots import RobotsTxt
from contentspider.page.about.dates import parse_date
from contentspider.state.outcome import CAPPED_STAT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

MAX_ROBOTS_BYTES = 512_000  # RFC 9309 asks for at least 500 KiB; Google reads no more
TOO_MANY_REQUESTS = 429
# Directives that have a value after a colon. Other texts before a colon are names of agents.
UNAVAILABLE = "unavailable_after"
VALUED = (UNAVAILABLE, "max-snippet", "max-image-preview", "max-video-preview")
MAX_DIRECTIVES_CHARS = 2_000
MAX_LINE_CHARS = 60  # of a line of robots.txt that is shown
NOINDEX = "noindex"
# What follows a comma in a date: "Sunday, 28 Nov 2027", "Nov 28, 2027", "Sunday, Nov 28".
DATE_PART = re.compile(r"(?:[a-z]+\.? )?\d")


class RobotsUnreadError(RefusedError):
    """Raised for a request to a host whose robots.txt could not be read: retry it another day."""


class BoundedRobots(RobotParser):
    """A robots.txt parser that reads only the first `MAX_ROBOTS_BYTES`."""

    def __init__(self, body: bytes) -> None:
        self.file = RobotsTxt(body[:MAX_ROBOTS_BYTES].decode("utf-8", "replace"))

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> BoundedRobots:
        """Return the parser for the body of a robots.txt."""
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Tell whether a user agent may fetch an address."""
        return self.file.allows(to_unicode(url), to_unicode(user_agent))


class RobotsMiddleware(RobotsTxtMiddleware):
    """Obeys robots.txt as RFC 9309 defines it: if the server fails to send the file, nothing may be
    fetched for now; if there is no such file, everything may be.

    A request with ``contentspider_sitemaps`` in its meta gets the file's ``Sitemap`` lines.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._unread: dict[str, tuple[str, str]] = {}
        self._files: dict[str, str] = {}  # by host, the address of its robots.txt
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._max_delay = CrawlOptions.from_settings(crawler.settings).max_crawl_delay
        # By host, the ``Crawl-delay`` in seconds, 0 for none.
        self._delays: dict[str, float] = {}
        crawler.signals.connect(self._forget_unread, signal=signals.spider_idle)
        crawler.signals.connect(self._slow_down, signal=signals.request_reached_downloader)

    async def process_request(  # type: ignore[override]  # Scrapy's own returns no response
        self, request: Request, spider: Spider | None = None
    ) -> Response | None:
        """Refuse a request if robots.txt forbids it or could not be read."""
        if request.meta.get(SITEMAPS_META_KEY):
            parser = await self.robot_parser(request)
            self._refuse_unread(request)
            sitemaps = parser.file.sitemaps if isinstance(parser, BoundedRobots) else ()
            body = "".join(f"Sitemap: {address}\n" for address in sitemaps).encode()
            # The flag tells other components that this response was not downloaded.
            return TextResponse(request.url, body=body, encoding="utf-8", flags=["cached"])
        try:
            await super().process_request(request)
        except IgnoreRequest as error:
            if START_META_KEY in request.meta:
                raise await self._forbidden(request) from error
            raise
        if not request.meta.get("dont_obey_robotstxt"):
            self._refuse_unread(request)
            await self._read_delay(request)
        return None

    async def _forbidden(self, request: Request) -> RefusedError:
        """Return the error of a start address that robots.txt forbids, with the line that does."""
        parser = await self.robot_parser(request)
        file = self._files.get(urlparse_cached(request).netloc, "robots.txt")
        where = f"the rules of {file} forbid it"
        if isinstance(parser, BoundedRobots):
            agent = self._robotstxt_useragent or self._default_useragent
            if found := parser.file.forbidding_line(request.url, str(agent)):
                where = f"line {found[0]} of {file} forbids it ({found[1][:MAX_LINE_CHARS]})"
        return RefusedError("robots", f"it may not be fetched: {where}")

    async def _read_delay(self, request: Request) -> None:
        """Record the ``Crawl-delay`` of a request's host."""
        netloc = urlparse_cached(request).netloc
        if netloc not in self._delays:
            parser = await self.robot_parser(request)
            agent = self._robotstxt_useragent or self._default_useragent
            has_rules = isinstance(parser, BoundedRobots) and self._max_delay > 0
            delay = parser.file.crawl_delay(str(agent)) if has_rules else 0.0
            self._delays[netloc] = min(delay, self._max_delay)
            if delay:
                logger.info(f"{netloc}: robots.txt asks for {delay:g} s between requests")
            if delay > self._max_delay:
                self._stats.set_value(CAPPED_STAT + netloc, delay)
        if self._delays[netloc]:
            request.meta["autothrottle_dont_adjust_delay"] = True

    def _slow_down(self, request: Request) -> None:
        """Apply a host's ``Crawl-delay`` to each request, as Scrapy may have a new slot for it."""
        if delay := self._delays.get(urlparse_cached(request).netloc):
            space_out(self.crawler, request, delay)

    async def robot_parser(self, request: Request) -> Any:
        """Return the rules of a host. The lock works around Scrapy 2.19, where only the first of
        several waiting requests got the rules and the others were sent without a check.
        """
        async with self._locks[urlparse_cached(request).netloc]:
            return await super().robot_parser(request)

    def _forget_unread(self) -> None:
        """Read the failed robots.txt files once more, at the end of the crawl."""
        for netloc in self._unread:
            self._parsers.pop(netloc, None)
        self._unread.clear()

    def _refuse_unread(self, request: Request) -> None:
        if failure := self._unread.get(urlparse_cached(request).netloc):
            kind, reason = failure
            reason += " (its robots.txt, without which nothing may be fetched for now)"
            raise RobotsUnreadError(kind, reason)

    def _parse_robots(self, response: Response, netloc: str, *request: Request) -> Any:
        """Parse a robots.txt, as Scrapy's method does. Scrapy 2.16 does not await the result."""
        self._files[netloc] = response.url
        status = response.status
        if status == TOO_MANY_REQUESTS or status >= 500:
            self._note(netloc, f"status_{status}", f"the server answered {status}")
        if not 200 <= status < 300:
            response = response.replace(body=b"")  # an error page is not a robots.txt
        return super()._parse_robots(response, netloc, *request)

    def _robots_error(self, exc: Exception, netloc: str) -> None:
        if not isinstance(exc, IgnoreRequest):  # a refused redirect counts as no robots.txt
            self._note(netloc, *why(exc))
        super()._robots_error(exc, netloc)

    def _note(self, netloc: str, kind: str, reason: str) -> None:
        self._unread[netloc] = kind, reason
        logger.warning(
            f"{netloc}: robots.txt could not be read: {reason}. Nothing is fetched there for now:"
            " continue later with --resume (CONTENTSPIDER_RESUME)"
        )


def noindex_source(headers: Iterable[bytes], metas: Iterable[str]) -> str:
    """Return the header or the tag of a page that asks not to index it.

    >>> noindex_source([b"noarchive"], ["all", "NOINDEX, follow"])
    'its tag <meta name=robots content="NOINDEX, follow">'
    """
    for value in headers:
        if NOINDEX in robots_directives([value]):
            return f"its header X-Robots-Tag: {value.decode('latin-1')[:MAX_LINE_CHARS]}"
    for content in metas:
        if NOINDEX in robots_directives((), [content]):
            return f'its tag <meta name=robots content="{content[:MAX_LINE_CHARS]}">'
    return "its tags and headers together"


def robots_directives(headers: Iterable[bytes], metas: Iterable[str] = ()) -> set[str]:
    """Return a page's directives for every robot and for this crawler, in lower case.

    *headers* are the values of its X-Robots-Tag headers, *metas* the contents of its robots meta
    tags. "none" also gives the two directives that it stands for, and "unavailable_after" gives
    "noindex" when its date has passed.

    >>> sorted(robots_directives([b"noarchive, contentspider: noindex", b"otherbot: nofollow"]))
    ['noarchive', 'noindex']
    """
    directives = {word for content in metas for word in _words(content)}
    for value in headers:
        agent = ""
        for word in _words(value.decode("latin-1")):
            name, colon, directive = map(str.strip, word.partition(":"))
            if colon and name not in VALUED:
                agent, word = name, directive
            if agent in ("", *ROBOT_NAMES):
                directives.add(word)
    if any(word.startswith(UNAVAILABLE) and _has_passed(word) for word in directives):
        directives.add(NOINDEX)
    return directives | {NOINDEX, "nofollow"} if "none" in directives else directives


def _words(text: str) -> list[str]:
    """Return the directives of a header or tag in lower case. A date may have commas."""
    words: list[str] = []
    for part in map(str.strip, text[:MAX_DIRECTIVES_CHARS].lower().split(",")):
        if words and UNAVAILABLE in words[-1] and DATE_PART.match(part):
            words[-1] += f", {part}"
        else:
            words.append(part)
    return words


def _has_passed(directive: str) -> bool:
    """Tell whether the date of a directive has passed. A date without a zone is in UTC, one without
    a time lasts until its day ends; one that cannot be read has not passed.
    """
    text = directive.partition(":")[2].strip()
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        date = parse_date(text)
        if not date:  # as for a date to come
            return False
        moment = datetime.fromisoformat(date)
        moment += timedelta(days=1) if len(date) == len("2027-11-28") else timedelta()
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment < datetime.now(timezone.utc)
