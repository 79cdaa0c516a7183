"""The scope of a crawl: which addresses belong to it, and the crawl's name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from urllib.parse import unquote

from contentspider.ground.addresses import clean_address, split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.patterns import compile_pattern
from contentspider.ground.sites import SiteKeys

SCOPES = ("domain", "subdomains", "host", "path")
MAX_NAME_CHARS = 100
MAX_SLUG_CHARS = 30
DIGEST_CHARS = 8


class Scope:
    """Tells which addresses belong to a crawl: how far *scope* goes from its *starts*: ``domain``
    (their sites), ``subdomains`` (of their hosts, too), ``host``, or ``path`` (below theirs),
    whatever ``www.`` they have; if they match a pattern *include*, if any, and none of *exclude*.
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
            known = ", ".join(map(repr, SCOPES))
            raise ContentSpiderError(f"the scope {scope!r} is unknown; use one of {known}")
        self.scope = scope
        self._keys = keys
        self._include = [compile_pattern(pattern) for pattern in include]
        self._exclude = {pattern: compile_pattern(pattern) for pattern in exclude}
        self._sites: set[str] = set()
        self._paths: dict[str, set[str]] = {}
        self._known_host = lru_cache(maxsize=10_000)(site_host)
        for address in starts:
            self.widen(address)

    def widen(self, address: str, moved_from: str = "") -> None:
        """Add the site of a start, or of where one has moved; a front page widens no path."""
        host, path = self._host(address), folder_of(address)
        is_front = moved_from and path == "/" and host == self._host(moved_from)
        if self.scope == "path" and is_front:
            return
        self._sites.add(self._keys.key(address) if self.scope == "domain" else host)
        self._paths.setdefault(host, set()).add(path)

    def has_site(self, address: str) -> bool:
        """Tell whether an address is on one of the crawl's sites, whatever its path."""
        if not address.startswith(("http://", "https://")):
            return False
        if self.scope == "domain":
            return self._keys.key(address) in self._sites
        host = self._host(address)
        if self.scope == "subdomains":
            return any(host == site or host.endswith("." + site) for site in self._sites)
        return host in self._sites

    def has(self, address: str) -> bool:
        """Tell whether the page of an address belongs to the crawl."""
        return self.has_place(address) and not self.exclusion(address)

    def has_place(self, address: str) -> bool:
        """Tell whether an address is within the scope of the starts, whatever the patterns say."""
        return self.has_site(address) and (self.scope != "path" or self._is_below(address))

    def exclusion(self, address: str) -> str:
        """Return by which pattern the page of an address is none of the crawl's; "" if by none."""
        for pattern, expression in self._exclude.items():
            if expression.search(address):
                return f"excluded by {pattern}"
        is_in = not self._include or any(one.search(address) for one in self._include)
        return "" if is_in else "not included"

    def _is_below(self, address: str) -> bool:
        path = unquote(split_address(address).path) or "/"
        folders = self._paths.get(self._host(address), set())
        # /docs is the address that /docs/ is often linked by.
        is_folder = bool(folders & {path, path + "/"})
        return is_folder or any(path.startswith(folder.rstrip("/") + "/") for folder in folders)

    def _host(self, address: str) -> str:
        parts = split_address(address)
        return self._known_host(f"{parts.scheme}://{parts.netloc}")


def site_host(address: str) -> str:
    """Return the host of an address and its port unless it is the default, without ``www.``.

    >>> site_host("https://me:secret@WWW.Example.org:443/x"), site_host("http://127.0.0.1:8000")
    ('example.org', '127.0.0.1:8000')
    """
    return split_address(clean_address(address)).netloc.lower().removeprefix("www.")


def folder_of(address: str) -> str:
    """Return the folder of an address, below which a crawl by path stays: its path without a file.

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
    """Return the name of a crawl, safe as that of a file: hosts, and a word and a digest if it does
    not start at front pages. Earlier versions named crawls by scope and patterns, too. Raises
    `ContentSpiderError`.

    >>> crawl_name(["https://www.example.org/"]), crawl_name(["example.org/docs/"])
    ('example.org', 'example.org-docs-ae30f90d')
    """
    starts = sorted({clean_address(with_scheme(url)) for url in urls})
    include, exclude = sorted(set(include)), sorted(set(exclude))
    keys = SiteKeys("host")
    Scope(starts, keys, scope, include, exclude)
    places = [(site_host(start), _after_host(start)) for start in starts]
    name, digest = "+".join(dict.fromkeys(keys.key("//" + host) for host, _ in places)), ""
    if scope != "domain" or include or exclude or any(path != "/" for _, path in places):
        words = re.findall(r"\w+", ("" if scope == "domain" else scope) + places[0][1], re.ASCII)
        name += "-".join(["", *words])[: MAX_SLUG_CHARS + 1].rstrip("-")
        asked = repr((places, scope, include, exclude))
        digest = sha256(asked.encode("utf-8", "replace")).hexdigest()[:DIGEST_CHARS]
    if len(name) > MAX_NAME_CHARS:  # the cut-off part still makes a difference
        digest += sha256(name.encode()).hexdigest()[:12]
    return f"{name[:MAX_NAME_CHARS]}-{digest}" if digest else name


def _after_host(address: str) -> str:
    parts = split_address(address)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def with_scheme(address: str) -> str:
    """Return the address with https:// before it if it names no scheme."""
    return address if "://" in address else "https://" + address


def several(texts: str | Iterable[str]) -> list[str]:
    """Return the parts of an argument that may be given as one text."""
    return texts.split() if isinstance(texts, str) else list(texts)
