"""The folder of crawls' state, and the default search index in it."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

from contentspider.ground.extras import is_installed

DEFAULT = "default"  # in place of an index's URL
FOLDER = "index"


def state_folder(setting: str = "") -> Path:
    """Return the folder of crawls' state: the *setting*, else that of Scrapy's ``data_path``."""
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


def index_url(url: str, state_dir: str = "") -> str:
    """Return *url*, or for ``default`` that of the index in the folder of crawls' state."""
    if url != DEFAULT:
        return url
    places = _places(state_dir)
    there = [scheme for scheme, path in places.items() if path.exists()]
    usual = "tantivy" if is_installed("search") else "sqlite"
    scheme = there[0] if there else usual
    return f"{scheme}:{places[scheme]}"


def has_default(state_dir: str = "") -> bool:
    """Tell whether the default index exists."""
    return any(path.exists() for path in _places(state_dir).values())


def _places(state_dir: str) -> dict[str, Path]:
    folder = state_folder(state_dir) / FOLDER
    return {"tantivy": folder / "tantivy", "sqlite": folder / "pages.db"}
