"""Links of a page, read straight from its tree: `LinkExtractor` costs more than all our work."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS

from contentspider.crawl.base.engine import header, tree_of
from contentspider.ground.addresses import (
    absolute,
    clean_address,
    is_web_address,
    join,
    split_address,
)
from contentspider.ground.sites import SiteKeys
from contentspider.site.own.readers.feeds import TYPES as FEED_TYPES

if TYPE_CHECKING:
    from lxml.etree import _Element

# The address that a page's base, an href, and whether documents are wanted make.
Resolve = Callable[[str, str, bool], str]

# Session ids, endless filters: an address this long is no page that anyone links to.
MAX_URL_CHARS = 2_000
MAX_LINKS = 20_000
# Longer ones are not remembered: 10,000 of these are 10 MB at most.
MAX_KNOWN_CHARS = 500
ROOT_SLASHES = 3  # http://host/
FROM_ROOT = re.compile(r"(?:https?:)?//[^/?#]|/[^/]|/$")
NO_PATH = re.compile(r"[\0-\x20]*(?:https?:)?(?://)?(?:[?#;]|$)", re.IGNORECASE)
SKIPPED_SUFFIXES = tuple("." + extension for extension in IGNORED_EXTENSIONS)
SITE_SCOPES = ("domain", "host")
# The names by which pages and headers speak to us.
ROBOT_NAMES = ("robots", "contentspider")
# What says where a site's own texts are stands among the first.
MAX_HEAD_LINKS = 50
MAX_TYPE_CHARS = 100
# Links to what a browser needs, of which a page may have hundreds.
BROWSER_RELS = {
    *("stylesheet", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "icon")
}
# HTML's "shared declarative refresh steps": "0; URL = 'next.html'", "5,next.html", "0 next.html".
REFRESH = re.compile(
    r"""\A\s*(?=[\d.])(\d{0,9})[\d.]*(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?"""
    r"""(?:"([^"]*)|'([^']*)|((?!url\s*=\s*\Z).+))""",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
# A page that does nothing but lead on is short, and says so in its head.
REFRESH_CHARS = 16_000
REFRESH_META = re.compile(r"http-equiv\s*=\s*[\"']?\s*refresh", re.IGNORECASE)
BLANKS = str.maketrans("", "", "\t\r\n")


class Head(NamedTuple):
    """A page's links (*anchors*: ``href`` and ``rel``), and what it says of itself; *links* are its
    first ``link`` elements (``rel``, ``type``, ``href``). A *refresh* is a delay in seconds and the
    address of which it asks; *has_frames* tells whether the page is a set of frames.
    """

    base: str
    robots: list[str]
    feeds: list[str]
    anchors: list[tuple[str, str]]
    links: list[tuple[str, str, str]]
    generator: str
    refresh: tuple[float, str] | None
    has_frames: bool


def read_head(root: _Element, url: str) -> Head:
    """Return the links of the page at *url* and what it says of itself, in one walk of its tree."""
    base, robots, feeds, generator = "", [], [], ""
    refresh, has_frames = None, False
    linked: list[tuple[str, str, str]] = []
    anchors: list[tuple[str, str]] = []
    for element in root.iter("a", "area", "base", "meta", "link", "frame", "iframe"):
        tag, href = element.tag, element.get("href") or ""
        if tag == "a" or tag == "area":
            if href:
                anchors.append((href, element.get("rel") or ""))
        elif tag == "meta":
            name = (element.get("name") or "").strip().lower()
            if (element.get("http-equiv") or "").strip().lower() == "refresh":
                # Without scripts is not what a page is for.
                if refresh is None and next(element.iterancestors("noscript"), None) is None:
                    refresh = read_refresh(element.get("content") or "")
            elif name in ROBOT_NAMES:
                robots.append(element.get("content") or "")
            elif name == "generator":
                generator = generator or (element.get("content") or "")[:MAX_TYPE_CHARS]
        elif tag == "frame" or tag == "iframe":
            has_frames = has_frames or tag == "frame"
            if source := element.get("src"):
                anchors.append((source, ""))
        elif tag == "link":
            kind = (element.get("type") or "").strip().lower()
            if kind in FEED_TYPES:
                feeds.append(href)
            rel = " ".join((element.get("rel") or "").lower().split())
            is_short = 0 < len(href) <= MAX_URL_CHARS
            if is_short and len(linked) < MAX_HEAD_LINKS and rel not in BROWSER_RELS:
                if (element.get("media") or "").strip().lower() == "print":
                    rel += " print"
                linked.append((rel[:MAX_TYPE_CHARS], kind[:MAX_TYPE_CHARS], href))
        elif href and not base:
            named = join(url, href.strip())
            base = named if is_web_address(named) else ""
    if refresh is not None:
        anchors.append((refresh[1], ""))
    base = base or url
    feeds = [feed for feed in (absolute(base, href) for href in feeds) if feed]
    return Head(base, robots, feeds, anchors, linked, generator, refresh, has_frames)


def read_refresh(content: str) -> tuple[float, str] | None:
    """Return the seconds after which a refresh leads on, and whereto; None if it leads nowhere.

    >>> read_refresh("0; URL = 'next.html'"), read_refresh("5,next.html"), read_refresh("300")
    ((0.0, 'next.html'), (5.0, 'next.html'), None)
    """
    match = REFRESH.match(content[: 2 * MAX_URL_CHARS])
    address = (match[2] or match[3] or match[4] or "").strip() if match else ""
    return (float(match[1] or 0), address) if match and address else None


def refresh_of(response: HtmlResponse) -> tuple[float, str] | None:
    """Return the seconds after which a page leads on by its header or its markup, and the address;
    None if it does not.
    """
    base, refresh = response.url, read_refresh(header(response, "Refresh"))
    text = response.text[:REFRESH_CHARS]
    # To look for the word first, in its usual forms, costs hardly anything.
    may_refresh = refresh is None and ("efresh" in text or "EFRESH" in text)
    if may_refresh and REFRESH_META.search(text):
        root = etree.fromstring(text.encode("utf-8", "replace"), etree.HTMLParser(encoding="utf-8"))
        head = read_head(root, response.url) if root is not None else None
        base, refresh = (head.base, head.refresh) if head else (base, None)
    address = absolute(base, refresh[1]) if refresh else ""
    return (refresh[0], address) if refresh and address else None


def resolve_link(base: str, href: str, documents: bool) -> str:
    """Return the address of a page (with *documents*, also of a PDF file), empty if it is none."""
    address = clean_address(join(base, href))
    path = split_address(address).path.lower()
    is_page = not path.endswith(SKIPPED_SUFFIXES) or (documents and path.endswith(".pdf"))
    return address if is_page and is_web_address(address) else ""


def page_links(
    head: Head, nofollow: bool = False, documents: bool = False, resolve: Resolve = resolve_link
) -> list[str]:
    """Return the addresses of pages that a page links to, each once, at most `MAX_LINKS`."""
    base = head.base
    folder = base.partition("#")[0].partition("?")[0].rpartition("/")[0] + "/"
    if folder.count("/") < ROOT_SLASHES:
        folder = base  # it has no path
    root_folder = "/".join(folder.split("/")[:ROOT_SLASHES]) + "/"
    found: dict[str, None] = {}
    for link, rel in head.anchors:
        href = link.strip().translate(BLANKS)
        if not href or href[0] == "#" or len(href) > MAX_URL_CHARS:
            continue
        if nofollow and rel and "nofollow" in rel.lower().split():
            continue
        # Most links mean the same on all pages of a site, or of a folder.
        start = root_folder if FROM_ROOT.match(href) else base if NO_PATH.match(href) else folder
        if address := resolve(start, href, documents):
            found[address] = None
            if len(found) >= MAX_LINKS:
                break
    return list(found)


_site_keys = lru_cache(maxsize=len(SITE_SCOPES))(SiteKeys)


def links(response: Response, scope: str = "domain") -> list[str]:
    """Return an HTML response's links to pages, absolute, each once, for ``follow_all``. They stay
    on the response's *scope*: ``domain`` (its registered domain), ``host``, or ``web`` (anywhere).
    """
    root = tree_of(response) if isinstance(response, HtmlResponse) else None
    if root is None:
        return []
    found = page_links(read_head(root, response.url))
    if scope == "web":
        return found
    if scope not in SITE_SCOPES:
        raise ValueError(f"scope={scope!r} cannot be used: give 'domain', 'host' or 'web'")
    keys = _site_keys(scope)
    own_site = keys.key(response.url)
    return [link for link in found if keys.key(link) == own_site]


def remembering() -> Resolve:
    """Return a `resolve_link` that remembers the last 10,000 short links, for one crawl."""
    known = lru_cache(maxsize=10_000)(resolve_link)

    def resolve(base: str, href: str, documents: bool) -> str:
        is_short = len(base) + len(href) <= MAX_KNOWN_CHARS
        return (known if is_short else resolve_link)(base, href, documents)

    return resolve
