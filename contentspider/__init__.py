"""contentspider learns a website's main content from its own pages, and crawls it to items.

- A single page: `extract_html` returns its content, an `Extraction`.
- A site: `SiteLearner` learns it from several `Page` objects. Its `SiteModel` returns an
  `Extraction` of each page. `LearningOptions`, `Overrides` and `Prior` change what it learns.
- Scrapy projects: `Addon`, `ContentItem`, `bind`, `links` and `page_of`, which returns a
  `TaggedPage` of `TaggedBlock` objects.
- Batches of rows in data engines: `sample_column`, `learn_column` and `extract_column`.

These names, and the modules that the documentation names, are for your programs; other modules may
change in each version. See docs/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground import __version__ as __version__

if TYPE_CHECKING:
    from contentspider.archive.columns import extract_column as extract_column
    from contentspider.archive.columns import learn_column as learn_column
    from contentspider.archive.columns import sample_column as sample_column
    from contentspider.crawl.addon import Addon as Addon
    from contentspider.crawl.base.items import ContentItem as ContentItem
    from contentspider.crawl.base.items import bind as bind
    from contentspider.crawl.base.links import links as links
    from contentspider.crawl.base.tagged import TaggedBlock as TaggedBlock
    from contentspider.crawl.base.tagged import TaggedPage as TaggedPage
    from contentspider.crawl.base.tagged import page_of as page_of
    from contentspider.page.input.overrides import Overrides as Overrides
    from contentspider.page.input.page import Page as Page
    from contentspider.site.judge.prior import Prior as Prior
    from contentspider.site.learn.learner import SiteLearner as SiteLearner
    from contentspider.site.learn.options import LearningOptions as LearningOptions
    from contentspider.site.learn.single_page import extract_html as extract_html
    from contentspider.site.models.model import SiteModel as SiteModel
    from contentspider.site.models.record import Extraction as Extraction

# The modules of the public names. They are imported on first use, so that
# `import contentspider` loads neither scikit-learn nor Scrapy.
_HOMES = {
    "Addon": "contentspider.crawl.addon",
    "ContentItem": "contentspider.crawl.base.items",
    "Extraction": "contentspider.site.models.record",
    "LearningOptions": "contentspider.site.learn.options",
    "Overrides": "contentspider.page.input.overrides",
    "Page": "contentspider.page.input.page",
    "Prior": "contentspider.site.judge.prior",
    "SiteLearner": "contentspider.site.learn.learner",
    "SiteModel": "contentspider.site.models.model",
    "TaggedBlock": "contentspider.crawl.base.tagged",
    "TaggedPage": "contentspider.crawl.base.tagged",
    "bind": "contentspider.crawl.base.items",
    "extract_column": "contentspider.archive.columns",
    "extract_html": "contentspider.site.learn.single_page",
    "learn_column": "contentspider.archive.columns",
    "links": "contentspider.crawl.base.links",
    "page_of": "contentspider.crawl.base.tagged",
    "sample_column": "contentspider.archive.columns",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'contentspider' has no attribute {name!r}")
    from importlib import import_module as import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
