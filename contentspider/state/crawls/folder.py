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
    if project := project_file():
        config = ConfigParser()
        config.read(project)
        data = config.get("datadir", "default", fallback="") or project.parent / ".scrapy"
        return Path(data, "contentspider")
    return Path(".scrapy", "contentspider").resolve()


def project_file() -> Path | None:
    """Return the file of the Scrapy project that the current folder belongs to, if any."""
    current = Path.cwd()
    files = (folder / "scrapy.cfg" for folder in (current, *current.parents))
    return next(filter(Path.is_file, files), None)


def index_url(url: str, state_dir: str = "", absolute: bool = False) -> str:
    """Return *url*; for ``default``, return the URL of the index in the state folder. With
    *absolute*, the path of an index that is a file or a folder does not depend on the current one;
    the URLs of engines from other packages stay as they are.
    """
    places = _places(state_dir)
    if url != DEFAULT:
        scheme, _, location = url.partition(":")
        is_path = absolute and scheme in places
        return f"{scheme}:{Path(location.removeprefix('//')).absolute()}" if is_path else url
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
