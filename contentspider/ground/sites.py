"""The site of an address: its registered domain, or its host."""

from __future__ import annotations

from contextlib import suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from contentspider.ground.addresses import split_address

if TYPE_CHECKING:
    import tldextract


@cache
def _extractor() -> tldextract.TLDExtract:
    """Return the table of public suffixes, which each process reads once."""
    import tldextract  # takes 70 ms, which the help of the command line does not need

    extractor = tldextract.TLDExtract(None, (), include_psl_private_domains=True)
    extractor("example.org")  # the first call reads the list of suffixes
    return extractor


def is_public_suffix(name: str) -> bool:
    """Tell whether a host name is a public suffix: unrelated sites are below it, and none at it.

    >>> is_public_suffix("co.uk"), is_public_suffix("e.co.uk"), is_public_suffix("localhost")
    (True, False, False)
    """
    return not _extractor()(name).domain


def is_public_name(name: str) -> bool:
    """Tell whether a host name is a registered domain of the public web, or below one.

    >>> is_public_name("example.org"), is_public_name("index.html"), is_public_name("site")
    (True, False, False)
    """
    return bool(_extractor()(name).top_domain_under_public_suffix)


class SiteKeys:
    """Gives each URL the key of its site: ``example.co.uk``, or ``127.0.0.1-8000``. The public
    suffixes come from tldextract; each user of github.io is a site.
    """

    def __init__(self, by: str = "domain") -> None:
        self._extract = _extractor() if by == "domain" else None
        self._of_host = lru_cache(maxsize=10_000)(self._compute)

    def key(self, url: str) -> str:
        """Return the key of a URL's site, which is safe as a folder name."""
        return self._of_host(split_address(url).netloc.rpartition("@")[2].lower())

    def _compute(self, netloc: str) -> str:
        has_port = ":" in netloc.rpartition("]")[2]
        host, _, port = netloc.rpartition(":") if has_port else (netloc, "", "")
        host = host.strip("[]").rstrip(".")
        name = self._extract(host).top_domain_under_public_suffix or host if self._extract else host
        if port and port not in ("80", "443"):
            name += "-" + port
        with suppress(UnicodeError):  # as requests does: müller.de is xn--mller-kva.de
            name = name.encode("idna").decode()
        return folder_name(name)


def folder_name(site: str) -> str:
    """Return a folder name for a site; it never leads out of its parent folder."""
    safe = "".join(char if char.isalnum() or char in ".-" else "_" for char in site)
    return safe.strip(".") or "site"
