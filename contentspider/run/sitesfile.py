"""Reads ``sites.toml``, the sites of ``contentspider run``. All are checked before any crawl."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from contentspider.crawl.base.alarms import ALARMS
from contentspider.crawl.base.logins import read_logins
from contentspider.crawl.base.option import Option
from contentspider.crawl.checks import checked_options
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.scope import with_scheme
from contentspider.ground.toml import read_toml
from contentspider.index.engine import create_engine
from contentspider.page.input.fields_file import FieldsFile
from contentspider.run import project
from contentspider.run.flags import BY_KEY, CRAWL_FLAGS
from contentspider.run.notify import Notifier
from contentspider.run.run import is_address
from contentspider.state.crawls.folder import index_url
from contentspider.state.files.formats import STDOUT, Output
from contentspider.state.stores.remote import is_url, open_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOTIFY = "notify"
NAME = re.compile(r"[\w+-][\w.+-]{0,99}")
INTERVAL = re.compile(r"(\d{1,6})\s*([smhdw])")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# Is replaced by the site's name in outputs, so that [defaults] can say where all items go.
SITE_MARK = "{site}"
TEXTS = Option("urls", [], "")
# Settings that a run with a store of states decides.
STATE_SETTINGS = tuple(
    f"CONTENTSPIDER_{name}" for name in ("MODELS_DIR", "BOOKS_URL", "INDEX", "OUTPUT_FILE")
)
WARC = "CONTENTSPIDER_WARC_FILE"
# Keys with paths of files that a crawl reads.
FILE_KEYS = ("login", "fields", "browser")
LOCAL_INDEX = re.compile("default$|sqlite:|tantivy:")
# Settings that the run itself sets for each crawl.
DECIDED = ("CONTENTSPIDER_CRAWL", "CONTENTSPIDER_RESUME", "CONTENTSPIDER_STATE_DIR", "LOG_FILE")


class SitesFileError(ContentSpiderError):
    """A file of sites is invalid; the message names file, site and key. Nothing is crawled."""

    code = "sites-file"


@dataclass(frozen=True, slots=True)
class PlannedSite:
    """A site of the file: the *options* of its crawl as JSON data, and its *interval*, if any."""

    name: str
    options: dict[str, Any]
    interval: timedelta | None = None


def _urls(value: Any) -> list[str]:
    urls = [with_scheme(url) for url in TEXTS.read(value, strict=True)]
    if not urls:
        raise SitesFileError("give one address or more")
    for url in urls:
        if not is_address(url):
            raise SitesFileError(f"{url!r} is not the address of a website")
    return urls


def _interval(value: Any) -> timedelta:
    match = INTERVAL.fullmatch(value) if isinstance(value, str) else None
    if not match or not int(match[1]):
        raise SitesFileError('give a time such as "12h" or "1d" (s, m, h, d, w)')
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SitesFileError("give a table of settings")
    for name, entry in value.items():
        if name in DECIDED:
            raise SitesFileError(f"{name} is set by the run itself; leave it out")
        if not re.fullmatch("[A-Z][A-Z0-9_]*", name):
            raise SitesFileError(f"{name!r} is not a setting: settings have names in capitals")
        try:
            json.dumps(entry)
        except TypeError:
            raise SitesFileError(
                f"{name}: a setting is never a date or time; put it in quotes"
            ) from None
    settings = Settings()
    settings.setmodule(project, priority="project")
    settings.setdict(value, priority="cmdline")
    checked_options(settings)
    return value


def _index(value: Any) -> list[str]:
    urls: list[str] = BY_KEY["index"].read(value, strict=True)
    for url in urls:
        create_engine(index_url(url))
    return urls


def _login(value: Any) -> str:
    file: str = BY_KEY["login"].read(value, strict=True)
    read_logins(file)
    return file


def _fields(value: Any) -> str:
    file: str = BY_KEY["fields"].read(value, strict=True)
    if file:
        FieldsFile.load(file)
    return file


def _monitors(value: Any) -> dict[str, float]:
    """Return limits as settings, by which a crawl fails."""
    if not isinstance(value, dict):
        raise SitesFileError("give a table of limits, such as { max_failed = 0.05 }")
    settings = {}
    for name, limit in value.items():
        if name not in ALARMS:
            raise SitesFileError(f"{name!r} is unknown; use {', '.join(ALARMS)}")
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 <= limit <= 1:
            raise SitesFileError(f"{name} is {limit!r}: give a number from 0 to 1")
        settings[ALARMS[name][1]] = float(limit)
    return settings


# The functions that read the values of a site's keys.
KEYS: dict[str, Callable[[Any], Any]] = {
    "urls": _urls,
    "interval": _interval,
    "output": partial(BY_KEY["output"].read, strict=True),
    **{flag.key: partial(flag.read, strict=True) for flag in CRAWL_FLAGS if flag.in_sites},
    "index": _index,
    "login": _login,
    "fields": _fields,
    "settings": _settings,
    "monitors": _monitors,
}


def read_sites(path: Path | str, state: str = "") -> list[PlannedSite]:
    """Return the sites of a file; raises `SitesFileError`. Folders of outputs must exist. With the
    URL of a *state*, items go to ``STATE/outputs/SITE.jsonl`` unless the file says otherwise.
    """
    path = Path(path)
    output = f"{state.rstrip('/')}/outputs/{SITE_MARK}.jsonl" if state else f"{SITE_MARK}.jsonl"
    tables = read_toml(path, SitesFileError)
    defaults, sites = _checked_tables(path, tables)
    common = _read(f"{path}: defaults", defaults)
    common = {"output": [output]} | common
    planned = [_plan(path, name, table, common) for name, table in sites.items()]
    if state:
        for site in planned:
            _check_state(f"{path}: site {site.name!r}", site)
    writers: dict[str, str] = {}
    for site in planned:
        for output in site.options["output"]:
            if (other := writers.setdefault(output, site.name)) != site.name:
                raise SitesFileError(
                    f"{path}: site {site.name!r}, key 'output': {output} is also the output of site"
                    f" {other!r}; use {SITE_MARK} for the site's name"
                )
    return planned


def read_notifier(path: Path | str) -> Notifier:
    """Return what tells people of the sites of a file; raises `SitesFileError`."""
    try:
        return Notifier(read_toml(Path(path), SitesFileError).get(NOTIFY, []))
    except SitesFileError:
        raise
    except ContentSpiderError as error:
        raise SitesFileError(f"{path}: {NOTIFY}: {error}") from error


def _checked_tables(path: Path, tables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tables ``defaults`` and ``site`` of a file; raises `SitesFileError`."""
    for name in tables:
        if name not in ("defaults", "site", NOTIFY):
            raise SitesFileError(
                f"{path}: {name!r} is unknown; use [defaults], [site.NAME], and {NOTIFY} above them"
            )
    defaults, sites = tables.get("defaults", {}), tables.get("site", {})
    if not isinstance(defaults, dict):
        raise SitesFileError(f"{path}: defaults is not a table; write [defaults]")
    if not isinstance(sites, dict) or not sites:
        raise SitesFileError(
            f"{path}: it has no site; write [site.NAME] with urls = [...] for each site"
        )
    if "urls" in defaults:
        raise SitesFileError(f"{path}: defaults, key 'urls': only a site can have this key")
    return defaults, sites


def _plan(path: Path, name: str, table: Any, common: Mapping[str, Any]) -> PlannedSite:
    where = f"{path}: site {name!r}"
    if not NAME.fullmatch(name):
        raise SitesFileError(
            f"{where}: use letters, digits, and . _ + - in a name, 100 at most: files get this name"
        )
    if not isinstance(table, dict):
        raise SitesFileError(f"{where} is not a table; write [site.{name}]")
    own = _read(where, table)
    values = {**common, **own}
    if "urls" not in values:
        raise SitesFileError(f"{where}: the key 'urls' (where to start) is missing")
    values["output"] = [output.replace(SITE_MARK, name) for output in values["output"]]
    try:
        for output in values["output"]:
            if mark := re.search(r"\{\w*\}", output):
                raise SitesFileError(f"{mark[0]} is unknown; {SITE_MARK} is the site's name")
            if output == STDOUT:
                raise SitesFileError("items go to a file or folder, not to standard output")
            if not is_url(output):
                Output.parse(output)
    except ContentSpiderError as error:
        raise SitesFileError(f"{where}, key 'output': {error}") from error
    settings: dict[str, Any] = {}
    for key in ("monitors", "settings"):
        settings |= common.get(key, {}) | values.pop(key, {})
    options = {"name": name, "url": values.pop("urls"), "set": list(settings.items())}
    interval = values.pop("interval", None)
    return PlannedSite(name, options | values, interval)


def _read(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a table's keys; *where* begins the message of an error."""
    values = {}
    for name, value in table.items():
        if name not in KEYS:
            near = get_close_matches(name, KEYS, 1, cutoff=0)[0]
            quote = "; a name with dots needs quotes" if isinstance(value, dict) else ""
            raise SitesFileError(
                f"{where}: the key {name!r} is unknown; did you mean {near!r}?{quote}"
            )
        try:
            values[name] = KEYS[name](value)
        except ContentSpiderError as error:
            shown = "" if name in ("urls", "settings") else f"{value!r} cannot be used: "
            raise SitesFileError(f"{where}, key {name!r}: {shown}{error}") from error
    return values


def _check_state(where: str, site: PlannedSite) -> None:
    """Raise `SitesFileError` if a site has a key that does not work with ``--state``."""
    taken = [key for key in ("models", "books") if site.options.get(key)]
    taken += [name for name, _ in site.options["set"] if name in STATE_SETTINGS]
    if taken:
        raise SitesFileError(
            f"{where}, key {taken[0]!r}: leave it out with --state, which has models and books,"
            " and publishes the outputs and indexes of the keys 'output' and 'index'"
        )
    for output in filter(is_url, site.options["output"]):
        url, _, name = output.rpartition("/")
        try:
            open_objects(url)
            Output.parse(name)
        except ContentSpiderError as error:
            raise SitesFileError(f"{where}, key 'output': {error}") from error


def check_portable(path: Path, site: PlannedSite) -> None:
    """Raise `SitesFileError` if a site needs files that only this machine has."""
    files = [(key, file) for key in FILE_KEYS if (file := site.options.get(key))]
    local = [
        *[("output", output) for output in site.options["output"] if not is_url(output)],
        *[("index", url) for url in site.options.get("index") or () if LOCAL_INDEX.match(url)],
        *[(key, file) for key, file in files if not Path(file).is_absolute()],
        *[entry for entry in site.options["set"] if entry[0] == WARC and entry[1]],
    ]
    if local:
        key, value = local[0]
        advice = "give a URL, or leave it out"
        if key in FILE_KEYS:
            advice = "give an absolute path, where each machine has the file"
        raise SitesFileError(
            f"{path}: site {site.name!r}, key {key!r}: {value} is on this machine, but other"
            f" machines crawl the site; {advice}"
        )
