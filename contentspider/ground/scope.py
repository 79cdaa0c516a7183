"""The scope of a crawl: which addresses belong to the crawl, and the crawl's name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from urllib.parse import unquote

from contentspider.ground.addresses import clean_address, host_name, is_web_address, split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.patterns import SCHEMES, compile_address_pattern
from contentspider.ground.sites import SiteKeys, is_public_name
from contentspider.ground.terminal import printable

SCOPES = ("domain", "subdomains", "host", "path")
MAX_NAME_CHARS = 100
MAX_SLUG_CHARS = 30
DIGEST_CHARS = 8


class Scope:
    """Tells which addresses belong to a crawl.

    *scope* says how far the crawl goes from its *starts*: ``domain`` (their sites), ``subdomains``
    (their hosts, and hosts below them), ``host``, or ``path`` (addresses below theirs). ``www.`` is
    ignored. An address must also match a pattern of *include*, if there are any, and none of
    *exclude*.
    """

    def __init__(
        self,
        starts: Iterable[str],
        keys: SiteKeys,
        scope: str = "domain",
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> None:
        if scope not in SCOPES:
            scopes = ", ".join(map(repr, SCOPES))
            raise ContentSpiderError(f"the scope {scope!r} is unknown; use one of {scopes}")
        self.scope = scope
        self._keys = keys
        self._include = [compile_address_pattern(pattern) for pattern in include]
        self._exclude = {pattern: compile_address_pattern(pattern) for pattern in exclude}
        self._sites: set[str] = set()
        self._domains: set[str] = set()
        self._paths: dict[str, set[str]] = {}
        self._known_host = lru_cache(maxsize=10_000)(site_host)
        # Most pages of a site link to the same addresses of other sites.
        self.can_have = lru_cache(maxsize=2_000)(self._can_have)
        for address in starts:
            self.widen(address)

    def widen(self, address: str, moved_from: str = "") -> None:
        """Add the site of a start address, or of the *address* that a start (*moved_from*) moved
        to. A crawl by path is not widened to the front page of the same host.
        """
        host, path = self._host(address), folder_of(address)
        is_front = moved_from and path == "/" and host == self._host(moved_from)
        if self.scope == "path" and is_front:
            return
        self._domains.add(self._keys.key(address))
        self._sites.add(host)
        self._paths.setdefault(host, set()).add(path)
        self.can_have.cache_clear()

    def places(self) -> list[str]:
        """Return the hosts and folders of the starts, and of the addresses that they moved to."""
        folders = ((host, path) for host in self._paths for path in self._paths[host])
        return sorted(host + path for host, path in folders)

    def _can_have(self, address: str) -> bool:
        """Tell whether an address may belong to a crawl of the same starts with any scope and any
        patterns.
        """
        return self._has_domain(address) or self.has_site(address)

    def has_site(self, address: str) -> bool:
        """Tell whether an address is on one of the crawl's sites; the path is ignored."""
        if self.scope == "domain":
            return self._has_domain(address)
        if not address.startswith(SCHEMES):
            return False
        host = self._host(address)
        if self.scope == "subdomains":
            return any(host == site or host.endswith("." + site) for site in self._sites)
        return host in self._sites

    def has(self, address: str) -> bool:
        """Tell whether an address belongs to the crawl: scope and patterns."""
        return self.has_place(address) and not self.exclusion(address)

    def has_place(self, address: str) -> bool:
        """Tell whether an address is within the scope of the starts; patterns are ignored."""
        return self.has_site(address) and (self.scope != "path" or self._is_below(address))

    def exclusion(self, address: str) -> str:
        """Return the reason why the patterns exclude an address; "" if they do not. They do not
        see its fragment.
        """
        address = address.partition("#")[0]
        for pattern, expression in self._exclude.items():
            if expression.search(address):
                return f"excluded by {pattern}"
        is_included = not self._include or any(pattern.search(address) for pattern in self._include)
        return "" if is_included else "not included"

    def _has_domain(self, address: str) -> bool:
        return address.startswith(SCHEMES) and self._keys.key(address) in self._domains

    def _is_below(self, address: str) -> bool:
        path = unquote(split_address(address).path) or "/"
        folders = self._paths.get(self._host(address), set())
        # Pages often link to /docs instead of /docs/.
        is_folder = bool(folders & {path, path + "/"})
        return is_folder or any(path.startswith(folder.rstrip("/") + "/") for folder in folders)

    def _host(self, address: str) -> str:
        parts = split_address(address)
        return self._known_host(f"{parts.scheme}://{parts.netloc}")


def site_host(address: str) -> str:
    """Return the host of an address without ``www.``, with its port unless that is the default.

    >>> site_host("https://me:secret@WWW.Example.org:443/x"), site_host("http://127.0.0.1:8000")
    ('example.org', '127.0.0.1:8000')
    """
    return split_address(clean_address(address)).netloc.lower().removeprefix("www.")


def folder_of(address: str) -> str:
    """Return the path of an address without a file name; a crawl by path stays below it.

    >>> [folder_of("https://e.org" + path) for path in ("", "/docs", "/docs/", "/docs/index.html")]
    ['/', '/docs', '/docs/', '/docs/']
    """
    path = unquote(split_address(address).path) or "/"
    folder, _, name = path.rpartition("/")
    return folder + "/" if "." in name else path


def crawl_name(
    urls: Iterable[str],
    scope: str = "domain",
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
) -> str:
    """Return the name of a crawl, which is safe as a file name: its hosts, and a word and a digest
    if it does not start at front pages. Earlier versions put scope and patterns into the name as
    well. `Scope` checks these arguments.

    >>> crawl_name(["https://www.example.org/"]), crawl_name(["example.org/docs/"])
    ('example.org', 'example.org-docs-ae30f90d')
    """
    starts = sorted({clean_address(with_scheme(url)) for url in urls})
    include, exclude = sorted(set(include)), sorted(set(exclude))
    keys = SiteKeys("host")
    places = [(site_host(start), _after_host(start)) for start in starts]
    name, digest = "+".join(dict.fromkeys(keys.key("//" + host) for host, _ in places)), ""
    starts_at_front_pages = all(path == "/" for _, path in places)
    if not starts_at_front_pages or (scope, include, exclude) != ("domain", [], []):
        word = "" if scope == "domain" else scope
        name += _slug(word + places[0][1])
        extent = repr((places, scope, include, exclude))
        digest = sha256(extent.encode("utf-8", "replace")).hexdigest()[:DIGEST_CHARS]
    if len(name) > MAX_NAME_CHARS:  # names with the same beginning get different digests
        digest += sha256(name.encode()).hexdigest()[:12]
    return f"{name[:MAX_NAME_CHARS]}-{digest}" if digest else name


def _slug(text: str) -> str:
    words = re.findall(r"\w+", text, re.ASCII)
    return "-".join(["", *words])[: MAX_SLUG_CHARS + 1].rstrip("-")


def _after_host(address: str) -> str:
    parts = split_address(address)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def with_scheme(address: str) -> str:
    """Return an address with https:// before it if it lacks a scheme."""
    return address if "://" in address else "https://" + address


def start_problem(text: str) -> str:
    """Return why a crawl cannot start at the address that a person typed, in a sentence; "" if it
    can. The text may be no address of a website, or the path of an existing file or folder. A
    public domain such as ``example.org`` is an address, even if a file has the same name.
    """
    address = with_scheme(text)
    is_address = is_web_address(address) and not any(char.isspace() for char in text)
    path = text.removeprefix("file://")
    if "://" in path or not os.path.lexists(path):
        if is_address:
            return ""
        return (
            f"{printable(text)!r} is not the address of a website; give one like"
            " https://example.org"
        )
    if is_address and is_public_name(host_name(address)):
        return ""
    return (
        f"{printable(text)!r} is a file or folder, not the address of a website; contentspider"
        f" extract {printable(path)} reads saved pages"
    )


def several(texts: str | Iterable[str]) -> list[str]:
    """Return the words of a text, or the entries of an iterable, as a list."""
    return texts.split() if isinstance(texts, str) else list(texts)
