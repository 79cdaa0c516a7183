"""Which site an address belongs to: by its registered domain, or its host."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from contentspider.ground.addresses import split_address

if TYPE_CHECKING:
    import tldextract


@cache
def _extractor() -> tldextract.TLDExtract:
    """Return what knows the public suffixes, read once per process."""
    # It takes 70 ms to import, for which the command line's help need not wait.
    import tldextract

    extractor = tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )
    extractor("example.org")  # it reads its list at the first call
    return extractor


class SiteKeys:
    """Gives each URL the key of its site, *by* ``domain`` or ``host``: ``example.co.uk``, or
    ``127.0.0.1-8000`` where there is no domain.

    The list of public suffixes is the one that tldextract ships: nothing is downloaded. Its private
    part counts: each user's site on a host such as github.io is its own site.
    """

    def __init__(self, by: str = "domain") -> None:
        self._extract = _extractor() if by == "domain" else None
        self._known: dict[str, str] = {}

    def key(self, url: str) -> str:
        """Return the site's key; it is safe as the name of a folder."""
        netloc = split_address(url).netloc.rpartition("@")[2].lower()
        key = self._known.get(netloc)
        if key is None:
            if len(self._known) > 10_000:
                self._known.clear()
            key = self._known[netloc] = self._compute(netloc)
        return key

    def _compute(self, netloc: str) -> str:
        has_port = ":" in netloc.rpartition("]")[2]
        host, _, port = netloc.rpartition(":") if has_port else (netloc, "", "")
        host = host.strip("[]").rstrip(".")
        name = self._extract(host).top_domain_under_public_suffix or host if self._extract else host
        if port and port not in ("80", "443"):
            name += "-" + port
        with suppress(UnicodeError):  # as in requests: müller.de is xn--mller-kva.de
            name = name.encode("idna").decode()
        return folder_name(name)


def folder_name(site: str) -> str:
    """Return the name of a site's folder, which leads nowhere else, whatever the site is called."""
    safe = "".join(char if char.isalnum() or char in ".-" else "_" for char in site)
    return safe.strip(".") or "site"
