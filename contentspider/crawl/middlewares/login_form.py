"""Finds the form of a login in a page, and fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from lxml.html import FormElement
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.response import get_base_url

from contentspider.crawl.base.engine import tree_of
from contentspider.crawl.base.logins import literal_secret
from contentspider.ground.addresses import absolute, origin_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from scrapy.http import Response

    from contentspider.crawl.base.logins import Login


class LoginRefusedError(Exception):
    """A login failed, and would fail again; the message says why, without any value of a field."""


def find_form(response: Response, login: Login) -> FormElement | None:
    """Return the form of a page that has all fields of a login; None if there is none."""
    if not isinstance(response, HtmlResponse):
        return None
    # A cheap search, since every page is searched.
    if not all(name.encode(response.encoding, "replace") in response.body for name in login.fields):
        return None
    root = tree_of(response)
    for form in root.iter("form") if root is not None else ():
        if isinstance(form, FormElement) and login.fields.keys() <= set(_inputs(form)):
            return form
    return None


def is_login_page(response: Response, login: Login) -> bool:
    """Tell whether a page has the login's form. A page with the element of *success* does not
    count: some sites show the form to users who are logged in, too.
    """
    if find_form(response, login) is None:
        return False
    return not (login.success and has_selector(response, login))


def has_selector(response: Response, login: Login) -> bool:
    """Tell whether a page has the element that tells that a login was a success."""
    return isinstance(response, HtmlResponse) and bool(response.css(login.success))


def field_names(response: Response) -> list[str]:
    """Return the names of the fields in the forms of a page."""
    root = tree_of(response) if isinstance(response, HtmlResponse) else None
    forms = root.iter("form") if root is not None else ()
    return [name for form in forms if isinstance(form, FormElement) for name in _inputs(form)]


def filled(
    form: FormElement, response: HtmlResponse, login: Login, **request_fields: Any
) -> Request:
    """Return the request that sends a form, with its hidden fields and its first button; raises
    `LoginRefusedError` if it must not be sent.
    """
    address = absolute(get_base_url(response), form.get("action") or response.url)
    if origin_of(address) != login.origin:
        raise LoginRefusedError(
            f"the form would be sent to {'://'.join(origin_of(address))}, which is not its own host"
        )
    if (form.method or "").upper() != "POST":
        raise LoginRefusedError("the form sends its fields as a part of an address (GET)")
    for name, element in _inputs(form).items():
        is_password = (element.get("type") or "").strip().lower() == "password"
        if is_password and name in login.fields.keys() - login.secret_fields:
            raise LoginRefusedError(str(literal_secret("its login", name)))
    values = [pair for pair in form.form_values() if pair[0] not in login.fields]
    values += [*_button(form), *login.fields.items()]
    # A browser, too, sends characters that the page's encoding does not have as references. The
    # message of an error of the codec would have the value in it.
    coded = [
        (_encoded(name, response.encoding), _encoded(value, response.encoding))
        for name, value in values
    ]
    headers = {"Referer": response.url, "Content-Type": "application/x-www-form-urlencoded"}
    return Request(address, method="POST", body=urlencode(coded), headers=headers, **request_fields)


def _encoded(text: object, encoding: str) -> bytes:
    return str(text).encode(encoding, "xmlcharrefreplace")


def _inputs(form: FormElement) -> dict[str, Any]:
    """Return the fields of a form by their names."""
    return {element.name: element for element in form.inputs if element.name}


def _button(form: FormElement) -> Iterator[tuple[str, str]]:
    """Yield name and value of a form's first button that submits it, if it has a name."""
    for element in form.iter("input", "button"):
        kind = (element.get("type") or "").strip().lower()
        if kind == "submit" or (element.tag == "button" and not kind):
            if name := element.get("name"):
                yield name, element.get("value") or ""
            return
