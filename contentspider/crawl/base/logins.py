"""Reads ``login.toml``: the login forms of hosts. Secrets come from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from contentspider.crawl.base.option import SettingError
from contentspider.ground.addresses import (
    clean_address,
    host_name,
    is_web_address,
    network_of,
    origin_of,
    split_address,
)
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.patterns import compile_address_pattern
from contentspider.ground.toml import read_toml

# A field with such a name is a secret, which must not stand in the file.
SECRET_FIELD = re.compile(r"pass|pwd|secret|token|\bpin\b|kennwort", re.IGNORECASE)
# Patterns of words for logging out, and of prefixes that addresses put before such a word.
LOGOUT_WORDS = (
    r"(?:log|sign)[-_ ]?(?:out|off)",
    *("abmelden", "abmeldung", "ausloggen", "uitloggen", "afmelden", "logga[-_ ]?ut", "wyloguj"),
    *("d[ée]connexion", "cerrar[-_ ]?sesi[oó]n", "desconectar", "odhl[aá]sit", "выход", "выйти"),
)
BEFORE_LOGOUT = r"(?:[\w-]{1,20}:)?(?:user|auth|account|session|admin|member)?[-_]?"
# Matches a part of a path, or a word of a query, that says that the address ends the session.
LOGOUT = re.compile(rf"{BEFORE_LOGOUT}(?:{'|'.join(LOGOUT_WORDS)})(?:\.\w{{2,5}})?", re.IGNORECASE)
KEYS = ("form", "fields", "success", "cookie", "logout", "http")


@dataclass(frozen=True, slots=True)
class Login:
    """How a crawl logs in to a host.

    *form* is the address of the form, and *fields* are the values to send. The login succeeded if
    the answer has an element for the CSS selector *success*, and if the site sets the *cookie* of
    this name. If both are empty, it succeeded if the answer does not have the form. Addresses that
    match a pattern of *logout* end the session.
    """

    form: str
    fields: dict[str, str] = field(repr=False)
    # The fields whose values come from the environment.
    secret_fields: frozenset[str] = frozenset()
    success: str = ""
    cookie: str = ""
    logout: tuple[re.Pattern[str], ...] = ()

    @property
    def origin(self) -> tuple[str, str]:
        """The scheme and the host (with its port) that the session is for."""
        return origin_of(self.form)

    def ends_session(self, address: str) -> bool:
        """Tell whether an address looks as if it ended the session.

        >>> login = Login("https://e.org/login", {})
        >>> paths = "/me/logout/", "/w?title=Special:UserLogout", "/how-to-log-out-of-mail"
        >>> [login.ends_session("https://e.org" + path) for path in paths]
        [True, True, False]
        """
        parts = split_address(address)
        words = unquote(parts.path).split("/")
        for pair in parse_qsl(parts.query, keep_blank_values=True):
            words += pair
        if any(map(LOGOUT.fullmatch, words)):
            return True
        return any(pattern.search(address) for pattern in self.logout)

    def is_form(self, address: str) -> bool:
        """Tell whether an address leads to the form. It may have further query parameters."""
        parts, form = split_address(address), split_address(self.form)
        if origin_of(address) != self.origin or (parts.path or "/") != (form.path or "/"):
            return False
        return set(parse_qsl(form.query)) <= set(parse_qsl(parts.query))


# Logins by the scheme and the host of their forms.
Logins = dict[tuple[str, str], Login]


def read_logins(name: str) -> Logins:
    """Return the logins of a file, none without a *name*; raises `SettingError`."""
    if not name:
        return {}
    logins: Logins = {}
    for key, table in _tables(Path(name)).items():
        where = f"{name}: login {key!r}"
        login = _login(where, table)
        if login.origin in logins:
            raise SettingError(f"{where}: another login of this file is for the same host")
        logins[login.origin] = login
    return logins


def _tables(path: Path) -> Mapping[str, Any]:
    record = read_toml(path, SettingError)
    tables = record.get("login")
    if set(record) != {"login"} or not isinstance(tables, dict) or not tables:
        raise SettingError(f"{path}: write [login.NAME] for each login, and no other tables")
    return tables


def _login(where: str, table: Any) -> Login:
    if not isinstance(table, dict):
        raise SettingError(f"{where} is not a table; write [login.NAME]")
    for name in table:
        if name not in KEYS:
            near = get_close_matches(name, KEYS, 1, cutoff=0)[0]
            raise SettingError(f"{where}: the key {name!r} is unknown; did you mean {near!r}?")
    fields, secrets = _fields(where, table.get("fields"))
    return Login(
        form=_form(where, table),
        fields=fields,
        secret_fields=secrets,
        success=_selector(where, _text(where, table, "success")),
        cookie=_text(where, table, "cookie"),
        logout=_patterns(where, table.get("logout", [])),
    )


def _text(where: str, table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise SettingError(f"{where}, key {key!r}: give text")
    return value


def _form(where: str, table: Mapping[str, Any]) -> str:
    """Return the address of a login's form. It must be encrypted, unless its host is private."""
    address = clean_address(_text(where, table, "form"))
    if not is_web_address(address):
        raise SettingError(
            f"{where}, key 'form': give the address of the form, such as https://e.org/login"
        )
    allows_http = table.get("http", False)
    if not isinstance(allows_http, bool):
        raise SettingError(f"{where}, key 'http': give true or false")
    is_public = not network_of(host_name(address))
    if split_address(address).scheme == "http" and is_public and not allows_http:
        raise SettingError(
            f"{where}: over http everybody on the way reads the password; give the form's https"
            " address, or http = true if the host is in a network of your own",
            code="login-unencrypted",
        )
    return address


def _fields(where: str, table: Any) -> tuple[dict[str, str], frozenset[str]]:
    """Return the fields of a login, and the names of those whose values are secrets."""
    if not isinstance(table, dict) or not table:
        raise SettingError(
            f"{where}, key 'fields': give the form's fields by their names, such as"
            ' fields = {username = "me", password = {env = "WIKI_PASSWORD"}}'
        )
    fields, secrets = {}, set()
    for name, value in table.items():
        if isinstance(value, dict) and set(value) == {"env"} and isinstance(value["env"], str):
            fields[name] = _variable(where, name, value["env"])
            secrets.add(name)
        elif not isinstance(value, str):
            raise SettingError(f'{where}, field {name!r}: give text, or {{env = "VARIABLE"}}')
        elif SECRET_FIELD.search(name):
            raise literal_secret(where, name)
        else:
            fields[name] = value
    if not secrets:
        raise SettingError(
            f"{where}: no field has its value from the environment; the password needs"
            ' {env = "VARIABLE"}',
            code="login-secret",
        )
    return fields, frozenset(secrets)


def literal_secret(where: str, name: str) -> SettingError:
    """Return the error for a secret that stands in the file."""
    return SettingError(
        f"{where}, field {name!r}: a secret must not stand in the file; write"
        f' {name} = {{env = "VARIABLE"}}, and put the value into this environment variable',
        code="login-secret",
    )


def _variable(where: str, name: str, variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise SettingError(
            f"{where}, field {name!r}: the environment variable {variable} is not set, or empty;"
            " set it, and start the crawl again",
            code="login-variable",
        )
    return value


def _selector(where: str, selector: str) -> str:
    from cssselect import HTMLTranslator, SelectorError  # few crawls log in

    try:
        if selector:
            HTMLTranslator().css_to_xpath(selector)
    except SelectorError as error:
        raise SettingError(
            f"{where}, key 'success': {selector!r} is not a CSS selector ({error})"
        ) from None
    return selector


def _patterns(where: str, patterns: Any) -> tuple[re.Pattern[str], ...]:
    if not isinstance(patterns, list) or not all(isinstance(text, str) for text in patterns):
        raise SettingError(f"{where}, key 'logout': give a list of patterns, such as ['/bye*']")
    try:
        return tuple(map(compile_address_pattern, patterns))
    except ContentSpiderError as error:
        raise SettingError(f"{where}, key 'logout': {error}") from None
