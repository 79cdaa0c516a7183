"""The links of a page, read from its lxml tree. Scrapy's `LinkExtractor` is much slower."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

from lxml import etree
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS

from contentspider.crawl.base.engine import header, tree_of
from contentspider.ground.addresses import (
    PLAIN,
    absolute,
    clean_address,
    host_name,
    is_web_address,
    join,
    route_of,
    split_address,
)
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.documents import SUFFIXES as DOCUMENT_SUFFIXES
from contentspider.site.own.readers.feeds import TYPES as FEED_TYPES

if TYPE_CHECKING:
    from lxml.etree import _Element

# Resolves a base, an href, and a flag that allows documents (PDF, DOCX) to an address.
Resolve = Callable[[str, str, bool], str]

# A longer address comes from session ids or endless filters.
MAX_URL_CHARS = 2_000
MAX_LINKS = 20_000
# Limits of the texts of the links from one page to another: their number, and their length.
MAX_TEXTS, MAX_TEXT_CHARS = 3, 100
# Some links enclose half of a page: only the beginning of such a text is read.
MAX_READ_CHARS = 1_000
TEXT = etree.XPath("string()", smart_strings=False)
CODE_TAGS = ("script", "style", "noscript", "template")
VISIBLE_TEXTS = etree.XPath(
    f".//text()[not({' or '.join(f'ancestor::{tag}' for tag in CODE_TAGS)})]", smart_strings=False
)
# Longer links are not cached: 10,000 links of this length take 10 MB at most.
MAX_CACHED_CHARS = 500
ROOT_SLASHES = 3  # http://host/
FROM_ROOT = re.compile(r"(?:https?:)?//[^/?#]|/[^/]|/$")
FROM_HOST = re.compile(r"(?:https?:)?//", re.IGNORECASE)
NO_PATH = re.compile(r"[\0-\x20]*(?:https?:)?(?://)?(?:[?#;]|$)", re.IGNORECASE)
SKIPPED_SUFFIXES = tuple("." + extension for extension in IGNORED_EXTENSIONS)
SITE_SCOPES = ("domain", "host")
# The names of <meta> elements, and of agents in X-Robots-Tag headers, that apply to this crawler.
ROBOT_NAMES = ("robots", "contentspider")
# The links to a site's own texts are among the first ones of a page.
MAX_HEAD_LINKS = 50
MAX_TYPE_CHARS = 100
# Links to the resources of a browser. A page may have hundreds of them.
BROWSER_RELS = {
    *("stylesheet", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "icon")
}
# HTML's "shared declarative refresh steps": "0; URL = 'next.html'", "5,next.html", "0 next.html".
REFRESH = re.compile(
    r"""\A\s*(?=[\d.])(\d{0,9})[\d.]*(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?"""
    r"""(?:"([^"]*)|'([^']*)|((?!url\s*=\s*\Z).+))""",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
# A page that only redirects is short and has the refresh in its head.
REFRESH_CHARS = 16_000
REFRESH_META = re.compile(r"http-equiv\s*=\s*[\"']?\s*refresh", re.IGNORECASE)
BLANKS = str.maketrans("", "", "\t\r\n")
# A link of a ``Link`` header (RFC 8288, 3): its address, and its parameters.
VALUE = r'"(?:[^"\\]|\\.)*"|[^\s;,"]+'
HEADER_LINK = re.compile(rf"<([^>]*)>((?:\s*;\s*(?:[\w*-]+\s*(?:=\s*(?:{VALUE}))?)?)*)")
PARAMETER = re.compile(rf";\s*([\w*-]+)\s*(?:=\s*({VALUE}))?")
MAX_HEADER_CHARS = 10_000
SEQUENCE = frozenset(("next", "prev", "previous"))  # relations to further pages of a list
MAX_ALTERNATES = 200  # languages and regions


class Head(NamedTuple):
    """The links and the metadata of a page that the spider reads.

    *anchors* are triples of ``href``, ``rel`` and the link's text; *links* are the first ``link``
    elements as ``(rel, type, href)``; *alternates* are the links to the page in other languages;
    *refresh* is a delay in seconds and an address; *has_frames*
    tells whether the page is a frameset.
    """

    base: str
    robots: list[str]
    feeds: list[str]
    anchors: list[tuple[str, str, str]]
    links: list[tuple[str, str, str]]
    alternates: list[str]
    generator: str
    refresh: tuple[float, str] | None
    has_frames: bool


class _HeadReader:
    """Collects the `Head` of the page at *url* from its elements."""

    def __init__(self, url: str) -> None:
        self.anchors: list[tuple[str, str, str]] = []
        self._url = url
        self._base = ""
        self._robots: list[str] = []
        self._feeds: list[str] = []
        self._links: list[tuple[str, str, str]] = []
        self._alternates: list[str] = []
        self._generator = ""
        self._refresh: tuple[float, str] | None = None
        self._has_frames = False

    def read_base(self, element: _Element) -> None:
        """Read a ``base`` element. Only the first valid address counts."""
        href = element.get("href") or ""
        if href and not self._base:
            address = join(self._url, href.strip())
            self._base = address if is_web_address(address) else ""

    def read_meta(self, element: _Element) -> None:
        """Read a ``meta`` element: a refresh, robots directives or the generator."""
        name = (element.get("name") or "").strip().lower()
        content = element.get("content") or ""
        if (element.get("http-equiv") or "").strip().lower() == "refresh":
            # A refresh in <noscript> is for browsers without JavaScript.
            is_noscript = next(element.iterancestors("noscript"), None) is not None
            if self._refresh is None and not is_noscript:
                self._refresh = read_refresh(content)
        elif name in ROBOT_NAMES:
            self._robots.append(content)
        elif name == "generator":
            self._generator = self._generator or content[:MAX_TYPE_CHARS]

    def read_frame(self, element: _Element) -> None:
        """Read a ``frame`` or ``iframe``: its page counts as linked."""
        self._has_frames = self._has_frames or element.tag == "frame"
        if source := element.get("src"):
            self.anchors.append((source, "", ""))

    def read_link(self, element: _Element) -> None:
        """Read a ``link`` element. Feeds are recognised by its ``type``, with any ``rel``."""
        href = element.get("href") or ""
        kind = (element.get("type") or "").strip().lower()
        if kind in FEED_TYPES:
            self._feeds.append(href)
        rel = " ".join((element.get("rel") or "").lower().split())
        if href and not SEQUENCE.isdisjoint(rel.split()):
            self.anchors.append((href, "", ""))
        elif href and element.get("hreflang") and "alternate" in rel:
            self._alternates.append(href)
        is_short = 0 < len(href) <= MAX_URL_CHARS
        if is_short and len(self._links) < MAX_HEAD_LINKS and rel not in BROWSER_RELS:
            if (element.get("media") or "").strip().lower() == "print":
                rel += " print"
            self._links.append((rel[:MAX_TYPE_CHARS], kind[:MAX_TYPE_CHARS], href))

    def head(self) -> Head:
        """Return the result after all elements have been read."""
        if self._refresh is not None:
            self.anchors.append((self._refresh[1], "", ""))
        base = self._base or self._url
        addresses = (absolute(base, href) for href in self._feeds)
        return Head(
            base=base,
            robots=self._robots,
            feeds=[address for address in addresses if address],
            anchors=self.anchors,
            links=self._links,
            alternates=self._alternates[:MAX_ALTERNATES],
            generator=self._generator,
            refresh=self._refresh,
            has_frames=self._has_frames,
        )


def read_head(root: _Element, url: str) -> Head:
    """Return the links and metadata of the page at *url*, in one walk over its tree."""
    reader = _HeadReader(url)
    readers = {
        "base": reader.read_base,
        "meta": reader.read_meta,
        "link": reader.read_link,
        "frame": reader.read_frame,
        "iframe": reader.read_frame,
    }
    for element in root.iter("a", "area", *readers):
        if read := readers.get(element.tag):
            read(element)
        elif href := element.get("href") or element.get("xlink:href"):
            reader.anchors.append((href, element.get("rel") or "", link_text(element)))
    return reader.head()


def link_text(link: _Element) -> str:
    """Return the text of a link in one line, cut after `MAX_TEXT_CHARS`, or of its first image."""
    text = str(TEXT(link))
    if len(link) and next(link.iter(*CODE_TAGS), None) is not None:
        text = "".join(cast("list[str]", VISIBLE_TEXTS(link)))
    if not text or text.isspace():
        image = next(link.iter("img", "area"), None)
        text = (image.get("alt") or "") if image is not None else ""
    text = " ".join(text[:MAX_READ_CHARS].split())[:MAX_TEXT_CHARS].rstrip()
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def header_links(response: Response) -> Iterator[tuple[str, str, bool]]:
    """Yield the relation, the address, and whether there is a language, of each link of a
    response's ``Link`` headers.
    """
    value = ", ".join(text.decode("latin-1") for text in response.headers.getlist("Link"))
    for address, parameters in HEADER_LINK.findall(value[:MAX_HEADER_CHARS]):
        found: dict[str, str] = {}
        for name, quoted in PARAMETER.findall(parameters):
            found.setdefault(name.lower(), quoted.strip('"'))  # the first one counts
        if found.get("anchor"):
            continue  # the link of another page, or of a part of this one
        for relation in found.get("rel", "").lower().split():
            yield relation, absolute(response.url, address), "hreflang" in found


def read_refresh(content: str) -> tuple[float, str] | None:
    """Return the delay in seconds and the address of a refresh; None without an address.

    >>> read_refresh("0; URL = 'next.html'"), read_refresh("5,next.html"), read_refresh("300")
    ((0.0, 'next.html'), (5.0, 'next.html'), None)
    """
    match = REFRESH.match(content[: 2 * MAX_URL_CHARS])
    address = (match[2] or match[3] or match[4] or "").strip() if match else ""
    return (float(match[1] or 0), address) if match and address else None


def refresh_of(response: HtmlResponse) -> tuple[float, str] | None:
    """Return the delay in seconds and the address of a page's refresh, from its ``Refresh`` header
    or its markup; None if the page has none.
    """
    base, refresh = response.url, read_refresh(header(response, "Refresh"))
    text = response.text[:REFRESH_CHARS]
    # The search for the word in its usual spellings is cheap; parsing is not.
    may_refresh = refresh is None and ("efresh" in text or "EFRESH" in text)
    if may_refresh and REFRESH_META.search(text):
        root = etree.fromstring(text.encode("utf-8", "replace"), etree.HTMLParser(encoding="utf-8"))
        head = read_head(root, response.url) if root is not None else None
        base, refresh = (head.base, head.refresh) if head else (base, None)
    address = absolute(base, refresh[1]) if refresh else ""
    return (refresh[0], address) if refresh and address else None


def resolve_link(base: str, href: str, documents: bool) -> str:
    """Return the address of a linked page, "" if the link leads to another kind of file. With
    *documents*, PDF and office files count as pages.
    """
    address = clean_address(join(base, href))
    path = split_address(address).path.lower()
    is_page = not path.endswith(SKIPPED_SUFFIXES) or (
        documents and path.endswith(DOCUMENT_SUFFIXES)
    )
    return address if is_page and is_web_address(address) else ""


def page_links(
    head: Head, nofollow: bool = False, documents: bool = False, resolve: Resolve = resolve_link
) -> list[str]:
    """Return the addresses of the pages that a page links to, each once, at most `MAX_LINKS`. With
    *nofollow*, links with ``rel=nofollow`` are left out.
    """
    return list(link_texts(head, nofollow, documents, resolve))


def link_texts(
    head: Head,
    nofollow: bool = False,
    documents: bool = False,
    resolve: Resolve = resolve_link,
    routes: bool = False,
) -> dict[str, list[str]]:
    """Return the addresses of `page_links`, each with the texts of its links, at most `MAX_TEXTS`
    different ones. With *routes*, addresses keep their routes (`route_of`).
    """
    texts_of: dict[str, list[str]] = {}
    for start, href, text in _followed_links(head, nofollow, routes):
        if address := resolve(start, href, documents):
            address += route_of(href) if routes else ""
            texts = texts_of.setdefault(address, [])
            if text and len(texts) < MAX_TEXTS and text not in texts:
                texts.append(text)
            if len(texts_of) >= MAX_LINKS:
                break
    return texts_of


def route_links(head: Head, resolve: Resolve = resolve_link) -> Iterator[str]:
    """Yield the addresses with routes (`route_of`) that a page links to."""
    for link, _, _ in head.anchors:
        if "#" not in link or len(link) > MAX_URL_CHARS:
            continue
        href = link.strip().translate(BLANKS)
        route = route_of(href)
        if route and (address := resolve(head.base, href, False)):
            yield address + route


def impossible_links(head: Head) -> Iterator[str]:
    """Yield the links of a page to hosts that cannot exist (``http://a..example.org``)."""
    for link, _, _ in head.anchors:
        href = link.strip().translate(BLANKS)
        if FROM_HOST.match(href) and len(href) <= MAX_URL_CHARS and not PLAIN.match(href):
            address = clean_address(join(head.base, href))
            if host_name(address) and not is_web_address(address):
                yield address


def _followed_links(head: Head, nofollow: bool, routes: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the usable links of a page: the shortest base that resolves a link, the link, and its
    text. Most pages of a site or a folder then share the bases, so that a cached `Resolve` often
    applies.
    """
    base = head.base
    folder = base.partition("#")[0].partition("?")[0].rpartition("/")[0] + "/"
    if folder.count("/") < ROOT_SLASHES:
        folder = base  # without a path
    root_folder = "/".join(folder.split("/")[:ROOT_SLASHES]) + "/"
    for link, rel, text in head.anchors:
        href = link.strip().translate(BLANKS)
        if not href or len(href) > MAX_URL_CHARS:
            continue
        if href[0] == "#" and not (routes and href.startswith(("#/", "#!/"))):
            continue
        if nofollow and rel and "nofollow" in rel.lower().split():
            continue
        if FROM_ROOT.match(href):
            yield root_folder, href, text
        elif NO_PATH.match(href):
            yield base, href, text
        else:
            yield folder, href, text


_site_keys = lru_cache(maxsize=len(SITE_SCOPES))(SiteKeys)


def links(response: Response, scope: str = "domain") -> list[str]:
    """Return the links of an HTML response to pages, as absolute addresses for ``follow_all``.

    *scope* limits them to the response's site: ``domain`` (its registered domain), ``host``, or
    ``web`` (no limit).
    """
    root = tree_of(response) if isinstance(response, HtmlResponse) else None
    if root is None:
        return []
    addresses = page_links(read_head(root, response.url))
    if scope == "web":
        return addresses
    if scope not in SITE_SCOPES:
        raise ValueError(f"scope={scope!r} cannot be used: give 'domain', 'host' or 'web'")
    keys = _site_keys(scope)
    own_site = keys.key(response.url)
    return [address for address in addresses if keys.key(address) == own_site]


def caching_resolver() -> Resolve:
    """Return a `resolve_link` that caches the last 10,000 short links. A crawl needs its own."""
    cached = lru_cache(maxsize=10_000)(resolve_link)

    def resolve(base: str, href: str, documents: bool) -> str:
        is_short = len(base) + len(href) <= MAX_CACHED_CHARS
        return (cached if is_short else resolve_link)(base, href, documents)

    return resolve
