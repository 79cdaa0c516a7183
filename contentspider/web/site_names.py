"""The names of sites, for people: the titles of their front pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.site.models.identity import page_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.index.engine import Engine

FRONT_PAGES = ("https://{}/", "https://www.{}/", "http://{}/", "http://www.{}/")
# The key of a site has "-" before the port of its host.
PORT = re.compile(r"-(\d+)$")
MAX_NAME_CHARS = 50


def host_of(site: str) -> str:
    """Return the host of a site, as addresses have it.

    >>> host_of("127.0.0.1-8000"), host_of("my-site.org")
    ('127.0.0.1:8000', 'my-site.org')
    """
    return PORT.sub(r":\1", site)


def site_names(engine: Engine, sites: Iterable[str]) -> dict[str, str]:
    """Return the names of *sites* by their keys: the title of the front page, or the host if the
    index has no front page with a title.
    """
    names: dict[str, str] = {}
    for site in sites:
        ids = [page_id(address.format(host_of(site))) for address in FRONT_PAGES]
        records = engine.records(ids)
        titles = (str(records[id_].get("title", "")) for id_ in ids if id_ in records)
        name = next(filter(None, titles), "")
        names[site] = name if 0 < len(name) <= MAX_NAME_CHARS else host_of(site)
    return names
