"""Reads ``sites.toml``, the sites of ``contentspider run``. All are checked before any crawl."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from hashlib import scrypt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from contentspider.crawl.base.alarms import ALARMS
from contentspider.crawl.base.logins import read_logins
from contentspider.crawl.base.option import Option
from contentspider.crawl.checks import checked_options
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.scope import start_problem, with_scheme
from contentspider.ground.toml import read_toml
from contentspider.index.engine import create_engine
from contentspider.page.input.fields_file import FieldsFile
from contentspider.run import project
from contentspider.run.flags import BY_KEY, CRAWL_FLAGS
from contentspider.run.mistakes import Mistakes, SitesFileError
from contentspider.run.notify import Notifier
from contentspider.state.crawls.folder import index_url
from contentspider.state.files.formats import STDOUT, Output
from contentspider.state.stores.remote import is_url, open_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

NOTIFY = "notify"
# Names that a person may give to the key.
MESSAGES = (NOTIFY, "webhook", "webhooks", "hook", "mail", "email", "message", "slack", "alert")
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
SCRYPT = {"n": 2**13, "r": 8, "p": 1, "dklen": 32}  # 8 MB and 20 ms
# Keys with paths of files that a crawl reads.
FILE_KEYS = ("login", "fields", "browser")
LOCAL_INDEX = re.compile("default$|sqlite:|tantivy:")
# Settings that the run itself sets for each crawl.
DECIDED = ("CONTENTSPIDER_CRAWL", "CONTENTSPIDER_RESUME", "CONTENTSPIDER_STATE_DIR", "LOG_FILE")


@dataclass(frozen=True, slots=True)
class PlannedSite:
    """A site of a *file*: the *options* of its crawl as JSON data, and its *interval*, if any."""

    name: str
    options: dict[str, Any]
    interval: timedelta | None = None
    file: str | None = None

    def digest(self) -> str:
        """Return a digest of the site's entry, and of the files and secrets that it names, which
        changes if a person changes one of them. It is slow to compute, so that nobody finds a
        secret by trying.
        """
        parts = [json.dumps(self.options, sort_keys=True), str(self.interval)]
        for key in ("login", "fields"):
            with suppress(OSError):
                parts.append(Path(self.options.get(key) or "").read_text(errors="replace"))
        try:
            for login in read_logins(self.options.get("login") or "").values():
                parts += (login.fields[name] for name in sorted(login.secret_fields))
        except ContentSpiderError as error:
            parts.append(str(error))
        salt = f"contentspider {self.name}".encode()
        return scrypt("\0".join(parts).encode(), salt=salt, **SCRYPT).hex()


def _urls(value: Any) -> list[str]:
    urls: list[str] = TEXTS.read(value, strict=True)
    if not urls:
        raise SitesFileError("give one address or more")
    for url in urls:
        if problem := start_problem(url):
            raise SitesFileError(problem)
    return [with_scheme(url) for url in urls]


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
    try:
        read_logins(file)
    except ContentSpiderError as error:
        # Only the crawls that need a missing secret fail, each by itself.
        if error.code != "login-variable":
            raise
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


def read_sites(
    path: Path | str,
    state: str = "",
    only: Collection[str] = (),
    *,
    is_due: bool = False,
    is_portable: bool = False,
    mistakes: Mistakes | None = None,
) -> list[PlannedSite]:
    """Return the sites of a file. With *only*, the other sites are left out, and not checked.
    Raises `SitesFileError` with all mistakes of the file, and `UsageError` if *only* has an unknown
    name. Folders of outputs must exist. With the URL of a *state*, items go to
    ``STATE/outputs/SITE.jsonl`` unless the file says otherwise.

    If the sites must be due (*is_due*), each needs an interval; if another machine may crawl them
    (*is_portable*), they cannot name files of this machine. *mistakes* has those found before.
    """
    path = Path(path)
    mistakes = mistakes or Mistakes(path)
    output = f"{state.rstrip('/')}/outputs/{SITE_MARK}.jsonl" if state else f"{SITE_MARK}.jsonl"
    defaults, sites = _tables(read_toml(path, SitesFileError), mistakes)
    common = {"output": [output]} | _read("defaults", defaults, mistakes)
    for name in only:
        if name not in sites:
            raise UsageError(f"--only {name}: {path} has no such site; it has: {', '.join(sites)}")
    chosen = [name for name in sites if name in (only or sites)]
    plans = (_plan(path, name, sites[name], common, mistakes) for name in chosen)
    planned = [site for site in plans if site is not None]
    for site in planned:
        table = sites[site.name]
        if state:
            _check_state(site, _KeyNotes(site.name, table, mistakes))
        if is_portable:
            _check_portable(site, _KeyNotes(site.name, table, mistakes))
        if is_due and site.interval is None and "interval" not in {**defaults, **table}:
            text = "the key 'interval' is missing, which --due needs; give one such as"
            mistakes.note(f"site {site.name!r}: ", f'{text} "1d" (it may be in [defaults])')
    _check_outputs(planned, mistakes)
    mistakes.check()
    return planned


def _check_outputs(planned: Sequence[PlannedSite], mistakes: Mistakes) -> None:
    """Note the outputs that several sites would write."""
    writers: dict[str, str] = {}
    for site in planned:
        for output in site.options["output"]:
            if (other := writers.setdefault(output, site.name)) != site.name:
                text = (
                    f"{output} is also the output of site {other!r}; use {SITE_MARK} for the"
                    " site's name"
                )
                mistakes.note(f"site {site.name!r}, key 'output': ", text)


def read_notifier(path: Path | str, mistakes: Mistakes) -> Notifier:
    """Return what tells people of the sites of a file: at the destinations that can be used, the
    others are *mistakes*. Raises `SitesFileError` if the file cannot be read.
    """
    urls = read_toml(Path(path), SitesFileError).get(NOTIFY, [])
    try:
        return Notifier(urls, mistakes)
    except ContentSpiderError as error:
        mistakes.note(f"{NOTIFY}: ", error)
        return Notifier([], mistakes)


def _tables(tables: Mapping[str, Any], mistakes: Mistakes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tables ``defaults`` and ``site`` of a file."""
    for name in tables:
        if name not in ("defaults", "site", NOTIFY):
            text = f"is unknown; use [defaults], [site.NAME], and {NOTIFY} above them"
            mistakes.note(f"{name!r} ", text)
    defaults, sites = tables.get("defaults", {}), tables.get("site", {})
    if not isinstance(defaults, dict):
        mistakes.note("defaults ", "is not a table; write [defaults]")
        defaults = {}
    if not isinstance(sites, dict) or not sites:
        mistakes.note("", "it has no site; write [site.NAME] with urls = [...] for each site")
        sites = {}
    if "urls" in defaults:
        mistakes.note("defaults, key 'urls': ", "only a site can have this key")
    return {name: value for name, value in defaults.items() if name != "urls"}, sites


class _KeyNotes:
    """Notes *mistakes* in keys of the site *name*: in its own *table*, or in the defaults, whose
    mistakes the first site has told for all.
    """

    def __init__(self, name: str, table: Mapping[str, Any], mistakes: Mistakes) -> None:
        self._name, self._mistakes, self._told = name, mistakes, mistakes.places()
        settings = table.get("settings")
        self._own = {*table, *(settings if isinstance(settings, dict) else ())}

    def note(self, key: str, text: object) -> None:
        """Note a mistake in a key, or in a setting of this name."""
        is_own = key in self._own
        place = f"site {self._name!r}" if is_own else "defaults"
        place += f", key {key!r}: "
        if is_own or place not in self._told:
            self._mistakes.note(place, text)


def _plan(
    path: Path, name: str, table: Any, common: Mapping[str, Any], mistakes: Mistakes
) -> PlannedSite | None:
    """Return a site of the file; None if a mistake leaves too little of it."""
    where = f"site {name!r}"
    if not NAME.fullmatch(name):
        text = "use letters, digits, and . _ + - in a name, 100 at most: files get this name"
        mistakes.note(f"{where}: ", text)
    if not isinstance(table, dict):
        mistakes.note(f"{where} ", f"is not a table; write [site.{name}]")
        return None
    values = {**common, **_read(where, table, mistakes)}
    if "urls" not in table:
        mistakes.note(f"{where}: ", "the key 'urls' (where to start) is missing")
    outputs = []
    notes = _KeyNotes(name, table, mistakes)
    for output in values["output"]:
        try:
            outputs.append(_checked_output(output.replace(SITE_MARK, name)))
        except ContentSpiderError as error:  # noqa: PERF203 - all are told
            notes.note("output", error)
    settings: dict[str, Any] = {}
    for key in ("monitors", "settings"):
        settings |= common.get(key, {}) | values.pop(key, {})
    options = {"name": name, "url": values.pop("urls", []), "set": list(settings.items())}
    interval = values.pop("interval", None)
    options |= {**values, "output": outputs}
    return PlannedSite(name, options, interval, str(path.absolute()))


def _checked_output(output: str) -> str:
    """Return an output; raises `ContentSpiderError` if items cannot go there."""
    if mark := re.search(r"\{\w*\}", output):
        raise SitesFileError(f"{mark[0]} is unknown; {SITE_MARK} is the site's name")
    if output == STDOUT:
        raise SitesFileError("items go to a file or folder, not to standard output")
    if not is_url(output):
        Output.parse(output)
    return output


def _read(where: str, table: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Any]:
    """Return the values of the keys of a table that can be used. The others are *mistakes* at a
    place that begins with *where*.
    """
    values = {}
    for name, value in table.items():
        if name not in KEYS:
            mistakes.note(f"{where}: ", f"the key {name!r} is unknown; {_meant(name, value)}")
            continue
        try:
            values[name] = KEYS[name](value)
        except ContentSpiderError as error:
            for part, reason in _wrong_parts(name, value) or [(value, error)]:
                shown = "" if name in ("urls", "settings") else f"{part!r} cannot be used: "
                mistakes.note(f"{where}, key {name!r}: ", f"{shown}{reason}")
    return values


def _wrong_parts(name: str, value: Any) -> list[tuple[Any, ContentSpiderError]]:
    """Return the entries of a list or a table that cannot be used, each with the reason."""
    parts: list[Any] = [[entry] for entry in value] if isinstance(value, list) else []
    if isinstance(value, dict):
        parts = [{key: entry} for key, entry in value.items()]
    found = []
    for part in parts:
        try:
            KEYS[name](part)
        except ContentSpiderError as error:  # noqa: PERF203 - all are told
            found.append((part, error))
    return found


def _meant(name: str, value: Any) -> str:
    """Return advice about an unknown key: the most similar key, or its place in the file."""
    if name.lower() in MESSAGES:
        return (
            f"messages of failed crawls: {NOTIFY} = [...], above the tables; changes of pages:"
            " contentspider changes --webhook URL"
        )
    near = get_close_matches(name, KEYS, 1, cutoff=0)[0]
    quote = "; a name with dots needs quotes" if isinstance(value, dict) else ""
    return f"did you mean {near!r}?{quote}"


def _check_state(site: PlannedSite, notes: _KeyNotes) -> None:
    """Note the keys of a site that do not work with ``--state``."""
    taken = [key for key in ("models", "books") if site.options.get(key)]
    taken += [name for name, _ in site.options["set"] if name in STATE_SETTINGS]
    for key in taken:
        notes.note(
            key,
            "leave it out with --state, which has models and books, and publishes the outputs and"
            " indexes of the keys 'output' and 'index'",
        )
    for output in filter(is_url, site.options["output"]):
        url, _, name = output.rpartition("/")
        try:
            open_objects(url)
            Output.parse(name)
        except ContentSpiderError as error:
            notes.note("output", error)


def _check_portable(site: PlannedSite, notes: _KeyNotes) -> None:
    """Note the files of a site that only this machine has."""
    files = [(key, file) for key in FILE_KEYS if (file := site.options.get(key))]
    local = [
        *[("output", output) for output in site.options["output"] if not is_url(output)],
        *[("index", url) for url in site.options.get("index") or () if LOCAL_INDEX.match(url)],
        *[(key, file) for key, file in files if not Path(file).is_absolute()],
        *[entry for entry in site.options["set"] if entry[0] == WARC and entry[1]],
    ]
    for key, value in local:
        advice = "give a URL, or leave it out"
        if key in FILE_KEYS:
            advice = "give an absolute path, where each machine has the file"
        notes.note(key, f"{value} is on this machine, but other machines crawl the site; {advice}")
