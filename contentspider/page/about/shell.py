"""Reads the signs of a page that shows nothing yet in its markup: scripts that build the page, an
empty element for them, forms and media.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

# A page with fewer characters may be built by scripts entirely.
LITTLE_CHARS = 400
# An element with fewer characters is empty: they say that the page is being loaded.
LOADING_CHARS = 50
CODE = ("script", "style", "noscript", "template", "link", "meta")
MEDIA = ("img", "video", "audio", "embed", "object", "iframe", "source")
SOURCES = ("src", "srcset", "data", "poster", "data-src", "data-srcset")
BACKGROUNDS = "//*[contains(@style, 'url(')]/@style"
TINY = ("0", "1")  # the width or height of a picture that counts visitors


class Signs(NamedTuple):
    """Signs in the markup of a page. *has_script*: it has a script, or data for scripts alone.
    *is_for_scripts*: a script also finds an empty element to fill, or the page has a text for
    readers without scripts. *has_form*: it has a form or a button. *has_password*: it asks for a
    password. *media* is a hash of the addresses of its pictures, videos and frames, "" without any.
    """

    has_script: bool = False
    is_for_scripts: bool = False
    has_form: bool = False
    has_password: bool = False
    media: str = ""


def read_signs(root: _Element) -> Signs:
    """Return the signs in the markup below *root*."""
    has_script = any(_is_for_browsers(script) for script in root.iter("script"))
    fields = [(field.get("type") or "").strip().lower() for field in root.iter("input")]
    has_form = next(root.iter("form", "button"), None) is not None
    return Signs(
        has_script,
        has_script and (_has_text_without_scripts(root) or _has_empty_place(root)),
        has_form,
        "password" in fields,
        _media(root),
    )


def _is_for_browsers(script: _Element) -> bool:
    """Tell whether a script is code, or data for code; JSON-LD is for search engines."""
    return "ld+json" not in (script.get("type") or "").lower()


def _has_text_without_scripts(root: _Element) -> bool:
    """Tell whether the page has a text for readers without scripts."""
    return any("".join(_texts(noscript)).strip() for noscript in root.iter("noscript"))


def _has_empty_place(root: _Element) -> bool:
    """Tell whether the body has an element for scripts to fill: one of its children or
    grandchildren with an id or a tag of the site's own, and hardly any text.
    """
    body = next(root.iter("body"), None)
    children = list(_elements(body)) if body is not None else []
    places = [*children, *(grandchild for child in children for grandchild in _elements(child))]
    return any(
        (place.get("id") or "-" in place.tag)
        and len("".join(_texts(place)).strip()) <= LOADING_CHARS
        and next(place.iter("a", "form", *MEDIA), None) is None
        for place in places
    )


def _elements(parent: _Element) -> Iterator[_Element]:
    """Yield the children of an element that can have text."""
    return (child for child in parent if isinstance(child.tag, str) and child.tag not in CODE)


def _texts(element: _Element) -> Iterator[str]:
    """Yield the texts in an element, without code."""
    for part in element.iter():
        is_code = not isinstance(part.tag, str) or (part is not element and part.tag in CODE)
        if not is_code and part.text:
            yield part.text
        if part is not element and part.tail:
            yield part.tail


def _media(root: _Element) -> str:
    """Return a hash of the addresses of a page's media, without pictures that count visitors."""
    sources = {
        " ".join(element.get(name) or "" for name in SOURCES).strip()
        for element in root.iter(*MEDIA)
        if not {element.get("width"), element.get("height")}.intersection(TINY)
        and next(element.iterancestors("noscript"), None) is None
    }
    sources.update(cast("list[str]", root.xpath(BACKGROUNDS)))
    text = "\n".join(sorted(sources))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if text else ""
