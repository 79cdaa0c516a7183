"""Checks, before a crawl starts, that the values of Scrapy's settings can be read, and that the
extras, the browser and the database that its options need can be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from contentspider.crawl.base.option import SettingError
from contentspider.crawl.base.options import PREFIX, CrawlOptions
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require

if TYPE_CHECKING:
    from typing import Any

    from scrapy.settings import BaseSettings

# By the type of a setting's default: the method that reads the setting, and what to write.
READERS = {
    bool: ("getbool", "True or False"),
    int: ("getfloat", "a number"),
    float: ("getfloat", "a number"),
    dict: ("getdict", "a JSON object"),
}


def set_checked(settings: BaseSettings, name: str, value: Any) -> None:
    """Set a setting of the command line; raises `SettingError` if Scrapy cannot read the value."""
    reader, advice = READERS.get(type(getattr(default_settings, name, None)), ("get", ""))
    try:
        settings.set(name, value, priority="cmdline")
        getattr(settings, reader)(name)
    except (TypeError, ValueError) as error:
        # A JSON object may have passwords, as in FEEDS.
        shown = name if reader == "getdict" else f"{name}={value!r}"
        raise SettingError(f"{shown} cannot be used: give {advice}") from error


def checked_options(settings: BaseSettings) -> CrawlOptions:
    """Return the options of a crawl, whose browser can be used.

    Raises `SettingError`, which names the setting, or `MissingExtraError`, which names the extra.
    """
    options = CrawlOptions.from_settings(settings)
    if options.enabled:
        options.item_fields.check_classes()
    if options.enabled and options.render != "never":
        _check_rendering(options, settings)
    if options.enabled and options.login and settings.getbool("HTTPCACHE_ENABLED"):
        raise SettingError(
            f"{PREFIX}LOGIN does not work with HTTPCACHE_ENABLED: the cache would keep the cookies"
            " of the session on the disk; leave one of them out"
        )
    return options


def _check_rendering(options: CrawlOptions, settings: BaseSettings) -> None:
    """Raise an error if pages cannot be rendered: an extra or the browser is missing."""
    setting = f"{PREFIX}RENDER={options.render!r} (--render)"
    require("render", setting)
    from contentspider.render.browser import CDP_URL, check_browser

    try:
        check_browser(options.browser, settings.get(CDP_URL) or "")
    except ContentSpiderError as error:
        raise SettingError(f"{setting}: {error}") from error
