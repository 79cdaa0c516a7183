"""The folder of crawls' state; apart from their ledgers, for which a search need not wait."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path


def state_folder(setting: str = "") -> Path:
    """Return the folder of crawls' state: the *setting* ``CONTENTSPIDER_STATE_DIR``, else in the
    project's data folder, else in ``.scrapy`` below the current folder.

    This is what Scrapy's ``data_path`` returns, without loading Scrapy.
    """
    if setting:
        return Path(setting)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (project := folder / "scrapy.cfg").is_file():
            config = ConfigParser()
            config.read(project)
            data = config.get("datadir", "default", fallback="") or folder / ".scrapy"
            return Path(data, "contentspider")
    return Path(".scrapy", "contentspider").resolve()
