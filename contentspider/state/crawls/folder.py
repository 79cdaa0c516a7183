"""The state folder, where crawls keep books, and the default search index."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

from contentspider.ground.extras import is_installed

DEFAULT = "default"  # the value that stands for the URL of the index in the state folder
FOLDER = "index"


def state_folder(setting: str = "") -> Path:
    """Return the state folder: *setting* if given, else a folder in Scrapy's ``data_path``."""
    if setting:
        return Path(setting)
    current = Path.cwd()
    for folder in (current, *current.parents):
        if (project := folder / "scrapy.cfg").is_file():
            config = ConfigParser()
            config.read(project)
            data = config.get("datadir", "default", fallback="") or folder / ".scrapy"
            return Path(data, "contentspider")
    return Path(".scrapy", "contentspider").resolve()


def index_url(url: str, state_dir: str = "") -> str:
    """Return *url*; for ``default``, return the URL of the index in the state folder."""
    if url != DEFAULT:
        return url
    places = _places(state_dir)
    existing = [scheme for scheme, path in places.items() if path.exists()]
    usual = "tantivy" if is_installed("search") else "sqlite"
    scheme = existing[0] if existing else usual
    return f"{scheme}:{places[scheme]}"


def has_default(state_dir: str = "") -> bool:
    """Tell whether the state folder has a default index."""
    return any(path.exists() for path in _places(state_dir).values())


def _places(state_dir: str) -> dict[str, Path]:
    folder = state_folder(state_dir) / FOLDER
    return {"tantivy": folder / "tantivy", "sqlite": folder / "pages.db"}
