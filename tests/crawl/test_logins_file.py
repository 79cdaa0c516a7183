"""``login.toml``: what is read, and what is refused before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from contentspider.crawl.base.logins import Login, read_logins
from contentspider.crawl.base.option import SettingError
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.checks import checked_options
from tests.messages import raises

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = 'fields = {name = "me", password = {env = "TEA_PASSWORD"}}'
WIKI = f'[login.wiki]\nform = "https://Wiki.e.org:443/in?a=1"\n{FIELDS}\n'


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEA_PASSWORD", "oolong-77")


def write(folder: Path, text: str) -> str:
    path = folder / "login.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_logins_are_read_by_origin_with_secrets_of_environment(tmp_path: Path) -> None:
    more = '[login.own]\nform = "http://127.0.0.1:80/"\nsuccess = "a.me"\ncookie = "sid"\n'
    logins = read_logins(write(tmp_path, f'{WIKI}{more}logout = ["/bye*"]\n{FIELDS}\n'))
    assert set(logins) == {("https", "wiki.e.org"), ("http", "127.0.0.1")}
    wiki, own = logins.values()
    assert wiki.fields == {"name": "me", "password": "oolong-77"}
    assert wiki.secret_fields == {"password"}
    assert (own.success, own.cookie, own.ends_session("http://127.0.0.1/bye?x")) == (
        "a.me",
        "sid",
        True,
    )
    assert "oolong" not in repr(logins)
    assert read_logins("") == {}


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("", "setting", "login.NAME"),
        ("[login]\n", "setting", "login.NAME"),
        ("[other.a]\n", "setting", "login.NAME"),
        ("[login.wiki\n", "setting", "TOML"),
        ('login.wiki = "a"\n', "setting", "wiki"),
        (f"[login.wiki]\n{FIELDS}", "setting", "form"),
        (f'[login.wiki]\nform = "ftp://e.org"\n{FIELDS}', "setting", "form"),
        (f'[login.wiki]\nform = "http://e.org/in"\n{FIELDS}', "login-unencrypted", "http = true"),
        (f"{WIKI}http = 1", "setting", "http"),
        (f"{WIKI}forms = 1", "setting", "'form'"),
        (f'{WIKI}success = "a["', "setting", "a["),
        (f"{WIKI}cookie = 1", "setting", "cookie"),
        (f'{WIKI}logout = "/bye"', "setting", "logout"),
        (f'{WIKI}logout = ["re:("]', "setting", "logout"),
        (f"{WIKI}{WIKI.replace('.wiki]', '.second]')}", "setting", "second"),
        ('[login.a]\nform = "https://e.org"\nfields = {}', "setting", "fields"),
        ('[login.a]\nform = "https://e.org"\nfields = {name = 1}', "setting", "name"),
        ('[login.a]\nform = "https://e.org"\nfields = {name = "me"}', "login-secret", "env"),
        (WIKI.replace("TEA_PASSWORD", "COFFEE"), "login-variable", "COFFEE"),
    ],
)
def test_login_that_cannot_be_used_is_refused(
    text: str, code: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COFFEE", raising=False)
    with raises(SettingError, code, value):
        read_logins(write(tmp_path, text))


def test_secret_in_file_is_refused_without_repeating_it(tmp_path: Path) -> None:
    text = WIKI.replace('{env = "TEA_PASSWORD"}', '"oolong-77"')
    with raises(SettingError, "login-secret", "password") as raised:
        read_logins(write(tmp_path, text))
    assert "oolong-77" not in str(raised.value)


def test_password_over_http_to_public_host_must_be_allowed(tmp_path: Path) -> None:
    text = WIKI.replace("https://Wiki.e.org:443", "http://e.org") + "http = true"
    assert set(read_logins(write(tmp_path, text))) == {("http", "e.org")}


def test_missing_file_is_named(tmp_path: Path) -> None:
    with raises(SettingError, "setting", "login.toml"):
        read_logins(str(tmp_path / "login.toml"))


def test_login_is_refused_with_rendering(tmp_path: Path) -> None:
    settings = {"CONTENTSPIDER_LOGIN": write(tmp_path, WIKI), "CONTENTSPIDER_DURABLE": True}
    with raises(SettingError, "login-unsupported", "CONTENTSPIDER_RENDER"):
        CrawlOptions.from_settings(Settings({**settings, "CONTENTSPIDER_RENDER": "always"}))


def test_login_is_refused_with_cache_on_disk(tmp_path: Path) -> None:
    settings = Settings({"CONTENTSPIDER_LOGIN": write(tmp_path, WIKI), "HTTPCACHE_ENABLED": True})
    with raises(SettingError, "setting", "HTTPCACHE_ENABLED"):
        checked_options(settings)


@pytest.mark.parametrize(
    ("address", "is_logout"),
    [
        *(("https://e.org" + path, True) for path in ("/logout", "/a/log-out.php?x", "/Sign_Out/")),
        *(("https://e.org" + path, True) for path in ("/i?do=logout", "/i?signoff", "/Abmelden")),
        *(("https://e.org" + path, True) for path in ("/Special:UserLogout", "/d%C3%A9connexion")),
        *(("https://e.org" + path, False) for path in ("/login", "/logouts", "/how-to-log-out")),
        *(("https://e.org" + path, False) for path in ("/?q=why+log+out+now", "/catalogue/out")),
    ],
)
def test_addresses_that_end_session_are_recognised_by_words(address: str, is_logout: bool) -> None:
    assert Login("https://e.org/in", {}).ends_session(address) is is_logout


def test_form_is_recognised_with_further_parameters() -> None:
    login = Login("https://e.org/w?do=in", {})
    assert login.is_form("https://e.org/w?next=%2Fa&do=in")
    for other in ("https://e.org/w", "https://e.org/v?do=in", "http://e.org/w?do=in"):
        assert not login.is_form(other)
