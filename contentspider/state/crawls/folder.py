"""The folder of crawls' state; apart from Scrapy, for which a search need not wait."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder(setting: str = "") -> Path:
    """Return the folder of crawls' state: the *setting* ``CONTENTSPIDER_STATE_DIR``, else in the
    project's data folder, else in ``.scrapy`` below the current folder.
    """
    if setting:
        return Path(setting)
    here = Path.cwd()
    config = next(
        (path for up in (here, *here.parents) if (path := up / "scrapy.cfg").exists()), None
    )
    if config and "datadir" not in config.read_text(encoding="utf-8", errors="replace"):
        return config.parent / ".scrapy" / "contentspider"
    if not config and "SCRAPY_SETTINGS_MODULE" not in os.environ:
        return Path(".scrapy", "contentspider")
    from scrapy.exceptions import NotConfigured
    from scrapy.utils.project import data_path

    try:
        return Path(data_path("contentspider"))
    except NotConfigured:  # there are settings, but no scrapy.cfg in sight: under Scrapyd
        return Path(".scrapy", "contentspider").resolve()
