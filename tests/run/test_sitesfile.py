"""Files of sites: what they say, and mistakes in them, each with file, site and key."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import build_parser
from contentspider.run.mistakes import SitesFileError
from contentspider.run.sitesfile import KEYS, read_sites
from tests.messages import wording

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
[defaults]
interval = "1d"
contact = "me@example.org"
output = ["out/{site}.jsonl"]
max_pages = 100
own_site = true
monitors = { max_failed = 0.5 }
[defaults.settings]
CONTENTSPIDER_OUTAGE_SECS = 60
CONTENTSPIDER_PASSAGES = 1

[site."docs.example.org"]
urls = ["docs.example.org", "https://user:secret@docs.example.org/x"]
interval = "12h"
output = ["out/docs.csv", "out/docs/"]
format = "json"
only = "changed"
due = true
models = "our-models"
models_frozen = true
books = "s3://bucket/histories"
scope = "host"
include = ["/docs/*", "re:/\\\\d{4}/"]
exclude = "*print=1*"
max_pages = 0
max_depth = 4
sitemaps = false
own_site = false
delay = 1.5
concurrency = 2
render = "auto"
render_hosts = "cdn.example.net"
browser = "/usr/bin/chromium"
verify_tls = "always"
login = "login.toml"
site_item = true
fields = "fields.toml"
index = ["sqlite:pages.db", "sqlite:more.db"]
take_over = true
user_agent = "-our bot"

[site."docs.example.org".settings]
CONTENTSPIDER_OUTAGE_SECS = 0
USER_AGENTS = ["a, b", "c"]

[site.news]
urls = "https://example.com"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    return tmp_path


def test_sites_file_keys_become_crawl_options(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sites.toml").write_text(WHOLE)
    (folder / "fields.toml").write_text('title = {css = "h1"}')
    monkeypatch.setenv("WIKI_PASSWORD", "x")
    (folder / "login.toml").write_text(
        '[login.wiki]\nform = "https://e.org/login"\nfields = {password = {env = "WIKI_PASSWORD"}}'
    )
    docs, news = read_sites(folder / "sites.toml")
    assert docs.options == {
        "name": "docs.example.org",
        "url": ["https://docs.example.org", "https://user:secret@docs.example.org/x"],
        "output": ["out/docs.csv", "out/docs/"],
        "format": "json",
        "only": "changed",
        "due": True,
        "models": "our-models",
        "models_frozen": True,
        "books": "s3://bucket/histories",
        "scope": "host",
        "include": ["/docs/*", r"re:/\d{4}/"],
        "exclude": ["*print=1*"],
        "max_pages": 0,
        "max_depth": 4,
        "sitemaps": False,
        "own_site": False,
        "delay": 1.5,
        "concurrency": 2,
        "render": "auto",
        "render_hosts": ["cdn.example.net"],
        "browser": "/usr/bin/chromium",
        "verify_tls": "always",
        "login": "login.toml",
        "site_item": True,
        "fields": "fields.toml",
        "index": ["sqlite:pages.db", "sqlite:more.db"],
        "take_over": True,
        "user_agent": "-our bot",
        "contact": "me@example.org",
        "set": [
            ("CONTENTSPIDER_MONITOR_MAX_FAILED", 0.5),
            ("CONTENTSPIDER_OUTAGE_SECS", 0),
            ("CONTENTSPIDER_PASSAGES", 1),
            ("USER_AGENTS", ["a, b", "c"]),
        ],
    }
    assert docs.interval == timedelta(hours=12)
    assert json.loads(json.dumps(docs.options))
    assert set(docs.options) < set(vars(build_parser().parse_args(["crawl"])))
    assert (news.options["name"], news.options["url"]) == ("news", ["https://example.com"])
    assert (news.options["output"], news.options["max_pages"]) == (["out/news.jsonl"], 100)
    assert news.options["own_site"] is True
    assert dict(news.options["set"])["CONTENTSPIDER_OUTAGE_SECS"] == 60
    assert news.interval == timedelta(days=1)
    said = set(WHOLE.replace("=", " ").replace("[defaults.settings]", "settings").split())
    assert said >= set(KEYS), "every key is in this test"


def test_site_without_defaults_has_minimal_options(folder: Path) -> None:
    (folder / "sites.toml").write_text('[site.a]\nurls = "example.org"')
    (site,) = read_sites(folder / "sites.toml")
    assert site.options == {
        "name": "a",
        "url": ["https://example.org"],
        "output": ["a.jsonl"],
        "set": [],
    }
    assert site.interval is None


A = "[site.a]\nurls = 'example.org'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[site.a]\nurls = [", "is not TOML: "),
        ("[site.a]\nurls = x", "(at line 2, column 8)"),
        ("", "it has no site"),
        ("site = 3", "it has no site"),
        (A + "[sites.b]", "'sites' " + wording("run.unknown-table")),
        ("defaults = 1\n" + A, "defaults is not a table"),
        (
            A + "[defaults]\nurls = 'example.org'",
            "defaults, key 'urls': " + wording("run.urls-in-defaults"),
        ),
        (
            A + "[defaults]\nmax_page = 1",
            "defaults: " + wording("run.unknown-key", "'max_page'"),
        ),
        ("[site]\na = 'example.org'", "site 'a' is not a table"),
        ("[site.'a/b']\nurls = 'example.org'", "site 'a/b': use letters, digits"),
        ("[site.'.a']\nurls = 'example.org'", "site '.a': use letters, digits"),
        ("[site.a]\nscope = 'host'", "site 'a': " + wording("run.urls-missing")),
        ("[site.a]\nurls = []", "site 'a', key 'urls': " + wording("run.no-addresses")),
        ("[site.a]\nurls = ['x y']", "key 'urls': 'x y' is not the address"),
        ("[site.a]\nurls = [1]", "site 'a', key 'urls': give a list of texts"),
        ("[site.example.org]\nurls = 'example.org'", "a name with dots needs quotes"),
        (A + "max_pagse = 1", wording("run.unknown-key", "'max_pagse'") + " 'max_pages'?"),
        (
            A + "max_pages = '1'",
            "key 'max_pages': '1' " + wording("crawl.value-unusable") + " give a whole number",
        ),
        (A + "fields = 'none.toml'", "site 'a', key 'fields': 'none.toml' cannot be used"),
        (A + "login = 'none.toml'", "site 'a', key 'login': 'none.toml' cannot be used"),
        (A + "max_pages = true", "key 'max_pages': True cannot be used"),
        (A + "max_depth = -1", "key 'max_depth': -1 cannot be used"),
        (
            A + "concurrency = 0",
            "key 'concurrency': 0 "
            + wording("crawl.value-unusable")
            + " give a whole number from 1",
        ),
        (A + "delay = -0.5", "key 'delay': -0.5 cannot be used"),
        (A + "delay = nan", "key 'delay': nan cannot be used"),
        (A + "delay = true", "key 'delay': True cannot be used"),
        (A + "sitemaps = 'no'", "key 'sitemaps': 'no' cannot be used: give true or false"),
        (A + "scope = 'page'", "key 'scope': 'page' cannot be used: use one of 'domain'"),
        (A + "scope = ['host']", "key 'scope': ['host'] cannot be used"),
        (A + "only = 'new'", "key 'only': 'new' cannot be used: use one of 'changed'"),
        (A + "format = 'pdf'", "key 'format': 'pdf' cannot be used: use one of 'md'"),
        (A + "include = ['re:(']", "key 'include': ['re:('] cannot be used: the pattern 're:('"),
        (
            A + "exclude = [1]",
            "key 'exclude': [1] " + wording("crawl.value-unusable") + " give a list of texts",
        ),
        (A + "contact = ''", "key 'contact': '' cannot be used: give text"),
        (A + "models = 1", "key 'models': 1 cannot be used"),
        (
            A + "interval = '1 year'",
            "key 'interval': '1 year' " + wording("crawl.value-unusable") + " give a time",
        ),
        (A + "interval = '0d'", "key 'interval': '0d' cannot be used"),
        (A + f"interval = '{'9' * 20}w'", "key 'interval': "),
        (A + "interval = 60", "key 'interval': 60 cannot be used"),
        (A + "output = '{sit}.jsonl'", "site 'a', key 'output': {sit}"),
        (A + "output = '-'", "key 'output': " + wording("run.output-is-stdout")),
        (
            A + "output = 'a.pages'",
            "key 'output': -o a.pages" + wording("state.ending-without-format"),
        ),
        (A + "index = ['nowhere:x']", "key 'index': ['nowhere:x'] cannot be used: nowhere:x"),
        (A + "output = 'sites.toml/a.csv'", "sites.toml cannot be created"),
        (A + "settings = 1", "key 'settings': give a table"),
        (A + "settings.LOG_FILE = 'x'", "key 'settings': LOG_FILE " + wording("run.set-by-run")),
        (A + "settings.depth = 1", "key 'settings': 'depth' is not a setting"),
        (A + "settings.X = [2026-01-01]", "key 'settings': X" + wording("run.setting-is-date")),
        (
            A + "settings.CONTENTSPIDER_LEARN_PAGE = 5",
            "no setting CONTENTSPIDER_LEARN_PAGE; did you mean CONTENTSPIDER_LEARN_PAGES?",
        ),
        (
            A + "settings.CONTENTSPIDER_LEARN_PAGES = 'all'",
            "key 'settings': CONTENTSPIDER_LEARN_PAGES='all' cannot be used",
        ),
        (A + "webhook = 'https://e.org/hook'", "notify = [...], above the tables"),
        (A + "notify = ['json://e.org']", "above the tables"),
        (
            A + "output = 'x.csv'\n[site.b]\nurls = 'example.com'\noutput = ['x.csv']",
            "site 'b', key 'output': " + wording("run.same-output", "x.csv") + " 'a'",
        ),
    ],
)
def test_sites_file_error_names_file_site_and_key(text: str, message: str, folder: Path) -> None:
    path = folder / "sites.toml"
    path.write_text(text)
    with pytest.raises(SitesFileError) as caught:
        read_sites(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_all_mistakes_of_a_sites_file_are_told_at_once(folder: Path) -> None:
    path = folder / "sites.toml"
    path.write_text(
        "[defaults]\noutput = ['{sit}.jsonl']\nscope = 'page'\n"
        "[site.a]\nurls = ['x y', 'e.org', 'ftp://x']\nmax_pagse = 1\ndelay = -1\n"
        "[site.a.settings]\ndepth = 1\nCONTENTSPIDER_LEARN_PAGE = 5\n"
        "[site.b]\ninclude = ['re:(', '/x', 're:)']\n[site.b.monitors]\nnone = 1\nmin_kept = 2\n"
        "[site.c]\nurls = 'e.org'\n[sites.d]\n"
    )
    with pytest.raises(SitesFileError) as caught:
        read_sites(path, is_due=True)
    head, *lines = str(caught.value).splitlines()
    assert head.startswith(str(path)) and str(len(lines)) in head
    mistakes = (
        *("'sites' is", "{sit} is", "'page'", "'x y'", "'ftp://x'", "'max_pagse'", "-1"),
        *("'depth' is", "LEARN_PAGE;", "'urls' (", "'re:('", "'re:)'", "'none' is", "min_kept is"),
    )
    for part in mistakes:
        assert [part in line for line in lines].count(True) == 1, "also those of the defaults"
    intervals = [line for line in lines if "'interval'" in line]
    assert [line.split()[1] for line in intervals] == ["'a':", "'b':", "'c':"]
    assert len(lines) == len(mistakes) + len(intervals)


def test_unreadable_sites_file_raises_error(folder: Path) -> None:
    with pytest.raises(SitesFileError, match=r"none\.toml cannot be read: No such file"):
        read_sites(folder / "none.toml")
    (folder / "sites.toml").write_bytes(b"\xff")
    with pytest.raises(SitesFileError, match=r"sites\.toml is not UTF-8 text"):
        read_sites(folder / "sites.toml")
