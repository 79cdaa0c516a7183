"""contentspider: learn a website's main content from its own pages, and crawl it into clean
items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.crawl.addon import Addon
    from contentspider.crawl.binding import bind
    from contentspider.crawl.items import ContentItem
    from contentspider.crawl.links import links
    from contentspider.page.document import Page
    from contentspider.page.overrides import Overrides
    from contentspider.runtime.contentspider_rules import Rules
    from contentspider.site.alone import extract_html
    from contentspider.site.extraction_rules import learn_rules
    from contentspider.site.learner import SiteLearner
    from contentspider.site.model import Extraction, SiteModel
    from contentspider.site.options import LearningOptions
    from contentspider.site.prior import Prior

__all__ = [
    "Addon",
    "ContentItem",
    "Extraction",
    "LearningOptions",
    "Overrides",
    "Page",
    "Prior",
    "Rules",
    "SiteLearner",
    "SiteModel",
    "bind",
    "extract_html",
    "learn_rules",
    "links",
]
__version__ = "0.1.0"
# Where the public names live. They are imported on first use, so that `import contentspider` loads
# neither scikit-learn nor Scrapy.
_HOMES = {
    "Addon": "contentspider.crawl.addon",
    "ContentItem": "contentspider.crawl.items",
    "Extraction": "contentspider.site.model",
    "LearningOptions": "contentspider.site.options",
    "Overrides": "contentspider.page.overrides",
    "Page": "contentspider.page.document",
    "Prior": "contentspider.site.prior",
    "Rules": "contentspider.runtime.contentspider_rules",
    "SiteLearner": "contentspider.site.learner",
    "SiteModel": "contentspider.site.model",
    "bind": "contentspider.crawl.binding",
    "extract_html": "contentspider.site.alone",
    "learn_rules": "contentspider.site.extraction_rules",
    "links": "contentspider.crawl.links",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'contentspider' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
