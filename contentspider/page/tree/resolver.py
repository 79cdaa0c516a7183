# cython: language_level=3, annotation_typing=False, infer_types=True
"""Makes the addresses of a page's links and pictures absolute, and drops unsafe ones."""

from __future__ import annotations

import re

from contentspider.ground.addresses import (
    MAX_ADDRESS_CHARS,
    NO_PARTS,
    join,
    split_address,
    without_password,
)

LINK_SCHEMES = frozenset(["http", "https", "mailto"])
# The characters of `LEFT_OUT` are removed, as browsers do: they could hide a scheme.
SIMPLE_LINK = re.compile(r"https?://[a-z0-9.-]+(?:/[!$-~]*)?\Z")
SIMPLE_PATH = re.compile(r"/(?!/)(?:[!$-.0-~]|/(?!\.))*\Z")
# Relative addresses that can be appended to the address of the page's folder, or of the page.
NAME = r"[\w%+,=@!$&'()*~-][\w%+,=@!$&'()*.~-]*"
SIMPLE_NAME = re.compile(
    rf"((?:\.\.?/)*){NAME}(?:/{NAME})*/?(?:\?[!$-~]+)?(?:#[!-~]+)?\Z", re.ASCII
)
SIMPLE_FRAGMENT = re.compile(r"#[!-~]+\Z")
LEFT_OUT = dict.fromkeys((9, 10, 13))
BLANK = "".join(map(chr, range(33)))


class Resolver:
    """Resolves a page's addresses with *base*. If *base* is not absolute, relative addresses stay
    relative.
    """

    def __init__(self, base: str) -> None:
        self._base = base = without_password(base)
        self._is_absolute = base.startswith(("http:", "https:")) and bool(join(base, "/"))
        self._joined: dict[str, str] = {}

    def resolve(self, address: str) -> str:
        """Return the absolute address, "" if it is neither HTTP nor e-mail, or is far too long."""
        if len(address) > MAX_ADDRESS_CHARS:
            return ""
        if SIMPLE_LINK.match(address):  # the common case; the code below takes ten times as long
            return address
        if address.startswith("javascript:"):
            return ""
        address = address.strip(BLANK).translate(LEFT_OUT)
        if self._is_absolute:
            if SIMPLE_PATH.match(address):
                return self._join("/")[:-1] + address
            if SIMPLE_FRAGMENT.match(address):
                return self._join("#x")[:-2] + address
            if name := SIMPLE_NAME.match(address):
                return self._join(name[1] + "x")[:-1] + address[name.end(1) :]
        address = without_password(address)
        whole = join(self._base, address) if self._is_absolute else address
        parts = split_address(whole)
        if parts is NO_PARTS:
            return ""
        scheme = parts.scheme.lower()
        return whole if scheme in LINK_SCHEMES or not scheme else ""

    def _join(self, address: str) -> str:
        if address not in self._joined:
            self._joined[address] = join(self._base, address)
        return self._joined[address]
