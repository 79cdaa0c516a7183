"""What command lines load, but for the reactor, which each chooses: see `tests.processes`."""

from __future__ import annotations

import os
import pkgutil
import sys
import warnings
from importlib import import_module

warnings.filterwarnings("error", category=DeprecationWarning, module="contentspider")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

import contentspider
from contentspider.ground.child_process import LIBRARIES
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.sites import SiteKeys


def load(name: str) -> None:
    """Import a module; one of an extra that is not installed is left to whoever needs it."""
    try:
        import_module(name)
    except (ImportError, ContentSpiderError) as error:  # some say which extra to install
        missing = getattr(error.__cause__ or error, "name", None) or "contentspider"
        if missing.startswith(("contentspider", "scrapy", "twisted")):
            raise


for module in pkgutil.walk_packages(contentspider.__path__, "contentspider."):
    if not module.name.endswith("__main__"):
        load(module.name)
        # What the module has its children forked with: it takes longer than to learn a site.
        for library in getattr(sys.modules.get(module.name), LIBRARIES, ()):
            load(library)
for name, value in vars(default_settings).items():
    if name.endswith("_BASE"):
        for component in value:
            if (
                isinstance(component, str)
                and component.startswith("scrapy.")
                and "telnet" not in component
            ):
                load_object(component)
# What crawls import when they need it.
LATE = (
    *("scrapy.core.downloader.handlers.http11", "scrapy.core.downloader.handlers.datauri"),
    *("scrapy.logformatter", "scrapy.statscollectors", "twisted.web.client"),
    *("encodings.charmap", "snowballstemmer", "py3langid"),
)
for name in LATE:
    load(name)
SiteKeys().key("https://example.org/")  # reads the list of public suffixes
if "py3langid" in sys.modules:
    sys.modules["py3langid"].classify("A text")  # reads its model
assert "twisted.internet.reactor" not in sys.modules
