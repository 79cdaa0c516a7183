"""Crawls from the command line, and of many sites on a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.run.results import SiteResult as SiteResult
    from contentspider.run.site_job import crawl_site as crawl_site
    from contentspider.run.sitesfile import PlannedSite as PlannedSite
    from contentspider.run.sitesfile import read_sites as read_sites

# The modules of the public names, which are imported on first use.
_HOMES = {
    "PlannedSite": "contentspider.run.sitesfile",
    "SiteResult": "contentspider.run.results",
    "crawl_site": "contentspider.run.site_job",
    "read_sites": "contentspider.run.sitesfile",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'contentspider.run' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
